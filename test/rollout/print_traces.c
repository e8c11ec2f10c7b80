/*
 * print_traces [--counting] COUNT [FIRST]: random but always the same traces of what may be done to a StatefulSet, and
 * what the model expects each time when its controller and its pods have settled, with --counting under the feature
 * gate MaxUnavailableStatefulSet. test/e2e/traces.py does the same to real ones.
 *
 *   trace N
 *   apply TEMPLATE PARTITION REPLICAS   partition: a number or "rest"; a template whose number is odd is broken
 *   unready I | ready I                 pod I
 *   delete I                            it is made anew
 *   linger I | end I                    it is deleted but stays, terminating, until end I
 *   = STATE... settled|rolling          per ordinal: template and R (Ready), N (not), or T (terminates); "-": none
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/rollout/model.h"

enum { STEPS = 9, TEMPLATES = 6, SIZE = 4 };

struct trace {
	struct model m;
	bool unready[MODEL_PODS], lingers[MODEL_PODS];
	uint64_t random;
};

static unsigned draw(struct trace *t, unsigned below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (unsigned)(t->random >> 33) % below;
}

/* What the pods do by themselves; false: nothing any more. */
static bool pods_move(struct trace *t)
{
	bool moved = false;

	for (int i = 0; i < MODEL_PODS; i++) {
		struct model_pod *p = &t->m.pods[i];
		bool ready = p->exists && !t->unready[i] && !model_broken(&t->m, p->revision);

		if (p->exists && p->terminating && !t->lingers[i]) {
			memset(p, 0, sizeof(*p));
			t->unready[i] = false;
			moved = true;
		} else if (p->exists && !p->terminating && p->ready != ready) {
			p->ready = ready;
			moved = true;
		}
	}
	return moved;
}

static void settle(struct trace *t)
{
	do
		model_controller_settle(&t->m);
	while (pods_move(t));
}

static void print_state(const struct trace *t)
{
	printf("=");
	for (int i = 0; i < MODEL_PODS; i++) {
		const struct model_pod *p = &t->m.pods[i];

		if (!p->exists)
			printf(" -");
		else
			printf(" %d%c", p->revision, p->terminating ? 'T' : p->ready ? 'R' : 'N');
	}
	printf(" %s\n", t->m.current == t->m.update ? "settled" : "rolling");
}

static void apply(struct trace *t, int template, int partition, int replicas)
{
	struct model *m = &t->m;

	if (partition == ROLLOUT_REST)
		printf("apply %d rest %d\n", template, replicas);
	else
		printf("apply %d %d %d\n", template, partition, replicas);
	m->observed = false;
	m->update = template;
	m->partition = partition;
	m->replicas = replicas;
}

/* One of what our controller writes, and what others may. */
static void any_apply(struct trace *t)
{
	struct model *m = &t->m;
	int below = m->partition < m->replicas ? m->partition : m->replicas;
	int template = 2 * (int)draw(t, TEMPLATES / 2) + !draw(t, 5);

	switch (m->replicas || !draw(t, 4) ? draw(t, 8) : 6) {
	case 0: /* freeze */
	case 1:
		apply(t, template, m->replicas, m->replicas);
		break;
	case 2: /* step */
	case 3:
		apply(t, m->update, below > 0 ? below - 1 : 0, m->replicas);
		break;
	case 4: /* scale */
		apply(t, m->update, m->partition, (int)draw(t, SIZE + 1));
		break;
	case 5: /* rest */
		apply(t, m->update, ROLLOUT_REST, m->replicas);
		break;
	case 6: /* stop, renew or start */
		apply(t, m->replicas ? m->update : template, 0,
		      m->replicas ? 0 : 1 + (int)draw(t, SIZE));
		break;
	default: /* anything */
		apply(t, template, (int)draw(t, SIZE + 1), (int)draw(t, SIZE + 1));
		break;
	}
}

/* Something with pod i that is possible; false: nothing is. */
static bool pod_event(struct trace *t, int i)
{
	struct model_pod *p = &t->m.pods[i];

	if (!p->exists)
		return false;
	if (p->terminating) {
		printf("end %d\n", i);
		t->lingers[i] = false;
		return true;
	}
	switch (draw(t, 3)) {
	case 0:
		if (model_broken(&t->m, p->revision))
			return false;
		printf("%s %d\n", t->unready[i] ? "ready" : "unready", i);
		t->unready[i] = !t->unready[i];
		return true;
	case 1:
		printf("delete %d\n", i);
		break;
	default:
		printf("linger %d\n", i);
		t->lingers[i] = true;
	}
	p->terminating = true;
	return true;
}

static void print_trace(unsigned long n, bool counting)
{
	struct trace t = { .random = (n + 1) * UINT64_C(0x9e3779b97f4a7c15) };

	printf("trace %lu\n", n);
	t.m.exists = true;
	t.m.budget = counting;
	t.m.loud = 0x2a; /* the odd ones */
	t.m.current = !draw(&t, 6);
	apply(&t, t.m.current, ROLLOUT_REST, 1 + (int)draw(&t, SIZE));
	for (int step = 0; step < STEPS; step++) {
		settle(&t);
		print_state(&t);
		if (draw(&t, 3) || !pod_event(&t, (int)draw(&t, SIZE)))
			any_apply(&t);
	}
	settle(&t);
	print_state(&t);
}

int main(int argc, char **argv)
{
	bool counting = argc > 1 && !strcmp(argv[1], "--counting");
	int at = 1 + counting;
	unsigned long count = argc > at ? strtoul(argv[at], NULL, 10) : 0;
	unsigned long first = argc > at + 1 ? strtoul(argv[at + 1], NULL, 10) : 0;

	if (!count) {
		fprintf(stderr, "usage: print_traces [--counting] COUNT [FIRST]\n");
		return 2;
	}
	for (unsigned long n = first; n < first + count; n++)
		print_trace(n, counting);
	return fflush(stdout) ? 1 : 0;
}
