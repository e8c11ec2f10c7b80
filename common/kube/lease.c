#include "common/kube/lease.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/http.h"
#include "common/json.h"
#include "common/kube/client.h"

static const struct kube_kind leases = {
	.group = "coordination.k8s.io",
	.version = "v1",
	.plural = "leases",
	.kind = "Lease",
	.namespaced = true,
};

enum {
	HOLDER_MAX = 256,
	UID_MAX = 64,
	RELEASE_TRIES = 3,
	RELEASE_MS = 2000, /* each of them */
};

struct lease {
	struct lease_opts o; /* texts are ours */
	struct http_cancel *cancel;
	struct http_client *sleeper;
	struct kube_client *client;
	pthread_t thread;
	/* Of the thread. */
	struct json *object; /* as read or written last; NULL: not known */
	struct json *labels,
		*annotations; /* its own, to make it anew when somebody has deleted it */
	char *record;	      /* its spec, in one text: any change of it is a sign of life */
	int64_t seen_ms;      /* when the record changed last, on our clock */
	bool led;	      /* since won() */
	/* For other threads. */
	_Atomic int64_t deadline_ms; /* 0: we do not lead */
	_Atomic int64_t contact_ms;
	pthread_mutex_t lock; /* of holder, uid */
	char holder[HOLDER_MAX], uid[UID_MAX];
};

/* --- the record ------------------------------------------------------------------------------- */

static void copy_member(struct json **to, const struct json *object, const char *name)
{
	const struct json *v = json_path(object, "metadata", name, NULL);

	json_free(*to);
	*to = v ? json_dup(v) : NULL;
}

/* Remembers the Lease as it is now on the server; takes object. */
static void observe(struct lease *l, struct json *object, int64_t now_ms)
{
	const struct json *spec = json_get(object, "spec");
	const char *holder = json_get_str(spec, "holderIdentity");
	const char *uid = json_str(json_path(object, "metadata", "uid", NULL));
	char *record = json_text_sorted(spec ? spec : object);

	if (!l->record || !str_eq(record, l->record))
		l->seen_ms = now_ms;
	free(l->record);
	l->record = record;
	json_free(l->object);
	l->object = object;
	copy_member(&l->labels, object, "labels");
	copy_member(&l->annotations, object, "annotations");
	(void)pthread_mutex_lock(&l->lock);
	(void)snprintf(l->holder, sizeof(l->holder), "%s", holder ? holder : "");
	(void)snprintf(l->uid, sizeof(l->uid), "%s", uid ? uid : "");
	(void)pthread_mutex_unlock(&l->lock);
}

static void forget(struct lease *l)
{
	json_free(take(l->object));
	free(take(l->record));
}

static bool held_by_us(const struct lease *l)
{
	return str_eq(l->holder, l->o.identity);
}

/* May we take it? Judged by our own clock since we saw it change. */
static bool is_free(const struct lease *l, int64_t now_ms)
{
	int64_t seconds = 0;

	if (!l->holder[0] || held_by_us(l))
		return true;
	if (!json_get_int(json_get(l->object, "spec"), "leaseDurationSeconds", &seconds) ||
	    seconds <= 0 || seconds > 3600)
		seconds = l->o.duration_ms / 1000;
	return now_ms - l->seen_ms >= seconds * 1000;
}

/* The Lease as we want it, from the one that was read (NULL: new). */
static struct json *wanted(const struct lease *l, bool release)
{
	struct json *object = l->object ? json_dup(l->object) : json_new_object();
	struct json *meta = json_object_at(object, "metadata");
	struct json *spec = json_object_at(object, "spec");
	bool change = !l->object || !held_by_us(l);
	int64_t transitions = 0;
	char now[CLOCK_TEXT];

	clock_text_micro(clock_wall_ms(), now);
	json_set_str(object, "apiVersion", "coordination.k8s.io/v1");
	json_set_str(object, "kind", leases.kind);
	if (!l->object) { /* Helm removes only what is marked as its own */
		json_set(meta, "labels", l->labels ? json_dup(l->labels) : NULL);
		json_set(meta, "annotations", l->annotations ? json_dup(l->annotations) : NULL);
	}
	json_set_str(meta, "name", l->o.name);
	json_set_str(meta, "namespace", l->o.namespace);
	(void)json_get_int(spec, "leaseTransitions", &transitions);
	if (change)
		json_set_str(spec, "acquireTime", now);
	json_set_int(spec, "leaseTransitions", transitions + (change && l->object));
	json_set_str_always(spec, "holderIdentity", release ? "" : l->o.identity);
	json_set_int(spec, "leaseDurationSeconds", release ? 1 : l->o.duration_ms / 1000);
	json_set_str(spec, "renewTime", now);
	return object;
}

/* --- one attempt ------------------------------------------------------------------------------ */

/* Half the renew deadline, so that one hung call cannot lose the lease; for a leader never past the
 * deadline. */
