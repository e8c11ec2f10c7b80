#include "test/lib/watch_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/kube/config.h"

void watch_fixture_start(struct watch_fixture *f, const struct script_step *steps, size_t n,
			 struct kube_watch_opts o)
{
	struct err e = ERR_INIT;

	*f = (struct watch_fixture){ .server = script_start(steps, n, NULL) };
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->changed, NULL);
	buf_init(&f->told, 1 << 20);
	f->config = kube_config_plain(script_url(f->server), "T");
	o.config = f->config;
	if (!o.ctx)
		o.ctx = f;
	if (!o.backoff_ms)
		o.backoff_ms = 1;
	assert_int_equal(kube_watch_start(&o, &f->watch, &e), 0);
}

void watch_fixture_stop(struct watch_fixture *f)
{
	kube_watch_stop(f->watch);
	kube_config_free(f->config);
	script_stop(f->server);
	(void)pthread_mutex_destroy(&f->lock);
	(void)pthread_cond_destroy(&f->changed);
	buf_done(&f->told);
}

void watch_fixture_tell(struct watch_fixture *f, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)pthread_mutex_lock(&f->lock);
	buf_puts(&f->told, text);
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

void watch_fixture_expect(struct watch_fixture *f, const char *want)
{
	struct timespec until;
	int r = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	(void)pthread_mutex_lock(&f->lock);
	while (f->told.len < strlen(want) && r == 0)
		r = pthread_cond_timedwait(&f->changed, &f->lock, &until);
	assert_string_equal(buf_str(&f->told), want);
	(void)pthread_mutex_unlock(&f->lock);
}
