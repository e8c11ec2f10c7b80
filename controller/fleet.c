#include "controller/fleet.h"

#include <stdio.h>
#include <string.h>

#include "common/celld/image.h"
#include "controller/desired.h"

/* celld exits with 3 when it has fenced itself: lease lost, store or credential broken. */
enum { EXIT_SELF_FENCE = 3 };

static void copy(char *to, size_t room, const char *s)
{
	(void)snprintf(to, room, "%s", s ? s : "");
}

static int bounded_int(const struct json *obj, const char *name, int fallback)
{
	int64_t v = fallback;

	(void)json_get_int(obj, name, &v);
	return v >= INT32_MIN && v <= INT32_MAX ? (int)v : fallback;
}

const struct json *fleet_controller_ref(const struct json *object)
{
	const struct json *r = json_first(json_path(object, "metadata", "ownerReferences", NULL));

	while (r && !json_get_bool(r, "controller", false))
		r = json_next(r);
	return r;
}

const char *fleet_controller_of(const struct json *object)
{
	return json_get_str(fleet_controller_ref(object), "uid");
}

/* The ordinal in "<app>-celld-<ordinal>"; -1: some other pod, which carries the label. */
static int ordinal_of(const char *name, const char *app)
{
	cleanup(freep) char *prefix = xasprintf("%s-celld-", app ? app : "");
	const char *digits = name + strlen(prefix);
	int v = 0;

	if (!str_starts(name, prefix) || !*digits || strlen(digits) > 6)
		return -1;
	for (const char *s = digits; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		v = v * 10 + (*s - '0');
	}
	return v;
}

static const struct json *condition(const struct json *status, const char *type)
{
	return json_find(json_get(status, "conditions"), "type", type);
}

static bool condition_is(const struct json *status, const char *type, const char *value)
{
	return json_is(condition(status, type), "status", value);
}

static const struct json *container_status(const struct json *status)
{
	return json_find(json_get(status, "containerStatuses"), "name", DESIRED_CONTAINER);
}

static bool one_of(const char *s, const char *const *list)
{
	for (; *list; list++) {
		if (str_eq(s, *list))
			return true;
	}
	return false;
}

static enum rollout_fault fault_of_waiting(const char *reason)
{
	static const char *const image[] = { "ErrImagePull",
					     "ImagePullBackOff",
					     "InvalidImageName",
					     "ErrImageNeverPull",
					     "ImageInspectError",
					     "RegistryUnavailable",
					     "SignatureValidationFailed",
					     NULL };
	static const char *const config[] = { "CreateContainerConfigError",
					      "CreateContainerError",
					      "RunContainerError",
					      "PreCreateHookError",
					      "PreStartHookError",
					      "PostStartHookError",
					      NULL };

	if (one_of(reason, image))
		return ROLLOUT_FAULT_IMAGE;
	if (one_of(reason, config))
		return ROLLOUT_FAULT_CONFIG;
	return str_eq(reason, "CrashLoopBackOff") ? ROLLOUT_FAULT_CRASH_LOOP : ROLLOUT_FAULT_NONE;
}

static void read_last_end(const struct json *container, struct fleet_pod *p)
{
	const struct json *now = json_path(container, "state", "terminated", NULL);
	const struct json *last = json_path(container, "lastState", "terminated", NULL);
	const struct json *end = now ? now : last;

	if (!end)
		return;
	p->exit_code = bounded_int(end, "exitCode", -1);
	copy(p->fault_text, sizeof(p->fault_text), json_get_str(end, "message"));
}

/* What holds whether the pod is Ready or not. */
static void read_life(const struct json *status, struct fleet_pod *p)
{
	const struct json *c = container_status(status);

	p->restarts = bounded_int(c, "restartCount", 0);
	read_last_end(c, p);
	p->self_fenced = p->exit_code == EXIT_SELF_FENCE;
}

/* A container that ended with an error and has not been Ready since: also between two back-offs. */
static bool crashes(const struct json *container, const struct fleet_pod *p)
{
	if (p->exit_code <= 0)
		return false;
	return json_path(container, "state", "terminated", NULL) || p->restarts >= 2;
}

