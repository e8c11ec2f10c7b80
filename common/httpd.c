#include "common/httpd.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/httpd/listen.h"
#include "common/httpd/pair.h"
#include "common/httpd/serve.h"
#include "common/log.h"

/*
 * TLS 1.3, then 1.2. The API server asks for AES-GCM, which costs a third of what GnuTLS needs for
 * ChaCha20; a client without AES is none of ours.
 */
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CHACHA20-POLY1305"

enum {
	CONNECTION_MEMORY = 32 << 10, /* room for large headers; MHD zeroes it after each request */
	QUIET_MS = 3000,
	GIVE_BACK_MS = 1000, /* without a request */
	OTHER_FILES = 48,    /* descriptors that are left to the rest of the process */
	FEWEST = 8,
	/* Over the maximum for a moment: who has come already, and who has been cut for it. */
	SPARE_PLACES = 64,
};

/* ---- the certificate on disk ----------------------------------------------------------------- */

static void tell(const struct httpd *h, const struct err *e)
{
	if (h->o.on_reload)
		h->o.on_reload(h->o.reload_ctx, e);
}

static void use(struct httpd *h, struct pair *fresh)
{
	pair_unref(h->pair);
	h->pair = fresh;
	atomic_store(&h->begin, fresh->begin);
	atomic_store(&h->expiry, fresh->expiry);
}

/* A refused pair is tried again at each look (it may have been half-written), but told once. */
static void look_at_files(struct httpd *h)
{
	struct pair_stamp now;
	struct pair *fresh;
	struct err e = ERR_INIT;

	if (!h->o.cert_file || h->now < h->next_look)
		return;
	h->next_look = h->now + h->o.reload_ms;
	now = pair_stamp_of(h->o.cert_file, h->o.key_file);
	if (pair_stamp_same(&now, &h->used)) {
		if (h->refusing) /* the good ones are back */
			tell(h, NULL);
		h->refusing = false;
		return;
	}
	if (pair_load(h->o.cert_file, h->o.key_file, &fresh, &e)) {
		if (!h->refusing || !pair_stamp_same(&now, &h->bad))
			tell(h, &e);
		h->bad = now;
		h->refusing = true;
		return;
	}
	h->refusing = false;
	use(h, fresh);
	h->used = now;
	tell(h, NULL);
}

static void take_handed_pair(struct httpd *h)
{
	struct pair *fresh = atomic_exchange(&h->handed, NULL);

	if (!fresh)
		return;
	use(h, fresh);
}

/* ---- drain ----------------------------------------------------------------------------------- */

/*
 * No new connections; those that the kernel has accepted already are served too, where closing the
 * listener alone would reset them.
 */
