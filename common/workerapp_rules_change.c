/* Rules of what may become of what: from the stored object to the new one. */
#include <inttypes.h>
#include <stdio.h>

#include "common/celld/compat.h"
#include "common/workerapp_judge.h"
#include "common/workerapp_rules.h"

/* Absent is the empty text. */
static const char *text(const char *s)
{
	return s ? s : "";
}

static bool is_same(const char *a, const char *b)
{
	return str_eq(text(a), text(b));
}

static bool is_recreate(const struct judge *j)
{
	return j->app->strategy == STRATEGY_RECREATE;
}

/* Whether the annotation holds item, among others with commas between. */
static bool is_acknowledged(const struct workerapp *app, const char *item)
{
	struct strlist items = STRLIST_INIT;
	bool found;

	strlist_split(&items, text(app->acknowledged), ',');
	found = strlist_has(&items, item);
	strlist_done(&items);
	return found;
}

static void change(const struct judge *j, const char *rule, const char *path, const char *from,
		   const char *to, const char *why)
{
	cleanup(freep) char *values = xasprintf("%s -> %s", text(from), text(to));

	fault_add(j->faults, rule, path, values, "%s", why);
}

/* --- where the cells are --- */

/* Equal but for the slashes around the prefix. */
static bool is_same_bucket(const struct workerapp *a, const struct workerapp *b)
{
	cleanup(freep) char *bucket_a = workerapp_bucket_name(a),
			    *bucket_b = workerapp_bucket_name(b);
	cleanup(freep) char *prefix_a = workerapp_bucket_prefix(a);
	cleanup(freep) char *prefix_b = workerapp_bucket_prefix(b);

	return a->bucket.scheme == b->bucket.scheme && str_eq(bucket_a, bucket_b) &&
	       str_eq(prefix_a, prefix_b);
}

static void bucket(const struct judge *j, const struct workerapp *old)
{
	const struct workerapp *app = j->app;
	const struct wa_bucket *now = &app->bucket, *was = &old->bucket;
	struct fault_value shown;

	if (was->name && now->name && !is_same_bucket(app, old)) {
		cleanup(freep) char *values = xasprintf("%s -> %s", was->name, now->name);

		fault_add(j->faults, "bucket-immutable", "spec.bucket.name", values,
			  "the fleet's cells live in %s and do not move; write that, or create "
			  "another "
			  "WorkerApp",
			  fault_value(&shown, was->name));
	}
	if (was->storage_account && !is_same(now->storage_account, was->storage_account))
		change(j, "storage-account-immutable", "spec.bucket.storageAccount",
		       was->storage_account, now->storage_account,
		       "another account is another bucket, and the fleet's cells live in the old "
		       "one; "
		       "write the old account, or create another WorkerApp");
	if (!is_same(app->store_ref, old->store_ref))
		change(j, "store-immutable", "spec.storeRef.name", old->store_ref, app->store_ref,
		       "storeRef cannot change, be added or be removed, because the fleet's cells "
		       "live "
		       "in the old store; write the old one, or create another WorkerApp");
	if (!is_same(now->endpoint, was->endpoint) && !is_recreate(j) &&
	    !is_acknowledged(app, "endpoint"))
		change(j, "endpoint-change", "spec.bucket.endpoint", was->endpoint, now->endpoint,
		       "two halves of a fleet on two stores would own the same cells; write "
		       "celld.updateStrategy: Recreate, or the annotation " ANNOTATION_ACK
		       ": endpoint if the new name reaches the same bucket");
}

/* --- where unsealed writes are --- */

static void storage_size(const struct judge *j, const struct workerapp *old)
{
	char values[64];

	if (j->app->storage.size_gi >= old->storage.size_gi)
		return;
	(void)snprintf(values, sizeof(values), "%" PRId64 " -> %" PRId64, old->storage.size_gi,
		       j->app->storage.size_gi);
	fault_add(j->faults, "storage-shrinks", "spec.storage.sizeGi", values,
		  "claims cannot shrink; write %" PRId64 " or more", old->storage.size_gi);
}

