#include "common/httpd/conn.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

static void unlink_it(struct conns *l, struct conn *c)
{
	*(c->prev ? &c->prev->next : &l->first[c->phase]) = c->next;
	*(c->next ? &c->next->prev : &l->last[c->phase]) = c->prev;
	l->n[c->phase]--;
}

static void link_last(struct conns *l, struct conn *c, enum conn_phase phase)
{
	c->phase = phase;
	c->next = NULL;
	c->prev = l->last[phase];
	*(c->prev ? &c->prev->next : &l->first[phase]) = c;
	l->last[phase] = c;
	l->n[phase]++;
}

struct conn *conn_new(struct conns *l, int fd, int64_t due)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->fd = fd;
	c->due = due;
	link_last(l, c, CONN_NEW);
	return c;
}

void conn_free(struct conns *l, struct conn *c)
{
	unlink_it(l, c);
	pair_unref(c->pair);
	free(c);
}

bool conn_has_left(const struct conn *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

void conn_enter(struct conns *l, struct conn *c, enum conn_phase phase, int64_t due)
{
	if (c->phase == CONN_CUT)
		return;
	unlink_it(l, c);
	c->due = due;
	link_last(l, c, phase);
}

/* libmicrohttpd has no call for it; it sees the end of the stream and closes the connection itself. */
static void cut(struct conns *l, struct conn *c)
{
	conn_enter(l, c, CONN_CUT, INT64_MAX);
	(void)shutdown(c->fd, SHUT_RDWR);
}

void conns_make_room(struct conns *l, size_t max)
{
	size_t n = 0;

	for (int phase = CONN_NEW; phase < CONN_CUT; phase++)
		n += l->n[phase];
	for (; n > max; n--) {
		struct conn *c = l->first[CONN_LEFT];

		if (!c && l->n[CONN_NEW] >
				  1) /* not the newest: it is the one that the room is made for */
			c = l->first[CONN_NEW];
		if (!c)
			c = l->first[CONN_IDLE];
		if (!c)
			return;
		cut(l, c);
	}
}

/* Within a phase all wait equally long, so the first is due first. */
void conns_cut_due(struct conns *l, int64_t now)
{
	for (int phase = CONN_NEW; phase < CONN_CUT; phase++) {
		while (l->first[phase] && l->first[phase]->due <= now)
			cut(l, l->first[phase]);
	}
}

int64_t conns_due(const struct conns *l)
{
	int64_t at = INT64_MAX;

	for (int phase = CONN_NEW; phase < CONN_CUT; phase++) {
		if (l->first[phase] && l->first[phase]->due < at)
			at = l->first[phase]->due;
	}
	return at;
}
