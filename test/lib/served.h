/*
 * served.h - a small service on the HTTP server, for its tests: GET /hello, POST /sum (length and sum
 * of the bytes, JSON), and /busy (503).
 */
#ifndef TEST_LIB_SERVED_H
#define TEST_LIB_SERVED_H

#include "common/httpd.h"
#include "test/lib/peer.h"

enum { SERVED_MAX_BODY = 200000 };

/* Starts it, at 127.0.0.1:0 unless o says where; fails the test when it cannot. */
struct httpd *served_start(struct httpd_options o);
/* Reads an answer with this status and, unless NULL, this body. */
void served_expect(struct peer *p, int status, const char *body);
/* The same with a text that its head must hold. */
void served_expect_header(struct peer *p, int status, const char *header);

#endif
