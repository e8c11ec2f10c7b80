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

/*
 * A leaf that lasts as long as its authority is not renewed: every one of the ever shorter leaves
 * would leave less time for what helps, a new authority.
 */
static bool renews(const struct plan_facts *f)
{
	if (!alive(f->ca))
		return false;
	return f->leaf == PLAN_DUE ? f->ca_longer : f->leaf != PLAN_GOOD;
}

static enum plan_action with_next(const struct plan_facts *f)
{
	if (!alive(f->next))
		return PLAN_STAGE;
	if (!too_early(f))
		return PLAN_PROMOTE;
	return renews(f) ? PLAN_RENEW : PLAN_WAIT;
}

/*
 * Another replica may still serve what only a stranger verifies, until it has waited as long itself
 * and somewhat later than this one.
 */
static int64_t trim_ms(const struct plan_facts *f)
{
	return 2 * f->settle_ms;
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
	if (renews(f) || (alive(f->ca) && f->ask == PLAN_ASK_LEAF))
		return PLAN_RENEW;
	if (f->ca != PLAN_GOOD || f->leaf != PLAN_GOOD || f->ask == PLAN_ASK_CA)
		return PLAN_STAGE;
	if (f->old && f->old_over)
		return PLAN_RETIRE;
	if (f->strangers && f->named_ms >= trim_ms(f))
		return PLAN_TRIM;
	return PLAN_WAIT;
}

void plan_served(struct plan_facts *f, int64_t now_ms, int64_t begin_ms, int64_t due_ms,
		 int64_t end_ms)
{
	int64_t last = (end_ms - due_ms) / 2;
	int64_t until = end_ms - (last < PLAN_LAST_MS ? last : PLAN_LAST_MS);

	f->serving = begin_ms <= now_ms && now_ms < until;
	f->calm_ms = 0;
	if (f->serving)
		f->calm_ms = (now_ms < due_ms ? due_ms : until) - now_ms;
}

int64_t plan_patience_ms(const struct plan_facts *f, int64_t ms)
{
	int64_t most = f->serving ? f->calm_ms : PLAN_HURRY_MS;

	return most < ms ? most : ms;
}

int64_t plan_rest_ms(const struct plan_facts *f, int64_t look_ms)
{
	int64_t left = 0;

	if (!f->secret)
		left = PLAN_RECREATE_MS - f->absent_ms;
	else if (f->named_ms < f->settle_ms)
		left = f->settle_ms - f->named_ms;
	else if (f->strangers)
		left = trim_ms(f) - f->named_ms;
	return plan_patience_ms(f, left > 0 && left < look_ms ? left : look_ms);
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
