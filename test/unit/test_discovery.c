#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>
#include <cmocka.h>

#include "common/kube/config.h"
#include "controller/discovery.h"
#include "test/lib/script.h"

struct fixture {
	struct script *server;
	struct kube_config *config;
	struct kube_client *client;
	struct cache *cache;
	struct discovery *discovery;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int added; /* events of the one object */
	int changes;
};

static void moved(struct fixture *f, int *count)
{
	(void)pthread_mutex_lock(&f->lock);
	(*count)++;
	(void)pthread_cond_broadcast(&f->moved);
	(void)pthread_mutex_unlock(&f->lock);
}

static void on_event(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	struct fixture *f = ctx;

	assert_int_equal(kind, CACHE_SCALED_OBJECT);
	assert_int_equal(type, KUBE_ADDED);
	assert_true(cache_put(f->cache, (enum cache_kind)kind, object));
	moved(f, &f->added);
}

static void on_changed(void *ctx)
{
	struct fixture *f = ctx;

	moved(f, &f->changes);
}

static void start(struct fixture *f, const struct script_step *steps, size_t n, bool retry)
{
	static const struct strlist nowhere = STRLIST_INIT;
	struct kube_client_opts c = { .user_agent = "test" };
	struct discovery_opts o = { .namespaces = &nowhere,
				    .interval_ms = 20,
				    .look_for_retry = retry,
				    .event = on_event,
				    .changed = on_changed,
				    .ctx = f };

	*f = (struct fixture){ .server = script_start(steps, n, NULL) };
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->moved, NULL);
	f->config = kube_config_plain(script_url(f->server), "T");
	c.config = f->config;
	f->client = kube_client_new(&c);
	f->cache = cache_new();
	o.config = f->config;
	o.client = f->client;
	o.cache = f->cache;
	f->discovery = discovery_new(&o);
	assert_false(discovery_settled(f->discovery));
	discovery_run(f->discovery);
}

static void stop(struct fixture *f)
{
	discovery_free(f->discovery);
	kube_client_free(f->client);
	cache_free(f->cache);
	kube_config_free(f->config);
	script_stop(f->server);
	(void)pthread_cond_destroy(&f->moved);
	(void)pthread_mutex_destroy(&f->lock);
}

/* Waits for the next callbacks until `holds`, or 30 s. */
static void wait_until(struct fixture *f, bool (*holds)(struct fixture *f))
{
	struct timespec until;
	int r = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	(void)pthread_mutex_lock(&f->lock);
	while (!holds(f) && r == 0)
		r = pthread_cond_timedwait(&f->moved, &f->lock, &until);
	assert_int_equal(r, 0);
	(void)pthread_mutex_unlock(&f->lock);
}

static enum discovery_state state_of(struct fixture *f, enum cache_kind kind)
{
	char why[64];

	return discovery_state(f->discovery, kind, why, sizeof(why));
}

#define NOT_THERE                                                                                  \
	{                                                                                          \
		.want = "GET /apis/", .status = 404, .body = "{}", .again = true                   \
	}

static bool is_settled(struct fixture *f)
{
	return f->changes > 0 && discovery_settled(f->discovery);
}

static void without_any_of_them_it_settles(void **state)
{
	static const struct script_step steps[] = { NOT_THERE };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps), false);
	wait_until(&f, is_settled);
	for (int k = CACHE_OPTIONAL; k < CACHE_KINDS; k++)
		assert_int_equal(state_of(&f, (enum cache_kind)k), DISCOVERY_ABSENT);
	assert_false(discovery_retry_served(f.discovery));
	stop(&f);
}

#define KEDA "GET /apis/keda.sh/v1alpha1"
#define LIST                                                                                       \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"namespace\":\"a\"," \
	"\"name\":\"x\",\"uid\":\"u\",\"resourceVersion\":\"4\"}}]}"

static bool came_and_went(struct fixture *f)
{
	return f->added == 1 && state_of(f, CACHE_SCALED_OBJECT) == DISCOVERY_ABSENT &&
	       cache_count(f->cache, CACHE_SCALED_OBJECT) == 0 && f->changes >= 3;
}

