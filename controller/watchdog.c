#include "controller/watchdog.h"

#include <stdatomic.h>
#include <stdlib.h>

struct watchdog {
	size_t n;
	_Atomic int64_t begun[]; /* monotonic; 0: it waits for work */
};

struct watchdog *watchdog_new(size_t n)
{
	struct watchdog *w = xcalloc(1, sizeof(*w) + n * sizeof(w->begun[0]));

	w->n = n;
	return w;
}

void watchdog_free(struct watchdog *w)
{
	free(w);
}

void watchdog_begin(struct watchdog *w, size_t i, int64_t now_ms)
{
	atomic_store(&w->begun[i], now_ms);
}

void watchdog_end(struct watchdog *w, size_t i)
{
	atomic_store(&w->begun[i], 0);
}

int64_t watchdog_longest(struct watchdog *w, int64_t now_ms)
{
	int64_t longest = 0;

	for (size_t i = 0; i < w->n; i++) {
		int64_t begun = atomic_load(&w->begun[i]);

		if (begun && now_ms - begun > longest)
			longest = now_ms - begun;
	}
	return longest;
}

bool watchdog_fine(struct watchdog *w, int64_t watch_beat_ms, int64_t now_ms, const char **ret_why)
{
	if (watchdog_longest(w, now_ms) > WATCHDOG_MS) {
		*ret_why = "a worker is stuck in one turn";
		return false;
	}
	if (watch_beat_ms && now_ms - watch_beat_ms > WATCHDOG_MS) {
		*ret_why = "the watch is stuck";
		return false;
	}
	return true;
}
