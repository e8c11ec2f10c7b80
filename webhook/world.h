/*
 * world.h - what the webhook knows of the cluster's other apps and stores, by two watches.
 *
 * It never holds up a review: before the first list is there, and while the API server has not been
 * heard for half a minute, what depends on it is allowed with a warning, and the controller's
 * conditions tell of it later.
 */
#ifndef WEBHOOK_WORLD_H
#define WEBHOOK_WORLD_H

#include "common/kube/config.h"
#include "common/holdings.h"
#include "webhook/review.h"

struct world;

/* config NULL: no API server can be asked, nothing is ever known. It is lent otherwise. */
int world_start(struct kube_config *config, struct world **ret, struct err *e);
void world_stop(struct world *w);
define_cleanup(struct world *, world_stop);
#define cleanup_world cleanup(world_stop_cleanup)

/* For review_facts; as long as w lives. */
const struct review_world *world_view(const struct world *w);
/* What is known is of now. */
bool world_is_current(struct world *w);
/* Where the watches put what they see, for tests. */
struct holdings *world_holdings(struct world *w);

#endif
