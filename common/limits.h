/*
 * limits.h - every maximum that the outside could otherwise choose, in one list. Bytes unless said.
 */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

enum {
	LIMIT_FORMATTED = 1 << 20,	/* one formatted string */
	LIMIT_JSON_DEPTH = 128,		/* nesting of a document */
	LIMIT_JSON_KEYS = 1 << 20,	/* member names that are open at one moment */
	LIMIT_REVIEW = 8 << 20,		/* body of an AdmissionReview; then 413 */
	LIMIT_REVIEW_VALUES = 1 << 17,	/* values in one part of a review that is read */
	LIMIT_KUBE_OBJECT = 8 << 20,	/* one object, one watch event */
	LIMIT_KUBE_LIST = 256 << 20,	/* one page of a list */
	LIMIT_STATE = 4 << 20,		/* celld's /state */
	LIMIT_STATES = 32 << 20,	/* of those that are being read at one moment */
	LIMIT_POINTER = 64 << 10,	/* deploy/current.json */
	LIMIT_TOKEN_FILE = 64 << 10,	/* a ServiceAccount token */
	LIMIT_CONFIG_FILE = 4 << 20,	/* kubeconfig, compatibility table, defaults */
	LIMIT_MANIFEST_FILE = 64 << 20, /* what `validate` and `render` read */
	LIMIT_YAML_NODES = 1 << 20,	/* nodes of a YAML stream, aliases expanded */
	LIMIT_LOG_VALUE = 4096,		/* one value in a log line */
	LIMIT_MESSAGE = 4096,		/* a denial's message */
	LIMIT_WARNING = 120,		/* one admission warning, characters */
	LIMIT_METRICS_TEXT = 64 << 20,	/* one exposition */
	LIMIT_REPLICAS = 1000,		/* spec.replicas */
};

#endif
