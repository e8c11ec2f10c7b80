#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <cmocka.h>

#include "cli/render.h"
#include "common/base.h"
#include "common/strlist.h"

/* Runs from the top of the tree, as every test does. */
static const char golden[] = "test/golden/render";

#define QUICKSTART "test/golden/render/quickstart/in.yaml"

struct output {
	char *out, *err;
	size_t out_len, err_len;
	int status;
};

static void output_done(struct output *o)
{
	free(o->out);
	free(o->err);
}

static struct output run_list(const struct strlist *args)
{
	struct output o = { .status = -1 };
	cleanup(freep) char **argv = xcalloc(args->n + 1, sizeof(char *));
	FILE *out = open_memstream(&o.out, &o.out_len);
	FILE *err = open_memstream(&o.err, &o.err_len);

	assert_non_null(out);
	assert_non_null(err);
	memcpy(argv, args->v, args->n * sizeof(char *));
	o.status = render_run((int)args->n, argv, stdin, out, err);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(fclose(err), 0);
	return o;
}

/* "render ARGS", split at blanks. */
static struct output run(const char *args)
{
	struct strlist list = STRLIST_INIT;
	struct output o;

	strlist_add(&list, "render");
	strlist_split(&list, args, ' ');
	o = run_list(&list);
	strlist_done(&list);
	return o;
}

static char *contents(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t room = 1 << 20, n;
	char *text;

	if (!f)
		return xstrdup("");
	text = xcalloc(1, room + 1);
	n = fread(text, 1, room, f);
	assert_true(n < room);
	(void)fclose(f);
	return text;
}

static void compare(const char *name)
{
	cleanup(freep) char *in = xasprintf("-f %s/%s/in.yaml ", golden, name);
	cleanup(freep) char *args_path = xasprintf("%s/%s/args", golden, name);
	cleanup(freep) char *out_path = xasprintf("%s/%s/out.yaml", golden, name);
	cleanup(freep) char *args = contents(args_path), *want = contents(out_path), *all = NULL;
	struct output o;

	args[strcspn(args, "\n")] = '\0';
	all = xasprintf("%s%s", in, args);
	o = run(all);
	if (o.status)
		fail_msg("%s: status %d: %s", name, o.status, o.err);
	if (!str_eq(o.out, want))
		fail_msg("%s differs from what is rendered: make golden-update and git diff show "
			 "how",
			 out_path);
	output_done(&o);
}

static void every_golden_case_is_rendered_byte_for_byte(void **state)
{
	DIR *d = opendir(golden);
	size_t cases = 0;

	(void)state;
	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		compare(e->d_name);
		cases++;
	}
	(void)closedir(d);
	assert_true(cases >= 24);
}

static const char *const store_app =
	"apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\nmetadata: {name: shop}\n"
	"spec: {appVersion: v1, celld: {image: 'c:v0.6.2'}, bucket: {name: 's3://cells/a'},\n"
	"       storeRef: {name: central}}\n";
static const char *const store =
	"---\napiVersion: celld-operator.io/v1alpha1\nkind: CelldObjectStore\n"
	"metadata: {name: central}\nspec: {endpoint: 'https://store.example',\n"
	"       credentialsSecretRef: {name: central-keys}}\n";

/* A file of its own with the texts; the caller removes and frees. */
static char *written(const char *one, const char *two)
{
	char *path = xstrdup("/tmp/test_render.XXXXXX");
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	(void)fputs(one, f);
	(void)fputs(two, f);
	assert_int_equal(fclose(f), 0);
	return path;
}

static struct output run_on(const char *one, const char *two, const char *flags)
{
	cleanup(freep) char *path = written(one, two);
	cleanup(freep) char *args = xasprintf("-f %s %s", path, flags);
	struct output o = run(args);

	(void)remove(path);
	return o;
}

static void a_store_is_found_in_the_same_input(void **state)
{
	struct output o = run_on(store_app, store, "-n there");

	(void)state;
	assert_int_equal(o.status, 0);
	assert_string_equal(o.err, "");
	assert_non_null(strstr(o.out, "value: https://store.example\n"));
	assert_non_null(strstr(o.out, "name: central-keys\n"));
	assert_non_null(strstr(o.out, "namespace: there\n"));
	output_done(&o);
	o = run_on(store_app, "", "");
	assert_int_equal(o.status, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "default/shop: spec.storeRef.name: "));
	output_done(&o);
}