static void read_container(const struct json *status, struct fleet_pod *p)
{
	const struct json *c = container_status(status);
	const struct json *waiting = json_path(c, "state", "waiting", NULL);
	const char *reason = json_get_str(waiting, "reason");

	if (reason)
		p->fault = fault_of_waiting(reason);
	if (p->fault == ROLLOUT_FAULT_NONE && crashes(c, p))
		p->fault = ROLLOUT_FAULT_CRASH_LOOP;
	if (p->fault == ROLLOUT_FAULT_CRASH_LOOP && p->exit_code == EXIT_SELF_FENCE)
		p->fault = ROLLOUT_FAULT_SELF_FENCE;
	if (p->fault == ROLLOUT_FAULT_IMAGE || p->fault == ROLLOUT_FAULT_CONFIG)
		copy(p->fault_text, sizeof(p->fault_text), json_get_str(waiting, "message"));
}

/*
 * Of the disruptions only these two mean that the node is not there; a drain or a preemption ends the pod in the
 * usual way.
 */
static bool lost_its_node(const struct json *status)
{
	const struct json *c = condition(status, "DisruptionTarget");
	const char *value = json_get_str(c, "status"), *reason = json_get_str(c, "reason");

	return value && reason && str_eq(value, "True") &&
	       (str_eq(reason, "DeletionByTaintManager") || str_eq(reason, "DeletionByPodGC"));
}

static void read_placement(const struct json *status, struct fleet_pod *p)
{
	const struct json *scheduled = condition(status, "PodScheduled");
	const char *reason = json_get_str(scheduled, "reason");
	const char *words = json_get_str(scheduled, "message");
	const char *lost = json_get_str(status, "reason");

	if (reason && str_eq(reason, "Unschedulable")) {
		p->fault = words && strstr(words, "persistentvolumeclaim")
				   ? ROLLOUT_FAULT_CLAIM_LOST
				   : ROLLOUT_FAULT_UNSCHEDULABLE;
		copy(p->fault_text, sizeof(p->fault_text), words);
	}
	if ((lost && str_eq(lost, "NodeLost")) || (p->terminating && lost_its_node(status))) {
		p->fault = ROLLOUT_FAULT_NODE_LOST;
		copy(p->fault_text, sizeof(p->fault_text),
		     json_get_str(condition(status, "DisruptionTarget"), "message"));
	}
}

/* A number in decimal digits, 0 when it is none. */
static int64_t count_of(const char *s)
{
	int64_t v = 0;

	if (str_empty(s) || strlen(s) > 15)
		return 0;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return 0;
		v = v * 10 + (*s - '0');
	}
	return v;
}

static int64_t max_cells_of(const struct json *spec)
{
	const struct json *celld =
		json_find(json_get(spec, "containers"), "name", DESIRED_CONTAINER);
	const struct json *v =
		json_find(json_get(celld, "env"), "name", "CELLD_MAX_RESIDENT_CELLS");

	return v ? count_of(json_get_str(v, "value")) : 0;
}

/* What the annotation says; of what another operator has made, the image's tag. */
static bool read_version(const struct json *notes, const struct json *spec, struct version *ret)
{
	const struct json *all = json_get(spec, "containers");
	const struct json *celld = json_find(all, "name", DESIRED_CONTAINER);
	const char *image = json_get_str(celld ? celld : json_first(all), "image");

	if (version_read(json_get_str(notes, ANNOTATION_CELLD_VERSION), ret))
		return true;
	return image && image_celld_version(image, NULL, ret);
}

