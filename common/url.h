/*
 * url.h - endpoints as they are compared. Pure (tier 2).
 */
#ifndef COMMON_URL_H
#define COMMON_URL_H

#include "common/base.h"

/*
 * The URL in the form in which two of the same place are the same text: scheme and host in lower
 * case, without the scheme's default port, a dot at the host's end, and slashes at the path's; the
 * caller's. What is no URL comes back as it is.
 */
char *url_plain(const char *url) must_use;
/* "host" or "host:port" of that form, in brackets as written; "" for what is no URL. The caller's. */
char *url_host(const char *url) must_use;

#endif
