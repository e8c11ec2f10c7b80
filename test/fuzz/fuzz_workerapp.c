/*
 * Whatever JSON is a WorkerApp, the reader and all rules get through it, alone and as an update of another one; an
 * object that is judged against itself is never refused, and every fault is one line.
 */
#include <stdlib.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/workerapp_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char other[] =
	"{\"apiVersion\":\"celld-operator.io/"
	"v1alpha1\",\"kind\":\"WorkerApp\",\"metadata\":{\"name\":"
	"\"chat\"},\"spec\":{\"appVersion\":\"v1\",\"celld\":{\"image\":\"celld:v0.3.0\"},"
	"\"durability\":"
	"\"fleet\",\"storage\":{\"sizeGi\":9},\"bucket\":{\"name\":\"s3://cells/a\",\"endpoint\":"
	"\"https://a\"}},\"status\":{\"celldVersions\":[\"v0.4.1\",\"x\"]}}";

static struct workerapp *read_app(const char *text, size_t len)
{
	struct json *doc = NULL;
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	if (!json_parse(text, len, &doc, &e))
		(void)workerapp_parse(doc, NULL, &app, &e);
	return app;
}

static void judge(const struct workerapp *now, const struct workerapp *before, bool must_pass)
{
	struct rules_facts facts = { .table = celld_table_builtin() };
	struct faults faults = FAULTS_INIT;
	struct strlist warnings = STRLIST_INIT;

	workerapp_rules(now, before, &facts, &faults, &warnings);
	if (must_pass && faults.n)
		abort();
	for (size_t i = 0; i < faults.n; i++) {
		if (strpbrk(faults.v[i].message, "\n\r") || strpbrk(faults.v[i].path, "\n\r"))
			abort();
	}
	for (size_t i = 0; i < warnings.n; i++) {
		if (strlen(warnings.v[i]) > 120)
			abort();
	}
	faults_done(&faults);
	strlist_done(&warnings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workerapp *app = read_app((const char *)data, size), *old;
	struct faults unknown = FAULTS_INIT;

	if (!app)
		return 0;
	old = read_app(other, strlen(other));
	judge(app, NULL, false);
	judge(app, app, true);
	judge(app, old, false);
	judge(old, app, false);
	workerapp_unknown_fields(app, &unknown);
	faults_done(&unknown);
	workerapp_free(app);
	workerapp_free(old);
	return 0;
}
