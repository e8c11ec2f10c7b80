/*
 * A body of any kind, at every endpoint: the answer is valid JSON with the verdict that was
 * returned, a mutation never carries a patch, and memory is clean.
 */
#include <stdlib.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/json.h"
#include "common/limits.h"
#include "webhook/review.h"

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_answer(enum review_endpoint endpoint, const struct review_result *r,
			 const struct buf *answer)
{
	cleanup_json struct json *j = NULL;
	const struct json *response;
	struct err e = ERR_INIT;
	bool allowed = false;

	must(answer->len > 0 && buf_ok(answer));
	if (r->verdict == REVIEW_BROKEN)
		return;
	must(!json_parse(buf_str(answer), answer->len, &j, &e));
	response = json_get(j, "response");
	must(json_bool(json_get(response, "allowed"), &allowed));
	must(allowed == (r->verdict == REVIEW_ALLOWED));
	must(json_kind(json_get(response, "uid")) == JSON_STRING);
	must(!json_get(response, "patch"));
	must(allowed || endpoint != REVIEW_MUTATE_WORKERAPP);
	must(allowed == !json_get(response, "status"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static js_ctx scan;
	struct review_facts facts = { .rules = { .table = celld_table_builtin() } };
	cleanup(freep) char *body = xcalloc(1, size + JS_PAD);

	if (!scan.keys && js_ctx_init(&scan, LIMIT_JSON_KEYS))
		abort();
	if (size)
		memcpy(body, data, size);
	for (int i = REVIEW_MUTATE_WORKERAPP; i <= REVIEW_VALIDATE_STORE; i++) {
		enum review_endpoint endpoint = (enum review_endpoint)i;
		struct buf answer = BUF_INIT(1 << 20);
		struct review_result r =
			review_answer(endpoint, &scan, body, size, &facts, &answer);

		check_answer(endpoint, &r, &answer);
		buf_done(&answer);
	}
	return 0;
}
