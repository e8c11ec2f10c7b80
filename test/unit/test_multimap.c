#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "common/multimap.h"

static void entries_of_a_key_follow_each_other(void **state)
{
	static char values[4];
	struct multimap m = { .n = 0 };
	size_t at;

	(void)state;
	assert_int_equal(multimap_find(&m, 7), 0);
	multimap_remove(&m, 7, &values[0]);
	multimap_add(&m, 7, &values[0]);
	multimap_add(&m, UINT64_MAX, &values[1]);
	multimap_add(&m, 7, &values[2]);
	multimap_add(&m, 0, &values[3]);
	at = multimap_find(&m, 7);
	assert_int_equal(at, 1);
	assert_ptr_equal(m.v[at].value, &values[0]);
	assert_ptr_equal(m.v[at + 1].value, &values[2]);
	assert_true(m.v[at + 2].key == UINT64_MAX);
	multimap_remove(&m, 7, &values[1]); /* another key's */
	assert_int_equal(m.n, 4);
	multimap_remove(&m, 7, &values[0]);
	assert_int_equal(m.n, 3);
	assert_ptr_equal(m.v[multimap_find(&m, 7)].value, &values[2]);
	multimap_replace(&m, 7, &values[2], &values[3]);
	assert_ptr_equal(m.v[multimap_find(&m, 7)].value, &values[3]);
	multimap_replace(&m, 7, &values[2], &values[1]); /* it is not there any more */
	multimap_replace(&m, 8, &values[1], &values[2]);
	assert_ptr_equal(m.v[multimap_find(&m, 7)].value, &values[3]);
	assert_int_equal(m.n, 3);
	multimap_done(&m);
}

/* Against counting. */
static void many(void **state)
{
	enum { KEYS = 16, STEPS = 4000 };
	static char value;
	struct multimap m = { .n = 0 };
	size_t there[KEYS] = { 0 }, all = 0;
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		unsigned key = (unsigned)rand_r(&seed) % KEYS;

		if (rand_r(&seed) % 2) {
			multimap_add(&m, key, &value);
			there[key]++;
			all++;
		} else {
			multimap_remove(&m, key, &value);
			all -= there[key] > 0;
			there[key] -= there[key] > 0;
		}
		assert_int_equal(m.n, all);
	}
	for (unsigned key = 0; key < KEYS; key++) {
		size_t at = multimap_find(&m, key), n = 0;

		while (at + n < m.n && m.v[at + n].key == key)
			n++;
		assert_int_equal(n, there[key]);
	}
	multimap_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_a_key_follow_each_other),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
