/*
 * fleet_fixture.h - objects of a fleet as the API server shows them, for tests of what reads them. All trees are the
 * caller's. Documents are JSON with ' in the place of ".
 */
#ifndef TEST_LIB_FLEET_FIXTURE_H
#define TEST_LIB_FLEET_FIXTURE_H

#include "common/json.h"

/* A Pod store/NAME of app shop, owned by StatefulSet s-1, running v0.6.2 and Ready, UID "uid-NAME", on ip. */
struct json *fleet_fixture_pod(const char *name, const char *ip) must_use;
/* The same for any namespace, app and owner UID. */
struct json *fleet_fixture_pod_of(const char *ns, const char *app, const char *owner,
				  const char *name, const char *ip) must_use;
/* StatefulSet NS/APP-celld of that UID. */
struct json *fleet_fixture_sts(const char *ns, const char *app, const char *uid, int replicas,
			       int partition) must_use;
/* WorkerApp NS/APP with that status.phase. */
struct json *fleet_fixture_app(const char *ns, const char *app, const char *phase) must_use;
/* Sets metadata.resourceVersion; returns j. */
struct json *fleet_fixture_version(struct json *j, int version);

#endif
