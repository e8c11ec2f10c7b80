#include "controller/options.h"

#include <stdio.h>
#include <string.h>

#include "common/flags.h"
#include "common/log.h"

enum { MINUTE = 60000, HOUR = 3600000 };

static const char *const levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const formats[] = { "text", "json", NULL };

enum { MOST_ROWS = 96 };

/* Puts every row into to; returns how many there are. */
static size_t rows(struct options *o, struct flag to[MOST_ROWS])
{
	const struct flag own[] = {
		{ "kubeconfig", 0, FLAG_STRING, &o->kubeconfig, NULL, 0, 0, NULL, "FILE",
		  "how to reach the API server; in a cluster it is not needed" },
		{ "kube-api-qps", 0, FLAG_INT, &o->qps, "50", 1, 100000, NULL, NULL,
		  "requests per second to the API server" },
		{ "namespaces", 0, FLAG_LIST, &o->namespaces, NULL, 0, 0, NULL, NULL,
		  "namespaces to watch; all when not given" },
		{ "watch-namespace", 0, FLAG_LIST, &o->namespaces, NULL, 0, 0, NULL, NULL,
		  "the same as --namespaces" },
		{ "selector", 0, FLAG_STRING, &o->selector, NULL, 0, 0, NULL, "LABELS",
		  "label selector of the WorkerApps to look after" },
		{ "workers", 0, FLAG_INT, &o->workers, "4", 1, 64, NULL, NULL,
		  "apps that are reconciled at the same time" },
		{ "leader-elect", 0, FLAG_BOOL, &o->leader_elect, "true", 0, 0, NULL, NULL,
		  "act only while holding the Lease" },
		{ "lease-duration", 0, FLAG_DURATION, &o->lease_ms, "15s", 1000, HOUR, NULL, NULL,
		  "when others may take over from a leader that does not renew" },
		{ "renew-deadline", 0, FLAG_DURATION, &o->renew_ms, "10s", 500, HOUR, NULL, NULL,
		  "how long a leader acts after its last renewal" },
		{ "retry-period", 0, FLAG_DURATION, &o->retry_ms, "2s", 100, HOUR, NULL, NULL,
		  "pause between attempts to get or renew the Lease" },
		{ "operator-namespace", 0, FLAG_STRING, &o->operator_namespace,
		  "celld-operator-system", 0, 0, NULL, "NAMESPACE",
		  "where the operator runs: its Lease, and who may reach the fleets' internal "
		  "port" },
		{ "state-poll-interval", 0, FLAG_DURATION, &o->state_poll_ms, "15s", 100, HOUR,
		  NULL, NULL, "pause between sweeps of all pods' /state" },
		{ "deploy-poll-interval", 0, FLAG_DURATION, &o->deploy_poll_ms, "60s", 100, HOUR,
		  NULL, NULL, "pause between two reads of a bucket's deploy pointer" },
		{ "secret-poll-interval", 0, FLAG_DURATION, &o->secret_poll_ms, "60s", 100, HOUR,
		  NULL, NULL, "pause between two reads of a Secret" },
		{ "max-concurrent-rollouts", 0, FLAG_INT, &o->max_rollouts, "0", 0, 100000, NULL,
		  NULL, "fleets that roll or are recreated at the same time; 0: no limit" },
		{ "gs-endpoint", 0, FLAG_STRING, &o->gs_endpoint, NULL, 0, 0, NULL, "URL",
		  "where deploy pointers of gs:// buckets are read, instead of Google's own "
		  "place" },
		{ "az-endpoint", 0, FLAG_STRING, &o->az_endpoint, NULL, 0, 0, NULL, "URL",
		  "where deploy pointers of az:// buckets are read, instead of "
		  "https://{account}.blob.core.windows.net" },
		{ "store-ca-file", 0, FLAG_STRING, &o->store_ca_file, NULL, 0, 0, NULL, "FILE",
		  "authorities (PEM) that stores are verified by, instead of the system's; read "
		  "anew each minute" },
		{ "settle", 0, FLAG_DURATION, &o->settle_ms, "10s", 0, HOUR, NULL, NULL,
		  "how long a fleet must have been unchanged before the next pod is released" },
		{ "recreate-hold", 0, FLAG_DURATION, &o->hold_ms, "10s", 0, HOUR, NULL, NULL,
		  "wait between the end of a fleet's last pod and the first new one; never below "
		  "celld's lease lifetime in production" },
		{ "recheck", 0, FLAG_DURATION, &o->recheck_ms, "10s", 100, 10 * (int64_t)MINUTE,
		  NULL, NULL,
		  "pause before a closed gate is looked at again; up to 30 times as long the "
		  "longer nothing changes, where a change of pods is all that opens it" },
		{ "discovery-interval", 0, FLAG_DURATION, &o->discovery_ms, "1m", 100, HOUR, NULL,
		  NULL, "pause between looks at which of Gateway API, Istio and KEDA are there" },
		{ "metrics-bind-address", 0, FLAG_STRING, &o->metrics_address, ":8443", 0, 0, NULL,
		  "HOST:PORT", "where /metrics is served; 0: nowhere" },
		{ "metrics-secure", 0, FLAG_BOOL, &o->metrics_secure, "false", 0, 0, NULL, NULL,
		  "serve /metrics over TLS, to those alone whom the cluster's rules let GET it" },
		{ "metrics-cert-dir", 0, FLAG_STRING, &o->metrics_cert_dir, NULL, 0, 0, NULL, "DIR",
		  "tls.crt and tls.key for that; read again when they change" },
		{ "health-probe-bind-address", 0, FLAG_STRING, &o->health_address, ":8081", 0, 0,
		  NULL, "HOST:PORT", "where /healthz and /readyz are served" },
		{ "log-level", 0, FLAG_CHOICE, &o->log_level, "info", 0, 0, levels, NULL,
		  "what is logged" },
		{ "log-format", 0, FLAG_CHOICE, &o->log_format, "text", 0, 0, formats, NULL,
		  "logfmt or JSON lines" },
		{ "version", 0, FLAG_BOOL, &o->version, NULL, 0, 0, NULL, NULL,
		  "print the version and exit" },
		{ "help", 'h', FLAG_BOOL, &o->help, NULL, 0, 0, NULL, NULL,
		  "print this text and exit" },
	};

	_Static_assert(array_len(own) + DESIRED_FLAGS + SETTINGS_FLAGS_MAX <= MOST_ROWS,
		       "room for every row");

	memcpy(to, own, sizeof(own));
	desired_flags_rows(&o->around, to + array_len(own));
	return array_len(own) + DESIRED_FLAGS +
	       settings_flags(&o->settings, false, to + array_len(own) + DESIRED_FLAGS);
}

int options_read(int argc, char **argv, struct options *ret, struct err *e)
{
	struct flag table[MOST_ROWS];
	int rest = argc, r;

	r = flags_parse(table, rows(ret, table), argc, argv, &rest, e);
	if (r)
		return r;
	if (rest < argc)
		return err_set(e, ERR_INVALID, "unexpected argument '%s'; see --help", argv[rest]);
	return 0;
}

void options_help(void)
{
	static struct options o;
	struct flag table[MOST_ROWS];
	size_t n = rows(&o, table);

	(void)printf("celld-controller: keeps celld fleets as their WorkerApps ask for\n\n"
		     "usage: celld-controller [flags]\n\n");
	flags_help(table, n, stdout);
}

void options_done(struct options *o)
{
	strlist_done(&o->namespaces);
	settings_options_done(&o->settings);
	desired_flags_done(&o->around);
}

void options_set_log(const struct options *o)
{
	enum log_level level = LOG_INFO;

	(void)log_level_read(o->log_level, &level);
	log_set_level(level);
	log_set_format(str_eq(o->log_format, "json") ? LOG_JSON : LOG_TEXT);
}
