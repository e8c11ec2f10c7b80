#include "cli/render.h"

#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "common/celld/image.h"
#include "common/celld/table_load.h"
#include "common/flags.h"
#include "common/limits.h"
#include "common/workerapp_rules.h"
#include "common/yaml.h"
#include "controller/desired.h"

enum { EXIT_FINE, EXIT_REFUSED, EXIT_USAGE };

struct options {
	const char *file, *namespace, *app_version, *operator_namespace, *table;
	bool ipv6, help;
};

/* What one run works on: every file's documents, and where its text goes. */
struct run {
	struct options o;
	const struct celld_table *table;
	const struct yaml_docs *docs;
	FILE *out, *err;
};

static int usage(FILE *err, const char *message)
{
	fprintf(err, "kubectl-celld render: %s\n", message);
	return EXIT_USAGE;
}

static int read_stream(FILE *f, const char *path, struct buf *to, struct err *e)
{
	size_t n;

	do {
		char *room = buf_room(to, 64 << 10);

		if (!room)
			return err_set(e, ERR_TOO_LARGE, "%s: the file is too large", path);
		n = fread(room, 1, 64 << 10, f);
		buf_grew(to, n);
	} while (n);
	return ferror(f) ? err_errno(e, errno, "%s", path) : 0;
}

static int read_file(const char *path, struct buf *to, struct err *e)
{
	FILE *f;
	int r;

	if (str_eq(path, "-"))
		return read_stream(stdin, "standard input", to, e);
	f = fopen(path, "re");
	if (!f)
		return err_errno(e, errno, "%s", path);
	r = read_stream(f, path, to, e);
	(void)fclose(f);
	return r;
}

static bool is_kind(const struct json *doc, const char *kind)
{
	const char *api = json_get_str(doc, "apiVersion"), *is = json_get_str(doc, "kind");

	return api && is && str_eq(api, WORKERAPP_API) && str_eq(is, kind);
}

/* The namespace that the command line gives to documents that name none, as kubectl does. */
static void give_namespace(struct json *doc, const char *namespace)
{
	struct json *metadata = json_object_at(doc, "metadata");

	if (str_empty(json_get_str(metadata, "namespace")))
		json_set_str(metadata, "namespace", namespace);
}

static const char *own(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return str_empty(s) ? NULL : s;
}

static void read_store(const struct json *doc, struct wa_bucket *ret)
{
	const struct json *spec = json_get(doc, "spec");
	const struct json *from = json_get(spec, "credentialsFrom");

	ret->endpoint = own(spec, "endpoint");
	ret->region = own(spec, "region");
	ret->storage_account = own(spec, "storageAccount");
	ret->allow_http = json_get_bool(spec, "allowHTTP", false);
	ret->credentials.iam_role = own(from, "iamRole");
	ret->credentials.secret_ref = own(from, "secretRef");
	ret->credentials.azure_client_id = own(from, "azureClientID");
	ret->credentials.gcp_service_account = own(from, "gcpServiceAccount");
	if (!ret->credentials.secret_ref)
		ret->credentials.secret_ref = own(spec, "credentialsSecretRef");
}

/* A store is looked for among the documents of the same input. */
static bool find_store(const struct run *run, const struct workerapp *app, struct wa_bucket *ret)
{
	for (size_t i = 0; i < run->docs->n; i++) {
		const struct json *doc = run->docs->v[i].value;
		const struct json *metadata = json_get(doc, "metadata");
		const char *name = own(metadata, "name"), *ns = own(metadata, "namespace");

		if (is_kind(doc, "CelldObjectStore") && name && str_eq(name, app->store_ref) &&
		    str_eq(ns ? ns : run->o.namespace, app->namespace)) {
			read_store(doc, ret);
			return true;
		}
	}
	return false;
}

static int refuse(const struct run *run, const struct workerapp *app, const struct faults *faults)
{
	for (size_t i = 0; i < faults->n; i++)
		fprintf(run->err, "%s/%s: %s: %s\n", app->namespace, app->name, faults->v[i].path,
			faults->v[i].message);
	return EXIT_REFUSED;
}

static int print(const struct run *run, const struct desired_input *in)
{
	cleanup_json struct json *all = desired_all(in);

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
	(void)image_celld_version(app->image, app->celld_version, &in.version, NULL);
	return print(run, &in);
}

