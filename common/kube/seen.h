/*
 * seen.h - what a watch remembers of a collection: uid and resourceVersion of each object, nothing
 * else.
 *
 * From it follows what an observation means: seen_put() compares an object with what is remembered.
 * A list is a round: seen_begin(), seen_put() for each item, and when the list is complete
 * seen_missing() for what was not in it.
 */
#ifndef COMMON_KUBE_SEEN_H
#define COMMON_KUBE_SEEN_H

#include "common/base.h"

struct json;
struct seen;

enum seen_change {
	SEEN_INVALID,  /* see seen_is_valid(); not remembered */
	SEEN_SAME,     /* known, same resourceVersion */
	SEEN_NEW,      /* not known */
	SEEN_CHANGED,  /* known, another resourceVersion */
	SEEN_REPLACED, /* known under another uid: that one is gone; *ret_old is what is left of it
			*/
};

struct seen *seen_new(void) must_use;
void seen_free(struct seen *s);
size_t seen_len(const struct seen *s);

/* An object with name and resourceVersion. */
bool seen_is_valid(const struct json *object);
/* *ret_old: the caller's, written for SEEN_REPLACED only: an object of metadata {namespace, name,
 * uid, resourceVersion}. */
enum seen_change seen_put(struct seen *s, const struct json *object, struct json **ret_old);
/* Forgets the object; false: it was not known. */
bool seen_del(struct seen *s, const struct json *object);
/* A list begins: nothing has been put in this round. */
void seen_begin(struct seen *s);
/* Forgets what was not put since seen_begin() and calls f for each, with an object as above, lent. */
void seen_missing(struct seen *s, void (*f)(void *ctx, struct json *object), void *ctx);

/* Is resourceVersion a smaller than b? False when one of them is no plain number. */
bool seen_version_less(const char *a, const char *b);

#endif
