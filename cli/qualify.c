#include "cli/qualify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/qualify_race.h"
#include "common/clock.h"
#include "common/flags.h"
#include "common/json.h"

struct options {
	const char *bucket, *endpoint, *region, *account, *prefix, *report, *ca_file;
	bool allow_http, help;
	int64_t writers, rounds;
	const char *image, *secret, *namespace;
};

enum verdict { PASS, FAIL, UNKNOWN };

struct check {
	const char *name, *harm; /* what goes wrong when it fails */
	enum verdict verdict;
	char detail[256];
};

struct run {
	struct options o;
	struct store_keys keys;
	struct store_place place;
	char *container, *prefix; /* of place */
	struct store *store;
	struct http_client *client;
	struct http_response response;
	struct store_reply reply;
	struct err e;
	struct check checks[16];
	size_t n;
	FILE *out, *err;
	bool bar; /* err is a terminal */
};

static const char *const reports[] = { "text", "json", NULL };

/* --- command line ----------------------------------------------------------------------------- */

enum { ROWS = 14 };

static void rows(struct options *o, struct flag to[ROWS])
{
	const struct flag table[ROWS] = {
		{ "bucket", 'b', FLAG_STRING, &o->bucket, NULL, 0, 0, NULL, "URL",
		  "s3://NAME, gs://NAME or az://NAME, with a prefix or without" },
		{ "endpoint", 0, FLAG_STRING, &o->endpoint, NULL, 0, 0, NULL, "URL",
		  "of the store, when it is not the cloud's own" },
		{ "region", 0, FLAG_STRING, &o->region, NULL, 0, 0, NULL, "REGION",
		  "of the bucket; s3 only" },
		{ "storage-account", 0, FLAG_STRING, &o->account, NULL, 0, 0, NULL, "NAME",
		  "of the container; az only" },
		{ "allow-http", 0, FLAG_BOOL, &o->allow_http, NULL, 0, 0, NULL, NULL,
		  "permit an http:// endpoint" },
		{ "ca-file", 0, FLAG_STRING, &o->ca_file, NULL, 0, 0, NULL, "FILE",
		  "authorities (PEM) that the endpoint is verified by, instead of the system's" },
		{ "writers", 0, FLAG_INT, &o->writers, "8", 2, 256, NULL, NULL,
		  "writers that race for one object" },
		{ "rounds", 0, FLAG_INT, &o->rounds, "32", 0, 1000000, NULL, NULL,
		  "races; a store that loses one in N wants more than N of them" },
		{ "prefix", 0, FLAG_STRING, &o->prefix, "probe/qualify", 0, 0, NULL, "PREFIX",
		  "below the bucket's own; everything is written there, and deleted" },
		{ "report", 0, FLAG_CHOICE, &o->report, "text", 0, 0, reports, NULL,
		  "how the result is printed" },
		{ "in-cluster", 0, FLAG_STRING, &o->image, NULL, 0, 0, NULL, "IMAGE",
		  "print a Job that runs this in the cluster by that image, instead of running "
		  "it" },
		{ "secret", 0, FLAG_STRING, &o->secret, NULL, 0, 0, NULL, "NAME",
		  "Secret with the credentials, for the Job" },
		{ "namespace", 'n', FLAG_STRING, &o->namespace, "default", 0, 0, NULL, "NAMESPACE",
		  "of the Job" },
		{ "help", 'h', FLAG_BOOL, &o->help, NULL, 0, 0, NULL, NULL,
		  "print this text and exit" },
	};

	memcpy(to, table, sizeof(table));
}

static void help(struct options *o, FILE *to)
{
	struct flag table[ROWS];

	rows(o, table);
	fputs("Usage: kubectl celld qualify --bucket URL [FLAGS]\n\n"
	      "Asks a store whether celld may trust it: conditions on writes, reading and listing "
	      "after\n"
	      "writing, one after the other and by many writers at once. Credentials come from "
	      "the\n"
	      "environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN;\n"
	      "GOOGLE_SERVICE_ACCOUNT_KEY; AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN.\n"
	      "Exit status: 0 it can fence, 1 it cannot, 2 it could not be asked.\n\n",
	      to);
	flags_help(table, ROWS, to);
}

static int usage(struct run *run, const char *message)
{
	fprintf(run->err, "kubectl-celld qualify: %s\n", message);
	return EXIT_USAGE;
}

