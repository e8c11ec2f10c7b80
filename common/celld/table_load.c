#include "common/celld/table_load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/limits.h"
#include "common/yaml.h"

enum { PATH_TEXT = 160 };

struct loader {
	const char *origin;
	struct yaml_doc doc;
	struct celld_table *t;
};

enum kind { KIND_BOOL, KIND_INT, KIND_VERSION, KIND_TEXT, KIND_WAY, KIND_OTHER };

/* A member of an object: where its value goes, and what it may be. */
struct field {
	const char *name;
	enum kind kind;
	bool optional;
	size_t at;   /* offset in the struct */
	size_t room; /* of a text */
	int64_t min, max;
};

#define BOOL_FIELD(s, m, key)                                                                      \
	{                                                                                          \
		.name = (key), .kind = KIND_BOOL, .at = offsetof(s, m)                             \
	}
#define INT_FIELD(s, m, key, lo, hi)                                                               \
	{                                                                                          \
		.name = (key), .kind = KIND_INT, .at = offsetof(s, m), .min = (lo), .max = (hi)    \
	}
#define VERSION_FIELD(s, m, key, may_miss)                                                         \
	{                                                                                          \
		.name = (key), .kind = KIND_VERSION, .optional = (may_miss), .at = offsetof(s, m)  \
	}
#define OTHER_FIELD(key)                                                                           \
	{                                                                                          \
		.name = (key), .kind = KIND_OTHER                                                  \
	}

#define F struct celld_facts
static const struct field facts_fields[] = {
	VERSION_FIELD(F, range.since, "since", true),
	VERSION_FIELD(F, range.until, "until", true),
	{ .name = "healthPath",
	  .kind = KIND_TEXT,
	  .at = offsetof(F, health_path),
	  .room = sizeof(((F *)NULL)->health_path) },
	INT_FIELD(F, public_port, "publicPort", 1, 65535),
	INT_FIELD(F, internal_port, "internalPort", 1, 65535),
	BOOL_FIELD(F, internal_listener, "internalListener"),
	BOOL_FIELD(F, state_restoring, "stateRestoring"),
	BOOL_FIELD(F, state_deployment, "stateDeployment"),
	BOOL_FIELD(F, durability, "durability"),
	BOOL_FIELD(F, vars_file, "varsFile"),
	BOOL_FIELD(F, forwarded_headers, "forwardedHeaders"),
	BOOL_FIELD(F, telemetry, "telemetry"),
	BOOL_FIELD(F, telemetry_sink, "telemetrySink"),
	BOOL_FIELD(F, gs, "gs"),
	BOOL_FIELD(F, az, "az"),
	BOOL_FIELD(F, prefix, "prefix"),
	BOOL_FIELD(F, pod_identity, "podIdentity"),
	BOOL_FIELD(F, shutdown_total, "shutdownTotal"),
	BOOL_FIELD(F, shutdown_drain, "shutdownDrain"),
	BOOL_FIELD(F, drain_token_wait, "drainTokenWait"),
	INT_FIELD(F, shutdown_ms, "shutdownMs", 1000, 3600000),
	INT_FIELD(F, grace_seconds, "graceSeconds", 1, 3600),
};
#undef F

#define C struct celld_crossing
static const struct field crossing_fields[] = {
	{ .name = "way", .kind = KIND_WAY, .at = offsetof(C, way) },
	{ .name = "rollingIfBucket",
	  .kind = KIND_BOOL,
	  .optional = true,
	  .at = offsetof(C, rolling_if_bucket) },
	{ .name = "needsAck", .kind = KIND_BOOL, .optional = true, .at = offsetof(C, needs_ack) },
	{ .name = "warning",
	  .kind = KIND_TEXT,
	  .optional = true,
	  .at = offsetof(C, warning),
	  .room = LIMIT_WARNING + 1 },
	{ .name = "reason",
	  .kind = KIND_TEXT,
	  .optional = true,
	  .at = offsetof(C, reason),
	  .room = sizeof(((C *)NULL)->reason) },
};
#undef C

