#include "controller/track_place.h"

#include <string.h>

#include "common/settings.h"

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

char *track_place_id(const struct store_place *p, const char *secret)
{
	return xasprintf("%d|%s|%s|%s|%s|%s|%d|%s", (int)p->scheme, or_empty(p->endpoint),
			 or_empty(p->region), or_empty(p->account), or_empty(p->container),
			 or_empty(p->prefix), p->allow_http, secret);
}

/* Where the clouds' own names lead, when a flag says so. */
static const char *endpoint_of(const struct tracker_opts *o, const struct store_place *p,
			       char **ret_own)
{
	const char *base = p->scheme == SCHEME_GS   ? o->gs_endpoint
			   : p->scheme == SCHEME_AZ ? o->az_endpoint
						    : p->endpoint;
	const char *at = base ? strstr(base, "{account}") : NULL;

	if (!at)
		return base;
	*ret_own = xasprintf("%.*s%s%s", (int)(at - base), base, or_empty(p->account),
			     at + strlen("{account}"));
	return *ret_own;
}

static bool may_be_local(const struct tracker_opts *o, const char *ns, const char *endpoint)
{
	const struct settings_view *v = settings_get(o->settings);
	bool yes = v->policy->list[POLICY_ENDPOINT].n > 0 &&
		   policy_allows(v->policy, POLICY_ENDPOINT, ns, endpoint);

	settings_release(o->settings, v);
	return yes;
}

void track_place(const struct tracker_opts *o, const struct store_place *place, const char *ns,
		 struct store_place *ret)
{
	cleanup(freep) char *own = NULL;
	struct store_place p = *place;

	p.endpoint = endpoint_of(o, place, &own);
	if (place->scheme != SCHEME_S3)
		p.allow_http = p.endpoint != NULL; /* the platform's word */
	p.no_local = !may_be_local(o, ns, p.endpoint);
	p.ca_file = o->ca_file;
	store_place_copy(ret, &p);
}
