#include "controller/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/tell.h"

/* How the API server says that nothing can be made in a namespace any more. */
#define NAMESPACE_ENDS "being terminated"
/*
 * What goes with the namespace is news each time, and comes before the back-off: without a pause it would be tried
 * again.
 */
enum { NAMESPACE_ENDS_MS = 30000 };

bool trouble_is_refusal(const struct err *e)
{
	switch (e->http_status) {
	case 401: /* the credentials are read again */
	case 408:
	case 409: /* a race */
	case 410:
	case 429:
	case 503:
	case 504:
		return false;
	default:
		break;
	}
	/* a webhook that cannot be called is answered with 500 */
	return e->http_status >= 400 && e->http_status <= 599;
}

const char *trouble_remedy(const struct err *e)
{
	static const struct {
		const char *words, *remedy;
	} known[] = {
		{ "of the former WorkerApp", "the garbage collector takes it away" },
		{ "exceeded quota", "raise the ResourceQuota or make room in it" },
		{ "failed quota", "set what the ResourceQuota asks for, or change the quota" },
		{ "violates PodSecurity", "change the namespace's pod-security labels" },
		{ NAMESPACE_ENDS, "the namespace is being deleted" },
		{ "failed calling webhook", "mend that webhook, or take its configuration away" },
		{ "admission webhook", "ask whoever runs that webhook" },
		{ "ValidatingAdmissionPolicy", "ask whoever made that policy" },
		{ " cannot ", "give the operator's ServiceAccount that right, as the chart does" },
		{ "conflict with", "leave that field to the operator" },
	};

	for (size_t i = 0; i < array_len(known); i++) {
		if (strstr(e->message, known[i].words))
			return known[i].remedy;
	}
	return "mend what the API server names";
}

void trouble_done(struct trouble *t)
{
	free(take(t->message));
}

int trouble_end(const struct trouble *t, struct err *e)
{
	if (t->code == ERR_NONE)
		return 0;
	(void)err_set(e, t->code, "%s", t->message ? t->message : "somebody else has written");
	e->retry_after_ms = t->retry_after_ms;
	return -(int)t->code;
}

static void ends_with(struct trouble *t, const struct err *e)
{
	t->code = e->code;
	t->retry_after_ms = e->retry_after_ms;
}

void trouble_refused(struct trouble *t, const struct err *e)
{
	if (t->reason && t->code != ERR_NONE)
		return;
	ends_with(t, e);
	if (strstr(e->message, NAMESPACE_ENDS) && t->retry_after_ms < NAMESPACE_ENDS_MS)
		t->retry_after_ms = NAMESPACE_ENDS_MS;
	t->reason = "ChildRefused";
	free(t->message);
	t->message = xasprintf("%s; %s", e->message, trouble_remedy(e));
}

void trouble_raced(struct trouble *t, const struct err *e)
{
	if (!e->http_status) /* our own word: the object of a former app */
		trouble_refused(t, e);
	else if (t->code == ERR_NONE)
		ends_with(t, e);
}

void trouble_fight(struct trouble *t, const char *object, const char *rival)
{
	if (t->reason)
		return;
	t->reason = "FieldConflict";
	t->message =
		xasprintf("%s: %s undoes what the operator writes, again and again; let one of "
			  "the two write it alone",
			  object, rival);
}

void trouble_tell(const struct turn *t)
{
	const struct tell what = { true, t->trouble.reason, "Write", t->trouble.message };

	if (what.reason)
		tell_app(t, &what);
}

void trouble_rival(const struct json *object, const char *manager, char *to, size_t room)
{
	const struct json *all = json_path(object, "metadata", "managedFields", NULL);
	const char *newest = "";

	to[0] = '\0';
	for (const struct json *m = json_first(all); m; m = json_next(m)) {
		const char *who = json_get_str(m, "manager"), *at = json_get_str(m, "time");
		const char *part = json_get_str(m, "subresource");

		if (!who || str_eq(who, manager) || !str_empty(part) || !at ||
		    strcmp(at, newest) < 0)
			continue;
		newest = at;
		(void)snprintf(to, room, "%s", who);
	}
}
