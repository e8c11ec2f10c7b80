#include "common/http_room.h"

enum {
	EVICTED = 256 << 10, /* no shorter body is ended, */
	TIMES = 4,	     /* and none that is not so many times as long */
};

static struct http_transfer *longest_but(struct http_transfer *t)
{
	struct http_transfer *longest = NULL;

	for (struct http_transfer *o = t->loop->transfers; o; o = o->next) {
		if (o != t && !o->evicted && (!longest || o->held > longest->held))
			longest = o;
	}
	return longest;
}

/* It is ended once we are out of libcurl's hands; its bytes count no more, though they are freed then only. */
static void evict(struct http_transfer *t)
{
	http_hold_drop(&t->loop->hold, t, t->held);
	t->held = 0;
	t->evicted = true;
	t->loop->evicted++;
}

static bool take_room(struct http_transfer *t, size_t n)
{
	struct http_transfer *longest;

	if (http_hold_take(&t->loop->hold, t, t->held, n))
		return true;
	longest = longest_but(t);
	if (!longest || longest->held < EVICTED || longest->held / TIMES < t->held + n)
		return false;
	evict(longest);
	return http_hold_take(&t->loop->hold, t, t->held, n);
}

bool http_room_take(struct http_transfer *t, size_t n)
{
	if (t->evicted)
		return false;
	t->paused = !take_room(t, n);
	if (!t->paused)
		t->held += n;
	return !t->paused;
}

void http_room_give(struct http_loop *l, struct http_transfer *t)
{
	if (!http_hold_give(&l->hold, t, t->held))
		return;
	for (struct http_transfer *o = l->transfers; o && !l->hold.waiting; o = o->next) {
		if (o->paused)
			(void)curl_easy_pause(o->easy, CURLPAUSE_CONT);
	}
}
