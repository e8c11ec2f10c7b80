#include "common/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/celld/table_load.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "common/policy_load.h"
#include "common/workerapp_defaults_load.h"

enum { POLL_MS = 2000 };

static const char *const names[SETTINGS_FILES] = {
	[SETTINGS_TABLE] = "compat-table",
	[SETTINGS_POLICY] = "policy",
	[SETTINGS_DEFAULTS] = "defaults",
};

/* What a view is made of. */
struct content {
	struct settings_view view; /* first: a view is its content */
	int refs;
	struct celld_table *own_table;
	struct policy policy;
	struct workerapp_defaults defaults;
};

struct settings {
	struct settings_options o;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct content *now;
	bool ending, has_thread;
	pthread_t thread;
	/* Of the thread that looks: the texts in use, and the last texts or errors seen. */
	char *good[SETTINGS_FILES], *seen[SETTINGS_FILES];
};

/* ---- flags ----------------------------------------------------------------------------------- */

size_t settings_flags(struct settings_options *o, bool defaults, struct flag to[SETTINGS_FLAGS_MAX])
{
	static const char *const help[SETTINGS_FILES] = {
		[SETTINGS_TABLE] = "Facts of celld's versions instead of the built-in ones, YAML; "
				   "read again when it changes",
		[SETTINGS_POLICY] = "More of --allowed-*, YAML; read again when it changes",
		[SETTINGS_DEFAULTS] =
			"What is filled into apps that leave it out, YAML; read again "
			"when it changes",
	};
	size_t n = 0;

	for (int f = 0; f < SETTINGS_FILES; f++) {
		if (f != SETTINGS_DEFAULTS || defaults)
			to[n++] = (struct flag){ .name = names[f],
						 .kind = FLAG_STRING,
						 .to = &o->file[f],
						 .placeholder = "FILE",
						 .help = help[f] };
	}
	policy_flags(o->allowed, to + n);
	return n + POLICY_KINDS;
}

void settings_options_done(struct settings_options *o)
{
	for (int i = 0; i < POLICY_KINDS; i++)
		strlist_done(&o->allowed[i]);
}

/* ---- contents -------------------------------------------------------------------------------- */

static void content_free(struct content *c)
{
	if (!c)
		return;
	free(c->own_table);
	policy_done(&c->policy);
	workerapp_defaults_done(&c->defaults);
	free(c);
}

define_cleanup(struct content *, content_free);

static int read_table(struct content *c, const struct settings_options *o, const char *text,
		      struct err *e)
{
	c->view.table = o->table ? o->table : celld_table_builtin();
	if (!text)
		return 0;
	c->own_table = xcalloc(1, sizeof(*c->own_table));
	c->view.table = c->own_table;
	return celld_table_load(text, strlen(text), o->file[SETTINGS_TABLE], c->own_table, e);
}

static int read_policy(struct content *c, const struct settings_options *o, const char *text,
		       struct err *e)
{
	c->view.policy = &c->policy;
	return text ? policy_load(text, strlen(text), o->file[SETTINGS_POLICY], &c->policy, e) : 0;
}

static int read_defaults(struct content *c, const char *origin, const char *text, struct err *e)
{
	if (!text)
		return 0;
	c->view.defaults = &c->defaults;
	return workerapp_defaults_load(text, strlen(text), origin, c->view.table, &c->defaults, e);
}

/* text: of each file, NULL where there is none. */
static int content_new(const struct settings_options *o, char *const text[SETTINGS_FILES],
		       struct content **ret, struct err *e)
{
	cleanup(content_free_cleanup) struct content *c = xcalloc(1, sizeof(*c));
	int r = policy_add_flags(o->allowed, &c->policy, e);

	if (r)
		return r;
	r = read_table(c, o, text[SETTINGS_TABLE], e);
	if (r)
		return err_wrap(e, "--%s", names[SETTINGS_TABLE]);
	r = read_policy(c, o, text[SETTINGS_POLICY], e);
	if (r)
		return err_wrap(e, "--%s", names[SETTINGS_POLICY]);
	r = read_defaults(c, o->file[SETTINGS_DEFAULTS], text[SETTINGS_DEFAULTS], e);
	if (r)
		return err_wrap(e, "--%s", names[SETTINGS_DEFAULTS]);
	c->refs = 1;
	*ret = take(c);
	return 0;
}

static void unref(struct settings *s, struct content *c)
{
	int left;

	(void)pthread_mutex_lock(&s->lock);
	left = --c->refs;
	(void)pthread_mutex_unlock(&s->lock);
	if (!left)
		content_free(c);
}

