/*
 * certificates.h - certificates that the webhook makes itself: the keeper of certs/, fed with the
 * program's flags, serving through the admission server.
 */
#ifndef WEBHOOK_CERTIFICATES_H
#define WEBHOOK_CERTIFICATES_H

#include "common/err.h"
#include "webhook/endpoints.h"

struct certificates_options {
	bool wanted; /* false: files */
	const char *kubeconfig, *secret, *service, *configuration;
	int64_t ca_ms, leaf_ms;
};

struct certificates; /* opaque */

/* ERR_INVALID: lives that make no sense. */
int certificates_check(const struct certificates_options *o, struct err *e);
/* server was started with pair_later; it and p outlive the certificates, as do the options. */
int certificates_start(const struct certificates_options *o, struct httpd *server,
		       struct endpoints *p, struct certificates **ret, struct err *e);
/* The certificates stay as they are from now on; what is served goes on, metrics too. */
void certificates_stop(struct certificates *c);
/* Stops and frees; p's metrics must no longer be asked for. NULL is nothing. */
void certificates_free(struct certificates *c);
define_cleanup(struct certificates *, certificates_free);
#define cleanup_certificates cleanup(certificates_free_cleanup)

#endif
