#include "controller/verdict.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"

enum { VERSIONS = 64 };

static void refuse(struct verdict *v, const char *reason, const char *message)
{
	v->refusal.reason = reason;
	(void)snprintf(v->refusal.message, sizeof(v->refusal.message), "%s", message);
}

void verdict_of_spec(const struct verdict_input *in, struct verdict *ret)
{
	struct rules_facts facts = { .table = in->table, .policy = in->policy };
	struct faults faults = FAULTS_INIT;
	struct strlist warnings = STRLIST_INIT;
	struct buf text = BUF_INIT(sizeof(ret->spec_message) - 1);

	for (size_t i = 0; in->parse_faults && i < in->parse_faults->n; i++) {
		const struct fault *f = &in->parse_faults->v[i];

		fault_add(&faults, f->rule, f->path, f->values, "%s", f->message);
	}
	workerapp_rules(in->app, NULL, &facts, &faults, &warnings);
	ret->spec_valid = faults.n == 0;
	ret->spec_message[0] = '\0';
	if (faults.n) {
		faults_text(&faults, "; ", sizeof(ret->spec_message) - 1, &text);
		(void)snprintf(ret->spec_message, sizeof(ret->spec_message), "%s", buf_str(&text));
		refuse(ret, "InvalidConfiguration", ret->spec_message);
	}
	buf_done(&text);
	strlist_done(&warnings);
	faults_done(&faults);
}

static void add_version(struct version *all, size_t *n, struct version v)
{
	for (size_t i = 0; i < *n; i++) {
		if (!version_cmp(all[i], v))
			return;
	}
	if (*n < VERSIONS)
		all[(*n)++] = v;
}

/*
 * What runs, or may come up again: every pod's version, and those of template and current revision while there are
 * replicas.
 */
static size_t running(const struct verdict_input *in, struct version *all, bool *ret_unread)
{
	size_t n = 0;

	*ret_unread = false;
	for (size_t i = 0; i < in->n_pods; i++) {
		if (in->pods[i].has_version)
			add_version(all, &n, in->pods[i].version);
		else
			*ret_unread = true;
	}
	if (in->sts->replicas > 0) {
		if (in->sts->has_version)
			add_version(all, &n, in->sts->version);
		else
			*ret_unread = true;
		if (in->sts->has_current_version)
			add_version(all, &n, in->sts->current_version);
	}
	return n;
}

static struct compat_verdict judge(const struct verdict_input *in)
{
	struct version all[VERSIONS];
	bool unread;
	size_t n = running(in, all, &unread);
	struct compat_facts facts = {
		.bucket_both = (!in->sts->exists || in->sts->bucket_durability) &&
			       in->app->durability == DURABILITY_BUCKET,
		.unread = unread,
		.stopped = in->n_pods == 0 && in->sts->replicas == 0,
		.acknowledged = in->app->acknowledged,
	};

	if (facts.stopped && in->sts->has_version)
		add_version(all, &n,
			    in->sts->version); /* blocked boundaries count for a stopped one too */
	return compat_judge_all(in->table, all, n, in->version, &facts);
}

static void of_versions(const struct verdict_input *in, struct verdict *ret)
{
	bool recreate = in->app->strategy == STRATEGY_RECREATE;
	struct compat_verdict v = judge(in);
	char text[sizeof(ret->refusal.message)];

	if (v.way == COMPAT_ROLLING)
		return;
	if (v.way == COMPAT_RECREATE && !in->sts->exists) {
		refuse(ret, "BreakingUpgrade",
		       "pods of another celld version run without their StatefulSet, and the new "
		       "one may "
		       "not run beside them; delete these pods, or set the version that they run");
		return;
	}
	if (v.way == COMPAT_RECREATE && recreate) {
		ret->stop_all = true;
		return;
	}
	(void)compat_explain(in->table, &v, recreate, text, sizeof(text));
	refuse(ret, v.way == COMPAT_BLOCKED && !v.up ? "BlockedDowngrade" : "BreakingUpgrade",
	       text);
}

/* Pods of before and after must not meet, for all that their versions may. */
static void of_state(const struct verdict_input *in, struct verdict *ret)
{
	const struct rules_fleet was = { .storage = in->sts->has_claims,
					 .fleet_durability = !in->sts->bucket_durability,
					 .stopped = in->n_pods == 0 && in->sts->replicas == 0 };
	bool recreate = in->app->strategy == STRATEGY_RECREATE;
	struct rules_apart all[RULES_APART], *first = NULL;
	size_t n = workerapp_rules_apart(&was, in->app, all);
	char text[sizeof(ret->refusal.message)];

	for (size_t i = 0; i < n; i++) {
		bool refused = !all[i].by_recreate || !recreate;

		/* what a Recreate does not help against comes first */
		if (refused && (!first || !all[i].by_recreate))
			first = &all[i];
	}
	ret->stop_all |= n > 0 && !first;
	if (!first)
		return;
	(void)snprintf(text, sizeof(text), "%s: %s", first->path, first->why);
	refuse(ret, "InvalidConfiguration", text);
}

void verdict_of_change(const struct verdict_input *in, struct verdict *ret)
{
	if ((!in->sts->exists && !in->n_pods) || !in->template_due || !in->version_known)
		return;
	of_versions(in, ret);
	if (ret->refusal.reason || !in->sts->exists)
		return;
	of_state(in, ret);
}
