#include "common/store_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/syntax.h"

static const char *own(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return str_empty(s) ? NULL : s;
}

static const char *alias_of(const struct json *spec)
{
	return own(json_get(spec, "credentialsSecretRef"), "name");
}

void store_read(const struct json *store, struct wa_bucket *ret)
{
	const struct json *spec = json_get(store, "spec");
	const struct json *from = json_get(spec, "credentialsFrom");

	*ret = (struct wa_bucket){ .endpoint = own(spec, "endpoint"),
				   .region = own(spec, "region"),
				   .storage_account = own(spec, "storageAccount"),
				   .allow_http = json_get_bool(spec, "allowHTTP", false),
				   .credentials = { .iam_role = own(from, "iamRole"),
						    .secret_ref = own(from, "secretRef"),
						    .azure_client_id = own(from, "azureClientID"),
						    .gcp_service_account =
							    own(from, "gcpServiceAccount") } };
	if (!ret->credentials.secret_ref)
		ret->credentials.secret_ref = alias_of(spec);
}

/* ---- types and names ------------------------------------------------------------------------- */

enum { STRING, BOOLEAN, OBJECT };

static const struct {
	const char *path;
	int kind;
} fields[] = {
	{ "endpoint", STRING },
	{ "region", STRING },
	{ "allowHTTP", BOOLEAN },
	{ "storageAccount", STRING },
	{ "credentialsFrom", OBJECT },
	{ "credentialsFrom.iamRole", STRING },
	{ "credentialsFrom.secretRef", STRING },
	{ "credentialsFrom.azureClientID", STRING },
	{ "credentialsFrom.gcpServiceAccount", STRING },
	{ "credentialsSecretRef", OBJECT },
	{ "credentialsSecretRef.name", STRING },
};

static void types(const struct json *spec, struct faults *faults)
{
	static const struct {
		enum json_kind kind;
		const char *remedy;
	} wanted[] = {
		[STRING] = { JSON_STRING, "write one text" },
		[BOOLEAN] = { JSON_BOOL, "write true or false, without quotes" },
		[OBJECT] = { JSON_OBJECT, "write names with values, or leave it out" },
	};

	for (size_t i = 0; i < array_len(fields); i++) {
		const struct json *j = json_at_path(spec, fields[i].path);
		enum json_kind kind = json_kind(j);
		cleanup(freep) char *path = xasprintf("spec.%s", fields[i].path);
		cleanup(freep) char *text = NULL;

		if (kind == JSON_ABSENT || kind == JSON_NULL || kind == wanted[fields[i].kind].kind)
			continue;
		text = json_text(j);
		fault_add(faults, "wrong-type", path, text, "is %s; %s", json_kind_text(kind),
			  wanted[fields[i].kind].remedy);
	}
}

/* The names that an object at path ("" is spec itself) may have; room for all fields and NULL. */
static void members_of(const char *path, const char **names)
{
	size_t n = strlen(path), count = 0;

	for (size_t i = 0; i < array_len(fields); i++) {
		const char *p = fields[i].path;

		if (n && (strncmp(p, path, n) != 0 || p[n] != '.'))
			continue;
		p += n ? n + 1 : 0;
		if (!strchr(p, '.'))
			names[count++] = p;
	}
	names[count] = NULL;
}

static void unknown_in(const struct json *j, const char *path, struct faults *faults)
{
	const char *names[array_len(fields) + 1];

	members_of(path, names);
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		cleanup(freep) char *at =
			xasprintf("spec%s%s.%.128s", *path ? "." : "", path, json_name(c));
		const char *near = workerapp_near_miss(json_name(c), names);

		if (near && str_eq(near, json_name(c)))
			continue;
		if (near)
			fault_add(faults, "unknown-field", at, "",
				  "there is no such field; did you mean %s?", near);
		else
			fault_add(faults, "unknown-field", at, "",
				  "there is no such field; leave it out");
	}
}