static bool read_bucket(struct run *run)
{
	static const struct {
		const char *scheme;
		enum bucket_scheme is;
	} all[] = { { "s3://", SCHEME_S3 }, { "gs://", SCHEME_GS }, { "az://", SCHEME_AZ } };
	const char *rest = NULL;
	cleanup(freep) char *below = NULL;

	for (size_t i = 0; i < array_len(all); i++) {
		if (run->o.bucket && str_starts(run->o.bucket, all[i].scheme)) {
			run->place.scheme = all[i].is;
			rest = run->o.bucket + strlen(all[i].scheme);
		}
	}
	if (!rest || !strcspn(rest, "/"))
		return false;
	run->container = xstrndup(rest, strcspn(rest, "/"));
	rest += strcspn(rest, "/");
	rest += *rest == '/';
	below = xstrdup(rest);
	if (str_ends(below, "/"))
		below[strlen(below) - 1] = '\0';
	/* a name of its own, so that two runs do not meet */
	run->prefix = xasprintf("%s%s%s/%llx-%d", below, below[0] ? "/" : "", run->o.prefix,
				(unsigned long long)clock_wall_ms(), (int)getpid());
	return true;
}

static void read_keys(struct run *run)
{
	static const char *const names[] = {
		"AWS_ACCESS_KEY_ID",	     "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",	     "GOOGLE_SERVICE_ACCOUNT_KEY",
		"AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN",
	};

	for (size_t i = 0; i < array_len(names); i++) {
		const char *v = getenv(names[i]);

		if (!str_empty(v))
			secret_set(store_key(&run->keys, names[i]), v, strlen(v));
	}
}

/* --- one after the other ---------------------------------------------------------------------- */

static int put(struct run *run, const char *key, const char *body, bool if_absent,
	       const char *if_tag, char tag[STORE_TAG])
{
	const struct store_op op = { .verb = STORE_PUT,
				     .key = key,
				     .body = body,
				     .body_len = strlen(body),
				     .if_absent = if_absent,
				     .if_tag = if_tag };
	int r = store_do(run->store, run->client, &op, &run->response, &run->reply, &run->e);

	if (!r)
		memcpy(tag, run->reply.tag, STORE_TAG);
	return r;
}

static int ask(struct run *run, enum store_verb verb, const char *key)
{
	const struct store_op op = { .verb = verb, .key = key };

	return store_do(run->store, run->client, &op, &run->response, &run->reply, &run->e);
}

static struct check *begin(struct run *run, const char *name, const char *harm)
{
	struct check *c = &run->checks[run->n++];

	*c = (struct check){ .name = name, .harm = harm, .verdict = PASS };
	return c;
}

/* result is what the store did; want what it had to do. Any third thing proves nothing. */
static void judge(struct run *run, struct check *c, int result, int want, const char *wrong)
{
	if (result == want)
		return;
	c->verdict =
		result == 0 || result == -ERR_CONFLICT || result == -ERR_NOT_FOUND ? FAIL : UNKNOWN;
	(void)snprintf(c->detail, sizeof(c->detail), "%.255s",
		       c->verdict == FAIL ? wrong : run->e.message);
}

static void reads(struct run *run, struct check *c, const char *key, const char *want)
{
	int r = ask(run, STORE_GET, key);

	judge(run, c, r, 0, "the object is not there right after it was written");
	if (!r && !str_eq(run->reply.body, want)) {
		c->verdict = FAIL;
		(void)snprintf(c->detail, sizeof(c->detail),
			       "an older state was read right after a newer one was written");
	}
}

static void lists(struct run *run, struct check *c, const char *key, bool want)
{
	int r = ask(run, STORE_LIST, "object");

	judge(run, c, r, 0, "the listing failed");
	if (!r && strlist_has(&run->reply.keys, key) != want) {
		c->verdict = FAIL;
		(void)snprintf(c->detail, sizeof(c->detail),
			       want ? "an object that was written is not listed"
				    : "an object that was deleted is still listed");
	}
}

#define TWO_OWNERS "two nodes both take a cell for theirs, and one of their histories is lost"
#define OLD_STATE  "a node goes on from a state that another one has left behind"

static void conditions(struct run *run, char tag[STORE_TAG])
{
	char first[STORE_TAG] = "", other[STORE_TAG] = "";
	struct check *c = begin(run, "create", "nothing can be stored");
	int r = put(run, "object", "one", true, NULL, first);

	/* What is new need not be there: it is the place that is missing. */
	if (r == -ERR_NOT_FOUND)
		r = err_set(&run->e, ERR_PROTOCOL,
			    "the store answers status 404 to a write: there is no such bucket, or "
			    "the endpoint is another one");
	judge(run, c, r, 0, "a new object was refused");
	if (c->verdict != PASS)
		return;
	c = begin(run, "tag", TWO_OWNERS);
	if (!first[0]) {
		c->verdict = FAIL;
		(void)snprintf(c->detail, sizeof(c->detail),
			       "a write is answered without an ETag or a generation");
		return;
	}
	c = begin(run, "create-refused", TWO_OWNERS);
	judge(run, c, put(run, "object", "two", true, NULL, other), -ERR_CONFLICT,
	      "an object that exists was created again: If-None-Match is ignored");
	c = begin(run, "read-after-write", OLD_STATE);
	reads(run, c, "object", "one");
	c = begin(run, "replace", "no lease can be renewed");
	judge(run, c, put(run, "object", "three", false, first, tag), 0,
	      "a replacement with the right tag was refused");
	c = begin(run, "replace-stale-refused", TWO_OWNERS);
	judge(run, c, put(run, "object", "four", false, first, other), -ERR_CONFLICT,
	      "a replacement with an old tag was taken: If-Match is ignored");
	c = begin(run, "read-after-replace", OLD_STATE);
	reads(run, c, "object", "three");
}