static const struct field boundary_fields[] = {
	VERSION_FIELD(struct celld_boundary, below, "below", false),
	VERSION_FIELD(struct celld_boundary, above, "above", false),
	OTHER_FIELD("up"),
	OTHER_FIELD("down"),
};

static const struct field names_fields[] = {
	VERSION_FIELD(struct celld_name, range.since, "since", true),
	VERSION_FIELD(struct celld_name, range.until, "until", true),
	{ .name = "ifNotEmpty",
	  .kind = KIND_BOOL,
	  .optional = true,
	  .at = offsetof(struct celld_name, if_not_empty) },
	OTHER_FIELD("names"),
};

static const struct field environment_fields[] = {
	/* Nothing is written for these: their readers follow. */
	OTHER_FIELD("refused"),
	OTHER_FIELD("owned"),
	OTHER_FIELD("known"),
};

static const struct field top_fields[] = {
	OTHER_FIELD("releases"),
	OTHER_FIELD("facts"),
	OTHER_FIELD("boundaries"),
	OTHER_FIELD("environment"),
};

printf_like(5, 6) static int wrong(const struct loader *l, enum err_code code, struct err *e,
				   const char *path, const char *fmt, ...)
{
	struct yaml_place place;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)yaml_where(&l->doc, path, &place);
	return err_field(e, code, path, "%s:%zu: %s: %s", l->origin, place.line,
			 *path ? path : "document", text);
}

static int wrong_kind(const struct loader *l, struct err *e, const char *path, const struct json *j,
		      const char *want)
{
	return wrong(l, ERR_INVALID, e, path, "%s instead of %s", json_kind_text(json_kind(j)),
		     want);
}

/* A path that has no room ends in dots: the file's keys may be of any length. */
static void mark_cut(char to[PATH_TEXT], int len)
{
	if (len >= PATH_TEXT)
		memcpy(to + PATH_TEXT - sizeof("..."), "...", sizeof("..."));
}

static void below(char to[PATH_TEXT], const char *path, const char *name)
{
	mark_cut(to, snprintf(to, PATH_TEXT, "%s%s%s", path, *path ? "." : "", name));
}

static void element(char to[PATH_TEXT], const char *path, size_t i)
{
	mark_cut(to, snprintf(to, PATH_TEXT, "%s[%zu]", path, i));
}

/* --- one value ------------------------------------------------------------------------------ */

static int read_version(const struct loader *l, const char *path, const struct json *j,
			struct version *ret, struct err *e)
{
	const char *s = json_str(j);
	struct version v, none = { 0 };

	if (!s)
		return wrong_kind(l, e, path, j, "a version");
	if (!version_read(s, &v) || s[strspn(s, "0123456789.")] || !version_cmp(v, none))
		return wrong(l, ERR_INVALID, e, path, "'%.40s' is no version such as 0.6.2", s);
	*ret = v;
	return 0;
}

static int read_way(const struct loader *l, const char *path, const struct json *j,
		    enum compat_way *ret, struct err *e)
{
	static const char *const ways[] = { [COMPAT_ROLLING] = "rolling",
					    [COMPAT_RECREATE] = "recreate",
					    [COMPAT_BLOCKED] = "blocked" };
	const char *s = json_str(j);

	for (size_t i = 0; s && i < array_len(ways); i++) {
		if (str_eq(s, ways[i])) {
			*ret = (enum compat_way)i;
			return 0;
		}
	}
	return wrong(l, ERR_INVALID, e, path, "must be rolling, recreate or blocked");
}

static int read_text(const struct loader *l, const char *path, const struct json *j, char *to,
		     size_t room, struct err *e)
{
	const char *s = json_str(j);

	if (!s)
		return wrong_kind(l, e, path, j, "a string");
	if (!*s || strlen(s) >= room)
		return wrong(l, ERR_INVALID, e, path, "must have 1 to %zu bytes", room - 1);
	memcpy(to, s, strlen(s) + 1);
	return 0;
}

