/* Rules of bucket, its credentials, and storeRef. */
#include <stdio.h>
#include <string.h>

#include "common/syntax.h"
#include "common/workerapp_judge.h"

/* A feature of the object store that the version lacks. */
static void needs(const struct judge *j, const char *rule, bool has, size_t fact, const char *what,
		  const char *instead)
{
	char since[VERSION_TEXT], version[VERSION_TEXT];

	if (has)
		return;
	judge_since(j, fact, since);
	version_text(j->version, version);
	fault_add(j->faults, rule, "spec.bucket.name", version,
		  "celld %s knows no %s; write celld %s, or %s", version, what, since, instead);
}

static void needs_version(const struct judge *j)
{
	const struct celld_facts *f = j->facts;
	cleanup(freep) char *prefix = workerapp_bucket_prefix(j->app);

	if (!f)
		return;
	if (j->app->bucket.scheme == SCHEME_GS)
		needs(j, "bucket-gs-version", f->gs, offsetof(struct celld_facts, gs),
		      "gs:// buckets", "an s3:// name");
	if (j->app->bucket.scheme == SCHEME_AZ)
		needs(j, "bucket-az-version", f->az, offsetof(struct celld_facts, az),
		      "az:// buckets", "an s3:// name");
	if (*prefix)
		needs(j, "bucket-prefix-version", f->prefix, offsetof(struct celld_facts, prefix),
		      "prefix in a bucket", "a bucket of its own without a prefix");
}

/* Segments with one '/' between them; one at the end is allowed. */
static bool is_prefix(const char *s)
{
	for (const char *p = s; *p; p++) {
		if ((p[0] == '.' && p[1] == '.') || (p[0] == '/' && (p == s || p[1] == '/')))
			return false;
	}
	return syntax_word(s, 0, 1024, "._-/");
}

static bool is_container(const char *s)
{
	for (const char *p = s; *p; p++) {
		if ((*p >= 'A' && *p <= 'Z') || (p[0] == '.' && p[1] == '.'))
			return false;
	}
	return syntax_word(s, 3, 63, ".-");
}

static void bucket_name(const struct judge *j)
{
	const char *s = j->app->bucket.name, *rest, *slash;
	cleanup(freep) char *container = NULL;
	struct fault_value shown;

	if (!s) {
		fault_add(j->faults, "bucket-required", "spec.bucket.name", "",
			  "there is none; write the bucket and a prefix of the app's own, such as "
			  "s3://cells/apps/chat");
		return;
	}
	if (j->app->bucket.scheme == SCHEME_NONE) {
		fault_add(j->faults, "bucket-scheme", "spec.bucket.name", s,
			  "%s does not tell the kind of storage; begin with s3://, gs:// or az://",
			  fault_value(&shown, s));
		return;
	}
	container = workerapp_bucket_name(j->app);
	if (!is_container(container))
		fault_add(j->faults, "bucket-container", "spec.bucket.name", s,
			  "%s is no container name; write 3 to 63 lower-case letters, digits, dots "
			  "and dashes after the ://",
			  fault_value(&shown, container));
	rest = s + strlen("s3://");
	slash = strchr(rest, '/');
	if (strlen(s) > 1024 || (slash && !is_prefix(slash + 1)))
		fault_add(j->faults, "bucket-prefix", "spec.bucket.name", s,
			  "%s has no legal prefix; write segments of letters, digits, dots, dashes "
			  "and underscores with one / between them, and no two dots in a row",
			  fault_value(&shown, s));
	needs_version(j);
}

static void endpoint(const struct judge *j)
{
	const struct wa_bucket *b = &j->app->bucket;
	struct fault_value shown;

	if (!b->endpoint)
		return;
	if (b->scheme == SCHEME_GS || b->scheme == SCHEME_AZ)
		fault_add(j->faults, "endpoint-scheme", "spec.bucket.endpoint", b->endpoint,
			  "celld takes an endpoint for s3:// only; leave it out, or write an s3:// "
			  "name");
	if (!syntax_url(b->endpoint) || strlen(b->endpoint) > 2048)
		fault_add(j->faults, "endpoint-syntax", "spec.bucket.endpoint", b->endpoint,
			  "%s is no URL of a store; write https://HOST or https://HOST:PORT, "
			  "without user, password, query or fragment",
			  fault_value(&shown, b->endpoint));
	else if (str_starts(b->endpoint, "http://") && !b->allow_http)
		fault_add(j->faults, "endpoint-http", "spec.bucket.endpoint", b->endpoint,
			  "%s is not encrypted; write an https:// URL, or allowHTTP: true if the "
			  "network is trusted",
			  fault_value(&shown, b->endpoint));
}

static void account(const struct judge *j)
{
	const struct wa_bucket *b = &j->app->bucket;
	struct fault_value shown;
	bool legal = true;

	for (const char *p = b->storage_account; p && *p; p++)
		legal = legal && !(*p >= 'A' && *p <= 'Z');
	if (b->storage_account && (!legal || !syntax_word(b->storage_account, 3, 24, "")))
		fault_add(j->faults, "storage-account-syntax", "spec.bucket.storageAccount",
			  b->storage_account,
			  "%s is no storage account; write 3 to 24 lower-case letters and digits",
			  fault_value(&shown, b->storage_account));
	if (b->storage_account && (b->scheme == SCHEME_S3 || b->scheme == SCHEME_GS))
		fault_add(j->faults, "storage-account-scheme", "spec.bucket.storageAccount",
			  b->storage_account,
			  "only Azure has storage accounts; leave it out, or write an az:// name");
	if (!b->storage_account && b->scheme == SCHEME_AZ && !j->app->store_ref)
		fault_add(j->faults, "storage-account-required", "spec.bucket.storageAccount", "",
			  "an az:// name is only the container; write the storage account too");
}

