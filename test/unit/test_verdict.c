#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "controller/verdict.h"
#include "test/lib/rules_table.h"

/* A fleet that runs `running`, whose app is the sound one with this change, and what becomes of it. */
struct scene {
	const char *change;
	struct version running[3]; /* of pods; the first one is the template's too */
	bool unread;		   /* a pod more whose version nobody can read */
	bool stopped;		   /* no pod, replicas 0 */
	bool fleet_durability;	   /* of the template */
	bool claims;		   /* the StatefulSet has them */
	struct version to;
};

static struct verdict judge(const struct scene *s)
{
	cleanup_workerapp struct workerapp *app = rules_app(s->change ? s->change : "{}");
	struct fleet_sts sts = { .exists = true,
				 .replicas = s->stopped ? 0 : 3,
				 .has_version = true,
				 .version = s->running[0],
				 .bucket_durability = !s->fleet_durability,
				 .has_claims = s->claims };
	struct fleet_pod pods[4] = { { .has_version = false } };
	struct verdict_input in = { .app = app,
				    .table = celld_table_builtin(),
				    .sts = &sts,
				    .pods = pods,
				    .template_due = true,
				    .version_known = true,
				    .version = s->to };
	struct verdict v = { .spec_valid = false };

	for (size_t i = 0; i < 3 && s->running[i].minor && !s->stopped; i++) {
		pods[in.n_pods].has_version = true;
		pods[in.n_pods++].version = s->running[i];
	}
	in.n_pods += s->unread;
	verdict_of_spec(&in, &v);
	if (!v.spec_valid)
		fail_msg("%s", v.spec_message);
	verdict_of_change(&in, &v);
	return v;
}

#define V(minor, patch)                                                                            \
	{                                                                                          \
		0, (minor), (patch)                                                                \
	}

static void allowed(const struct scene *s, bool stop_all)
{
	struct verdict v = judge(s);

	if (v.refusal.reason)
		fail_msg("%s: %s", v.refusal.reason, v.refusal.message);
	assert_int_equal(v.stop_all, stop_all);
}

static void refused(const struct scene *s, const char *reason, const char *words)
{
	struct verdict v = judge(s);

	assert_non_null(v.refusal.reason);
	assert_string_equal(v.refusal.reason, reason);
	if (!strstr(v.refusal.message, words))
		fail_msg("%s", v.refusal.message);
	assert_false(v.stop_all);
}

#define RECREATE "spec: {celld: {updateStrategy: Recreate}}"

static void what_rolls(void **state)
{
	(void)state;
	allowed(&(struct scene){ .running = { V(6, 1) }, .to = V(6, 2) }, false);
	allowed(&(struct scene){ .running = { V(6, 2) }, .to = V(6, 2) }, false);
	/* 0.5 -> 0.6 rolls while nobody's durability is `fleet` */
	allowed(&(struct scene){ .running = { V(5, 1) }, .to = V(6, 2) }, false);
	/* Recreate stops nothing that may roll */
	allowed(&(struct scene){ .change = RECREATE, .running = { V(6, 1) }, .to = V(6, 2) },
		false);
}

static void a_breaking_upgrade(void **state)
{
	const struct scene s = { .running = { V(3, 0) }, .to = V(4, 0) };
	struct scene again = s;

	(void)state;
	refused(&s, "BreakingUpgrade", "v0.3.0");
	again.change = RECREATE;
	allowed(&again, true);
	refused(&(struct scene){ .running = { V(5, 1) }, .to = V(6, 2), .fleet_durability = true },
		"BreakingUpgrade", "v0.5.1");
}

static void a_blocked_downgrade(void **state)
{
	(void)state;
	refused(&(struct scene){ .running = { V(3, 0) }, .to = V(2, 1) }, "BlockedDowngrade",
		"v0.2.1");
	refused(&(struct scene){ .change = RECREATE, .running = { V(3, 0) }, .to = V(2, 1) },
		"BlockedDowngrade", "v0.2.1");
	/* stopped or not: data is what blocks */
	refused(&(struct scene){ .running = { V(3, 0) }, .to = V(2, 1), .stopped = true },
		"BlockedDowngrade", "v0.2.1");
}

static void a_stopped_fleet_has_nobody_to_talk_to(void **state)
{
	(void)state;
	allowed(&(struct scene){ .running = { V(3, 0) }, .to = V(4, 0), .stopped = true }, false);
}

