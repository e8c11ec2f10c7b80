#include "cli/validate.h"

#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/report.h"
#include "cli/stored.h"
#include "common/build_version.h"
#include "common/flags.h"
#include "common/kube/client.h"
#include "common/settings.h"
#include "common/store_rules.h"
#include "common/workerapp_defaults.h"
#include "common/workerapp_rules.h"

struct options {
	struct strlist files;
	const char *old, *output, *kubeconfig, *context, *namespace;
	struct settings_options settings;
	bool server, quiet, help;
};

/* What the cluster holds of an object; all of it owned. */
struct live {
	struct json *object;  /* NULL: nothing */
	struct strlist users; /* of a store */
};

/* What is judged; everything else is skipped. */
enum kind { APP, STORE, KINDS, OTHER = KINDS };

static const struct kube_kind kinds[KINDS] = {
	[APP] = WORKERAPP_KIND, [STORE] = OBJECT_STORE_KIND
};

struct run {
	struct options o;
	struct settings *settings;
	const struct settings_view *view;
	struct report report;
	struct input objects, olds;
	struct live *live; /* by object; NULL without --server */
	size_t count[KINDS], refused, skipped;
	bool several;
	FILE *out, *err;
};

static enum kind kind_of(const struct json *doc)
{
	const char *api = json_get_str(doc, "apiVersion"), *kind = json_get_str(doc, "kind");
	enum kind k = APP;

	if (!api || !kind || !str_starts(api, WORKERAPP_GROUP "/"))
		return OTHER;
	while (k < KINDS && !str_eq(kind, kinds[k].kind))
		k++;
	return k;
}

/* The namespace of a manifest that names none is the caller's, so it is the same for both files. */
static const char *text_of(const struct json *doc, const char *member)
{
	const char *s = json_get_str(json_get(doc, "metadata"), member);

	return s ? s : "";
}

static const struct json *find_old(const struct run *run, const struct json *doc)
{
	for (size_t i = 0; i < run->olds.n; i++) {
		const struct json *old = run->olds.v[i].value;
		const char *ns = text_of(doc, "namespace"), *old_ns = text_of(old, "namespace");

		/* `kubectl get` always tells the namespace, a manifest need not. */
		if (kind_of(old) == kind_of(doc) &&
		    str_eq(text_of(old, "name"), text_of(doc, "name")) &&
		    (!*ns || !*old_ns || str_eq(ns, old_ns)))
			return old;
	}
	return NULL;
}

/* A name comes from a file and goes to a terminal. */
static void print_safe(FILE *to, const char *s)
{
	for (; *s; s++)
		fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, to);
}

static void print_line(const struct run *run, FILE *to, const struct input_object *o,
		       const char *before, const char *path, const char *message)
{
	const char *ns = text_of(o->value, "namespace"), *name = text_of(o->value, "name");

	if (run->several) {
		fprintf(to, "%s[%zu] ", o->file, o->document);
		print_safe(to, ns);
		fputs(*ns ? "/" : "", to);
		print_safe(to, *name ? name : "(no name)");
		fputs(": ", to);
	}
	fprintf(to, "%s%s%s%s\n", before, path, *path ? ": " : "", message);
}

static void judge_app(const struct run *run, const struct workerapp *app,
		      const struct workerapp *old, struct faults *faults, struct strlist *warnings)
{
	struct rules_facts facts = { .table = run->view->table, .policy = run->view->policy };
	struct faults unknown = FAULTS_INIT, old_unknown = FAULTS_INIT;

	workerapp_rules(app, old, &facts, faults, warnings);
	workerapp_unknown_fields(app, &unknown);
	if (old)
		workerapp_unknown_fields(old, &old_unknown);
	faults_ratchet(&unknown, &old_unknown);
	faults_add_all(faults, &unknown);
	faults_done(&unknown);
	faults_done(&old_unknown);
}

