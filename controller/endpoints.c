#include "controller/endpoints.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/map.h"

enum { PAUSE_MS = 15000 };

struct endpoint {
	const struct endpoints *all;
	char *name;
	size_t users;
	int in_flight, failures; /* failures in a row */
	int64_t until_ms;
	char why[192];
};

struct endpoints {
	int64_t pause_ms, most_ms;
	struct map *named;
};

static void endpoint_free(void *p)
{
	struct endpoint *e = p;

	free(e->name);
	free(e);
}

struct endpoints *endpoints_new(int64_t pause_ms, int64_t most_ms)
{
	struct endpoints *all = xcalloc(1, sizeof(*all));

	all->pause_ms = pause_ms ? pause_ms : PAUSE_MS;
	all->most_ms = most_ms;
	all->named = map_new(endpoint_free);
	return all;
}

void endpoints_free(struct endpoints *all)
{
	if (!all)
		return;
	map_free(all->named);
	free(all);
}

size_t endpoints_count(const struct endpoints *all)
{
	return map_len(all->named);
}

struct endpoint *endpoint_take(struct endpoints *all, const char *name)
{
	struct endpoint *e = map_get(all->named, name);

	if (!e) {
		e = xcalloc(1, sizeof(*e));
		e->all = all;
		e->name = xstrdup(name);
		map_put(all->named, name, e);
	}
	e->users++;
	return e;
}

void endpoint_give(struct endpoints *all, struct endpoint *e)
{
	if (e && --e->users == 0)
		endpoint_free(map_take(all->named, e->name));
}

int64_t endpoint_rests_until(const struct endpoint *e)
{
	return e->until_ms;
}

const char *endpoint_why(const struct endpoint *e)
{
	return e->why;
}

bool endpoint_has_room(const struct endpoint *e)
{
	return e->in_flight < (e->failures ? 1 : ENDPOINT_IN_FLIGHT);
}

void endpoint_begin(struct endpoint *e)
{
	e->in_flight++;
}

void endpoint_end(struct endpoint *e)
{
	e->in_flight--;
}

static int64_t pause_of(const struct endpoint *e)
{
	int64_t pause = e->all->pause_ms;

	for (int i = 1; i < e->failures && pause < e->all->most_ms; i++)
		pause *= 2;
	return pause < e->all->most_ms ? pause : e->all->most_ms;
}

void endpoint_failed(struct endpoint *e, int64_t now_ms, const struct err *why, double random)
{
	int64_t pause;

	(void)snprintf(e->why, sizeof(e->why), "%.191s", why->message);
	if (now_ms < e->until_ms)
		return;
	e->failures++;
	pause = pause_of(e);
	pause += (int64_t)((double)(pause / 4) * random);
	if (pause < why->retry_after_ms)
		pause = why->retry_after_ms;
	e->until_ms = now_ms + pause;
}

bool endpoint_answered(struct endpoint *e)
{
	bool was = e->failures > 0;

	e->failures = 0;
	e->until_ms = 0;
	return was;
}
