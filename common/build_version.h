/*
 * build_version.h - the version that the build stamped into the programs ("v0.3.0", or what `git
 * describe` says).
 */
#ifndef COMMON_BUILD_VERSION_H
#define COMMON_BUILD_VERSION_H

extern const char build_version[];

#endif
