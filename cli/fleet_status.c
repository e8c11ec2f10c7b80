#include "cli/fleet_status.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fleet_view.h"
#include "cli/input.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "common/flags.h"
#include "common/kube/client.h"
#include "common/strlist.h"
#include "common/workerapp.h"

struct options {
	const char *kubeconfig, *context, *namespace, *output;
	bool everywhere, help;
};

struct run {
	struct options o;
	const char *name; /* NULL: all */
	struct stored *cluster;
	struct json *views; /* a list of fleet_view() */
	FILE *out, *err;
};

static const struct kube_kind app_kind = WORKERAPP_KIND, store_kind = OBJECT_STORE_KIND;
static const struct kube_kind pod_kind = { "", "v1", "pods", "Pod", true };
static const char *const outputs[] = { "text", "json", NULL };

static const char *text(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return s ? s : "";
}

/* --- the cluster ------------------------------------------------------------------------------ */

static int add_view(struct run *run, const struct json *app, const struct json *pods, struct err *e)
{
	const char *name = text(json_path(app, "spec", "storeRef", NULL), "name");
	cleanup_json struct json *store = NULL, *wanted = json_new_object();
	int r = 0;

	json_set_str(json_object_at(wanted, "metadata"), "namespace",
		     text(json_get(app, "metadata"), "namespace"));
	json_set_str(json_object_at(wanted, "metadata"), "name", name);
	if (*name)
		r = stored_get(run->cluster, &store_kind, wanted, &store, e);
	if (!r)
		json_add(run->views, fleet_view(app, store, json_get(pods, "items")));
	return r;
}

static int read_one(struct run *run, struct err *e)
{
	cleanup_json struct json *wanted = json_new_object(), *app = NULL, *pods = NULL;
	cleanup(freep) char *selector = xasprintf("%s=%s", WORKERAPP_LABEL, run->name);
	int r;

	json_set_str(json_object_at(wanted, "metadata"), "name", run->name);
	r = stored_get(run->cluster, &app_kind, wanted, &app, e);
	if (!r && !app)
		return err_set(e, ERR_NOT_FOUND, "there is no WorkerApp %s in namespace %s",
			       run->name, stored_namespace(run->cluster));
	if (!r)
		r = stored_list(run->cluster, &pod_kind, false, selector, &pods, e);
	return r ? r : add_view(run, app, pods, e);
}

static int read_all(struct run *run, struct err *e)
{
	cleanup_json struct json *apps = NULL, *pods = NULL;
	int r = stored_list(run->cluster, &app_kind, run->o.everywhere, NULL, &apps, e);

	if (!r)
		r = stored_list(run->cluster, &pod_kind, run->o.everywhere, WORKERAPP_LABEL, &pods,
				e);
	for (const struct json *a = json_first(json_get(apps, "items")); !r && a; a = json_next(a))
		r = add_view(run, a, pods, e);
	return r;
}

/* --- one fleet, as text ----------------------------------------------------------------------- */

/* "Label     words", unless there are none; takes words. */
static void line(const struct run *run, const char *label, char *words)
{
	cleanup(freep) char *shown = table_text(words);

	if (*shown)
		fprintf(run->out, "%-9s %s\n", label, shown);
	free(words);
}

static int64_t number(const struct json *j, const char *name)
{
	int64_t n = 0;

	(void)json_get_int(j, name, &n);
	return n;
}

static void print_versions(const struct run *run, const struct json *v)
{
	const struct json *a = json_get(v, "appVersion"), *c = json_get(v, "celld");
	const char *expected = text(a, "expected"), *out = text(a, "rolledOut");
	struct strlist versions = STRLIST_INIT;
	cleanup(freep) char *all = NULL;

	for (const struct json *s = json_first(json_get(c, "versions")); s; s = json_next(s)) {
		if (json_str(s))
			strlist_add(&versions, json_str(s));
	}
	all = strlist_join(&versions, ", ");
	line(run, "Version",
	     xasprintf("%s rolled out, %s expected (appVersion: %s, %s)", *out ? out : "none",
		       *expected ? expected : "none", text(a, "asked"), text(a, "policy")));
	line(run, "celld", xasprintf("%s%s%s", text(c, "image"), *all ? "; running " : "", all));
	strlist_done(&versions);
}

