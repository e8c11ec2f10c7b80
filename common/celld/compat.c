#include "common/celld/compat.h"

#include <stdio.h>
#include <string.h>

enum { PAIR_TEXT = 2 * VERSION_TEXT + 2 };

static void pair_text(struct version from, struct version to, char text[PAIR_TEXT])
{
	char a[VERSION_TEXT], b[VERSION_TEXT];

	version_text(from, a);
	version_text(to, b);
	(void)snprintf(text, PAIR_TEXT, "%s->%s", a, b);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether the comma-separated list holds the pair; only blanks around an item are forgiven. */
static bool holds_pair(const char *list, struct version from, struct version to)
{
	char pair[PAIR_TEXT];

	if (!list)
		return false;
	pair_text(from, to, pair);
	while (list) {
		const char *comma = strchr(list, ',');
		size_t n = comma ? (size_t)(comma - list) : strlen(list);

		while (n && is_blank(*list)) {
			list++;
			n--;
		}
		while (n && is_blank(list[n - 1]))
			n--;
		if (n == strlen(pair) && !strncmp(list, pair, n))
			return true;
		list = comma ? comma + 1 : NULL;
	}
	return false;
}

static bool is_crossed(const struct celld_boundary *b, struct version low, struct version high)
{
	return version_cmp(low, b->above) < 0 && version_cmp(b->above, high) <= 0;
}

/* The way of one row, with what is known of the fleet. */
static enum compat_way way_over(const struct celld_crossing *c, const struct compat_facts *facts)
{
	if (c->way == COMPAT_BLOCKED)
		return COMPAT_BLOCKED;
	if (facts->stopped || (c->rolling_if_bucket && facts->bucket_both))
		return COMPAT_ROLLING;
	return c->way;
}

/* One more row that is crossed: the stricter one decides, the first one met of two alike. */
static void cross(struct compat_verdict *v, const struct celld_crossing *c, int row,
		  const struct compat_facts *facts, bool acknowledged)
{
	enum compat_way way = way_over(c, facts);
	bool ack_missing = way != COMPAT_BLOCKED && c->needs_ack && !acknowledged;

	if (way > v->acknowledged_way)
		v->acknowledged_way = way;
	if (c->warning[0])
		v->warnings[v->n_warnings++] = row;
	if (ack_missing)
		way = COMPAT_BLOCKED;
	/* What no acknowledgement opens is stricter than what one does. */
	if (way > v->way || (way == COMPAT_BLOCKED && v->needs_ack && !ack_missing)) {
		v->way = way;
		v->boundary = row;
		v->needs_ack = ack_missing;
	}
}

struct compat_verdict compat_judge(const struct celld_table *t, const struct version *from,
				   struct version to, const struct compat_facts *facts)
{
	struct compat_verdict v = { .way = COMPAT_ROLLING, .to = to, .boundary = -1 };
	enum compat_way unknown = facts->stopped ? COMPAT_ROLLING : COMPAT_RECREATE;
	bool acknowledged;

	if (!from) {
		v.way = unknown;
		return v;
	}
	v.from = *from;
	v.from_known = true;
	v.up = version_cmp(*from, to) < 0;
	if (version_cmp(*from, to) == 0)
		return v;
	if (!celld_knows_minor(t, *from) || !celld_knows_minor(t, to))
		v.way = v.acknowledged_way = unknown;
	acknowledged = holds_pair(facts->acknowledged, *from, to);
	for (size_t i = 0; i < t->n_boundaries; i++) {
		/* In the direction of travel, so that the first row met is the first one named. */
		size_t row = v.up ? i : t->n_boundaries - 1 - i;
		const struct celld_boundary *b = &t->boundaries[row];

		if (is_crossed(b, v.up ? *from : to, v.up ? to : *from))
			cross(&v, v.up ? &b->up : &b->down, (int)row, facts, acknowledged);
	}
	return v;
}

static bool is_stricter(const struct compat_verdict *a, const struct compat_verdict *b)
{
	if (a->way != b->way)
		return a->way > b->way;
	return b->needs_ack && !a->needs_ack;
}

/* The rows of both, each once. */
static void add_warnings(struct compat_verdict *to, const struct compat_verdict *from)
{
	for (size_t i = 0; i < from->n_warnings; i++) {
		bool there = false;

		for (size_t k = 0; k < to->n_warnings; k++)
			there = there || to->warnings[k] == from->warnings[i];
		if (!there && to->n_warnings < CELLD_BOUNDARIES)
			to->warnings[to->n_warnings++] = from->warnings[i];
	}
}

struct compat_verdict compat_judge_all(const struct celld_table *t, const struct version *from,
				       size_t n, struct version to,
				       const struct compat_facts *facts)
{
	struct compat_verdict v = {
		.way = COMPAT_ROLLING, .from = to, .to = to, .from_known = true, .boundary = -1
	};

	for (size_t i = 0; i < n; i++) {
		struct compat_verdict one = compat_judge(t, &from[i], to, facts);

		if (i == 0) {
			v = one;
		} else if (is_stricter(&one, &v)) {
			add_warnings(&one, &v);
			v = one;
		} else {
			add_warnings(&v, &one);
		}
	}
	if (facts->unread) {
		struct compat_verdict unread = compat_judge(t, NULL, to, facts);

		if (n == 0 || unread.way > v.way)
			v = unread;
	}
	return v;
}

/* --- the sentence --------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t room, len;
};

static void say(struct text *t, const char *s)
{
	size_t n = strlen(s), left = t->room ? t->room - 1 - t->len : 0;

	if (n > left)
		n = left;
	if (n)
		memcpy(t->at + t->len, s, n);
	t->len += n;
	if (t->room)
		t->at[t->len] = '\0';
}

static void say_version(struct text *t, struct version v)
{
	char s[VERSION_TEXT];

	version_text(v, s);
	say(t, s);
}

static const struct celld_crossing *deciding(const struct celld_table *t,
					     const struct compat_verdict *v)
{
	const struct celld_boundary *b;

	if (v->boundary < 0)
		return NULL;
	b = &t->boundaries[v->boundary];
	return v->up ? &b->up : &b->down;
}

static void say_pair(struct text *t, const struct compat_verdict *v)
{
	if (v->from_known) {
		say(t, "celld ");
		say_version(t, v->from);
		say(t, " to ");
	} else {
		say(t, "celld of unknown version to ");
	}
	say_version(t, v->to);
}

static void say_reason(struct text *to, const struct celld_table *t, const struct compat_verdict *v)
{
	const struct celld_crossing *c = deciding(t, v);

	if (c) {
		const struct celld_boundary *b = &t->boundaries[v->boundary];

		say(to, " (between ");
		say_version(to, v->up ? b->below : b->above);
		say(to, " and ");
		say_version(to, v->up ? b->above : b->below);
		say(to, "): ");
		say(to, c->reason);
	} else if (!v->from_known) {
		say(to, ": what runs now cannot be told, so old and new must not meet");
	} else {
		say(to, ": the compatibility table does not know ");
		say_version(to, celld_knows_minor(t, v->from) ? v->to : v->from);
		say(to, "'s minor, so old and new must not meet");
	}
}

static void say_recreate(struct text *t, bool recreate_asked)
{
	say(t, recreate_asked ? "all pods of the old version stop before the first new one starts"
			      : "set spec.celld.updateStrategy to Recreate, which stops all pods "
				"before the first new one starts");
}

static void say_remedy(struct text *to, const struct compat_verdict *v, bool recreate_asked)
{
	char pair[PAIR_TEXT];

	say(to, "; ");
	if (v->way == COMPAT_RECREATE) {
		say_recreate(to, recreate_asked);
	} else if (v->needs_ack) {
		pair_text(v->from, v->to, pair);
		say(to, "to do it knowingly, add \"");
		say(to, pair);
		say(to, "\" to the annotation celld-operator.io/acknowledge");
		if (v->acknowledged_way == COMPAT_RECREATE) {
			say(to, " and ");
			say_recreate(to, recreate_asked);
		}
	} else {
		say(to, "no update strategy makes this safe: stay on ");
		say_version(to, v->from);
		say(to, " or go to a later version");
	}
}

size_t compat_explain(const struct celld_table *t, const struct compat_verdict *v,
		      bool recreate_asked, char *text, size_t room)
{
	struct text to = { .room = room };

	to.at = text;
	say(&to, ""); /* terminated, whatever follows */
	say_pair(&to, v);
	if (v->way == COMPAT_ROLLING) {
		say(&to, " can roll");
		return to.len;
	}
	say(&to, v->way == COMPAT_RECREATE ? " cannot roll"
		 : v->needs_ack		   ? " needs an acknowledgement"
					   : " is refused, also with Recreate");
	say_reason(&to, t, v);
	say_remedy(&to, v, recreate_asked);
	return to.len;
}
