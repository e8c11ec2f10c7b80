/*
 * app_fixture.h - a WorkerApp, a table and the input of desired_*, made of a short document with the values that a
 * test is about. Documents and expectations are JSON with ' in the place of ". What cannot be read fails the test.
 */
#ifndef TEST_LIB_APP_FIXTURE_H
#define TEST_LIB_APP_FIXTURE_H

#include "controller/desired.h"

/* table holds celld's facts by hand, so that tests judge the code and not the data; in is for v0.6.2 and "v1". */
struct app_fixture {
	struct workerapp *app;
	struct celld_table *table;
	struct desired_input in;
};

struct json *app_fixture_json(const char *text) must_use;
/* store/shop, uid u-1, on s3://cells/apps/shop with v0.6.2, and nothing else. */
struct json *app_fixture_doc(void) must_use;
/* Sets (NULL: removes) the value at a dotted path. */
void app_fixture_edit(struct json *doc, const char *path, const char *value);
/* Takes doc. */
struct app_fixture app_fixture_of(struct json *doc) must_use;
/* The short document with one value, or two; path NULL: as it is. */
struct app_fixture app_fixture_with(const char *path, const char *value) must_use;
struct app_fixture app_fixture_with2(const char *path, const char *value, const char *path2,
				     const char *value2) must_use;
void app_fixture_done(struct app_fixture *f);
/* Asserts that j is the JSON of want, whatever the order of members. */
void app_fixture_is(const struct json *j, const char *want);

#endif
