/*
 * table.h - the facts of celld's releases, as plain data (loaded by table_load.h from celld.yaml or --compat-table).
 *
 * C code asks this table; nothing else in the product compares celld version numbers. A fact that changed at a
 * release is a row with `since` (first version that has it) and `until` (first version that no longer has it); 0.0.0
 * means unbounded.
 */
#ifndef COMMON_CELLD_TABLE_H
#define COMMON_CELLD_TABLE_H

#include "common/version.h"

enum {
	CELLD_RELEASES = 64,
	CELLD_BOUNDARIES = 64,
	CELLD_NAMES = 192,
	CELLD_NAME_TEXT = 64,
	CELLD_REASON_TEXT = 384,
};

/* Strictness grows with the value. */
enum compat_way { COMPAT_ROLLING, COMPAT_RECREATE, COMPAT_BLOCKED };

/* One direction of travel over a boundary. */
struct celld_crossing {
	enum compat_way way;
	bool rolling_if_bucket; /* rolling when durability is `bucket` on both sides, else `way` */
	bool needs_ack;		/* blocked unless acknowledged; then `way` */
	char warning[CELLD_REASON_TEXT]; /* or "": said with a verdict that passes */
	char reason[CELLD_REASON_TEXT];	 /* upstream's, for a refusal */
};

/* Between two releases that follow each other; `above` is the first version on the upper side. */
struct celld_boundary {
	struct version below,
		above; /* "0.3.0", "0.4.0": the names in messages; below is the last release under it */
	struct celld_crossing up, down;
};

/* Facts of a range of versions: since <= v < until. */
struct celld_range {
	struct version since, until;
};

/* An environment variable that versions refuse, or know only from a version on, or that the operator owns. */
struct celld_name {
	char name[CELLD_NAME_TEXT]; /* ends with '*': a prefix */
	struct celld_range
		range;	   /* the versions that refuse it / know it / where the operator sets it */
	bool if_not_empty; /* refused: only a non-empty value */
};

struct celld_facts {
	struct celld_range range;
	char health_path[CELLD_NAME_TEXT];
	int public_port, internal_port; /* 0.1: internal_port == public_port */
	bool internal_listener;		/* CELLD_INTERNAL_ADDR exists */
	bool state_restoring;		/* /state has `restoring` */
	bool state_deployment;	/* /state has `deployment`: adopted version, in-place adoption */
	bool durability;	/* CELLD_DURABILITY exists */
	bool vars_file;		/* CELLD_VARS_FILE is read */
	bool forwarded_headers; /* CELLD_TRUST_FORWARDED_HEADERS exists */
	bool telemetry;		/* CELLD_OTEL exists */
	bool telemetry_sink; /* CELLD_OTEL_SINK + OTEL_EXPORTER_OTLP_ENDPOINT; else CELLD_OTEL takes the URL */
	bool gs, az, prefix; /* dialects, bucket prefix */
	bool pod_identity;   /* EKS Pod Identity credentials are read */
	bool shutdown_total; /* CELLD_SHUTDOWN_TOTAL_MS exists */
	bool shutdown_drain; /* CELLD_SHUTDOWN_DRAIN_MS exists (and, with total, is the no-progress interval) */
	bool drain_token_wait; /* CELLD_DRAIN_TOKEN_WAIT_MS exists */
	int shutdown_ms;       /* the whole bound that the operator pins */
	int grace_seconds;     /* terminationGracePeriodSeconds */
};

struct celld_table {
	struct version releases[CELLD_RELEASES]; /* ascending */
	size_t n_releases;
	struct celld_boundary boundaries[CELLD_BOUNDARIES]; /* ascending */
	size_t n_boundaries;
	struct celld_facts facts
		[16]; /* by range, ascending, without gaps; the last one's until is unbounded */
	size_t n_facts;
	struct celld_name refused[CELLD_NAMES]; /* env names that a version refuses at start */
	size_t n_refused;
	struct celld_name owned
		[CELLD_NAMES]; /* env names that the operator sets itself (never in spec.env) */
	size_t n_owned;
	struct celld_name known[CELLD_NAMES]; /* env names with the versions that read them */
	size_t n_known;
};

/* Facts of a version. A version newer than the table gets those of the newest range, an older one the oldest. */
const struct celld_facts *celld_facts_of(const struct celld_table *t, struct version v);
/* Whether the table knows the version's minor (0.6.9 is known when any 0.6.x is). */
bool celld_knows_minor(const struct celld_table *t, struct version v);
bool celld_in_range(struct celld_range r, struct version v);

#endif
