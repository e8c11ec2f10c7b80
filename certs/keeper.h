/*
 * keeper.h - keeps the webhook's certificates: a thread that observes the Secret and the two webhook
 * configurations, asks plan.h for the next step and takes it, for ever.
 *
 * It acts when one of the three objects changes (they are watched), and otherwise looks each minute,
 * or thirty times in the life of a leaf where that is more often, and when what it serves is due or
 * about to end. The first step happens at once. A step that fails is repeated with a growing pause,
 * 0.1 s to a minute (a second at most while nothing good is served), and logged when its reason
 * changes; what is served goes on meanwhile.
 *
 * The permissions that it needs: get, list, watch, update of the one Secret and create of Secrets in
 * the namespace; get, list, watch, patch of the two configurations. A configuration that does not
 * exist (yet) is nothing to wait for. A Secret that somebody has deleted is made anew as it was,
 * labels and annotations included.
 */
#ifndef CERTS_KEEPER_H
#define CERTS_KEEPER_H

#include "common/buf.h"
#include "common/err.h"

struct kube_config;
struct keeper;

struct keeper_opts {
	struct kube_config *config; /* lent; outlives the keeper */
	const char *ns;		    /* of the Secret and the Service */
	const char *secret;	    /* names; copied, as is ns */
	const char *service;	    /* the leaf is for SERVICE.NS.svc and its shorter forms */
	const char *configuration;  /* of both webhook configurations */
	int64_t ca_ms, leaf_ms;	    /* lives of what is made */
	const char *user_agent;	    /* lent */
	/*
	 * Serve this pair from now on; on the keeper's thread. PEM texts, lent for the call. An
	 * error keeps what was served before.
	 */
	int (*serve)(void *ctx, const char *cert, const char *key, struct err *e);
	void *ctx;
};

int keeper_start(const struct keeper_opts *o, struct keeper **ret, struct err *e);
/* Ends the thread within moments; the metrics stay. */
void keeper_stop(struct keeper *k);
/* Stops and frees. NULL is nothing. */
void keeper_free(struct keeper *k);
define_cleanup(struct keeper *, keeper_free);

/* A metrics_collector: the end of the authority, steps taken, steps that failed. */
void keeper_metrics(void *keeper, struct buf *to);

#endif
