#include "controller/slots.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/map.h"

struct slots {
	struct cache *cache;
	int64_t limit;
	pthread_mutex_t lock;
	struct map *taken; /* key -> anything */
	bool counted;	   /* those of before the start */
};

static char yes;

struct slots *slots_new(struct cache *cache, int64_t limit)
{
	struct slots *s = xcalloc(1, sizeof(*s));

	s->cache = cache;
	s->limit = limit;
	s->taken = map_new(NULL);
	(void)pthread_mutex_init(&s->lock, NULL);
	return s;
}

void slots_free(struct slots *s)
{
	if (!s)
		return;
	map_free(s->taken);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Between the turns of a Recreate the partition may be at rest; its phase tells. */
static bool in_roll(const struct cache_brief *b)
{
	if (b->deleting || str_eq(b->phase, "Paused") || str_eq(b->phase, "Degraded"))
		return false;
	return b->sts_uid[0] && (b->partition != ROLLOUT_REST || str_eq(b->phase, "Recreating"));
}

static void count(struct slots *s)
{
	struct strlist keys = STRLIST_INIT;
	struct cache_brief b;

	cache_apps(s->cache, &keys);
	for (size_t i = 0; i < keys.n; i++) {
		if (cache_brief(s->cache, keys.v[i], &b) && in_roll(&b))
			map_put(s->taken, keys.v[i], &yes);
	}
	s->counted = true;
	strlist_done(&keys);
}

bool slots_take(struct slots *s, const char *key)
{
	bool has;

	if (!s->limit)
		return true;
	(void)pthread_mutex_lock(&s->lock);
	if (!s->counted)
		count(s);
	has = map_get(s->taken, key) != NULL;
	if (!has && (int64_t)map_len(s->taken) < s->limit) {
		map_put(s->taken, key, &yes);
		has = true;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return has;
}

void slots_give(struct slots *s, const char *key)
{
	if (!s->limit)
		return;
	(void)pthread_mutex_lock(&s->lock);
	map_del(s->taken, key);
	(void)pthread_mutex_unlock(&s->lock);
}

void slots_force(struct slots *s, const char *key)
{
	if (slots_take(s, key))
		return;
	(void)pthread_mutex_lock(&s->lock);
	map_put(s->taken, key, &yes);
	(void)pthread_mutex_unlock(&s->lock);
}

enum slots_need slots_need(enum rollout_write w)
{
	switch (w) {
	case ROLLOUT_WRITE_FREEZE:
	case ROLLOUT_WRITE_STOP:
	case ROLLOUT_WRITE_STEP:
		return SLOTS_ASK;
	case ROLLOUT_WRITE_RENEW:
	case ROLLOUT_WRITE_START:
		return SLOTS_FORCE;
	case ROLLOUT_WRITE_NONE:
	case ROLLOUT_WRITE_CREATE:
	case ROLLOUT_WRITE_REST:
	case ROLLOUT_WRITE_SCALE:
		return SLOTS_NOT;
	}
	return SLOTS_NOT;
}

/* What may take for ever: somebody has to come and mend it. */
static bool may_be_endless(enum rollout_reason why)
{
	static const enum rollout_reason list[] = {
		ROLLOUT_STUCK,		ROLLOUT_MISSING,    ROLLOUT_TERMINATING,
		ROLLOUT_OLD_REVISION,	ROLLOUT_NOT_READY,  ROLLOUT_UNREACHABLE,
		ROLLOUT_PODS_LEFT,	ROLLOUT_AUTOSCALER, ROLLOUT_STORE_MISSING,
		ROLLOUT_SECRETS_UNREAD, ROLLOUT_CHILD,	    ROLLOUT_NO_WORKLOAD,
		ROLLOUT_LEAVING,
	};

	for (size_t i = 0; i < array_len(list); i++) {
		if (list[i] == why)
			return true;
	}
	return false;
}

bool slots_are_kept(const struct rollout_obs *o, const struct rollout_decision *d)
{
	bool moves = o->partition != ROLLOUT_REST || o->remembered >= 0 ||
		     d->phase == ROLLOUT_RECREATING;

	if (d->phase == ROLLOUT_PAUSED || d->phase == ROLLOUT_DEGRADED)
		return false;
	if (d->write != ROLLOUT_WRITE_NONE)
		return true;
	return moves && !(o->quiet >= ROLLOUT_PATIENCE_MS && may_be_endless(d->reason));
}
