/*
 * tell.h - Events about the app and, where there is one, about the object of it that they concern, so that they are found
 * with `kubectl describe` of either. Repeats are counted for each by event.h.
 */
#ifndef CONTROLLER_TELL_H
#define CONTROLLER_TELL_H

#include "controller/turn.h"

struct tell {
	bool warning;
	const char *reason, *action, *note;
};

void tell_app(const struct turn *t, const struct tell *what);
/* The app, and its StatefulSet when it was read. */
void tell_workload(const struct turn *t, const struct tell *what);
/* The app, and its pod of that ordinal when it was read. */
void tell_pod(const struct turn *t, int ordinal, const struct tell *what);

#endif
