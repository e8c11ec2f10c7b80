/* Rules of metadata, hostnames, appVersion, celld, ingress and clusterDomain. */
#include <stdio.h>
#include <string.h>

#include "common/celld/image.h"
#include "common/syntax.h"
#include "common/workerapp_judge.h"

/* "<app>-celld-" and a revision's hash of 10 must fit into a label's 63. */
enum {
	NAME_MAX_LEN = 46,
	GENERATED = 5,
	HOSTNAMES = 16,
	PULL_SECRETS = 16,
	GATEWAYS = 32,
	TOKEN_MAX = 128
};

static void name(const struct judge *j)
{
	const struct json *m = json_get(j->app->doc, "metadata");
	const char *s = j->app->name, *base = json_get_str(m, "generateName");
	struct fault_value shown;
	size_t n;

	if (!s && !str_empty(base)) {
		if (strlen(base) + GENERATED > NAME_MAX_LEN)
			fault_add(j->faults, "name-length", "metadata.generateName", base,
				  "names made from %s are longer than 46 characters; write at most "
				  "41",
				  fault_value(&shown, base));
		return;
	}
	if (!s) {
		fault_add(j->faults, "name-required", "metadata.name", "",
			  "there is no name; write one of at most 46 characters");
		return;
	}
	n = strlen(s);
	if (n > NAME_MAX_LEN)
		fault_add(j->faults, "name-length", "metadata.name", s,
			  "has %zu characters, and the names of pods and the labels of revisions "
			  "are built from it; write at most 46",
			  n);
	if (!syntax_dns_label(s) && n <= 63)
		fault_add(j->faults, "name-syntax", "metadata.name", s,
			  "%s cannot name a Service; begin with a letter and write only a-z, 0-9 "
			  "and dashes, and no dash at the end",
			  fault_value(&shown, s));
}

static void hostnames(const struct judge *j)
{
	const struct strlist *l = &j->app->hostnames;
	char count[24];

	if (l->n > HOSTNAMES) {
		(void)snprintf(count, sizeof(count), "%zu", l->n);
		fault_add(j->faults, "hostnames-count", "spec.hostnames", count,
			  "%s host names are more than one route takes; write at most 16", count);
	}
	for (size_t i = 0; i < l->n && i < HOSTNAMES; i++) {
		cleanup(freep) char *path = NULL;
		struct fault_value shown;
		size_t first = 0;

		while (!str_eq(l->v[first], l->v[i]))
			first++;
		if (first == i && syntax_host_name(l->v[i]))
			continue;
		path = xasprintf("spec.hostnames[%zu]", i);
		if (first < i)
			fault_add(j->faults, "hostname-twice", path, l->v[i],
				  "%s is there twice; leave one out", fault_value(&shown, l->v[i]));
		else
			fault_add(j->faults, "hostname-syntax", path, l->v[i],
				  "%s cannot be routed; write a lower-case DNS name such as "
				  "chat.example.com or *.example.com, without scheme, port or "
				  "final dot, no IP address",
				  fault_value(&shown, l->v[i]));
	}
}

static void app_version(const struct judge *j)
{
	const struct workerapp *app = j->app;
	const char *s = app->app_version;
	struct fault_value shown;

	if (!s)
		fault_add(
			j->faults, "app-version-required", "spec.appVersion", "",
			"there is none; write the Version ID that `celld deploy` prints, or auto");
	else if (!syntax_word(s, 1, 128, "._-"))
		fault_add(j->faults, "app-version-syntax", "spec.appVersion", s,
			  "%s is no Version ID; write what `celld deploy` prints (1 to 128 "
			  "letters, digits, dots, underscores and dashes), or auto",
			  fault_value(&shown, s));
	if (app->app_version_auto && !app->tracking_secret && !app->bucket.credentials.secret_ref &&
	    !app->store_ref)
		fault_add(j->faults, "tracking-secret-required", "spec.deployTrackingSecretRef",
			  "auto",
			  "appVersion auto needs a Secret to read the bucket with; write one here "
			  "(or bucket.credentialsFrom.secretRef or storeRef), or pin appVersion");
	judge_object_name(j, "spec.deployTrackingSecretRef", app->tracking_secret, "Secret");
}

static void deployment_policy(const struct judge *j)
{
	char since[VERSION_TEXT], version[VERSION_TEXT];

	if (j->app->policy != POLICY_IN_PLACE || !j->facts || j->facts->state_deployment)
		return;
	judge_since(j, offsetof(struct celld_facts, state_deployment), since);
	version_text(j->version, version);
	fault_add(j->faults, "in-place-version", "spec.deploymentPolicy", version,
		  "celld %s takes a deployment up only when it starts; write Restart, or celld %s",
		  version, since);
}

/* The tag or "" in text; an image with a digest moves nowhere. */
static void warn_of_tag(const struct judge *j)
{
	const struct image *image = &j->image;

	if (image->digest || image->has_version)
		return;
	if (image->tag_len)
		judge_warn(j,
			   "spec.celld.image: tag %.*s may move; a node can pull another celld "
			   "than celld.version says",
			   image->tag_len > 24 ? 24 : (int)image->tag_len, image->tag);
	else
		judge_warn(j, "spec.celld.image: no tag is the tag latest, which moves; write one "
			      "or a digest");
}

