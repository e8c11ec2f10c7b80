/*
 * exec.h - runs a credential plugin of a kubeconfig (client.authentication.k8s.io/v1).
 */
#ifndef COMMON_KUBE_EXEC_H
#define COMMON_KUBE_EXEC_H

#include "common/base.h"
#include "common/err.h"

struct kube_source;

struct exec_result {
	char *token;		  /* NULL: none */
	char *cert_pem, *key_pem; /* NULL: none; both or neither */
	int64_t expires_wall_ms;  /* 0: not said */
};

/*
 * Runs source->exec with KUBERNETES_EXEC_INFO, standard input closed, standard error ours, and
 * reads the ExecCredential from its standard output (at most LIMIT_TOKEN_FILE). It is killed after
 * timeout_ms. ca_pem: for provideClusterInfo, may be NULL. Errors: ERR_UNAUTHORIZED with the
 * plugin's name, what went wrong, and installHint when it is not there.
 */
int exec_run(const struct kube_source *source, const char *ca_pem, int64_t timeout_ms,
	     struct exec_result *ret, struct err *e);

#endif
