/*
 * review_lines NAMESPACE DEFAULTS: each line of the input is a WorkerApp; each line of the output is what the mutating
 * endpoint answers to its creation, with the platform's defaults of that file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "common/workerapp_defaults_load.h"
#include "webhook/review.h"

static void answer(js_ctx *scan, const struct review_facts *facts, const char *namespace,
		   const char *object)
{
	cleanup(freep) char *body = xasprintf(
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{"
		"\"uid\":\"u\",\"namespace\":\"%s\",\"operation\":\"CREATE\",\"object\":%s}}%*s",
		namespace, object, JS_PAD, "");
	size_t len = strlen(body) - JS_PAD;
	struct buf to = BUF_INIT(LIMIT_REVIEW);

	memset(body + len, 0, JS_PAD);
	(void)review_answer(REVIEW_MUTATE_WORKERAPP, scan, body, len, facts, &to);
	(void)fputs(buf_str(&to), stdout);
	buf_done(&to);
}

static int run(const char *namespace, const char *file, struct err *e)
{
	struct workerapp_defaults defaults = { NULL, 0 };
	struct review_facts facts = { .rules = { .table = celld_table_builtin() },
				      .defaults = &defaults };
	cleanup(freep) char *text = NULL, *line = NULL;
	size_t room = 0;
	ssize_t n;
	js_ctx scan;

	if (file_read(file, LIMIT_CONFIG_FILE, &text, e) ||
	    workerapp_defaults_load(text, strlen(text), file, facts.rules.table, &defaults, e))
		return -1;
	if (js_ctx_init(&scan, LIMIT_JSON_KEYS))
		return err_set(e, ERR_INTERNAL, "no entropy");
	while ((n = getline(&line, &room, stdin)) > 0) {
		line[n - (line[n - 1] == '\n')] = '\0';
		answer(&scan, &facts, namespace, line);
	}
	js_ctx_free(&scan);
	workerapp_defaults_done(&defaults);
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: review_lines NAMESPACE DEFAULTS\n");
		return 2;
	}
	if (run(argv[1], argv[2], &e)) {
		(void)fprintf(stderr, "review_lines: %s\n", e.message);
		return 1;
	}
	return 0;
}
