#include "controller/desired.h"

/* A claim tells whose cells it holds: it outlives the fleet, and another bucket's must not be taken
 * up again. */
static void claim_metadata(const struct workerapp *app, struct json *claim)
{
	cleanup(freep) char *bucket = desired_bucket(app);
	struct json *metadata = json_object_at(claim, "metadata"), *annotations;

	json_set_str(metadata, "name", DESIRED_DATA);
	desired_labels(app, json_object_at(metadata, "labels"));
	annotations = json_object_at(metadata, "annotations");
	json_set_str(annotations, ANNOTATION_CLAIM_APP, app->uid);
	json_set_str(annotations, ANNOTATION_CLAIM_BUCKET, bucket);
}

struct json *desired_claim_templates(const struct desired_input *in)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *size = desired_gi(app->storage.size_gi);
	struct json *templates, *claim, *spec;

	if (!app->storage.set)
		return NULL;
	claim = json_new_object();
	json_set_str(claim, "apiVersion", "v1");
	json_set_str(claim, "kind", "PersistentVolumeClaim");
	claim_metadata(app, claim);
	spec = json_object_at(claim, "spec");
	json_add_str(json_array_at(spec, "accessModes"), "ReadWriteOnce");
	json_set_str(spec, "storageClassName", app->storage.class_name);
	json_set_str(json_object_at(json_object_at(spec, "resources"), "requests"), "storage",
		     size);
	templates = json_new_array();
	json_add(templates, claim);
	return templates;
}

static void annotations(const struct desired_input *in, struct json *object)
{
	struct json *j = json_object_at(json_get_mutable(object, "metadata"), "annotations");
	char intent[DIGEST_HEX];

	desired_intent(in, intent);
	json_set_str(j, ANNOTATION_INTENT, intent);
	json_set_str(j, ANNOTATION_RENDERER, DESIRED_RENDERER);
	json_set_str(j, ANNOTATION_EXPECTED, in->expected ? in->expected : in->app_version);
}

static void update_strategy(struct json *spec, int partition)
{
	struct json *j = json_object_at(spec, "updateStrategy");

	json_set_str(j, "type", "RollingUpdate");
	json_set_int(json_object_at(j, "rollingUpdate"), "partition", partition);
}

/*
 * Parallel, because the first member of a cold start may need another's log before it is ready.
 * Claims are kept, whatever becomes of the fleet.
 */
struct json *desired_statefulset(const struct desired_input *in, int replicas, int partition)
{
	cleanup(freep) char *name = desired_name(in->app);
	cleanup(freep) char *internal = desired_internal_name(in->app);
	struct json *object = desired_object(in, "apps/v1", "StatefulSet", name), *spec, *keep;

	annotations(in, object);
	spec = json_object_at(object, "spec");
	json_set_int(spec, "replicas", replicas);
	json_set_str(spec, "serviceName", internal);
	json_set_str(spec, "podManagementPolicy", "Parallel");
	json_set_int(spec, "revisionHistoryLimit", 5);
	json_set(json_object_at(spec, "selector"), "matchLabels", desired_match_labels(in->app));
	update_strategy(spec, partition);
	keep = json_object_at(spec, "persistentVolumeClaimRetentionPolicy");
	json_set_str(keep, "whenDeleted", "Retain");
	json_set_str(keep, "whenScaled", "Retain");
	json_set(spec, "template", desired_pod_template(in));
	json_set(spec, "volumeClaimTemplates", desired_claim_templates(in));
	return object;
}
