/*
 * {"object": ..., "old": ..., "namespace": "..."}: the operations of the patch, done one after the other as RFC 6902
 * has it, make the document that the patch speaks of, and what is stored then needs no further one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/workerapp_defaults_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char platform[] =
	"defaults: {celld: {image: 'r.io/celld:v0.6.2', version: v0.6.2, imagePullPolicy: Always},"
	" bucket: {endpoint: 'https://minio:9000', region: x}, storage: {storageClassName: fast},"
	" resources: {cpuMillis: 5}, podLabels: {a.b/c: d, team: e}}";

static void must(bool ok)
{
	if (!ok)
		abort();
}

static struct workerapp_defaults *defaults(void)
{
	static struct workerapp_defaults d;
	struct err e = ERR_INIT;

	if (!d.n)
		must(!workerapp_defaults_load(platform, strlen(platform), "d",
					      celld_table_builtin(), &d, &e));
	return &d;
}

/* The next name of a JSON pointer, in `name`; the rest. */
static const char *next_name(const char *pointer, char *name)
{
	must(*pointer++ == '/');
	for (; *pointer && *pointer != '/'; pointer++) {
		if (*pointer == '~') {
			pointer++;
			must(*pointer == '0' || *pointer == '1');
			*name++ = *pointer == '0' ? '~' : '/';
		} else {
			*name++ = *pointer;
		}
	}
	*name = '\0';
	return pointer;
}

static void apply(struct json *doc, const struct json *op)
{
	const char *what = json_get_str(op, "op"), *path = json_get_str(op, "path");
	cleanup(freep) char *name = NULL;
	struct json *at = doc;

	must(what && path);
	name = xcalloc(1, strlen(path) + 1);
	for (path = next_name(path, name); *path; path = next_name(path, name)) {
		at = json_get_mutable(at, name);
		must(at);
	}
	must(json_kind(at) == JSON_OBJECT);
	must(str_eq(what, "add") || json_get(at, name)); /* replaced and removed is what is there */
	if (str_eq(what, "remove"))
		json_del(at, name);
	else
		json_set(at, name, json_dup(json_get(op, "value")));
}

static void check(const struct json *object, const struct json *old, const char *namespace)
{
	struct patch p, again;
	cleanup_json struct json *done = json_dup(object);

	patch_init(&p, object);
	workerapp_defaults_patch(defaults(), namespace, object, old, &p);
	for (const struct json *op = json_first(p.ops); op; op = json_next(op))
		apply(done, op);
	must(json_equal(done, p.doc));
	patch_init(&again, done);
	workerapp_defaults_patch(defaults(), namespace, done, old ? done : NULL, &again);
	must(patch_empty(&again));
	patch_done(&again);
	patch_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_json struct json *in = NULL;
	const struct json *object, *old;
	struct err e = ERR_INIT;

	if (json_parse((const char *)data, size, &in, &e))
		return 0;
	object = json_get(in, "object");
	old = json_get(in, "old");
	if (json_kind(object) == JSON_OBJECT)
		check(object, json_kind(old) == JSON_OBJECT ? old : NULL,
		      json_get_str(in, "namespace"));
	return 0;
}