static void a_refused_app_is_named_with_its_fields(void **state)
{
	static const char bad[] = "apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\n"
				  "metadata: {name: shop}\nspec: {appVersion: v1, replicas: none,\n"
				  "celld: {image: c}, bucket: {name: 's3://cells/a'}}\n";
	struct output o = run_on(bad, "", "");

	(void)state;
	assert_int_equal(o.status, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "default/shop: spec.replicas: "));
	assert_non_null(strstr(o.err, "default/shop: spec.celld.image: "));
	output_done(&o);
}

static void a_nameless_app_is_refused(void **state)
{
	struct output o = run_on("apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\n",
				 "metadata: []\nspec: {}\n", "");

	(void)state;
	assert_int_equal(o.status, 1);
	assert_string_equal(o.out, "");
	output_done(&o);
}

static void an_app_without_name_or_of_another_shape_is_no_app(void **state)
{
	struct output o = run_on("apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\n",
				 "spec: 7\n", "");

	(void)state;
	assert_int_equal(o.status, 1);
	assert_string_equal(o.out, "");
	assert_true(o.err_len > 0);
	output_done(&o);
}

static void files_may_follow_the_flags(void **state)
{
	struct output o = run("-n x " QUICKSTART " test/golden/render/env/in.yaml");

	(void)state;
	assert_int_equal(o.status, 0);
	assert_non_null(strstr(o.out, "name: chat-celld\n"));
	assert_non_null(strstr(o.out, "name: shop-celld\n"));
	output_done(&o);
}

/* One bad app does not hide the others. */
static void every_app_of_the_input_is_rendered(void **state)
{
	static const char two[] = "---\napiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\n"
				  "metadata: {name: blog, namespace: b}\nspec: {appVersion: auto,\n"
				  "celld: {image: 'c:v0.6.2'}, bucket: {name: 's3://cells/b', "
				  "credentialsFrom: {secretRef: k}}}\n"
				  "---\nkind: List\napiVersion: v1\n";
	struct output o = run_on(store_app, two, "--app-version v7");

	(void)state;
	assert_int_equal(o.status, 1);
	assert_non_null(strstr(o.out, "name: blog-celld\n"));
	assert_non_null(strstr(o.out, "celld-operator.io/app-version: v7\n"));
	assert_non_null(strstr(o.err, "default/shop: spec.storeRef.name: "));
	output_done(&o);
}

static void usage_is(const char *args, const char *message)
{
	struct output o = run(args);

	assert_int_equal(o.status, 2);
	assert_string_equal(o.out, "");
	if (!strstr(o.err, message))
		fail_msg("%s: %s", args, o.err);
	output_done(&o);
}

static void bad_usage_is_one_line_and_status_2(void **state)
{
	struct output o = run_on("{}", "", "");

	(void)state;
	assert_int_equal(o.status, 2);
	assert_string_equal(o.err, "kubectl-celld render: no WorkerApp is in the input\n");
	output_done(&o);
	usage_is("", "no file; write -f FILE");
	usage_is("--nonsense", "unknown flag --nonsense");
	usage_is("-f /nowhere/x.yaml", "/nowhere/x.yaml: No such file or directory");
	usage_is("-f " QUICKSTART " --compat-table /nowhere/t.yaml", "/nowhere/t.yaml");
	usage_is("-f GNUmakefile", "GNUmakefile: line ");
	usage_is("-f " QUICKSTART " --compat-table " QUICKSTART, "in.yaml");
	usage_is("-f test", "test: Is a directory");
	o = run("--help");
	assert_int_equal(o.status, 0);
	assert_non_null(strstr(o.out, "--operator-namespace"));
	output_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_golden_case_is_rendered_byte_for_byte),
		cmocka_unit_test(a_store_is_found_in_the_same_input),
		cmocka_unit_test(a_refused_app_is_named_with_its_fields),
		cmocka_unit_test(a_nameless_app_is_refused),
		cmocka_unit_test(an_app_without_name_or_of_another_shape_is_no_app),
		cmocka_unit_test(files_may_follow_the_flags),
		cmocka_unit_test(every_app_of_the_input_is_rendered),
		cmocka_unit_test(bad_usage_is_one_line_and_status_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
