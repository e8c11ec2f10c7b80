#include "common/http_hold.h"

bool http_hold_take(struct http_hold *h, const void *who, size_t has, size_t n)
{
	if (h->max && h->held + n > h->max && has + n > HTTP_HOLD_FREE) {
		if (!h->favoured)
			h->favoured = who;
		if (h->favoured != who) {
			h->waiting = true;
			return false;
		}
	}
	h->held += n;
	return true;
}

void http_hold_drop(struct http_hold *h, const void *who, size_t has)
{
	h->held -= has;
	if (h->favoured == who)
		h->favoured = NULL;
}

bool http_hold_give(struct http_hold *h, const void *who, size_t has)
{
	bool waiting = h->waiting;

	http_hold_drop(h, who, has);
	h->waiting = false;
	return waiting;
}
