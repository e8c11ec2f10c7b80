#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "controller/verdict.h"
#include "test/lib/app_fixture.h"

/* Three pods of one version, whose StatefulSet asks for another change. */
struct fixture {
	struct app_fixture app;
	struct fleet_sts sts;
	struct fleet_pod pods[3];
	struct verdict_input in;
	struct verdict got;
};

static struct version ver(const char *s)
{
	struct version v = { 0 };

	assert_true(version_read(s, &v));
	return v;
}

/* Every pod, and the template, are of `runs`. */
static struct fixture fleet(const char *runs, const char *asked)
{
	struct fixture f = { .app = app_fixture_with(NULL, NULL) };

	f.sts = (struct fleet_sts){ .exists = true,
				    .replicas = 3,
				    .has_version = true,
				    .version = ver(runs),
				    .bucket_durability = true };
	for (size_t i = 0; i < array_len(f.pods); i++)
		f.pods[i] = (struct fleet_pod){ .ordinal = (int)i,
						.has_version = true,
						.version = ver(runs) };
	f.in = (struct verdict_input){ .table = celld_table_builtin(),
				       .n_pods = array_len(f.pods),
				       .template_due = true,
				       .version_known = true,
				       .version = ver(asked) };
	return f;
}

static const char *judge(struct fixture *f)
{
	f->in.app = f->app.app;
	f->in.sts = &f->sts;
	f->in.pods = f->pods;
	f->got = (struct verdict){ .spec_valid = true };
	verdict_of_change(&f->in, &f->got);
	return f->got.refusal.reason;
}

static void done(struct fixture *f)
{
	app_fixture_done(&f->app);
}

static void test_rolls(void **state)
{
	struct fixture f = fleet("0.6.1", "0.6.2");

	(void)state;
	assert_null(judge(&f));
	assert_false(f.got.stop_all);
	done(&f);
}

/*
 * From 0.1.0 nothing rolls. Every pod of a roll may be replaced before the StatefulSet's current revision moves on,
 * and a pod that is lost under a frozen newer template comes back on that.
 */
static void test_current_revision_counts(void **state)
{
	struct fixture f = fleet("0.2.0", "0.2.1");

	(void)state;
	assert_null(judge(&f));
	f.sts.has_current_version = true;
	f.sts.current_version = ver("0.1.0");
	assert_string_equal(judge(&f), "BreakingUpgrade");
	assert_non_null(strstr(f.got.refusal.message, "v0.1.0"));
	f.sts.current_version = ver("0.2.0");
	assert_null(judge(&f));
	/* what has no replicas does not come back */
	f.sts.current_version = ver("0.1.0");
	f.sts.replicas = 0;
	assert_null(judge(&f));
	done(&f);
}

/* One unreadable among several: what is known decides when it is stricter, else nothing may meet. */
static void test_unreadable_among_several(void **state)
{
	struct fixture f = fleet("0.6.1", "0.6.2");

	(void)state;
	f.pods[1].has_version = false;
	assert_string_equal(judge(&f), "BreakingUpgrade");
	f.app.app->strategy = STRATEGY_RECREATE;
	assert_null(judge(&f));
	assert_true(f.got.stop_all);
	done(&f);
	f = fleet("0.3.0", "0.2.1");
	f.app.app->strategy = STRATEGY_RECREATE;
	f.pods[0].has_version = false;
	assert_string_equal(judge(&f), "BlockedDowngrade");
	done(&f);
}

/* A template that does not tell counts, though no pod of it exists (yet). */
static void test_unreadable_template(void **state)
{
	struct fixture f = fleet("0.6.1", "0.6.2");

	(void)state;
	f.sts.has_version = false;
	f.in.n_pods = 0;
	assert_string_equal(judge(&f), "BreakingUpgrade");
	f.sts.replicas = 0; /* nothing runs, nothing comes */
	assert_null(judge(&f));
	done(&f);
}

/*
 * Somebody has deleted the StatefulSet and left its pods: they tell what runs, and there is no template that could
 * not.
 */
static void test_orphans_alone(void **state)
{
	struct fixture f = fleet("0.6.1", "0.6.2");

	(void)state;
	fleet_read_sts(NULL, &f.sts);
	assert_null(judge(&f));
	f.pods[1].version = ver("0.1.0");
	assert_string_equal(judge(&f), "BreakingUpgrade");
	done(&f);
}

static void test_durability_leaves_fleet_at_once(void **state)
{
	struct fixture f = fleet("0.6.2", "0.6.2");

	(void)state;
	f.sts.bucket_durability = false;
	f.app.app->durability = DURABILITY_FLEET;
	assert_null(judge(&f));
	f.app.app->durability = DURABILITY_BUCKET;
	assert_string_equal(judge(&f), "InvalidConfiguration");
	assert_non_null(strstr(f.got.refusal.message, "spec.durability"));
	f.app.app->strategy = STRATEGY_RECREATE;
	assert_null(judge(&f));
	assert_true(f.got.stop_all);
	done(&f);
}

static void test_storage(void **state)
{
	struct fixture f = fleet("0.6.2", "0.6.2");

	(void)state;
	f.sts.has_claims = true;
	assert_string_equal(judge(&f), "InvalidConfiguration");
	f.app.app->strategy = STRATEGY_RECREATE;
	assert_null(judge(&f));
	assert_true(f.got.stop_all);
	/* writes that are on the volumes alone */
	f.sts.bucket_durability = false;
	assert_string_equal(judge(&f), "InvalidConfiguration");
	done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rolls),
		cmocka_unit_test(test_current_revision_counts),
		cmocka_unit_test(test_unreadable_among_several),
		cmocka_unit_test(test_unreadable_template),
		cmocka_unit_test(test_orphans_alone),
		cmocka_unit_test(test_durability_leaves_fleet_at_once),
		cmocka_unit_test(test_storage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
