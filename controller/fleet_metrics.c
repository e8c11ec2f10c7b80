#include "controller/fleet_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "common/metrics.h"
#include "common/strlist.h"

enum pod_series {
	RESIDENT,
	UTILIZATION,
	RESTORING,
	EVICTING,
	SHEDDING,
	RSS,
	IN_USE,
	WORKING_SET,
	CURRENT,
	RESTARTS,
	SELF_FENCED,
	STATE_UP,
	POD_SERIES,
};

static const struct {
	const char *name, *help;
} pod_table[POD_SERIES] = {
	[RESIDENT] = { "celld_resident_cells", "Cells that are resident in the pod" },
	[UTILIZATION] = { "celld_resident_cell_utilization",
			  "Resident cells as a part of the pod's limit, 0 to 1" },
	[RESTORING] = { "celld_restoring", "Cells that are being restored" },
	[EVICTING] = { "celld_evicting", "Cells that are being evicted" },
	[SHEDDING] = { "celld_shedding", "1 while celld refuses work for lack of memory" },
	[RSS] = { "celld_rss_bytes", "Resident memory of the process" },
	[IN_USE] = { "celld_in_use_bytes", "The same without what the allocator keeps" },
	[WORKING_SET] = { "celld_cgroup_working_set_bytes",
			  "Active memory of the container's cgroup" },
	[CURRENT] = { "celld_cgroup_current_bytes",
		      "All memory charged to the container's cgroup" },
	[RESTARTS] = { "celld_container_restarts", "How often the kubelet has restarted celld" },
	[SELF_FENCED] = { "celld_self_fenced",
			  "1 when celld's last end was its own fence (exit code 3)" },
	[STATE_UP] = { "celld_state_up", "1 when /state answered in the last sweep" },
};

struct row {
	char pod[FLEET_NAME];
	size_t fleet; /* index */
	bool has[POD_SERIES];
	double value[POD_SERIES];
};

struct fleet_row {
	char *ns;
	const char *app; /* in ns, behind its NUL */
	char phase[CACHE_PHASE];
	int partition;
	bool has_partition, sampled, complete;
	double sampled_s;
};

struct page {
	struct fleet_row *fleets;
	size_t n_fleets;
	struct row *rows;
	size_t n_rows, room;
};

static void set(struct row *r, enum pod_series which, double value)
{
	r->has[which] = true;
	r->value[which] = value;
}

static void set_count(struct row *r, enum pod_series which, struct celld_count c)
{
	if (c.set)
		set(r, which, (double)c.v);
}

static void read_state(struct row *r, const struct snapshot_pod *p)
{
	const struct celld_state *s = &p->celld;

	set(r, STATE_UP, p->state.valid);
	if (!p->state.valid)
		return;
	set_count(r, RESIDENT, s->occupied);
	if (s->occupied.set && p->max_cells > 0)
		set(r, UTILIZATION, (double)s->occupied.v / (double)p->max_cells);
	set_count(r, RESTORING, s->restoring);
	set_count(r, EVICTING, s->evicting);
	if (s->shedding != CELLD_UNKNOWN)
		set(r, SHEDDING, s->shedding == CELLD_YES);
	set_count(r, RSS, s->rss_bytes);
	set_count(r, IN_USE, s->in_use_bytes);
	set_count(r, WORKING_SET, s->cgroup_working_set_bytes);
	set_count(r, CURRENT, s->cgroup_current_bytes);
}

static struct row *add_row(struct page *p)
{
	if (p->n_rows == p->room) {
		p->room = p->room ? p->room * 2 : 64;
		p->rows = xrealloc(p->rows, p->room * sizeof(*p->rows));
	}
	p->rows[p->n_rows] = (struct row){ .fleet = p->n_fleets - 1 };
	return &p->rows[p->n_rows++];
}

/* The number of pods that the snapshot knows. */
static size_t add_pods(struct page *page, const struct fleet_pod *pods, size_t n,
		       const struct snapshot *s)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snapshot_pod *p = snapshot_find(s, pods[i].uid);
		struct row *r = add_row(page);

		memcpy(r->pod, pods[i].name, sizeof(r->pod));
		set(r, RESTARTS, pods[i].restarts);
		set(r, SELF_FENCED, pods[i].self_fenced);
		if (!p)
			continue;
		known++;
		read_state(r, p);
	}
	return known;
}

