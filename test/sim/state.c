/*
 * GET /state, member for member as each release writes it: up to 0.3 in the order of the source,
 * from 0.4 sorted. The numbers are invented but fit each other. 0.4.0 is taken to have `deployment`
 * like 0.4.1, and 0.6.1 and 0.6.2 to write what 0.6.0 writes; neither could be seen. drainPins is
 * never written: its elements are not known and it is absent when there are none.
 */
#include "test/sim/sim.h"

#include <stdio.h>
#include <time.h>

#define RSS	812646400LL
#define DORMANT 3 /* cells that this node owns and that are not resident */

/* What is left of a quantity that shrinks evenly to nothing within the time. */
static long long decay(long long from, long long since, long long within, long long now)
{
	if (now >= since + within || within <= 0)
		return 0;
	if (now <= since)
		return from;
	return (from * (since + within - now) + within - 1) / within;
}

long long sim_occupied(const struct sim *sim, long long now)
{
	long long cells = sim->faults.occupied >= 0 ? sim->faults.occupied : sim->set.cells;
	if (sim->phase == SIM_DRAINING)
		return decay(cells, sim->drain_ms, sim->drain_end_ms - sim->drain_ms, now);
	return cells;
}

long long sim_restoring(const struct sim *sim, long long now)
{
	if (sim->faults.restoring >= 0)
		return sim->faults.restoring;
	if (sim->phase == SIM_STARTING)
		return sim->set.restoring;
	return decay(sim->set.restoring, sim->ready_ms, sim->set.restore_ms, now);
}

long long sim_swapping(const struct sim *sim, long long now)
{
	if (sim->faults.swapping >= 0)
		return sim->faults.swapping;
	if (sim->deploy.generation < 2)
		return 0;
	return decay(sim_occupied(sim, now), sim->deploy.adopted_ms, sim->set.swap_ms, now);
}

void sim_scope(long long n, char out[40])
{
	(void)snprintf(out, 40, "Room:%016llx",
		       (unsigned long long)(n + 1) * 0x9e3779b97f4a7c15ULL);
}

