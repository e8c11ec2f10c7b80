#include "controller/desired.h"

/* A figure counts only while the whole fleet was asked, and lately: a missing pod must not look like an idle one. */
static char *guarded(const struct workerapp *app, const char *figure)
{
	const char *ns = desired_namespace(app);

	return xasprintf(
		"%s and on() (celld_fleet_complete{namespace=\"%s\",workerapp=\"%s\"} == 1) "
		"and on() (time() - "
		"celld_fleet_sample_timestamp_seconds{namespace=\"%s\",workerapp=\"%s\"} < 60)",
		figure, ns, app->name, ns, app->name);
}

/*
 * The value as it is, not per pod. Without an answer KEDA must not take it for 0, so it counts as an error, and the
 * number of pods stays.
 */
static void trigger(const struct desired_input *in, struct json *to, const char *name,
		    const char *figure, const char *threshold)
{
	cleanup(freep) char *query = guarded(in->app, figure);
	struct json *t = json_new_object(), *meta = json_object_at(t, "metadata");

	json_set_str(t, "type", "prometheus");
	json_set_str(t, "name", name);
	json_set_str(t, "metricType", "Value");
	json_set_str(meta, "serverAddress", in->flags->prometheus_url);
	json_set_str(meta, "query", query);
	json_set_str(meta, "threshold", threshold);
	json_set_str(meta, "ignoreNullValues", "false");
	json_add(to, t);
}

static void triggers(const struct desired_input *in, struct json *to)
{
	const struct workerapp *app = in->app;
	const char *ns = desired_namespace(app);
	cleanup(freep) char *service = desired_name(app);
	cleanup(freep) char *used =
		xasprintf("avg(celld_resident_cell_utilization{namespace=\"%s\",workerapp=\"%s\"})",
			  ns, app->name);
	cleanup(freep) char *sheds =
		xasprintf("max(celld_shedding{namespace=\"%s\",workerapp=\"%s\"})", ns, app->name);
	cleanup(freep) char *target =
		xasprintf("%d.%02d", (int)(app->autoscaling.utilization / 100),
			  (int)(app->autoscaling.utilization % 100));

	trigger(in, to, "utilization", used, target);
	trigger(in, to, "shedding", sheds, "0.5");
	/* Without requests there is no latency (NaN), which must not keep an idle fleet large. */
	if (app->autoscaling.p95_ms.set) {
		cleanup(freep) char *slow = xasprintf(
			"((histogram_quantile(0.95, sum by (le) "
			"(rate(istio_request_duration_milliseconds_bucket{destination_service_name="
			"\"%s\",destination_service_namespace=\"%s\"}[2m]))) >= 0) or vector(0))",
			service, ns);
		cleanup(freep) char *limit =
			xasprintf("%lld", (long long)app->autoscaling.p95_ms.v);

		trigger(in, to, "latency", slow, limit);
	}
}

/* One pod at a time, each with time to hand its cells over; a pod with WebSockets closes them when it goes. */
static void behaviour(const struct workerapp *app, struct json *spec)
{
	struct json *advanced = json_object_at(spec, "advanced"), *down, *policy;

	json_set_bool(advanced, "restoreToOriginalReplicaCount", false);
	down = json_object_at(
		json_object_at(json_object_at(advanced, "horizontalPodAutoscalerConfig"),
			       "behavior"),
		"scaleDown");
	json_set_int(down, "stabilizationWindowSeconds", app->websockets ? 1800 : 600);
	policy = json_new_object();
	json_set_str(policy, "type", "Pods");
	json_set_int(policy, "value", 1);
	json_set_int(policy, "periodSeconds", 300);
	json_add(json_array_at(down, "policies"), policy);
}

struct json *desired_scaled_object(const struct desired_input *in, bool paused)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *name = desired_name(app);
	struct json *object, *spec, *target;

	if (!app->autoscaling.enabled)
		return NULL;
	object = desired_object(in, "keda.sh/v1alpha1", "ScaledObject", name);
	if (paused)
		json_set_str(json_object_at(json_get_mutable(object, "metadata"), "annotations"),
			     ANNOTATION_KEDA_PAUSED, "true");
	spec = json_object_at(object, "spec");
	target = json_object_at(spec, "scaleTargetRef");
	json_set_str(target, "apiVersion", "apps/v1");
	json_set_str(target, "kind", "StatefulSet");
	json_set_str(target, "name", name);
	json_set_int(spec, "minReplicaCount", app->autoscaling.min);
	json_set_int(spec, "maxReplicaCount", app->autoscaling.max);
	behaviour(app, spec);
	triggers(in, json_array_at(spec, "triggers"));
	return object;
}
