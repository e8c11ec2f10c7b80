#include "common/kube/access.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/json.h"
#include "common/kube/client.h"

enum { ASK_MS = 2500, TOKEN_MAX = 16 << 10 };

struct kept {
	unsigned char digest[DIGEST_BYTES]; /* of token, verb and path */
	int64_t until_ms;		    /* 0: empty */
	int result;
};

struct kube_access {
	struct kube_client *client;
	pthread_mutex_t lock; /* of kept */
	struct kept kept[KUBE_ACCESS_KEPT];
};

static const struct kube_kind token_review = { "authentication.k8s.io", "v1", "tokenreviews",
					       "TokenReview", false };
static const struct kube_kind access_review = { "authorization.k8s.io", "v1",
						"subjectaccessreviews", "SubjectAccessReview",
						false };

struct kube_access *kube_access_new(struct kube_config *config, struct http_cancel *cancel)
{
	/* no fence: whoever does not lead answers too, and a review changes nothing */
	struct kube_client_opts o = {
		.config = config, .cancel = cancel, .user_agent = "celld-operator-access", .qps = 10
	};
	struct kube_access *a = xcalloc(1, sizeof(*a));

	a->client = kube_client_new(&o);
	(void)pthread_mutex_init(&a->lock, NULL);
	return a;
}

void kube_access_free(struct kube_access *a)
{
	if (!a)
		return;
	kube_client_free(a->client);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

/* --- what is kept ----------------------------------------------------------------------------------- */

static bool recall(struct kube_access *a, const unsigned char *digest, int64_t now, int *ret)
{
	bool found = false;

	(void)pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < KUBE_ACCESS_KEPT && !found; i++) {
		const struct kept *k = &a->kept[i];

		found = k->until_ms > now && digest_same(k->digest, digest, DIGEST_BYTES);
		if (found)
			*ret = k->result;
	}
	(void)pthread_mutex_unlock(&a->lock);
	return found;
}

/* In the place of the one that ends first. */
static void keep(struct kube_access *a, const unsigned char *digest, int64_t now, int result)
{
	struct kept *to = &a->kept[0];

	(void)pthread_mutex_lock(&a->lock);
	for (size_t i = 1; i < KUBE_ACCESS_KEPT; i++) {
		if (a->kept[i].until_ms < to->until_ms)
			to = &a->kept[i];
	}
	memcpy(to->digest, digest, DIGEST_BYTES);
	to->until_ms = now + KUBE_ACCESS_KEPT_MS;
	to->result = result;
	(void)pthread_mutex_unlock(&a->lock);
}

/* --- the two questions ------------------------------------------------------------------------------ */

static int ask(struct kube_access *a, const struct kube_kind *kind, struct json *spec,
	       struct json **ret, struct err *e)
{
	cleanup_json struct json *review = json_new_object();
	cleanup(freep) char *version = xasprintf("%s/%s", kind->group, kind->version);

	json_set_str(review, "apiVersion", version);
	json_set_str(review, "kind", kind->kind);
	json_set(review, "spec", spec);
	return kube_create(a->client, kind, NULL, review, ASK_MS, ret, e);
}

static int who(struct kube_access *a, const char *token, struct json **ret_user, struct err *e)
{
	cleanup_json struct json *answer = NULL;
	struct json *spec = json_new_object();
	struct json *status;
	int r;

	json_set_str(spec, "token", token);
	r = ask(a, &token_review, spec, &answer, e);
	if (r)
		return r;
	status = json_get_mutable(answer, "status");
	if (!json_get_bool(status, "authenticated", false))
		return err_set(e, ERR_UNAUTHORIZED, "the token is not valid");
	*ret_user = json_take(status, "user");
	return 0;
}

static int may(struct kube_access *a, const struct json *user, const char *verb, const char *path,
	       struct err *e)
{
	cleanup_json struct json *answer = NULL;
	struct json *spec = json_new_object();
	struct json *what = json_object_at(spec, "nonResourceAttributes");
	int r;

	json_set_str(spec, "user", json_get_str(user, "username"));
	json_set_str(spec, "uid", json_get_str(user, "uid"));
	if (json_get(user, "groups"))
		json_set(spec, "groups", json_dup(json_get(user, "groups")));
	if (json_get(user, "extra"))
		json_set(spec, "extra", json_dup(json_get(user, "extra")));
	json_set_str(what, "verb", verb);
	json_set_str(what, "path", path);
	r = ask(a, &access_review, spec, &answer, e);
	if (r)
		return r;
	if (!json_get_bool(json_get(answer, "status"), "allowed", false))
		return err_set(e, ERR_FORBIDDEN, "%s may not %s %s",
			       json_get_str(user, "username") ? json_get_str(user, "username")
							      : "?",
			       verb, path);
	return 0;
}

static int ask_both(struct kube_access *a, const char *token, const char *verb, const char *path,
		    bool *ret_known, struct err *e)
{
	cleanup_json struct json *user = NULL;
	int r = who(a, token, &user, e);

	/* an error of these codes from the API server is about us, not about the sender */
	*ret_known = r != 0 && !e->http_status && r == -ERR_UNAUTHORIZED;
	if (r)
		return *ret_known ? r : -ERR_UNAVAILABLE;
	r = may(a, user, verb, path, e);
	*ret_known = !r || (r == -ERR_FORBIDDEN && !e->http_status);
	return *ret_known ? r : -ERR_UNAVAILABLE;
}

static void digest_of(const char *token, const char *verb, const char *path,
		      unsigned char to[DIGEST_BYTES])
{
	cleanup(freep) char *text = xasprintf("%s\n%s\n%s", token, verb, path);

	digest_sha256(text, strlen(text), to);
}

int kube_access_check(struct kube_access *a, const char *authorization, const char *verb,
		      const char *path, struct err *e)
{
	unsigned char digest[DIGEST_BYTES];
	int64_t now = clock_mono_ms();
	const char *token;
	bool known;
	int r;

	if (!authorization || strncasecmp(authorization, "bearer ", 7) != 0)
		return err_set(e, ERR_UNAUTHORIZED, "no bearer token");
	token = authorization + 7;
	token += strspn(token, " ");
	if (!*token || strlen(token) > TOKEN_MAX)
		return err_set(e, ERR_UNAUTHORIZED, "no bearer token");
	digest_of(token, verb, path, digest);
	if (recall(a, digest, now, &r)) {
		if (r)
			return err_set(e, (enum err_code) - r, "refused");
		return 0;
	}
	r = ask_both(a, token, verb, path, &known, e);
	if (known)
		keep(a, digest, now, r);
	return r;
}
