#include "cli/render.h"

#include <string.h>

#include "cli/input.h"
#include "common/buf.h"
#include "common/celld/image.h"
#include "common/celld/table_load.h"
#include "common/flags.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "common/store_rules.h"
#include "common/workerapp_rules.h"
#include "common/yaml.h"
#include "controller/desired.h"
#include "controller/desired_route.h"

enum { OWN_FLAGS = 8 }; /* the rows of render() alone */

struct options {
	struct strlist files;
	const char *namespace, *app_version, *operator_namespace, *table;
	struct desired_flags around;
	bool ipv6, istio, help;
};

struct run {
	struct options o;
	struct celld_table loaded; /* of --compat-table */
	const struct celld_table *table;
	struct input objects;
	FILE *in, *out, *err;
};

static int usage(const struct run *run, const char *message)
{
	fprintf(run->err, "kubectl-celld render: %s\n", message);
	return EXIT_USAGE;
}

/* One line about an app: names and values come from a file and may go to a terminal. */
static void tell(const struct run *run, const struct workerapp *app, const char *what,
		 const char *text)
{
	cleanup(freep) char *line =
		xasprintf("%s/%s: %s: %s", app->namespace ? app->namespace : run->o.namespace,
			  app->name ? app->name : "(no name)", what, text);

	for (const char *s = line; *s; s++)
		(void)fputc((unsigned char)*s < ' ' || *s == 127 ? '?' : *s, run->err);
	(void)fputc('\n', run->err);
}

static bool is_kind(const struct json *doc, const char *kind)
{
	const char *api = json_get_str(doc, "apiVersion"), *is = json_get_str(doc, "kind");

	return api && is && str_eq(api, WORKERAPP_API) && str_eq(is, kind);
}

static const char *own(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return str_empty(s) ? NULL : s;
}

/* A store is looked for among the documents of the same input. */
static bool find_store(const struct run *run, const struct workerapp *app, struct wa_bucket *ret)
{
	for (size_t i = 0; i < run->objects.n; i++) {
		const struct json *doc = run->objects.v[i].value;
		const struct json *metadata = json_get(doc, "metadata");
		const char *name = own(metadata, "name"), *ns = own(metadata, "namespace");

		if (is_kind(doc, "CelldObjectStore") && name && str_eq(name, app->store_ref) &&
		    str_eq(ns ? ns : run->o.namespace, desired_namespace(app))) {
			store_read(doc, ret);
			return true;
		}
	}
	return false;
}

static int refuse(const struct run *run, const struct workerapp *app, const struct faults *faults)
{
	for (size_t i = 0; i < faults->n; i++)
		tell(run, app, faults->v[i].path, faults->v[i].message);
	return EXIT_REFUSED;
}

static int print(const struct run *run, const struct desired_input *in)
{
	cleanup_json struct json *all = desired_all(in, run->o.istio);

	for (const struct json *c = json_first(all); c; c = json_next(c)) {
		struct buf text = BUF_INIT(LIMIT_MANIFEST_FILE);

		yaml_print(c, &text);
		fprintf(run->out, "---\n%s", buf_str(&text));
		buf_done(&text);
	}
	return EXIT_FINE;
}

/* An app that follows its bucket expects a version that only the bucket tells. */
static int render_app(const struct run *run, const struct workerapp *app, struct faults *faults)
{
	struct desired_input in = {
		.app = app,
		.table = run->table,
		.app_version = app->app_version,
		.operator_namespace = run->o.operator_namespace,
		.ipv6 = run->o.ipv6,
		.flags = &run->o.around,
		.retry_served = true,
	};
	struct rules_facts facts = { .table = run->table };
	struct strlist warnings = STRLIST_INIT;
	struct wa_bucket store = { .name = NULL };

	workerapp_rules(app, NULL, &facts, faults, &warnings);
	for (size_t i = 0; i < warnings.n; i++)
		fprintf(run->err, "%s/%s: warning: %s\n", app->namespace, app->name, warnings.v[i]);
	strlist_done(&warnings);
	if (app->store_ref && !find_store(run, app, &store))
		fault_add(faults, "store-missing", "spec.storeRef.name", app->store_ref,
			  "no CelldObjectStore %s is in the input; add its document to the files",
			  app->store_ref);
	if (faults->n)
		return refuse(run, app, faults);
	if (app->store_ref)
		in.store = &store;
	if (app->app_version_auto)
		in.app_version = run->o.app_version;
	(void)image_celld_version(app->image, app->celld_version, &in.version);
	if (route_refusal(&in))
		tell(run, app, "no route", route_refusal(&in));
	return print(run, &in);
}