static int64_t timeout_ms(const struct lease *l)
{
	int64_t left = atomic_load(&l->deadline_ms) - clock_mono_ms(), half = l->o.renew_ms / 2;

	if (!l->led || left > half)
		return half;
	return left > 0 ? left : 1;
}

static int read_lease(struct lease *l, int64_t timeout, struct err *e)
{
	struct json *object = NULL;
	int r = kube_get(l->client, &leases, l->o.namespace, l->o.name, timeout, &object, e);

	if (r == 0)
		observe(l, object, clock_mono_ms());
	else if (r == -ERR_NOT_FOUND)
		forget(l);
	return r == -ERR_NOT_FOUND ? 0 : r;
}

/* Writes what we want; on success we lead from the moment before it was sent. */
static int write_lease(struct lease *l, bool release, int64_t timeout_ms, struct err *e)
{
	cleanup_json struct json *object = wanted(l, release);
	struct json *stored = NULL;
	int64_t start = clock_mono_ms();
	int r;

	if (l->object)
		r = kube_replace(l->client, &leases, l->o.namespace, l->o.name, NULL, object,
				 timeout_ms, &stored, e);
	else
		r = kube_create(l->client, &leases, l->o.namespace, object, timeout_ms, &stored, e);
	if (r < 0)
		return r;
	observe(l, stored, clock_mono_ms());
	atomic_store(&l->deadline_ms, release ? 0 : start + l->o.renew_ms);
	return 0;
}

/*
 * One turn: 0 we lead, -ERR_CONFLICT another one does (or was quicker), else what went wrong. A
 * leader writes at once over the Lease it knows; only after a conflict, and as long as it does not
 * lead, it reads first.
 */