static void print_storage(const struct run *run, const struct json *v)
{
	const struct json *s = json_get(v, "storage");
	const char *endpoint = text(s, "endpoint"), *region = text(s, "region");
	const char *account = text(s, "storageAccount"), *store = text(s, "store");

	line(run, "Storage",
	     xasprintf("%s%s%s%s%s%s%s", text(s, "bucket"), *endpoint ? " at " : "", endpoint,
		       *region ? ", region " : "", region, *account ? ", account " : "", account));
	if (*store)
		line(run, "Store",
		     xasprintf("CelldObjectStore %s%s", store,
			       json_get_bool(s, "storeMissing", false) ? ", which does not exist"
								       : ""));
	line(run, "Keys",
	     xasprintf("%s%s%s", text(s, "credentials"),
		       *text(s, "tracking") ? "; deploy tracking by Secret " : "",
		       text(s, "tracking")));
}

static void print_rollout(const struct run *run, const struct json *v)
{
	const struct json *f = json_get(v, "fleet"), *r = json_get(v, "rollout");
	const char *since = text(r, "since"), *revision = text(r, "targetRevision");

	line(run, "Pods",
	     xasprintf("%lld, %lld ready, %lld updated, %lld cells restoring",
		       (long long)number(f, "replicas"), (long long)number(f, "ready"),
		       (long long)number(f, "updated"), (long long)number(f, "restoring")));
	if (!r)
		return;
	if (json_get(r, "partition"))
		line(run, "Rollout",
		     xasprintf("released from ordinal %lld on%s%s",
			       (long long)number(r, "partition"), *revision ? ", to revision " : "",
			       revision));
	line(run, "Waiting",
	     xasprintf("%s%s%s%s", text(r, "waitingOn"), *since ? " (since " : "", since,
		       *since ? ")" : ""));
}

static void print_pods(const struct run *run, const struct json *v)
{
	const struct json *pods = json_get(v, "pods");
	struct table t = { .rows = NULL };

	if (!json_len(pods)) {
		fputs("\nno pods\n", run->out);
		return;
	}
	table_row(&t, "POD", "READY", "PHASE", "CELLD", "APP", "REVISION", "RESTARTS", "NODE",
		  "TROUBLE", NULL);
	for (const struct json *p = json_first(pods); p; p = json_next(p)) {
		cleanup(freep) char *restarts = xasprintf("%lld", (long long)number(p, "restarts"));
		const char *trouble = json_get_str(p, "trouble");

		table_row(&t, text(p, "name"), json_get_bool(p, "ready", false) ? "yes" : "no",
			  text(p, "phase"), text(p, "celld"), text(p, "appVersion"),
			  text(p, "revision"), restarts, text(p, "node"), trouble, NULL);
	}
	fputc('\n', run->out);
	table_print(&t, 0, run->out);
	table_done(&t);
}

static void print_conditions(const struct run *run, const struct json *v)
{
	struct table t = { .rows = NULL };

	if (!json_len(json_get(v, "conditions")))
		return;
	table_row(&t, "CONDITION", "STATUS", "REASON", "MESSAGE", NULL);
	for (const struct json *c = json_first(json_get(v, "conditions")); c; c = json_next(c)) {
		const char *message = text(c, "message");

		table_row(&t, text(c, "type"), text(c, "status"), text(c, "reason"),
			  *message ? message : NULL, NULL);
	}
	fputc('\n', run->out);
	table_print(&t, 0, run->out);
	table_done(&t);
}

static void print_one(const struct run *run, const struct json *v)
{
	const char *phase = text(v, "phase"), *message = text(v, "message");

	line(run, "Fleet", xasprintf("%s/%s", text(v, "namespace"), text(v, "name")));
	line(run, "Phase",
	     xasprintf("%s%s%s%s", *phase ? phase : "none yet",
		       json_get_bool(v, "current", false) ? "" : ", of an earlier spec",
		       *message ? ": " : "", message));
	line(run, "URL", xstrdup(text(v, "url")));
	print_versions(run, v);
	print_storage(run, v);
	print_rollout(run, v);
	print_pods(run, v);
	print_conditions(run, v);
}

/* --- many fleets ------------------------------------------------------------------------------ */

