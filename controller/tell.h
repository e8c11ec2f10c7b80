/*
 * tell.h - Events about the app and, where there is one, about the object of it that they concern, so that they are
 * found with `kubectl describe` of either. Repeats are counted for each by event.h.
 */
#ifndef CONTROLLER_TELL_H
#define CONTROLLER_TELL_H

#include "controller/turn.h"

#define CONTROLLER_LEASE "celld-operator-controller"

struct lease;

struct tell {
	bool warning;
	const char *reason, *action, *note;
};

void tell_app(const struct turn *t, const struct tell *what);
/* The app, and its StatefulSet when it was read. */
void tell_workload(const struct turn *t, const struct tell *what);
/* The app, and its pod of that ordinal when it was read. */
void tell_pod(const struct turn *t, int ordinal, const struct tell *what);
/*
 * That a file of settings was not taken, and why: about the Lease of the controllers, because every app is concerned
 * and none of them more than another. Sends it at once.
 */
void tell_settings_refused(struct event_recorder *events, const char *namespace,
			   struct lease *lease, const char *file, const char *why);

#endif
