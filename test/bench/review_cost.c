/*
 * review_cost ENDPOINT FILE TIMES: answers the review in FILE that many times, in this process, and prints the
 * answer. What callgrind counts inside of review_answer is what one review costs (test/bench/instructions).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "webhook/review.h"

static int run(enum review_endpoint endpoint, const char *file, long times, struct err *e)
{
	struct review_facts facts = { .rules = { .table = celld_table_builtin() } };
	cleanup(freep) char *text = NULL, *body = NULL;
	js_ctx scan;
	size_t len;

	if (file_read(file, LIMIT_REVIEW, &text, e))
		return -1;
	len = strlen(text);
	body = xcalloc(1, len + JS_PAD);
	memcpy(body, text, len);
	if (js_ctx_init(&scan, LIMIT_JSON_KEYS))
		return err_set(e, ERR_INTERNAL, "no entropy");
	for (long i = 0; i < times; i++) {
		struct buf answer = BUF_INIT(LIMIT_REVIEW);

		(void)review_answer(endpoint, &scan, body, len, &facts, &answer);
		if (i + 1 == times)
			(void)fputs(buf_str(&answer), stdout);
		buf_done(&answer);
	}
	js_ctx_free(&scan);
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (argc != 4) {
		(void)fprintf(stderr, "usage: review_cost mutate|validate FILE TIMES\n");
		return 2;
	}
	if (run(str_eq(argv[1], "mutate") ? REVIEW_MUTATE_WORKERAPP : REVIEW_VALIDATE_WORKERAPP,
		argv[2], strtol(argv[3], NULL, 10), &e)) {
		(void)fprintf(stderr, "review_cost: %s\n", e.message);
		return 1;
	}
	return 0;
}
