#include "common/kube/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/http.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/seen.h"
#include "common/kube/wire.h"
#include "common/limits.h"

enum {
	LIST_MS = 60000,	 /* one page */
	MARGIN_MS = 30000,	 /* a watch that outlives its timeoutSeconds by this is dead */
	SHORT_MS = 1000,	 /* a watch that ended sooner and brought nothing is a failure */
	CALM_MS = 120000,	 /* without trouble for so long: the back-off begins anew */
	MAX_FACTOR_TENTHS = 375, /* longest pause as multiple of the first: 30 s of 0.8 s */
	URL_MAX = 64 << 10,
};

void stream_init(struct stream *s)
{
	s->seen = s->unremembered ? NULL : seen_new();
	framer_init(&s->framer, LIMIT_KUBE_OBJECT);
}

void stream_done(struct stream *s)
{
	if (s->transfer)
		http_loop_stop(s->loop, s->transfer);
	if (s->auth)
		kube_auth_release(s->auth);
	seen_free(s->seen);
	framer_done(&s->framer);
	free(s->version);
	free(s->newest);
	free(s->next_page);
}

static void set_version(struct stream *s, const char *version)
{
	if (str_empty(version))
		return;
	free(s->version);
	s->version = xstrdup(version);
	if (!s->newest || seen_version_less(s->newest, version)) {
		free(s->newest);
		s->newest = xstrdup(version);
	}
	s->hooks->moved(s);
}

static void list_anew(struct stream *s)
{
	free(s->version);
	free(s->next_page);
	s->version = s->next_page = NULL;
	s->list_began = false;
}

/* --- back-off --------------------------------------------------------------------------------- */

static int64_t jitter(int64_t ms)
{
	return ms > 0 ? arc4random_uniform((uint32_t)ms + 1) : 0;
}

/* The next attempt after a failure. at_once: the first failure of a series that has an obvious
 * remedy. */
static void retry(struct stream *s, const struct err *why, bool at_once)
{
	int64_t now = clock_mono_ms(), pause = s->backoff_ms, asked = why->retry_after_ms;
	int64_t most = s->backoff_ms * MAX_FACTOR_TENTHS / 10;

	if (now - s->failed_ms > CALM_MS)
		s->steps = 0;
	at_once = at_once && s->steps == 0;
	for (int i = 0; i < s->steps && pause < most; i++)
		pause *= 2;
	if (pause > most)
		pause = most;
	pause += jitter(pause);
	if (pause < asked)
		pause = asked + jitter(asked / 4);
	s->due_ms = at_once ? now : now + pause;
	s->failed_ms = now;
	s->steps++;
	s->hooks->failed(s, why);
}

/* --- what comes in ---------------------------------------------------------------------------- */

static void report_missing(void *ctx, struct json *object)
{
	struct stream *s = ctx;
	cleanup(freep) char *api_version = wire_api_version(s->kind);

	json_set_str(object, "apiVersion", api_version);
	json_set_str(object, "kind", s->kind->kind);
	s->hooks->event(s, KUBE_DELETED, object);
}

/* An object as it is now, from a list or an event. */
static bool observe(struct stream *s, const struct json *object)
{
	cleanup_json struct json *old = NULL;

	if (s->unremembered) {
		if (!seen_is_valid(object))
			return false;
		s->hooks->event(s, KUBE_MODIFIED, object);
		return true;
	}
	switch (seen_put(s->seen, object, &old)) {
	case SEEN_INVALID:
		return false;
	case SEEN_SAME:
		break;
	case SEEN_REPLACED:
		report_missing(s, old);
		s->hooks->event(s, KUBE_ADDED, object);
		break;
	case SEEN_NEW:
		s->hooks->event(s, KUBE_ADDED, object);
		break;
	case SEEN_CHANGED:
		s->hooks->event(s, KUBE_MODIFIED, object);
		break;
	}
	return true;
}

/* Its owner is told of the list step by step. */
static bool shows_list(const struct stream *s)
{
	return s->listed || s->unremembered;
}

static void list_complete(struct stream *s, const char *version)
{
	if (s->seen)
		seen_missing(s->seen, report_missing, s);
	if (shows_list(s))
		s->hooks->relist(s, KUBE_LIST_ENDS, version, NULL);
	if (s->went_back)
		free(take(s->newest));
	s->list_began = false;
	s->listed = true;
	s->due_ms = clock_mono_ms();
	s->hooks->listed(s);
	set_version(s, version);
}

static void list_begins(struct stream *s, const char *version)
{
	if (s->seen)
		seen_begin(s->seen);
	s->went_back = s->newest && seen_version_less(version, s->newest);
	if (shows_list(s))
		s->hooks->relist(s, KUBE_LIST_BEGINS, version, NULL);
}