/* Not there, there, no answer, not there: an answer that tells nothing changes nothing. */
static void a_kind_comes_and_goes(void **state)
{
	static const struct script_step steps[] = {
		{ .want = KEDA "/scaledobjects?", .body = LIST },
		{ .want = KEDA "/scaledobjects?", .end = SCRIPT_HOLD, .again = true },
		{ .want = KEDA, .status = 404, .body = "{}" },
		{ .want = KEDA, .body = "{\"resources\":[{\"name\":\"scaledjobs\"}]}" },
		{ .want = KEDA, .body = "{\"resources\":[{\"name\":\"scaledobjects\"}]}" },
		{ .want = KEDA, .status = 503, .body = "{}" },
		{ .want = KEDA, .status = 404, .body = "{}", .again = true },
		NOT_THERE,
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps), false);
	wait_until(&f, came_and_went);
	assert_int_equal(script_unexpected(f.server), 0);
	stop(&f);
}

static bool is_unreadable(struct fixture *f)
{
	return is_settled(f) && state_of(f, CACHE_SCALED_OBJECT) == DISCOVERY_UNREADABLE;
}

static void rights_that_are_missing_are_told(void **state)
{
	static const struct script_step steps[] = {
		{ .want = KEDA "/scaledobjects?",
		  .status = 403,
		  .body = "{\"kind\":\"Status\",\"message\":\"scaledobjects is forbidden\"}",
		  .again = true },
		{ .want = KEDA,
		  .body = "{\"resources\":[{\"name\":\"scaledobjects\"}]}",
		  .again = true },
		NOT_THERE,
	};
	struct fixture f;
	char why[128];

	(void)state;
	start(&f, steps, array_len(steps), false);
	wait_until(&f, is_unreadable);
	assert_int_equal(discovery_state(f.discovery, CACHE_SCALED_OBJECT, why, sizeof(why)),
			 DISCOVERY_UNREADABLE);
	assert_non_null(strstr(why, "scaledobjects is forbidden"));
	stop(&f);
}

#define ROUTES "GET /apis/gateway.networking.k8s.io/v1"

static bool is_served(struct fixture *f)
{
	return is_settled(f) && discovery_retry_served(f->discovery);
}

/* The schema is read again when its address says that it is another one. */
static void the_schema_tells_of_retry(void **state)
{
	static const struct script_step steps[] = {
		{ .want = ROUTES "/httproutes?",
		  .body = "{\"metadata\":{\"resourceVersion\":"
			  "\"5\"},\"items\":[]}" },
		{ .want = ROUTES "/httproutes?", .end = SCRIPT_HOLD, .again = true },
		{ .want = ROUTES,
		  .body = "{\"resources\":[{\"name\":\"httproutes\"}]}",
		  .again = true },
		{ .want = "GET /openapi/v3/x?hash=1",
		  .body = "{\"components\":{\"schemas\":{\"io.v1.HTTPRoute\":{\"properties\":{}}}}"
			  "}" },
		{ .want = "GET /openapi/v3/x?hash=2",
		  .body = "{\"components\":{\"schemas\":{\"io.v1.HTTPRouteList\":{},"
			  "\"io.v1.HTTPRoute\":{\"properties\":{\"spec\":{\"properties\":{"
			  "\"rules\":"
			  "{\"items\":{\"properties\":{\"retry\":{}}}}}}}}}}}" },
		{ .want = "GET /openapi/v3",
		  .body = "{\"paths\":{\"apis/gateway.networking.k8s.io/"
			  "v1\":{\"serverRelativeURL\":"
			  "\"/openapi/v3/x?hash=1\"}}}" },
		{ .want = "GET /openapi/v3",
		  .body = "{\"paths\":{\"apis/gateway.networking.k8s.io/"
			  "v1\":{\"serverRelativeURL\":"
			  "\"/openapi/v3/x?hash=1\"}}}" },
		{ .want = "GET /openapi/v3",
		  .body = "{\"paths\":{\"apis/gateway.networking.k8s.io/"
			  "v1\":{\"serverRelativeURL\":"
			  "\"/openapi/v3/x?hash=2\"}}}",
		  .again = true },
		NOT_THERE,
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps), true);
	wait_until(&f, is_served);
	assert_int_equal(script_unexpected(f.server), 0);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_any_of_them_it_settles),
		cmocka_unit_test(a_kind_comes_and_goes),
		cmocka_unit_test(rights_that_are_missing_are_told),
		cmocka_unit_test(the_schema_tells_of_retry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