void store_unknown_fields(const struct json *store, struct faults *faults)
{
	const struct json *spec = json_get(store, "spec");

	if (json_kind(spec) == JSON_OBJECT)
		unknown_in(spec, "", faults);
	for (size_t i = 0; i < array_len(fields); i++) {
		const struct json *j = json_at_path(spec, fields[i].path);

		if (fields[i].kind == OBJECT && json_kind(j) == JSON_OBJECT)
			unknown_in(j, fields[i].path, faults);
	}
}

static void syntax(const struct wa_bucket *b, struct faults *faults)
{
	struct fault_value shown;
	bool lower = true;

	if (b->endpoint && (!syntax_url(b->endpoint) || strlen(b->endpoint) > 2048))
		fault_add(faults, "endpoint-syntax", "spec.endpoint", b->endpoint,
			  "%s is no URL of a store; write https://HOST or https://HOST:PORT, "
			  "without user, password, query or fragment",
			  fault_value(&shown, b->endpoint));
	else if (b->endpoint && str_starts(b->endpoint, "http://") && !b->allow_http)
		fault_add(faults, "endpoint-http", "spec.endpoint", b->endpoint,
			  "%s is not encrypted; write an https:// URL, or allowHTTP: true if the "
			  "network is trusted",
			  fault_value(&shown, b->endpoint));
	if (b->region && !syntax_word(b->region, 1, 64, "-"))
		fault_add(faults, "region-syntax", "spec.region", b->region,
			  "%s is no region; write one such as eu-central-1, or auto",
			  fault_value(&shown, b->region));
	for (const char *p = b->storage_account; p && *p; p++)
		lower = lower && !(*p >= 'A' && *p <= 'Z');
	if (b->storage_account && (!lower || !syntax_word(b->storage_account, 3, 24, "")))
		fault_add(faults, "storage-account-syntax", "spec.storageAccount",
			  b->storage_account,
			  "%s is no storage account; write 3 to 24 lower-case letters and digits",
			  fault_value(&shown, b->storage_account));
	if (b->storage_account && b->endpoint)
		fault_add(
			faults, "store-one-kind", "spec.storageAccount", b->storage_account,
			"one store is either S3-compatible or Azure; write endpoint for the one or "
			"storageAccount for the other");
}

/* ---- credentials ----------------------------------------------------------------------------- */

static void credential(const char *name, const char *value, bool legal, const char *form,
		       struct faults *faults)
{
	cleanup(freep) char *path = xasprintf("spec.credentialsFrom.%s", name);
	struct fault_value shown;

	if (value && !legal)
		fault_add(faults, "credential-syntax", path, value, "%s is none; write %s",
			  fault_value(&shown, value), form);
}

static void each_credential(const struct wa_credentials *c, struct faults *faults)
{
	credential("iamRole", c->iam_role,
		   c->iam_role && (str_eq(c->iam_role, "auto") || syntax_role_arn(c->iam_role)),
		   "the ARN of a role, such as arn:aws:iam::123456789012:role/chat, or auto",
		   faults);
	credential("secretRef", c->secret_ref, c->secret_ref && syntax_object_name(c->secret_ref),
		   "the name of a Secret: lower-case letters, digits, dashes and dots", faults);
	credential("azureClientID", c->azure_client_id,
		   c->azure_client_id && syntax_uuid(c->azure_client_id),
		   "a client ID, such as 11111111-2222-3333-4444-555555555555", faults);
	credential("gcpServiceAccount", c->gcp_service_account,
		   c->gcp_service_account && syntax_email(c->gcp_service_account),
		   "an e-mail, such as chat@project.iam.gserviceaccount.com", faults);
}

static void one_credential(const struct json *spec, const struct wa_bucket *b,
			   struct faults *faults)
{
	const struct wa_credentials *c = &b->credentials;
	bool direct = own(json_get(spec, "credentialsFrom"), "secretRef") != NULL;
	int n = (c->iam_role != NULL) + (c->azure_client_id != NULL) +
		(c->gcp_service_account != NULL) + direct;

