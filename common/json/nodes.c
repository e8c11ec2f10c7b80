#include "common/json/nodes.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A sanitizer sees the borders of pieces alone. */
#if defined(__SANITIZE_ADDRESS__)
#define EACH_ALONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EACH_ALONE 1
#endif
#endif
#ifndef EACH_ALONE
#define EACH_ALONE 0
#endif

enum {
	BLOCK = 1024, /* what malloc's cache of a thread still keeps */
	LARGE = 256,  /* would leave too much of a block empty */
};

struct nodes_block {
	atomic_uint held; /* by each node in it, and while nodes are made */
	char room[BLOCK - sizeof(unsigned)];
};

/* Before each node. */
struct head {
	struct nodes_block *block; /* NULL: the node is alone */
};

static void let_go(struct nodes_block *b)
{
	if (atomic_fetch_sub_explicit(&b->held, 1, memory_order_acq_rel) == 1)
		free(b);
}

static void *alone(size_t size)
{
	struct head *h = xmalloc(sizeof(*h) + size);

	h->block = NULL;
	return h + 1;
}

void *nodes_alloc(struct nodes *n, size_t size)
{
	const size_t align = sizeof(struct head);
	size_t need = (sizeof(struct head) + size + align - 1) / align * align;
	struct head *h;

	if (!n || !n->begun || size > LARGE || EACH_ALONE) {
		if (n)
			n->begun = true;
		return alone(size);
	}
	if (!n->block || need > sizeof(n->block->room) - n->used) {
		nodes_close(n);
		n->block = xmalloc(sizeof(*n->block));
		atomic_init(&n->block->held, 1);
		/* the first head is aligned */
		n->used = align - offsetof(struct nodes_block, room) % align;
	}
	h = (struct head *)(void *)(n->block->room + n->used);
	n->used += need;
	/* Nobody else knows of the block before it is closed; until then no node of it is freed. */
	atomic_store_explicit(&n->block->held,
			      atomic_load_explicit(&n->block->held, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	h->block = n->block;
	return h + 1;
}

void nodes_close(struct nodes *n)
{
	if (n->block)
		let_go(n->block);
	n->block = NULL;
}

void nodes_free(void *node)
{
	struct head *h = node;

	if (!h)
		return;
	h--;
	if (h->block)
		let_go(h->block);
	else
		free(h);
}
