#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/squeeze.h"

static size_t round_trip(const char *model, const char *text)
{
	struct squeeze_model m = { model ? strlen(model) : 0, model };
	struct squeezed *s = squeeze(m, text, strlen(text));
	cleanup(freep) char *again = unsqueeze(m, s);
	size_t size = s->size;

	assert_int_equal(s->len, strlen(text));
	assert_string_equal(again, text);
	free(s);
	return size;
}

static void texts_come_back(void **state)
{
	static const char *const texts[] = {
		"",
		"a",
		"abcdef",
		"abcdefabcdef",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"{\"a\":\"gr\xc3\xbc\xff\x80\x01\"}",
		"{\"kind\":\"Service\",\"name\":\"shop-celld\"}",
	};

	(void)state;
	for (size_t i = 0; i < array_len(texts); i++) {
		(void)round_trip(NULL, texts[i]);
		for (size_t j = 0; j < array_len(texts); j++)
			(void)round_trip(texts[j], texts[i]);
	}
}

static void what_is_in_the_model_takes_no_room(void **state)
{
	static const char model[] =
		"{\"kind\":\"Service\",\"metadata\":{\"name\":\"a-celld\",\"uid\":\"1\"}}";

	(void)state;
	assert_in_range(round_trip(model, model), 1, 12);
	assert_in_range(
		round_trip(
			model,
			"{\"kind\":\"Service\",\"metadata\":{\"name\":\"b-celld\",\"uid\":\"2\"}}"),
		8, 30);
	assert_in_range(round_trip(NULL, model), strlen(model) - 8, strlen(model) + 8);
}

static void random_texts_come_back(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char text[2][700];

		for (int t = 0; t < 2; t++) {
			size_t n = (size_t)rand_r(&seed) % sizeof(text[t]);
			int letters = 1 + rand_r(&seed) % 4;

			for (size_t k = 0; k < n; k++)
				text[t][k] = (char)('a' + rand_r(&seed) % letters);
			text[t][n] = '\0';
		}
		(void)round_trip(i % 5 ? text[0] : NULL, text[1]);
	}
}

/* Only the end of such a model is looked at, both ways. */
static void a_model_may_be_large(void **state)
{
	cleanup(freep) char *model = xmalloc(200001);
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 200000; i++)
		model[i] = (char)('a' + rand_r(&seed) % 20);
	model[200000] = '\0';
	assert_in_range(round_trip(model, model + 150000), 1, 300);
	assert_in_range(round_trip(model, model), 100000, 210000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_back),
		cmocka_unit_test(what_is_in_the_model_takes_no_room),
		cmocka_unit_test(random_texts_come_back),
		cmocka_unit_test(a_model_may_be_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