static int read_int(const struct loader *l, const char *path, const struct json *j,
		    const struct field *f, int *to, struct err *e)
{
	int64_t v;

	if (!json_int(j, &v))
		return wrong_kind(l, e, path, j, "an integer");
	if (v < f->min || v > f->max)
		return wrong(l, ERR_INVALID, e, path, "must lie within %lld and %lld",
			     (long long)f->min, (long long)f->max);
	*to = (int)v;
	return 0;
}

static int read_field(const struct loader *l, const char *path, const struct json *j,
		      const struct field *f, void *base, struct err *e)
{
	void *to = (char *)base + f->at;

	switch (f->kind) {
	case KIND_BOOL:
		return json_bool(j, to) ? 0 : wrong_kind(l, e, path, j, "true or false");
	case KIND_INT:
		return read_int(l, path, j, f, to, e);
	case KIND_VERSION:
		return read_version(l, path, j, to, e);
	case KIND_TEXT:
		return read_text(l, path, j, to, f->room, e);
	case KIND_WAY:
		return read_way(l, path, j, to, e);
	case KIND_OTHER:
		return 0; /* its reader comes next */
	}
	return 0;
}

/* Every member that fields names, and no other. */
static int read_object(const struct loader *l, const char *path, const struct json *j,
		       const struct field *fields, size_t n, void *base, struct err *e)
{
	char at[PATH_TEXT];

	if (json_kind(j) != JSON_OBJECT)
		return wrong_kind(l, e, path, j, "an object");
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		size_t i = 0;

		while (i < n && !str_eq(fields[i].name, json_name(c)))
			i++;
		below(at, path, json_name(c));
		if (i == n)
			return wrong(l, ERR_INVALID, e, at, "unknown key");
	}
	for (size_t i = 0; i < n; i++) {
		const struct json *c = json_get(j, fields[i].name);
		int rc;

		below(at, path, fields[i].name);
		if (!c && !fields[i].optional)
			return wrong(l, ERR_INVALID, e, at, "missing");
		rc = c ? read_field(l, at, c, &fields[i], base, e) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int check_list(const struct loader *l, const char *path, const struct json *j, size_t min,
		      size_t max, struct err *e)
{
	if (json_kind(j) != JSON_ARRAY)
		return wrong_kind(l, e, path, j, "a list");
	if (json_len(j) < min)
		return wrong(l, ERR_INVALID, e, path, "must not be empty");
	if (json_len(j) > max)
		return wrong(l, ERR_TOO_LARGE, e, path, "more than %zu rows", max);
	return 0;
}

/* --- the parts ------------------------------------------------------------------------------ */

static int read_releases(const struct loader *l, const struct json *j, struct err *e)
{
	struct celld_table *t = l->t;
	char path[PATH_TEXT];
	int rc = check_list(l, "releases", j, 1, CELLD_RELEASES, e);

	for (const struct json *c = json_first(j); !rc && c; c = json_next(c)) {
		size_t n = t->n_releases;

		element(path, "releases", n);
		rc = read_version(l, path, c, &t->releases[n], e);
		if (!rc && n && version_cmp(t->releases[n - 1], t->releases[n]) >= 0)
			rc = wrong(l, ERR_INVALID, e, path, "must be newer than the one before");
		t->n_releases++;
	}
	return rc;
}

static bool is_unbounded(struct version v)
{
	return version_cmp(v, (struct version){ 0 }) == 0;
}

static int check_range(const struct loader *l, const char *path, struct celld_range r,
		       struct err *e)
{
	if (is_unbounded(r.until) || version_cmp(r.since, r.until) < 0)
		return 0;
	return wrong(l, ERR_INVALID, e, path, "until must be newer than since");
}

/* That the rows leave no version out and none twice. */
static int check_neighbours(const struct loader *l, const char *path, size_t i, bool is_last,
			    struct err *e)
{
	const struct celld_facts *f = &l->t->facts[i];

	if (i == 0 && !is_unbounded(f->range.since))
		return wrong(l, ERR_INVALID, e, path, "the first row must have no since");
	if (i && (is_unbounded(f[-1].range.until) ||
		  version_cmp(f->range.since, f[-1].range.until) != 0))
		return wrong(l, ERR_INVALID, e, path, "since must be the until of the row before");
	if (is_last && !is_unbounded(f->range.until))
		return wrong(l, ERR_INVALID, e, path, "the last row must have no until");
	return check_range(l, path, f->range, e);
}

static int read_facts(const struct loader *l, const struct json *j, struct err *e)
{
	struct celld_table *t = l->t;
	char path[PATH_TEXT];
	int rc = check_list(l, "facts", j, 1, array_len(t->facts), e);

	for (const struct json *c = json_first(j); !rc && c; c = json_next(c)) {
		size_t n = t->n_facts++;

		element(path, "facts", n);
		rc = read_object(l, path, c, facts_fields, array_len(facts_fields), &t->facts[n],
				 e);
		if (!rc)
			rc = check_neighbours(l, path, n, !json_next(c), e);
		if (!rc && t->facts[n].health_path[0] != '/')
			rc = wrong(l, ERR_INVALID, e, path, "healthPath must begin with '/'");
	}
	return rc;
}

static int read_crossing(const struct loader *l, const char *path, const struct json *row,
			 const char *name, struct celld_crossing *ret, struct err *e)
{
	char at[PATH_TEXT];
	int rc;

	below(at, path, name);
	rc = read_object(l, at, json_get(row, name), crossing_fields, array_len(crossing_fields),
			 ret, e);
	if (rc)
		return rc;
	if ((ret->way != COMPAT_ROLLING || ret->needs_ack) && !ret->reason[0])
		return wrong(l, ERR_INVALID, e, at, "a refusal needs a reason");
	if (ret->way == COMPAT_BLOCKED && (ret->needs_ack || ret->rolling_if_bucket))
		return wrong(l, ERR_INVALID, e, at, "blocked has no exception");
	if (ret->way == COMPAT_ROLLING && ret->rolling_if_bucket)
		return wrong(l, ERR_INVALID, e, at, "rollingIfBucket changes nothing here");
	return 0;
}

/* The index of a release, or n_releases. */
static size_t release_index(const struct celld_table *t, struct version v)
{
	size_t i = 0;

	while (i < t->n_releases && version_cmp(t->releases[i], v) != 0)
		i++;
	return i;
}

static int check_boundary(const struct loader *l, const char *path, size_t i, struct err *e)
{
	const struct celld_table *t = l->t;
	const struct celld_boundary *b = &t->boundaries[i];
	size_t lower = release_index(t, b->below), upper = release_index(t, b->above);

	if (lower == t->n_releases || upper != lower + 1 || upper == t->n_releases)
		return wrong(l, ERR_INVALID, e, path,
			     "below and above must be releases that follow each other");
	if (i && version_cmp(b[-1].above, b->above) >= 0)
		return wrong(l, ERR_INVALID, e, path, "must lie above the row before");
	return 0;
}

static bool has_boundary(const struct celld_table *t, struct version above)
{
	for (size_t i = 0; i < t->n_boundaries; i++) {
		if (version_cmp(t->boundaries[i].above, above) == 0)
			return true;
	}
	return false;
}

/* Saying nothing about a new minor must not mean that it rolls. */
static int check_minors(const struct loader *l, struct err *e)
{
	const struct celld_table *t = l->t;
	char text[VERSION_TEXT];

	for (size_t i = 1; i < t->n_releases; i++) {
		struct version v = t->releases[i], before = t->releases[i - 1];

		if ((v.major != before.major || v.minor != before.minor) && !has_boundary(t, v)) {
			version_text(v, text);
			return wrong(l, ERR_INVALID, e, "boundaries", "no row with above: %s",
				     text + 1);
		}
	}
	return 0;
}

static int read_boundaries(const struct loader *l, const struct json *j, struct err *e)
{
	struct celld_table *t = l->t;
	char path[PATH_TEXT];
	int rc = check_list(l, "boundaries", j, 0, CELLD_BOUNDARIES, e);

	for (const struct json *c = json_first(j); !rc && c; c = json_next(c)) {
		size_t n = t->n_boundaries++;
		struct celld_boundary *b = &t->boundaries[n];

		element(path, "boundaries", n);
		rc = read_object(l, path, c, boundary_fields, array_len(boundary_fields), b, e);
		if (!rc)
			rc = check_boundary(l, path, n, e);
		if (!rc)
			rc = read_crossing(l, path, c, "up", &b->up, e);
		if (!rc)
			rc = read_crossing(l, path, c, "down", &b->down, e);
	}
	return rc ? rc : check_minors(l, e);
}

/* A variable's name; a '*' at its end stands for any rest. */
static bool is_env_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && n < CELLD_NAME_TEXT - 1 && (!s[n] || (s[n] == '*' && !s[n + 1]));
}

