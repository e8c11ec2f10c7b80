/*
 * rebirth.h - what a StatefulSet was, kept while it does not exist (see claims.h).
 *
 * Between the deletion that leaves the pods and the creation of the same again the process may die. So before the
 * deletion the StatefulSet is noted in an annotation of the claim of ordinal 0, which outlives everything here.
 * Whoever finds pods without a StatefulSet looks there first: made from the spec, the template might differ from what
 * runs (a version under InPlace, a template that was taken over, a spec that has changed meanwhile), and every pod
 * would be replaced.
 *
 * A note is believed while the app is the same and every pod is of the revision that it names; so one that was left
 * behind does no harm.
 */
#ifndef CONTROLLER_REBIRTH_H
#define CONTROLLER_REBIRTH_H

#include "controller/turn.h"

#define ANNOTATION_REBIRTH "celld-operator.io/rebirth"

/* Notes t->memory->reborn and its fields. */
int rebirth_note(struct turn *t, struct err *e);
/* Fills t->memory->reborn and fields from the note, when there is one that holds for the pods that are there. */
int rebirth_recall(struct turn *t, struct err *e);
/* Forgets both. */
void rebirth_forget(struct turn *t);
/* Takes the note away; when that fails it stays, and does no harm. */
void rebirth_done(struct turn *t);

/* Pure parts. The text of a note; NULL: it is too long for an annotation. The caller's. */
char *rebirth_text(const struct json *reborn, const struct json *fields,
		   const char *revision) must_use;
/*
 * What a note says, for the app of that UID and these pods: *ret_reborn with no fewer replicas than there are
 * ordinals, and *ret_fields (NULL: none); the caller's. False: it does not hold for them.
 */
bool rebirth_read(const char *text, const char *app_uid, const struct fleet_pod *pods,
		  size_t n_pods, struct json **ret_reborn, struct json **ret_fields);

#endif
