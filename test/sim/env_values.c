/*
 * Names and typed values. Facts: booleans are exactly 0 or 1 and an empty typed value is refused
 * (not "unset") from 0.2; 0.1 ignored nearly every bad value, CELLD_MAX_RSS_MB excepted; from 0.5 a
 * list of names stops the start, even when empty. Names that no list holds are ignored by every
 * release.
 */
#include "test/sim/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/sim/release.h"

enum kind { FLAG, COUNT, POSITIVE, CHOICE };

struct rule {
	const char *name;
	int from, until; /* releases that read it: from <= release < until */
	enum kind kind;
	long long low, high; /* 0: no bound */
	const char *choices; /* for CHOICE: "a|b" */
};

#define ALL RELEASE_END
#define GiB (1024LL * 1024 * 1024)

/* "positive" where a source says so; a number of which nothing is said must only be one. */
static const struct rule rules[] = {
	{ "CELLD_TTL_MS", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_OPERATION_DEADLINE_MS", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_ACTIVATIONS", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_EVICTIONS", V(0, 2, 0), V(0, 5, 0), POSITIVE, 0, 0, NULL },
	{ "CELLD_RELEASES", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_IDLE_EVICT_S", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_MAX_RESIDENT_CELLS", 0, ALL, COUNT, 0, 0, NULL },
	{ "CELLD_MAX_RSS_MB", 0, ALL, COUNT, 0, 0, NULL },
	{ "CELLD_PRESSURE_OWNERSHIP", 0, ALL, CHOICE, 0, 0, "release|sticky" },
	{ "CELLD_LOCAL_CACHE_MAX_BYTES", 0, ALL, COUNT, 0, 0, NULL },
	{ "CELLD_ALARM_RESIDENT_MS", 0, ALL, COUNT, 0, 0, NULL },
	{ "CELLD_WAKER_TICK_MS", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_PLACEMENT_WEIGHT", V(0, 4, 1), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_REBALANCE_INTERVAL_MS", V(0, 4, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_REBALANCE_BATCH_CELLS", V(0, 4, 1), V(0, 5, 0), POSITIVE, 0, 0, NULL },
	{ "CELLD_READY_FLEET_GATE_MS", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_RECOVERY_RETRY_MS", V(0, 4, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_RECOVERY_RETRIES", V(0, 4, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_TOKIO_THREADS", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_V8_HEAP_LIMIT_MB", 0, ALL, COUNT, 0, 0, NULL },
	{ "CELLD_FETCH_TIMEOUT_S", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_HANDLER_BUDGET_S", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_ADMISSION_WAIT_MS", V(0, 2, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_MAX_REQUESTS", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_MAX_STATELESS_ISOLATES", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_MAX_CELL_REQUESTS", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_MAX_REQUEST_BODY_BYTES", V(0, 4, 0), ALL, COUNT, 0, GiB, NULL },
	{ "CELLD_MAX_OUTBOUND_WEBSOCKETS", 0, ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_MAX_LOADED_WORKERS", 0, V(0, 5, 0), POSITIVE, 0, 0, NULL },
	{ "CELLD_WORKER_LOADER", V(0, 2, 0), V(0, 5, 0), FLAG, 0, 0, NULL },
	{ "CELLD_MAX_ASSET_FILE_BYTES", V(0, 6, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_MAX_DYNAMIC_WORKER_CODE_BYTES", V(0, 6, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_ASSET_CACHE_BYTES", 0, ALL, COUNT, 0, 0, NULL },
	{ "CELLD_DURABILITY", V(0, 3, 0), ALL, CHOICE, 0, 0, "fleet|bucket" },
	{ "CELLD_OUTPUT_GATE", V(0, 2, 0), V(0, 5, 0), FLAG, 0, 0, NULL },
	{ "CELLD_STORAGE_PROBE", V(0, 2, 1), V(0, 5, 0), FLAG, 0, 0, NULL },
	{ "CELLD_LTX_COMPACTION", V(0, 2, 0), ALL, FLAG, 0, 0, NULL },
	{ "CELLD_LTX_COMPACTION_MIN_TXIDS", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_LTX_COMPACTIONS", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_LTX_COMPACTION_MIN_MB", V(0, 5, 0), ALL, COUNT, 0, 64, NULL },
	{ "CELLD_LTX_TRUNCATE_PAGES", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LTX_DURABILITY_TIMEOUT_SECS", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LTX_PAGED", V(0, 4, 1), ALL, FLAG, 0, 0, NULL },
	{ "CELLD_LTX_PAGED_MIN_MB", V(0, 4, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LTX_HYDRATE_MBPS", V(0, 4, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LTX_RETENTION_SECS", V(0, 6, 1), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_BUNDLE", V(0, 3, 0), V(0, 5, 0), FLAG, 0, 0, NULL },
	{ "CELLD_LOG_FLUSH_MS", V(0, 3, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_EVICT_BUDGET_MS", V(0, 3, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_EVICT_SUSTAIN_MS", V(0, 3, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_EVICT_BACKSTOP_MS", V(0, 3, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_EVICT_QUARANTINE_MS", V(0, 3, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_PIPELINE", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_HEDGE_MS", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_WINDOW", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_WINDOW_BYTES", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_LOG_TRANSPORT", V(0, 4, 0), ALL, CHOICE, 0, 0, "http|stream" },
	{ "CELLD_LOG_CAPTURE_WORKERS", V(0, 4, 0), V(0, 5, 0), COUNT, 0, 0, NULL },
	{ "CELLD_LOG_GROUP_COMMIT_MS", V(0, 4, 1), V(0, 5, 0), COUNT, 0, 0, NULL },
	{ "CELLD_QUEUE_PRODUCER_GROUP_MS", V(0, 4, 1), V(0, 5, 0), COUNT, 0, 0, NULL },
	{ "CELLD_DEPLOY_POLL_S", V(0, 4, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_DEPLOY_MAX_AGE_S", V(0, 4, 0), ALL, COUNT, 0, 0, NULL },
	{ "CELLD_SHUTDOWN_DRAIN_MS", V(0, 2, 0), V(0, 5, 0), POSITIVE, 0, 0, NULL },
	{ "CELLD_SHUTDOWN_TOTAL_MS", V(0, 4, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_DRAIN_TOKEN_WAIT_MS", V(0, 4, 0), V(0, 5, 0), COUNT, 0, 0, NULL },
	{ "CELLD_PACED_HANDOFF", V(0, 4, 0), V(0, 5, 0), FLAG, 0, 0, NULL },
	{ "CELLD_PRESENCE_HEARTBEAT_MS", 0, ALL, COUNT, 50, 30000, NULL },
	{ "CELLD_TRUST_FORWARDED_HEADERS", V(0, 2, 1), ALL, FLAG, 0, 0, NULL },
	{ "CELLD_UNSAFE_PUBLIC_ADVERTISE", V(0, 2, 0), ALL, FLAG, 0, 0, NULL },
	{ "CELLD_OTEL_FLUSH_MS", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "CELLD_OTEL_FLUSH_BYTES", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
	{ "OTEL_EXPORTER_OTLP_TIMEOUT", V(0, 2, 0), ALL, POSITIVE, 0, 0, NULL },
};

/*
 * Refused from 0.5, whatever their value. The code of 0.5.1 and 0.6.1 was read; 0.5.0 is taken to
 * refuse the same, as its documentation lists most of them.
 */
static const char *const removed[] = {
	"CELLD_TEST_OTEL_SWEEP_MS",
	"CELLD_OTEL_SINK",
	"CELLD_AI_BINDING",
	"CELLD_AI_URL",
	"CELLD_PACED_HANDOFF",
	"CELLD_LOG_GROUP_COMMIT_MS",
	"CELLD_QUEUE_PRODUCER_GROUP_MS",
	"CELLD_LOG_BUNDLE",
	"CELLD_PRESENCE_SHADOW",
	"CELLD_STORAGE_PROBE",
	"CELLD_EVICTIONS",
	"CELLD_LOG_CAPTURE_WORKERS",
	"CELLD_REBALANCE_BATCH_CELLS",
	"CELLD_CLOUD_RESTART_ON_DEPLOY",
	"CELLD_OUTPUT_GATE",
	"CELLD_DRAIN_TOKEN_WAIT_MS",
	"CELLD_SHUTDOWN_DRAIN_MS",
	"CELLD_MAX_LOADED_WORKERS",
	"CELLD_VARS_FILE",
};

static bool is_choice(const char *choices, const char *value)
{
	size_t length = strlen(value);
	for (const char *at = choices; length > 0; at++) {
		size_t size = strcspn(at, "|");
		if (size == length && memcmp(at, value, size) == 0)
			return true;
		at += size;
		if (*at == '\0')
			return false;
	}
	return false;
}

static int check_number(const struct rule *rule, const char *value, char *message, size_t size)
{
	long long number = 0;
	if (!env_parse_uint(value, &number))
		return env_refuse(message, size, rule->name, "\"%s\" is not a whole number", value);
	if (rule->kind == POSITIVE && number == 0)
		return env_refuse(message, size, rule->name, "must be greater than 0");
	if (number < rule->low || (rule->high != 0 && number > rule->high))
		return env_refuse(message, size, rule->name, "%lld is not within %lld to %lld",
				  number, rule->low, rule->high);
	return 0;
}

static int check_rule(const struct rule *rule, const char *value, char *message, size_t size)
{
	switch (rule->kind) {
	case FLAG:
		if (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)
			return 0;
		return env_refuse(message, size, rule->name, "\"%s\" is neither 0 nor 1", value);
	case COUNT:
	case POSITIVE:
		return check_number(rule, value, message, size);
	case CHOICE:
		if (is_choice(rule->choices, value))
			return 0;
		return env_refuse(message, size, rule->name, "\"%s\" is not one of %s", value,
				  rule->choices);
	}
	return 0;
}

static int check_removed(char *message, size_t size)
{
	for (size_t i = 0; i < sizeof removed / sizeof removed[0]; i++)
		if (getenv(removed[i]) != NULL)
			return env_refuse(message, size, removed[i],
					  "is no longer supported, remove it");
	/* The one removed name whose empty value is let through. */
	if (env_text("CELLD_WORKER_LOADER") != NULL)
		return env_refuse(message, size, "CELLD_WORKER_LOADER",
				  "is no longer supported, remove it");
	for (char **at = environ; *at != NULL; at++) {
		if (strncmp(*at, "CELLD_VAR_", 10) != 0)
			continue;
		char name[128];
		(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(*at, "="), *at);
		return env_refuse(message, size, name, "is no longer supported, remove it");
	}
	return 0;
}

int env_check_values(int release, char *message, size_t size)
{
	if (release >= V(0, 5, 0) && check_removed(message, size) != 0)
		return -1;
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		const struct rule *rule = &rules[i];
		const char *value = getenv(rule->name);
		if (value == NULL || release < rule->from || release >= rule->until)
			continue;
		if (release < V(0, 2, 0) && strcmp(rule->name, "CELLD_MAX_RSS_MB") != 0)
			continue;
		if (check_rule(rule, value, message, size) != 0)
			return -1;
	}
	return 0;
}
