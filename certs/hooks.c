#include "certs/hooks.h"

#include <stdio.h>
#include <string.h>

#include "common/codec.h"
#include "common/json.h"

static bool calls(const struct json *hook, const struct hooks_service *service)
{
	const struct json *s = json_path(hook, "clientConfig", "service", NULL);
	const char *ns = json_get_str(s, "namespace"), *name = json_get_str(s, "name");

	return ns && name && json_get_str(hook, "name") && str_eq(ns, service->ns) &&
	       str_eq(name, service->name);
}

static void bundle_of(const struct json *hook, struct bundle *to)
{
	const char *text = json_get_str(json_get(hook, "clientConfig"), "caBundle");
	cleanup(freep) unsigned char *pem = NULL;
	size_t n;

	if (!text)
		return;
	pem = codec_base64_decode(text, strlen(text), &n);
	bundle_add(to, (const char *)pem);
}

void hooks_look(const struct json *configuration, const struct hooks_service *service,
		const struct bundle *wanted, struct hooks_state *to)
{
	const struct json *hooks = json_get(configuration, "webhooks");

	for (const struct json *h = json_first(hooks); h; h = json_next(h)) {
		cleanup_bundle struct bundle has = BUNDLE_INIT;

		if (!calls(h, service))
			continue;
		bundle_of(h, &has);
		to->n++;
		to->missing |= !bundle_covers(&has, wanted);
		to->strangers |= !bundle_covers(wanted, &has);
	}
}

static void add_op(struct json *patch, const char *op, const char *path, const char *value)
{
	struct json *o = json_new_object();

	json_set_str(o, "op", op);
	json_set_str(o, "path", path);
	json_set_str_always(o, "value", value);
	json_add(patch, o);
}

static void patch_one(struct json *patch, size_t i, const struct json *hook,
		      const struct bundle *wanted, bool keep_strangers, int64_t now_ms)
{
	cleanup_bundle struct bundle has = BUNDLE_INIT, right = BUNDLE_INIT;
	cleanup(freep) char *pem = NULL, *encoded = NULL;
	char path[64];

	bundle_of(hook, &has);
	for (size_t k = 0; k < wanted->n; k++)
		bundle_add(&right, wanted->cert[k].pem);
	for (size_t k = 0; keep_strangers && k < has.n; k++)
		bundle_add(&right, has.cert[k].pem);
	bundle_drop_ended(&right, now_ms);
	if (bundle_covers(&has, &right) && bundle_covers(&right, &has))
		return;
	pem = bundle_text(&right);
	encoded = codec_base64_encode(pem, strlen(pem));
	(void)snprintf(path, sizeof(path), "/webhooks/%zu/name", i);
	add_op(patch, "test", path, json_get_str(hook, "name"));
	(void)snprintf(path, sizeof(path), "/webhooks/%zu/clientConfig/caBundle", i);
	add_op(patch, "add", path, encoded);
}

struct json *hooks_patch(const struct json *configuration, const struct hooks_service *service,
			 const struct bundle *wanted, bool keep_strangers, int64_t now_ms)
{
	cleanup_json struct json *patch = json_new_array();
	const struct json *hooks = json_get(configuration, "webhooks");
	const char *version = json_get_str(json_get(configuration, "metadata"), "resourceVersion");
	size_t i = 0;

	add_op(patch, "test", "/metadata/resourceVersion", version ? version : "");
	for (const struct json *h = json_first(hooks); h; h = json_next(h), i++) {
		if (calls(h, service))
			patch_one(patch, i, h, wanted, keep_strangers, now_ms);
	}
	return json_len(patch) > 1 ? take(patch) : NULL;
}
