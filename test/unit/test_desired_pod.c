#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static const struct json *pod(const struct json *template)
{
	return json_get(template, "spec");
}

static const struct json *celld(const struct json *template)
{
	return json_first(json_get(pod(template), "containers"));
}

static void template_annotations_are(const struct desired_input *in, const char *want)
{
	cleanup_json struct json *template = desired_pod_template(in);

	app_fixture_is(json_path(template, "metadata", "annotations", NULL), want);
}

static void template_says_what_it_runs(void **state)
{
	struct json *doc = app_fixture_doc();
	struct app_fixture f = app_fixture_with(NULL, NULL);

	(void)state;
	template_annotations_are(&f.in, "{'celld-operator.io/celld-version':'v0.6.2',"
					"'celld-operator.io/app-version':'v1'}");
	app_fixture_done(&f);
	app_fixture_edit(doc, "spec.maintenance.restartToken", "'again'");
	app_fixture_edit(doc, "spec.podAnnotations",
			 "{'x/y':'','celld-operator.io/app-version':'mine'}");
	app_fixture_edit(doc, "spec.bucket.credentialsFrom.iamRole", "'arn:aws:iam::1:role/r'");
	app_fixture_edit(doc, "spec.deploymentPolicy", "'InPlace'");
	f = app_fixture_of(doc);
	f.in.config_hash = "abc";
	template_annotations_are(&f.in,
				 "{'celld-operator.io/celld-version':'v0.6.2',"
				 "'celld-operator.io/app-version':'v1',"
				 "'celld-operator.io/config-hash':'abc',"
				 "'celld-operator.io/restart-token':'again',"
				 "'celld-operator.io/identity':'arn:aws:iam::1:role/r','x/y':''}");
	app_fixture_done(&f);
}

static void labels_are_ours_whatever_the_user_says(void **state)
{
	struct app_fixture f = app_fixture_with("spec.podLabels",
						"{'team':'a','celld-operator.io/workerapp':'other',"
						"'app.kubernetes.io/name':'other'}");
	cleanup_json struct json *template = desired_pod_template(&f.in);

	(void)state;
	app_fixture_is(
		json_path(template, "metadata", "labels", NULL),
		"{'team':'a','celld-operator.io/workerapp':'shop','app.kubernetes.io/name':'celld',"
		"'app.kubernetes.io/instance':'shop','app.kubernetes.io/"
		"managed-by':'celld-operator',"
		"'app.kubernetes.io/component':'fleet'}");
	app_fixture_done(&f);
}

