#include "common/celld/state.h"

#include <string.h>

#include "common/json.h"
#include "common/limits.h"

static struct celld_count count_of(const struct json *j, const char *name)
{
	struct celld_count c = { 0 };

	c.set = json_get_int(j, name, &c.v) && c.v >= 0;
	if (!c.set)
		c.v = 0;
	return c;
}

/* A node without /proc says 1. */
static struct celld_count bytes_of(const struct json *j, const char *name)
{
	struct celld_count c = count_of(j, name);

	return c.v > 1 ? c : (struct celld_count){ 0 };
}

static enum celld_tri tri_of(const struct json *j, const char *name)
{
	bool b;

	if (!json_bool(json_get(j, name), &b))
		return CELLD_UNKNOWN;
	return b ? CELLD_YES : CELLD_NO;
}

/* Copies what fits; false: it does not, or there is nothing. */
static bool copy(const char *s, char *to, size_t room)
{
	size_t n = s ? strnlen(s, room) : room;

	if (n == room)
		return false;
	memcpy(to, s, n + 1);
	return true;
}

static void read_shedding(const struct json *j, struct celld_state *s)
{
	const struct json *shedding = json_get(j, "shedding");

	if (json_kind(shedding) == JSON_NULL)
		s->shedding = CELLD_NO;
	else if (json_kind(shedding) == JSON_STRING)
		s->shedding = CELLD_YES;
	if (!copy(json_str(shedding), s->shedding_why, sizeof(s->shedding_why)))
		s->shedding_why[0] = '\0';
}

static bool is_version_id(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++) {
		if (!(*s >= '0' && *s <= '9') && !(*s >= 'a' && *s <= 'z') &&
		    !(*s >= 'A' && *s <= 'Z') && *s != '.' && *s != '_' && *s != '-')
			return false;
	}
	return true;
}

/* Half a deployment proves nothing: all of it, or none. */
static void read_deployment(const struct json *j, struct celld_deployment *ret)
{
	const struct json *draining = json_get(j, "draining");
	struct celld_count generation = count_of(j, "generation");
	struct celld_count swapping = count_of(j, "swapping");
	struct celld_deployment d = { .set = true,
				      .generation = generation.v,
				      .swapping = swapping.v,
				      .n_draining = (int64_t)json_len(draining) };

	if (generation.set && swapping.set && json_kind(draining) == JSON_ARRAY &&
	    copy(json_get_str(j, "version"), d.version, sizeof(d.version)) &&
	    is_version_id(d.version))
		*ret = d;
}

static int read_required(const struct json *j, const struct celld_facts *facts,
			 struct celld_state *s, struct err *e)
{
	if (json_kind(j) != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "no JSON object");
	if (json_get_str(j, "error"))
		return err_set(e, ERR_INVALID, "celld says error");
	if (!copy(json_get_str(j, "ownership"), s->ownership, sizeof(s->ownership)))
		return err_field(e, ERR_INVALID, "ownership", "ownership is no string");
	s->occupied = count_of(j, "occupied");
	if (!s->occupied.set)
		return err_field(e, ERR_INVALID, "occupied", "occupied is no count");
	s->restoring = count_of(j, "restoring");
	if (!facts->state_restoring)
		s->restoring = (struct celld_count){ 0 };
	else if (!s->restoring.set)
		return err_field(e, ERR_INVALID, "restoring", "restoring is no count");
	return 0;
}

static void read_optional(const struct json *j, const struct celld_facts *facts,
			  struct celld_state *s)
{
	const struct json *load = json_get(j, "node_load");

	s->evicting = count_of(j, "evicting");
	s->rss_bytes = bytes_of(j, "rss_bytes");
	s->in_use_bytes = bytes_of(j, "in_use_bytes");
	s->cgroup_working_set_bytes = count_of(j, "cgroup_working_set_bytes");
	s->cgroup_current_bytes = count_of(j, "cgroup_current_bytes");
	read_shedding(j, s);
	if (facts->state_deployment)
		read_deployment(json_get(j, "deployment"), &s->deployment);
	s->pressured = tri_of(load, "pressured");
	s->memory_headroom = tri_of(load, "memory_headroom");
	s->draining = tri_of(load, "draining");
}

int celld_state_parse(const char *body, size_t len, const struct celld_facts *facts,
		      struct celld_state *ret, struct err *e)
{
	cleanup_json struct json *j = NULL;
	struct celld_state s = { 0 };
	struct err bad = ERR_INIT;
	int rc;

	*ret = (struct celld_state){ 0 };
	if (len > LIMIT_STATE)
		return err_set(e, ERR_INVALID, "more than %d bytes", (int)LIMIT_STATE);
	if (!len)
		return err_set(e, ERR_INVALID, "an empty body");
	if (json_parse(body, len, &j, &bad))
		return err_set(e, ERR_INVALID, "no valid JSON");
	rc = read_required(j, facts, &s, e);
	if (rc)
		return rc;
	read_optional(j, facts, &s);
	s.valid = true;
	*ret = s;
	return 0;
}
