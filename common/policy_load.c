#include "common/policy_load.h"

#include "common/json.h"
#include "common/yaml.h"

static const struct {
	const char *member, *flag, *placeholder, *help;
} names[POLICY_KINDS] = {
	[POLICY_IMAGE] = { "allowedImagePrefixes", "allowed-image-prefixes", "[NAMESPACE=]PREFIX",
			   "Images that apps may use, up to a ':', '@' or '/'; all when not "
			   "given" },
	[POLICY_IAM_ROLE] = { "allowedIAMRoles", "allowed-iam-roles", "[NAMESPACE=]ARN",
			      "AWS roles that apps may name, * for any letters; all when not "
			      "given" },
	[POLICY_AZURE_CLIENT_ID] = { "allowedAzureClientIDs", "allowed-azure-client-ids",
				     "[NAMESPACE=]UUID",
				     "Azure client IDs that apps may name; all when not given" },
	[POLICY_GCP_SERVICE_ACCOUNT] = { "allowedGCPServiceAccounts",
					 "allowed-gcp-service-accounts", "[NAMESPACE=]EMAIL",
					 "Google service accounts that apps may name, * for any "
					 "letters; all when not given" },
	[POLICY_ENDPOINT] = { "allowedBucketEndpoints", "allowed-bucket-endpoints",
			      "[NAMESPACE=]URL",
			      "Endpoints of buckets that apps may name; all when not given" },
};

static int fail(const struct yaml_doc *doc, const char *origin, const char *path, const char *what,
		struct err *e)
{
	struct yaml_place at = { 1, 1 };

	(void)yaml_where(doc, path, &at);
	return err_set(e, ERR_INVALID, "%s:%zu: %s: %s", origin, at.line, path, what);
}

static int kind_of(const char *member)
{
	for (int i = 0; i < POLICY_KINDS; i++) {
		if (str_eq(names[i].member, member))
			return i;
	}
	return -1;
}

static int read_list(const struct yaml_doc *doc, const char *origin, const struct json *list,
		     struct policy *p, struct err *e)
{
	const char *member = json_name(list);
	int kind = kind_of(member);
	size_t i = 0;

	if (kind < 0)
		return fail(doc, origin, member,
			    "there is no such list; the lists are allowedImagePrefixes, "
			    "allowedIAMRoles, allowedAzureClientIDs, allowedGCPServiceAccounts and "
			    "allowedBucketEndpoints",
			    e);
	if (json_kind(list) == JSON_NULL)
		return 0;
	if (json_kind(list) != JSON_ARRAY)
		return fail(doc, origin, member, "write a list", e);
	for (const struct json *c = json_first(list); c; c = json_next(c), i++) {
		cleanup(freep) char *path = xasprintf("%s[%zu]", member, i);
		struct err why = ERR_INIT;

		if (!json_str(c))
			return fail(doc, origin, path, "write a text", e);
		if (policy_add(p, (enum policy_kind)kind, json_str(c), &why))
			return fail(doc, origin, path, why.message, e);
	}
	return 0;
}

int policy_load(const char *text, size_t len, const char *origin, struct policy *p, struct err *e)
{
	struct yaml_doc doc = { 0 };
	int r = yaml_parse_one(text, len, &doc, e);

	if (r)
		return err_wrap(e, "%s", origin);
	if (json_kind(doc.value) != JSON_OBJECT)
		r = fail(&doc, origin, "policy", "write the lists as members of one object", e);
	for (const struct json *c = json_first(doc.value); !r && c; c = json_next(c))
		r = read_list(&doc, origin, c, p, e);
	yaml_doc_done(&doc);
	return r;
}

int policy_add_flags(const struct strlist given[POLICY_KINDS], struct policy *p, struct err *e)
{
	for (int kind = 0; kind < POLICY_KINDS; kind++) {
		for (size_t i = 0; i < given[kind].n; i++) {
			int r = policy_add(p, (enum policy_kind)kind, given[kind].v[i], e);

			if (r)
				return err_wrap(e, "--%s", names[kind].flag);
		}
	}
	return 0;
}

void policy_flags(struct strlist given[POLICY_KINDS], struct flag to[POLICY_KINDS])
{
	for (int i = 0; i < POLICY_KINDS; i++)
		to[i] = (struct flag){ .name = names[i].flag,
				       .kind = FLAG_LIST,
				       .to = &given[i],
				       .placeholder = names[i].placeholder,
				       .help = names[i].help };
}
