#include "certs/plan.h"

static bool alive(enum plan_pair p)
{
	return p == PLAN_GOOD || p == PLAN_DUE;
}

/* Its certificate is worth a place in a bundle. */
static bool verifies(enum plan_pair ca)
{
	return alive(ca) || ca == PLAN_KEYLESS || ca == PLAN_EARLY;
}

/*
 * A Secret that went while this replica serves is missed by nobody at once. The pause keeps a
 * replica that is about to be stopped from bringing back what an uninstall has removed.
 */
static enum plan_action without_secret(const struct plan_facts *f)
{
	return f->serving && f->absent_ms < PLAN_RECREATE_MS ? PLAN_WAIT : PLAN_CREATE;
}

/* Overlap protects calls that work; where none does, waiting helps nobody. */
static bool too_early(const struct plan_facts *f)
{
	return f->serving && f->named_ms < f->settle_ms;
}

static enum plan_action with_new_leaf(const struct plan_facts *f)
{
	return too_early(f) && !f->same_ca ? PLAN_WAIT : PLAN_SERVE;
}

static enum plan_action with_next(const struct plan_facts *f)
{
	if (!alive(f->next))
		return PLAN_STAGE;
	return too_early(f) ? PLAN_WAIT : PLAN_PROMOTE;
}

enum plan_action plan_next(const struct plan_facts *f)
{
	if (!f->secret)
		return without_secret(f);
	if (!verifies(f->ca) && !alive(f->next))
		return PLAN_REPLACE;
	if (!f->named)
		return PLAN_ADD;
	if (alive(f->leaf) && !f->serving_it)
		return with_new_leaf(f);
	if (f->next != PLAN_NONE)
		return with_next(f);
	if (alive(f->ca) && (f->leaf != PLAN_GOOD || f->ask == PLAN_ASK_LEAF))
		return PLAN_RENEW;
	if (f->ca != PLAN_GOOD || f->ask == PLAN_ASK_CA)
		return PLAN_STAGE;
	if (f->old && f->old_over)
		return PLAN_RETIRE;
	if (f->strangers && f->named_ms >= f->settle_ms)
		return PLAN_TRIM;
	return PLAN_WAIT;
}

const char *plan_action_text(enum plan_action a)
{
	static const char *const text[PLAN_ACTIONS] = {
		[PLAN_WAIT] = "wait",	[PLAN_CREATE] = "create",   [PLAN_REPLACE] = "replace",
		[PLAN_ADD] = "add",	[PLAN_SERVE] = "serve",	    [PLAN_RENEW] = "renew",
		[PLAN_STAGE] = "stage", [PLAN_PROMOTE] = "promote", [PLAN_RETIRE] = "retire",
		[PLAN_TRIM] = "trim",
	};

	return text[a];
}
