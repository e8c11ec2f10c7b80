/*
 * config.h - where the API server is and who we are.
 *
 * In a cluster: KUBERNETES_SERVICE_HOST and _PORT, and token, ca.crt, namespace in
 * /var/run/secrets/kubernetes.io/serviceaccount. Outside: a kubeconfig (YAML or JSON):
 * current-context, cluster {server, certificate-authority[-data], tls-server-name,
 * insecure-skip-tls-verify}, user {client-certificate[-data], client-key[-data], token, tokenFile,
 * exec}. Relative paths are relative to the file that names them. KUBECONFIG may list several
 * files: the first that defines a name wins; a missing one is skipped. A user's password,
 * auth-provider, and a cluster's proxy-url are refused: the API server is never reached through a
 * proxy.
 *
 * Credentials are files or come from a program, and they change while we run. kube_config_auth()
 * hands out an immutable snapshot; it is made anew when it is older than a minute, when the caller
 * says that the server refused it (401), or when the plugin's expirationTimestamp has passed. A
 * file that is away for a while does not take away the last good snapshot.
 *
 * Errors: ERR_INVALID with one line that names file and field ("/root/.kube/config:
 * users[dev].user.exec.command: missing"), ERR_NOT_FOUND for a missing file or context.
 */
#ifndef COMMON_KUBE_CONFIG_H
#define COMMON_KUBE_CONFIG_H

#include "common/base.h"
#include "common/err.h"

struct kube_config; /* opaque; used by any number of threads */

/* What one request needs. Texts may be NULL. Immutable; counted. */
struct kube_auth {
	char *token;		  /* bearer, no blanks or newline around it */
	char *ca_pem;		  /* NULL: the system's authorities */
	char *cert_pem, *key_pem; /* both or neither */
	int64_t made_ms;	  /* monotonic */
	int64_t expires_wall_ms;  /* 0: not known */
	int refs;		  /* of config.c */
};

/* dir NULL: the usual mount. ERR_NOT_FOUND: not in a cluster (variables or files are missing). */
int kube_config_in_cluster(const char *dir, struct kube_config **ret, struct err *e);
/* paths: one file, or several with ':' between them. context NULL or "": current-context. */
int kube_config_file(const char *paths, const char *context, struct kube_config **ret,
		     struct err *e);
/* What a program of a cluster does: the flag's file, else KUBECONFIG, else in-cluster, else ~/.kube/config. */
int kube_config_load(const char *flag, struct kube_config **ret, struct err *e);
/*
 * What a person's tool does, as kubectl: the flag's file, else KUBECONFIG, else ~/.kube/config, else in-cluster, where
 * there are no contexts: ERR_NOT_FOUND for one that was asked for.
 */
int kube_config_person(const char *flag, const char *context, struct kube_config **ret,
		       struct err *e);
/* A server and a token given at hand (tests): plain http is allowed for it. token may be NULL. */
struct kube_config *kube_config_plain(const char *server, const char *token) must_use;
void kube_config_free(struct kube_config *c);
define_cleanup(struct kube_config *, kube_config_free);

/* "https://10.0.0.1:443", without trailing slash; a path prefix is kept. */
const char *kube_config_server(const struct kube_config *c);
/* Of the context or the mount; "default" when neither says. */
const char *kube_config_namespace(const struct kube_config *c);
const char *
kube_config_tls_server_name(const struct kube_config *c); /* NULL: the host of the server */
bool kube_config_insecure(const struct kube_config *c);
bool kube_config_plain_ok(const struct kube_config *c);

/*
 * The credentials of now. refused: the snapshot that the server answered with 401, or NULL; if the
 * current one is still that one, it is made anew (two threads with the same 401 make it once).
 * Release with kube_auth_release. The exec plugin runs in the caller's thread, at most exec_ms (a
 * minute), its standard error goes to ours. ERR_UNAUTHORIZED: no snapshot could be made and there
 * is no older one (with the plugin's installHint).
 */
int kube_config_auth(struct kube_config *c, const struct kube_auth *refused,
		     const struct kube_auth **ret, struct err *e);
void kube_auth_release(const struct kube_auth *a);
define_cleanup(const struct kube_auth *, kube_auth_release);

#endif
