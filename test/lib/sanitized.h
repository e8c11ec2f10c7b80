/*
 * sanitized.h - SANITIZED: 1 in a build whose sanitizer keeps memory of its own, so that a process's size says nothing.
 */
#ifndef TEST_LIB_SANITIZED_H
#define TEST_LIB_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
