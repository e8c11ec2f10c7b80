#include "common/celld/state.h"

#include <stdio.h>
#include <string.h>

#include "common/json.h"

static int bad(struct err *e, const char *name, const char *what)
{
	return err_field(e, ERR_INVALID, name, "%s: %s", name, what);
}

/* An integer >= 0; null and absent leave it unset, unless it is required. */
static int number(const struct json *j, const char *name, bool required, struct state_int *ret,
		  struct err *e)
{
	const struct json *v = json_get(j, name);

	*ret = (struct state_int){ .set = false };
	if (!v || json_kind(v) == JSON_NULL)
		return required ? bad(e, name, "missing") : 0;
	if (!json_int(v, &ret->v) || ret->v < 0)
		return bad(e, name, "no whole number");
	ret->set = true;
	return 0;
}

static int deployment(const struct json *j, struct celld_state *s, struct err *e)
{
	const struct json *d = json_get(j, "deployment");
	const char *version = json_get_str(d, "version");
	struct state_int generation, swapping;
	int r;

	if (!d)
		return 0;
	if (json_kind(d) != JSON_OBJECT || str_empty(version) ||
	    strlen(version) >= sizeof(s->deployment.version))
		return bad(e, "deployment.version", "no legal text");
	r = number(d, "generation", true, &generation, e);
	if (!r)
		r = number(d, "swapping", true, &swapping, e);
	if (r)
		return err_wrap(e, "deployment");
	if (json_kind(json_get(d, "draining")) != JSON_ARRAY)
		return bad(e, "deployment.draining", "no list");
	s->deployment.set = true;
	(void)snprintf(s->deployment.version, sizeof(s->deployment.version), "%s", version);
	s->deployment.generation = generation.v;
	s->deployment.swapping = swapping.v;
	s->deployment.n_draining = (int64_t)json_len(json_get(d, "draining"));
	return 0;
}

static int read_state(const struct json *j, const struct celld_facts *facts, struct celld_state *s,
		      struct err *e)
{
	const char *ownership = json_get_str(j, "ownership");
	const struct json *shedding = json_get(j, "shedding");
	int r;

	if (json_kind(j) != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "no object");
	if (json_get_str(j, "error"))
		return bad(e, "error", json_get_str(j, "error"));
	if (str_empty(ownership))
		return bad(e, "ownership", "missing");
	(void)snprintf(s->ownership, sizeof(s->ownership), "%s", ownership);
	s->shedding = json_kind(shedding) == JSON_STRING;
	r = number(j, "occupied", true, &s->occupied, e);
	r = r ? r : number(j, "restoring", facts->state_restoring, &s->restoring, e);
	r = r ? r : number(j, "evicting", false, &s->evicting, e);
	r = r ? r : number(j, "rss_bytes", false, &s->rss_bytes, e);
	r = r ? r : number(j, "in_use_bytes", false, &s->in_use_bytes, e);
	r = r ? r : number(j, "cgroup_working_set_bytes", false, &s->working_set_bytes, e);
	r = r ? r : number(j, "cgroup_current_bytes", false, &s->cgroup_bytes, e);
	return r ? r : deployment(j, s, e);
}

int celld_state_parse(const char *text, size_t len, const struct celld_facts *facts,
		      struct celld_state *ret, struct err *e)
{
	cleanup_json struct json *j = NULL;
	struct celld_state s = { .shedding = false };
	int r = json_parse(text ? text : "", len, &j, e);

	if (!r)
		r = read_state(j, facts, &s, e);
	if (r)
		return r;
	*ret = s;
	return 0;
}
