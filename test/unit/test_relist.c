#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/kube/config.h"
#include "controller/relist.h"
#include "test/lib/app_fixture.h"
#include "test/lib/watch_fixture.h"

/*
 * A watch on Services, its cache, and what it said of lists: "[100 a@90 ]100 " of one, "[-" when the server went
 * back.
 */
struct fixture {
	struct watch_fixture w;
	struct cache *cache;
	struct queue *queue;
	const char *first; /* what it said of the first list */
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
	if (r->at == KUBE_LIST_ITEM)
		watch_fixture_tell(&f->w, "%s@%s ", json_get_str(meta, "name"),
				   json_get_str(meta, "resourceVersion"));
	else
		watch_fixture_tell(&f->w, "%c%s ", r->at == KUBE_LIST_BEGINS ? '[' : ']',
				   r->version ? r->version : "-");
}

/* state: the kind is unremembered when it is not NULL. */
static void start(struct fixture *f, void **state, const struct script_step *steps, size_t n)
{
	const struct kube_watch_kind one = { .kind = &cache_kinds[CACHE_SERVICE],
					     .unremembered = *state != NULL };
	const struct kube_watch_opts o = {
		.kinds = &one, .n = 1, .page = 2, .handler = on_event, .relist = on_relist, .ctx = f
	};

	f->cache = cache_new();
	f->queue = queue_new(1, 10);
	watch_fixture_start(&f->w, steps, n, o);
	assert_true(kube_watch_wait_synced(f->w.watch, 30000));
	assert_true(script_wait(f->w.server, 2)); /* the list, the watch */
	/* the first list needs nothing of it while the watch remembers */
	f->first = *state ? "[100 a@90 b@95 ]100 " : "";
	watch_fixture_expect(&f->w, f->first);
}

static void stop(struct fixture *f)
{
	watch_fixture_stop(&f->w);
	cache_free(f->cache);
	queue_free(f->queue);
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

/* Two writes of our own that the watch has never told, and the end of the watch; then the lists are told of so. */
static void expect(struct fixture *f, const char *told)
{
	cleanup(freep) char *want = xasprintf("%s%s", f->first, told);

	watch_fixture_expect(&f->w, want);
}

static void relist_after_own_writes(struct fixture *f, const char *told)
{
	own_write(f, "b", "105");
	own_write(f, "d", "106");
	script_release(f->w.server);
	expect(f, told);
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

	start(&f, state, steps, array_len(steps));
	relist_after_own_writes(&f, "[- a@70 b@95 c@60 ]- ");
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

	start(&f, state, steps, array_len(steps));
	relist_after_own_writes(&f, "[9000 a@70 b@95 ]9000 ");
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

	start(&f, state, steps, array_len(steps));
	relist_after_own_writes(&f, "[100 a@90 b@95 ]100 ");
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

	start(&f, state, steps, array_len(steps));
	script_release(f.w.server);
	expect(&f, "[- a@70 ]- [85 a@84 ]85 ");
	is_at(&f, "a", "84");
	stop(&f);
}

/* What was deleted while nobody watched is forgotten, and its app is looked at. */
static void a_missed_deletion_is_found(void **state)
{
	static const struct script_step steps[] = {
		FIRST,
		{ .want = WANT_LIST, .body = LIST("120", SVC("a", "90")) },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },
	};
	struct fixture f;
	struct queue_stats q;

	start(&f, state, steps, array_len(steps));
	while (*state) { /* what the first list has queued */
		cleanup(freep) char *key = queue_get(f.queue);

		assert_string_equal(key, "ns/kv");
		queue_done(f.queue, key, true);
		queue_stats(f.queue, &q);
		if (!q.ready)
			break;
	}
	script_release(f.w.server);
	expect(&f, "[120 a@90 ]120 ");
	is_at(&f, "a", "90");
	is_at(&f, "b", "");
	queue_stats(f.queue, &q);
	assert_int_equal(q.ready, *state != NULL); /* the other watch tells its handler */
	stop(&f);
}

#define STARTS                                                                                     \
	{ .want = WANT_LIST, .body = PAGE("100", "T", SVC("gone", "80") "," SVC("a", "90")) },     \
	{                                                                                          \
		.want = WANT_LIST, .status = 410,                                                  \
		.body = "{\"reason\":\"Expired\",\"message\":\"too old\"}"                         \
	}

/* A first list that fails half way and begins anew leaves nothing of its first try. */
static void half_a_first_list_leaves_nothing(void **state)
{
	static const struct script_step steps[] = {
		STARTS,
		{ .want = WANT_LIST, .body = LIST("101", SVC("a", "90") "," SVC("b", "95")) },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT },
	};
	const struct kube_watch_kind one = { .kind = &cache_kinds[CACHE_SERVICE],
					     .unremembered = *state != NULL };
	struct fixture f = { .first = NULL };
	const struct kube_watch_opts o = { .kinds = &one,
					   .n = 1,
					   .page = 2,
					   .handler = on_event,
					   .relist = on_relist,
					   .ctx = &f };

	f.cache = cache_new();
	f.queue = queue_new(1, 10);
	watch_fixture_start(&f.w, steps, array_len(steps), o);
	assert_true(kube_watch_wait_synced(f.w.watch, 30000));
	is_at(&f, "gone", "");
	is_at(&f, "a", "90");
	is_at(&f, "b", "95");
	stop(&f);
}

/* A deletion is told of, whether the watch has it in mind or not. */
static void a_deletion_is_told(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .body = LIST("100", SVC("a", "90") "," SVC("b", "95")) },
		{ .want = WANT_WATCH,
		  .body = "{\"type\":\"DELETED\",\"object\":" SVC("b", "101") "}\n",
		  .end = SCRIPT_HOLD },
		{ .want = WANT_LIST, .body = LIST("102", SVC("a", "90")), .again = true },
		{ .want = WANT_WATCH, .end = SCRIPT_SILENT, .again = true },
	};
	struct fixture f;

	start(&f, state, steps, array_len(steps));
	for (int i = 0; i < 3000; i++) {
		cleanup_json struct json *j = cache_get(f.cache, CACHE_SERVICE, "ns", "b");

		if (!j)
			break;
		(void)poll(NULL, 0, 10);
	}
	is_at(&f, "b", "");
	is_at(&f, "a", "90");
	stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restored_server_is_believed),
		cmocka_unit_test_prestate(a_restored_server_is_believed, (void *)1),
		cmocka_unit_test(a_restored_server_that_raised_its_revision_is_believed),
		cmocka_unit_test_prestate(a_restored_server_that_raised_its_revision_is_believed,
					  (void *)1),
		cmocka_unit_test(an_own_write_outlives_an_older_list),
		cmocka_unit_test_prestate(an_own_write_outlives_an_older_list, (void *)1),
		cmocka_unit_test(a_server_is_restored_once),
		cmocka_unit_test_prestate(a_server_is_restored_once, (void *)1),
		cmocka_unit_test(a_missed_deletion_is_found),
		cmocka_unit_test_prestate(a_missed_deletion_is_found, (void *)1),
		cmocka_unit_test(half_a_first_list_leaves_nothing),
		cmocka_unit_test_prestate(half_a_first_list_leaves_nothing, (void *)1),
		cmocka_unit_test(a_deletion_is_told),
		cmocka_unit_test_prestate(a_deletion_is_told, (void *)1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
