/*
 * workerapp_judge.h - what the parts of workerapp_rules share: the object in question with the facts of its celld
 * version. Pure (tier 2). Each rule is one `fault_add(j->faults, "rule-id", path, values read, message)`.
 */
#ifndef COMMON_WORKERAPP_JUDGE_H
#define COMMON_WORKERAPP_JUDGE_H

#include "common/celld/image.h"
#include "common/celld/table.h"
#include "common/workerapp.h"

/* What a fleet may be running: the versions of the stored object's image and of its status. */
struct running {
	struct version *v;
	size_t n;
	bool unreadable; /* something runs whose version cannot be read */
	bool stopped;	 /* paused, and no pod is left: nothing runs, v says what ran last */
};

struct judge {
	const struct workerapp *app;
	const struct celld_table *table;
	bool has_image;	     /* spec.celld.image is a legal reference */
	struct image image;  /* then */
	bool image_conflict; /* its tag and spec.celld.version tell different versions */
	bool has_version;    /* false: the image does not tell; then no rule asks for the version */
	struct version version;
	const struct celld_facts *facts; /* of version; NULL without one */
	const struct running *running;	 /* NULL: CREATE */
	struct faults *faults;
	struct strlist *warnings; /* NULL: nobody asks */
};

/* The rules by subject; each file of workerapp_rules_*.c says what is its own. */
void workerapp_rules_names(
	const struct judge *j); /* metadata, hostnames, appVersion, celld, routing, clusterDomain */
void workerapp_rules_bucket(const struct judge *j); /* bucket, credentials, storeRef */
void workerapp_rules_size(
	const struct judge *j); /* replicas, resources, storage, durability, autoscaling */
void workerapp_rules_env(const struct judge *j);     /* env, vars, telemetry, forwarded headers */
void workerapp_rules_placing(const struct judge *j); /* scheduling, labels, annotations */
void workerapp_rules_network(const struct judge *j); /* networkPolicy */
/* From old to app: immutable fields, storage, durability, endpoint, celld version. */
void workerapp_rules_change(const struct judge *j, const struct workerapp *old);

/* A soft fact, cut to LIMIT_WARNING at a character's border; one that is there already is not added again. */
void judge_warn(const struct judge *j, const char *fmt, ...) printf_like(2, 3);
/*
 * From which version on the boolean at this offset of struct celld_facts holds, in words: "v0.3.0 or later"; "a version
 * that has it" when no version of the table does.
 */
void judge_since(const struct judge *j, size_t fact, char text[VERSION_TEXT]);
/* A fault unless s is absent or the name of a Kubernetes object; what: "Secret". */
void judge_object_name(const struct judge *j, const char *path, const char *s, const char *what);
/* The same for one of many: fmt is its path, which is printed only when there is a fault. */
void judge_item_name(const struct judge *j, const char *s, const char *what, const char *fmt, ...)
	printf_like(4, 5);
/* A fault unless min <= v <= max. */
void judge_range(const struct judge *j, const char *path, int64_t v, int64_t min, int64_t max);
/* A fault unless a list or a map has at most max elements. */
void judge_length(const struct judge *j, const char *path, size_t n, size_t max);

#endif
