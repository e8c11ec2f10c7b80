#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/exclusive.h"
#include "test/lib/rules_table.h"

static struct holding *holding(const char *change)
{
	cleanup_workerapp struct workerapp *app = rules_app(change);

	return holding_of(app);
}

struct keys {
	uint64_t v[64];
	size_t n;
};

static void add_key(uint64_t key, void *ctx)
{
	struct keys *k = ctx;

	assert_in_range(k->n, 0, array_len(k->v) - 1);
	k->v[k->n++] = key;
}

static bool finds(const struct holding *a, const struct holding *b)
{
	struct keys asked = { .n = 0 }, kept = { .n = 0 };
	bool found = false;

	exclusive_asked_by(a, add_key, &asked);
	exclusive_kept_by(b, add_key, &kept);
	for (size_t i = 0; i < asked.n; i++) {
		for (size_t k = 0; k < kept.n; k++)
			found = found || asked.v[i] == kept.v[k];
	}
	return found;
}

/* How mine relates to other, NULL: not at all. */
static void relation(const char *mine, const char *other, const char *how)
{
	cleanup(freep) char *mine_change = xasprintf("{metadata: {name: me}, %s}", mine);
	cleanup(freep) char *other_change = xasprintf("{metadata: {name: you}, %s}", other);
	cleanup_holding struct holding *a = holding(mine_change), *b = holding(other_change);
	struct faults l = FAULTS_INIT;

	exclusive_judge(a, NULL, b, NULL, &l);
	if (how && (!finds(a, b) || !finds(b, a)))
		fail_msg("%s, %s: do not find each other", mine, other);
	if (!how && l.n)
		fail_msg("%s, %s: %s", mine, other, l.v[0].message);
	if (how) {
		cleanup(freep) char *want =
			xasprintf("is %s the bucket prefix of WorkerApp acme/you, and two fleets "
				  "on one prefix "
				  "corrupt each other; write a prefix that no other app has",
				  how);

		if (l.n != 1)
			fail_msg("%s, %s: %zu faults", mine, other, l.n);
		assert_string_equal(l.v[0].rule, EXCLUSIVE_BUCKET);
		assert_string_equal(l.v[0].path, "spec.bucket.name");
		assert_string_equal(l.v[0].message, want);
	}
	faults_done(&l);
}

#define S3(name)    "spec: {bucket: {name: 's3://" name "'}}"
#define ON(name, e) "spec: {bucket: {name: 's3://" name "', endpoint: '" e "'}}"
#define AZ(name, a) "spec: {bucket: {name: 'az://" name "', storageAccount: " a ", region: null}}"

static void find(const char *mine, const char *other, bool want)
{
	cleanup_holding struct holding *a = holding(mine), *b = holding(other);

	if (finds(a, b) != want || finds(b, a) != want)
		fail_msg("%s, %s", mine, other);
}

