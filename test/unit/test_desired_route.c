#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "controller/desired_route.h"
#include "test/lib/app_fixture.h"

static struct desired_flags flags;

static struct app_fixture fixture(const char *spec)
{
	struct json *doc = app_fixture_doc();
	cleanup_json struct json *more = app_fixture_json(spec);
	struct app_fixture f;

	for (const struct json *m = json_first(more); m; m = json_next(m))
		json_set(json_get_mutable(doc, "spec"), json_name(m), json_dup(m));
	f = app_fixture_of(doc);
	f.in.flags = &flags;
	return f;
}

static int begin(void **state)
{
	(void)state;
	desired_flags_init(&flags);
	return 0;
}

static int end(void **state)
{
	(void)state;
	desired_flags_done(&flags);
	return 0;
}

static void mode_is(const char *flag, const char *spec, enum route_mode want)
{
	struct app_fixture f = fixture(spec);

	flags.ingress_mode = flag;
	assert_int_equal(route_mode_of(&f.in), want);
	app_fixture_done(&f);
}

static void the_app_overrides_the_flag(void **state)
{
	(void)state;
	mode_is("httproute", "{}", ROUTE_NONE);
	mode_is("httproute", "{'hostnames':['a.b']}", ROUTE_HTTPROUTE);
	mode_is("ingress", "{'hostnames':['a.b']}", ROUTE_INGRESS);
	mode_is("virtualservice", "{'hostnames':['a.b']}", ROUTE_VIRTUALSERVICE);
	mode_is("none", "{'hostnames':['a.b']}", ROUTE_NONE);
	mode_is("none", "{'hostnames':['a.b'],'ingress':{'ingressClass':'nginx'}}", ROUTE_INGRESS);
	mode_is("ingress", "{'hostnames':['a.b'],'ingress':{'gatewayRefs':[{'name':'g'}]}}",
		ROUTE_HTTPROUTE);
	mode_is("none", "{'ingress':{'ingressClass':'nginx'}}", ROUTE_NONE);
}

static void url_is(const char *spec, const char *want)
{
	struct app_fixture f = fixture(spec);
	cleanup(freep) char *got = route_url(&f.in);

	assert_string_equal(got ? got : "", want);
	app_fixture_done(&f);
}

static void the_url_is_that_of_the_first_plain_name(void **state)
{
	(void)state;
	flags.ingress_mode = "httproute";
	url_is("{'hostnames':['*.b.c','a.b.c']}", "https://a.b.c/");
	url_is("{'hostnames':['*.b.c']}", "");
	url_is("{'hostnames':['a.b'],'ingress':{'path':'/api/'}}", "https://a.b/api");
	url_is("{'hostnames':['a.b'],'ingress':{'ingressClass':'nginx'}}", "http://a.b/");
	url_is("{'hostnames':['a.b'],'ingress':{'ingressClass':'nginx','tlsSecretName':'t'}}",
	       "https://a.b/");
	flags.cluster_issuer = "letsencrypt";
	url_is("{'hostnames':['a.b'],'ingress':{'ingressClass':'nginx'}}", "https://a.b/");
}

static void refusal_is(const char *spec, const char *part)
{
	struct app_fixture f = fixture(spec);
	const char *got = route_refusal(&f.in);
	cleanup_json struct json *route = desired_route(&f.in);

	if (part) {
		assert_non_null(got);
		assert_non_null(strstr(got, part));
	} else {
		assert_null(got);
	}
	assert_int_equal(route == NULL, part != NULL);
	app_fixture_done(&f);
}

static void what_a_way_cannot_express_is_refused(void **state)
{
	static const char strip[] =
		"{'hostnames':['a.b'],'ingress':{'path':'/x','stripPrefix':true}}";

	(void)state;
	flags.ingress_mode = "ingress";
	refusal_is(strip, "stripPrefix");
	flags.ingress_class = "traefik";
	refusal_is(strip, "stripPrefix");
	flags.ingress_class = "nginx-internal";
	refusal_is(strip, NULL);
	flags.ingress_class = "traefik";
	refusal_is("{'hostnames':['a.b'],'ingress':{'path':'/','stripPrefix':true}}", NULL);
	flags.ingress_mode = "httproute";
	refusal_is(strip, NULL);
	flags.ingress_mode = "virtualservice";
	refusal_is(strip, "--istio-gateways");
	strlist_add(&flags.istio_gateways, "infra/edge");
	refusal_is(strip, NULL);
}

static void only_hostnames_that_are_its_own_are_routed(void **state)
{
	struct app_fixture f = fixture("{'hostnames':['a.b','c.d']}");
	struct strlist own = STRLIST_INIT;
	struct json *route;

	(void)state;
	f.in.hostnames = &own;
	assert_null(desired_route(&f.in));
	strlist_add(&own, "c.d");
	route = desired_route(&f.in);
	app_fixture_is(json_path(route, "spec", "hostnames", NULL), "['c.d']");
	json_free(route);
	strlist_done(&own);
	app_fixture_done(&f);
}

/* The field is dropped, or refused, where the schema does not have it. */
static void retries_are_asked_for_where_they_are_served(void **state)
{
	struct app_fixture f = fixture("{'hostnames':['a.b']}");

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct json *route;

		flags.httproute_retries = i & 1;
		f.in.retry_served = i & 2;
		route = desired_route(&f.in);
		app_fixture_is(json_get(json_first(json_path(route, "spec", "rules", NULL)),
					"backendRefs"),
			       "[{'group':'','kind':'Service','name':'shop-celld','port':8080,"
			       "'weight':1}]");
		assert_int_equal(json_get(json_first(json_path(route, "spec", "rules", NULL)),
					  "retry") != NULL,
				 i == 3);
		json_free(route);
	}
	app_fixture_done(&f);
}

/* With one listener for both, a policy would close the public port. */
static void the_first_celld_has_no_internal_port_to_guard(void **state)
{
	struct app_fixture f = fixture("{}");

	(void)state;
	f.in.version = (struct version){ 0, 1, 0 };
	assert_null(desired_authorization_policy(&f.in));
	app_fixture_done(&f);
}

static void a_pause_is_one_annotation(void **state)
{
	struct app_fixture f = fixture("{'autoscaling':{'enabled':true}}");
	struct json *so = desired_scaled_object(&f.in, true);

	(void)state;
	app_fixture_is(json_path(so, "metadata", "annotations", NULL),
		       "{'autoscaling.keda.sh/paused':'true'}");
	json_free(so);
	so = desired_scaled_object(&f.in, false);
	assert_null(json_path(so, "metadata", "annotations", NULL));
	json_free(so);
	app_fixture_done(&f);
	f = fixture("{'autoscaling':{'enabled':false}}");
	assert_null(desired_scaled_object(&f.in, false));
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_app_overrides_the_flag, begin, end),
		cmocka_unit_test_setup_teardown(the_url_is_that_of_the_first_plain_name, begin,
						end),
		cmocka_unit_test_setup_teardown(what_a_way_cannot_express_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(only_hostnames_that_are_its_own_are_routed, begin,
						end),
		cmocka_unit_test_setup_teardown(retries_are_asked_for_where_they_are_served, begin,
						end),
		cmocka_unit_test_setup_teardown(the_first_celld_has_no_internal_port_to_guard,
						begin, end),
		cmocka_unit_test_setup_teardown(a_pause_is_one_annotation, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
