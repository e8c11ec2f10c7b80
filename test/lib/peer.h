/*
 * peer.h - a client that sends exactly the bytes it is told to, over TCP or TLS, for tests of
 * servers; and certificates to serve with. Every function fails the test when something goes wrong
 * that the test did not ask for.
 */
#ifndef TEST_LIB_PEER_H
#define TEST_LIB_PEER_H

#include "common/base.h"

/* Writes a fresh self-signed pair (ECDSA P-256, SAN localhost) that is valid for `seconds` from now. */
void peer_write_pair(const char *cert_file, const char *key_file, const char *cn, long seconds);

struct peer;

struct peer_answer {
	int status; /* 0: the connection ended before an answer */
	char head[4096];
	char *body; /* peer_answer_done frees it */
	size_t len;
};

/* Connects to 127.0.0.1. tls: with a handshake; max_version 0 or TLS1_2_VERSION and the like. */
struct peer *peer_open(int port, bool tls);
/* The same, but the handshake (limited to a version) may fail: NULL then. */
struct peer *peer_try_tls(int port, int max_version);
void peer_send(struct peer *p, const char *data, size_t n);
void peer_puts(struct peer *p, const char *text);
/* The same, and its end right behind it, in one packet where the kernel can (plain TCP). */
void peer_puts_last(struct peer *p, const char *text);
/* "POST /path" with Content-Length and a JSON media type. */
void peer_post(struct peer *p, const char *path, const char *body, size_t n);
void peer_get(struct peer *p, const char *path);
/* Reads one answer; interim ones (100) are skipped. head: the answer to a HEAD has no body. */
void peer_read(struct peer *p, struct peer_answer *a);
void peer_read_head(struct peer *p, struct peer_answer *a);
void peer_answer_done(struct peer_answer *a);
/* The server has closed (or cut) the connection; waits for it. */
bool peer_at_end(struct peer *p);
/* The same, for at most so long; bytes that have come are left alone. */
bool peer_ends_within(struct peer *p, int ms);
/* Common name of the server's certificate. */
void peer_server_name(struct peer *p, char *name, size_t room);
/* Ends with a reset instead of an orderly close. */
void peer_reset(struct peer *p);
void peer_close(struct peer *p);

#endif
