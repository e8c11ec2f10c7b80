/*
 * options.h - the controller's flags.
 */
#ifndef CONTROLLER_OPTIONS_H
#define CONTROLLER_OPTIONS_H

#include "common/base.h"
#include "common/err.h"
#include "common/settings.h"
#include "common/strlist.h"
#include "controller/desired_flags.h"

struct options {
	const char *kubeconfig;
	struct settings_options settings;
	struct strlist namespaces;
	const char *selector;
	int64_t workers, qps;
	bool leader_elect;
	int64_t lease_ms, renew_ms, retry_ms;
	const char *operator_namespace;
	int64_t state_poll_ms;
	int64_t deploy_poll_ms, secret_poll_ms, max_rollouts;
	const char *gs_endpoint, *az_endpoint, *store_ca_file;
	int64_t settle_ms, hold_ms, recheck_ms;
	struct desired_flags around;
	int64_t discovery_ms;
	const char *metrics_address, *metrics_cert_dir, *health_address;
	bool metrics_secure;
	const char *log_level, *log_format;
	bool version, help;
};

/* ERR_INVALID: a bad flag, named in the message. */
int options_read(int argc, char **argv, struct options *ret, struct err *e);
void options_help(void);
void options_done(struct options *o);
/* Level and format of the log, as they are asked for. */
void options_set_log(const struct options *o);

#endif
