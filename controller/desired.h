/*
 * desired.h - the objects that one WorkerApp should have, as values. Pure (tier 2): a WorkerApp,
 * the facts of its celld version and a few facts of the cluster in, JSON out. The controller
 * applies what is made here and `kubectl-celld render` prints it.
 *
 * Every function returns a new tree of the caller's that holds only the fields that we own, so that it can be the
 * body of a server-side apply as it stands. Values are spelled as the API server stores them, so that a leaf here and
 * the same leaf of the live object compare equal. Seen on a 1.36 server, which stores cpu 1000m as 1, 2048Gi as 2Ti,
 * 1024Mi as 1Gi, a port without protocol as TCP, and drops empty strings and lists; every golden file of render is
 * stored by it leaf for leaf. Fields that the server would fill in are rendered only where a hand edit of them has to
 * be put back. Lists without a merge key (volumeClaimTemplates, capabilities.drop, anti-affinity terms, NetworkPolicy
 * rules) are owned whole: compare them element by element, each element as a subset, since the server adds its
 * defaults inside them.
 *
 * Whoever may refuse an object does so before: these functions trust workerapp_rules. What they
 * still meet they make safe: an empty environment value is left out, and a name that the operator
 * owns is not given to the user.
 */
#ifndef CONTROLLER_DESIRED_H
#define CONTROLLER_DESIRED_H

#include "common/celld/table.h"
#include "common/digest.h"
#include "common/json.h"
#include "common/workerapp.h"
#include "controller/desired_flags.h"

/* How this code renders. It goes up by one whenever the same input gives another pod template. */
#define DESIRED_RENDERER "1"
/* Field manager of children, and the value of the managed-by label. */
#define DESIRED_MANAGER "celld-operator"

/* Labels. WORKERAPP_LABEL (workerapp.h) alone selects: a selector can never be changed. */
#define LABEL_NAME	 "app.kubernetes.io/name"
#define LABEL_INSTANCE	 "app.kubernetes.io/instance"
#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define LABEL_COMPONENT	 "app.kubernetes.io/component"
/* The controller's own pods carry these two, in the operator's namespace: who else may reach the
 * internal port. */
#define OPERATOR_LABEL_NAME	 "celld-operator"
#define OPERATOR_LABEL_COMPONENT "controller"

/* Annotations of the StatefulSet. */
#define ANNOTATION_INTENT "celld-operator.io/intent" /* desired_intent() of the live template */
/* DESIRED_RENDERER of the live template */
#define ANNOTATION_RENDERER "celld-operator.io/renderer"
/* The expectation that the last apply knew; see desired_app_version(). */
#define ANNOTATION_EXPECTED "celld-operator.io/expected-app-version"
/* KEDA's own, of a ScaledObject: "true" takes its autoscaler away until the annotation is gone. */
#define ANNOTATION_KEDA_PAUSED "autoscaling.keda.sh/paused"
/* Annotations of the pod template. */
#define ANNOTATION_CELLD_VERSION "celld-operator.io/celld-version" /* "v0.6.2" */
#define ANNOTATION_APP_VERSION	 "celld-operator.io/app-version"
#define ANNOTATION_CONFIG_HASH	 "celld-operator.io/config-hash"
#define ANNOTATION_RESTART	 "celld-operator.io/restart-token"
/* The cloud identity that the ServiceAccount names: pods take it up at their start only, so its
 * change must restart them. */
#define ANNOTATION_IDENTITY "celld-operator.io/identity"
/* Annotations of each claim: whose data it holds. */
#define ANNOTATION_CLAIM_APP	"celld-operator.io/app-uid"
#define ANNOTATION_CLAIM_BUCKET "celld-operator.io/bucket"

/* The partition of a fleet at rest: no ordinal is ever updated by a change that we did not release. */
#define DESIRED_PARTITION_REST 2147483647

/* The one container, the volume and claim template of its data. A claim is
 * data-<app>-celld-<ordinal>. */
#define DESIRED_CONTAINER "celld"
#define DESIRED_DATA	  "data"
#define DESIRED_DATA_PATH "/var/lib/celld"
/* spec.vars: where the file is in the container, and its key in the Secret. */
#define DESIRED_VARS_PATH "/etc/celld"
#define DESIRED_VARS_KEY  "vars.env"

struct desired_input {
	const struct workerapp *app;
	const struct celld_table *table;
	struct version version; /* of celld, as image and spec.celld.version tell */
	/*
	 * What the fleet's storage is, after spec.storeRef: NULL takes app->bucket. Only endpoint,
	 * region, storage_account, allow_http and credentials are read from it; the name is always
	 * the app's.
	 */
	const struct wa_bucket *store;
	/* Value of the template's app-version annotation; desired_app_version() chooses it. Never
	 * NULL. */
	const char *app_version;
	/* What the fleet is expected to serve (pinned or followed). NULL: app_version. */
	const char *expected;
	/* Digest of the Secret values that the pods use (desired_secrets names them); NULL: they
	 * use none. */
	const char *config_hash;
	const char *operator_namespace; /* NULL: "celld-operator-system" */
	bool ipv6;			/* pods have IPv6 addresses */
	/* For routes, mesh policies and autoscaling; they alone read it. */
	const struct desired_flags *flags;
	bool retry_served; /* the installed HTTPRoute has the field `retry` */
	/* Those of the app's hostnames that nobody else holds; NULL: all. */
	const struct strlist *hostnames;
};

