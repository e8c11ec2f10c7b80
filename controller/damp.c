#include "controller/damp.h"

#include <stdlib.h>
#include <string.h>

#include "common/digest.h"

void damp_done(struct damp *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->entries[i].rival);
	free(d->entries);
	*d = (struct damp){ .n = 0 };
}

uint32_t damp_hash(const char *text)
{
	uint32_t h = (uint32_t)digest_short(text, strlen(text));

	return h ? h : 1;
}

struct damp_entry *damp_entry(struct damp *d, const char *object)
{
	uint32_t name = damp_hash(object);
	struct damp_entry *to;

	for (size_t i = 0; i < d->n; i++) {
		if (d->entries[i].name == name)
			return &d->entries[i];
	}
	if (d->n < DAMP_OBJECTS) {
		d->entries = xrealloc(d->entries, (d->n + 1) * sizeof(d->entries[0]));
		to = &d->entries[d->n++];
	} else {
		to = &d->entries[0];
		for (size_t i = 1; i < d->n; i++) {
			if (d->entries[i].last_ms < to->last_ms)
				to = &d->entries[i];
		}
		free(to->rival);
	}
	*to = (struct damp_entry){ .name = name };
	return to;
}

bool damp_is_busy(const struct damp *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->entries[i].writes >= DAMP_FREE)
			return true;
	}
	return false;
}

static bool is_same(const struct damp_entry *d, uint32_t content, int64_t now_ms)
{
	return d->writes > 0 && d->content == content && now_ms - d->last_ms < DAMP_CALM_MS;
}

int64_t damp_wait(const struct damp_entry *d, uint32_t content, int64_t now_ms)
{
	int64_t pause = DAMP_FIRST_MS, left;

	if (!is_same(d, content, now_ms) || d->writes < DAMP_FREE)
		return 0;
	for (int i = DAMP_FREE; i < d->writes && pause < DAMP_MOST_MS; i++)
		pause *= 2;
	if (pause > DAMP_MOST_MS)
		pause = DAMP_MOST_MS;
	left = d->last_ms + pause - now_ms;
	return left > 0 ? left : 0;
}

void damp_written(struct damp_entry *d, uint32_t content, int64_t now_ms)
{
	if (!is_same(d, content, now_ms)) {
		d->writes = 0;
		free(take(d->rival));
	}
	d->writes++;
	d->last_ms = now_ms;
	d->content = content;
}

int64_t damp_fight(const struct damp_entry *d, int64_t now_ms)
{
	int64_t left = d->last_ms + DAMP_CALM_MS - now_ms;

	return d->writes >= DAMP_FREE && left > 0 ? left : 0;
}
