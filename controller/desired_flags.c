#include "controller/desired_flags.h"

static const char *const modes[] = { "httproute", "virtualservice", "ingress", "none", NULL };

#define GATEWAY_NAME	  "edge"
#define GATEWAY_NAMESPACE "infra"
#define PROMETHEUS	  "http://prometheus-operated.monitoring.svc:9090"
#define PRINCIPAL	  "cluster.local/ns/celld-operator-system/sa/celld-operator-controller-manager"

void desired_flags_rows(struct desired_flags *to, struct flag rows[DESIRED_FLAGS])
{
	const struct flag table[DESIRED_FLAGS] = {
		{ "ingress-mode", 0, FLAG_CHOICE, &to->ingress_mode, "httproute", 0, 0, modes, NULL,
		  "how hostnames are routed, where an app does not say it itself" },
		{ "gateway-name", 0, FLAG_STRING, &to->gateway_name, GATEWAY_NAME, 0, 0, NULL,
		  "NAME", "Gateway that HTTPRoutes attach to" },
		{ "gateway-namespace", 0, FLAG_STRING, &to->gateway_namespace, GATEWAY_NAMESPACE, 0,
		  0, NULL, "NAMESPACE", "namespace of that Gateway" },
		{ "istio-gateways", 0, FLAG_LIST, &to->istio_gateways, NULL, 0, 0, NULL,
		  "NAMESPACE/NAME", "Istio Gateways that VirtualServices bind to" },
		{ "ingress-class", 0, FLAG_STRING, &to->ingress_class, NULL, 0, 0, NULL, "NAME",
		  "IngressClass of Ingresses; the cluster's default when not given" },
		{ "cluster-issuer", 0, FLAG_STRING, &to->cluster_issuer, NULL, 0, 0, NULL, "NAME",
		  "ClusterIssuer of cert-manager that Ingresses get their certificates from" },
		{ "httproute-retries", 0, FLAG_BOOL, &to->httproute_retries, NULL, 0, 0, NULL, NULL,
		  "let HTTPRoutes retry what a draining pod refuses, where the installed Gateway "
		  "API serves the field (its experimental channel)" },
		{ "prometheus-url", 0, FLAG_STRING, &to->prometheus_url, PROMETHEUS, 0, 0, NULL,
		  "URL", "where KEDA reads the fleets' figures" },
		{ "operator-principal", 0, FLAG_STRING, &to->operator_principal, PRINCIPAL, 0, 0,
		  NULL, "PRINCIPAL",
		  "Istio identity of the controller, which may reach the fleets' internal port" },
	};

	for (int i = 0; i < DESIRED_FLAGS; i++)
		rows[i] = table[i];
}

void desired_flags_init(struct desired_flags *to)
{
	*to = (struct desired_flags){ .ingress_mode = modes[0],
				      .gateway_name = GATEWAY_NAME,
				      .gateway_namespace = GATEWAY_NAMESPACE,
				      .istio_gateways = STRLIST_INIT,
				      .prometheus_url = PROMETHEUS,
				      .operator_principal = PRINCIPAL };
}

void desired_flags_done(struct desired_flags *f)
{
	strlist_done(&f->istio_gateways);
}
