/*
 * reconcile_fixture.h - one app, store/shop, before an API server of which a table tells what it answers.
 */
#ifndef TEST_LIB_RECONCILE_FIXTURE_H
#define TEST_LIB_RECONCILE_FIXTURE_H

#include "common/strlist.h"
#include "controller/desired.h"
#include "controller/reconcile.h"
#include "test/lib/script.h"

struct reconcile_fixture {
	struct script *server;
	struct kube_config *config;
	struct http_cancel *cancel;
	struct snapshots *snapshots;
	struct desired_flags flags;
	struct strlist namespaces;
	struct settings *settings;
	struct holdings *holdings;
	struct reconcile_opts o;
	struct reconciler *r;
	int64_t allowed_ms; /* the fence */
};

void reconcile_fixture_start(struct reconcile_fixture *f, const struct script_step *steps,
			     size_t n);
/* No request was unexpected. */
void reconcile_fixture_stop(struct reconcile_fixture *f);
/* The process ends and begins again: what it remembered is gone, the caches are read anew. */
void reconcile_fixture_restart(struct reconcile_fixture *f);
/* The app as the watch tells it; status NULL: none yet, else taken. */
void reconcile_fixture_app(struct reconcile_fixture *f, const char *version, struct json *status);
/* Puts what we render, which is taken, into the cache as the API server would have it. */
void reconcile_fixture_made(struct reconcile_fixture *f, enum cache_kind kind, struct json *object);
/* Three pods that are Ready. They have no address, so nobody asks them anything. */
void reconcile_fixture_pods(struct reconcile_fixture *f);
/* Everything is there, and as it should be. */
void reconcile_fixture_all(struct reconcile_fixture *f);
/* The n-th request whose line begins so, or NULL. */
const struct script_request *reconcile_fixture_request(struct reconcile_fixture *f,
						       const char *begins, size_t n);
/* What it carried; the caller's. */
struct json *reconcile_fixture_body(const struct script_request *r) must_use;

#define RF_NOT_THERE                                                                               \
	{                                                                                          \
		.want = "GET ", .status = 404, .again = true,                                      \
		.body = "{\"reason\":\"NotFound\",\"message\":\"m\"}"                              \
	}
#define RF_LIST                                                                                    \
	{                                                                                          \
		.want = "GET /api/v1/namespaces/store/pods?", .body = "{\"items\":[]}",            \
		.again = true                                                                      \
	}
#define RF_ANY_WRITE                                                                               \
	{                                                                                          \
		.want = "PATCH ", .body = "{\"metadata\":{}}", .again = true                       \
	}
#define RF_EVENTS                                                                                  \
	{                                                                                          \
		.want = "POST /apis/events.k8s.io/", .status = 201, .body = "{}", .again = true    \
	}
#define RF_STATEFULSET "/apis/apps/v1/namespaces/store/statefulsets/shop-celld"
#define RF_STATUS      "PATCH /apis/celld-operator.io/v1alpha1/namespaces/store/workerapps/shop/status"

#endif
