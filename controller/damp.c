#include "controller/damp.h"

#include <stdio.h>
#include <string.h>

struct damp_entry *damp_entry(struct damp *d, const char *kind, const char *name)
{
	struct damp_entry *oldest = &d->entries[0];
	char full[DAMP_NAME];

	(void)snprintf(full, sizeof(full), "%s %s", kind, name);
	for (size_t i = 0; i < DAMP_OBJECTS; i++) {
		struct damp_entry *x = &d->entries[i];

		if (str_eq(x->name, full))
			return x;
		if (!x->name[0] ? oldest->name[0] != '\0'
				: x->last_ms < oldest->last_ms && oldest->name[0])
			oldest = x;
	}
	*oldest = (struct damp_entry){ .writes = 0 };
	memcpy(oldest->name, full, sizeof(full));
	return oldest;
}

static bool is_same(const struct damp_entry *d, const char *digest, int64_t now_ms)
{
	return d->writes > 0 && str_eq(d->digest, digest) && now_ms - d->last_ms < DAMP_CALM_MS;
}

int64_t damp_wait(const struct damp_entry *d, const char digest[DIGEST_HEX], int64_t now_ms)
{
	int64_t pause = DAMP_FIRST_MS, left;

	if (!is_same(d, digest, now_ms) || d->writes < DAMP_FREE)
		return 0;
	for (int i = DAMP_FREE; i < d->writes && pause < DAMP_MOST_MS; i++)
		pause *= 2;
	if (pause > DAMP_MOST_MS)
		pause = DAMP_MOST_MS;
	left = d->last_ms + pause - now_ms;
	return left > 0 ? left : 0;
}

void damp_written(struct damp_entry *d, const char digest[DIGEST_HEX], int64_t now_ms)
{
	if (!is_same(d, digest, now_ms)) {
		d->writes = 0;
		d->rival[0] = '\0';
	}
	d->writes++;
	d->last_ms = now_ms;
	memcpy(d->digest, digest, DIGEST_HEX);
}

int64_t damp_fight(const struct damp_entry *d, int64_t now_ms)
{
	int64_t left = d->last_ms + DAMP_CALM_MS - now_ms;

	return d->writes >= DAMP_FREE && left > 0 ? left : 0;
}
