#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/kube/config.h"
#include "controller/relist.h"
#include "test/lib/app_fixture.h"
#include "test/lib/script.h"

/* A watch on Services, its cache, and what it said of lists: "[100 a@90 ]100 " of one, "[-" when the server went back. */
struct fixture {
	struct script *server;
	struct kube_config *config;
	struct cache *cache;
	struct queue *queue;
	struct kube_watch *watch;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct buf told;
};

static void on_event(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	struct fixture *f = ctx;

	(void)kind;
	if (type == KUBE_SYNCED)
		return;
	if (type == KUBE_DELETED)
		cache_remove(f->cache, CACHE_SERVICE, object);
	else
		(void)cache_put(f->cache, CACHE_SERVICE, object);
}

static void on_relist(void *ctx, size_t kind, const struct kube_relist *r)
{
	struct fixture *f = ctx;
	const struct json *meta = json_get(r->object, "metadata");

	(void)kind;
	relist_step(f->cache, f->queue, CACHE_SERVICE, r);
	(void)pthread_mutex_lock(&f->lock);
	if (r->at == KUBE_LIST_ITEM)
		buf_printf(&f->told, "%s@%s ", json_get_str(meta, "name"),
			   json_get_str(meta, "resourceVersion"));
	else
		buf_printf(&f->told, "%c%s ", r->at == KUBE_LIST_BEGINS ? '[' : ']',
			   r->version ? r->version : "-");
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

/* Waits until the lists were told of so, or 30 s. */
static void expect(struct fixture *f, const char *want)
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

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	static const struct kube_watch_kind one = { .kind = &cache_kinds[CACHE_SERVICE] };
	struct kube_watch_opts o = { .kinds = &one,
				     .n = 1,
				     .page = 2,
				     .backoff_ms = 1,
				     .handler = on_event,
				     .relist = on_relist,
				     .ctx = f };
	struct err e = ERR_INIT;

	*f = (struct fixture){ .server = script_start(steps, n, NULL) };
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->changed, NULL);
	buf_init(&f->told, 1 << 16);
	f->cache = cache_new();
	f->queue = queue_new(1, 10);
	f->config = kube_config_plain(script_url(f->server), "T");
	o.config = f->config;
	assert_int_equal(kube_watch_start(&o, &f->watch, &e), 0);
}

static void stop(struct fixture *f)
{
	kube_watch_stop(f->watch);
	kube_config_free(f->config);
	cache_free(f->cache);
	queue_free(f->queue);
	script_stop(f->server);
	(void)pthread_mutex_destroy(&f->lock);
	(void)pthread_cond_destroy(&f->changed);
	buf_done(&f->told);
}

static void own_write(struct fixture *f, const char *name, const char *version)
{
	cleanup(freep) char *text =
		xasprintf("{'metadata':{'namespace':'ns','name':'%s','uid':'u','resourceVersion':"
			  "'%s','labels':{'celld-operator.io/workerapp':'kv'}}}",
			  name, version);
	cleanup_json struct json *j = app_fixture_json(text);

	assert_true(cache_put(f->cache, CACHE_SERVICE, j));
}

static void is_at(struct fixture *f, const char *name, const char *version)
{
	cleanup_json struct json *j = cache_get(f->cache, CACHE_SERVICE, "ns", name);
	const char *has = json_str(json_path(j, "metadata", "resourceVersion", NULL));

	assert_string_equal(has ? has : "", version);
}

#define SVC(name, rv)                                                                              \
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name                                     \
	"\",\"uid\":\"u\",\"resourceVersion\":\"" rv                                               \
	"\",\"labels\":{\"celld-operator.io/workerapp\":\"kv\"}}}"
#define LIST(rv, items) "{\"metadata\":{\"resourceVersion\":\"" rv "\"},\"items\":[" items "]}"
#define PAGE(rv, token, items)                                                                     \
	"{\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" token                      \
	"\"},\"items\":[" items "]}"
#define GONE                                                                                       \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"," \
	"\"message\":\"too old\"}}\n"