static void life(struct run *run)
{
	char tag[STORE_TAG] = "";
	struct check *c = begin(run, "list-after-write", "garbage collection misses objects");
	int r;

	lists(run, c, "object", true);
	c = begin(run, "delete", "nothing is ever cleaned up");
	judge(run, c, ask(run, STORE_DELETE, "object"), 0, "a deletion was refused");
	c = begin(run, "gone-after-delete", OLD_STATE);
	r = ask(run, STORE_GET, "object");
	judge(run, c, r, -ERR_NOT_FOUND, "a deleted object can still be read");
	c = begin(run, "create-after-delete", "a cell that was given up can never be taken again");
	judge(run, c, put(run, "object", "five", true, NULL, tag), 0,
	      "an object that was deleted cannot be created again");
	(void)ask(run, STORE_DELETE, "object");
	c = begin(run, "list-after-delete", "garbage collection sees objects that are gone");
	lists(run, c, "object", false);
}

/* --- at once ---------------------------------------------------------------------------------- */

static void progress(void *ctx, int64_t done)
{
	struct run *run = ctx;
	int width = run->o.rounds ? (int)(done * 40 / run->o.rounds) : 40;

	if (run->bar)
		fprintf(run->err, "\r  racing [%-40.*s] %lld of %lld", width,
			"########################################", (long long)done,
			(long long)run->o.rounds);
	if (run->bar && done == run->o.rounds)
		fputc('\n', run->err);
}

static void race(struct run *run)
{
	const struct race_opts o = { .place = &run->place,
				     .keys = &run->keys,
				     .writers = run->o.writers,
				     .rounds = run->o.rounds,
				     .progress = progress,
				     .ctx = run };
	struct race_result r;
	struct check *c;

	if (!run->o.rounds)
		return;
	c = begin(run, "race", TWO_OWNERS);
	if (race_run(&o, &r, &run->e)) {
		c->verdict = UNKNOWN;
		(void)snprintf(c->detail, sizeof(c->detail), "%.255s", run->e.message);
	} else if (r.creates_lost || r.replaces_lost || r.torn) {
		c->verdict = FAIL;
		(void)snprintf(
			c->detail, sizeof(c->detail),
			"of %lld races %lld creations and %lld replacements had more than one "
			"winner; %lld times the object was not the winner's",
			(long long)r.rounds, (long long)r.creates_lost, (long long)r.replaces_lost,
			(long long)r.torn);
	} else if (r.unclear) {
		c->verdict = UNKNOWN;
		(void)snprintf(c->detail, sizeof(c->detail),
			       "%lld answers tell nothing; the last: %.180s", (long long)r.unclear,
			       r.last.message);
	} else {
		(void)snprintf(c->detail, sizeof(c->detail),
			       "%lld races of %lld writers, one winner each%s", (long long)r.rounds,
			       (long long)run->o.writers, r.nobody ? ", or none" : "");
	}
}

/* --- the report ------------------------------------------------------------------------------- */

static const char *word(enum verdict v)
{
	return v == PASS ? "ok" : v == FAIL ? "fail" : "unknown";
}

static enum verdict overall(const struct run *run)
{
	enum verdict all = PASS;

	for (size_t i = 0; i < run->n; i++) {
		if (run->checks[i].verdict == FAIL)
			return FAIL;
		if (run->checks[i].verdict == UNKNOWN)
			all = UNKNOWN;
	}
	return all;
}

static void report_json(const struct run *run)
{
	cleanup_json struct json *j = json_new_object();
	cleanup(freep) char *text = NULL;

	json_set_str(j, "bucket", run->o.bucket);
	json_set_str(j, "endpoint", run->o.endpoint);
	json_set_str(j, "verdict", word(overall(run)));
	for (size_t i = 0; i < run->n; i++) {
		struct json *c = json_new_object();

		json_set_str(c, "check", run->checks[i].name);
		json_set_str(c, "verdict", word(run->checks[i].verdict));
		json_set_str(c, "detail", run->checks[i].detail);
		json_add(json_array_at(j, "checks"), c);
	}
	text = json_text(j);
	fprintf(run->out, "%s\n", text);
}

