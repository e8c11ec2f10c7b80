#include "cli/report.h"

#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/limits.h"

void report_add(struct report *r, const struct input_object *o, const char *rule, const char *path,
		const char *message)
{
	const struct json *m = json_get(o->value, "metadata");
	struct yaml_place at;
	struct json *f = json_new_object();

	if (!r->findings)
		r->findings = json_new_array();
	input_where(o, path, &at);
	json_set_str_always(f, "file", o->file);
	json_set_int(f, "line", (int64_t)at.line);
	json_set_int(f, "column", (int64_t)at.col);
	json_set_int(f, "document", (int64_t)o->document);
	json_set_str_always(f, "level", rule ? "error" : "warning");
	json_set_str(f, "rule", rule);
	json_set_str(f, "namespace", json_get_str(m, "namespace"));
	json_set_str(f, "name", json_get_str(m, "name"));
	json_set_str_always(f, "path", path);
	json_set_str_always(f, "message", message);
	json_add(r->findings, f);
}

static void print(const struct json *j, FILE *to)
{
	struct buf text = BUF_INIT(LIMIT_MANIFEST_FILE);

	json_print(j, &text);
	fprintf(to, "%s\n", buf_str(&text));
	buf_done(&text);
}

void report_json(const struct report *r, FILE *to)
{
	if (r->findings)
		print(r->findings, to);
	else
		fputs("[]\n", to);
}

/* Of a finding to SARIF's result. */
static struct json *result_of(const struct json *f)
{
	struct json *j = json_new_object(), *location = json_new_object(), *where, *region;
	const char *rule = json_get_str(f, "rule"), *path = json_get_str(f, "path");
	cleanup(freep) char *text =
		xasprintf("%s%s%s", path, *path ? ": " : "", json_get_str(f, "message"));
	int64_t line = 1, column = 1;

	(void)json_get_int(f, "line", &line);
	(void)json_get_int(f, "column", &column);
	json_set_str_always(j, "ruleId", rule ? rule : "warning");
	json_set_str_always(j, "level", json_get_str(f, "level"));
	json_set_str_always(json_object_at(j, "message"), "text", text);
	where = json_object_at(location, "physicalLocation");
	json_set_str_always(json_object_at(where, "artifactLocation"), "uri",
			    json_get_str(f, "file"));
	region = json_object_at(where, "region");
	json_set_int(region, "startLine", line);
	json_set_int(region, "startColumn", column);
	json_add(json_array_at(j, "locations"), location);
	return j;
}

void report_sarif(const struct report *r, const char *version, FILE *to)
{
	cleanup_json struct json *log = json_new_object();
	struct json *run = json_new_object();
	struct json *driver = json_object_at(json_object_at(run, "tool"), "driver");
	struct json *results = json_array_at(run, "results");

	json_set_str(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_set_str(log, "version", "2.1.0");
	json_set_str(driver, "name", "kubectl-celld");
	json_set_str(driver, "version", version);
	for (const struct json *f = json_first(r->findings); f; f = json_next(f))
		json_add(results, result_of(f));
	json_add(json_array_at(log, "runs"), run);
	print(log, to);
}

void report_done(struct report *r)
{
	json_free(r->findings);
	r->findings = NULL;
}