static void close_listener(struct httpd *h)
{
	int fd = MHD_quiesce_daemon(h->daemon);

	if (fd < 0)
		return;
	for (;;) {
		struct sockaddr_storage peer;
		socklen_t n = sizeof(peer);
		int s = accept4(fd, (struct sockaddr *)&peer, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (s < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (s < 0)
			break;
		(void)MHD_add_connection(h->daemon, s, (struct sockaddr *)&peer, n);
	}
	(void)close(fd);
}

static bool nobody_is_left(const struct httpd *h)
{
	return atomic_load(&h->connections) == 0 ||
	       (h->in_progress == 0 && h->now - h->last_request >= QUIET_MS);
}

/* True: the loop has ended. */
static bool step_drain(struct httpd *h)
{
	if (atomic_load(&h->stopping))
		return true;
	if (h->phase == HTTPD_SERVING && atomic_load(&h->draining)) {
		h->phase = HTTPD_LAME;
		h->deadline = h->now + h->deadline_ms;
		h->lame_until = h->now + h->lame_ms;
		if (h->lame_until > h->deadline)
			h->lame_until = h->deadline;
	}
	if (h->phase == HTTPD_LAME && h->now >= h->lame_until) {
		h->phase = HTTPD_LEAVING;
		close_listener(h);
	}
	return h->phase == HTTPD_LEAVING && (nobody_is_left(h) || h->now >= h->deadline);
}

static bool may_give_back(const struct httpd *h)
{
	return h->swollen && h->in_progress == 0;
}

/*
 * What large bodies took stays with the allocator, in pieces, until it is told; while requests come it is used again.
 */
static void give_back(struct httpd *h)
{
	if (!may_give_back(h) || h->now - h->last_request < GIVE_BACK_MS)
		return;
	while (h->n_spare)
		free(h->spare[--h->n_spare]);
	(void)malloc_trim(0);
	h->swollen = false;
}

/* When something of ours is due, however quiet the sockets are; -1: never. */
static int64_t next_due(const struct httpd *h)
{
	int64_t at = conns_due(&h->conns);

	if (h->o.cert_file && h->next_look < at)
		at = h->next_look;

	if (may_give_back(h) && h->last_request + GIVE_BACK_MS < at)
		at = h->last_request + GIVE_BACK_MS;
	if (h->phase == HTTPD_LAME && h->lame_until < at)
		at = h->lame_until;
	if (h->phase == HTTPD_LEAVING) {
		if (h->deadline < at)
			at = h->deadline;
		if (h->in_progress == 0 && h->last_request + QUIET_MS < at)
			at = h->last_request + QUIET_MS;
	}
	return at == INT64_MAX ? -1 : at;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int wait_ms(const struct httpd *h)
{
	int64_t due = next_due(h), ms = -1;
	MHD_UNSIGNED_LONG_LONG theirs;

	if (due >= 0)
		ms = due > h->now ? due - h->now : 0;
	if (MHD_get_timeout(h->daemon, &theirs) == MHD_YES && (ms < 0 || theirs < (uint64_t)ms))
		ms = (int64_t)theirs;
	return ms > 3600000 ? 3600000 : (int)ms;
}

static void *loop(void *arg)
{
	struct httpd *h = arg;
	struct pollfd p[2] = {
		{ .fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		  .events = POLLIN },
		{ .fd = h->wake_fd, .events = POLLIN },
	};

	h->now = clock_mono_ms();
	h->next_look = h->now + h->o.reload_ms;
	h->last_request = h->now;
	while (!step_drain(h)) {
		uint64_t woken;
		int ms = wait_ms(h);

		if (ms && poll(p, array_len(p), ms) > 0 && p[1].revents)
			(void)!read(h->wake_fd, &woken, sizeof(woken));
		h->now = clock_mono_ms();
		take_handed_pair(h);
		conns_cut_due(&h->conns, h->now);
		(void)MHD_run(h->daemon);
		look_at_files(h);
		give_back(h);
	}
	h->cut = atomic_load(&h->connections);
	MHD_stop_daemon(h->daemon);
	h->daemon = NULL;
	return NULL;
}

static void wake(const struct httpd *h)
{
	uint64_t one = 1;

	(void)!write(h->wake_fd, &one, sizeof(one));
}

/* ---- start and end --------------------------------------------------------------------------- */

printf_like(2, 0) static void mhd_log(void *cls, const char *fmt, va_list ap)
{
	char text[512];

	(void)cls;
	if (!log_enabled(LOG_DEBUG))
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	log_debug("httpd", "detail", text, NULL);
}

/*
 * Connections must not take the last descriptors of the process: accept() would fail then, and whoever holds one of the
 * connections would keep all others out.
 */
static unsigned affordable_connections(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY ||
	    files.rlim_cur > UINT_MAX)
		return UINT_MAX;
	return files.rlim_cur < OTHER_FILES + FEWEST ? FEWEST
						     : (unsigned)files.rlim_cur - OTHER_FILES;
}

/* Paths are compared as they came: an escaped NUL would end one early. */
static size_t leave_escapes(void *cls, struct MHD_Connection *c, char *s)
{
	(void)cls;
	(void)c;
	return strlen(s);
}

static void fill_defaults(struct httpd_options *o)
{
	o->reload_ms = o->reload_ms ? o->reload_ms : 2000;
	o->max_connections = o->max_connections ? o->max_connections : 1000;
	if (o->max_connections > affordable_connections())
		o->max_connections = affordable_connections();
	o->max_in_flight = o->max_in_flight ? o->max_in_flight : 64 << 20;
	o->first_request_s = o->first_request_s ? o->first_request_s : 10;
	o->request_s = o->request_s ? o->request_s : 30;
	o->idle_s = o->idle_s ? o->idle_s : 120;
}

static int load_first_pair(struct httpd *h, struct err *e)
{
	struct pair *first = NULL;
	int r;

	if (!h->o.cert_file)
		return 0;
	h->used = pair_stamp_of(h->o.cert_file, h->o.key_file);
	r = pair_load(h->o.cert_file, h->o.key_file, &first, e);
	if (!r)
		use(h, first);
	return r;
}

static bool tls_is_spoken(const struct httpd *h)
{
	return h->o.cert_file || h->o.pair_later;
}

/* Takes listen_fd. */
static int start_daemon(struct httpd *h, int listen_fd, struct err *e)
{
	unsigned flags = MHD_USE_EPOLL | MHD_USE_ITC | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)PRIORITIES },
		{ MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, __extension__(void *) serve_pair },
		{ MHD_OPTION_END, 0, NULL },
	};

	if (tls_is_spoken(h))
		flags |= MHD_USE_TLS;
	h->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, serve_request, h, MHD_OPTION_EXTERNAL_LOGGER, mhd_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
		h->o.max_connections + SPARE_PLACES, MHD_OPTION_CONNECTION_TIMEOUT, h->o.idle_s,
		MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		serve_completed, h, MHD_OPTION_NOTIFY_CONNECTION, serve_connection, h,
		MHD_OPTION_ARRAY, tls_is_spoken(h) ? tls : &tls[2], MHD_OPTION_END);
	if (h->daemon)
		return 0;
	(void)close(listen_fd);
	return err_set(e, ERR_INTERNAL, "cannot start the HTTP server on %s", h->o.address);
}