static int render_doc(const struct run *run, const struct json *doc)
{
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = NULL;
	struct json *copy = json_dup(doc);
	struct err e = ERR_INIT;
	int r;

	give_namespace(copy, run->o.namespace);
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

static int render_docs(const struct run *run)
{
	size_t apps = 0;
	int worst = EXIT_FINE;

	for (size_t i = 0; i < run->docs->n; i++) {
		int r;

		if (!is_kind(run->docs->v[i].value, "WorkerApp"))
			continue;
		apps++;
		r = render_doc(run, run->docs->v[i].value);
		if (r > worst)
			worst = r;
	}
	return apps ? worst : usage(run->err, "no WorkerApp is in the input");
}

static int render_file(struct run *run)
{
	struct buf text = BUF_INIT(LIMIT_MANIFEST_FILE);
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct err e = ERR_INIT;
	int r = read_file(run->o.file, &text, &e);

	if (!r) {
		r = yaml_parse(buf_str(&text), text.len, &docs, &e);
		if (r)
			err_wrap(&e, "%s", run->o.file);
	}
	buf_done(&text);
	if (r)
		return usage(run->err, e.message);
	run->docs = &docs;
	r = render_docs(run);
	run->docs = NULL;
	yaml_docs_done(&docs);
	return r;
}

static int load_table(const char *path, struct celld_table *ret, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_CONFIG_FILE);
	int r = read_file(path, &text, e);

	if (!r)
		r = celld_table_load(buf_str(&text), text.len, path, ret, e);
	buf_done(&text);
	return r;
}

static int with_table(struct run *run)
{
	cleanup(freep) struct celld_table *table = NULL;
	struct err e = ERR_INIT;

	run->table = celld_table_builtin();
	if (run->o.table) {
		table = xcalloc(1, sizeof(*table));
		if (load_table(run->o.table, table, &e))
			return usage(run->err, e.message);
		run->table = table;
	}
	return render_file(run);
}

int render_run(int argc, char **argv, FILE *out, FILE *err)
{
	struct run run = { .out = out, .err = err };
	const struct flag flags[] = {
		{ .name = "filename",
		  .letter = 'f',
		  .kind = FLAG_STRING,
		  .to = &run.o.file,
		  .placeholder = "FILE",
		  .help = "YAML or JSON with WorkerApps and the stores they name; - is standard "
			  "input" },
		{ .name = "namespace",
		  .letter = 'n',
		  .kind = FLAG_STRING,
		  .to = &run.o.namespace,
		  .fallback = "default",
		  .help = "namespace of documents that name none" },
		{ .name = "app-version",
		  .kind = FLAG_STRING,
		  .to = &run.o.app_version,
		  .fallback = "auto",
		  .help = "the version that the bucket holds, for apps with appVersion: auto" },
		{ .name = "operator-namespace",
		  .kind = FLAG_STRING,
		  .to = &run.o.operator_namespace,
		  .fallback = "celld-operator-system",
		  .help = "namespace of the operator, which may reach the internal port" },
		{ .name = "ipv6",
		  .kind = FLAG_BOOL,
		  .to = &run.o.ipv6,
		  .help = "the cluster gives pods IPv6 addresses" },
		{ .name = "compat-table",
		  .kind = FLAG_STRING,
		  .to = &run.o.table,
		  .placeholder = "FILE",
		  .help = "facts of celld's releases instead of those built in" },
		{ .name = "help",
		  .letter = 'h',
		  .kind = FLAG_BOOL,
		  .to = &run.o.help,
		  .help = "show this text" },
	};
	struct err e = ERR_INIT;
	int rest;

	if (flags_parse(flags, array_len(flags), argc, argv, &rest, &e))
		return usage(err, e.message);
	if (run.o.help) {
		fputs("usage: kubectl-celld render -f FILE [flags]\n"
		      "Prints every object that the controller would make of each WorkerApp.\n",
		      out);
		flags_help(flags, array_len(flags), out);
		return EXIT_FINE;
	}
	if (rest < argc)
		return usage(err, "render takes no argument besides flags; see --help");
	if (!run.o.file)
		return usage(err, "--filename is missing; see --help");
	return with_table(&run);
}

int render_main(int argc, char **argv)
{
	return render_run(argc, argv, stdout, stderr);
}
