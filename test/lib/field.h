/*
 * field.h - a field of pods: every address of 127.1.0.0 to 127.8.255.255 has a node at one port, in a process of its
 * own, so that what the test measures of itself is the asking alone. What a node does is in its second byte.
 */
#ifndef TEST_LIB_FIELD_H
#define TEST_LIB_FIELD_H

#include "common/base.h"

enum field_kind {
	FIELD_WELL = 1, /* answers with a good /state: occupied 250, restoring 2 */
	FIELD_SILENT,	/* takes the request and says nothing, until field_release_after() */
	FIELD_FLOOD,	/* 1 GiB without a length */
	FIELD_LONG,	/* 1 GiB that the head announces */
	FIELD_TRICKLE,	/* a head, then a byte a second */
	FIELD_ENDLESS,	/* a head that does not end */
	FIELD_HOARD, /* 3 MiB of the 4 that it announces, and no more until field_release_after() */
	FIELD_BIG, /* a good one of 100 kB, once nothing has moved for a second: the hoarders have what they get */
};

enum { FIELD_IP = 16, FIELD_ADDRESSES = 1 << 16 };

struct field;

/* Before any thread is started: it forks. Fails the test when it cannot. */
struct field *field_start(void) must_use;
void field_stop(struct field *f);
int field_port(const struct field *f);
/* The address of node n of a kind. */
void field_ip(enum field_kind kind, int n, char ip[FIELD_IP]);
/* How often node n of a kind was asked, and all nodes of it. */
int field_asked(const struct field *f, enum field_kind kind, int n);
int field_asked_all(const struct field *f, enum field_kind kind);
/* Bytes that all floods of a kind got rid of. */
int64_t field_sent(const struct field *f, enum field_kind kind);
/*
 * The silent ones and the hoarders go when so many well and big ones have been answered (counted from the start), not
 * before.
 */
void field_release_after(struct field *f, int answers);

#endif
