/*
 * lease.h - at most one leader, by a coordination.k8s.io/v1 Lease.
 *
 * Own thread, own connection: neither the rate limit nor the fence of other requests holds it up.
 *
 * Clocks: only the monotonic clock decides. A lease of another holder has expired when we have seen
 * no change of it for its duration on our own clock; the times written in it are for people. We
 * lead from the START of our last renewal that succeeded for renew_ms, no longer: another one may
 * take over at the earliest duration_ms after it saw that renewal, so duration_ms - renew_ms is
 * left for a write that is under way. Frozen and woken up, we find the moment passed and write
 * nothing.
 *
 * Losing is final: after it the process ends (opts.lost), so that nothing of a former leader goes
 * on.
 */
#ifndef COMMON_KUBE_LEASE_H
#define COMMON_KUBE_LEASE_H

#include "common/base.h"
#include "common/err.h"

struct kube_config;
struct lease;

struct lease_opts {
	struct kube_config *config;   /* lent; outlives the lease */
	const char *user_agent;	      /* NULL: "celld-operator" */
	const char *namespace, *name; /* of the Lease */
	const char *identity;	      /* unique per process: pod name and a random part */
	int64_t duration_ms;	      /* 0: 15,000; whole seconds */
	int64_t renew_ms;	      /* 0: 10,000; less than duration_ms */
	int64_t retry_ms;	      /* 0: 2,000; 1.2 times of it less than renew_ms */
	void (*won)(void *ctx);	      /* once, in the lease's thread; NULL: none */
	/* At most once, in the lease's thread, after won; not after lease_stop began. why: one
	 * line. Must not call lease_stop. */
	void (*lost)(void *ctx, const char *why);
	void *ctx;
};

/* Checks the relations of the times (ERR_INVALID, e->field is the option) and starts the thread; *ret is set before. */
int lease_start(const struct lease_opts *o, struct lease **ret, struct err *e);
/*
 * Ends the thread and frees l. When we lead and release is set the Lease is given back (holder
 * empty, duration 1 s), so that another one takes over at its next look; so call it after the last
 * write has ended.
 */
void lease_stop(struct lease *l, bool release);

/* From any thread, without waiting. */
bool lease_is_leader(const struct lease *l);
/* Moment (clock_mono_ms) until which writes are allowed; 0: we do not lead. */
int64_t lease_deadline_ms(const struct lease *l);
/* The same as a duration from now, for kube_client_opts.may_write: ctx is the struct lease. */
int64_t lease_may_write(void *lease);
/* Moment of the last exchange with the API server that succeeded (liveness); 0: none. */
int64_t lease_last_contact_ms(const struct lease *l);
/* Who holds it, as far as seen; "" unknown. */
void lease_holder(struct lease *l, char *to, size_t size);
/* metadata.uid of the Lease as it was last seen; "" unknown. */
void lease_uid(struct lease *l, char *to, size_t size);

#endif
