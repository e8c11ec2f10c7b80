#include "webhook/review.h"

#include <string.h>

#include "common/codec.h"
#include "common/json.h"
#include "common/limits.h"
#include "common/store_rules.h"
#include "webhook/review_body.h"
#include "webhook/warnings.h"

enum operation { OP_CREATE, OP_UPDATE, OP_DELETE, OP_CONNECT, OP_OTHER };
enum subresource { SUB_NONE, SUB_STATUS, SUB_SCALE, SUB_OTHER };

enum { TEXT = 64 };

struct review {
	struct review_body body;
	enum operation operation;
	enum subresource subresource;
	char operation_text[TEXT], subresource_text[TEXT];
};

struct judgement {
	struct faults faults;
	struct strlist warnings;
};

/* ---- reading the envelope -------------------------------------------------------------------- */

static bool text_is(const struct review *r, enum review_slot s, const char *want)
{
	char text[TEXT];

	return review_body_text(&r->body, s, text, sizeof(text)) && str_eq(text, want);
}

static enum operation operation_of(const char *s)
{
	if (str_eq(s, "CREATE"))
		return OP_CREATE;
	if (str_eq(s, "UPDATE"))
		return OP_UPDATE;
	if (str_eq(s, "DELETE"))
		return OP_DELETE;
	return str_eq(s, "CONNECT") ? OP_CONNECT : OP_OTHER;
}

static enum subresource subresource_of(const char *s)
{
	if (!*s)
		return SUB_NONE;
	if (str_eq(s, "status"))
		return SUB_STATUS;
	return str_eq(s, "scale") ? SUB_SCALE : SUB_OTHER;
}

