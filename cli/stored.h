/*
 * stored.h - what a cluster holds of the objects that a command was given: the other half of an update. Only reads.
 */
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include "common/base.h"
#include "common/err.h"

struct json;
struct kube_kind;
struct strlist;
struct stored; /* opaque; used by one thread */

/*
 * kubeconfig, context and namespace as of kubectl's flags of these names; NULL or "": what kubectl takes without
 * them. Nothing is asked yet. ERR_NOT_FOUND and ERR_INVALID name the file.
 */
int stored_open(const char *kubeconfig, const char *context, const char *namespace,
		struct stored **ret, struct err *e);
void stored_close(struct stored *s);
define_cleanup(struct stored *, stored_close);

/*
 * The stored object of that kind with object's namespace (or the namespace above, when it names none) and name; *ret
 * is the caller's, NULL: there is none, also when object has no name of its own. Errors are those of kube_get.
 */
int stored_get(struct stored *s, const struct kube_kind *kind, const struct json *object,
	       struct json **ret, struct err *e);
/*
 * The objects of that kind that a label selector (NULL: all) chooses, as a list with "items": of the namespace above,
 * or of all namespaces. Errors are those of kube_list.
 */
int stored_list(struct stored *s, const struct kube_kind *kind, bool everywhere,
		const char *selector, struct json **ret, struct err *e);
/* The namespace above. Lent. */
const char *stored_namespace(const struct stored *s);
/* The apps that use a store and roll, as "namespace/name". */
int stored_users(struct stored *s, const struct json *store, struct strlist *ret, struct err *e);

#endif
