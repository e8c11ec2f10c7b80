/* Nodes of trees: each keeps what is written into it, whatever becomes of its neighbours, and goes with any thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "common/json/nodes.h"

enum { NODES = 500 };

static size_t size_of(size_t i)
{
	return i % 50 == 49 ? 5000 : 1 + i * 7 % 256;
}

static void make(unsigned char *node[NODES])
{
	struct nodes n = { 0 };

	for (size_t i = 0; i < NODES; i++) {
		node[i] = nodes_alloc(&n, size_of(i));
		assert_int_equal((uintptr_t)node[i] % _Alignof(double), 0);
		memset(node[i], (int)(i & 0xff), size_of(i));
	}
	nodes_close(&n);
}

static void assert_kept(const unsigned char *node, size_t i)
{
	for (size_t k = 0; k < size_of(i); k++)
		assert_int_equal(node[k], i & 0xff);
}

/* Every step-th first, then the next ones: each node's neighbours go before it, after it, or both. */
static void test_any_order(void **state)
{
	unsigned char *node[NODES];

	(void)state;
	for (size_t step = 1; step < 20; step++) {
		make(node);
		for (size_t first = 0; first < step; first++) {
			for (size_t i = first; i < NODES; i += step) {
				assert_kept(node[i], i);
				nodes_free(node[i]);
			}
		}
	}
	nodes_free(NULL);
}

static void *free_odd(void *arg)
{
	unsigned char **node = arg;

	for (size_t i = 1; i < NODES; i += 2)
		nodes_free(node[i]);
	return NULL;
}

/* Parts of a tree may end in other threads at the same time. */
static void test_two_threads(void **state)
{
	unsigned char *node[NODES];
	pthread_t other;

	(void)state;
	for (int round = 0; round < 20; round++) {
		make(node);
		assert_int_equal(pthread_create(&other, NULL, free_odd, node), 0);
		for (size_t i = 0; i < NODES; i += 2) {
			assert_kept(node[i], i);
			nodes_free(node[i]);
		}
		assert_int_equal(pthread_join(other, NULL), 0);
	}
}

static void test_nothing_made(void **state)
{
	struct nodes n = { 0 };

	(void)state;
	nodes_close(&n);
	nodes_free(nodes_alloc(&n, 1));
	nodes_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_nothing_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