static void number(cJSON *to, const char *name, long long value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

static void text(cJSON *to, const char *name, const char *value)
{
	if (value != NULL)
		cJSON_AddStringToObject(to, name, value);
	else
		cJSON_AddNullToObject(to, name);
}

/* The words of 0.1 and 0.2.0 differ from later ones; a scripted word is written as it is. */
static const char *shedding(const struct sim *sim)
{
	return sim->faults.shedding_set && sim->faults.shedding[0] != '\0' ? sim->faults.shedding
									   : NULL;
}

static long long rss(const struct sim *sim)
{
	return sim->faults.rss >= 0 ? sim->faults.rss : RSS;
}

static long long in_use(const struct sim *sim)
{
	return rss(sim) / 8 * 7;
}

static void scopes(cJSON *to, const char *name, long long count)
{
	cJSON *list = cJSON_AddArrayToObject(to, name);
	for (long long i = 0; i < count; i++) {
		char scope[40];
		sim_scope(i, scope);
		cJSON_AddItemToArray(list, cJSON_CreateString(scope));
	}
}

struct counts {
	long long occupied, restoring, activating, waiting, swapping;
};

static struct counts counts(const struct sim *sim, long long now)
{
	struct counts c = { .occupied = sim_occupied(sim, now),
			    .restoring = sim_restoring(sim, now),
			    .swapping = sim_swapping(sim, now) };
	long long permits = sim->config.activations;
	c.activating = c.restoring < permits ? c.restoring : permits;
	c.waiting = c.restoring - c.activating;
	return c;
}

/* Only phases that hold a cell are named. */
static void phases(cJSON *to, const struct counts *c)
{
	cJSON *census = cJSON_AddObjectToObject(to, "phases");
	number(census, "dormant", DORMANT);
	if (c->occupied > 0)
		number(census, "resident", c->occupied);
	if (c->activating > 0)
		number(census, "restoring", c->activating);
	if (c->waiting > 0)
		number(census, "waiting_activation", c->waiting);
}

/* 0.1.0 to 0.3.0. */
static cJSON *old_state(const struct sim *sim, const struct counts *c)
{
	int release = sim->config.release;
	cJSON *doc = cJSON_CreateObject();
	text(doc, "ownership", sim->config.ownership);
	number(doc, "occupied", c->occupied);
	if (release >= V(0, 2, 0)) {
		number(doc, "evicting", sim->faults.evicting >= 0 ? sim->faults.evicting : 0);
		number(doc, "restoring", c->restoring);
	}
	if (release >= V(0, 2, 1)) {
		number(doc, "activating", c->activating);
		number(doc, "activation_waiting", c->waiting);
		number(doc, "capacity_waiting", 0);
		phases(doc, c);
	}
	text(doc, "shedding", shedding(sim));
	if (release >= V(0, 2, 1)) {
		number(doc, "rss_bytes", rss(sim));
		number(doc, "in_use_bytes", in_use(sim));
	}
	scopes(doc, "residents", c->occupied);
	scopes(doc, "published", c->occupied);
	number(doc, "publishes", (long long)sim->publishes);
	number(doc, "stops", (long long)sim->stops);
	return doc;
}

static void isolates(cJSON *to, bool live)
{
	cJSON *all = cJSON_AddObjectToObject(to, "isolates");
	cJSON_AddObjectToObject(all, "cells");
	cJSON_AddObjectToObject(all, "services");
	cJSON *census = cJSON_AddObjectToObject(all, "stateless");
	number(census, "cells", 0);
	number(census, "external_bytes", 0);
	number(census, "freed", live ? 0 : 3);
	number(census, "heap_bytes", live ? 4194304 : 0);
	number(census, "live", live ? 1 : 0);
	number(census, "live_empty", 0);
	number(census, "requests", 0);
	number(census, "retiring", 0);
	number(census, "turns", 0);
}

static void deployment(cJSON *to, const struct sim *sim, const struct counts *c)
{
	const struct sim_deploy *deploy = &sim->deploy;
	bool census = sim->config.release >= V(0, 5, 1);
	cJSON *doc = cJSON_AddObjectToObject(to, "deployment");
	cJSON *cells = cJSON_AddObjectToObject(doc, "cells");
	for (long long i = 0; i < c->occupied; i++) {
		char scope[40];
		sim_scope(i, scope);
		bool old = i < c->swapping && deploy->generation > 1;
		number(cells, scope, deploy->generation - old);
	}
	cJSON *draining = cJSON_AddArrayToObject(doc, "draining");
	for (int i = 0; c->swapping > 0 && i < deploy->olds; i++) {
		cJSON *old = cJSON_CreateObject();
		number(old, "generation", deploy->old[i].number);
		if (census)
			isolates(old, false);
		text(old, "version", deploy->old[i].version);
		cJSON_AddItemToArray(draining, old);
	}
	number(doc, "generation", deploy->generation);
	if (census)
		isolates(doc, true);
	text(doc, "prefix", deploy->now.prefix);
	number(doc, "swapping", c->swapping);
	text(doc, "version", deploy->now.version);
}

static long long wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void node_load(cJSON *to, const struct sim *sim, const struct counts *c)
{
	bool pressed = shedding(sim) != NULL;
	cJSON *load = cJSON_AddObjectToObject(to, "node_load");
	/* The wake format that 0.5 brought; before, the member is there and null. */
	if (sim->config.release >= V(0, 5, 0))
		number(load, "bucket_format", 2);
	else
		cJSON_AddNullToObject(load, "bucket_format");
	number(load, "cgroup_current_bytes", rss(sim) + 90000000);
	number(load, "cgroup_working_set_bytes", rss(sim));
	number(load, "cpu_percent_x100", 3150);
	cJSON_AddBoolToObject(load, "draining", sim->phase == SIM_DRAINING);
	number(load, "fd_limit", 1048576);
	number(load, "host_websockets", 0);
	number(load, "in_use_bytes", in_use(sim));
	cJSON_AddBoolToObject(load, "memory_headroom", !pressed);
	number(load, "open_fds", 120);
	number(load, "owned_cells", c->occupied + DORMANT);
	number(load, "placement_weight", env_number("CELLD_PLACEMENT_WEIGHT", 4));
	cJSON_AddBoolToObject(load, "pressured", pressed);
	cJSON_AddBoolToObject(load, "rebalance_paused", sim->paused);
	number(load, "resident_cells", c->occupied);
	number(load, "restoring", c->restoring);
	number(load, "rss_bytes", rss(sim));
	number(load, "sampled_ms", wall_ms());
	number(load, "shed_cells", 0);
}

static void allocators(cJSON *allocator, cJSON *libc)
{
	number(allocator, "active_bytes", 640000000);
	number(allocator, "allocated_bytes", 600000000);
	number(allocator, "mapped_bytes", 900000000);
	number(allocator, "resident_bytes", 700000000);
	number(allocator, "retained_bytes", 120000000);
	number(libc, "arena_bytes", 1351680);
	number(libc, "free_bytes", 400000);
	number(libc, "in_use_bytes", 951680);
	number(libc, "mmap_bytes", 0);
}

static void memory(cJSON *doc, const struct sim *sim)
{
	number(doc, "cgroup_current_bytes", rss(sim) + 90000000);
	number(doc, "cgroup_working_set_bytes", rss(sim));
}

/* Cells that a draining node has given to others. */
static long long handed_off(const struct sim *sim, const struct counts *c)
{
	long long all = sim->faults.occupied >= 0 ? sim->faults.occupied : sim->set.cells;
	return sim->phase == SIM_DRAINING && !sim->preserve ? all - c->occupied : 0;
}

/* 0.4.0 and later, in alphabetical order. */
static cJSON *new_state(const struct sim *sim, const struct counts *c)
{
	int release = sim->config.release;
	bool census = release >= V(0, 5, 1);
	bool balanced = release >= V(0, 4, 1);
	bool draining = sim->phase == SIM_DRAINING && c->occupied > 0;
	cJSON *doc = cJSON_CreateObject();
	number(doc, "activating", c->activating);
	number(doc, "activation_waiting", c->waiting);
	number(doc, "adopting", 0);
	cJSON *allocator = census ? cJSON_AddObjectToObject(doc, "allocator") : NULL;
	number(doc, "capacity_waiting", 0);
	memory(doc, sim);
	if (sim->deploy.serving)
		deployment(doc, sim, c);
	number(doc, "evicting", sim->faults.evicting >= 0 ? sim->faults.evicting : 0);
	number(doc, "handed_off", handed_off(sim, c));
	number(doc, "handoff_failed", 0);
	number(doc, "in_use_bytes", in_use(sim));
	if (census)
		allocators(allocator, cJSON_AddObjectToObject(doc, "libc_malloc"));
	if (balanced && !sim_has_bucket(sim))
		cJSON_AddNullToObject(doc, "node_load");
	else if (balanced)
		node_load(doc, sim, c);
	number(doc, "occupied", c->occupied);
	if (balanced)
		number(doc, "owned_cells", c->occupied + DORMANT);
	text(doc, "ownership", sim->config.ownership);
	phases(doc, c);
	scopes(doc, "published", c->occupied);
	number(doc, "publishes", (long long)sim->publishes);
	number(doc, "quiescing", draining ? 1 : 0);
	if (balanced) {
		number(doc, "rebalance_failed", 0);
		number(doc, "rebalanced", 0);
	}
	number(doc, "releasing", draining ? 1 : 0);
	if (release >= V(0, 5, 0))
		number(doc, "remote_route_refreshes", 0);
	scopes(doc, "residents", c->occupied);
	number(doc, "restoring", c->restoring);
	number(doc, "rss_bytes", rss(sim));
	text(doc, "shedding", shedding(sim));
	number(doc, "stops", (long long)sim->stops);
	return doc;
}

cJSON *sim_state(const struct sim *sim, long long now)
{
	struct counts c = counts(sim, now);
	return sim->config.release < V(0, 4, 0) ? old_state(sim, &c) : new_state(sim, &c);
}
