#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static struct celld_table *new_table(void)
{
	static const char old[] = "/__celld/health", new[] = "/.well-known/celld/health";
	struct celld_table *t = xcalloc(1, sizeof(*t));
	struct celld_facts f = {
		.public_port = 8080, .internal_port = 8080, .vars_file = true, .grace_seconds = 40
	};
	size_t n = 0;

	(void)snprintf(f.health_path, sizeof(f.health_path), "%s", old);
	f.range.until = (struct version){ 0, 2, 0 };
	t->facts[n++] = f;
	f.range = (struct celld_range){ { 0, 2, 0 }, { 0, 2, 1 } };
	f.internal_port = 8081;
	f.internal_listener = f.telemetry = f.telemetry_sink = f.gs = f.prefix = true;
	f.shutdown_drain = true;
	f.shutdown_ms = 25000;
	t->facts[n++] = f;
	f.range = (struct celld_range){ { 0, 2, 1 }, { 0, 3, 0 } };
	f.forwarded_headers = true;
	t->facts[n++] = f;
	f.range = (struct celld_range){ { 0, 3, 0 }, { 0, 4, 0 } };
	f.durability = f.az = true;
	t->facts[n++] = f;
	f.range = (struct celld_range){ { 0, 4, 0 }, { 0, 5, 0 } };
	(void)snprintf(f.health_path, sizeof(f.health_path), "%s", new);
	f.shutdown_total = f.drain_token_wait = true;
	f.shutdown_ms = 40000;
	f.grace_seconds = 60;
	t->facts[n++] = f;
	f.range = (struct celld_range){ { 0, 5, 0 }, { 0, 0, 0 } };
	f.vars_file = f.telemetry_sink = f.shutdown_drain = f.drain_token_wait = false;
	t->facts[n++] = f;
	t->n_facts = n;
	return t;
}

struct json *app_fixture_json(const char *text)
{
	cleanup(freep) char *s = xstrdup(text);
	struct json *j = NULL;
	struct err e = ERR_INIT;

	for (char *c = s; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (json_parse(s, strlen(s), &j, &e))
		fail_msg("%s: %s", e.message, text);
	return j;
}

static const char base[] =
	"{'apiVersion':'celld-operator.io/v1alpha1','kind':'WorkerApp',"
	"'metadata':{'name':'shop','namespace':'store','uid':'u-1'},"
	"'spec':{'appVersion':'v1','celld':{'image':'ghcr.io/denoland/celld:v0.6.2'},"
	"'bucket':{'name':'s3://cells/apps/shop'}}}";

struct json *app_fixture_doc(void)
{
	return app_fixture_json(base);
}

static struct json *parent(struct json *doc, const char *path, const char **ret_last)
{
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		char name[64];

		assert_true((size_t)(dot - path) < sizeof(name));
		memcpy(name, path, (size_t)(dot - path));
		name[dot - path] = '\0';
		doc = json_object_at(doc, name);
		path = dot + 1;
	}
	*ret_last = path;
	return doc;
}

void app_fixture_edit(struct json *doc, const char *path, const char *value)
{
	const char *last;
	struct json *in = parent(doc, path, &last);

	if (value)
		json_set(in, last, app_fixture_json(value));
	else
		json_del(in, last);
}

void app_fixture_is(const struct json *j, const char *want)
{
	cleanup_json struct json *w = app_fixture_json(want);
	cleanup(freep) char *got = json_text_sorted(j), *wanted = json_text_sorted(w);

	assert_string_equal(got, wanted);
}

struct app_fixture app_fixture_of(struct json *doc)
{
	struct app_fixture f = { .table = new_table() };
	struct err e = ERR_INIT;

	if (workerapp_parse(doc, NULL, &f.app, &e))
		fail_msg("%s", e.message);
	f.in = (struct desired_input){
		.app = f.app, .table = f.table, .version = { 0, 6, 2 }, .app_version = "v1"
	};
	return f;
}

void app_fixture_done(struct app_fixture *f)
{
	workerapp_free(f->app);
	freep(&f->table);
}

struct app_fixture app_fixture_with(const char *path, const char *value)
{
	struct json *doc = app_fixture_doc();

	if (path)
		app_fixture_edit(doc, path, value);
	return app_fixture_of(doc);
}

struct app_fixture app_fixture_with2(const char *path, const char *value, const char *path2,
				     const char *value2)
{
	struct json *doc = app_fixture_doc();

	app_fixture_edit(doc, path, value);
	app_fixture_edit(doc, path2, value2);
	return app_fixture_of(doc);
}