static void add_fleet(struct page *page, struct cache *c, struct snapshots *all, const char *key)
{
	struct cache_brief brief;
	size_t n, known;
	cleanup(freep) struct fleet_pod *pods = cache_pods(c, key, &n);
	struct fleet_row *f = &page->fleets[page->n_fleets];
	const struct snapshot *s;
	char *slash;

	if (!cache_brief(c, key, &brief))
		return;
	page->n_fleets++;
	f->ns = xstrdup(key);
	slash = strchr(f->ns, '/');
	*slash = '\0';
	f->app = slash + 1;
	memcpy(f->phase, brief.phase, sizeof(f->phase));
	f->has_partition = brief.sts_uid[0] && brief.partition != ROLLOUT_REST;
	f->partition = brief.partition;
	s = snapshots_get(all, key);
	known = add_pods(page, pods, n, s);
	if (s) {
		f->sampled = true;
		f->sampled_s = (double)s->sampled_ms / 1000.0;
		/* not of a pod that has gone since */
		f->complete = s->complete && known == s->n;
	}
	snapshot_drop(all, s);
}

static void write_pods(const struct page *page, enum pod_series which, struct buf *to)
{
	static const char *const names[] = { "namespace", "workerapp", "pod" };
	bool any = false;

	for (size_t i = 0; i < page->n_rows; i++) {
		const struct row *r = &page->rows[i];
		const struct fleet_row *f = &page->fleets[r->fleet];
		const char *values[] = { f->ns, f->app, r->pod };

		if (!r->has[which])
			continue;
		if (!any)
			metrics_write_family(to, pod_table[which].name, METRIC_GAUGE,
					     pod_table[which].help);
		any = true;
		metrics_write_sample(to, pod_table[which].name, names, values, array_len(names),
				     r->value[which]);
	}
}

static bool always(const struct fleet_row *f)
{
	return f->phase[0] != '\0';
}

static bool sampled(const struct fleet_row *f)
{
	return f->sampled;
}

static bool rolling(const struct fleet_row *f)
{
	return f->has_partition;
}

static double complete(const struct fleet_row *f)
{
	return f->complete;
}

static double sampled_at(const struct fleet_row *f)
{
	return f->sampled_s;
}

static double partition(const struct fleet_row *f)
{
	return f->partition;
}

static double one(const struct fleet_row *f)
{
	(void)f;
	return 1;
}

static const struct {
	const char *name, *help;
	bool (*has)(const struct fleet_row *f);
	double (*value)(const struct fleet_row *f);
	size_t labels;
} fleet_table[] = {
	{ "celld_fleet_complete",
	  "1 when every pod of the fleet exists and answered in the last sweep", sampled, complete,
	  2 },
	{ "celld_fleet_sample_timestamp_seconds", "When the last sweep of the fleet ended", sampled,
	  sampled_at, 2 },
	{ "celld_fleet_rollout_partition",
	  "Pods below this ordinal are still to be replaced; absent at rest", rolling, partition,
	  2 },
	{ "celld_fleet_phase", "1 for the phase that the WorkerApp's status names", always, one,
	  3 },
};

static void write_fleets(const struct page *page, size_t which, struct buf *to)
{
	static const char *const names[] = { "namespace", "workerapp", "phase" };
	bool any = false;

	for (size_t i = 0; i < page->n_fleets; i++) {
		const struct fleet_row *f = &page->fleets[i];
		const char *values[] = { f->ns, f->app, f->phase };

		if (!fleet_table[which].has(f))
			continue;
		if (!any)
			metrics_write_family(to, fleet_table[which].name, METRIC_GAUGE,
					     fleet_table[which].help);
		any = true;
		metrics_write_sample(to, fleet_table[which].name, names, values,
				     fleet_table[which].labels, fleet_table[which].value(f));
	}
}

void fleet_metrics_write(struct cache *c, struct snapshots *all, struct buf *to)
{
	struct strlist keys = STRLIST_INIT;
	struct page page = { .rows = NULL };

	cache_apps(c, &keys);
	page.fleets = xcalloc(keys.n + 1, sizeof(*page.fleets));
	for (size_t i = 0; i < keys.n; i++)
		add_fleet(&page, c, all, keys.v[i]);
	for (int i = 0; i < POD_SERIES; i++)
		write_pods(&page, (enum pod_series)i, to);
	for (size_t i = 0; i < array_len(fleet_table); i++)
		write_fleets(&page, i, to);
	for (size_t i = 0; i < page.n_fleets; i++)
		free(page.fleets[i].ns);
	free(page.fleets);
	free(page.rows);
	strlist_done(&keys);
}
