/*
 * tracker_fixture.h - Secrets and tracker as in the controller, for their tests: a scripted API server has the
 * Secrets, the stores are the test's.
 */
#ifndef TEST_LIB_TRACKER_FIXTURE_H
#define TEST_LIB_TRACKER_FIXTURE_H

#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/settings.h"
#include "controller/tracker.h"
#include "test/lib/script.h"

/* {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK\n"} */
#define TRACKER_SECRET(version)                                                                    \
	"{\"metadata\":{\"name\":\"keys\",\"resourceVersion\":\"" version                          \
	"\"},\"data\":{\"AWS_ACCESS_KEY_ID\":\"QUs=\",\"AWS_SECRET_ACCESS_KEY\":\"U0sK\"}}"
#define TRACKER_GET_SECRET "GET /api/v1/namespaces/shop/secrets/keys"
#define TRACKER_POINTER(v) "{\"version\":\"" v "\",\"prefix\":\"deploy/app/" v "\"}"

struct tracker_fixture {
	struct script *api;
	struct kube_config *config;
	struct kube_client *client;
	struct http_cancel *cancel;
	struct queue *queue;
	struct secrets *secrets;
	struct tracker *tracker;
	struct settings *settings;
	struct tracker_opts o; /* what the tracker was started with */
};

/*
 * Starts them. o: intervals and such; what leads elsewhere is filled in here. local: endpoints that may be called
 * although they are at a loopback address. api: the steps of the API server, which is asked for Secrets each
 * secrets_ms.
 */
void tracker_begin(struct tracker_fixture *f, const struct script_step *api, size_t n_api,
		   const struct strlist *local, const struct tracker_opts *o, int64_t secrets_ms);
/* The tracker dies; the rest goes on. And a new one, that knows nothing. */
void tracker_die(struct tracker_fixture *f);
void tracker_rise(struct tracker_fixture *f);
void tracker_end(struct tracker_fixture *f);

/* App "shop/NAME" is at s3://cells/NAME of that endpoint, with Secret keys. */
void tracker_follow(struct tracker_fixture *f, const char *name, const char *endpoint, bool urgent);
/* Takes the next news off the queue; it must be of an app of namespace shop. */
void tracker_news(struct tracker_fixture *f);

#endif