/* One group: names that share a range. */
static int read_group(const struct loader *l, const char *path, const struct json *j,
		      struct celld_name *list, size_t *n, struct err *e)
{
	struct celld_name row = { 0 };
	char names[PATH_TEXT], at[PATH_TEXT];
	size_t i = 0;
	int rc = read_object(l, path, j, names_fields, array_len(names_fields), &row, e);

	if (!rc)
		rc = check_range(l, path, row.range, e);
	below(names, path, "names");
	if (!rc)
		rc = check_list(l, names, json_get(j, "names"), 1, CELLD_NAMES - *n, e);
	if (rc)
		return rc;
	for (const struct json *c = json_first(json_get(j, "names")); c; c = json_next(c)) {
		const char *name = json_str(c);

		element(at, names, i++);
		if (!name || !is_env_name(name))
			return wrong(l, ERR_INVALID, e, at, "must be a name such as CELLD_ADDR");
		memcpy(row.name, name, strlen(name) + 1);
		list[(*n)++] = row;
	}
	return 0;
}

static int read_names(const struct loader *l, const char *path, const struct json *j,
		      struct celld_name *list, size_t *n, struct err *e)
{
	char at[PATH_TEXT];
	size_t i = 0;
	int rc = check_list(l, path, j, 0, CELLD_NAMES, e);

