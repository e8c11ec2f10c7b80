#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/celld/table_load.h"
#include "common/limits.h"

static struct version ver(const char *s)
{
	struct version v = { 0 };

	assert_true(version_read(s, &v));
	return v;
}

static void test_in_range(void **state)
{
	struct celld_range both = { .since = ver("0.2.0"), .until = ver("0.5.0") }, open = { 0 };

	(void)state;
	assert_false(celld_in_range(both, ver("0.1.9")));
	assert_true(celld_in_range(both, ver("0.2.0")));
	assert_true(celld_in_range(both, ver("0.4.99")));
	assert_false(celld_in_range(both, ver("0.5.0")));
	assert_true(celld_in_range(open, ver("0.0.1")));
	assert_true(celld_in_range(open, ver("9.0.0")));
}

/* What a node of each version looks like, by hand. */
struct look {
	const char *version, *health_path;
	int internal_port, shutdown_ms, grace_seconds;
	const char *has; /* letters, see letters_of */
};

/*
 * i internal listener  r restoring  d deployment  D durability  v vars file  f forwarded headers  t telemetry
 * s its sink  g gs  a az  p prefix  P Pod Identity  T shutdown total  n shutdown drain  w drain token wait
 */
static void letters_of(const struct celld_facts *f, char to[16])
{
	const struct {
		bool has;
		char letter;
	} all[] = {
		{ f->internal_listener, 'i' },
		{ f->state_restoring, 'r' },
		{ f->state_deployment, 'd' },
		{ f->durability, 'D' },
		{ f->vars_file, 'v' },
		{ f->forwarded_headers, 'f' },
		{ f->telemetry, 't' },
		{ f->telemetry_sink, 's' },
		{ f->gs, 'g' },
		{ f->az, 'a' },
		{ f->prefix, 'p' },
		{ f->pod_identity, 'P' },
		{ f->shutdown_total, 'T' },
		{ f->shutdown_drain, 'n' },
		{ f->drain_token_wait, 'w' },
	};

	for (size_t i = 0; i < array_len(all); i++) {
		if (all[i].has)
			*to++ = all[i].letter;
	}
	*to = '\0';
}

