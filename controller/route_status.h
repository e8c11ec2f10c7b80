/*
 * route_status.h - what the Gateways say of an HTTPRoute. Pure.
 */
#ifndef CONTROLLER_ROUTE_STATUS_H
#define CONTROLLER_ROUTE_STATUS_H

#include "common/json.h"

enum route_verdict {
	ROUTE_OBSERVED, /* every Gateway takes it, and finds what it refers to */
	ROUTE_UNSEEN,	/* not every Gateway has said so yet */
	ROUTE_REFUSED,
};

/* message: which Gateway, and why; "" when observed. */
enum route_verdict route_status_of(const struct json *route, char *message, size_t room);

#endif