#define WANT_LIST  "GET /api/v1/services?limit="
#define WANT_WATCH "GET /api/v1/services?watch=true"

/* What the own writes of a test go before: the watch's end. */
#define FIRST                                                                                      \
	{ .want = WANT_LIST, .body = LIST("100", SVC("a", "90") "," SVC("b", "95")) },             \
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },                                      \
	{                                                                                          \
		.want = WANT_WATCH, .body = GONE, .end = SCRIPT_HOLD                               \
	}

static void wait_for_watch(struct fixture *f)
{
	assert_true(kube_watch_wait_synced(f->watch, 30000));
	assert_true(script_wait(f->server, 2)); /* the list, the watch */
	expect(f, "");				/* the first list needs nothing of it */
}

/* After a restore the cache is what the server has, also where the watch had never seen the difference. */
static void a_restored_server_is_believed(void **state)
{
	static const struct script_step steps[] = {
		FIRST,
		{ .want = WANT_LIST, .body = PAGE("80", "T", SVC("a", "70") "," SVC("b", "95")) },
		{ .want = WANT_LIST, .body = LIST("80", SVC("c", "60")) },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },
	};
	struct fixture f;
	struct queue_stats q;

	(void)state;
	start(&f, steps, array_len(steps));
	wait_for_watch(&f);
	own_write(&f, "b", "105"); /* answered, but never told by the watch; so is */
	own_write(&f, "d", "106");
	script_release(f.server);
	expect(&f, "[- a@70 b@95 c@60 ]- ");
	is_at(&f, "a", "70");
	is_at(&f, "b", "95");
	is_at(&f, "c", "60");
	is_at(&f, "d", "");
	queue_stats(f.queue, &q);
	assert_int_equal(q.ready, 1); /* the app is looked at again */
	stop(&f);
}

/* The same with a server that goes on at a much larger revision, as etcd's documentation asks of a restore. */
static void a_restored_server_that_raised_its_revision_is_believed(void **state)
{
	static const struct script_step steps[] = {
		FIRST,
		{ .want = WANT_LIST, .body = LIST("9000", SVC("a", "70") "," SVC("b", "95")) },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	wait_for_watch(&f);
	own_write(&f, "b", "105");
	own_write(&f, "d", "106");
	script_release(f.server);
	expect(&f, "[9000 a@70 b@95 ]9000 ");
	is_at(&f, "a", "70");
	is_at(&f, "b", "95");
	is_at(&f, "d", "");
	stop(&f);
}

/* A list of a server that was not restored does not undo what was written since. */
static void an_own_write_outlives_an_older_list(void **state)
{
	static const struct script_step steps[] = {
		FIRST,
		{ .want = WANT_LIST, .body = LIST("100", SVC("a", "90") "," SVC("b", "95")) },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	wait_for_watch(&f);
	own_write(&f, "b", "105");
	own_write(&f, "d", "106");
	script_release(f.server);
	expect(&f, "[100 a@90 b@95 ]100 ");
	is_at(&f, "a", "90");
	is_at(&f, "b", "105");
	is_at(&f, "d", "106");
	stop(&f);
}

/* Once the list of a restored server is in, its versions are what later ones are compared with. */
static void a_server_is_restored_once(void **state)
{
	static const struct script_step steps[] = {
		FIRST,
		{ .want = WANT_LIST, .body = LIST("80", SVC("a", "70")) },
		{ .want = WANT_WATCH, .body = GONE, .end = SCRIPT_HOLD },
		{ .want = WANT_LIST, .body = LIST("85", SVC("a", "84")) },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	wait_for_watch(&f);
	script_release(f.server);
	expect(&f, "[- a@70 ]- [85 a@84 ]85 ");
	is_at(&f, "a", "84");
	stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restored_server_is_believed),
		cmocka_unit_test(a_restored_server_that_raised_its_revision_is_believed),
		cmocka_unit_test(an_own_write_outlives_an_older_list),
		cmocka_unit_test(a_server_is_restored_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