static int render_doc(const struct run *run, const struct json *doc)
{
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = NULL;
	struct json *copy = json_dup(doc);
	struct err e = ERR_INIT;
	int r;

	input_give_namespace(copy, run->o.namespace);
	r = workerapp_parse(copy, &faults, &app, &e);
	if (r) {
		fprintf(run->err, "kubectl-celld render: %s\n", e.message);
		r = EXIT_REFUSED;
	} else {
		r = render_app(run, app, &faults);
		workerapp_free(app);
	}
	faults_done(&faults);
	return r;
}

static int render_all(const struct run *run)
{
	size_t apps = 0;
	int worst = EXIT_FINE;

	for (size_t i = 0; i < run->objects.n; i++) {
		int r;

		if (!is_kind(run->objects.v[i].value, "WorkerApp"))
			continue;
		apps++;
		r = render_doc(run, run->objects.v[i].value);
		if (r > worst)
			worst = r;
	}
	return apps ? worst : usage(run, "no WorkerApp is in the input");
}

static int read_table(struct run *run, struct err *e)
{
	cleanup(freep) char *text = NULL;
	int r;

	run->table = celld_table_builtin();
	if (str_empty(run->o.table))
		return 0;
	run->table = &run->loaded;
	r = file_read(run->o.table, LIMIT_CONFIG_FILE, &text, e);
	return r ? r : celld_table_load(text, strlen(text), run->o.table, &run->loaded, e);
}

/* Everything is read before the first line is printed. */
static int read_and_render(struct run *run)
{
	struct err e = ERR_INIT;
	int r = read_table(run, &e);

	for (size_t i = 0; !r && i < run->o.files.n; i++)
		r = input_read(&run->objects, run->o.files.v[i], run->in, &e);
	return r ? usage(run, e.message) : render_all(run);
}

static void print_help(const struct flag *flags, size_t n, FILE *to)
{
	fputs("Usage: kubectl celld render -f FILE...\n\n"
	      "Prints every object that the controller would make of each WorkerApp, as a fleet\n"
	      "starts: at rest and of its first size. Exit status: 0; 1 an app is refused; 2 "
	      "usage\n"
	      "or a file that cannot be read.\n\n",
	      to);
	flags_help(flags, n, to);
}

static int render(struct run *run, int argc, char **argv)
{
	struct flag flags[OWN_FLAGS + DESIRED_FLAGS] = {
		{ .name = "filename",
		  .letter = 'f',
		  .kind = FLAG_LIST,
		  .to = &run->o.files,
		  .placeholder = "FILE",
		  .help = "WorkerApps and the stores they name, YAML or JSON; - is standard "
			  "input" },
		{ .name = "namespace",
		  .letter = 'n',
		  .kind = FLAG_STRING,
		  .to = &run->o.namespace,
		  .fallback = "default",
		  .help = "namespace of documents that name none" },
		{ .name = "app-version",
		  .kind = FLAG_STRING,
		  .to = &run->o.app_version,
		  .fallback = "auto",
		  .help = "the version that the bucket holds, for apps with appVersion: auto" },
		{ .name = "operator-namespace",
		  .kind = FLAG_STRING,
		  .to = &run->o.operator_namespace,
		  .fallback = "celld-operator-system",
		  .help = "namespace of the operator, which may reach the internal port" },
		{ .name = "ipv6",
		  .kind = FLAG_BOOL,
		  .to = &run->o.ipv6,
		  .help = "the cluster gives pods IPv6 addresses" },
		{ .name = "istio",
		  .kind = FLAG_BOOL,
		  .to = &run->o.istio,
		  .help = "the cluster has Istio: the mesh policy is made too" },
		{ .name = "compat-table",
		  .kind = FLAG_STRING,
		  .to = &run->o.table,
		  .placeholder = "FILE",
		  .help = "facts of celld's releases, in place of those compiled in" },
		{ .name = "help",
		  .letter = 'h',
		  .kind = FLAG_BOOL,
		  .to = &run->o.help,
		  .help = "show this text" },
	};
	struct err e = ERR_INIT;
	int rest = 0;

	desired_flags_rows(&run->o.around, flags + OWN_FLAGS);
	if (flags_parse(flags, array_len(flags), argc, argv, &rest, &e))
		return usage(run, e.message);
	if (run->o.help) {
		print_help(flags, array_len(flags), run->out);
		return EXIT_FINE;
	}
	for (; rest < argc; rest++)
		strlist_add(&run->o.files, argv[rest]);
	if (!run->o.files.n)
		return usage(run, "no file; write -f FILE, or -f - for standard input");
	return read_and_render(run);
}

int render_run(int argc, char **argv, FILE *in, FILE *out, FILE *err)
{
	struct run *run = xcalloc(1, sizeof(*run)); /* too large for a stack frame */
	int status;

	run->in = in;
	run->out = out;
	run->err = err;
	status = render(run, argc, argv);
	strlist_done(&run->o.files);
	desired_flags_done(&run->o.around);
	input_done(&run->objects);
	freep(&run);
	return status;
}

int render_main(int argc, char **argv)
{
	return render_run(argc, argv, stdin, stdout, stderr);
}
