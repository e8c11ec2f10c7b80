/*
 * workerapp.h - the WorkerApp resource as typed values.
 *
 * A struct workerapp owns the document it was read from; every `const char *` in it is lent by that
 * document (or static) and lives as long. An empty optional string means absent, everywhere: it is
 * NULL here. A value of the wrong type is absent here and a fault of workerapp_parse. Schema
 * defaults are applied while reading, so that an object that was stored before a default existed,
 * or that a file holds, reads the same as one that the API server has defaulted.
 */
#ifndef COMMON_WORKERAPP_H
#define COMMON_WORKERAPP_H

#include "common/base.h"
#include "common/fault.h"
#include "common/json.h"
#include "common/strlist.h"

#define WORKERAPP_GROUP	  "celld-operator.io"
#define WORKERAPP_VERSION "v1alpha1"
#define WORKERAPP_API	  WORKERAPP_GROUP "/" WORKERAPP_VERSION
/* Initialisers of a struct kube_kind. */
#define WORKERAPP_KIND                                                                             \
	{                                                                                          \
		WORKERAPP_GROUP, WORKERAPP_VERSION, "workerapps", "WorkerApp", true                \
	}
#define OBJECT_STORE_KIND                                                                          \
	{                                                                                          \
		WORKERAPP_GROUP, WORKERAPP_VERSION, "celldobjectstores", "CelldObjectStore", true  \
	}
#define WORKERAPP_LABEL	     "celld-operator.io/workerapp"
#define ANNOTATION_ACK	     "celld-operator.io/acknowledge"
#define ANNOTATION_DEFAULTED "celld-operator.io/defaulted"

enum { WORKERAPP_LIST = 1024 };

struct opt_int {
	bool set;
	int64_t v;
};

enum celld_strategy { STRATEGY_ROLLING, STRATEGY_RECREATE };
enum deployment_policy { POLICY_RESTART, POLICY_IN_PLACE };
enum durability { DURABILITY_BUCKET, DURABILITY_FLEET };
enum bucket_scheme { SCHEME_NONE, SCHEME_S3, SCHEME_GS, SCHEME_AZ };
enum telemetry_sink { SINK_DEFAULT, SINK_BUCKET, SINK_OTLP };

struct wa_credentials {
	const char *iam_role, *secret_ref, *azure_client_id, *gcp_service_account;
};

struct wa_bucket {
	const char *name; /* as written: "s3://cells/apps/chat/" */
	enum bucket_scheme scheme;
	const char *endpoint, *region, *storage_account;
	bool allow_http;
	struct wa_credentials credentials;
};

struct wa_env {
	size_t index;			      /* in spec.env, for paths */
	const char *name, *value;	      /* value may be "" here: rules refuse it */
	const char *secret_name, *secret_key; /* secretKeyRef */
};

struct workerapp {
	struct json *doc;	   /* owned */
	struct faults type_faults; /* owned: what has the wrong type; workerapp_rules() tells of
				      them too */
	const struct json *spec, *status, *annotations, *labels;

	/* metadata */
	const char *namespace, *name, *uid, *resource_version;
	int64_t generation;
	const char *created; /* creationTimestamp */
	bool deleting;	     /* deletionTimestamp is set */
	const char *acknowledged;

	/* spec */
	struct strlist hostnames;
	const char *app_version; /* NULL: absent (a fault) */
	bool app_version_auto;
	enum deployment_policy policy;
	const char *tracking_secret;
	const char *image, *celld_version, *pull_policy;
	struct strlist pull_secrets;
	enum celld_strategy strategy;
	int64_t replicas; /* default 3 */
	struct wa_bucket bucket;
	const char *store_ref;
	struct {
		int64_t cpu_millis, memory_gi, ephemeral_gi, max_resident_cells;
		struct opt_int idle_evict_seconds;
	} resources;
	struct {
		bool set;
		int64_t size_gi;
		const char *class_name;
	} storage;
	enum durability durability;
	struct {
		const struct json *node_selector, *tolerations;
		bool spread_zones;
		const char *priority_class;
	} scheduling;
	struct {
		const char *type; /* "ClusterIP" when absent */
		const struct json *annotations;
	} service;
	const char *vars_secret;
	struct wa_env *env; /* the objects of spec.env; others are faults */
	size_t n_env;
	const struct json *pod_labels, *pod_annotations;
	bool websockets, trust_forwarded;
	struct {
		const struct json *public_from; /* NULL: anyone; an empty list: nobody */
		bool egress;
		const struct json *egress_extra;
	} network_policy;
	struct {
		bool set;
		const char *path, *path_type, *ingress_class, *cluster_issuer, *tls_secret;
		bool strip_prefix;
		const struct json *gateway_refs, *annotations;
	} ingress;
	struct {
		bool enabled;
		int64_t min, max;
		int64_t utilization;
		struct opt_int p95_ms;
	} autoscaling;
	struct {
		bool enabled;
		enum telemetry_sink sink;
		const char *otlp_endpoint, *retention;
	} telemetry;
	const char *cluster_domain;
	bool paused;
	const char *restart_token;

	/* status, as last written; what has the wrong type there is absent, and no fault */
	struct {
		int64_t observed_generation;
		const char *phase, *expected_app_version, *rolled_out_app_version;
		struct strlist celld_versions;
	} seen;
};

/*
 * Reads a document; takes it (also on failure). ERR_INVALID only when it is no WorkerApp object at
 * all; everything that has the wrong type inside is a fault with its path (faults may be NULL:
 * dropped).
 */
int workerapp_parse(struct json *doc, struct faults *faults, struct workerapp **ret, struct err *e);
void workerapp_free(struct workerapp *app);
define_cleanup(struct workerapp *, workerapp_free);
#define cleanup_workerapp cleanup(workerapp_free_cleanup)

/*
 * Members of spec that the schema does not know (the API server drops them, or refuses them
 * under strict validation), each as a fault with the name that was probably meant. For
 * files; a served object has none.
 */
void workerapp_unknown_fields(const struct workerapp *app, struct faults *faults);

/* The candidate (a list ended by NULL) that word was probably meant to be, NULL: none is near.
 * Pure. */
const char *workerapp_near_miss(const char *word, const char *const *candidates);

/* The prefix part of bucket.name without slashes around it ("apps/chat"), and the bucket ("cells");
 * the caller's. */
char *workerapp_bucket_name(const struct workerapp *app) must_use;
char *workerapp_bucket_prefix(const struct workerapp *app) must_use;

#endif