const struct settings_view *settings_get(struct settings *s)
{
	struct content *c;

	(void)pthread_mutex_lock(&s->lock);
	c = s->now;
	c->refs++;
	(void)pthread_mutex_unlock(&s->lock);
	return &c->view;
}

void settings_release(struct settings *s, const struct settings_view *v)
{
	/* The view is the first member of what settings_get() lent, which is not const there. */
	if (v)
		unref(s, (struct content *)(uintptr_t)v);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void tell(const struct settings *s, int f, const struct err *e)
{
	if (s->o.on_reload)
		s->o.on_reload(s->o.ctx, names[f], e);
}

/* Takes text. The file's new contents come into use, or *e says why not. */
static int try_text(struct settings *s, int f, char *text, struct err *e)
{
	char *all[SETTINGS_FILES];
	struct content *c = NULL, *old;
	int r;

	memcpy(all, s->good, sizeof(all));
	all[f] = text;
	r = content_new(&s->o, all, &c, e);
	if (r) {
		free(text);
		return r;
	}
	free(s->good[f]);
	s->good[f] = text;
	(void)pthread_mutex_lock(&s->lock);
	old = s->now;
	s->now = c;
	(void)pthread_mutex_unlock(&s->lock);
	unref(s, old);
	return 0;
}

/* Remembers what was seen of the file; false: it is what was seen before. */
static bool is_news(struct settings *s, int f, const char *seen)
{
	if (s->seen[f] && str_eq(s->seen[f], seen))
		return false;
	free(s->seen[f]);
	s->seen[f] = xstrdup(seen);
	return true;
}

static void look_at(struct settings *s, int f)
{
	char *text = NULL;
	struct err e = ERR_INIT;

	if (file_read(s->o.file[f], LIMIT_CONFIG_FILE, &text, &e)) {
		if (is_news(s, f, e.message))
			tell(s, f, &e);
		return;
	}
	if (!is_news(s, f, text)) {
		free(text);
		return;
	}
	tell(s, f, try_text(s, f, text, &e) ? &e : NULL);
}

void settings_look(struct settings *s)
{
	for (int f = 0; f < SETTINGS_FILES; f++) {
		if (!str_empty(s->o.file[f]))
			look_at(s, f);
	}
}

static bool wait_for_turn(struct settings *s)
{
	struct timespec until;
	bool ending;
	int ms = s->o.poll_ms ? s->o.poll_ms : POLL_MS;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&s->lock);
	while (!s->ending && !pthread_cond_timedwait(&s->wake, &s->lock, &until)) {
	}
	ending = s->ending;
	(void)pthread_mutex_unlock(&s->lock);
	return !ending;
}

static void *watch_files(void *ctx)
{
	struct settings *s = ctx;

	while (wait_for_turn(s))
		settings_look(s);
	return NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

static bool has_files(const struct settings *s)
{
	for (int f = 0; f < SETTINGS_FILES; f++) {
		if (!str_empty(s->o.file[f]))
			return true;
	}
	return false;
}

static int first_look(struct settings *s, struct err *e)
{
	for (int f = 0; f < SETTINGS_FILES; f++) {
		if (str_empty(s->o.file[f]))
			continue;
		if (file_read(s->o.file[f], LIMIT_CONFIG_FILE, &s->good[f], e))
			return err_wrap(e, "--%s", names[f]);
		(void)is_news(s, f, s->good[f]);
	}
	return content_new(&s->o, s->good, &s->now, e);
}

static struct settings *make(const struct settings_options *o)
{
	struct settings *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t monotonic;

	s->o = *o;
	for (int i = 0; i < POLICY_KINDS; i++) {
		s->o.allowed[i] = (struct strlist)STRLIST_INIT;
		strlist_copy(&s->o.allowed[i], &o->allowed[i]);
	}
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->wake, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	return s;
}

int settings_start(const struct settings_options *o, struct settings **ret, struct err *e)
{
	cleanup_settings struct settings *s = make(o);
	int r = first_look(s, e);

	if (r)
		return r;
	if (has_files(s) && s->o.poll_ms >= 0) {
		if (pthread_create(&s->thread, NULL, watch_files, s))
			return err_set(e, ERR_INTERNAL, "no thread for the settings");
		s->has_thread = true;
	}
	*ret = take(s);
	return 0;
}

void settings_stop(struct settings *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->ending = true;
	(void)pthread_cond_broadcast(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	if (s->has_thread)
		(void)pthread_join(s->thread, NULL);
	content_free(s->now);
	for (int f = 0; f < SETTINGS_FILES; f++) {
		free(s->good[f]);
		free(s->seen[f]);
	}
	settings_options_done(&s->o);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}
