/*
 * http_room.h - transfers, as the files of the HTTP client share them, and the memory that their answers take together.
 *
 * Over the limit (http_hold.h) a longer body waits. Not behind one that is many times as long, though: that one is
 * ended, so that who sends slowly and without end cannot keep all others waiting.
 */
#ifndef COMMON_HTTP_ROOM_H
#define COMMON_HTTP_ROOM_H

#include <curl/curl.h>

#include "common/http.h"
#include "common/http_hold.h"

struct http_transfer {
	struct http_transfer *prev, *next;
	struct http_loop *loop;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	struct http_handler handler;
	struct http_response response;
	size_t head;	/* bytes of it, interim answers' too */
	size_t held;	/* bytes of the body, in loop->hold */
	bool one_shot;	/* its buffer has another size: it is not used again */
	bool evicted;	/* has made room for others; it ends */
	bool paused;	/* until others have ended */
	bool stream;	/* 2xx bodies go to handler.data */
	bool stopped;	/* data() said so */
	bool local;	/* no_local has refused an address */
	CURLcode setup; /* not CURLE_OK: never added to the multi handle */
	char why[CURL_ERROR_SIZE];
};

struct http_loop {
	CURLM *multi;
	struct http_cancel *cancel;
	struct http_loop *prev, *next; /* in cancel->loops */
	struct http_transfer *transfers;
	struct http_hold hold; /* of bodies that are collected */
	size_t evicted;	       /* transfers that are: done() is due */
	size_t unborn;	       /* transfers whose setup failed: done() is due */
	CURL *spare;	       /* an easy handle with its TLS sessions, for the next transfer */
};

/* A body is about to get n more bytes. False: it has to wait (paused), or was ended (evicted). */
bool http_room_take(struct http_transfer *t, size_t n);
/* What the body of a transfer took is free, and the transfer no longer in the loop's list; those who wait go on, or
 * find that they have to wait still. */
void http_room_give(struct http_loop *l, struct http_transfer *t);

#endif