/* "<app>-celld" and "<app>-celld-internal"; the caller's. */
char *desired_name(const struct workerapp *app) must_use;
char *desired_internal_name(const struct workerapp *app) must_use;
/* "celld-operator.io/workerapp=<app>", for status.selector and lists; the caller's. */
char *desired_selector(const struct workerapp *app) must_use;

struct json *desired_service_account(const struct desired_input *in) must_use;
/* The public one, port 8080. */
struct json *desired_service(const struct desired_input *in) must_use;
/* The headless one that names the pods, port 8081 (0.1: 8080, its only listener). */
struct json *desired_service_internal(const struct desired_input *in) must_use;
struct json *desired_pdb(const struct desired_input *in) must_use;
struct json *desired_network_policy(const struct desired_input *in) must_use;

/* Who may reach the internal port, for Istio; NULL for a celld that has one port for all. */
struct json *desired_authorization_policy(const struct desired_input *in) must_use;
/* KEDA's; NULL without autoscaling. paused: it must not change the number of pods now. */
struct json *desired_scaled_object(const struct desired_input *in, bool paused) must_use;

/*
 * The StatefulSet with template, partition and replicas, which are always applied together. To keep
 * the live template, put it in the place of spec.template, and the live intent and renderer
 * annotations in the place of ours. The claim templates and the pod management policy of a live
 * StatefulSet cannot be changed, only replaced with the object.
 */
struct json *desired_statefulset(const struct desired_input *in, int replicas,
				 int partition) must_use;
/* spec.template and spec.volumeClaimTemplates (NULL without storage) alone. */
struct json *desired_pod_template(const struct desired_input *in) must_use;
struct json *desired_claim_templates(const struct desired_input *in) must_use;

/*
 * All of the above in the order of kind and name, a new list: what is applied when nothing runs
 * yet, at rest and of the first size. What lies around the fleet (route, ScaledObject, and the mesh policy when asked
 * for) is there when in->flags is.
 */
struct json *desired_all(const struct desired_input *in, bool mesh) must_use;
/* The size a fleet starts with: spec.replicas, and no less than the autoscaler's minimum. */
int desired_first_replicas(const struct workerapp *app);

/*
 * Digest of everything that decides the pod template but for how we render it: the spec's inputs,
 * the Secret digest and the facts of celld that apply. It says whether the owner wants other pods
 * than those that run; fields that touch no pod (size of the fleet, hostnames, services, policies,
 * strategy) are not in it. hex: lower case with NUL.
 */
void desired_intent(const struct desired_input *in, char hex[DIGEST_HEX]);

/*
 * Which value the template's app-version annotation takes. It moves only when the expectation moves
 * under Restart, so that neither InPlace nor a switch of policy restarts a pod. live: the
 * annotation of the live template (NULL: there is none yet); recorded: ANNOTATION_EXPECTED of the
 * live StatefulSet (NULL: not recorded, the value of live counts), which is written in the same
 * apply as the template. Returns one of its arguments.
 */
const char *desired_app_version(enum deployment_policy policy, const char *expected,
				const char *recorded, const char *live);

/*
 * The Secret keys that the pods use, as {"<secret>": {"<key>": true when the pod starts without
 * it}}. Tracking and image pull Secrets are not among them: their change restarts nothing.
 */
struct json *desired_secrets(const struct desired_input *in) must_use;

/* The container's environment, a list of EnvVar. */
struct json *desired_env(const struct desired_input *in) must_use;

/* --- what the files of desired_* share --- */

/* An object with apiVersion, kind and metadata: name, namespace, our labels, the owner. */
struct json *desired_object(const struct desired_input *in, const char *api_version,
			    const char *kind, const char *name) must_use;
/* Our labels on top of what labels has. */
void desired_labels(const struct workerapp *app, struct json *labels);
/* {"celld-operator.io/workerapp": "<app>"} */
struct json *desired_match_labels(const struct workerapp *app) must_use;
/* The controller reference to the app; NULL while the app has no uid (a file that was never
 * applied). */
struct json *desired_owner(const struct workerapp *app) must_use;
/* Quantities as the API server stores them: "500m", "2"; "8Gi", "1Ti". */
char *desired_cpu(int64_t millis) must_use;
char *desired_gi(int64_t gi) must_use;
/*
 * A copy of what the user wrote in Kubernetes' own types (tolerations, peers, rules), as the API
 * server stores it: it drops empty strings, nulls and empty lists, but not the values of
 * matchLabels. NULL gives NULL.
 */
struct json *desired_canonical(const struct json *j) must_use;
/* "default" when the document names none. */
const char *desired_namespace(const struct workerapp *app);
const struct celld_facts *desired_facts(const struct desired_input *in);
const struct wa_bucket *desired_store(const struct desired_input *in);
/* The app's bucket as celld gets it: without the one trailing '/' that may be written. The
 * caller's. */
char *desired_bucket(const struct workerapp *app) must_use;
/* True when traces and logs go to a collector; *ret_endpoint is its URL, the default one when none
 * is given. */
bool desired_otlp(const struct workerapp *app, const char **ret_endpoint);

#endif