static void tell(struct run *run, const struct input_object *o, const struct faults *faults,
		 const struct strlist *warnings)
{
	bool text = str_eq(run->o.output, "text");

	for (size_t i = 0; i < faults->n; i++) {
		const struct fault *f = &faults->v[i];

		if (text)
			print_line(run, run->out, o, "", f->path, f->message);
		else
			report_add(&run->report, o, f->rule, f->path, f->message);
	}
	for (size_t i = 0; !run->o.quiet && i < warnings->n; i++) {
		if (text)
			print_line(run, run->err, o, "warning: ", "", warnings->v[i]);
		else
			report_add(&run->report, o, NULL, "", warnings->v[i]);
	}
}

/*
 * The object as the webhook fills it in; the caller's. The list of what was filled before is the stored object's:
 * whoever applies a manifest without that annotation does not take it away.
 */
static struct json *filled(const struct run *run, const struct json *object,
			   const struct json *before)
{
	cleanup_json struct json *whole = json_dup(object);
	const char *list =
		json_str(json_path(before, "metadata", "annotations", ANNOTATION_DEFAULTED, NULL));
	struct json *meta = json_get_mutable(whole, "metadata");
	struct patch p = { NULL, NULL };
	struct json *ret;

	if (list && json_kind(meta) == JSON_OBJECT &&
	    !json_path(meta, "annotations", ANNOTATION_DEFAULTED, NULL))
		json_set_str(json_object_at(meta, "annotations"), ANNOTATION_DEFAULTED, list);
	patch_init(&p, whole);
	workerapp_defaults_patch(run->view->defaults, text_of(object, "namespace"), whole, before,
				 &p);
	ret = json_dup(p.doc);
	patch_done(&p);
	return ret;
}

static void judge_app_object(const struct run *run, const struct json *object,
			     const struct json *before, struct faults *faults,
			     struct strlist *warnings)
{
	struct workerapp *app = NULL, *old = NULL;
	struct err e = ERR_INIT;

	if (workerapp_parse(filled(run, object, before), NULL, &app, &e))
		fault_add(faults, "unreadable", e.field, "", "%s", e.message);
	else if (before && workerapp_parse(json_dup(before), NULL, &old, &e))
		fault_add(faults, "unreadable", "the old object", "", "%s %s", e.field, e.message);
	else
		judge_app(run, app, old, faults, warnings);
	workerapp_free(app);
	workerapp_free(old);
}

/* Without a cluster nobody knows which apps use a store, so a change of its endpoint is not judged. */
static void judge_store(const struct run *run, const struct json *object, const struct json *before,
			const struct strlist *users, struct faults *faults)
{
	struct faults unknown = FAULTS_INIT, old_unknown = FAULTS_INIT;

	store_rules(object, before, run->view->policy, users, faults);
	store_unknown_fields(object, &unknown);
	store_unknown_fields(before, &old_unknown);
	faults_ratchet(&unknown, &old_unknown);
	faults_add_all(faults, &unknown);
	faults_done(&unknown);
	faults_done(&old_unknown);
}

static void judge_object(struct run *run, size_t i)
{
	static const struct strlist nobody = STRLIST_INIT;
	const struct input_object *o = &run->objects.v[i];
	const struct live *live = run->live ? &run->live[i] : NULL;
	const struct json *before = live ? live->object : find_old(run, o->value);
	enum kind kind = kind_of(o->value);
	struct faults faults = FAULTS_INIT;
	struct strlist warnings = STRLIST_INIT;

	run->count[kind]++;
	if (kind == APP)
		judge_app_object(run, o->value, before, &faults, &warnings);
	else
		judge_store(run, o->value, before, live ? &live->users : &nobody, &faults);
	tell(run, o, &faults, &warnings);
	run->refused += faults.n > 0;
	faults_done(&faults);
	strlist_done(&warnings);
}

static void print_count(const struct run *run)
{
	/* A file without any says so of WorkerApps alone. */
	for (enum kind k = APP; k < KINDS; k++) {
		if (k == APP ? run->count[APP] || !run->count[STORE] : run->count[k])
			fprintf(run->err, "%zu %s%s, ", run->count[k], kinds[k].kind,
				run->count[k] == 1 ? "" : "s");
	}
	fprintf(run->err, "%zu refused", run->refused);
	if (run->skipped)
		fprintf(run->err, ", %zu object%s of other kinds skipped", run->skipped,
			run->skipped == 1 ? "" : "s");
	fputc('\n', run->err);
}

