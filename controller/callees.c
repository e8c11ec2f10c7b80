#include "controller/callees.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/map.h"

enum { PAUSE_MS = 15000 };

struct callee {
	const struct callees *all;
	char *name;
	size_t users;
	int in_flight, failures; /* failures in a row */
	int64_t until_ms;
	char why[192];
};

struct callees {
	int64_t pause_ms, most_ms;
	struct map *named;
};

static void callee_free(void *p)
{
	struct callee *e = p;

	free(e->name);
	free(e);
}

struct callees *callees_new(int64_t pause_ms, int64_t most_ms)
{
	struct callees *all = xcalloc(1, sizeof(*all));

	all->pause_ms = pause_ms ? pause_ms : PAUSE_MS;
	all->most_ms = most_ms;
	all->named = map_new(callee_free);
	return all;
}

void callees_free(struct callees *all)
{
	if (!all)
		return;
	map_free(all->named);
	free(all);
}

size_t callees_count(const struct callees *all)
{
	return map_len(all->named);
}

struct callee *callee_take(struct callees *all, const char *name)
{
	struct callee *e = map_get(all->named, name);

	if (!e) {
		e = xcalloc(1, sizeof(*e));
		e->all = all;
		e->name = xstrdup(name);
		map_put(all->named, name, e);
	}
	e->users++;
	return e;
}

void callee_give(struct callees *all, struct callee *e)
{
	if (e && --e->users == 0)
		callee_free(map_take(all->named, e->name));
}

int64_t callee_rests_until(const struct callee *e)
{
	return e->until_ms;
}

const char *callee_why(const struct callee *e)
{
	return e->why;
}

bool callee_has_room(const struct callee *e)
{
	return e->in_flight < (e->failures ? 1 : CALLEE_IN_FLIGHT);
}

void callee_begin(struct callee *e)
{
	e->in_flight++;
}

void callee_end(struct callee *e)
{
	e->in_flight--;
}

static int64_t pause_of(const struct callee *e)
{
	int64_t pause = e->all->pause_ms;

	for (int i = 1; i < e->failures && pause < e->all->most_ms; i++)
		pause *= 2;
	return pause < e->all->most_ms ? pause : e->all->most_ms;
}

void callee_failed(struct callee *e, int64_t now_ms, const struct err *why, double random)
{
	int64_t pause;

	(void)snprintf(e->why, sizeof(e->why), "%.191s", why->message);
	if (now_ms < e->until_ms)
		return;
	e->failures++;
	pause = pause_of(e);
	pause += (int64_t)((double)pause * random / 4);
	if (pause < why->retry_after_ms)
		pause = why->retry_after_ms;
	e->until_ms = now_ms + pause;
}

bool callee_answered(struct callee *e)
{
	bool was = e->failures > 0;

	e->failures = 0;
	e->until_ms = 0;
	return was;
}
