#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "controller/cache.h"
#include "controller/queue.h"
#include "controller/stores.h"

struct fixture {
	struct cache *cache;
	struct queue *queue;
	struct stores *stores;
};

static void start(struct fixture *f)
{
	f->cache = cache_new();
	f->queue = queue_new(1, 10);
	f->stores = stores_new(&(struct stores_opts){ .cache = f->cache, .queue = f->queue });
}

static void stop(struct fixture *f)
{
	stores_free(f->stores);
	queue_free(f->queue);
	cache_free(f->cache);
}

/* The store's key is queued, and nothing else. */
static void comes(struct fixture *f, const char *want)
{
	cleanup(freep) char *key = queue_get(f->queue);

	assert_string_equal(key, want);
	queue_done(f->queue, key, false);
}

static void nothing_comes(struct fixture *f)
{
	struct queue_stats now;

	queue_stats(f->queue, &now);
	assert_int_equal(now.ready + now.delayed, 0);
}

/* Whatever its status says of its apps and of their Secret. */
static void test_a_store_is_looked_at_when_its_status_changes(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	stores_note(f.stores, "shop/web", "minio", STORES_NOT_ASKED, true);
	comes(&f, "@shop/minio");
	stores_note(f.stores, "shop/web", "minio", STORES_NOT_ASKED, true);
	nothing_comes(&f);
	stores_note(f.stores, "shop/web", "minio", STORES_NOT_ASKED,
		    false); /* the Secret is there */
	comes(&f, "@shop/minio");
	stores_note(f.stores, "shop/web", "minio", STORES_REACHED, false);
	comes(&f, "@shop/minio");
	stores_note(f.stores, "shop/web", NULL, STORES_NOT_ASKED, false);
	comes(&f, "@shop/minio");
	stores_note(f.stores, "shop/web", NULL, STORES_NOT_ASKED, false);
	nothing_comes(&f);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_store_is_looked_at_when_its_status_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
