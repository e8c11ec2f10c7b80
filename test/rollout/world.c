#include "test/rollout/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool healthy(const struct model_pod *p)
{
	return p->exists && p->ready && !p->terminating;
}

int world_budget;

void world_begin(struct world *w, int n)
{
	memset(w, 0, sizeof(*w));
	w->leaving = w->released_down = -1;
	w->pure = true;
	w->m.exists = w->m.observed = true;
	w->m.replicas = w->m.want = n;
	w->m.partition = ROLLOUT_REST;
	w->m.remembered = -1;
	w->m.budget = world_budget;
	for (int i = 0; i < n; i++)
		w->m.pods[i].exists = true;
	model_heal(&w->m);
}

void world_print(const struct world *w)
{
	const struct model *m = &w->m;

	print_message(
		"exists %d replicas %d partition %d current %d update %d remembered %d observed %d "
		"budget %d loud %x "
		"silent %x apart %x swept %d quiet %lld empty %lld wanted %d want %d leaving %d\n",
		m->exists, m->replicas, m->partition, m->current, m->update, m->remembered,
		m->observed, m->budget, m->loud, m->silent, m->apart, m->swept, (long long)m->quiet,
		(long long)m->empty, m->wanted, m->want, w->leaving);
	for (int i = 0; i < MODEL_PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		if (p->exists || i < m->replicas)
			print_message("  pod %d: exists %d terminating %d ready %d revision %d "
				      "fault %d ours %d\n",
				      i, p->exists, p->terminating, p->ready, p->revision,
				      (int)p->fault, w->ours[i]);
	}
}

/* --- the witness ------------------------------------------------------------------------------------ */

void (*world_how)(void);

static void blame(const struct world *w, const char *what)
{
	if (world_how)
		world_how();
	world_print(w);
	fail_msg("%s", what);
}

/* A pod that no patience brings back on its revision, or that is seen to have a fault of its template, may be left
 * behind by a newer template. */
static bool hopeless(const struct model *m, int i)
{
	const struct model_pod *p = &m->pods[i];

	return p->revision != m->update &&
	       (rollout_curable(p->fault) || model_broken(m, p->revision));
}

static int on_their_way(const struct world *w)
{
	int n = 0;

	for (int i = 0; i < MODEL_PODS; i++)
		n += w->ours[i] && !hopeless(&w->m, i);
	return n;
}

static void forget_who_is_back(struct world *w)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		if (healthy(&w->m.pods[i]) || (i >= w->m.replicas && !w->m.pods[i].exists))
			w->ours[i] = false;
	}
}

static bool apart(const struct model *m, int a, int b)
{
	return (m->apart >> a & 1) != (m->apart >> b & 1);
}

static void check_mix(const struct world *w)
{
	const struct model *m = &w->m;

	if (!w->pure || !m->apart)
		return;
	for (int i = 0; i < MODEL_PODS; i++) {
		for (int j = 0; j < i; j++) {
			if (m->pods[i].exists && m->pods[j].exists &&
			    apart(m, m->pods[i].revision, m->pods[j].revision))
				blame(w, "two revisions run together that may not");
		}
	}
}

static void taken_down(struct world *w, int i, bool was_up)
{
	if (!w->m.replicas || !was_up || i == w->released_down ||
	    (i >= w->m.replicas && i != w->leaving))
		return;
	w->ours[i] = true;
	if (on_their_way(w) > 1)
		blame(w, "a second pod is down because of us");
}

bool world_controller(struct world *w)
{
	struct model_pod before[MODEL_PODS];
	bool did;

	memcpy(before, w->m.pods, sizeof(before));
	did = model_controller_step(&w->m);
	for (int i = 0; i < MODEL_PODS; i++) {
		if (!before[i].terminating && w->m.pods[i].terminating)
			taken_down(w, i, healthy(&before[i]));
	}
	check_mix(w);
	return did;
}

/* Who was left behind rightly stays so, even when the spec asks for that revision again before the controller acts. */
static void give_up_hopeless(struct world *w, const struct model *seen)
{
	for (int i = 0; i < MODEL_PODS; i++)
		w->ours[i] &= !hopeless(seen, i);
}

/* --- our turn --------------------------------------------------------------------------------------- */

void world_decide(const struct world *w, struct rollout_decision *ret)
{
	static struct rollout_obs obs;

	model_observe(&w->m, &obs);
	rollout_decide(&obs, ret);
}

void world_write(struct world *w, const struct rollout_decision *d, const struct model *seen)
{
	if (d->write == ROLLOUT_WRITE_NONE)
		return;
	if (d->write == ROLLOUT_WRITE_SCALE && d->replicas < w->m.replicas)
		w->leaving = d->replicas;
	else if (d->replicas > w->m.replicas)
		w->leaving = -1;
	if (d->write == ROLLOUT_WRITE_STEP || d->write == ROLLOUT_WRITE_SCALE)
		give_up_hopeless(w, seen);
	if (d->write == ROLLOUT_WRITE_STEP)
		w->released_down = healthy(&seen->pods[d->partition]) ? -1 : d->partition;
	else if (d->write == ROLLOUT_WRITE_SCALE && w->leaving >= 0)
		w->released_down = healthy(&seen->pods[w->leaving]) ? -1 : w->leaving;
	if (d->write == ROLLOUT_WRITE_STOP) /* all of them at once, as asked for */
		memset(w->ours, 0, sizeof(w->ours));
	model_write(&w->m, d);
	forget_who_is_back(w);
}