static void region(const struct judge *j)
{
	const struct wa_bucket *b = &j->app->bucket;
	struct fault_value shown;

	if (b->region && !syntax_word(b->region, 1, 64, "-"))
		fault_add(j->faults, "region-syntax", "spec.bucket.region", b->region,
			  "%s is no region; write one such as eu-central-1, or auto",
			  fault_value(&shown, b->region));
	if (b->region && (b->scheme == SCHEME_GS || b->scheme == SCHEME_AZ))
		judge_warn(j, "spec.bucket.region: plays no part with gs:// and az://");
	if (b->credentials.iam_role && b->scheme == SCHEME_S3 &&
	    (!b->region || str_eq(b->region, "auto")))
		judge_warn(j, "spec.bucket.region: iamRole needs the real region, because AWS's "
			      "token service has no `auto`");
}

/* --- credentials --- */

struct credential {
	const char *value, *name;
	enum bucket_scheme scheme; /* SCHEME_NONE: any */
	bool legal;
	const char *form;
};

static const char *const scheme_text[] = {
	[SCHEME_NONE] = "any",
	[SCHEME_S3] = "s3://",
	[SCHEME_GS] = "gs://",
	[SCHEME_AZ] = "az://",
};

static const char *const other_credential[] = {
	[SCHEME_NONE] = "secretRef",
	[SCHEME_S3] = "iamRole or secretRef",
	[SCHEME_GS] = "gcpServiceAccount or secretRef",
	[SCHEME_AZ] = "azureClientID or secretRef",
};

static void credential(const struct judge *j, const struct credential *c)
{
	enum bucket_scheme scheme = j->app->bucket.scheme;
	cleanup(freep) char *path = NULL, *both = NULL;
	struct fault_value shown;
	bool fits = c->scheme == SCHEME_NONE || scheme == SCHEME_NONE || c->scheme == scheme;

	if (!c->value || (c->legal && fits))
		return;
	path = xasprintf("spec.bucket.credentialsFrom.%s", c->name);
	if (!c->legal)
		fault_add(j->faults, "credential-syntax", path, c->value, "%s is none; write %s",
			  fault_value(&shown, c->value), c->form);
	if (fits)
		return;
	both = xasprintf("%s %s", c->value, scheme_text[scheme]);
	fault_add(j->faults, "credential-scheme", path, both, "is for %s only; write %s for %s",
		  scheme_text[c->scheme], other_credential[scheme], scheme_text[scheme]);
}

static void credentials(const struct judge *j)
{
	const struct wa_credentials *c = &j->app->bucket.credentials;
	const struct credential all[] = {
		{ c->iam_role, "iamRole", SCHEME_S3,
		  c->iam_role && (str_eq(c->iam_role, "auto") || syntax_role_arn(c->iam_role)),
		  "the ARN of a role, such as arn:aws:iam::123456789012:role/chat, or auto" },
		{ c->secret_ref, "secretRef", SCHEME_NONE,
		  c->secret_ref && syntax_object_name(c->secret_ref),
		  "the name of a Secret: lower-case letters, digits, dashes and dots" },
		{ c->azure_client_id, "azureClientID", SCHEME_AZ,
		  c->azure_client_id && syntax_uuid(c->azure_client_id),
		  "a client ID, such as 11111111-2222-3333-4444-555555555555" },
		{ c->gcp_service_account, "gcpServiceAccount", SCHEME_GS,
		  c->gcp_service_account && syntax_email(c->gcp_service_account),
		  "an e-mail, such as chat@project.iam.gserviceaccount.com" },
	};
	char names[96] = "";
	size_t n = 0, len = 0;

	for (size_t i = 0; i < array_len(all); i++) {
		credential(j, &all[i]);
		n += all[i].value != NULL;
	}
	for (size_t i = 0; n > 1 && i < array_len(all); i++) {
		if (all[i].value)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? " and " : "", all[i].name);
	}
	if (n > 1)
		fault_add(j->faults, "credentials-one", "spec.bucket.credentialsFrom", names,
			  "%s are %zu credentials, and celld uses one; write one of them", names,
			  n);
	if (n == 0 && !j->app->store_ref && j->app->bucket.scheme == SCHEME_S3 && j->facts &&
	    !j->facts->pod_identity)
		judge_warn(j, "spec.bucket.credentialsFrom: this celld does not read EKS Pod "
			      "Identity; write iamRole or secretRef");
}

/* With a store, bucket carries a name and nothing else. */
static void store(const struct judge *j)
{
	const struct wa_bucket *b = &j->app->bucket;
	const struct wa_credentials *c = &b->credentials;
	const struct {
		bool set;
		const char *name;
	} all[] = {
		{ b->endpoint != NULL, "endpoint" },
		{ b->allow_http, "allowHTTP" },
		{ b->region != NULL, "region" },
		{ b->storage_account != NULL, "storageAccount" },
		{ c->iam_role || c->secret_ref || c->azure_client_id || c->gcp_service_account,
		  "credentialsFrom" },
	};

	judge_object_name(j, "spec.storeRef.name", j->app->store_ref, "CelldObjectStore");
	for (size_t i = 0; j->app->store_ref && i < array_len(all); i++) {
		cleanup(freep) char *path = xasprintf("spec.bucket.%s", all[i].name);

		if (all[i].set)
			fault_add(j->faults, "store-exclusive", path, j->app->store_ref,
				  "the store of storeRef says this already; leave it out, or leave "
				  "storeRef out");
	}
}

void workerapp_rules_bucket(const struct judge *j)
{
	bucket_name(j);
	endpoint(j);
	account(j);
	region(j);
	credentials(j);
	store(j);
}
