#include "controller/snapshot.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/map.h"
#include "common/strlist.h"

struct snapshots {
	pthread_mutex_t lock;
	struct map *by_key; /* "namespace/app" -> struct snapshot, one reference each */
};

struct snapshot *snapshot_new(size_t n)
{
	struct snapshot *s = xcalloc(1, sizeof(*s) + n * sizeof(s->pods[0]));

	s->refs = 1;
	s->n = n;
	return s;
}

const struct snapshot_pod *snapshot_find(const struct snapshot *s, const char *uid)
{
	for (size_t i = 0; s && i < s->n; i++) {
		if (str_eq(s->pods[i].uid, uid))
			return &s->pods[i];
	}
	return NULL;
}

/* Under the lock. */
static void unref(void *p)
{
	struct snapshot *s = p;

	if (--s->refs == 0)
		free(s);
}

struct snapshots *snapshots_new(void)
{
	struct snapshots *all = xcalloc(1, sizeof(*all));

	(void)pthread_mutex_init(&all->lock, NULL);
	all->by_key = map_new(unref);
	return all;
}

void snapshots_free(struct snapshots *all)
{
	if (!all)
		return;
	map_free(all->by_key);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
}

bool snapshots_put(struct snapshots *all, const char *key, struct snapshot *s)
{
	const struct snapshot *was;
	bool newer;

	(void)pthread_mutex_lock(&all->lock);
	was = map_get(all->by_key, key);
	newer = !was || s->begun_ms >= was->begun_ms;
	if (newer)
		map_put(all->by_key, key, s);
	else
		unref(s);
	(void)pthread_mutex_unlock(&all->lock);
	return newer;
}

const struct snapshot *snapshots_get(struct snapshots *all, const char *key)
{
	struct snapshot *s;

	(void)pthread_mutex_lock(&all->lock);
	s = map_get(all->by_key, key);
	if (s)
		s->refs++;
	(void)pthread_mutex_unlock(&all->lock);
	return s;
}

void snapshot_drop(struct snapshots *all, const struct snapshot *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&all->lock);
	/* const is for the readers: the count belongs to the store */
	unref((void *)(uintptr_t)s);
	(void)pthread_mutex_unlock(&all->lock);
}

void snapshots_forget(struct snapshots *all, const char *key)
{
	(void)pthread_mutex_lock(&all->lock);
	map_del(all->by_key, key);
	(void)pthread_mutex_unlock(&all->lock);
}

struct keep_walk {
	const struct map *wanted;
	struct strlist gone;
};

static void note_if_gone(const char *key, void *value, void *ctx)
{
	struct keep_walk *w = ctx;

	(void)value;
	if (!map_get(w->wanted, key))
		strlist_add(&w->gone, key);
}

void snapshots_keep(struct snapshots *all, const struct strlist *keys)
{
	static char yes;
	cleanup_map struct map *wanted = map_new(NULL);
	struct keep_walk w = { .wanted = wanted, .gone = STRLIST_INIT };

	for (size_t i = 0; i < keys->n; i++)
		map_put(wanted, keys->v[i], &yes);
	(void)pthread_mutex_lock(&all->lock);
	map_each(all->by_key, note_if_gone, &w);
	for (size_t i = 0; i < w.gone.n; i++)
		map_del(all->by_key, w.gone.v[i]);
	(void)pthread_mutex_unlock(&all->lock);
	strlist_done(&w.gone);
}

size_t snapshots_count(struct snapshots *all)
{
	size_t n;

	(void)pthread_mutex_lock(&all->lock);
	n = map_len(all->by_key);
	(void)pthread_mutex_unlock(&all->lock);
	return n;
}
