/*
 * celld-webhook - the admission webhook. Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot
 * serve, 2 for a wrong command line.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/build_version.h"
#include "common/flags.h"
#include "common/httpd.h"
#include "common/log.h"
#include "common/secret.h"
#include "webhook/certificates.h"
#include "webhook/endpoints.h"

enum {
	LEAVE_MS = 15000, /* after the lame duck time, for requests and connections that are left */
	DESCRIPTORS = 16384,
};

static struct {
	const char *bind, *cert_file, *key_file, *metrics_bind, *health_bind;
	const char *log_level, *log_format;
	struct certificates_options certs;
	int64_t lame_duck_ms;
	bool version, help;
	struct settings_options settings;
} opt;

static const char *const levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const formats[] = { "text", "json", NULL };

static const struct flag own_flags[] = {
	{ .name = "bind-address",
	  .kind = FLAG_STRING,
	  .to = &opt.bind,
	  .fallback = ":9443",
	  .placeholder = "HOST:PORT",
	  .help = "Where admission reviews are served over TLS" },
	{ .name = "tls-cert-file",
	  .kind = FLAG_STRING,
	  .to = &opt.cert_file,
	  .placeholder = "FILE",
	  .help = "Serving certificate and its chain, PEM; read again when it changes" },
	{ .name = "tls-key-file",
	  .kind = FLAG_STRING,
	  .to = &opt.key_file,
	  .placeholder = "FILE",
	  .help = "Private key of the certificate, PEM" },
	{ .name = "self-managed-certs",
	  .kind = FLAG_BOOL,
	  .to = &opt.certs.wanted,
	  .help = "Make and renew the certificate and its authority, instead of files" },
	{ .name = "cert-secret",
	  .kind = FLAG_STRING,
	  .to = &opt.certs.secret,
	  .fallback = "celld-operator-webhook-cert",
	  .placeholder = "NAME",
	  .help = "Secret in the own namespace that keeps both" },
	{ .name = "service-name",
	  .kind = FLAG_STRING,
	  .to = &opt.certs.service,
	  .fallback = "celld-operator-webhook",
	  .placeholder = "NAME",
	  .help = "Service that the certificate is for" },
	{ .name = "webhook-configuration",
	  .kind = FLAG_STRING,
	  .to = &opt.certs.configuration,
	  .fallback = "celld-operator",
	  .placeholder = "NAME",
	  .help = "The mutating and the validating configuration whose caBundles are kept" },
	{ .name = "cert-validity",
	  .kind = FLAG_DURATION,
	  .to = &opt.certs.leaf_ms,
	  .fallback = "168h",
	  .min = 5000,
	  .max = 315360000000,
	  .help = "Life of a certificate; the last third is left to renew it" },
	{ .name = "ca-validity",
	  .kind = FLAG_DURATION,
	  .to = &opt.certs.ca_ms,
	  .fallback = "8760h",
	  .min = 10000,
	  .max = 315360000000,
	  .help = "Life of an authority; the last third is left to change to the next one" },
	{ .name = "kubeconfig",
	  .kind = FLAG_STRING,
	  .to = &opt.certs.kubeconfig,
	  .placeholder = "FILE",
	  .help = "How to reach the API server; in a cluster it is not needed" },
	{ .name = "metrics-bind-address",
	  .kind = FLAG_STRING,
	  .to = &opt.metrics_bind,
	  .fallback = ":8443",
	  .placeholder = "HOST:PORT",
	  .help = "Where /metrics is served over plain HTTP" },
	{ .name = "health-probe-bind-address",
	  .kind = FLAG_STRING,
	  .to = &opt.health_bind,
	  .fallback = ":8081",
	  .placeholder = "HOST:PORT",
	  .help = "Where /healthz and /readyz are served over plain HTTP" },
	{ .name = "lame-duck",
	  .kind = FLAG_DURATION,
	  .to = &opt.lame_duck_ms,
	  .fallback = "5s",
	  .max = 600000,
	  .help = "How long to go on accepting after SIGTERM, while endpoints follow /readyz" },
	{ .name = "log-level",
	  .kind = FLAG_CHOICE,
	  .to = &opt.log_level,
	  .fallback = "info",
	  .choices = levels,
	  .help = "What is logged" },
	{ .name = "log-format",
	  .kind = FLAG_CHOICE,
	  .to = &opt.log_format,
	  .fallback = "text",
	  .choices = formats,
	  .help = "How it is logged" },
	{ .name = "version", .kind = FLAG_BOOL, .to = &opt.version, .help = "Print the version" },
	{ .name = "help", .letter = 'h', .kind = FLAG_BOOL, .to = &opt.help, .help = "Print this" },
};

enum { OWN_FLAGS = array_len(own_flags), FLAGS_MAX = OWN_FLAGS + SETTINGS_FLAGS_MAX };

static size_t all_flags(struct flag to[FLAGS_MAX])
{
	size_t n = settings_flags(&opt.settings, true, to);

	memcpy(to + n, own_flags, sizeof(own_flags));
	return n + OWN_FLAGS;
}

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int complain(int status, const struct err *e)
{
	(void)fprintf(stderr, "celld-webhook: %s\n", e->message);
	return status;
}