static void test_keys(void **state)
{
#define HOSTS(name, hosts) "spec: {bucket: {name: 's3://" name "'}, hostnames: [" hosts "]}"
	static const struct {
		const char *mine, *other;
		bool find;
	} rows[] = {
		{ S3("cells/a"), S3("cells/b"), false },
		{ S3("cells/a"), S3("bells/a"), false },
		{ S3("cells/a"), S3("cells/ab"), false },
		{ S3("cells/x/a"), S3("cells/x/b"), false },
		{ S3("cells/a"), S3("cells/a"), true },
		{ S3("cells/a"), S3("cells/a/b/c"), true },
		{ S3("cells/a"), S3("cells"), true },
		{ S3("cells"), S3("cells"), true },
		{ S3("cells"), S3("bells"), false },
		{ HOSTS("a/b", "x.example.com"), S3("c/d"), false },
		{ HOSTS("a/b", "x.example.com"), HOSTS("c/d", "y.example.com"), false },
		{ HOSTS("a/b", "x.example.com"), HOSTS("c/d", "example.com"), false },
		{ HOSTS("a/b", "x.example.com"), HOSTS("c/d", "'y.com', x.example.com"), true },
		{ HOSTS("a/b", "x.example.com"), HOSTS("c/d", "'*.example.com'"), true },
		{ HOSTS("a/b", "x.y.example.com"), HOSTS("c/d", "'*.example.com'"), true },
		{ HOSTS("a/b", "example.com"), HOSTS("c/d", "'*.example.com'"), false },
		{ HOSTS("a/b", "x.example.org"), HOSTS("c/d", "'*.example.com'"), false },
		{ HOSTS("a/b", "'*.y.example.com'"), HOSTS("c/d", "'*.example.com'"), true },
		{ HOSTS("a/b", "'*.example.com'"), HOSTS("c/d", "'*.example.com'"), true },
		{ HOSTS("a/b", "'*.x.example.com'"), HOSTS("c/d", "'*.y.example.com'"), false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		cleanup(freep) char *mine = xasprintf("{%s}", rows[i].mine);
		cleanup(freep) char *other = xasprintf("{%s}", rows[i].other);

		find(mine, other, rows[i].find);
	}
#undef HOSTS
}

static void test_buckets(void **state)
{
	static const struct {
		const char *mine, *other, *how;
	} rows[] = {
		{ S3("cells/apps/chat"), S3("cells/apps/chat"), "the same as" },
		{ S3("cells/apps/chat/"), S3("cells/apps/chat"), "the same as" },
		{ S3("cells"), S3("cells"), "the same as" },
		{ S3("cells"), S3("cells/"), "the same as" },
		{ S3("cells/apps/chat"), S3("cells/apps"), "inside" },
		{ S3("cells/apps/chat"), S3("cells"), "inside" },
		{ S3("cells/apps"), S3("cells/apps/chat/"), "around" },
		{ S3("cells/"), S3("cells/apps/chat"), "around" },
		{ S3("cells/apps"), S3("cells/apps2"), NULL },
		{ S3("cells/apps2"), S3("cells/apps"), NULL },
		{ S3("cells/apps/chat"), S3("cells/apps/shop"), NULL },
		{ S3("cells/apps"), S3("cells2/apps"), NULL },
		{ S3("cells/x"), "spec: {bucket: {name: 'gs://cells/x'}}", NULL },
		{ ON("cells/x", "https://a"), S3("cells/x"), NULL },
		{ ON("cells/x", "https://a"), ON("cells/x", "https://b"), NULL },
		{ ON("cells/x", "https://a"), ON("cells/x", "HTTP://A/"), "the same as" },
		{ ON("cells/x", "https://a:9000"), ON("cells/x", "https://a"), NULL },
		{ ON("cells/x", "https://s3.eu-central-1.amazonaws.com"), S3("cells/x"),
		  "the same as" },
		{ ON("cells/x", "https://amazonaws.com.evil"), S3("cells/x"), NULL },
		{ AZ("cells/x", "one"), AZ("cells/x", "one"), "the same as" },
		{ AZ("cells/x", "one"), AZ("cells/x", "two"), NULL },
		{ "spec: {bucket: {name: 'cells/x'}}", "spec: {bucket: {name: 'cells/x'}}", NULL },
		{ "spec: {bucket: {name: null}}", "spec: {bucket: {name: null}}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++)
		relation(rows[i].mine, rows[i].other, rows[i].how);
}

/* A store says where the bucket is; one that is not known says nothing. */
static void test_stores(void **state)
{
	cleanup_json struct json *minio =
		rules_overlay("{spec: {endpoint: 'https://MINIO/', storageAccount: ''}}");
	struct holding_store *s = holding_store_of(minio);
	cleanup_holding struct holding *inlined =
		holding("{metadata: {name: you}, " ON("cells/x", "https://minio") "}");
	cleanup_holding struct holding *a =
		holding("spec: {storeRef: {name: s}, bucket: {name: 's3://cells/x'}}");
	struct faults l = FAULTS_INIT;

	(void)state;
	exclusive_judge(a, s, inlined, NULL, &l);
	assert_int_equal(l.n, 1);
	faults_done(&l);
	exclusive_judge(inlined, NULL, a, s, &l);
	assert_int_equal(l.n, 1);
	faults_done(&l);
	exclusive_judge(a, NULL, inlined, NULL, &l);
	exclusive_judge(inlined, NULL, a, NULL, &l);
	assert_int_equal(l.n, 0);
	holding_store_free(s);
}

static void hosts(const char *mine, const char *other, const char *message)
{
	cleanup(freep) char *a_change =
		xasprintf("{metadata: {name: me}, spec: {bucket: {name: 's3://me/x'}, %s}}", mine);
	cleanup(freep) char *b_change =
		xasprintf("{metadata: {name: you, %s}, spec: {bucket: {name: 's3://you/x'}, "
			  "hostnames: [x.example.com, a.example.com], ingress: {path: /api/}}}",
			  other);
	cleanup_holding struct holding *a = holding(a_change), *b = holding(b_change);
	struct faults l = FAULTS_INIT;

	exclusive_judge(a, NULL, b, NULL, &l);
	if (!message) {
		assert_int_equal(l.n, 0);
		return;
	}
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0].rule, EXCLUSIVE_HOST);
	assert_string_equal(l.v[0].path, "spec.hostnames[1]");
	assert_string_equal(l.v[0].message, message);
	faults_done(&l);
}

static void test_hosts(void **state)
{
	(void)state;
	hosts("hostnames: [b.example.com, a.example.com], ingress: {path: /api}", "namespace: acme",
	      "\"a.example.com\" with path /api/ is served by WorkerApp you; write another host "
	      "name, or another spec.ingress.path");
	hosts("hostnames: [b.example.com, a.example.com], ingress: {path: /}", "namespace: acme",
	      NULL);
	hosts("hostnames: [b.example.com, a.example.com]", "namespace: acme", NULL);
	hosts("hostnames: [b.example.com, a.example.com]", "namespace: other",
	      "\"a.example.com\" is served by WorkerApp you of namespace other; write another host "
	      "name: one is for one namespace");
	hosts("hostnames: [b.example.org, '*.example.com']", "namespace: other",
	      "\"*.example.com\" overlaps \"x.example.com\", which is served by WorkerApp you of "
	      "namespace "
	      "other; write a host name apart from it: a wildcard and the names under it are for "
	      "one "
	      "namespace");
	hosts("hostnames: [b.example.com, '*.example.com']", "namespace: acme", NULL);
	hosts("hostnames: ['*.example.org', example.com, b.a.example.com]", "namespace: other",
	      NULL);
	hosts("hostnames: ['*.ample.com']", "namespace: other", NULL);
	hosts("replicas: 3", "namespace: other", NULL);
}

static void test_age(void **state)
{
	static const struct {
		const char *a, *b;
		bool older;
	} rows[] = {
		{ "creationTimestamp: '2026-01-01T00:00:00Z'",
		  "creationTimestamp: '2026-01-01T00:00:01Z'", true },
		{ "creationTimestamp: '2026-01-01T00:00:01Z'",
		  "creationTimestamp: '2026-01-01T00:00:00Z'", false },
		{ "creationTimestamp: '2026-01-01T00:00:00Z', uid: a",
		  "creationTimestamp: '2026-01-01T00:00:00Z', uid: b", true },
		{ "creationTimestamp: '2026-01-01T00:00:00Z', uid: b",
		  "creationTimestamp: '2026-01-01T00:00:00Z', uid: a", false },
		{ "creationTimestamp: '2026-01-01T00:00:00Z', uid: a",
		  "creationTimestamp: '2026-01-01T00:00:00Z', uid: a", false },
		{ "uid: a", "creationTimestamp: '2026-01-01T00:00:00Z', uid: b", false },
		{ "creationTimestamp: '2026-01-01T00:00:00Z', uid: b", "uid: a", true },
		{ "uid: a", "uid: b", false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		cleanup(freep) char *x = xasprintf("{metadata: {%s}}", rows[i].a);
		cleanup(freep) char *y = xasprintf("{metadata: {%s}}", rows[i].b);
		cleanup_holding struct holding *a = holding(x), *b = holding(y);

		if (exclusive_is_older(a, b) != rows[i].older)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_stores),	cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
