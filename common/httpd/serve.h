/*
 * serve.h - what the two halves of the server share: httpd.c (start, loop, drain) and serve.c
 * (connections and requests). All of it is touched on the server's thread alone, but for what is
 * atomic.
 */
#ifndef COMMON_HTTPD_SERVE_H
#define COMMON_HTTPD_SERVE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/httpd.h"
#include "common/httpd/conn.h"
#include "common/httpd/pair.h"

enum { SERVE_ROOM = 64 << 10, SERVE_SPARES = 8 };

enum httpd_phase { HTTPD_SERVING, HTTPD_LAME, HTTPD_LEAVING };

struct httpd {
	struct httpd_options o; /* with its defaults filled in */
	struct MHD_Daemon *daemon;
	pthread_t thread;
	int wake_fd, port;
	bool running; /* the thread has not been joined */

	int64_t now; /* monotonic, read once per turn */
	int64_t next_look;
	struct pair *pair;	       /* in use for new connections; NULL: plain, or none yet */
	_Atomic(struct pair *) handed; /* the newest pair of httpd_set_pair, not taken yet */
	struct pair_stamp used, bad;   /* of the files in use; of those that were refused last */
	bool refusing;		       /* the files on disk are the bad ones */

	struct conns conns;

	size_t in_flight;	   /* bytes reserved for bodies */
	unsigned in_progress;	   /* requests between their headers and the end of their answer */
	int64_t last_request;	   /* when the last one ended */
	char *spare[SERVE_SPARES]; /* body buffers of SERVE_ROOM bytes */
	unsigned n_spare;
	bool swollen; /* a body was larger, and its memory has not been given back */

	enum httpd_phase phase;
	int64_t lame_until, deadline;

	_Atomic int64_t begin, expiry; /* of the pair in use */
	atomic_uint connections;
	atomic_bool draining; /* the two below are written before it is */
	int64_t lame_ms, deadline_ms;
	atomic_bool stopping;
	unsigned cut; /* read after the thread has been joined */
};

/* MHD's callbacks; cls is the struct httpd. */
enum MHD_Result serve_request(void *cls, struct MHD_Connection *c, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **request);
void serve_completed(void *cls, struct MHD_Connection *c, void **request,
		     enum MHD_RequestTerminationCode how);
void serve_connection(void *cls, struct MHD_Connection *c, void **connection,
		      enum MHD_ConnectionNotificationCode code);
/* GnuTLS asks for the pair of a session: the connection's. */
int serve_pair(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
	       gnutls_pcert_st **cert, unsigned *n, gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
	       gnutls_privkey_t *key, unsigned *flags);

#endif
