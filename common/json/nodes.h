/*
 * nodes.h - the memory of trees: many nodes in one piece. Of json.c and json/tree.c alone.
 *
 * The trees of a review of 4 KiB have about seventy nodes, made together and freed together. As pieces of malloc they
 * are more than its cache of a thread keeps, and a review takes 3 % more processor time (`make bench-webhook`).
 */
#ifndef COMMON_JSON_NODES_H
#define COMMON_JSON_NODES_H

#include <stddef.h>

#include "common/base.h"

struct nodes_block;

/* Of one thread, from {0} to nodes_close. */
struct nodes {
	struct nodes_block *block; /* NULL: none yet */
	size_t used;
	bool begun; /* the first node is alone: many a tree has no other */
};

/* Aligned for a pointer and a double; never NULL. n NULL: in a piece of its own. */
void *nodes_alloc(struct nodes *n, size_t size) must_use;
/* No more is made of it. What was made stays until it is freed. */
void nodes_close(struct nodes *n);
/* What nodes_alloc returned, or NULL; by any thread. A piece goes with the last node in it. */
void nodes_free(void *node);

#endif