static void probes_and_grace_follow_the_version(void **state)
{
	static const struct {
		struct version version;
		const char *path;
		int64_t grace;
	} cases[] = {
		{ { 0, 1, 0 }, "/__celld/health", 40 },
		{ { 0, 3, 0 }, "/__celld/health", 40 },
		{ { 0, 4, 0 }, "/.well-known/celld/health", 60 },
		{ { 0, 6, 2 }, "/.well-known/celld/health", 60 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct app_fixture f = app_fixture_with(NULL, NULL);
		cleanup_json struct json *template = NULL;
		int64_t grace = 0, period = 0, failures = 0;
		const struct json *c;

		f.in.version = cases[i].version;
		template = desired_pod_template(&f.in);
		c = celld(template);
		assert_string_equal(
			json_str(json_path(c, "readinessProbe", "httpGet", "path", NULL)),
			cases[i].path);
		assert_true(json_get_int(pod(template), "terminationGracePeriodSeconds", &grace));
		assert_int_equal(grace, cases[i].grace);
		app_fixture_is(json_path(c, "livenessProbe", "tcpSocket", NULL), "{'port':8080}");
		app_fixture_is(json_path(c, "startupProbe", "tcpSocket", NULL), "{'port':8080}");
		assert_true(json_get_int(json_get(c, "startupProbe"), "periodSeconds", &period));
		assert_true(
			json_get_int(json_get(c, "startupProbe"), "failureThreshold", &failures));
		assert_int_equal(period * failures, 600);
		assert_int_equal(json_len(json_get(c, "ports")),
				 cases[i].version.minor == 1 ? 1 : 2);
		app_fixture_done(&f);
	}
}

static void pod_is_locked_down(void **state)
{
	struct app_fixture f = app_fixture_with(NULL, NULL);
	cleanup_json struct json *template = desired_pod_template(&f.in);

	(void)state;
	app_fixture_is(json_get(pod(template), "securityContext"),
		       "{'runAsNonRoot':true,'runAsUser':10001,'runAsGroup':10001,'fsGroup':10001,"
		       "'seccompProfile':{'type':'RuntimeDefault'}}");
	app_fixture_is(json_get(celld(template), "securityContext"),
		       "{'allowPrivilegeEscalation':false,'readOnlyRootFilesystem':true,"
		       "'capabilities':{'drop':['ALL']}}");
	app_fixture_is(json_get(pod(template), "automountServiceAccountToken"), "false");
	app_fixture_is(json_get(pod(template), "enableServiceLinks"), "false");
	app_fixture_is(json_get(pod(template), "volumes"),
		       "[{'name':'data','emptyDir':{}},{'name':'tmp','emptyDir':{}}]");
	app_fixture_is(
		json_get(celld(template), "volumeMounts"),
		"[{'name':'data','mountPath':'/var/lib/celld'},{'name':'tmp','mountPath':'/tmp'}]");
	app_fixture_done(&f);
}

static void vars_are_a_file_of_their_own(void **state)
{
	struct app_fixture f = app_fixture_with("spec.vars", "{'secretRef':'v'}");
	cleanup_json struct json *template = NULL;

	(void)state;
	f.in.version = (struct version){ 0, 4, 1 };
	template = desired_pod_template(&f.in);
	app_fixture_is(json_item(json_get(pod(template), "volumes"), 2),
		       "{'name':'vars','secret':{'secretName':'v','defaultMode':288,"
		       "'items':[{'key':'vars.env','path':'vars.env'}]}}");
	app_fixture_is(json_item(json_get(celld(template), "volumeMounts"), 2),
		       "{'name':'vars','mountPath':'/etc/celld','readOnly':true}");
	f.in.version = (struct version){ 0, 6, 2 };
	json_free(take(template));
	template = desired_pod_template(&f.in);
	assert_int_equal(json_len(json_get(pod(template), "volumes")), 2);
	assert_int_equal(json_len(json_get(celld(template), "volumeMounts")), 2);
	app_fixture_done(&f);
}

static void resources_cap_memory_and_disk_but_not_cpu(void **state)
{
	struct app_fixture f = app_fixture_with(
		"spec.resources", "{'cpuMillis':2000,'memoryGi':1024,'ephemeralStorageGi':20}");
	cleanup_json struct json *template = desired_pod_template(&f.in);

	(void)state;
	app_fixture_is(json_get(celld(template), "resources"),
		       "{'requests':{'cpu':'2','memory':'1Ti','ephemeral-storage':'20Gi'},"
		       "'limits':{'memory':'1Ti','ephemeral-storage':'20Gi'}}");
	app_fixture_done(&f);
}

#define TERM(key)                                                                                  \
	"{'labelSelector':{'matchLabels':{'celld-operator.io/"                                     \
	"workerapp':'shop'}},'topologyKey':'" key "'}"
#define HOST TERM("kubernetes.io/hostname")
#define ZONE TERM("topology.kubernetes.io/zone")
#define WISH                                                                                       \
	"'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'podAffinityTerm':" HOST \
	"}]"
#define MUST "'requiredDuringSchedulingIgnoredDuringExecution':"

static void members_are_kept_apart(void **state)
{
	static const struct {
		const char *storage, *scheduling, *want;
	} cases[] = {
		{ NULL, NULL, "{" WISH "}" },
		{ "{'sizeGi':1}", NULL, "{" MUST "[" HOST "]}" },
		{ NULL, "{'spreadAcrossZones':true}", "{" MUST "[" ZONE "]," WISH "}" },
		{ "{'sizeGi':1}", "{'spreadAcrossZones':true}", "{" MUST "[" HOST "," ZONE "]}" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct app_fixture f = app_fixture_with2("spec.storage", cases[i].storage,
							 "spec.scheduling", cases[i].scheduling);
		cleanup_json struct json *template = desired_pod_template(&f.in);

		app_fixture_is(json_path(pod(template), "affinity", "podAntiAffinity", NULL),
			       cases[i].want);
		app_fixture_done(&f);
	}
}

static void scheduling_is_passed_on_as_stored(void **state)
{
	struct json *doc = app_fixture_doc();
	struct app_fixture f;
	cleanup_json struct json *template = NULL;

	(void)state;
	app_fixture_edit(
		doc, "spec.scheduling",
		"{'nodeSelector':{'pool':'','zone':'a'},'priorityClassName':'high','tolerations':"
		"[{'key':'spot','operator':'Exists','value':'','effect':''}]}");
	app_fixture_edit(doc, "spec.celld.imagePullSecrets", "[{'name':'b'},{'name':'a'}]");
	app_fixture_edit(doc, "spec.celld.imagePullPolicy", "'Always'");
	f = app_fixture_of(doc);
	template = desired_pod_template(&f.in);
	app_fixture_is(json_get(pod(template), "nodeSelector"), "{'pool':'','zone':'a'}");
	app_fixture_is(json_get(pod(template), "tolerations"),
		       "[{'key':'spot','operator':'Exists'}]");
	app_fixture_is(json_get(pod(template), "priorityClassName"), "'high'");
	app_fixture_is(json_get(pod(template), "imagePullSecrets"), "[{'name':'b'},{'name':'a'}]");
	app_fixture_is(json_get(celld(template), "imagePullPolicy"), "'Always'");
	app_fixture_done(&f);
	f = app_fixture_with("spec.scheduling", "{'nodeSelector':{},'tolerations':[]}");
	json_free(take(template));
	template = desired_pod_template(&f.in);
	assert_null(json_get(pod(template), "nodeSelector"));
	assert_null(json_get(pod(template), "tolerations"));
	assert_null(json_get(celld(template), "imagePullPolicy"));
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(template_says_what_it_runs),
		cmocka_unit_test(labels_are_ours_whatever_the_user_says),
		cmocka_unit_test(probes_and_grace_follow_the_version),
		cmocka_unit_test(pod_is_locked_down),
		cmocka_unit_test(vars_are_a_file_of_their_own),
		cmocka_unit_test(resources_cap_memory_and_disk_but_not_cpu),
		cmocka_unit_test(members_are_kept_apart),
		cmocka_unit_test(scheduling_is_passed_on_as_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
