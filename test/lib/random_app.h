/*
 * random_app.h - WorkerApps near the edges of the rules: a sound one in which one to five members are replaced by
 * values at, just inside, or just outside of what a rule allows, or of another kind.
 */
#ifndef TEST_LIB_RANDOM_APP_H
#define TEST_LIB_RANDOM_APP_H

#include "common/json.h"

/* The n-th of a seed; the same on every machine. The caller's. */
struct json *random_app(uint64_t seed, uint64_t n) must_use;

#endif