static void report_text(const struct run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct check *c = &run->checks[i];

		fprintf(run->out, "%-8s %-22s %s\n", word(c->verdict), c->name, c->detail);
		if (c->verdict == FAIL)
			fprintf(run->out, "%32sso: %s\n", "", c->harm);
	}
	switch (overall(run)) {
	case PASS:
		fprintf(run->out,
			"The store can fence: nothing was found that celld could not live with.\n");
		break;
	case FAIL:
		fprintf(run->out, "The store cannot fence. Do not run a fleet on it.\n");
		break;
	case UNKNOWN:
		fprintf(run->out, "Not known: the store could not be asked everything.\n");
		break;
	}
}

static int ask_all(struct run *run)
{
	char tag[STORE_TAG] = "";

	conditions(run, tag);
	if (run->n > 2) {
		life(run);
		race(run);
	}
	if (str_eq(run->o.report, "json"))
		report_json(run);
	else
		report_text(run);
	switch (overall(run)) {
	case PASS:
		return EXIT_FINE;
	case FAIL:
		return EXIT_REFUSED;
	case UNKNOWN:
		break;
	}
	return EXIT_USAGE;
}

/* --- as a Job --------------------------------------------------------------------------------- */

static void argument(struct run *run, const char *name, const char *value)
{
	cleanup(freep) char *text = value ? xasprintf("--%s=%s", name, value) : NULL;
	cleanup_json struct json *j = text ? json_new_str(text) : NULL;
	cleanup(freep) char *quoted = j ? json_text(j) : NULL;

	if (quoted)
		fprintf(run->out, "        - %s\n", quoted);
}

static int print_job(struct run *run)
{
	char number[24];

	fprintf(run->out,
		"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: celld-qualify\n  namespace: "
		"%s\n"
		"spec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n"
		"      automountServiceAccountToken: false\n"
		"      securityContext: {runAsNonRoot: true, runAsUser: 65532}\n"
		"      containers:\n      - name: qualify\n        image: %s\n"
		"        command: [kubectl-celld, qualify]\n        args:\n",
		run->o.namespace, run->o.image);
	argument(run, "bucket", run->o.bucket);
	argument(run, "endpoint", run->o.endpoint);
	argument(run, "region", run->o.region);
	argument(run, "storage-account", run->o.account);
	argument(run, "allow-http", run->o.allow_http ? "true" : NULL);
	(void)snprintf(number, sizeof(number), "%lld", (long long)run->o.writers);
	argument(run, "writers", number);
	(void)snprintf(number, sizeof(number), "%lld", (long long)run->o.rounds);
	argument(run, "rounds", number);
	argument(run, "prefix", run->o.prefix);
	argument(run, "report", run->o.report);
	if (run->o.secret)
		fprintf(run->out, "        envFrom:\n        - secretRef: {name: %s}\n",
			run->o.secret);
	fprintf(run->out, "        securityContext: {allowPrivilegeEscalation: false, "
			  "readOnlyRootFilesystem: true}\n");
	return EXIT_FINE;
}

static int start(struct run *run)
{
	if (!read_bucket(run))
		return usage(run,
			     "--bucket: write s3://NAME, gs://NAME or az://NAME, with a prefix or "
			     "without");
	if (run->o.image && run->o.ca_file)
		return usage(run, "--ca-file is a file of this machine, which a Job does not have");
	if (run->o.image)
		return print_job(run);
	run->place.endpoint = run->o.endpoint;
	run->place.region = run->o.region;
	run->place.account = run->o.account;
	run->place.container = run->container;
	run->place.prefix = run->prefix;
	run->place.allow_http = run->o.allow_http;
	run->place.ca_file = run->o.ca_file;
	read_keys(run);
	if (http_global_init(&run->e) || store_open(&run->place, &run->keys, &run->store, &run->e))
		return usage(run, run->e.message);
	run->client = http_client_new(NULL);
	return ask_all(run);
}

int qualify_run(int argc, char **argv, FILE *out, FILE *err)
{
	struct run run = {
		.out = out, .err = err, .response = HTTP_RESPONSE_INIT, .bar = isatty(fileno(err))
	};
	struct flag table[ROWS];
	int rest = argc, status = EXIT_FINE;

	rows(&run.o, table);
	if (flags_parse(table, ROWS, argc, argv, &rest, &run.e))
		return usage(&run, run.e.message);
	if (run.o.help)
		help(&run.o, out);
	else if (rest < argc)
		status = usage(&run, "unexpected argument; see --help");
	else
		status = start(&run);
	store_reply_done(&run.reply);
	http_response_done(&run.response);
	store_free(run.store);
	http_client_free(run.client);
	store_keys_done(&run.keys);
	free(run.container);
	free(run.prefix);
	return status;
}

int qualify_main(int argc, char **argv)
{
	secret_protect();
	return qualify_run(argc, argv, stdout, stderr);
}