static void judge_all(struct run *run)
{
	for (size_t i = 0; i < run->objects.n; i++) {
		if (kind_of(run->objects.v[i].value) != OTHER)
			judge_object(run, i);
		else
			run->skipped++;
	}
	if (str_eq(run->o.output, "json"))
		report_json(&run->report, run->out);
	if (str_eq(run->o.output, "sarif"))
		report_sarif(&run->report, build_version, run->out);
	if (!run->o.quiet)
		print_count(run);
}

/* Policy, defaults and what is stored go by the namespace, which the API server fills in before it asks the webhook. */
static void give_namespace(struct run *run, const char *namespace)
{
	for (size_t i = 0; i < run->objects.n; i++) {
		struct json *object = run->objects.v[i].value;

		if (kind_of(object) != OTHER)
			input_give_namespace(object, namespace);
	}
}

/* Everything is asked before the first verdict. */
static int ask_server(struct run *run, struct err *e)
{
	cleanup(stored_close_cleanup) struct stored *cluster = NULL;
	int r = stored_open(run->o.kubeconfig, run->o.context, run->o.namespace, &cluster, e);

	run->live = xcalloc(run->objects.n + 1, sizeof(*run->live));
	if (!r)
		give_namespace(run, stored_namespace(cluster));
	for (size_t i = 0; !r && i < run->objects.n; i++) {
		const struct json *object = run->objects.v[i].value;
		enum kind kind = kind_of(object);

		if (kind == OTHER)
			continue;
		r = stored_get(cluster, &kinds[kind], object, &run->live[i].object, e);
		if (!r && kind == STORE && run->live[i].object)
			r = stored_users(cluster, object, &run->live[i].users, e);
	}
	return r;
}

/* Every file is read before the first verdict, so that an unreadable one does not hide in the middle. */
static int read_all(struct run *run, FILE *in)
{
	struct err e = ERR_INIT;
	int bad = 0;
	size_t judged = 0;

	if (settings_start(&run->o.settings, &run->settings, &e)) {
		fprintf(run->err, "kubectl-celld validate: %s\n", e.message);
		return -1;
	}
	run->view = settings_get(run->settings);
	for (size_t i = 0; i < run->o.files.n; i++) {
		if (input_read(&run->objects, run->o.files.v[i], in, &e)) {
			fprintf(run->err, "kubectl-celld validate: %s\n", e.message);
			bad = -1;
		}
	}
	if (!str_empty(run->o.old) && input_read(&run->olds, run->o.old, in, &e)) {
		fprintf(run->err, "kubectl-celld validate: --old: %s\n", e.message);
		bad = -1;
	}
	for (size_t i = 0; i < run->objects.n; i++)
		judged += kind_of(run->objects.v[i].value) != OTHER;
	run->several = judged > 1;
	if (!str_empty(run->o.namespace))
		give_namespace(run, run->o.namespace);
	if (!bad && run->o.server && ask_server(run, &e)) {
		fprintf(run->err, "kubectl-celld validate: --server: %s\n", e.message);
		bad = -1;
	}
	return bad;
}

static void print_help(const struct flag *flags, size_t n, FILE *to)
{
	fputs("Usage: kubectl celld validate -f FILE... [--old FILE | --server]\n\n"
	      "Judges WorkerApps and CelldObjectStores by the rules of the admission webhook, "
	      "without a\n"
	      "cluster. Each fault is a line \"spec.field: what is wrong; what to write "
	      "instead\". Exit\n"
	      "status: 0 all fine, 1 refused, 2 usage or a file that cannot be read.\n\n",
	      to);
	flags_help(flags, n, to);
}