static int list_answer(struct stream *s, const struct http_response *r, struct err *e)
{
	cleanup_json struct json *page = NULL;
	const struct json *meta, *items;
	const char *next, *version;
	int result = json_parse(buf_str(&r->body), r->body.len, &page, e);

	if (result < 0)
		return err_wrap(e, "list");
	meta = json_get(page, "metadata");
	items = json_get(page, "items");
	version = json_get_str(meta, "resourceVersion");
	/* An answer that is not a list must not look like an empty one: everything would be
	 * reported deleted. */
	if (str_empty(version) || (json_kind(items) != JSON_ARRAY && json_kind(items) != JSON_NULL))
		return err_set(e, ERR_PROTOCOL, "list: no resourceVersion or no items");
	if (!s->list_began)
		list_begins(s, version);
	s->list_began = true;
	for (const struct json *i = json_first(items); i; i = json_next(i)) {
		if (shows_list(s))
			s->hooks->relist(s, KUBE_LIST_ITEM, version, i);
		if (!observe(s, i))
			return err_set(e, ERR_PROTOCOL, "list: item without name or version");
	}
	next = json_get_str(meta, "continue");
	free(s->next_page);
	s->next_page = str_empty(next) ? NULL : xstrdup(next);
	if (s->next_page)
		s->due_ms = clock_mono_ms();
	else
		list_complete(s, version);
	return 0;
}

static int stop(struct stream *s, bool relist, int result)
{
	s->relist = relist;
	return result;
}

static int change(struct stream *s, const char *type, const struct json *object)
{
	const char *version = json_get_str(json_get(object, "metadata"), "resourceVersion");

	if (str_empty(version))
		return stop(s, true, err_set(&s->stop, ERR_PROTOCOL, "event without version"));
	if (seen_version_less(version, s->version))
		return stop(
			s, true,
			err_set(&s->stop, ERR_GONE,
				"resourceVersion went back from %s to %s: was the server restored?",
				s->version, version));
	if (str_eq(type, "BOOKMARK")) {
		set_version(s, version);
		return 0;
	}
	if (str_eq(type, "DELETED")) {
		if (s->unremembered || seen_del(s->seen, object))
			s->hooks->event(s, KUBE_DELETED, object);
	} else if (!observe(s, object)) {
		return stop(s, true, err_set(&s->stop, ERR_PROTOCOL, "event without name"));
	}
	set_version(s, version);
	return 0;
}

/* One line of a watch; negative: the watch is over, s->stop says why. */
static int line(struct stream *s, const char *text, size_t len)
{
	cleanup_json struct json *event = NULL;
	const struct json *object;
	const char *type;

	s->events++;
	if (json_parse(text, len, &event, &s->stop) < 0)
		return stop(s, true, err_wrap(&s->stop, "watch"));
	type = json_get_str(event, "type");
	object = json_get(event, "object");
	if (str_empty(type) || json_kind(object) != JSON_OBJECT)
		return stop(s, true, err_set(&s->stop, ERR_PROTOCOL, "watch: no event"));
	if (str_eq(type, "ERROR")) {
		int r = wire_status_error(object, &s->stop);

		return stop(s, r == -ERR_GONE || r == -ERR_PROTOCOL, r);
	}
	if (str_eq(type, "ADDED") || str_eq(type, "MODIFIED") || str_eq(type, "DELETED") ||
	    str_eq(type, "BOOKMARK"))
		return change(s, type, object);
	return 0; /* a type of the future */
}

static bool on_data(void *ctx, const char *bytes, size_t n)
{
	struct stream *s = ctx;
	const char *text;
	size_t len;

	s->heard_ms = clock_mono_ms();
	s->hooks->heard(s);
	framer_add(&s->framer, bytes, n);
	while (framer_next(&s->framer, &text, &len)) {
		if (line(s, text, len) < 0)
			return false;
	}
	if (framer_ok(&s->framer))
		return true;
	(void)stop(s, true, err_set(&s->stop, ERR_TOO_LARGE, "watch: event is too large"));
	return false;
}