void world_turn(struct world *w, struct promises_tally *tally)
{
	static struct rollout_obs obs;
	struct rollout_decision d;

	model_observe(&w->m, &obs);
	if (tally)
		promises_check(&obs, tally);
	rollout_decide(&obs, &d);
	world_write(w, &d, &w->m);
}

/* --- the world -------------------------------------------------------------------------------------- */

bool world_pod_ready(struct world *w, int i)
{
	struct model_pod *p = &w->m.pods[i];

	if (!p->exists || p->terminating || p->ready || model_broken(&w->m, p->revision))
		return false;
	p->ready = p->reachable = true;
	p->fault = ROLLOUT_FAULT_NONE;
	model_changed(&w->m);
	forget_who_is_back(w);
	return true;
}

bool world_pod_unready(struct world *w, int i)
{
	struct model_pod *p = &w->m.pods[i];

	if (!p->exists || !p->ready)
		return false;
	p->ready = p->reachable = false;
	model_changed(&w->m);
	return true;
}

bool world_pod_gone(struct world *w, int i)
{
	struct model_pod *p = &w->m.pods[i];

	if (!p->exists || !p->terminating)
		return false;
	memset(p, 0, sizeof(*p));
	model_changed(&w->m);
	forget_who_is_back(w);
	return true;
}

bool world_pod_deleted(struct world *w, int i)
{
	struct model_pod *p = &w->m.pods[i];

	if (!p->exists || p->terminating)
		return false;
	p->terminating = true;
	model_changed(&w->m);
	return true;
}

bool world_pod_loops(struct world *w, int i)
{
	struct model_pod *p = &w->m.pods[i];

	if (!p->exists || p->ready || p->fault != ROLLOUT_FAULT_NONE)
		return false;
	p->fault = ROLLOUT_FAULT_CRASH_LOOP;
	return true;
}

bool world_sweep(struct world *w)
{
	if (w->m.swept)
		return false;
	w->m.swept = true;
	return true;
}

static bool nobody_is_there(const struct model *m)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		if (m->pods[i].exists)
			return false;
	}
	return true;
}

bool world_time(struct world *w)
{
	struct model *m = &w->m;
	bool passed = false;

	if (m->quiet < MODEL_SETTLE_MS) {
		m->quiet = MODEL_SETTLE_MS;
		passed = true;
	} else if (m->quiet < ROLLOUT_PATIENCE_MS && !on_their_way(w)) {
		m->quiet = ROLLOUT_PATIENCE_MS;
		passed = true;
	}
	if (nobody_is_there(m) && m->empty < MODEL_HOLD_MS) {
		m->empty = MODEL_HOLD_MS;
		passed = true;
	}
	return passed;
}

bool world_restart(struct world *w)
{
	bool knew = w->m.swept || w->m.quiet || w->m.empty;

	model_changed(&w->m);
	return knew;
}

/* --- to the goal ------------------------------------------------------------------------------------ */

/* Whoever asks for a revision that cannot come up asks for a good one at last. */
static void mend_the_spec(struct world *w)
{
	for (int r = 3; model_broken(&w->m, w->m.wanted) && r >= 0; r--)
		w->m.wanted = r;
}

bool world_heal_round(struct world *w)
{
	mend_the_spec(w);
	if (model_at_goal(&w->m))
		return false;
	world_turn(w, NULL);
	while (world_controller(w))
		;
	model_heal(&w->m);
	forget_who_is_back(w);
	return true;
}

static bool heal_one(struct world *w)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		struct model_pod *p = &w->m.pods[i];

		if (world_pod_gone(w, i) || world_pod_ready(w, i))
			return true;
		p->restoring = 0;
		p->reachable = p->exists && p->ready;
		p->fault = ROLLOUT_FAULT_NONE;
	}
	return world_sweep(w) || world_time(w);
}

bool world_heal_slowly(struct world *w)
{
	mend_the_spec(w);
	if (model_at_goal(&w->m))
		return false;
	world_turn(w, NULL);
	(void)world_controller(w);
	(void)heal_one(w);
	return true;
}

/* --- packed ----------------------------------------------------------------------------------------- */

enum { PACKED_PODS = 4, PACKED_REST = 7 };

static uint64_t put(uint64_t *to, unsigned bits, uint64_t value)
{
	assert_true(value < UINT64_C(1) << bits);
	*to = *to << bits | value;
	return *to;
}

static unsigned take_bits(uint64_t *from, unsigned bits)
{
	unsigned value = (unsigned)(*from & ((UINT64_C(1) << bits) - 1));

	*from >>= bits;
	return value;
}