static int validate(struct run *run, int argc, char **argv, FILE *in)
{
	static const char *const outputs[] = { "text", "json", "sarif", NULL };
	const struct flag own[] = {
		{ .name = "filename",
		  .letter = 'f',
		  .kind = FLAG_LIST,
		  .to = &run->o.files,
		  .placeholder = "FILE",
		  .help = "manifests, YAML or JSON, several documents; - is standard input" },
		{ .name = "old",
		  .kind = FLAG_STRING,
		  .to = &run->o.old,
		  .placeholder = "FILE",
		  .help = "the objects as they are stored, as `kubectl get -o yaml` shows them; "
			  "those "
			  "of the same name are judged as updates" },
		{ .name = "server",
		  .kind = FLAG_BOOL,
		  .to = &run->o.server,
		  .help = "read the stored objects from the cluster instead, as updates of which "
			  "those of the files are judged; nothing is written" },
		{ .name = "kubeconfig",
		  .kind = FLAG_STRING,
		  .to = &run->o.kubeconfig,
		  .placeholder = "FILE",
		  .help = "with --server: how to reach the cluster; as for kubectl when not "
			  "given" },
		{ .name = "context",
		  .kind = FLAG_STRING,
		  .to = &run->o.context,
		  .placeholder = "NAME",
		  .help = "with --server: a context of it other than the current one" },
		{ .name = "namespace",
		  .letter = 'n',
		  .kind = FLAG_STRING,
		  .to = &run->o.namespace,
		  .placeholder = "NAME",
		  .help = "namespace of documents that name none; with --server the context's when "
			  "not given" },
		{ .name = "output",
		  .letter = 'o',
		  .kind = FLAG_CHOICE,
		  .to = &run->o.output,
		  .fallback = "text",
		  .choices = outputs,
		  .help = "what is printed: lines for people, or findings with file, line and "
			  "column" },
		{ .name = "quiet",
		  .letter = 'q',
		  .kind = FLAG_BOOL,
		  .to = &run->o.quiet,
		  .help = "only faults: no warnings, no count" },
		{ .name = "help",
		  .letter = 'h',
		  .kind = FLAG_BOOL,
		  .to = &run->o.help,
		  .help = "show this text" },
	};
	struct flag flags[array_len(own) + SETTINGS_FLAGS_MAX];
	size_t n = settings_flags(&run->o.settings, true, flags);
	struct err e = ERR_INIT;
	int rest = 0;

	run->o.settings.poll_ms = -1;
	memcpy(flags + n, own, sizeof(own));
	n += array_len(own);
	if (flags_parse(flags, n, argc, argv, &rest, &e)) {
		fprintf(run->err, "kubectl-celld validate: %s\n", e.message);
		return EXIT_USAGE;
	}
	if (run->o.help) {
		print_help(flags, n, run->out);
		return EXIT_FINE;
	}
	for (; rest < argc; rest++)
		strlist_add(&run->o.files, argv[rest]);
	if (run->o.files.n == 0) {
		fputs("kubectl-celld validate: no file; write -f FILE, or -f - for standard "
		      "input\n",
		      run->err);
		return EXIT_USAGE;
	}
	if (run->o.server && !str_empty(run->o.old)) {
		fputs("kubectl-celld validate: --old and --server both say what is stored; write "
		      "one of them\n",
		      run->err);
		return EXIT_USAGE;
	}
	if (read_all(run, in))
		return EXIT_USAGE;
	judge_all(run);
	return run->refused ? EXIT_REFUSED : EXIT_FINE;
}

int validate_run(int argc, char **argv, FILE *in, FILE *out, FILE *err)
{
	struct run *run = xcalloc(1, sizeof(*run)); /* too large for a stack frame */
	int status;

	run->out = out;
	run->err = err;
	status = validate(run, argc, argv, in);
	if (run->view)
		settings_release(run->settings, run->view);
	settings_stop(run->settings);
	settings_options_done(&run->o.settings);
	for (size_t i = 0; run->live && i < run->objects.n; i++) {
		json_free(run->live[i].object);
		strlist_done(&run->live[i].users);
	}
	free(run->live);
	report_done(&run->report);
	strlist_done(&run->o.files);
	input_done(&run->objects);
	input_done(&run->olds);
	freep(&run);
	return status;
}

int validate_main(int argc, char **argv)
{
	return validate_run(argc, argv, stdin, stdout, stderr);
}
