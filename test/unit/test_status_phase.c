#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "controller/status.h"
#include "test/lib/app_fixture.h"

static void a_roll_keeps_its_name_to_the_end(void **state)
{
	static const struct {
		const char *before; /* NULL: no status yet */
		enum rollout_phase now;
		int partition;
		bool due, gone;
		const char *want;
	} rows[] = {
		/* the last write of a roll takes the partition to rest, and is not observed yet */
		{ "RollingOut", ROLLOUT_PENDING, ROLLOUT_REST, false, false, "RollingOut" },
		{ "RollingOut", ROLLOUT_READY, ROLLOUT_REST, false, false, "Ready" },
		{ "RollingOut", ROLLOUT_DEGRADED, ROLLOUT_REST, false, false, "Degraded" },
		{ "RollingOut", ROLLOUT_RECREATING, ROLLOUT_REST, false, false, "Recreating" },
		/* a Recreate starts its pods with partition 0, then takes it to rest */
		{ "Recreating", ROLLOUT_ROLLING_OUT, 0, false, false, "Recreating" },
		{ "Recreating", ROLLOUT_PENDING, ROLLOUT_REST, false, false, "Recreating" },
		{ "Recreating", ROLLOUT_READY, ROLLOUT_REST, false, false, "Ready" },
		/* another change meanwhile is a roll */
		{ "Recreating", ROLLOUT_ROLLING_OUT, 0, true, false, "RollingOut" },
		{ "Recreating", ROLLOUT_ROLLING_OUT, 2, false, false, "RollingOut" },
		/* who starts, or has lost a member, is pending */
		{ NULL, ROLLOUT_PENDING, ROLLOUT_REST, false, false, "Pending" },
		{ "Ready", ROLLOUT_PENDING, ROLLOUT_REST, false, false, "Pending" },
		{ "Paused", ROLLOUT_PENDING, ROLLOUT_REST, false, false, "Pending" },
		{ "Ready", ROLLOUT_ROLLING_OUT, 0, false, false, "RollingOut" },
		/* nothing is left that could roll */
		{ "RollingOut", ROLLOUT_PENDING, ROLLOUT_REST, false, true, "Pending" },
	};
	static struct rollout_obs obs;

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		cleanup(freep) char *old =
			rows[i].before ? xasprintf("{'phase':'%s'}", rows[i].before) : NULL;
		struct app_fixture f = app_fixture_with(old ? "status" : NULL, old);
		const struct rollout_decision d = { .phase = rows[i].now };
		const struct status_input in = { .app = f.app, .obs = &obs, .decision = &d };

		obs.exists = !rows[i].gone;
		obs.partition = rows[i].partition;
		obs.template_due = rows[i].due;
		assert_string_equal(status_phase(status_shown_phase(&in)), rows[i].want);
		app_fixture_done(&f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_roll_keeps_its_name_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