static void print_all(const struct run *run)
{
	struct table t = { .rows = NULL };

	if (!json_len(run->views)) {
		fputs("no WorkerApp\n", run->out);
		return;
	}
	table_row(&t, "NAMESPACE", "NAME", "PHASE", "APP", "READY", "MESSAGE", NULL);
	for (const struct json *v = json_first(run->views); v; v = json_next(v)) {
		const struct json *f = json_get(v, "fleet");
		cleanup(freep) char *ready = xasprintf("%lld/%lld", (long long)number(f, "ready"),
						       (long long)number(f, "replicas"));
		const char *message = text(v, "message");

		table_row(&t, text(v, "namespace"), text(v, "name"), text(v, "phase"),
			  text(json_get(v, "appVersion"), "rolledOut"), ready,
			  *message ? message : NULL, NULL);
	}
	table_print(&t, 0, run->out);
	table_done(&t);
}

static int print(const struct run *run)
{
	int status = EXIT_FINE;

	for (const struct json *v = json_first(run->views); v; v = json_next(v)) {
		if (!json_get_bool(v, "ready", false))
			status = EXIT_REFUSED;
	}
	if (str_eq(run->o.output, "json")) {
		cleanup(freep) char *all = json_text(run->views);

		fprintf(run->out, "%s\n", all);
	} else if (run->name) {
		print_one(run, json_first(run->views));
	} else {
		print_all(run);
	}
	return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static int usage(const struct run *run, const char *message)
{
	cleanup(freep) char *shown = table_text(message);

	fprintf(run->err, "kubectl-celld status: %s\n", shown);
	return EXIT_USAGE;
}

static int ask(struct run *run)
{
	struct err e = ERR_INIT;
	int r = stored_open(run->o.kubeconfig, run->o.context, run->o.namespace, &run->cluster, &e);

	run->views = json_new_array();
	if (!r)
		r = run->name ? read_one(run, &e) : read_all(run, &e);
	return r ? usage(run, e.message) : print(run);
}

static void help(const struct flag *flags, size_t n, FILE *to)
{
	fputs("Usage: kubectl celld status [NAME] [FLAGS]\n\n"
	      "Shows a fleet: its phase and why, URL, versions, where its storage is, the "
	      "rollout,\n"
	      "its pods and its conditions; without a name a line for each fleet. Only reads. "
	      "Exit\n"
	      "status: 0 all that is shown is Ready; 1 something is not; 2 usage, or it could not "
	      "be read.\n\n",
	      to);
	flags_help(flags, n, to);
}

static int status(struct run *run, int argc, char **argv)
{
	struct options *o = &run->o;
	const struct flag flags[] = {
		{ "namespace", 'n', FLAG_STRING, &o->namespace, NULL, 0, 0, NULL, "NAMESPACE",
		  "of the fleets; the context's when not given" },
		{ "all-namespaces", 'A', FLAG_BOOL, &o->everywhere, NULL, 0, 0, NULL, NULL,
		  "the fleets of all namespaces" },
		{ "output", 'o', FLAG_CHOICE, &o->output, "text", 0, 0, outputs, NULL,
		  "json: a list with an object for each fleet" },
		{ "kubeconfig", 0, FLAG_STRING, &o->kubeconfig, NULL, 0, 0, NULL, "FILE",
		  "how to reach the cluster; as for kubectl when not given" },
		{ "context", 0, FLAG_STRING, &o->context, NULL, 0, 0, NULL, "NAME",
		  "a context of it other than the current one" },
		{ "help", 'h', FLAG_BOOL, &o->help, NULL, 0, 0, NULL, NULL, "show this text" },
	};
	struct err e = ERR_INIT;
	int rest = argc;

	if (flags_parse(flags, array_len(flags), argc, argv, &rest, &e))
		return usage(run, e.message);
	if (o->help) {
		help(flags, array_len(flags), run->out);
		return EXIT_FINE;
	}
	run->name = rest < argc ? argv[rest] : NULL;
	if (rest + 1 < argc)
		return usage(run, "one name at most; see --help");
	if (run->name && o->everywhere)
		return usage(run, "a name and --all-namespaces exclude each other");
	return ask(run);
}

int fleet_status_run(int argc, char **argv, FILE *out, FILE *err)
{
	struct run run = { .out = out, .err = err };
	int r = status(&run, argc, argv);

	json_free(run.views);
	stored_close(run.cluster);
	return r;
}

int fleet_status_main(int argc, char **argv)
{
	return fleet_status_run(argc, argv, stdout, stderr);
}
