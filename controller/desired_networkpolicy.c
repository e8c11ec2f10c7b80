#include "controller/desired.h"

#include <string.h>

static struct json *tcp(const char *protocol, int number)
{
	struct json *j = json_new_object();

	json_set_str(j, "protocol", protocol);
	json_set_int(j, "port", number);
	return j;
}

static struct json *labels_selector(struct json *labels)
{
	struct json *selector = json_new_object();

	json_set(selector, "matchLabels", labels);
	return selector;
}

static struct json *fleet_peer(const struct desired_input *in)
{
	struct json *peer = json_new_object();

	json_set(peer, "podSelector", labels_selector(desired_match_labels(in->app)));
	return peer;
}

/* The controller's pods, which sweep /state. */
static struct json *operator_peer(const struct desired_input *in)
{
	const char *ns = in->operator_namespace ? in->operator_namespace : "celld-operator-system";
	struct json *peer = json_new_object(), *space = json_new_object(),
		    *pods = json_new_object();

	json_set_str(space, "kubernetes.io/metadata.name", ns);
	json_set_str(pods, LABEL_NAME, OPERATOR_LABEL_NAME);
	json_set_str(pods, LABEL_COMPONENT, OPERATOR_LABEL_COMPONENT);
	json_set(peer, "namespaceSelector", labels_selector(space));
	json_set(peer, "podSelector", labels_selector(pods));
	return peer;
}

/* A rule without `from` admits everyone; so an empty list of peers, nobody, is no rule at all. */
static void public_rule(const struct desired_input *in, struct json *rules)
{
	const struct json *from = in->app->network_policy.public_from;
	struct json *rule;

	if (from && !json_len(from))
		return;
	rule = json_new_object();
	json_add(json_array_at(rule, "ports"), tcp("TCP", desired_facts(in)->public_port));
	json_set(rule, "from", desired_canonical(from));
	json_add(rules, rule);
}

static void internal_rule(const struct desired_input *in, struct json *rules)
{
	struct json *rule = json_new_object(), *from;

	json_add(json_array_at(rule, "ports"), tcp("TCP", desired_facts(in)->internal_port));
	from = json_array_at(rule, "from");
	json_add(from, fleet_peer(in));
	json_add(from, operator_peer(in));
	json_add(rules, rule);
}

/* DNS at any address: a node-local cache answers outside of the cluster's networks. */
static void dns_rule(struct json *rules)
{
	struct json *rule = json_new_object(), *ports;

	ports = json_array_at(rule, "ports");
	json_add(ports, tcp("UDP", 53));
	json_add(ports, tcp("TCP", 53));
	json_add(rules, rule);
}

static void peers_rule(const struct desired_input *in, struct json *rules)
{
	struct json *rule = json_new_object();

	json_add(json_array_at(rule, "ports"), tcp("TCP", desired_facts(in)->internal_port));
	json_add(json_array_at(rule, "to"), fleet_peer(in));
	json_add(rules, rule);
}

/* The digits after the last ':' of a URL's authority; 0: it names no port. */
static int named_port(const char *authority)
{
	int number = 0;
	bool digits = false;

	for (const char *s = authority; *s && *s != '/'; s++) {
		if (*s == ':') {
			number = 0;
			digits = true;
		} else if (digits && *s >= '0' && *s <= '9' && number < 65536) {
			number = number * 10 + (*s - '0');
		} else {
			digits = false;
		}
	}
	return digits && number < 65536 ? number : 0;
}

static int endpoint_port(const char *endpoint)
{
	static const char plain[] = "http://", secure[] = "https://";
	int number;

	if (str_empty(endpoint))
		return 443;
	if (str_starts(endpoint, plain)) {
		number = named_port(endpoint + strlen(plain));
		return number ? number : 80;
	}
	number = named_port(endpoint + (str_starts(endpoint, secure) ? strlen(secure) : 0));
	return number ? number : 443;
}

/* A role is exchanged for keys at the cloud's token service, which listens on 443 wherever the
 * bucket is. */
static void bucket_rule(const struct desired_input *in, struct json *rules)
{
	const struct wa_bucket *store = desired_store(in);
	int number = endpoint_port(store->endpoint);
	struct json *rule = json_new_object(), *ports;

	ports = json_array_at(rule, "ports");
	json_add(ports, tcp("TCP", number));
	if (number != 443 && !str_empty(store->credentials.iam_role))
		json_add(ports, tcp("TCP", 443));
	json_add(rules, rule);
}

/* With the protocol that the server would fill in: otherwise one that is taken back would stay. */
static struct json *extra_rule(const struct json *given)
{
	struct json *rule = desired_canonical(given), *ports = NULL;

	for (const struct json *p = json_first(json_get(rule, "ports")); p; p = json_next(p)) {
		struct json *port = json_dup(p);

		if (!json_get(port, "protocol"))
			json_set_str(port, "protocol", "TCP");
		if (!ports)
			ports = json_new_array();
		json_add(ports, port);
	}
	if (ports)
		json_set(rule, "ports", ports);
	return rule;
}

static void egress(const struct desired_input *in, struct json *rules)
{
	dns_rule(rules);
	peers_rule(in, rules);
	bucket_rule(in, rules);
	for (const struct json *c = json_first(in->app->network_policy.egress_extra); c;
	     c = json_next(c))
		json_add(rules, extra_rule(c));
}

struct json *desired_network_policy(const struct desired_input *in)
{
	cleanup(freep) char *name = desired_name(in->app);
	struct json *object = desired_object(in, "networking.k8s.io/v1", "NetworkPolicy", name);
	struct json *spec = json_object_at(object, "spec"), *types;

	json_set(spec, "podSelector", labels_selector(desired_match_labels(in->app)));
	types = json_array_at(spec, "policyTypes");
	json_add_str(types, "Ingress");
	public_rule(in, json_array_at(spec, "ingress"));
	internal_rule(in, json_array_at(spec, "ingress"));
	if (in->app->network_policy.egress) {
		json_add_str(types, "Egress");
		egress(in, json_array_at(spec, "egress"));
	}
	return object;
}
