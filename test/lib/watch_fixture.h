/*
 * watch_fixture.h - a watch before a scripted API server, and the story of what it has told, as text.
 */
#ifndef TEST_LIB_WATCH_FIXTURE_H
#define TEST_LIB_WATCH_FIXTURE_H

#include <pthread.h>

#include "common/buf.h"
#include "common/kube/watch.h"
#include "test/lib/script.h"

struct watch_fixture {
	struct script *server;
	struct kube_config *config;
	struct kube_watch *watch;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct buf told;
};

/* o with its config, a ctx of f where it has none, and a back-off of 1 ms where it has none. */
void watch_fixture_start(struct watch_fixture *f, const struct script_step *steps, size_t n,
			 struct kube_watch_opts o);
void watch_fixture_stop(struct watch_fixture *f);
/* From the watch's thread: adds to the story. */
void watch_fixture_tell(struct watch_fixture *f, const char *fmt, ...) printf_like(2, 3);
/* Waits until the story is want, or 30 s. */
void watch_fixture_expect(struct watch_fixture *f, const char *want);

#endif