static uint64_t pack_pod(const struct model_pod *p)
{
	uint64_t to = 0;

	if (!p->exists)
		return 0;
	put(&to, 1, 1);
	put(&to, 1, p->terminating);
	put(&to, 1, p->ready);
	put(&to, 1, p->fault != ROLLOUT_FAULT_NONE);
	return put(&to, 2, (uint64_t)p->revision);
}

static void unpack_pod(uint64_t from, struct model_pod *p)
{
	memset(p, 0, sizeof(*p));
	p->revision = (signed char)take_bits(&from, 2);
	p->fault = take_bits(&from, 1) ? ROLLOUT_FAULT_CRASH_LOOP : ROLLOUT_FAULT_NONE;
	p->ready = p->reachable = take_bits(&from, 1);
	p->terminating = take_bits(&from, 1);
	p->exists = take_bits(&from, 1);
}

uint64_t world_pack(const struct world *w)
{
	const struct model *m = &w->m;
	uint64_t to = 1; /* never 0, which is a free slot of a set */
	unsigned ours = 0;

	for (int i = 0; i < PACKED_PODS; i++) {
		put(&to, 6, pack_pod(&m->pods[i]));
		ours |= (unsigned)w->ours[i] << i;
	}
	put(&to, PACKED_PODS, ours);
	put(&to, 1, m->exists);
	put(&to, 2, (uint64_t)m->replicas);
	put(&to, 3, m->partition == ROLLOUT_REST ? PACKED_REST : (uint64_t)m->partition);
	put(&to, 2, (uint64_t)m->current);
	put(&to, 2, (uint64_t)m->update);
	put(&to, 3, (uint64_t)m->remembered + 1);
	put(&to, 1, m->observed);
	put(&to, 1, m->swept);
	put(&to, 2, m->quiet >= ROLLOUT_PATIENCE_MS ? 2 : m->quiet >= MODEL_SETTLE_MS);
	put(&to, 1, m->empty >= MODEL_HOLD_MS);
	put(&to, 2, (uint64_t)m->wanted);
	put(&to, 3, (uint64_t)m->want + 1);
	put(&to, 3, (uint64_t)m->budget);
	put(&to, 3, (uint64_t)w->released_down + 1);
	return put(&to, 3, (uint64_t)w->leaving + 1);
}

void world_unpack(uint64_t from, struct world *w)
{
	static const int64_t quiets[] = { 0, MODEL_SETTLE_MS, ROLLOUT_PATIENCE_MS, 0 };
	struct model *m = &w->m;
	unsigned ours;

	w->leaving = (int)take_bits(&from, 3) - 1;
	w->released_down = (int)take_bits(&from, 3) - 1;
	m->budget = (int)take_bits(&from, 3);
	m->want = (int)take_bits(&from, 3) - 1;
	m->wanted = (int)take_bits(&from, 2);
	m->empty = take_bits(&from, 1) ? MODEL_HOLD_MS : 0;
	m->quiet = quiets[take_bits(&from, 2)];
	m->swept = take_bits(&from, 1);
	m->observed = take_bits(&from, 1);
	m->remembered = (int)take_bits(&from, 3) - 1;
	m->update = (int)take_bits(&from, 2);
	m->current = (int)take_bits(&from, 2);
	m->partition = (int)take_bits(&from, 3);
	if (m->partition == PACKED_REST)
		m->partition = ROLLOUT_REST;
	m->replicas = (int)take_bits(&from, 2);
	m->exists = take_bits(&from, 1);
	ours = take_bits(&from, PACKED_PODS);
	memset(m->pods, 0, sizeof(m->pods));
	memset(w->ours, 0, sizeof(w->ours));
	for (int i = PACKED_PODS - 1; i >= 0; i--) {
		unpack_pod(take_bits(&from, 6), &m->pods[i]);
		w->ours[i] = ours >> i & 1;
	}
}

/* --- sets ------------------------------------------------------------------------------------------- */

void world_set_init(struct world_set *s, size_t size)
{
	s->slots = calloc(size, sizeof(*s->slots));
	assert_non_null(s->slots);
	s->n = 0;
	s->size = size;
}

void world_set_done(struct world_set *s)
{
	free(s->slots);
	s->slots = NULL;
}

static size_t slot_of(const struct world_set *s, uint64_t key)
{
	size_t at =
		(size_t)((key ^ key >> 31) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (s->size - 1);

	while (s->slots[at] && s->slots[at] != key)
		at = (at + 1) & (s->size - 1);
	return at;
}

bool world_set_has(const struct world_set *s, uint64_t key)
{
	return s->slots[slot_of(s, key)] == key;
}

bool world_set_full(const struct world_set *s)
{
	return s->n >= s->size / 2;
}

bool world_set_add(struct world_set *s, uint64_t key)
{
	size_t at = slot_of(s, key);

	if (s->slots[at] == key || world_set_full(s))
		return false;
	s->slots[at] = key;
	s->n++;
	return true;
}