static void every_pod_counts(void **state)
{
	(void)state;
	/* two of three are on 0.4.1 already; the last one still runs 0.3 */
	refused(&(struct scene){ .running = { V(4, 1), V(4, 1), V(3, 0) }, .to = V(4, 1) },
		"BreakingUpgrade", "v0.3.0");
	/* the same version thrice is one */
	allowed(&(struct scene){ .running = { V(6, 1), V(6, 1), V(6, 1) }, .to = V(6, 2) }, false);
}

static void a_pod_that_nobody_can_read(void **state)
{
	struct scene s = { .running = { V(6, 1) }, .to = V(6, 2), .unread = true };

	(void)state;
	refused(&s, "BreakingUpgrade", "Recreate");
	s.change = RECREATE;
	allowed(&s, true);
}

static void storage_comes_and_goes_with_the_statefulset(void **state)
{
	struct scene s = { .running = { V(6, 2) }, .to = V(6, 2), .claims = true };

	(void)state;
	refused(&s, "InvalidConfiguration", "spec.storage");
	s.change = RECREATE;
	allowed(&s, true);
	s.change = "spec: {storage: {sizeGi: 10}}";
	allowed(&s, false);
	/* a Recreate has stopped it, and the strategy is Rolling again: it does not stay down for that */
	s.stopped = true;
	s.change = "{}";
	allowed(&s, false);
	s.claims = false;
	s.change = "spec: {storage: {sizeGi: 10}}";
	allowed(&s, false);
	/* what the volumes alone may hold is lost all the same */
	s.claims = s.fleet_durability = true;
	s.change = "{}";
	refused(&s, "InvalidConfiguration", "spec.storage");
}

static void nothing_is_judged_without_a_change(void **state)
{
	cleanup_workerapp struct workerapp *app = rules_app("{}");
	struct fleet_sts sts = {
		.exists = true, .replicas = 3, .has_version = true, .version = V(3, 0)
	};
	struct verdict_input in = { .app = app,
				    .table = celld_table_builtin(),
				    .sts = &sts,
				    .template_due = true,
				    .version_known = true,
				    .version = V(2, 1) };
	struct verdict v = { .spec_valid = true };

	(void)state;
	in.template_due = false;
	verdict_of_change(&in, &v);
	assert_null(v.refusal.reason);
	in.template_due = true;
	in.version_known = false;
	verdict_of_change(&in, &v);
	assert_null(v.refusal.reason);
	in.version_known = true;
	sts.exists = false;
	verdict_of_change(&in, &v);
	assert_null(v.refusal.reason);
	sts.exists = true;
	verdict_of_change(&in, &v);
	assert_string_equal(v.refusal.reason, "BlockedDowngrade");
}

static void faults_of_the_spec(void **state)
{
	cleanup_workerapp struct workerapp *app = rules_app("spec: {replicas: 0}");
	struct faults parsed = FAULTS_INIT;
	struct verdict_input in = { .app = app, .table = celld_table_builtin() };
	struct verdict v = { .spec_valid = true };

	(void)state;
	fault_add(&parsed, "type", "spec.hostnames", "", "must be a list");
	in.parse_faults = &parsed;
	verdict_of_spec(&in, &v);
	assert_false(v.spec_valid);
	assert_string_equal(v.refusal.reason, "InvalidConfiguration");
	assert_string_equal(v.refusal.message, v.spec_message);
	assert_non_null(strstr(v.spec_message, "spec.hostnames: must be a list; "));
	assert_non_null(strstr(v.spec_message, "spec.replicas: "));
	faults_done(&parsed);
}

static void a_sound_spec(void **state)
{
	cleanup_workerapp struct workerapp *app = rules_app("{}");
	struct verdict_input in = { .app = app, .table = celld_table_builtin() };
	struct verdict v = { .spec_valid = false };

	(void)state;
	verdict_of_spec(&in, &v);
	assert_true(v.spec_valid);
	assert_null(v.refusal.reason);
	assert_string_equal(v.spec_message, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_rolls),
		cmocka_unit_test(a_breaking_upgrade),
		cmocka_unit_test(a_blocked_downgrade),
		cmocka_unit_test(a_stopped_fleet_has_nobody_to_talk_to),
		cmocka_unit_test(every_pod_counts),
		cmocka_unit_test(a_pod_that_nobody_can_read),
		cmocka_unit_test(storage_comes_and_goes_with_the_statefulset),
		cmocka_unit_test(nothing_is_judged_without_a_change),
		cmocka_unit_test(faults_of_the_spec),
		cmocka_unit_test(a_sound_spec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