static void on_head(void *ctx, int status)
{
	struct stream *s = ctx;

	s->heard_ms = clock_mono_ms();
	s->hooks->heard(s);
	s->accepted = status == 200;
	if (s->accepted)
		s->hooks->connected(s, true);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* After a request that failed. */
static void failed(struct stream *s, const struct err *why)
{
	bool at_once = false;

	if (why->code == ERR_UNAUTHORIZED) {
		s->refused = at_once = true;
	} else if (s->listing) {
		at_once = why->code == ERR_GONE;
		if (why->code == ERR_GONE)
			list_anew(s); /* the continue token has expired */
	} else if (why->code == ERR_GONE || why->code == ERR_NOT_FOUND ||
		   why->code == ERR_INVALID || s->relist) {
		at_once = why->code == ERR_GONE;
		list_anew(s);
	}
	retry(s, why, at_once);
}

/* A watch whose answer was 200: false when it counts as a failure, *why is set. */
static bool watch_ended_well(struct stream *s, const struct err *e, struct err *why)
{
	if (s->stop.code) {
		*why = s->stop;
		return false;
	}
	if (e) {
		*why = *e;
		return false;
	}
	if (!s->events && clock_mono_ms() - s->began_ms < SHORT_MS) {
		(void)err_set(why, ERR_UNAVAILABLE, "watch ended at once");
		return false;
	}
	return true;
}

static void on_done(void *ctx, struct http_response *r, const struct err *e)
{
	struct stream *s = ctx;
	struct err why = ERR_INIT;

	s->transfer = NULL;
	s->heard_ms = clock_mono_ms();
	s->hooks->heard(s);
	s->hooks->connected(s, false);
	if (r->status && r->status / 100 != 2)
		(void)wire_error(r, &why);
	else if (s->listing && e)
		why = *e;
	else if (s->listing)
		(void)list_answer(s, r, &why);
	else if (watch_ended_well(s, e, &why))
		s->due_ms = clock_mono_ms();
	if (why.code)
		failed(s, &why);
}

/* --- beginnings ------------------------------------------------------------------------------- */

static void url(const struct stream *s, int64_t seconds, struct buf *to)
{
	char number[24];

	buf_puts(to, kube_config_server(s->config));
	wire_path(s->kind, s->ns, NULL, NULL, to);
	wire_query(to, "labelSelector", s->label_selector);
	wire_query(to, "fieldSelector", s->field_selector);
	if (s->listing) {
		(void)snprintf(number, sizeof(number), "%lld", (long long)s->page);
		wire_query(to, "limit", number);
		wire_query(to, "continue", s->next_page);
		return;
	}
	(void)snprintf(number, sizeof(number), "%lld", (long long)seconds);
	wire_query(to, "watch", "true");
	wire_query(to, "allowWatchBookmarks", "true");
	wire_query(to, "resourceVersion", s->version);
	wire_query(to, "timeoutSeconds", number);
}

static bool authorize(struct stream *s)
{
	const struct kube_auth *fresh = NULL;
	struct err e = ERR_INIT;

	if (kube_config_auth(s->config, s->refused ? s->auth : NULL, &fresh, &e) < 0) {
		retry(s, &e, false);
		return false;
	}
	s->refused = false;
	if (s->auth)
		kube_auth_release(s->auth);
	s->auth = fresh;
	return true;
}

static void begin(struct stream *s)
{
	int64_t seconds = s->timeout_s + jitter(s->timeout_s);
	struct buf to = BUF_INIT(URL_MAX);
	const char *headers[] = { "Accept: application/json", s->user_agent, NULL };
	struct http_handler h = { .done = on_done, .ctx = s };
	struct http_tls tls = { .server_name = kube_config_tls_server_name(s->config),
				.insecure = kube_config_insecure(s->config) };
	struct http_request r = { .headers = headers,
				  .tls = &tls,
				  .max_response = LIMIT_KUBE_LIST,
				  .plain_ok = kube_config_plain_ok(s->config) };

	if (!authorize(s))
		return;
	s->listing = !s->version;
	tls.ca_pem = s->auth->ca_pem;
	tls.cert_pem = s->auth->cert_pem;
	tls.key_pem = s->auth->key_pem;
	r.bearer = s->auth->token;
	r.timeout_ms = LIST_MS;
	if (!s->listing) {
		h.head = on_head;
		h.data = on_data;
		r.timeout_ms = seconds * 1000 + MARGIN_MS;
	}
	url(s, seconds, &to);
	r.url = buf_str(&to);
	framer_reset(&s->framer);
	s->stop.code = ERR_NONE;
	s->relist = s->accepted = false;
	s->events = 0;
	s->began_ms = s->heard_ms = clock_mono_ms();
	s->transfer = http_loop_start(s->loop, &r, &h);
	if (!s->listing || !s->list_began)
		s->hooks->began(s, s->listing, s->listed);
	buf_done(&to);
}

/* A watch without a byte for too long. One that never brought a line may be waiting for a
 * resourceVersion that the server will not reach again (it was restored): list anew. */
static void cut(struct stream *s)
{
	struct err why = ERR_INIT;

	http_loop_stop(s->loop, s->transfer);
	s->transfer = NULL;
	s->hooks->connected(s, false);
	if (!s->events)
		list_anew(s);
	(void)err_set(&why, ERR_TIMEOUT, "watch was silent for %lld s",
		      (long long)s->idle_ms / 1000);
	retry(s, &why, true);
}

int64_t stream_tick(struct stream *s, int64_t now_ms)
{
	if (s->transfer && !s->listing && now_ms - s->heard_ms >= s->idle_ms)
		cut(s);
	if (!s->transfer && now_ms >= s->due_ms)
		begin(s);
	if (!s->transfer)
		return s->due_ms;
	return s->listing ? now_ms + LIST_MS : s->heard_ms + s->idle_ms;
}
