#include "test/lib/rules_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/celld/table_load.h"
#include "common/workerapp_rules.h"
#include "common/yaml.h"

const char rules_sound[] = "apiVersion: celld-operator.io/v1alpha1\n"
			   "kind: WorkerApp\n"
			   "metadata: {name: chat, namespace: acme}\n"
			   "spec:\n"
			   "  appVersion: sha-abc123\n"
			   "  celld: {image: 'ghcr.io/denoland/celld:v0.6.2'}\n"
			   "  bucket:\n"
			   "    name: s3://cells/apps/chat\n"
			   "    region: eu-central-1\n"
			   "    credentialsFrom: {secretRef: keys}\n";

static struct json *read_yaml(const char *text)
{
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;
	struct json *copy;

	if (yaml_parse_one(text, strlen(text), &doc, &e))
		fail_msg("%s: %s", text, e.message);
	copy = json_dup(doc.value);
	yaml_doc_done(&doc);
	return copy;
}

void rules_lay_over(struct json *to, const struct json *change)
{
	for (const struct json *c = json_first(change); c; c = json_next(c)) {
		const char *name = json_name(c);
		struct json *below = json_get_mutable(to, name);

		if (json_kind(c) == JSON_NULL)
			json_del(to, name);
		else if (json_kind(c) == JSON_OBJECT && json_kind(below) == JSON_OBJECT)
			rules_lay_over(below, c);
		else
			json_set(to, name, json_dup(c));
	}
}

struct json *rules_overlay(const char *change)
{
	struct json *doc = read_yaml(rules_sound);

	if (change && *change) {
		cleanup_json struct json *c = read_yaml(change);

		rules_lay_over(doc, c);
	}
	return doc;
}

struct workerapp *rules_app(const char *change)
{
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	if (workerapp_parse(rules_overlay(change), NULL, &app, &e))
		fail_msg("%s: %s", change, e.message);
	return app;
}

static void check(const char *old_change, const char *change, const char *said)
{
	struct workerapp *app = rules_app(change), *old = old_change ? rules_app(old_change) : NULL;
	struct rules_facts facts = { .table = celld_table_builtin() };
	struct faults faults = FAULTS_INIT;
	struct strlist warnings = STRLIST_INIT;
	struct buf text = BUF_INIT(1 << 20);

	workerapp_rules(app, old, &facts, &faults, &warnings);
	for (size_t i = 0; i < faults.n; i++)
		buf_printf(&text, "%s%s %s: %s", text.len ? "\n" : "", faults.v[i].rule,
			   faults.v[i].path, faults.v[i].message);
	for (size_t i = 0; i < warnings.n; i++) {
		buf_printf(&text, "%swarning: %s", text.len ? "\n" : "", warnings.v[i]);
		if (strlen(warnings.v[i]) > 120)
			fail_msg("a warning of %zu characters: %s", strlen(warnings.v[i]),
				 warnings.v[i]);
	}
	if (!str_eq(buf_str(&text), said))
		fail_msg("\nold:      %s\nchange:   %s\nexpected: %s\nsaid:     %s",
			 old_change ? old_change : "(create)", change, said, buf_str(&text));
	buf_done(&text);
	faults_done(&faults);
	strlist_done(&warnings);
	workerapp_free(app);
	workerapp_free(old);
}

void rules_check(const struct rules_case *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(NULL, rows[i].change, rows[i].said);
}

void rules_check_updates(const struct rules_update *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(rows[i].old, rows[i].change, rows[i].said);
}
