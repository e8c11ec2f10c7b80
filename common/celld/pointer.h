/*
 * pointer.h - deploy/current.json, celld's deploy pointer. Source: celld's protocol.rs, v0.3 and v0.6:
 * {"script_name": string (optional), "version": string, "prefix": "deploy/<script>/<version>",
 * "rollout": {"percent": 100}}.
 */
#ifndef COMMON_CELLD_POINTER_H
#define COMMON_CELLD_POINTER_H

#include "common/base.h"
#include "common/err.h"

/* Below the app's prefix. */
#define CELLD_POINTER_KEY "deploy/current.json"

enum { CELLD_VERSION_ID = 132 };

/* 1 to 128 of A-Z a-z 0-9 . _ - */
bool celld_version_id(const char *s);
/*
 * The version that the pointer names. Strict: at most LIMIT_POINTER bytes, one JSON object without duplicate names,
 * version a legal string. ERR_INVALID, in words that do not hold the body.
 */
int celld_pointer_parse(const char *body, size_t len, char version[CELLD_VERSION_ID],
			struct err *e);

#endif
