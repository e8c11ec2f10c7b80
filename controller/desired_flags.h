/*
 * desired_flags.h - the operator's flags that decide how a fleet is routed, meshed and scaled. Controller and
 * `kubectl-celld render` take the same ones.
 */
#ifndef CONTROLLER_DESIRED_FLAGS_H
#define CONTROLLER_DESIRED_FLAGS_H

#include "common/flags.h"
#include "common/strlist.h"

enum { DESIRED_FLAGS = 9 };

/* What flags_parse fills; nothing in it is NULL then but ingress_class and cluster_issuer. */
struct desired_flags {
	const char *ingress_mode; /* "httproute" "virtualservice" "ingress" "none" */
	const char *gateway_name, *gateway_namespace;
	struct strlist istio_gateways; /* "namespace/name" */
	const char *ingress_class;     /* NULL: the cluster's default */
	const char *cluster_issuer;    /* NULL: none */
	bool httproute_retries;
	const char *prometheus_url;
	const char *operator_principal;
};

/* The rows for flags_parse, which write to `to`. */
void desired_flags_rows(struct desired_flags *to, struct flag rows[DESIRED_FLAGS]);
/* The values without any flag; to be ended with desired_flags_done. */
void desired_flags_init(struct desired_flags *to);
void desired_flags_done(struct desired_flags *f);

#endif