static void image(const struct judge *j)
{
	const struct workerapp *app = j->app;
	struct fault_value shown, shown2;

	if (!app->image) {
		fault_add(j->faults, "image-required", "spec.celld.image", "",
			  "there is none; write one such as ghcr.io/denoland/celld:v0.6.2");
		return;
	}
	if (!j->has_image || strlen(app->image) > 512) {
		fault_add(j->faults, "image-syntax", "spec.celld.image", app->image,
			  "%s is no image reference; write REGISTRY/NAME:TAG or "
			  "REGISTRY/NAME@sha256: and 64 hexadecimal digits",
			  fault_value(&shown, app->image));
		return;
	}
	if (!j->has_version)
		fault_add(j->faults, "image-version", "spec.celld.image", app->image,
			  "%s does not tell its celld version; write a tag such as v0.6.2, or "
			  "celld.version",
			  fault_value(&shown, app->image));
	if (j->image_conflict) {
		cleanup(freep) char *both = xasprintf("%s %s", app->image, app->celld_version);

		fault_add(j->faults, "image-version-conflict", "spec.celld.version", both,
			  "%s is another version than the tag of %s says; write the tag's, or "
			  "leave version out",
			  fault_value(&shown, app->celld_version),
			  fault_value(&shown2, app->image));
	}
	warn_of_tag(j);
}

static void celld(const struct judge *j)
{
	const struct workerapp *app = j->app;
	const char *s = app->celld_version;
	struct version v;
	char text[VERSION_TEXT] = "";
	struct fault_value shown;

	image(j);
	/* The canonical form alone, without a suffix. */
	if (s && version_read(s, &v))
		version_text(v, text);
	if (s && !str_eq(s, text))
		fault_add(j->faults, "celld-version-syntax", "spec.celld.version", s,
			  "%s is no version; write vX.Y.Z, such as v0.6.2", fault_value(&shown, s));
	judge_length(j, "spec.celld.imagePullSecrets", app->pull_secrets.n, PULL_SECRETS);
	for (size_t i = 0; i < app->pull_secrets.n && i < PULL_SECRETS; i++)
		judge_item_name(j, app->pull_secrets.v[i], "Secret",
				"spec.celld.imagePullSecrets[%zu].name", i);
}

static void gateway_part(const struct judge *j, const struct json *g, size_t i, const char *member,
			 const char *what)
{
	const char *s = json_get_str(g, member);

	judge_item_name(j, str_empty(s) ? NULL : s, what, "spec.ingress.gatewayRefs[%zu].%s", i,
			member);
}

static void gateways(const struct judge *j)
{
	size_t i = 0;

	for (const struct json *g = json_first(j->app->ingress.gateway_refs); g && i < GATEWAYS;
	     g = json_next(g), i++) {
		if (str_empty(json_get_str(g, "name"))) {
			cleanup(freep) char *path =
				xasprintf("spec.ingress.gatewayRefs[%zu].name", i);

			fault_add(j->faults, "gateway-name", path, "",
				  "there is none; write the name of a Gateway");
		}
		gateway_part(j, g, i, "name", "Gateway");
		gateway_part(j, g, i, "namespace", "Namespace");
		gateway_part(j, g, i, "sectionName", "listener");
	}
	judge_length(j, "spec.ingress.gatewayRefs", json_len(j->app->ingress.gateway_refs),
		     GATEWAYS);
}

static void ingress(const struct judge *j)
{
	const struct workerapp *app = j->app;
	struct fault_value shown;

	if (!app->ingress.set)
		return;
	if (!syntax_path(app->ingress.path))
		fault_add(j->faults, "ingress-path", "spec.ingress.path", app->ingress.path,
			  "%s is no path that every route takes; begin with /, and write no empty, "
			  ". or .. segments, query, fragment or spaces",
			  fault_value(&shown, app->ingress.path));
	if (json_len(app->ingress.gateway_refs) > 0 && app->ingress.ingress_class)
		fault_add(j->faults, "ingress-one-way", "spec.ingress.ingressClass",
			  app->ingress.ingress_class,
			  "gatewayRefs and ingressClass are two ways to route one app; write one "
			  "of them");
	gateways(j);
	judge_object_name(j, "spec.ingress.ingressClass", app->ingress.ingress_class,
			  "IngressClass");
	judge_object_name(j, "spec.ingress.clusterIssuer", app->ingress.cluster_issuer,
			  "ClusterIssuer");
	judge_object_name(j, "spec.ingress.tlsSecretName", app->ingress.tls_secret, "Secret");
	if (app->hostnames.n == 0)
		judge_warn(j, "spec.ingress: nothing is routed without hostnames");
}

static void others(const struct judge *j)
{
	struct fault_value shown;
	const char *domain = j->app->cluster_domain, *token = j->app->restart_token;

	if (!syntax_dns_name(domain))
		fault_add(j->faults, "cluster-domain", "spec.clusterDomain", domain,
			  "%s is no DNS name; write one such as cluster.local",
			  fault_value(&shown, domain));
	if (token && syntax_length(token) > TOKEN_MAX)
		fault_add(j->faults, "restart-token", "spec.maintenance.restartToken", token,
			  "is longer than 128 characters; write a short text");
}

void workerapp_rules_names(const struct judge *j)
{
	name(j);
	hostnames(j);
	app_version(j);
	deployment_policy(j);
	celld(j);
	ingress(j);
	others(j);
}
