/* Rules of replicas, resources, storage, durability and autoscaling. */
#include <inttypes.h>
#include <stdio.h>

#include "common/limits.h"
#include "common/syntax.h"
#include "common/workerapp_judge.h"

enum { FLEET_PODS = 3, GIB_MAX = 65536 };

static void resources(const struct judge *j)
{
	const struct workerapp *app = j->app;

	judge_range(j, "spec.resources.cpuMillis", app->resources.cpu_millis, 1, 1000000);
	judge_range(j, "spec.resources.memoryGi", app->resources.memory_gi, 1, GIB_MAX);
	judge_range(j, "spec.resources.ephemeralStorageGi", app->resources.ephemeral_gi, 1,
		    GIB_MAX);
	judge_range(j, "spec.resources.maxResidentCells", app->resources.max_resident_cells, 1,
		    INT32_MAX);
	if (app->resources.idle_evict_seconds.set)
		judge_range(j, "spec.resources.idleEvictSeconds",
			    app->resources.idle_evict_seconds.v, 1, INT32_MAX);
}

static void storage(const struct judge *j)
{
	const struct json *size = json_path(j->app->spec, "storage", "sizeGi", NULL);

	if (!j->app->storage.set)
		return;
	if (json_kind(size) == JSON_ABSENT || json_kind(size) == JSON_NULL)
		fault_add(
			j->faults, "storage-size-required", "spec.storage.sizeGi", "",
			"there is no size for the claims; write one in GiB, or leave storage out");
	else if (json_kind(size) == JSON_NUMBER)
		judge_range(j, "spec.storage.sizeGi", j->app->storage.size_gi, 1, GIB_MAX);
	judge_object_name(j, "spec.storage.storageClassName", j->app->storage.class_name,
			  "StorageClass");
}

static void durability(const struct judge *j)
{
	const struct workerapp *app = j->app;
	char since[VERSION_TEXT], text[VERSION_TEXT];

	if (app->durability != DURABILITY_FLEET) {
		if (app->storage.set)
			judge_warn(j, "spec.storage: durability bucket keeps every write in the "
				      "bucket; the volumes only hold copies");
		return;
	}
	if (j->facts && !j->facts->durability) {
		judge_since(j, offsetof(struct celld_facts, durability), since);
		version_text(j->version, text);
		fault_add(j->faults, "durability-version", "spec.durability", text,
			  "celld %s has no fleet durability; write celld %s, or durability bucket",
			  text, since);
	}
	if (!app->storage.set)
		fault_add(j->faults, "durability-storage", "spec.storage", "fleet",
			  "fleet durability keeps acknowledged writes on the pods' disks, and "
			  "there is no storage; write storage.sizeGi, or durability bucket");
	if (app->replicas < FLEET_PODS) {
		(void)snprintf(text, sizeof(text), "%" PRId64, app->replicas);
		fault_add(j->faults, "durability-replicas", "spec.replicas", text,
			  "fleet durability needs 3 pods to hold a write, and this is %s; write 3 "
			  "or more, or durability bucket",
			  text);
	}
	if (app->autoscaling.enabled && app->autoscaling.min < FLEET_PODS) {
		(void)snprintf(text, sizeof(text), "%" PRId64, app->autoscaling.min);
		fault_add(j->faults, "durability-min-replicas", "spec.autoscaling.minReplicas",
			  text,
			  "fleet durability needs 3 pods at every moment, and this is %s; write 3 "
			  "or more, or durability bucket",
			  text);
	}
}

static void autoscaling(const struct judge *j)
{
	const struct workerapp *app = j->app;
	int64_t min = app->autoscaling.min, max = app->autoscaling.max;
	bool on = app->autoscaling.enabled;
	char both[64];

	judge_range(j, "spec.autoscaling.minReplicas", min, on ? 1 : 0, LIMIT_REPLICAS);
	judge_range(j, "spec.autoscaling.maxReplicas", max, 1, LIMIT_REPLICAS);
	judge_range(j, "spec.autoscaling.targets.residentCellUtilization",
		    app->autoscaling.utilization, 1, 100);
	if (app->autoscaling.p95_ms.set)
		judge_range(j, "spec.autoscaling.targets.p95LatencyMs", app->autoscaling.p95_ms.v,
			    1, 3600000);
	if (!on)
		return;
	(void)snprintf(both, sizeof(both), "%" PRId64 " %" PRId64, min, max);
	if (min > max)
		fault_add(j->faults, "autoscaling-bounds", "spec.autoscaling.minReplicas", both,
			  "%" PRId64 " is more than maxReplicas, %" PRId64
			  "; write a smaller minReplicas or a greater maxReplicas",
			  min, max);
	else if (app->replicas < min || app->replicas > max)
		judge_warn(j, "spec.replicas: outside of minReplicas and maxReplicas; KEDA brings "
			      "the fleet to its own bounds at once");
}

void workerapp_rules_size(const struct judge *j)
{
	const struct workerapp *app = j->app;

	judge_range(j, "spec.replicas", app->replicas, 1, LIMIT_REPLICAS);
	resources(j);
	storage(j);
	durability(j);
	autoscaling(j);
	if (app->autoscaling.enabled ? app->autoscaling.min == 1 : app->replicas == 1)
		judge_warn(j, "spec.replicas: a single pod; each restart and each drain of its "
			      "node is an outage");
}