	for (const struct json *c = json_first(j); !rc && c; c = json_next(c)) {
		element(at, path, i++);
		rc = read_group(l, at, c, list, n, e);
	}
	return rc;
}

static int read_environment(const struct loader *l, const struct json *j, struct err *e)
{
	struct celld_table *t = l->t;
	int rc = read_object(l, "environment", j, environment_fields, array_len(environment_fields),
			     t, e);

	if (!rc)
		rc = read_names(l, "environment.refused", json_get(j, "refused"), t->refused,
				&t->n_refused, e);
	if (!rc)
		rc = read_names(l, "environment.owned", json_get(j, "owned"), t->owned, &t->n_owned,
				e);
	if (!rc)
		rc = read_names(l, "environment.known", json_get(j, "known"), t->known, &t->n_known,
				e);
	return rc;
}

static int read_table(const struct loader *l, struct err *e)
{
	const struct json *j = l->doc.value;
	int rc = read_object(l, "", j, top_fields, array_len(top_fields), l->t, e);

	if (!rc)
		rc = read_releases(l, json_get(j, "releases"), e);
	if (!rc)
		rc = read_facts(l, json_get(j, "facts"), e);
	if (!rc)
		rc = read_boundaries(l, json_get(j, "boundaries"), e);
	if (!rc)
		rc = read_environment(l, json_get(j, "environment"), e);
	return rc;
}

int celld_table_load(const char *text, size_t len, const char *origin, struct celld_table *ret,
		     struct err *e)
{
	cleanup(freep) struct celld_table *t = xcalloc(1, sizeof(*t));
	struct loader l = { .origin = origin, .t = t };
	int rc;

	if (len > LIMIT_CONFIG_FILE)
		return err_set(e, ERR_TOO_LARGE, "%s: %zu bytes", origin, len);
	rc = yaml_parse_one(text, len, &l.doc, e);
	if (rc) {
		(void)err_wrap(e, "%s", origin);
		return rc;
	}
	rc = read_table(&l, e);
	yaml_doc_done(&l.doc);
	if (!rc)
		*ret = *t;
	return rc;
}
