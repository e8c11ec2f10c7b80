#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "controller/tell.h"
#include "test/lib/app_fixture.h"
#include "test/lib/script.h"

/* store/shop with a StatefulSet and the pods 0 and 2. */
struct fixture {
	struct script *server;
	struct kube_config *config;
	struct app_fixture app;
	struct reconcile_opts o;
	struct fleet_pod pods[2];
	struct turn t;
};

static const struct tell what = { true, "Why", "Do", "text" };

static void start(struct fixture *f)
{
	static const struct script_step steps[] = {
		{ .want = "POST /apis/events.k8s.io/v1/namespaces/store/events",
		  .status = 201,
		  .body = "{}",
		  .again = true },
	};
	struct kube_client_opts client = { .qps = 0 };
	struct event_opts events = { .controller = "c", .instance = "i" };

	*f = (struct fixture){ .app = app_fixture_with(NULL, NULL) };
	f->server = script_start(steps, array_len(steps), NULL);
	f->config = kube_config_plain(script_url(f->server), NULL);
	client.config = f->config;
	events.client = f->o.client = kube_client_new(&client);
	f->o.events = event_recorder_new(&events);
	f->pods[0] = (struct fleet_pod){ .name = "shop-celld-0", .uid = "p-0", .ordinal = 0 };
	f->pods[1] = (struct fleet_pod){ .name = "shop-celld-2", .uid = "p-2", .ordinal = 2 };
	f->t = (struct turn){ .o = &f->o,
			      .app = f->app.app,
			      .facts = { .exists = true, .uid = "s-1", .resource_version = "7" },
			      .pods = f->pods,
			      .n_pods = 2 };
	f->t.name = desired_name(f->app.app);
}

/* Whom the Events were about: "WorkerApp/shop/u-1 Pod/shop-celld-2/p-2 ". */
static void stop(struct fixture *f, const char *want)
{
	struct buf told = BUF_INIT(4096);

	assert_int_equal(event_flush(f->o.events, 100), 0);
	for (size_t i = 0; i < script_count(f->server); i++) {
		const char *body = script_request(f->server, i)->body;
		cleanup_json struct json *j = NULL;
		struct err e = ERR_INIT;
		const struct json *about;

		assert_int_equal(json_parse(body, strlen(body), &j, &e), 0);
		about = json_get(j, "regarding");
		buf_printf(&told, "%s/%s/%s ", json_get_str(about, "kind"),
			   json_get_str(about, "name"), json_get_str(about, "uid"));
		assert_string_equal(json_get_str(j, "reason"), "Why");
		assert_string_equal(json_get_str(j, "type"), "Warning");
	}
	assert_string_equal(buf_str(&told), want);
	buf_done(&told);
	free(f->t.name);
	event_recorder_free(f->o.events);
	kube_client_free(f->o.client);
	kube_config_free(f->config);
	script_stop(f->server);
	app_fixture_done(&f->app);
}

static void the_app_alone(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	tell_app(&f.t, &what);
	stop(&f, "WorkerApp/shop/u-1 ");
}

static void the_statefulset_too(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	tell_workload(&f.t, &what);
	stop(&f, "WorkerApp/shop/u-1 StatefulSet/shop-celld/s-1 ");
	start(&f);
	f.t.facts.exists = false; /* it is about to be made */
	tell_workload(&f.t, &what);
	stop(&f, "WorkerApp/shop/u-1 ");
}

static void the_pod_too(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	tell_pod(&f.t, 2, &what);
	stop(&f, "WorkerApp/shop/u-1 Pod/shop-celld-2/p-2 ");
	start(&f);
	tell_pod(&f.t, 1, &what); /* it is gone */
	stop(&f, "WorkerApp/shop/u-1 ");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_app_alone),
		cmocka_unit_test(the_statefulset_too),
		cmocka_unit_test(the_pod_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