static void test_facts(void **state)
{
	static const char old[] = "/__celld/health", new[] = "/.well-known/celld/health";
	static const struct look v[] = {
		{ "0.1.0", old, 8080, 25000, 40, "v" },
		{ "0.1.9", old, 8080, 25000, 40, "v" },
		{ "0.2.0", old, 8081, 25000, 40, "irvtsgpn" },
		{ "0.2.1", old, 8081, 25000, 40, "irvftsgpn" },
		{ "0.3.0", old, 8081, 25000, 40, "irDvftsgapn" },
		{ "0.4.0", new, 8081, 40000, 60, "irdDvftsgapPTnw" },
		{ "0.4.1", new, 8081, 40000, 60, "irdDvftsgapPTnw" },
		{ "0.5.0", new, 8081, 40000, 60, "irdDftgapPT" },
		{ "0.5.1", new, 8081, 40000, 60, "irdDftgapPT" },
		{ "0.6.0", new, 8081, 40000, 60, "irdDftgapPT" },
		{ "0.6.1", new, 8081, 40000, 60, "irdDftgapPT" },
		{ "0.6.2", new, 8081, 40000, 60, "irdDftgapPT" },
		/* Outside the table: the nearest row. */
		{ "0.0.1", old, 8080, 25000, 40, "v" },
		{ "7.0.0", new, 8081, 40000, 60, "irdDftgapPT" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		const struct celld_facts *f =
			celld_facts_of(celld_table_builtin(), ver(v[i].version));
		char has[16];

		letters_of(f, has);
		if (!str_eq(has, v[i].has))
			fail_msg("%s: %s, want %s", v[i].version, has, v[i].has);
		assert_string_equal(f->health_path, v[i].health_path);
		assert_int_equal(f->public_port, 8080);
		assert_int_equal(f->internal_port, v[i].internal_port);
		assert_int_equal(f->shutdown_ms, v[i].shutdown_ms);
		assert_int_equal(f->grace_seconds, v[i].grace_seconds);
	}
}

static void test_knows_minor(void **state)
{
	static const char *const known[] = { "0.1.0", "0.1.5", "0.2.7", "0.3.0",
					     "0.4.2", "0.5.9", "0.6.99" };
	static const char *const unknown[] = { "0.0.2", "0.7.0", "1.0.0", "1.6.0" };
	const struct celld_table *t = celld_table_builtin();

	(void)state;
	for (size_t i = 0; i < array_len(known); i++)
		assert_true(celld_knows_minor(t, ver(known[i])));
	for (size_t i = 0; i < array_len(unknown); i++)
		assert_false(celld_knows_minor(t, ver(unknown[i])));
}

static void test_builtin(void **state)
{
	const struct celld_table *t = celld_table_builtin();

	(void)state;
	assert_ptr_equal(t, celld_table_builtin());
	assert_int_equal(t->n_releases, 11);
	assert_int_equal(t->n_facts, 6);
	assert_int_equal(t->n_boundaries, 8);
	assert_int_equal(t->n_refused, 21);
	assert_int_equal(t->n_owned, 20);
	for (size_t i = 0; i < t->n_boundaries; i++) {
		assert_true(strlen(t->boundaries[i].up.warning) <= LIMIT_WARNING);
		assert_true(strlen(t->boundaries[i].down.warning) <= LIMIT_WARNING);
	}
}

/* --- a table that is broken in one place each ----------------------------------------------- */

#define FACTS                                                                                      \
	"healthPath: /h, publicPort: 1, internalPort: 2, internalListener: true, "                 \
	"stateRestoring: true, stateDeployment: true, durability: true, varsFile: true, "          \
	"forwardedHeaders: true, telemetry: true, telemetrySink: true, gs: true, az: true, "       \
	"prefix: true, podIdentity: true, shutdownTotal: true, shutdownDrain: true, "              \
	"drainTokenWait: true, shutdownMs: 1000, graceSeconds: 1"

static const char good[] =
	"releases: [1.0.0, 1.0.1, 1.1.0]\n"
	"facts:\n"
	"- {until: 1.1.0, " FACTS "}\n"
	"- {since: 1.1.0, " FACTS "}\n"
	"boundaries:\n"
	"- below: 1.0.1\n"
	"  above: 1.1.0\n"
	"  up: {way: rolling, warning: w}\n"
	"  down: {way: recreate, needsAck: true, rollingIfBucket: true, reason: r}\n"
	"environment:\n"
	"  refused:\n"
	"  - {since: 1.1.0, ifNotEmpty: true, names: [A_B, C*]}\n"
	"  owned: []\n"
	"  known: [{until: 1.1.0, names: [D]}]\n";

/* good with the first `old` replaced. */
static char *changed(const char *old, const char *new)
{
	const char *at = strstr(good, old);
	struct buf b = BUF_INIT(1 << 16);

	assert_non_null(at);
	buf_add(&b, good, (size_t)(at - good));
	buf_puts(&b, new);
	buf_puts(&b, at + strlen(old));
	return buf_take(&b);
}

static void test_load(void **state)
{
	cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
	struct err e = ERR_INIT;
	const struct celld_boundary *b = &t->boundaries[0];

	(void)state;
	assert_int_equal(celld_table_load(good, sizeof(good) - 1, "x.yaml", t, &e), 0);
	assert_int_equal(t->n_releases, 3);
	assert_int_equal(t->n_facts, 2);
	assert_int_equal(version_cmp(t->facts[0].range.until, ver("1.1.0")), 0);
	assert_int_equal(t->facts[1].internal_port, 2);
	assert_int_equal(t->n_boundaries, 1);
	assert_int_equal(version_cmp(b->below, ver("1.0.1")), 0);
	assert_int_equal(b->up.way, COMPAT_ROLLING);
	assert_string_equal(b->up.warning, "w");
	assert_int_equal(b->down.way, COMPAT_RECREATE);
	assert_true(b->down.needs_ack);
	assert_true(b->down.rolling_if_bucket);
	assert_string_equal(b->down.reason, "r");
	assert_int_equal(t->n_refused, 2);
	assert_string_equal(t->refused[1].name, "C*");
	assert_true(t->refused[1].if_not_empty);
	assert_int_equal(version_cmp(t->refused[1].range.since, ver("1.1.0")), 0);
	assert_int_equal(t->n_owned, 0);
	assert_int_equal(t->n_known, 1);
}

static void test_broken(void **state)
{
	static const struct {
		const char *old, *new, *message;
	} v[] = {
		{ "releases", "release", "x.yaml:1: release: unknown key" },
		{ "environment:", "more: 1\nenvironment:", "x.yaml:10: more: unknown key" },
		{ "1.0.1, 1.1.0]", "1.0.1, 1.0.1]",
		  "x.yaml:1: releases[2]: must be newer than the one before" },
		{ "[1.0.0, 1.0.1, 1.1.0]", "[]", "x.yaml:1: releases: must not be empty" },
		{ "[1.0.0, 1.0.1, 1.1.0]", "1.0.0",
		  "x.yaml:1: releases: a string instead of a list" },
		{ "[1.0.0,", "[1.0,", "x.yaml:1: releases[0]: a number instead of a version" },
		{ "[1.0.0,", "[v1.0.0,",
		  "x.yaml:1: releases[0]: 'v1.0.0' is no version such as 0.6.2" },
		{ "[1.0.0,", "[0.0.0,",
		  "x.yaml:1: releases[0]: '0.0.0' is no version such as 0.6.2" },
		{ "[1.0.0,", "[1.0.0-a,",
		  "x.yaml:1: releases[0]: '1.0.0-a' is no version such as 0.6.2" },
		{ "- {until: 1.1.0, ", "- {",
		  "x.yaml:4: facts[1]: since must be the until of the row before" },
		{ "{until: 1.1.0, ", "{since: 0.0.1, until: 1.1.0, ",
		  "x.yaml:3: facts[0]: the first row must have no since" },
		{ "{since: 1.1.0, health", "{since: 1.0.9, health",
		  "x.yaml:4: facts[1]: since must be the until of the row before" },
		{ "{since: 1.1.0, health", "{since: 1.1.0, until: 1.2.0, health",
		  "x.yaml:4: facts[1]: the last row must have no until" },
		{ "healthPath: /h, ", "", "x.yaml:3: facts[0].healthPath: missing" },
		{ "healthPath: /h", "healthPath: h",
		  "x.yaml:3: facts[0]: healthPath must begin with '/'" },
		{ "healthPath: /h", "healthPath: ''",
		  "x.yaml:3: facts[0].healthPath: must have 1 to 63 bytes" },
		{ "healthPath: /h", "healthPath: [/h]",
		  "x.yaml:3: facts[0].healthPath: a list instead of a string" },
		{ "publicPort: 1", "publicPort: 0",
		  "x.yaml:3: facts[0].publicPort: must lie within 1 and 65535" },
		{ "publicPort: 1", "publicPort: 1.5",
		  "x.yaml:3: facts[0].publicPort: a number instead of an integer" },
		{ "gs: true", "gs: 1", "x.yaml:3: facts[0].gs: a number instead of true or false" },
		{ "below: 1.0.1", "below: 1.0.0",
		  "x.yaml:6: boundaries[0]: below and above must be releases that follow each "
		  "other" },
		{ "above: 1.1.0", "above: 1.2.0",
		  "x.yaml:6: boundaries[0]: below and above must be releases that follow each "
		  "other" },
		{ "up: {way: rolling, ", "up: {", "x.yaml:8: boundaries[0].up.way: missing" },
		{ "way: rolling", "way: roll",
		  "x.yaml:8: boundaries[0].up.way: must be rolling, recreate or blocked" },
		{ "way: rolling", "way: recreate",
		  "x.yaml:8: boundaries[0].up: a refusal needs a reason" },
		{ "way: rolling", "way: rolling, rollingIfBucket: true",
		  "x.yaml:8: boundaries[0].up: rollingIfBucket changes nothing here" },
		{ "way: recreate", "way: blocked",
		  "x.yaml:9: boundaries[0].down: blocked has no exception" },
		{ "up: {way: rolling, warning: w}", "up: x",
		  "x.yaml:8: boundaries[0].up: a string instead of an object" },
		{ "  up: {way: rolling, warning: w}\n", "", "x.yaml:6: boundaries[0].up: missing" },
		{ ", reason: r}", ", reason: r, because: x}",
		  "x.yaml:9: boundaries[0].down.because: unknown key" },
		{ "names: [A_B, C*]", "names: []",
		  "x.yaml:12: environment.refused[0].names: must not be empty" },
		{ "A_B", "a",
		  "x.yaml:12: environment.refused[0].names[0]: must be a name such as CELLD_ADDR" },
		{ "C*", "C*D",
		  "x.yaml:12: environment.refused[0].names[1]: must be a name such as CELLD_ADDR" },
		{ "C*", "'*'",
		  "x.yaml:12: environment.refused[0].names[1]: must be a name such as CELLD_ADDR" },
		{ "{since: 1.1.0, ifNot", "{since: 1.1.0, until: 1.1.0, ifNot",
		  "x.yaml:12: environment.refused[0]: until must be newer than since" },
		{ "  owned: []\n", "", "x.yaml:10: environment.owned: missing" },
		{ "  owned: []\n", "  owned: {}\n",
		  "x.yaml:13: environment.owned: an object instead of a list" },
		{ "releases:", "releases: [1.0.0]\nreleases:",
		  "x.yaml: line 2: duplicate name 'releases', which stands on line 1" },
		{ "environment:", "---\nenvironment:", "x.yaml: line 11: a second document" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
		cleanup(freep) char *text = changed(v[i].old, v[i].new);
		struct err e = ERR_INIT;

		if (celld_table_load(text, strlen(text), "x.yaml", t, &e) != -ERR_INVALID)
			fail_msg("accepted with '%s'", v[i].new);
		assert_string_equal(e.message, v[i].message);
		assert_int_equal(t->n_releases, 0);
	}
}

static void test_broken_as_a_whole(void **state)
{
	cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(celld_table_load("", 0, "x.yaml", t, &e), -ERR_INVALID);
	assert_string_equal(e.message, "x.yaml: no document");
	assert_int_equal(celld_table_load("[]", 2, "x.yaml", t, &e), -ERR_INVALID);
	assert_string_equal(e.message, "x.yaml:1: document: a list instead of an object");
	assert_int_equal(celld_table_load("", (size_t)LIMIT_CONFIG_FILE + 1, "x.yaml", t, &e),
			 -ERR_TOO_LARGE);
}

/* A new minor about which nothing is said must not roll by accident. */
static void test_minor_without_boundary(void **state)
{
	cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
	cleanup(freep) char *text = changed("1.1.0]", "1.1.0, 1.1.1, 1.2.0]");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(celld_table_load(text, strlen(text), "x.yaml", t, &e), -ERR_INVALID);
	assert_string_equal(e.message, "x.yaml:5: boundaries: no row with above: 1.2.0");
}

static void test_order_of_boundaries(void **state)
{
	cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
	cleanup(freep) char *text =
		changed("environment:", "- {below: 1.0.0, above: 1.0.1, up: {way: rolling}, "
					"down: {way: rolling}}\nenvironment:");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(celld_table_load(text, strlen(text), "x.yaml", t, &e), -ERR_INVALID);
	assert_string_equal(e.message, "x.yaml:10: boundaries[1]: must lie above the row before");
}

static void test_too_many_rows(void **state)
{
	cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
	cleanup(freep) char *text = NULL;
	struct buf b = BUF_INIT(1 << 16);
	struct err e = ERR_INIT;

	(void)state;
	buf_puts(&b, "releases: [");
	for (int i = 0; i <= CELLD_RELEASES; i++)
		buf_printf(&b, "1.0.%d, ", i);
	buf_puts(&b, "1.1.0]");
	text = changed("releases: [1.0.0, 1.0.1, 1.1.0]", buf_str(&b));
	assert_int_equal(celld_table_load(text, strlen(text), "x.yaml", t, &e), -ERR_TOO_LARGE);
	assert_string_equal(e.message, "x.yaml:1: releases: more than 64 rows");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_range),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_knows_minor),
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_broken_as_a_whole),
		cmocka_unit_test(test_minor_without_boundary),
		cmocka_unit_test(test_order_of_boundaries),
		cmocka_unit_test(test_too_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
