#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/workerapp_fields.h"
#include "test/lib/rules_table.h"

static void check(const char *change, const char *want)
{
	struct workerapp *app = rules_app(change);
	struct faults faults = FAULTS_INIT;
	struct buf b = BUF_INIT(1 << 16);

	workerapp_unknown_fields(app, &faults);
	faults_text(&faults, "\n", 1 << 16, &b);
	if (!str_eq(buf_str(&b), want))
		fail_msg("\nchange:   %s\nexpected: %s\nsaid:     %s", change, want, buf_str(&b));
	buf_done(&b);
	faults_done(&faults);
	workerapp_free(app);
}

static void test_unknown_fields(void **state)
{
	(void)state;
	check("", "");
	check("spec: {hostname: [a]}",
	      "spec.hostname: there is no such field; did you mean hostnames?");
	check("spec: {Replicas: 3}",
	      "spec.Replicas: there is no such field; did you mean replicas?");
	check("spec: {zebra: 3}", "spec.zebra: there is no such field; leave it out");
	check("spec: {celld: {imagepullpolicy: Always}}",
	      "spec.celld.imagepullpolicy: there is no such field; did you mean imagePullPolicy?");
	check("spec: {autoscaling: {targets: {p95LatencyMS: 3, x: 1}}}",
	      "spec.autoscaling.targets.p95LatencyMS: there is no such field; did you mean "
	      "p95LatencyMs?\n"
	      "spec.autoscaling.targets.x: there is no such field; leave it out");
	check("spec: {storage: {size: 3}, ingress: {host: a}}",
	      "spec.storage.size: there is no such field; did you mean sizeGi?\n"
	      "spec.ingress.host: there is no such field; leave it out");
	/* Maps have keys of the user's own. */
	check("spec: {podLabels: {anything: x}, scheduling: {nodeSelector: {anything: x}}}", "");
	/* A wrong type is another fault. */
	check("spec: {celld: [a]}", "");
	check("spec: 5", "");
}

static void test_near_miss(void **state)
{
	static const char *const names[] = { "Rolling", "Recreate", "", NULL };
	static const struct {
		const char *word, *near;
	} rows[] = {
		{ "rolling", "Rolling" },
		{ "Roling", "Rolling" },
		{ "Rollling", "Rolling" },
		{ "Rolilng", "Rolling" },
		{ "recreate", "Recreate" },
		{ "Recrate", "Recreate" },
		{ "Rebuild", NULL },
		{ "", NULL },
		{ "R", NULL },
		{ "RollingRollingRollingRollingRollingRollingRollingR", NULL },
	};
	static const char *const longer[] = { "a23456789a23456789a23456789a23456789a23456789a2345",
					      NULL };

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		const char *near = workerapp_near_miss(rows[i].word, names);

		if (str_empty(rows[i].near) ? !str_empty(near)
					    : !near || !str_eq(near, rows[i].near))
			fail_msg("%s is near %s", rows[i].word, near ? near : "nothing");
	}
	assert_null(workerapp_near_miss("a23456789", longer));
}

static bool is_object(const struct workerapp_field *f)
{
	return f->kind == F_OBJECT || f->kind == F_SET;
}

/* The reader finds a field's parent by this order alone. */
static void test_members_follow_their_object(void **state)
{
	(void)state;
	for (size_t i = 0; i < workerapp_n_fields; i++) {
		const struct workerapp_field *f = &workerapp_fields[i], *before = f;
		size_t n = f->under;

		assert_int_equal(f->path[n], '.');
		assert_null(strchr(workerapp_field_name(f), '.'));
		/* back over what is also within the parent */
		while (before > workerapp_fields && strncmp(before->path, f->path, n + 1) == 0)
			before--;
		if (n == strlen("spec"))
			continue;
		if (!is_object(before) || strlen(before->path) != n ||
		    strncmp(before->path, f->path, n) != 0)
			fail_msg("%s does not follow its object", f->path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_fields),
		cmocka_unit_test(test_near_miss),
		cmocka_unit_test(test_members_follow_their_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