static int turn(struct lease *l, struct err *e)
{
	int64_t timeout = timeout_ms(l);
	int r = 0;

	if (l->led && l->object && held_by_us(l)) {
		r = write_lease(l, false, timeout, e);
		if (r != -ERR_CONFLICT && r != -ERR_NOT_FOUND)
			return r;
	}
	r = read_lease(l, timeout_ms(l), e);
	if (r < 0)
		return r;
	if (l->led && l->object &&
	    !held_by_us(l)) /* free or not: somebody else may have acted meanwhile */
		return err_set(e, ERR_CONFLICT, "taken away by '%s'", l->holder);
	if (l->object && !is_free(l, clock_mono_ms()))
		return err_set(e, ERR_CONFLICT, "held by %s", l->holder);
	return write_lease(l, false, timeout_ms(l), e);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void lose(struct lease *l, const char *why)
{
	atomic_store(&l->deadline_ms, 0);
	if (l->o.lost && !http_cancel_triggered(l->cancel))
		l->o.lost(l->o.ctx, why);
}

/* After a turn that failed while we lead: true when that was the end. */
static bool lost(struct lease *l, int r, const struct err *e)
{
	char why[700];

	if (r == -ERR_CONFLICT && l->object && !held_by_us(l)) {
		lose(l, e->message);
		return true;
	}
	if (clock_mono_ms() < atomic_load(&l->deadline_ms))
		return false;
	(void)snprintf(why, sizeof(why), "not renewed within %lld ms: %s", (long long)l->o.renew_ms,
		       e->message);
	lose(l, why);
	return true;
}

/* Until the next turn. What the server asks for holds for a leader too, but not past its deadline. */
static int64_t pause_ms(const struct lease *l, const struct err *e)
{
	int64_t ms = l->o.retry_ms, left;

	if (!l->led)
		ms += arc4random_uniform((uint32_t)(ms / 5) + 1);
	if (ms < e->retry_after_ms)
		ms = e->retry_after_ms;
	left = atomic_load(&l->deadline_ms) - clock_mono_ms();
	return l->led && left < ms ? left : ms;
}

static int nap(struct lease *l, int64_t ms)
{
	int64_t until = clock_mono_ms() + ms, now;

	while ((now = clock_mono_ms()) < until) {
		if (http_client_sleep(l->sleeper, until - now) < 0)
			return -ERR_CANCELED;
	}
	return http_cancel_triggered(l->cancel) ? -ERR_CANCELED : 0;
}

static void *run(void *lease)
{
	struct lease *l = lease;
	int64_t pause;

	do {
		struct err e = ERR_INIT;
		int r;

		if (l->led && !lease_is_leader(l)) { /* frozen for too long, perhaps */
			lose(l, "not renewed in time");
			return NULL;
		}
		r = turn(l, &e);
		if (r == 0 || r == -ERR_CONFLICT)
			atomic_store(&l->contact_ms, clock_mono_ms());
		if (r == 0 && !l->led) {
			l->led = true;
			if (l->o.won)
				l->o.won(l->o.ctx);
		}
		if (r < 0 && l->led && lost(l, r, &e))
			return NULL;
		pause = pause_ms(l, &e);
	} while (nap(l, pause) == 0);
	return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

static int check(const struct lease_opts *o, struct err *e)
{
	if (o->duration_ms <= 0 || o->duration_ms % 1000)
		return err_field(e, ERR_INVALID, "duration", "must be whole seconds, at least 1");
	if (o->renew_ms <= 0 || o->renew_ms >= o->duration_ms)
		return err_field(e, ERR_INVALID, "renew", "must be shorter than the duration");
	if (o->retry_ms <= 0 || o->retry_ms * 12 / 10 >= o->renew_ms)
		return err_field(e, ERR_INVALID, "retry",
				 "1.2 times of it must be shorter than the renew deadline");
	if (str_empty(o->identity) || strlen(o->identity) >= HOLDER_MAX)
		return err_field(e, ERR_INVALID, "identity", "must have 1 to %d bytes",
				 HOLDER_MAX - 1);
	return 0;
}

static void lease_free(struct lease *l)
{
	forget(l);
	json_free(l->labels);
	json_free(l->annotations);
	kube_client_free(l->client);
	http_client_free(l->sleeper);
	http_cancel_free(l->cancel);
	(void)pthread_mutex_destroy(&l->lock);
	for (const char **s = (const char *[]){ l->o.namespace, l->o.name, l->o.identity, NULL };
	     *s; s++) {
		char *mine;

		memcpy(&mine, s, sizeof(mine));
		free(mine);
	}
	free(l);
}

static struct kube_client *client_new(const struct lease *l, const char *user_agent,
				      struct http_cancel *cancel)
{
	struct kube_client_opts o = {
		.config = l->o.config,
		.cancel = cancel,
		.user_agent = user_agent,
	};

	return kube_client_new(&o);
}

int lease_start(const struct lease_opts *opts, struct lease **ret, struct err *e)
{
	struct lease_opts o = *opts;
	struct lease *l;
	sigset_t all, before;
	int r;

	o.duration_ms = o.duration_ms ? o.duration_ms : 15000;
	o.renew_ms = o.renew_ms ? o.renew_ms : 10000;
	o.retry_ms = o.retry_ms ? o.retry_ms : 2000;
	r = check(&o, e);
	if (r < 0)
		return r;
	l = xcalloc(1, sizeof(*l));
	l->o = o;
	l->o.namespace = xstrdup(o.namespace);
	l->o.name = xstrdup(o.name);
	l->o.identity = xstrdup(o.identity);
	l->o.user_agent = NULL;
	(void)pthread_mutex_init(&l->lock, NULL);
	l->cancel = http_cancel_new();
	l->sleeper = http_client_new(l->cancel);
	l->client = client_new(l, o.user_agent, l->cancel);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	*ret = l; /* won() may ask for it */
	r = pthread_create(&l->thread, NULL, run, l);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		*ret = NULL;
		lease_free(l);
		return err_errno(e, r, "thread of the lease");
	}
	return 0;
}

/* Gives the Lease back. A renewal that was cut off may have been stored: read and try again on
 * conflict. */
static void give_back(struct lease *l)
{
	for (int i = 0; i < RELEASE_TRIES; i++) {
		struct err e = ERR_INIT;
		int r = l->object && held_by_us(l) ? write_lease(l, true, RELEASE_MS, &e) : 0;

		if (r != -ERR_CONFLICT || read_lease(l, RELEASE_MS, &e) < 0)
			return;
	}
}

void lease_stop(struct lease *l, bool release)
{
	bool leads;

	if (!l)
		return;
	http_cancel_trigger(l->cancel);
	(void)pthread_join(l->thread, NULL);
	leads = lease_is_leader(l);
	if (leads && release) {
		kube_client_free(l->client); /* its requests are canceled for ever */
		l->client = client_new(l, NULL, NULL);
		give_back(l);
	}
	lease_free(l);
}

/* --- for other threads ------------------------------------------------------------------------ */

int64_t lease_deadline_ms(const struct lease *l)
{
	return atomic_load(&l->deadline_ms);
}

int64_t lease_may_write(void *lease)
{
	const struct lease *l = lease;
	int64_t deadline = atomic_load(&l->deadline_ms);

	return deadline ? deadline - clock_mono_ms() : 0;
}

bool lease_is_leader(const struct lease *l)
{
	int64_t deadline = atomic_load(&l->deadline_ms);

	return deadline && clock_mono_ms() < deadline;
}

int64_t lease_last_contact_ms(const struct lease *l)
{
	return atomic_load(&l->contact_ms);
}

static void copy_text(struct lease *l, const char *from, char *to, size_t size)
{
	(void)pthread_mutex_lock(&l->lock);
	(void)snprintf(to, size, "%s", from);
	(void)pthread_mutex_unlock(&l->lock);
}

void lease_holder(struct lease *l, char *to, size_t size)
{
	copy_text(l, l->holder, to, size);
}

void lease_uid(struct lease *l, char *to, size_t size)
{
	copy_text(l, l->uid, to, size);
}
