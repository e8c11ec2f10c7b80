#include "controller/damp.h"

#include <stdlib.h>
#include <string.h>

#include "common/digest.h"

void damp_done(struct damp *d)
{
	for (size_t i = 0; i < DAMP_OBJECTS; i++)
		free(take(d->entries[i].rival));
}

uint64_t damp_hash(const char *text)
{
	unsigned char raw[DIGEST_BYTES];
	uint64_t h;

	digest_sha256(text, strlen(text), raw);
	memcpy(&h, raw, sizeof(h));
	return h ? h : 1;
}

struct damp_entry *damp_entry(struct damp *d, const char *object)
{
	uint64_t name = damp_hash(object);
	struct damp_entry *oldest = &d->entries[0];

	for (size_t i = 0; i < DAMP_OBJECTS; i++) {
		struct damp_entry *x = &d->entries[i];

		if (x->name == name)
			return x;
		if (oldest->name && (!x->name || x->last_ms < oldest->last_ms))
			oldest = x;
	}
	free(oldest->rival);
	*oldest = (struct damp_entry){ .name = name };
	return oldest;
}

static bool is_same(const struct damp_entry *d, uint64_t content, int64_t now_ms)
{
	return d->writes > 0 && d->content == content && now_ms - d->last_ms < DAMP_CALM_MS;
}

int64_t damp_wait(const struct damp_entry *d, uint64_t content, int64_t now_ms)
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

void damp_written(struct damp_entry *d, uint64_t content, int64_t now_ms)
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
