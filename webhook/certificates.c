#include "webhook/certificates.h"

#include <stdlib.h>

#include "certs/keeper.h"
#include "common/kube/config.h"

struct certificates {
	struct kube_config *config;
	struct keeper *keeper;
	struct httpd *server;
};

int certificates_check(const struct certificates_options *o, struct err *e)
{
	if (o->leaf_ms * 2 > o->ca_ms)
		return err_set(e, ERR_INVALID,
			       "--ca-validity has to be at least twice --cert-validity");
	return 0;
}

static int serve_pair(void *ctx, const char *cert, const char *key, struct err *e)
{
	const struct certificates *c = ctx;

	return httpd_set_pair(c->server, cert, key, e);
}

int certificates_start(const struct certificates_options *o, struct httpd *server,
		       struct endpoints *p, struct certificates **ret, struct err *e)
{
	cleanup_certificates struct certificates *c = xcalloc(1, sizeof(*c));
	struct keeper_opts k = { .secret = o->secret,
				 .service = o->service,
				 .configuration = o->configuration,
				 .ca_ms = o->ca_ms,
				 .leaf_ms = o->leaf_ms,
				 .user_agent = "celld-webhook",
				 .serve = serve_pair,
				 .ctx = c };
	int r = kube_config_load(o->kubeconfig, &c->config, e);

	if (r)
		return r;
	c->server = server;
	k.config = c->config;
	k.ns = kube_config_namespace(c->config);
	r = keeper_start(&k, &c->keeper, e);
	if (r)
		return r;
	endpoints_collect(p, keeper_metrics, c->keeper);
	*ret = take(c);
	return 0;
}

void certificates_stop(struct certificates *c)
{
	keeper_stop(c->keeper);
}

void certificates_free(struct certificates *c)
{
	if (!c)
		return;
	keeper_free(c->keeper);
	if (c->config)
		kube_config_free(c->config);
	free(c);
}