/* Why the body is no review that can be answered; NULL: it is one. */
static const char *read_envelope(struct review *r)
{
	char sub = review_body_type(&r->body, REVIEW_SUBRESOURCE);

	if (!text_is(r, REVIEW_KIND, "AdmissionReview"))
		return "the body is not an AdmissionReview";
	if (!text_is(r, REVIEW_API_VERSION, "admission.k8s.io/v1"))
		return "apiVersion is not admission.k8s.io/v1, the only one that is served";
	if (review_body_type(&r->body, REVIEW_REQUEST) != '{')
		return "request is missing or not an object";
	if (review_body_type(&r->body, REVIEW_UID) != '"' || r->body.span[REVIEW_UID].len <= 2)
		return "request.uid is missing or not a string";
	if (r->body.span[REVIEW_UID].len > REVIEW_UID_MAX)
		return "request.uid is too long";
	if (!review_body_text(&r->body, REVIEW_OPERATION, r->operation_text,
			      sizeof(r->operation_text)))
		return "request.operation is missing or not a string";
	if (sub && sub != 'n' && sub != '"')
		return "request.subResource is not a string";
	r->operation = operation_of(r->operation_text);
	(void)review_body_text(&r->body, REVIEW_SUBRESOURCE, r->subresource_text,
			       sizeof(r->subresource_text));
	r->subresource = subresource_of(r->subresource_text);
	return NULL;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool object_is_there(const struct review *r, enum review_slot s, const char *name,
			    struct faults *faults)
{
	if (review_body_type(&r->body, s) == '{')
		return true;
	fault_add(faults, "object-missing", name, "",
		  "is not an object; send the whole object with the review");
	return false;
}

/* Both objects of a review as trees; old is left alone on CREATE. False: a fault says why. */
static bool trees(const struct review *r, struct json **ret_new, struct json **ret_old,
		  struct faults *faults)
{
	struct err e = ERR_INIT;
	int bad = 0;

	if (!object_is_there(r, REVIEW_OBJECT, "object", faults) ||
	    (r->operation == OP_UPDATE && !object_is_there(r, REVIEW_OLD, "oldObject", faults)))
		return false;
	bad = review_body_tree(&r->body, REVIEW_OBJECT, ret_new, &e);
	if (!bad && r->operation == OP_UPDATE)
		bad = review_body_tree(&r->body, REVIEW_OLD, ret_old, &e);
	if (bad)
		fault_add(faults, "object-unreadable", "object", "", "%s", e.message);
	return !bad;
}

static bool spec_is_untouched(const struct review *r)
{
	js_span a = r->body.span[REVIEW_OBJECT_SPEC], b = r->body.span[REVIEW_OLD_SPEC];

	return r->operation == OP_UPDATE && review_body_type(&r->body, REVIEW_OBJECT) == '{' &&
	       review_body_type(&r->body, REVIEW_OLD) == '{' && a.len && a.len == b.len &&
	       !memcmp(r->body.text + a.off, r->body.text + b.off, a.len);
}

/* ---- judging --------------------------------------------------------------------------------- */

static struct workerapp *read_app(struct json *doc, const char *where, struct faults *faults)
{
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	if (workerapp_parse(doc, NULL, &app, &e)) {
		fault_add(faults, "not-a-workerapp", e.field[0] ? e.field : where, "", "%s",
			  e.message);
		return NULL;
	}
	return app;
}

static void judge_workerapp(const struct review *r, const struct review_facts *facts,
			    struct judgement *j)
{
	struct json *doc = NULL, *old_doc = NULL;
	cleanup_workerapp struct workerapp *app = NULL, *old = NULL;

	if (spec_is_untouched(r))
		return;
	if (!trees(r, &doc, &old_doc, &j->faults)) {
		json_free(doc);
		return;
	}
	app = read_app(doc, "object", &j->faults);
	if (old_doc)
		old = read_app(old_doc, "oldObject", &j->faults);
	if (app && (old || !old_doc))
		workerapp_rules(app, old, &facts->rules, &j->faults, &j->warnings);
	if (app && facts->world && facts->world->exclusive)
		facts->world->exclusive(facts->world->ctx, app, old, &j->faults, &j->warnings);
}

static bool is_kind(const struct json *object, const char *kind)
{
	const char *is = json_get_str(object, "kind");

	return is && str_eq(is, kind);
}

/* An absent number is 0: Kubernetes leaves zeros out of a Scale. False: it is no whole number. */
static bool scale_replicas(const struct json *scale, int64_t *ret)
{
	const struct json *v = json_path(scale, "spec", "replicas", NULL);

	*ret = 0;
	return !v || json_int(v, ret);
}

/* Is the app that the Scale is of a fleet? It does not say so itself. */
static bool is_fleet(const struct review *r, const struct review_facts *facts)
{
	cleanup_json struct json *name = review_body_value(&r->body, REVIEW_NAME),
				 *namespace = review_body_value(&r->body, REVIEW_NAMESPACE);
	bool fleet = false;

	if (!facts->world || !facts->world->durability)
		return false;
	return facts->world->durability(facts->world->ctx, json_str(namespace), json_str(name),
					&fleet) &&
	       fleet;
}

static void judge_size(const struct review *r, const struct review_facts *facts, int64_t want,
		       struct faults *faults)
{
	enum { FLEET_MIN = 3 };

	if (want < 1 || want > LIMIT_REPLICAS)
		fault_add(faults, "replicas-bounds", "spec.replicas", "",
			  "is %lld; write a number of pods from 1 to %d", (long long)want,
			  LIMIT_REPLICAS);
	else if (want < FLEET_MIN && is_fleet(r, facts))
		fault_add(
			faults, "replicas-fleet", "spec.replicas", "",
			"is %lld, and durability fleet keeps each write on three members; write 3 "
			"or more",
			(long long)want);
}

static void judge_scale(const struct review *r, const struct review_facts *facts,
			struct judgement *j)
{
	cleanup_json struct json *scale = NULL, *old = NULL;
	struct fault_value shown;
	int64_t want, had;

	if (!trees(r, &scale, &old, &j->faults))
		return;
	if (!is_kind(scale, "Scale")) {
		fault_add(&j->faults, "not-a-scale", "kind", "", "is %s, not Scale",
			  fault_value(&shown, json_get_str(scale, "kind")));
		return;
	}
	if (!scale_replicas(scale, &want)) {
		fault_add(&j->faults, "replicas-type", "spec.replicas", "",
			  "is not a whole number; write a number of pods from 1 to %d",
			  LIMIT_REPLICAS);
		return;
	}
	if (!old || !scale_replicas(old, &had) || had != want)
		judge_size(r, facts, want, &j->faults);
}

static void judge_store_spec(const struct review *r, const struct review_facts *facts,
			     const struct json *store, const struct json *old, struct judgement *j)
{
	cleanup_json struct json *name = review_body_value(&r->body, REVIEW_NAME),
				 *namespace = review_body_value(&r->body, REVIEW_NAMESPACE);
	struct strlist users = STRLIST_INIT;

	if (old && facts->world && facts->world->users && json_str(name))
		facts->world->users(facts->world->ctx, json_str(namespace), json_str(name), &users);
	store_rules(store, old, facts->rules.policy, &users, &j->faults);
	strlist_done(&users);
}

static void judge_store(const struct review *r, const struct review_facts *facts,
			struct judgement *j)
{
	cleanup_json struct json *store = NULL, *old = NULL;
	struct fault_value shown;

	if (spec_is_untouched(r) || !trees(r, &store, &old, &j->faults))
		return;
	if (!is_kind(store, "CelldObjectStore"))
		fault_add(&j->faults, "not-a-store", "kind", "", "is %s, not CelldObjectStore",
			  fault_value(&shown, json_get_str(store, "kind")));
	else
		judge_store_spec(r, facts, store, old, j);
}

static void judge_object(enum review_endpoint endpoint, const struct review *r,
			 const struct review_facts *facts, struct judgement *j)
{
	bool scale = r->subresource == SUB_SCALE || endpoint == REVIEW_VALIDATE_SCALE;

	switch (endpoint) {
	case REVIEW_MUTATE_WORKERAPP:
		return;
	case REVIEW_VALIDATE_WORKERAPP:
	case REVIEW_VALIDATE_SCALE:
		if (scale)
			judge_scale(r, facts, j);
		else
			judge_workerapp(r, facts, j);
		return;
	case REVIEW_VALIDATE_STORE:
		judge_store(r, facts, j);
		return;
	}
}

static void judge(enum review_endpoint endpoint, const struct review *r,
		  const struct review_facts *facts, struct judgement *j)
{
	struct fault_value shown;

	if (endpoint == REVIEW_MUTATE_WORKERAPP || r->operation == OP_DELETE ||
	    r->operation == OP_CONNECT || r->subresource == SUB_STATUS)
		return;
	if (r->operation == OP_OTHER)
		fault_add(&j->faults, "operation-unknown", "request.operation", "",
			  "is %s; only CREATE, UPDATE, DELETE and CONNECT are known",
			  fault_value(&shown, r->operation_text));
	else if (r->subresource == SUB_OTHER)
		fault_add(&j->faults, "subresource-unknown", "request.subResource", "",
			  "is %s; only status and scale are known",
			  fault_value(&shown, r->subresource_text));
	else
		judge_object(endpoint, r, facts, j);
}

/* ---- filling in ------------------------------------------------------------------------------ */

/* The annotation's name stands somewhere in the object: its app may have been filled before. */
static bool names_defaulted(const struct review *r, enum review_slot object)
{
	static const char name[] = "\"" ANNOTATION_DEFAULTED "\"";

	return memmem(r->body.text + r->body.span[object].off, r->body.span[object].len, name,
		      sizeof(name) - 1);
}

static bool may_fill(const struct review *r, const struct review_facts *facts)
{
	if (r->subresource != SUB_NONE || review_body_type(&r->body, REVIEW_OBJECT) != '{')
		return false;
	if (r->operation == OP_CREATE)
		return facts->defaults || names_defaulted(r, REVIEW_OBJECT);
	return r->operation == OP_UPDATE && review_body_type(&r->body, REVIEW_OLD) == '{' &&
	       names_defaulted(r, REVIEW_OLD);
}

/* The operations as JSON text, the caller's; NULL: none. What cannot be read is left to the rules. */
static char *fill(const struct review *r, const struct review_facts *facts)
{
	cleanup_json struct json *object = NULL, *old = NULL,
				 *namespace = review_body_value(&r->body, REVIEW_NAMESPACE);
	struct faults unread = FAULTS_INIT;
	struct patch p = { NULL, NULL };
	char *text = NULL;

	if (trees(r, &object, &old, &unread)) {
		patch_init(&p, object);
		workerapp_defaults_patch(facts->defaults, json_str(namespace), object, old, &p);
		if (!patch_empty(&p))
			text = json_text(p.ops);
	}
	patch_done(&p);
	faults_done(&unread);
	return text;
}

static void print_patch(const struct review *r, const struct review_facts *facts, struct buf *to)
{
	cleanup(freep) char *ops = may_fill(r, facts) ? fill(r, facts) : NULL, *text = NULL;

	if (!ops)
		return;
	text = codec_base64_encode(ops, strlen(ops));
	buf_printf(to, ",\"patchType\":\"JSONPatch\",\"patch\":\"%s\"", text);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool all_forbidden(const struct faults *l)
{
	size_t n = 0;

	while (n < l->n && l->v[n].forbidden)
		n++;
	return n == l->n;
}

/*
 * kubectl shows the causes of an Invalid status instead of its message, each as "FIELD: MESSAGE";
 * so every cause carries the whole text of its fault. They are bounded like the message.
 */
static struct json *causes_of(const struct faults *l)
{
	struct json *causes = json_new_array();
	size_t used = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct json *c;

		used += strlen(l->v[i].path) + strlen(l->v[i].message);
		if (i > 0 && used > LIMIT_MESSAGE)
			break;
		c = json_new_object();
		json_set_str(c, "reason", "FieldValueInvalid");
		json_set_str(c, "message", l->v[i].message);
		json_set_str(c, "field", l->v[i].path);
		json_add(causes, c);
	}
	return causes;
}

static struct json *details_of(const struct review *r, const struct faults *l)
{
	struct json *details = json_new_object();
	cleanup_json struct json *name = review_body_value(&r->body, REVIEW_NAME),
				 *kind = review_body_value(&r->body, REVIEW_REQUEST_KIND);

	json_set_str(details, "name", json_str(name));
	json_set_str(details, "group", json_get_str(kind, "group"));
	json_set_str(details, "kind", json_get_str(kind, "kind"));
	json_set(details, "causes", causes_of(l));
	return details;
}

static void print_status(const struct review *r, const struct faults *l, struct buf *to)
{
	cleanup_json struct json *status = json_new_object();
	bool forbidden = all_forbidden(l);
	struct buf message;

	buf_init(&message, LIMIT_MESSAGE + 1);
	faults_text(l, "\n", LIMIT_MESSAGE, &message);
	json_set(status, "metadata", json_new_object());
	json_set_str(status, "status", "Failure");
	json_set_str(status, "message", buf_str(&message));
	json_set_str(status, "reason", forbidden ? "Forbidden" : "Invalid");
	json_set(status, "details", details_of(r, l));
	json_set_int(status, "code", forbidden ? 403 : 422);
	json_print(status, to);
	buf_done(&message);
}

static void print_answer(enum review_endpoint endpoint, const struct review *r,
			 const struct review_facts *facts, const struct judgement *j,
			 struct buf *to)
{
	buf_puts(to, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
		     "\"response\":{\"uid\":");
	buf_add(to, r->body.text + r->body.span[REVIEW_UID].off, r->body.span[REVIEW_UID].len);
	buf_printf(to, ",\"allowed\":%s", j->faults.n ? "false" : "true");
	if (j->faults.n) {
		buf_puts(to, ",\"status\":");
		print_status(r, &j->faults, to);
	}
	if (endpoint == REVIEW_MUTATE_WORKERAPP)
		print_patch(r, facts, to);
	warnings_print(&j->warnings, to);
	buf_puts(to, "}}\n");
}

static void tell_subject(const struct review *r, char *text, size_t room)
{
	cleanup_json struct json *name = review_body_value(&r->body, REVIEW_NAME),
				 *namespace = review_body_value(&r->body, REVIEW_NAMESPACE);
	struct buf b;

	buf_init(&b, room - 1);
	buf_puts(&b, json_str(namespace) ? json_str(namespace) : "");
	buf_putc(&b, '/');
	buf_puts(&b, json_str(name) ? json_str(name) : "");
	if (buf_ok(&b))
		memcpy(text, buf_str(&b), b.len + 1);
	buf_done(&b);
}

struct review_result review_answer(enum review_endpoint endpoint, js_ctx *scan, const char *body,
				   size_t len, const struct review_facts *facts, struct buf *to)
{
	struct review_result result = { .verdict = REVIEW_BROKEN };
	struct judgement j = { .faults = FAULTS_INIT, .warnings = STRLIST_INIT };
	struct review r;
	size_t at = 0;
	js_err bad = review_body_read(&r.body, scan, body, len, &at);
	const char *why;

	if (bad != JS_OK) {
		buf_printf(to, "offset %zu: %s\n", at, js_strerror(bad));
		return result;
	}
	why = read_envelope(&r);
	if (why) {
		buf_printf(to, "%s\n", why);
		return result;
	}
	judge(endpoint, &r, facts, &j);
	print_answer(endpoint, &r, facts, &j, to);
	result.verdict = j.faults.n ? REVIEW_DENIED : REVIEW_ALLOWED;
	if (j.faults.n)
		tell_subject(&r, result.subject, sizeof(result.subject));
	faults_done(&j.faults);
	strlist_done(&j.warnings);
	return result;
}
