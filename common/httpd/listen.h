/*
 * listen.h - a listening socket out of an address text. Of httpd.c alone.
 */
#ifndef COMMON_HTTPD_LISTEN_H
#define COMMON_HTTPD_LISTEN_H

#include "common/err.h"

/* Bound, listening, non-blocking; the caller's. *ret_port is the port that it got. */
int listen_open(const char *address, int *ret_fd, int *ret_port, struct err *e);

#endif
