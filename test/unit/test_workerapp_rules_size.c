#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test/lib/rules_table.h"

#define V(version) "celld: {image: 'ghcr.io/denoland/celld:v" version "'}"

static void test_replicas_and_resources(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {replicas: 2}", "" },
		{ "spec: {replicas: 1000}", "" },
		{ "spec: {replicas: 1001}", "number-range spec.replicas: 1001 is out of range; "
					    "write a number from 1 to 1000" },
		{ "spec: {replicas: 0}",
		  "number-range spec.replicas: 0 is out of range; write a number from 1 to 1000" },
		{ "spec: {replicas: 1}", "warning: spec.replicas: a single pod; each restart and "
					 "each drain of its node is an "
					 "outage" },
		{ "spec: {resources: {cpuMillis: 1, memoryGi: 65536, ephemeralStorageGi: 65536, "
		  "maxResidentCells: 1, idleEvictSeconds: 1}}",
		  "" },
		{ "spec: {resources: {cpuMillis: 0, memoryGi: 65537, ephemeralStorageGi: 0, "
		  "maxResidentCells: 0, idleEvictSeconds: 0}}",
		  "number-range spec.resources.cpuMillis: 0 is out of range; write a number from 1 "
		  "to "
		  "1000000\n"
		  "number-range spec.resources.memoryGi: 65537 is out of range; write a number "
		  "from 1 "
		  "to 65536\n"
		  "number-range spec.resources.ephemeralStorageGi: 0 is out of range; write a "
		  "number "
		  "from 1 to 65536\n"
		  "number-range spec.resources.maxResidentCells: 0 is out of range; write a number "
		  "from "
		  "1 to 2147483647\n"
		  "number-range spec.resources.idleEvictSeconds: 0 is out of range; write a number "
		  "from "
		  "1 to 2147483647" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define COPIES                                                                                     \
	"warning: spec.storage: durability bucket keeps every write in the bucket; the volumes "   \
	"only hold copies"

static void test_storage(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {storage: {sizeGi: 1, storageClassName: fast}}", COPIES },
		{ "spec: {storage: null}", "" },
		{ "spec: {storage: {sizeGi: ~}}", "storage-size-required spec.storage.sizeGi: "
						  "there is no size for the claims; write "
						  "one in GiB, or leave storage out\n" COPIES },
		{ "spec: {storage: {}}", "storage-size-required spec.storage.sizeGi: there is no "
					 "size for the claims; write "
					 "one in GiB, or leave storage out\n" COPIES },
		{ "spec: {storage: {sizeGi: 0}}",
		  "number-range spec.storage.sizeGi: 0 is out of "
		  "range; write a number from 1 to 65536\n" COPIES },
		{ "spec: {storage: {sizeGi: 10Gi}}",
		  "wrong-type spec.storage.sizeGi: must be an integer, is a string; write a whole "
		  "number, without quotes\n" COPIES },
		{ "spec: {storage: {sizeGi: 1, storageClassName: Fast}}",
		  "object-name spec.storage.storageClassName: \"Fast\" cannot be the name of a "
		  "StorageClass; write lower-case letters, digits, dashes and dots, at most "
		  "253\n" COPIES },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

static void test_durability(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {durability: bucket, replicas: 2}", "" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}}", "" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}, " V("0.3.0") "}", "" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}, " V("0.2.1") "}",
		  "durability-version spec.durability: celld v0.2.1 has no fleet durability; write "
		  "celld v0.3.0 or later, or durability bucket" },
		{ "spec: {durability: fleet}", "durability-storage spec.storage: fleet durability "
					       "keeps acknowledged writes on the "
					       "pods' disks, and there is no storage; write "
					       "storage.sizeGi, or durability bucket" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}, replicas: 2}",
		  "durability-replicas spec.replicas: fleet durability needs 3 pods to hold a "
		  "write, "
		  "and this is 2; write 3 or more, or durability bucket" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}, autoscaling: {enabled: true}}",
		  "durability-min-replicas spec.autoscaling.minReplicas: fleet durability needs 3 "
		  "pods "
		  "at every moment, and this is 2; write 3 or more, or durability bucket" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}, autoscaling: {enabled: false, "
		  "minReplicas: 2}}",
		  "" },
		{ "spec: {durability: fleet, storage: {sizeGi: 10}, autoscaling: {enabled: true, "
		  "minReplicas: 3}}",
		  "" },
		{ "spec: {durability: flet}",
		  "unknown-value spec.durability: \"flet\" is not a value of it; write fleet (the "
		  "values are bucket or fleet)" },
		{ "spec: {durability: memory}",
		  "unknown-value spec.durability: \"memory\" is not a value of it; write bucket or "
		  "fleet" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

static void test_autoscaling(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {autoscaling: {enabled: true}}", "" },
		{ "spec: {autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 3, targets: "
		  "{residentCellUtilization: 100, p95LatencyMs: 250}}}",
		  "" },
		{ "spec: {autoscaling: {enabled: true, minReplicas: 9, maxReplicas: 2}}",
		  "autoscaling-bounds spec.autoscaling.minReplicas: 9 is more than maxReplicas, 2; "
		  "write a smaller minReplicas or a greater maxReplicas" },
		{ "spec: {autoscaling: {enabled: false, minReplicas: 9, maxReplicas: 2}}", "" },
		{ "spec: {autoscaling: {enabled: false, minReplicas: 0}}", "" },
		{ "spec: {autoscaling: {enabled: true, minReplicas: 0}}",
		  "number-range spec.autoscaling.minReplicas: 0 is out of range; write a number "
		  "from 1 "
		  "to 1000" },
		{ "spec: {autoscaling: {minReplicas: -1, maxReplicas: 1001, targets: "
		  "{residentCellUtilization: 101, p95LatencyMs: 0}}}",
		  "number-range spec.autoscaling.minReplicas: -1 is out of range; write a number "
		  "from 0 "
		  "to 1000\n"
		  "number-range spec.autoscaling.maxReplicas: 1001 is out of range; write a number "
		  "from "
		  "1 to 1000\n"
		  "number-range spec.autoscaling.targets.residentCellUtilization: 101 is out of "
		  "range; "
		  "write a number from 1 to 100\n"
		  "number-range spec.autoscaling.targets.p95LatencyMs: 0 is out of range; write a "
		  "number from 1 to 3600000" },
		{ "spec: {replicas: 2, autoscaling: {enabled: true, minReplicas: 4}}",
		  "warning: spec.replicas: outside of minReplicas and maxReplicas; KEDA brings the "
		  "fleet to its own bounds at once" },
		{ "spec: {replicas: 20, autoscaling: {enabled: true}}",
		  "warning: spec.replicas: outside of minReplicas and maxReplicas; KEDA brings the "
		  "fleet to its own bounds at once" },
		{ "spec: {autoscaling: {enabled: true, minReplicas: 1}}",
		  "warning: spec.replicas: a single pod; each restart and each drain of its node "
		  "is an "
		  "outage" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replicas_and_resources),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_durability),
		cmocka_unit_test(test_autoscaling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
