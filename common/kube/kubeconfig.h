/*
 * kubeconfig.h - reads kubeconfig files into what config.h needs: which server, and where
 * credentials come from.
 */
#ifndef COMMON_KUBE_KUBECONFIG_H
#define COMMON_KUBE_KUBECONFIG_H

#include "common/base.h"
#include "common/err.h"
#include "common/strlist.h"

/* A credential plugin (client.authentication.k8s.io/v1). */
struct kube_exec {
	char *command; /* absolute, or looked up in PATH */
	struct strlist args;
	struct strlist env; /* "NAME=value" */
	char *install_hint;
	bool provide_cluster_info;
};

/* Owned texts; NULL: not given. Of each pair the text (pem) wins over the file. */
struct kube_source {
	char *server; /* without trailing slash */
	char *namespace;
	char *tls_server_name;
	bool insecure;
	bool plain_ok;
	char *ca_pem, *ca_file;
	char *cert_pem, *cert_file;
	char *key_pem, *key_file;
	char *token, *token_file;
	struct kube_exec *exec; /* NULL: none */
};

void kube_source_done(struct kube_source *s);

/* See config.h for paths, context, and errors. *ret was zeroed; on failure nothing is left in it. */
int kubeconfig_read(const char *paths, const char *context, struct kube_source *ret, struct err *e);

#endif
