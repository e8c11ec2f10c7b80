#include "common/workerapp_rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/image.h"
#include "common/limits.h"
#include "common/syntax.h"
#include "common/workerapp_judge.h"

/* --- what the parts share --- */

void judge_warn(const struct judge *j, const char *fmt, ...)
{
	va_list ap;
	char text[LIMIT_WARNING + 5] = "";
	size_t n;

	if (!j->warnings)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (n > LIMIT_WARNING)
		n = LIMIT_WARNING;
	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n--; /* never below the field's name */
	text[n] = '\0';
	strlist_add_once(j->warnings, text);
}

void judge_since(const struct judge *j, size_t fact, char text[VERSION_TEXT])
{
	for (size_t i = 0; i < j->table->n_facts; i++) {
		const struct celld_facts *f = &j->table->facts[i];

		if (*(const bool *)((const char *)f + fact)) {
			(void)snprintf(text, VERSION_TEXT, "v%d.%d.%d or later",
				       f->range.since.major, f->range.since.minor,
				       f->range.since.patch);
			return;
		}
	}
	(void)snprintf(text, VERSION_TEXT, "a version that has it");
}

void judge_object_name(const struct judge *j, const char *path, const char *s, const char *what)
{
	struct fault_value shown;

	if (s && !syntax_object_name(s))
		fault_add(j->faults, "object-name", path, s,
			  "%s cannot be the name of a %s; write lower-case letters, digits, dashes "
			  "and "
			  "dots, at most 253",
			  fault_value(&shown, s), what);
}

void judge_item_name(const struct judge *j, const char *s, const char *what, const char *fmt, ...)
{
	char path[128];
	va_list ap;

	if (!s || syntax_object_name(s))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	judge_object_name(j, path, s, what);
}

void judge_range(const struct judge *j, const char *path, int64_t v, int64_t min, int64_t max)
{
	char text[32];

	if (v >= min && v <= max)
		return;
	(void)snprintf(text, sizeof(text), "%" PRId64, v);
	fault_add(j->faults, "number-range", path, text,
		  "%s is out of range; write a number from %" PRId64 " to %" PRId64, text, min,
		  max);
}

void judge_length(const struct judge *j, const char *path, size_t n, size_t max)
{
	char text[24];

	if (n <= max)
		return;
	(void)snprintf(text, sizeof(text), "%zu", n);
	fault_add(j->faults, "list-length", path, text, "%s are too many; write at most %zu", text,
		  max);
}

/* --- one object --- */

static struct running running_of(const struct workerapp *old)
{
	const struct strlist *l = &old->seen.celld_versions;
	struct running r = { .v = xcalloc(l->n + 1, sizeof(*r.v)) };

	if (old->image && image_celld_version(old->image, old->celld_version, &r.v[r.n]))
		r.n++;
	else
		r.unreadable = true;
	for (size_t i = 0; i < l->n; i++) {
		if (version_read(l->v[i], &r.v[r.n]))
			r.n++;
		else
			r.unreadable = true;
	}
	/* Only a status that somebody wrote can say that nothing runs. */
	r.stopped = old->paused && old->status && l->n == 0;
	return r;
}

static struct judge judge_of(const struct workerapp *app, const struct rules_facts *facts,
			     const struct running *running, struct faults *faults,
			     struct strlist *warnings)
{
	struct judge j = { .app = app,
			   .table = facts->table,
			   .running = running,
			   .faults = faults,
			   .warnings = warnings };

	j.has_image = app->image && image_parse(app->image, &j.image);
	j.has_version =
		app->image && image_version(j.has_image ? &j.image : NULL, app->celld_version,
					    &j.version, &j.image_conflict);
	if (j.has_version)
		j.facts = celld_facts_of(facts->table, j.version);
	return j;
}

static void judge_alone(const struct judge *j, const struct policy *policy)
{
	faults_add_all(j->faults, &j->app->type_faults);
	workerapp_rules_names(j);
	workerapp_rules_bucket(j);
	workerapp_rules_size(j);
	workerapp_rules_env(j);
	workerapp_rules_placing(j);
	workerapp_rules_network(j);
	policy_judge_app(policy, j->app, j->faults);
}

/* --- an object and what was there before --- */

/* Of an UPDATE that leaves spec as it is, nothing is judged: labels, finalizers, whatever rules say today. */
static bool is_same_spec(const struct workerapp *app, const struct workerapp *old)
{
	return json_equal(json_get(app->doc, "spec"), json_get(old->doc, "spec"));
}

static void judge_update(const struct workerapp *app, const struct workerapp *old,
			 const struct rules_facts *facts, struct faults *faults,
			 struct strlist *warnings)
{
	struct faults before = FAULTS_INIT;
	struct running running = running_of(old);
	struct judge j = judge_of(app, facts, &running, faults, warnings);
	struct judge was = judge_of(old, facts, &running, &before, NULL);

	judge_alone(&j, facts->policy);
	judge_alone(&was, facts->policy);
	faults_ratchet(faults, &before);
	workerapp_rules_change(&j, old);
	faults_done(&before);
	free(running.v);
}

void workerapp_rules(const struct workerapp *app, const struct workerapp *old,
		     const struct rules_facts *facts, struct faults *faults,
		     struct strlist *warnings)
{
	struct judge j = judge_of(app, facts, NULL, faults, warnings);

	if (!old) {
		judge_alone(&j, facts->policy);
	} else if (is_same_spec(app, old)) {
		faults_ratchet(faults, &old->type_faults);
	} else {
		judge_update(app, old, facts, faults, warnings);
	}
}
