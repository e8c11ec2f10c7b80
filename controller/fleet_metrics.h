/*
 * fleet_metrics.h - the series of fleets and their pods, out of the newest snapshots.
 *
 * Per pod (labels namespace, workerapp, pod): celld_resident_cells, celld_resident_cell_utilization, celld_restoring,
 * celld_evicting, celld_shedding, celld_rss_bytes, celld_in_use_bytes, celld_cgroup_working_set_bytes,
 * celld_cgroup_current_bytes, celld_container_restarts, celld_self_fenced, celld_state_up. Per fleet (namespace,
 * workerapp): celld_fleet_complete, celld_fleet_sample_timestamp_seconds, celld_fleet_rollout_partition (while it is
 * not at rest), celld_fleet_phase (label phase too; 1).
 *
 * What celld did not tell, or does not tell in that version, has no sample; it is never 0. A pod or an app that the
 * cache no longer has has none either, whatever the last sweep saw.
 */
#ifndef CONTROLLER_FLEET_METRICS_H
#define CONTROLLER_FLEET_METRICS_H

#include "common/buf.h"
#include "controller/cache.h"
#include "controller/snapshot.h"

void fleet_metrics_write(struct cache *c, struct snapshots *all, struct buf *to);

#endif
