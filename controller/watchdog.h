/*
 * watchdog.h - is every thread getting on? For /healthz: a process that is stuck is started again by the kubelet.
 *
 * A worker is stuck when one turn takes longer than any turn with all its timeouts can; the watch when its thread has
 * not been round. An API server that is away is no fault of either.
 */
#ifndef CONTROLLER_WATCHDOG_H
#define CONTROLLER_WATCHDOG_H

#include "common/base.h"

enum { WATCHDOG_MS = 300000 };

struct watchdog;

/* For n workers, which are known by their index. */
struct watchdog *watchdog_new(size_t n) must_use;
void watchdog_free(struct watchdog *w);
/* Worker i begins and ends a turn. */
void watchdog_begin(struct watchdog *w, size_t i, int64_t now_ms);
void watchdog_end(struct watchdog *w, size_t i);
/* How long the longest turn that goes on has taken; 0: none does. */
int64_t watchdog_longest(struct watchdog *w, int64_t now_ms);
/*
 * Fine: true. Else *ret_why says which thread. watch_beat_ms: of kube_watch_beat_ms; 0: there is no watch yet.
 */
bool watchdog_fine(struct watchdog *w, int64_t watch_beat_ms, int64_t now_ms, const char **ret_why);

#endif
