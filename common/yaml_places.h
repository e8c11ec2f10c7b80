/*
 * yaml_places.h - where the values of a document stand; between yaml.c, which records them, and
 * yaml_where().
 *
 * Each value has a mark. The marks of an object's members, or a list's elements, form a chain in
 * the order of the JSON tree, so that both are walked in step. Below an alias lies the chain of its
 * anchor.
 */
#ifndef COMMON_YAML_PLACES_H
#define COMMON_YAML_PLACES_H

#include "common/base.h"

struct yaml_mark {
	uint32_t line, col;   /* from 1 */
	uint32_t first, next; /* indexes: the chain below, the neighbour; 0: none */
};

struct yaml_places {
	struct yaml_mark *v; /* v[0] is never used */
	uint32_t n, room;
	uint32_t root; /* of the document's value */
};

/* A chain under construction. */
struct yaml_chain {
	uint32_t first, last;
};

struct yaml_places *yaml_places_new(void) must_use;
void yaml_places_free(struct yaml_places *p);
define_cleanup(struct yaml_places *, yaml_places_free);
/* A new mark's index. */
uint32_t yaml_places_add(struct yaml_places *p, size_t line, size_t col, uint32_t first);
void yaml_places_append(struct yaml_places *p, struct yaml_chain *c, uint32_t mark);

#endif
