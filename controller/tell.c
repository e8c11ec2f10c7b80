#include "controller/tell.h"

#include "common/kube/event.h"
#include "common/kube/lease.h"

static void emit(const struct turn *t, const struct event_about *about, const struct tell *what)
{
	event_emit(t->o->events, about, what->warning, what->reason, what->action, what->note);
}

void tell_app(const struct turn *t, const struct tell *what)
{
	const struct event_about about = turn_about(t);

	emit(t, &about, what);
}

void tell_workload(const struct turn *t, const struct tell *what)
{
	const struct event_about about = { .api_version = "apps/v1",
					   .kind = "StatefulSet",
					   .namespace = t->app->namespace,
					   .name = t->name,
					   .uid = t->facts.uid,
					   .resource_version = t->facts.resource_version };

	tell_app(t, what);
	if (t->facts.exists && t->facts.uid[0])
		emit(t, &about, what);
}

void tell_pod(const struct turn *t, int ordinal, const struct tell *what)
{
	struct event_about about = { .api_version = "v1",
				     .kind = "Pod",
				     .namespace = t->app->namespace };

	tell_app(t, what);
	for (size_t i = 0; i < t->n_pods; i++) {
		if (t->pods[i].ordinal != ordinal || !t->pods[i].uid[0])
			continue;
		about.name = t->pods[i].name;
		about.uid = t->pods[i].uid;
		emit(t, &about, what);
	}
}

void tell_settings_refused(struct event_recorder *events, const char *namespace,
			   struct lease *lease, const char *file, const char *why)
{
	cleanup(freep) char *note = xasprintf("%s: %s; the last good one stays in use", file, why);
	char uid[64] = "";
	const struct event_about about = { .api_version = "coordination.k8s.io/v1",
					   .kind = "Lease",
					   .namespace = namespace,
					   .name = CONTROLLER_LEASE,
					   .uid = uid };

	lease_uid(lease, uid, sizeof(uid));
	event_emit(events, &about, true, "SettingsRefused", "Reload", note);
	(void)event_flush(events, 1);
}
