/*
 * trouble.h - what keeps an object of the app from being written, for its status: the fleet goes on without.
 *
 * A quota, a missing right, an admission webhook or somebody who undoes the write end neither the turn nor the other
 * objects: the condition Degraded names the object, the words of whoever refused it, and a remedy. What the next try
 * may well mend (a race, an API server that is away or busy) is not told.
 */
#ifndef CONTROLLER_TROUBLE_H
#define CONTROLLER_TROUBLE_H

#include "common/err.h"

struct json;
struct turn;

struct trouble {
	const char *reason; /* "ChildRefused" "FieldConflict"; NULL: there is none */
	char *message;	    /* of the condition; owned */
	/* Of a refusal or a race, with which the turn ends, after its status; ERR_NONE: of neither. */
	enum err_code code;
	int retry_after_ms;
};

void trouble_done(struct trouble *t);
/* Fills e with what the turn ends with; 0: with nothing. */
int trouble_end(const struct trouble *t, struct err *e);
/* An answer that says no, and will say so again. */
bool trouble_is_refusal(const struct err *e);
/* What people can do about it. */
const char *trouble_remedy(const struct err *e);
/* Notes a refusal: the first one of a turn stays, and comes before somebody who undoes a write. */
void trouble_refused(struct trouble *t, const struct err *e);
/* Notes a race (ERR_CONFLICT): nothing to tell of, but the turn ends with it. What waits for a former app's is told. */
void trouble_raced(struct trouble *t, const struct err *e);
/* Notes that somebody undoes what is written to an object. */
void trouble_fight(struct trouble *t, const char *object, const char *rival);
/* Says it in an Event, about the app. */
void trouble_tell(const struct turn *t);
/* Who but `manager` has written to the object last, by its managedFields; "" is in to when nobody is known. */
void trouble_rival(const struct json *object, const char *manager, char *to, size_t room);

#endif