static int check_options(int argc, int rest, char **argv, struct err *e)
{
	const char *const addresses[] = { opt.bind, opt.metrics_bind, opt.health_bind };
	const char *const names[] = { "--bind-address", "--metrics-bind-address",
				      "--health-probe-bind-address" };
	struct httpd_address a;

	if (rest < argc)
		return err_set(e, ERR_INVALID, "unexpected argument '%s'; see --help", argv[rest]);
	for (size_t i = 0; i < array_len(addresses); i++) {
		if (httpd_address_read(addresses[i], &a, e))
			return err_wrap(e, "%s", names[i]);
	}
	if (opt.certs.wanted && (opt.cert_file || opt.key_file))
		return err_set(
			e, ERR_INVALID,
			"--self-managed-certs goes without --tls-cert-file and --tls-key-file");
	if (opt.certs.wanted)
		return certificates_check(&opt.certs, e);
	if (str_empty(opt.cert_file) || str_empty(opt.key_file))
		return err_set(e, ERR_INVALID,
			       "--tls-cert-file and --tls-key-file are both needed, or "
			       "--self-managed-certs; see --help");
	return 0;
}

/* Keys are in memory: no core dumps, no ptrace. And room for the connections that are allowed. */
static void set_limits(void)
{
	struct rlimit files;

	/*
	 * A large body is memory of its own, and goes back as it is: among others it would leave a hole where it
	 * grew.
	 */
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
	secret_protect();
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= DESCRIPTORS)
		return;
	files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static void set_logging(void)
{
	enum log_level level = LOG_INFO;

	(void)log_level_read(opt.log_level, &level);
	log_set_level(level);
	log_set_format(str_eq(opt.log_format, "json") ? LOG_JSON : LOG_TEXT);
}

static int start_plain(const char *address, const struct endpoint_routes *routes,
		       struct httpd **ret, struct err *e)
{
	struct httpd_options o = { .address = address,
				   .routes = routes->route,
				   .n_routes = routes->n,
				   .max_connections = 64 };

	return httpd_start(&o, ret, e);
}

static int start_admission(struct endpoints *p, struct httpd **ret, struct err *e)
{
	const struct endpoint_routes *routes = endpoints_admission(p);
	struct httpd_options o = { .address = opt.bind,
				   .routes = routes->route,
				   .n_routes = routes->n,
				   .cert_file = opt.cert_file,
				   .key_file = opt.key_file,
				   .pair_later = opt.certs.wanted,
				   .on_reload = endpoints_reloaded,
				   .reload_ctx = p };

	return httpd_start(&o, ret, e);
}

static void wait_for_signal(const sigset_t *set)
{
	int got;

	do
		got = sigwaitinfo(set, NULL);
	while (got < 0);
	log_info("shutting down", "signal", got == SIGINT ? "SIGINT" : "SIGTERM", NULL);
}

/* set: SIGTERM and SIGINT, blocked already. */
static int serve(const sigset_t *set, struct err *e)
{
	cleanup_endpoints struct endpoints *p = endpoints_new(e);
	cleanup_settings struct settings *settings = NULL;
	cleanup_world struct world *world = world_new();
	cleanup_certificates struct certificates *certs = NULL; /* outlives the servers */
	cleanup_httpd struct httpd *admission = NULL, *health = NULL, *metrics = NULL;
	unsigned cut;
	int r;

	if (!p)
		return -(int)e->code;
	opt.settings.on_reload = endpoints_settings_reloaded;
	opt.settings.ctx = p;
	r = settings_start(&opt.settings, &settings, e);
	if (r)
		return r;
	endpoints_judge_by(p, settings, world);
	r = start_admission(p, &admission, e);
	if (!r)
		r = start_plain(opt.health_bind, endpoints_health(p), &health, e);
	if (!r)
		r = start_plain(opt.metrics_bind, endpoints_metrics(p), &metrics, e);
	if (!r)
		r = world_watch(world, opt.certs.kubeconfig, e);
	if (!r && opt.certs.wanted)
		r = certificates_start(&opt.certs, admission, p, &certs, e);
	if (r)
		return r;
	endpoints_serve(p, admission);
	log_info("serving", "version", build_version, "port", log_int(httpd_port(admission)).text,
		 "health", log_int(httpd_port(health)).text, "metrics",
		 log_int(httpd_port(metrics)).text, NULL);
	wait_for_signal(set);
	endpoints_leave(p);
	if (certs)
		certificates_stop(certs);
	cut = httpd_drain(admission, opt.lame_duck_ms, opt.lame_duck_ms + LEAVE_MS);
	log_info("stopped", "idle_connections_closed", log_int(cut).text, NULL);
	httpd_free(take(health));
	httpd_free(take(metrics));
	return 0;
}

static void block_signals(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	struct flag flags[FLAGS_MAX];
	size_t n = all_flags(flags);
	struct err e = ERR_INIT;
	sigset_t set;
	int rest, failed;

	set_limits();
	block_signals(&set);
	if (flags_parse(flags, n, argc, argv, &rest, &e))
		return complain(EXIT_USAGE, &e);
	if (opt.help) {
		(void)printf("celld-webhook judges WorkerApps before they are stored.\n\n");
		flags_help(flags, n, stdout);
		return 0;
	}
	if (opt.version) {
		(void)printf("celld-webhook %s\n", build_version);
		return 0;
	}
	if (check_options(argc, rest, argv, &e))
		return complain(EXIT_USAGE, &e);
	set_logging();
	failed = serve(&set, &e);
	settings_options_done(&opt.settings);
	return failed ? complain(EXIT_FAILED, &e) : 0;
}
