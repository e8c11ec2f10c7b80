/*
 * compare.h - is a live object what we render? Pure.
 *
 * A write is due when a leaf that we render differs from the live one, when our managedFields entry holds a leaf that
 * we no longer render, or no longer holds one that we do. What others add beside it is theirs: members of objects,
 * and elements of lists that pods are merged by name in (containers, env, volumes, mounts, pull secrets, owner
 * references). Selectors, and every other list, are ours as a whole.
 */
#ifndef CONTROLLER_COMPARE_H
#define CONTROLLER_COMPARE_H

#include "common/json.h"

/* Every leaf of want stands in live with the same value. */
bool compare_covers(const struct json *want, const struct json *live);
/* The managedFields entry of manager (operation Apply, no subresource) in live owns a leaf that want does not have. */
bool compare_owns_more(const struct json *want, const struct json *live, const char *manager);
/*
 * manager's Apply entry in live does not own a leaf of want any more: somebody has changed it, or the list that it
 * stands in (managedFields end there), even when what we want is still in it. False when there is no such entry, or
 * it has no fields.
 */
bool compare_lost(const struct json *want, const struct json *live, const char *manager);
/*
 * The part of live that manager's Apply entry owns, as an object that can be applied again: apiVersion, kind, name and
 * namespace, and our leaves with their live values. NULL: there is no such entry. The caller's.
 */
struct json *compare_owned(const struct json *live, const char *manager) must_use;
/* manager's Apply entry in live owns this annotation. */
bool compare_owns(const struct json *live, const char *manager, const char *annotation);
/* A write is due. */
bool compare_differs(const struct json *want, const struct json *live, const char *manager);
/* manager has an entry of any operation in live's managedFields. */
bool compare_managed_by(const struct json *live, const char *manager);
/* It has applied live itself: an entry of operation Apply, no subresource. */
bool compare_applied_by(const struct json *live, const char *manager);

#endif
