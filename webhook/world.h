/*
 * world.h - what the webhook knows of the cluster's other apps and stores, by two watches.
 *
 * It never holds up a review: before the first list is there, and while the API server has not been
 * heard for half a minute, what depends on it is allowed with a warning, and the controller's
 * conditions tell of it later.
 */
#ifndef WEBHOOK_WORLD_H
#define WEBHOOK_WORLD_H

#include "common/holdings.h"
#include "webhook/review.h"

struct world;

/* Knows nothing yet. */
struct world *world_new(void) must_use;
/*
 * Begins to watch; reviews may be asking already. kubeconfig: the flag's file, NULL: none. When there is no API
 * server to ask nothing is ever known, because a webhook that does not start would stop every write; only a file that
 * was named and is wrong is an error.
 */
int world_watch(struct world *w, const char *kubeconfig, struct err *e);
void world_free(struct world *w);
define_cleanup(struct world *, world_free);
#define cleanup_world cleanup(world_free_cleanup)

/* For review_facts; as long as w lives. */
const struct review_world *world_view(const struct world *w);
/* What is known is of now. */
bool world_is_current(struct world *w);

#endif
