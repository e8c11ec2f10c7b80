/*
 * rules_table.h - tests of WorkerApp rules as tables: a change of a sound object, and what the rules say of it.
 */
#ifndef TEST_LIB_RULES_TABLE_H
#define TEST_LIB_RULES_TABLE_H

#include "common/json.h"
#include "common/workerapp.h"

/*
 * said: a line "RULE PATH: MESSAGE" for each fault and "warning: TEXT" for each warning, in order, without a newline
 * at the end; "" is a sound object.
 */
struct rules_case {
	const char *change; /* YAML, laid over the sound object; null takes a member away */
	const char *said;
};

struct rules_update {
	const char *old, *change; /* both laid over the sound object */
	const char *said;
};

/* A sound object without warnings: celld v0.6.2, s3://cells/apps/chat, 3 replicas. */
extern const char rules_sound[];

/* Member by member into objects; null takes a member away. */
void rules_lay_over(struct json *to, const struct json *change);
struct json *rules_overlay(const char *change) must_use;
struct workerapp *rules_app(const char *change) must_use;
/* Fails the test at the first row whose faults and warnings are others than it says. */
void rules_check(const struct rules_case *rows, size_t n);
void rules_check_updates(const struct rules_update *rows, size_t n);

#endif