bool fleet_read_pod(const struct json *pod, struct fleet_pod *ret)
{
	const struct json *meta = json_get(pod, "metadata");
	const struct json *labels = json_get(meta, "labels");
	const struct json *notes = json_get(meta, "annotations");
	const struct json *status = json_get(pod, "status");
	const char *name = json_get_str(meta, "name"), *phase = json_get_str(status, "phase");
	struct fleet_pod p;

	memset(&p, 0, sizeof(p)); /* the gaps too: the cache keeps its bytes */
	p.exit_code = -1;
	if (!name || strlen(name) >= sizeof(p.name))
		return false;
	p.ordinal = ordinal_of(name, json_get_str(labels, WORKERAPP_LABEL));
	if (p.ordinal < 0)
		return false;
	copy(p.name, sizeof(p.name), name);
	copy(p.uid, sizeof(p.uid), json_get_str(meta, "uid"));
	copy(p.ip, sizeof(p.ip), json_get_str(status, "podIP"));
	copy(p.node, sizeof(p.node), json_get_str(json_get(pod, "spec"), "nodeName"));
	copy(p.owner_uid, sizeof(p.owner_uid), fleet_controller_of(pod));
	copy(p.revision, sizeof(p.revision), json_get_str(labels, "controller-revision-hash"));
	copy(p.app_version, sizeof(p.app_version), json_get_str(notes, ANNOTATION_APP_VERSION));
	p.has_version = read_version(notes, json_get(pod, "spec"), &p.version);
	p.terminating = json_get(meta, "deletionTimestamp") != NULL;
	p.running = phase && str_eq(phase, "Running");
	p.ready = condition_is(status, "Ready", "True");
	p.max_cells = max_cells_of(json_get(pod, "spec"));
	read_life(status, &p);
	if (!p.ready)
		read_container(status, &p);
	read_placement(status, &p);
	memcpy(ret, &p, sizeof(p));
	return true;
}

static bool uses_bucket(const struct json *template)
{
	const struct json *containers = json_path(template, "spec", "containers", NULL);
	const struct json *v =
		json_find(json_get(json_first(containers), "env"), "name", "CELLD_DURABILITY");

	return !v || json_is(v, "value", "bucket");
}

static int remembered(const struct json *notes)
{
	const char *s = json_get_str(notes, ANNOTATION_REPLICAS);
	int v = 0;

	if (str_empty(s) || strlen(s) > 5)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		v = v * 10 + (*s - '0');
	}
	return v;
}

void fleet_read_sts(const struct json *sts, struct fleet_sts *ret)
{
	const struct json *meta = json_get(sts, "metadata"), *spec = json_get(sts, "spec");
	const struct json *status = json_get(sts, "status");
	const struct json *notes = json_get(meta, "annotations");
	const struct json *template = json_get(spec, "template");
	const struct json *marks = json_path(template, "metadata", "annotations", NULL);
	const struct json *update = json_path(spec, "updateStrategy", "rollingUpdate", NULL);
	struct fleet_sts s = { .exists = sts != NULL };

	s.terminating = json_get(meta, "deletionTimestamp") != NULL;
	copy(s.uid, sizeof(s.uid), json_get_str(meta, "uid"));
	copy(s.resource_version, sizeof(s.resource_version), json_get_str(meta, "resourceVersion"));
	copy(s.owner_uid, sizeof(s.owner_uid), fleet_controller_of(sts));
	(void)json_get_int(meta, "generation", &s.generation);
	(void)json_get_int(status, "observedGeneration", &s.observed_generation);
	s.replicas = sts ? bounded_int(spec, "replicas", 1) : 0;
	s.partition = bounded_int(update, "partition", 0);
	if (json_get(update, "maxUnavailable"))
		s.max_unavailable = bounded_int(update, "maxUnavailable", 1);
	s.remembered = remembered(notes);
	s.min_ready_seconds = bounded_int(spec, "minReadySeconds", 0);
	copy(s.intent, sizeof(s.intent), json_get_str(notes, ANNOTATION_INTENT));
	copy(s.renderer, sizeof(s.renderer), json_get_str(notes, ANNOTATION_RENDERER));
	copy(s.current_revision, sizeof(s.current_revision),
	     json_get_str(status, "currentRevision"));
	copy(s.update_revision, sizeof(s.update_revision), json_get_str(status, "updateRevision"));
	s.has_current_version =
		!str_eq(s.current_revision, s.update_revision) &&
		version_read(json_get_str(notes, ANNOTATION_CURRENT), &s.current_version);
	s.has_version = read_version(marks, json_get(template, "spec"), &s.version);
	copy(s.app_version, sizeof(s.app_version), json_get_str(marks, ANNOTATION_APP_VERSION));
	s.has_claims = json_len(json_get(spec, "volumeClaimTemplates")) > 0;
	s.bucket_durability = uses_bucket(template);
	*ret = s;
}
