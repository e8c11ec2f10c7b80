#include "controller/relist.h"

#include "common/log.h"

static void take_in(struct cache *c, struct queue *q, enum cache_kind kind,
		    const struct kube_relist *r)
{
	char key[512];

	if (cache_listed(c, kind, r->object, r->version) &&
	    cache_key_of(kind, r->object, key, sizeof(key)))
		queue_add(q, key);
}

static void end(struct cache *c, struct queue *q, enum cache_kind kind, const struct kube_relist *r)
{
	struct strlist keys = STRLIST_INIT;

	cache_list_end(c, kind, r->namespace, r->version, &keys);
	for (size_t i = 0; i < keys.n; i++)
		queue_add(q, keys.v[i]);
	strlist_done(&keys);
}

void relist_step(struct cache *c, struct queue *q, enum cache_kind kind,
		 const struct kube_relist *r)
{
	switch (r->at) {
	case KUBE_LIST_BEGINS:
		if (!r->version)
			log_warn("the API server went back in time, as after a restore; all is "
				 "read anew",
				 "kind", cache_kinds[kind].kind, NULL);
		cache_list_begin(c, kind, r->namespace);
		break;
	case KUBE_LIST_ITEM:
		take_in(c, q, kind, r);
		break;
	case KUBE_LIST_ENDS:
		end(c, q, kind, r);
		break;
	}
}