static void storage(const struct judge *j, const struct workerapp *old)
{
	const struct workerapp *app = j->app;

	if (app->storage.set && old->storage.set) {
		storage_size(j, old);
		if (!is_same(app->storage.class_name, old->storage.class_name))
			change(j, "storage-class-immutable", "spec.storage.storageClassName",
			       old->storage.class_name, app->storage.class_name,
			       "the class of claims that exist cannot change; write the old one");
	}
}

size_t workerapp_rules_apart(const struct rules_fleet *was, const struct workerapp *app,
			     struct rules_apart ret[RULES_APART])
{
	size_t n = 0;

	if (was->storage != app->storage.set && !was->stopped)
		ret[n++] = (struct rules_apart){
			"storage-recreate",
			"spec.storage",
			was->storage ? "set" : "",
			app->storage.set ? "set" : "",
			"storage cannot be added or removed pod by pod; write "
			"celld.updateStrategy: Recreate in the same change",
			true,
		};
	if (was->storage && !app->storage.set && was->fleet_durability)
		ret[n++] = (struct rules_apart){
			"storage-unsealed",
			"spec.storage",
			"fleet",
			"",
			"the volumes may hold writes that are not yet in the bucket; write "
			"durability: bucket first, let it roll out, then remove storage",
			false,
		};
	if (was->fleet_durability && app->durability == DURABILITY_BUCKET && !was->stopped)
		ret[n++] = (struct rules_apart){
			"durability-recreate",
			"spec.durability",
			"fleet",
			"bucket",
			"pods may still hold writes for each other, so durability cannot leave "
			"fleet pod by pod; write celld.updateStrategy: Recreate in the same change",
			true,
		};
	return n;
}

static void apart(const struct judge *j, const struct workerapp *old)
{
	const struct rules_fleet was = { .storage = old->storage.set,
					 .fleet_durability = old->durability == DURABILITY_FLEET };
	struct rules_apart all[RULES_APART];
	size_t n = workerapp_rules_apart(&was, j->app, all);

	for (size_t i = 0; i < n; i++) {
		if (!all[i].by_recreate || !is_recreate(j))
			change(j, all[i].rule, all[i].path, all[i].from, all[i].to, all[i].why);
	}
}

/* --- celld versions --- */

static void warn_of_versions(const struct judge *j, const struct compat_verdict *v)
{
	for (size_t i = 0; i < v->n_warnings; i++) {
		const struct celld_boundary *b = &j->table->boundaries[v->warnings[i]];

		judge_warn(j, "spec.celld.image: %s", v->up ? b->up.warning : b->down.warning);
	}
}

static void celld_version(const struct judge *j, const struct workerapp *old)
{
	const struct workerapp *app = j->app;
	bool same_image = is_same(app->image, old->image);
	struct compat_verdict v;
	struct compat_facts facts = {
		.bucket_both = app->durability == DURABILITY_BUCKET &&
			       old->durability == DURABILITY_BUCKET,
		.unread = j->running->unreadable,
		.stopped = j->running->stopped,
		.acknowledged = app->acknowledged,
	};
	char message[768], from[VERSION_TEXT] = "unreadable", to[VERSION_TEXT];

	/* The same image is no upgrade, whatever else changes; without a version there is a fault already. */
	if ((same_image && is_same(app->celld_version, old->celld_version)) || !j->has_version)
		return;
	v = compat_judge_all(j->table, j->running->v, j->running->n, j->version, &facts);
	if (v.way == COMPAT_ROLLING || (v.way == COMPAT_RECREATE && is_recreate(j))) {
		warn_of_versions(j, &v);
		return;
	}
	if (v.from_known)
		version_text(v.from, from);
	version_text(v.to, to);
	(void)compat_explain(j->table, &v, is_recreate(j), message, sizeof(message));
	change(j, v.way == COMPAT_BLOCKED ? "celld-blocked" : "celld-recreate",
	       same_image ? "spec.celld.version" : "spec.celld.image", from, to, message);
}

void workerapp_rules_change(const struct judge *j, const struct workerapp *old)
{
	bucket(j, old);
	storage(j, old);
	apart(j, old);
	celld_version(j, old);
}