	if (n > 1)
		fault_add(faults, "credentials-one", "spec.credentialsFrom", "",
			  "%d credentials are written, and celld uses one; write one of iamRole, "
			  "secretRef, azureClientID and gcpServiceAccount",
			  n);
	if (n && alias_of(spec))
		fault_add(faults, "credentials-alias", "spec.credentialsSecretRef", alias_of(spec),
			  "is secretRef by another name; write either credentialsFrom or "
			  "credentialsSecretRef");
}

static void kinds(const struct wa_bucket *b, struct faults *faults)
{
	const struct wa_credentials *c = &b->credentials;

	if (c->iam_role && b->storage_account)
		fault_add(faults, "credential-scheme", "spec.credentialsFrom.iamRole", c->iam_role,
			  "is not for Azure; write azureClientID or secretRef, or leave "
			  "storageAccount out");
	if (c->azure_client_id && !b->storage_account)
		fault_add(faults, "credential-scheme", "spec.credentialsFrom.azureClientID",
			  c->azure_client_id,
			  "is for Azure only; write storageAccount too, or another credential");
	if (c->gcp_service_account && (b->endpoint || b->storage_account))
		fault_add(faults, "credential-scheme", "spec.credentialsFrom.gcpServiceAccount",
			  c->gcp_service_account,
			  "is for gs:// only; leave endpoint and storageAccount out, or write "
			  "another credential");
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
	return a && b ? str_eq(a, b) : a == b;
}

static bool acknowledges_endpoint(const struct json *store)
{
	const char *s = json_str(json_path(store, "metadata", "annotations", ANNOTATION_ACK, NULL));
	struct strlist l = STRLIST_INIT;
	bool yes;

	strlist_split(&l, s ? s : "", ',');
	yes = strlist_has(&l, "endpoint");
	strlist_done(&l);
	return yes;
}

static void change(const struct json *store, const struct wa_bucket *b, const struct wa_bucket *old,
		   const struct strlist *users, struct faults *faults)
{
	if (old->storage_account && !same(b->storage_account, old->storage_account))
		fault_add(
			faults, "storage-account-immutable", "spec.storageAccount",
			old->storage_account,
			"another account is another bucket, and cells live in this one; write %s, "
			"or create another CelldObjectStore",
			old->storage_account);
	if (users->n && !same(b->endpoint, old->endpoint) && !acknowledges_endpoint(store))
		fault_add(faults, "endpoint-change", "spec.endpoint",
			  old->endpoint ? old->endpoint : "",
			  "%zu apps that roll use it (%s is one), and two halves of a fleet on two "
			  "stores own the same cells; set their updateStrategy to Recreate, or, if "
			  "the new name reaches the same buckets, annotate this store "
			  "with " ANNOTATION_ACK ": endpoint",
			  users->n, users->v[0]);
}

static void judge(const struct json *store, const struct policy *policy, struct faults *faults)
{
	const struct json *spec = json_get(store, "spec");
	const char *namespace = json_get_str(json_get(store, "metadata"), "namespace");
	struct wa_bucket b;

	if (json_kind(spec) != JSON_OBJECT) {
		fault_add(faults, "spec-type", "spec", "", "is %s; write an object",
			  json_kind_text(json_kind(spec)));
		return;
	}
	store_read(store, &b);
	types(spec, faults);
	syntax(&b, faults);
	each_credential(&b.credentials, faults);
	one_credential(spec, &b, faults);
	kinds(&b, faults);
	policy_judge_store(policy, namespace, &b, faults);
}

void store_rules(const struct json *store, const struct json *old, const struct policy *policy,
		 const struct strlist *users, struct faults *faults)
{
	struct faults before = FAULTS_INIT;
	struct wa_bucket b, was;

	judge(store, policy, faults);
	if (!old)
		return;
	judge(old, policy, &before);
	faults_ratchet(faults, &before);
	faults_done(&before);
	store_read(store, &b);
	store_read(old, &was);
	change(store, &b, &was, users, faults);
}
