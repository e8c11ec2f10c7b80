#include "common/yaml_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/yaml.h"

struct yaml_places *yaml_places_new(void)
{
	struct yaml_places *p = xcalloc(1, sizeof(*p));

	p->n = 1;
	return p;
}

void yaml_places_free(struct yaml_places *p)
{
	free(p->v);
	free(p);
}

uint32_t yaml_places_add(struct yaml_places *p, size_t line, size_t col, uint32_t first)
{
	if (p->n >= p->room) {
		p->room = p->room ? p->room * 2 : 64;
		p->v = xrealloc(p->v, p->room * sizeof(*p->v));
	}
	p->v[p->n] =
		(struct yaml_mark){ .line = (uint32_t)line, .col = (uint32_t)col, .first = first };
	return p->n++;
}

void yaml_places_append(struct yaml_places *p, struct yaml_chain *c, uint32_t mark)
{
	if (c->last)
		p->v[c->last].next = mark;
	else
		c->first = mark;
	c->last = mark;
}

/* The next part of a path: "name", ".name" or "[name or index]". False: there is none. */
static bool next_part(const char **path, const char **ret, size_t *ret_len)
{
	const char *s = *path;

	if (*s == '[') {
		*ret = s + 1;
		*ret_len = strcspn(s + 1, "]");
		*path = s + 1 + *ret_len + (s[1 + *ret_len] == ']');
		return true;
	}
	s += *s == '.';
	*ret = s;
	*ret_len = strcspn(s, ".[");
	*path = s + *ret_len;
	return *ret_len > 0;
}

static bool part_is(const char *part, size_t len, const struct json *child, size_t index,
		    bool in_list)
{
	char text[24];
	const char *name = text;

	if (in_list)
		(void)snprintf(text, sizeof(text), "%zu", index);
	else
		name = json_name(child);
	return strlen(name) == len && !strncmp(name, part, len);
}

bool yaml_where(const struct yaml_doc *doc, const char *path, struct yaml_place *ret)
{
	const struct yaml_mark *v = doc->places ? doc->places->v : NULL;
	const struct json *j = doc->value;
	uint32_t here = v ? doc->places->root : 0;
	const char *part;
	size_t len;

	*ret = (struct yaml_place){ .line = v ? v[here].line : 1, .col = v ? v[here].col : 1 };
	while (next_part(&path, &part, &len)) {
		bool list = json_kind(j) == JSON_ARRAY;
		size_t i = 0;

		here = v ? v[here].first : 0;
		for (j = json_first(j); j && !part_is(part, len, j, i, list); j = json_next(j)) {
			here = v ? v[here].next : 0;
			i++;
		}
		if (!j)
			return false;
		if (v)
			*ret = (struct yaml_place){ .line = v[here].line, .col = v[here].col };
	}
	return true;
}