/* The thread gets no signal: SIGTERM is the caller's, SIGPIPE nobody's. */
static int start_thread(struct httpd *h, struct err *e)
{
	sigset_t all, old;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&h->thread, NULL, loop, h);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r)
		return err_errno(e, r, "cannot start a thread");
	h->running = true;
	return 0;
}

int httpd_start(const struct httpd_options *o, struct httpd **ret, struct err *e)
{
	cleanup_httpd struct httpd *h = xcalloc(1, sizeof(*h));
	int fd, r;

	h->o = *o;
	fill_defaults(&h->o);
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->wake_fd < 0)
		return err_errno(e, errno, "eventfd");
	r = load_first_pair(h, e);
	if (!r)
		r = listen_open(o->address, &fd, &h->port, e);
	if (!r)
		r = start_daemon(h, fd, e);
	if (!r)
		r = start_thread(h, e);
	if (r)
		return r;
	*ret = take(h);
	return 0;
}

int httpd_set_pair(struct httpd *h, const char *cert_pem, const char *key_pem, struct err *e)
{
	struct pair *fresh;
	int r = pair_read(cert_pem, key_pem, &fresh, e);

	if (r)
		return r;
	pair_unref(atomic_exchange(&h->handed, fresh)); /* one that the loop never took is ours */
	wake(h);
	return 0;
}

int httpd_port(const struct httpd *h)
{
	return h->port;
}

int64_t httpd_certificate_begin(const struct httpd *h)
{
	return atomic_load(&h->begin);
}

int64_t httpd_certificate_expiry(const struct httpd *h)
{
	return atomic_load(&h->expiry);
}

unsigned httpd_connections(const struct httpd *h)
{
	return atomic_load(&h->connections);
}

bool httpd_draining(const struct httpd *h)
{
	return atomic_load(&h->draining);
}

static void join(struct httpd *h)
{
	wake(h);
	(void)pthread_join(h->thread, NULL);
	h->running = false;
}

unsigned httpd_drain(struct httpd *h, int64_t lame_duck_ms, int64_t deadline_ms)
{
	if (!h->running)
		return 0;
	h->lame_ms = lame_duck_ms;
	h->deadline_ms = deadline_ms;
	atomic_store(&h->draining, true);
	join(h);
	return h->cut;
}

void httpd_free(struct httpd *h)
{
	if (!h)
		return;
	if (h->running) {
		atomic_store(&h->stopping, true);
		join(h);
	}
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	pair_unref(h->pair);
	pair_unref(atomic_load(&h->handed));
	while (h->n_spare)
		free(h->spare[--h->n_spare]);
	if (h->wake_fd >= 0)
		(void)close(h->wake_fd);
	free(h);
}
