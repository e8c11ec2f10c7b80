#include "common/policy.h"

#include <string.h>

#include "common/url.h"

/* The part behind "NAMESPACE="; *ret_length is the namespace's, 0 without one. */
static const char *value_of(const char *entry, size_t *ret_length)
{
	size_t n = 0;

	while ((entry[n] >= 'a' && entry[n] <= 'z') || (entry[n] >= '0' && entry[n] <= '9') ||
	       entry[n] == '-' || entry[n] == '*')
		n++;
	*ret_length = n > 0 && entry[n] == '=' ? n : 0;
	return *ret_length ? entry + n + 1 : entry;
}

/* pattern[0..n) with `*` for any run of bytes without one of `not_in`. */
static bool matches(const char *pattern, size_t n, const char *s, const char *not_in)
{
	const char *star = NULL, *from = NULL, *end = pattern + n;

	while (*s) {
		if (pattern < end && *pattern == '*') {
			star = pattern++;
			from = s;
		} else if (pattern < end && *pattern == *s) {
			pattern++;
			s++;
		} else if (star && !strchr(not_in, *from)) {
			pattern = star + 1;
			s = ++from;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool image_begins(const char *image, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(image, prefix, n) != 0)
		return false;
	return image[n] == '\0' || strchr(":@/", image[n]) || strchr(":@/", prefix[n - 1]);
}

static bool same_endpoint(const char *a, const char *b)
{
	cleanup(freep) char *one = url_plain(a), *other = url_plain(b);

	return str_eq(one, other);
}

static bool same_word(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		int x = *a >= 'A' && *a <= 'Z' ? *a - 'A' + 'a' : *a;
		int y = *b >= 'A' && *b <= 'Z' ? *b - 'A' + 'a' : *b;

		if (x != y)
			return false;
	}
	return *a == *b;
}

static bool is_value(enum policy_kind kind, const char *allowed, const char *value)
{
	switch (kind) {
	case POLICY_IMAGE:
		return image_begins(value, allowed);
	case POLICY_AZURE_CLIENT_ID:
		return same_word(allowed, value);
	case POLICY_ENDPOINT:
		return same_endpoint(allowed, value);
	case POLICY_IAM_ROLE:
	case POLICY_GCP_SERVICE_ACCOUNT:
	case POLICY_KINDS:
		break;
	}
	return matches(allowed, strlen(allowed), value, "/@:");
}

int policy_add(struct policy *p, enum policy_kind kind, const char *entry, struct err *e)
{
	size_t n;
	const char *value = value_of(entry, &n);

	if (!*value)
		return err_set(e, ERR_INVALID,
			       "'%s' allows nothing; write VALUE or NAMESPACE=VALUE", entry);
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return err_set(e, ERR_INVALID, "'%s' holds a blank or control character",
				       entry);
	}
	if (strchr(value, '*') && kind != POLICY_IAM_ROLE && kind != POLICY_GCP_SERVICE_ACCOUNT)
		return err_set(e, ERR_INVALID, "'%s': here * stands for itself; write %s", entry,
			       kind == POLICY_IMAGE ? "the prefix alone" : "each value in full");
	strlist_add(&p->list[kind], entry);
	return 0;
}

void policy_done(struct policy *p)
{
	for (size_t i = 0; i < POLICY_KINDS; i++)
		strlist_done(&p->list[i]);
}

bool policy_allows(const struct policy *p, enum policy_kind kind, const char *namespace,
		   const char *value)
{
	const struct strlist *l = p ? &p->list[kind] : NULL;

	if (!l || !l->n || str_empty(value))
		return true;
	for (size_t i = 0; i < l->n; i++) {
		size_t n;
		const char *allowed = value_of(l->v[i], &n);

		if ((!n || matches(l->v[i], n, namespace ? namespace : "", "")) &&
		    is_value(kind, allowed, value))
			return true;
	}
	return false;
}

/* The entries of the kind for a namespace as a remedy, a few of them. */
static char *remedy(const struct policy *p, enum policy_kind kind, const char *namespace)
{
	const struct strlist *l = &p->list[kind];
	struct strlist some = STRLIST_INIT;
	char *text;
	enum { SOME = 4 };

	for (size_t i = 0; i < l->n && some.n < SOME; i++) {
		size_t n;
		const char *allowed = value_of(l->v[i], &n);

		if (!n || matches(l->v[i], n, namespace ? namespace : "", ""))
			strlist_add_once(&some, allowed);
	}
	text = some.n ? strlist_join(&some, " or ") : xstrdup("");
	strlist_done(&some);
	return text;
}

struct question {
	enum policy_kind kind;
	const char *path, *value;
	const char *what;
};

static void judge(const struct policy *p, const char *namespace, const struct question *q,
		  struct faults *faults)
{
	struct fault_value shown;
	cleanup(freep) char *instead = NULL;

	if (policy_allows(p, q->kind, namespace, q->value))
		return;
	instead = remedy(p, q->kind, namespace);
	if (*instead)
		fault_forbid(faults, "policy", q->path, q->value,
			     "the platform's policy does not allow %s %s here; write %s%.400s, or "
			     "ask the platform's owners to allow it",
			     q->what, fault_value(&shown, q->value),
			     q->kind == POLICY_IMAGE ? "an image that begins with " : "", instead);
	else
		fault_forbid(faults, "policy", q->path, q->value,
			     "the platform's policy allows no %s in this namespace, so not %s; ask "
			     "the platform's owners to allow it",
			     q->what, fault_value(&shown, q->value));
}

static const char *role_of(const struct wa_credentials *c)
{
	return c->iam_role && str_eq(c->iam_role, "auto") ? NULL : c->iam_role;
}

static void judge_all(const struct policy *p, const char *namespace, const struct question *q,
		      size_t n, struct faults *faults)
{
	for (size_t i = 0; p && i < n; i++)
		judge(p, namespace, &q[i], faults);
}

void policy_judge_app(const struct policy *p, const struct workerapp *app, struct faults *faults)
{
	const struct wa_credentials *c = &app->bucket.credentials;
	const struct question all[] = {
		{ POLICY_IMAGE, "spec.celld.image", app->image, "image" },
		{ POLICY_ENDPOINT, "spec.bucket.endpoint", app->bucket.endpoint, "endpoint" },
		{ POLICY_IAM_ROLE, "spec.bucket.credentialsFrom.iamRole", role_of(c), "role" },
		{ POLICY_AZURE_CLIENT_ID, "spec.bucket.credentialsFrom.azureClientID",
		  c->azure_client_id, "client ID" },
		{ POLICY_GCP_SERVICE_ACCOUNT, "spec.bucket.credentialsFrom.gcpServiceAccount",
		  c->gcp_service_account, "service account" },
	};

	judge_all(p, app->namespace, all, array_len(all), faults);
}

void policy_judge_store(const struct policy *p, const char *namespace, const struct wa_bucket *b,
			struct faults *faults)
{
	const struct wa_credentials *c = &b->credentials;
	const struct question all[] = {
		{ POLICY_ENDPOINT, "spec.endpoint", b->endpoint, "endpoint" },
		{ POLICY_IAM_ROLE, "spec.credentialsFrom.iamRole", role_of(c), "role" },
		{ POLICY_AZURE_CLIENT_ID, "spec.credentialsFrom.azureClientID", c->azure_client_id,
		  "client ID" },
		{ POLICY_GCP_SERVICE_ACCOUNT, "spec.credentialsFrom.gcpServiceAccount",
		  c->gcp_service_account, "service account" },
	};

	judge_all(p, namespace, all, array_len(all), faults);
}
