/*
 * presence.h - says in the log when the API server goes and when it is back: one line each, whatever the outage.
 */
#ifndef CONTROLLER_PRESENCE_H
#define CONTROLLER_PRESENCE_H

#include "common/base.h"

/* A kube_watch_presence. */
void presence_log(void *ctx, bool there, int64_t ms, const char *why);

#endif
