/*
 * workerapp_defaults.h - what the platform fills into a WorkerApp that leaves it out. Pure (tier 2).
 *
 * Filled are only these: celld.image (with version), imagePullPolicy and imagePullSecrets; the
 * bucket's endpoint, region, storageAccount and credentialsFrom, of an app without storeRef;
 * storage.storageClassName of an app with storage; resources, scheduling, service, ingress and
 * telemetry, each only as a whole, because the API server has filled the inner fields of one that
 * is there; and labels of the pods one by one. Nothing that is there is changed; an empty string is
 * absent. Region and credentials go with an endpoint: an app that names another one than the
 * platform's gets neither.
 *
 * What was filled is listed in the annotation ANNOTATION_DEFAULTED. A stored app keeps it: on UPDATE
 * only a listed field that is absent again is filled, with the value that is stored. A field that
 * somebody writes himself leaves the list. Taking the annotation away, and nothing else, puts today's
 * defaults in the place of the values listed (endpoint, account and storage class aside, which cannot
 * change).
 */
#ifndef COMMON_WORKERAPP_DEFAULTS_H
#define COMMON_WORKERAPP_DEFAULTS_H

#include "common/json.h"
#include "common/patch.h"

/* Values in the form of a WorkerApp's spec, for the namespaces that match. */
struct defaults_rule {
	char *pattern; /* NULL: every namespace; `*` stands for any letters */
	struct json *values;
};

/* Later rules win over earlier ones, field by field as listed above. */
struct workerapp_defaults {
	struct defaults_rule *v;
	size_t n;
};

/* Takes values. pattern NULL: every namespace. */
void workerapp_defaults_add(struct workerapp_defaults *d, const char *pattern, struct json *values);
void workerapp_defaults_done(struct workerapp_defaults *d);

/*
 * The difference between object and what it should be stored as. d may be NULL (nothing is filled, a
 * stored app keeps what it has). old: the stored object of an UPDATE; NULL: CREATE. *p is to be
 * begun with patch_init(p, object). An object that is being deleted gets none.
 */
void workerapp_defaults_patch(const struct workerapp_defaults *d, const char *namespace,
			      const struct json *object, const struct json *old, struct patch *p);

/*
 * The first member of values that is none of the fields above, as "celld.update"; the caller's, NULL:
 * there is none.
 */
char *workerapp_defaults_unknown(const struct json *values) must_use;

#endif
