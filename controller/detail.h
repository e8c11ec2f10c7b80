/*
 * detail.h - what only the API server can tell of a member that does not come up: the state of its node, and why pods
 * are refused at creation. For the status alone, never for a gate; asked only while a fleet waits for such a member.
 */
#ifndef CONTROLLER_DETAIL_H
#define CONTROLLER_DETAIL_H

#include "controller/turn.h"

/*
 * Brings obs, decision and the pods' texts up to what was found: a pod that is not Ready on a node that is not Ready
 * has its fault there. *ret_refused: the StatefulSet's newest FailedCreate, the caller's; NULL: none. What cannot be
 * asked stays as it is.
 */
void detail_find(struct turn *t, char **ret_refused);
/* Pure parts. Whether a Node is there and Ready; NULL: it is gone. */
bool detail_node_ready(const struct json *node);
/* The newest message of reason FailedCreate in a list of events, lent; NULL: none. */
const char *detail_failed_create(const struct json *events);

#endif
