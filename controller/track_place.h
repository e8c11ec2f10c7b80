/*
 * track_place.h - where a pointer is read: what an app says of its bucket, and what the platform says of places.
 */
#ifndef CONTROLLER_TRACK_PLACE_H
#define CONTROLLER_TRACK_PLACE_H

#include "controller/tracker.h"

/*
 * The place as it is called for an app of namespace ns: the private places of gs:// and az:// put in, the
 * authorities, and whether a local address is refused. ret owns its texts (store_place_done).
 */
void track_place(const struct tracker_opts *o, const struct store_place *place, const char *ns,
		 struct store_place *ret);
/* A text that is the same for the same place as the app says it, read with the same Secret. The caller's. */
char *track_place_id(const struct store_place *place, const char *secret) must_use;

#endif
