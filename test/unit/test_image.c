#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/image.h"

#define HEX64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "@sha256:" HEX64

static void test_good(void **state)
{
	static const struct {
		const char *ref, *tag, *version;
		bool digest;
	} v[] = {
		{ "ghcr.io/denoland/celld:v0.6.2", "v0.6.2", "v0.6.2", false },
		{ "ghcr.io/denoland/celld:0.6.2", "0.6.2", "v0.6.2", false },
		{ "ghcr.io/denoland/celld:v0.6.2-alpine", "v0.6.2-alpine", "v0.6.2", false },
		{ "ghcr.io/denoland/celld:v0.6.1-fork.3", "v0.6.1-fork.3", "v0.6.1", false },
		{ "ghcr.io/denoland/celld:latest", "latest", NULL, false },
		{ "ghcr.io/denoland/celld:sha-1234567", "sha-1234567", NULL, false },
		{ "ghcr.io/denoland/celld:v0.6", "v0.6", NULL, false },
		{ "ghcr.io/denoland/celld:v0.6.2.1", "v0.6.2.1", NULL, false },
		{ "ghcr.io/denoland/celld", "", NULL, false },
		{ "registry.example:5000/celld", "", NULL, false },
		{ "registry.example:5000/team/celld:v0.4.1", "v0.4.1", "v0.4.1", false },
		{ "localhost:5000/celld:v0.4.1", "v0.4.1", "v0.4.1", false },
		{ "Registry.Example/celld:v0.4.1", "v0.4.1", "v0.4.1", false },
		{ "[2001:db8::1]:5000/celld:v0.4.1", "v0.4.1", "v0.4.1", false },
		{ "[2001:db8::1]/celld", "", NULL, false },
		{ "celld:5000", "5000", NULL, false },
		{ "celld", "", NULL, false },
		{ "a/b_c/d__e/f-g.h:v1.2.3", "v1.2.3", "v1.2.3", false },
		{ "ghcr.io/denoland/celld@sha256:" HEX64, "", NULL, true },
		{ "ghcr.io/denoland/celld:v0.6.2@sha256:" HEX64, "v0.6.2", "v0.6.2", true },
		{ "registry.example:5000/celld@sha512:" HEX64 HEX64, "", NULL, true },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct image r;
		char text[VERSION_TEXT] = "";

		if (!image_parse(v[i].ref, &r))
			fail_msg("refused: %s", v[i].ref);
		assert_int_equal(r.tag_len, strlen(v[i].tag));
		assert_true(!r.tag_len || !strncmp(r.tag, v[i].tag, r.tag_len));
		assert_int_equal(r.digest, v[i].digest);
		assert_int_equal(r.has_version, v[i].version != NULL);
		if (r.has_version)
			version_text(r.version, text);
		assert_string_equal(text, v[i].version ? v[i].version : "");
	}
}

static void expect_refused(const char *ref)
{
	struct image r = { .tag_len = 99 };

	if (image_parse(ref, &r))
		fail_msg("accepted: '%s'", ref);
	assert_int_equal(r.tag_len, 99);
}

static void test_bad(void **state)
{
	static const char *const v[] = {
		"",
		" ",
		":v0.6.2",
		"/celld",
		"a//b",
		"a/",
		"a/:v1.0.0",
		"celld:",
		"celld: v0.6.2",
		" celld:v0.6.2",
		"celld:v0.6.2 ",
		"celld\n",
		"celld:-x",
		"celld:.x",
		"celld:v0.6.2+build",
		"Celld:v0.6.2",
		"ghcr.io/Denoland/celld:v0.6.2",
		"ghcr.io/-a/celld",
		"ghcr.io/a-/celld",
		"registry.example:/celld",
		"registry.example:port/celld",
		"registry.example:123456/celld",
		"[2001:db8::1/celld",
		"[]/celld",
		"[x y]/celld",
		"celld:a:b",
		"http://ghcr.io/celld",
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++)
		expect_refused(v[i]);
}

static void test_bad_digest(void **state)
{
	(void)state;
	expect_refused(DIGEST);
	expect_refused("celld@");
	expect_refused("celld@sha256:");
	expect_refused("celld@sha256:0123");
	expect_refused("celld" DIGEST "0");
	expect_refused("celld@sha512:" HEX64);
	expect_refused("celld@md5:" HEX64);
	expect_refused(
		"celld@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef");
	expect_refused("celld" DIGEST DIGEST);
}

static void test_long(void **state)
{
	char ref[1100];
	struct image r;

	(void)state;
	memset(ref, 'a', sizeof(ref));
	ref[1024] = '\0';
	assert_true(image_parse(ref, &r));
	ref[1024] = 'a';
	ref[1025] = '\0';
	assert_false(image_parse(ref, &r));
	ref[1] = ':';
	ref[2 + 128] = '\0';
	assert_true(image_parse(ref, &r));
	ref[2 + 128] = 'a';
	ref[2 + 129] = '\0';
	assert_false(image_parse(ref, &r));
}

static void test_celld_version(void **state)
{
	static const struct {
		const char *ref, *declared, *want;
		bool conflict;
	} v[] = {
		{ "celld:v0.6.2", NULL, "v0.6.2", false },
		{ "celld:v0.6.2", "v0.6.2", "v0.6.2", false },
		{ "celld:v0.6.2-alpine", "v0.6.2", "v0.6.2", false },
		{ "celld:v0.6.2", "v0.6.1", "v0.6.2", true },
		{ "celld:main", "v0.5.1", "v0.5.1", false },
		{ "celld@sha256:" HEX64, "v0.5.1", "v0.5.1", false },
		{ "celld:v0.6.2", "nonsense", "v0.6.2", false },
		{ "not an image", "v0.6.1", "v0.6.1", false },
		{ "celld:main", NULL, NULL, false },
		{ "celld:main", "0.x", NULL, false },
		{ "celld@sha256:" HEX64, NULL, NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct version got = { .major = 77 };
		bool conflict = !v[i].conflict;
		struct image image;
		char text[VERSION_TEXT];

		assert_int_equal(image_version(image_parse(v[i].ref, &image) ? &image : NULL,
					       v[i].declared, &got, &conflict),
				 v[i].want != NULL);
		version_text(got, text);
		assert_string_equal(text, v[i].want ? v[i].want : "v77.0.0");
		assert_int_equal(conflict, v[i].conflict);
		assert_int_equal(image_celld_version(v[i].ref, v[i].declared, &got),
				 v[i].want != NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	      cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bad_digest),    cmocka_unit_test(test_long),
		cmocka_unit_test(test_celld_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
