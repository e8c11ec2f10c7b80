#include "controller/rebirth.h"

#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/log.h"

/* All annotations of an object together may have 256 KiB. */
enum { MOST = 200 << 10 };

static const struct kube_kind claims = { "", "v1", "persistentvolumeclaims",
					 "PersistentVolumeClaim", true };

static char *claim_name(const struct turn *t)
{
	return xasprintf("%s-%s-0", DESIRED_DATA, t->name);
}

/* --- pure ----------------------------------------------------------------------------------------- */

char *rebirth_text(const struct json *reborn, const struct json *fields, const char *revision)
{
	cleanup_json struct json *note = json_new_object();
	cleanup(freep) char *text = NULL;

	json_set(note, "object", json_dup(reborn));
	if (fields)
		json_set(note, "managedFields", json_dup(fields));
	json_set_str(note, "revision", revision);
	text = json_text(note);
	return strlen(text) <= MOST ? take(text) : NULL;
}

static void at_least(struct json *reborn, int ordinals)
{
	struct json *spec = json_get_mutable(reborn, "spec");
	int64_t n = 1;

	(void)json_get_int(spec, "replicas", &n);
	if (n < ordinals)
		json_set_int(spec, "replicas", ordinals);
}

bool rebirth_read(const char *text, const char *app_uid, const struct fleet_pod *pods,
		  size_t n_pods, struct json **ret_reborn, struct json **ret_fields)
{
	cleanup_json struct json *note = NULL;
	struct err ignored = ERR_INIT;
	const char *revision, *owner;
	int ordinals = 0;

	if (json_parse(text, strlen(text), &note, &ignored))
		return false;
	revision = json_get_str(note, "revision");
	owner = fleet_controller_of(json_get(note, "object"));
	if (!revision || !owner || !str_eq(owner, app_uid))
		return false;
	for (size_t i = 0; i < n_pods; i++) {
		if (!str_eq(pods[i].revision, revision))
			return false;
		if (pods[i].ordinal >= ordinals)
			ordinals = pods[i].ordinal + 1;
	}
	*ret_reborn = json_take(note, "object");
	*ret_fields = json_take(note, "managedFields");
	at_least(*ret_reborn, ordinals);
	return true;
}

/* --- the note ------------------------------------------------------------------------------------- */

/* value NULL: takes it away. */
static int write_note(struct turn *t, const char *value, struct err *e)
{
	cleanup(freep) char *name = claim_name(t);
	cleanup_json struct json *patch = json_new_object();
	struct json *notes = json_object_at(json_object_at(patch, "metadata"), "annotations");

	if (value)
		json_set_str(notes, ANNOTATION_REBIRTH, value);
	else
		json_set(notes, ANNOTATION_REBIRTH, json_new_null());
	return kube_patch(t->o->client, &claims, t->app->namespace, name, NULL, KUBE_PATCH_MERGE,
			  patch, 0, NULL, e);
}

int rebirth_note(struct turn *t, struct err *e)
{
	cleanup(freep) char *text =
		rebirth_text(t->memory->reborn, t->memory->fields, t->facts.update_revision);
	int r = text ? write_note(t, text, e) : 0;

	return r == -ERR_NOT_FOUND ? 0 : r; /* a fleet of none has no claim, and no pods */
}

int rebirth_recall(struct turn *t, struct err *e)
{
	cleanup(freep) char *name = claim_name(t);
	cleanup_json struct json *claim = NULL;
	const char *text;
	int r = kube_get(t->o->client, &claims, t->app->namespace, name, 0, &claim, e);

	if (r && r != -ERR_NOT_FOUND)
		return err_wrap(e, "reading claim %s", name);
	t->memory->recalled = true;
	text = json_str(json_path(claim, "metadata", "annotations", ANNOTATION_REBIRTH, NULL));
	if (text && rebirth_read(text, t->app->uid, t->pods, t->n_pods, &t->memory->reborn,
				 &t->memory->fields))
		log_info("StatefulSet recalled from its note", "app", t->key, NULL);
	return 0;
}

void rebirth_forget(struct turn *t)
{
	json_free(take(t->memory->reborn));
	json_free(take(t->memory->fields));
	free(take(t->memory->former));
}

void rebirth_done(struct turn *t)
{
	struct err e = ERR_INIT;

	if (write_note(t, NULL, &e))
		log_debug("a note is left behind", "app", t->key, "error", e.message, NULL);
}
