/*
 * The environment of one celld process, read by the rules of its release (celld 0.1.0 to 0.6.2):
 * variables that are refused, typed values, listeners and advertised address, bucket and
 * credentials, telemetry. What no source tells is chosen and said where it is chosen.
 */
#ifndef TEST_SIM_ENV_H
#define TEST_SIM_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct env_address {
	struct sockaddr_storage addr;
	socklen_t length;
};

struct env_config {
	int release;
	char ownership[8];  /* memory (no bucket), s3, gs, az */
	char bucket[256];   /* name alone */
	char prefix[256];   /* without slashes at its ends, may be empty */
	char endpoint[512]; /* S3 endpoint, empty: Amazon's */
	char region[64];
	struct env_address public_addr;
	struct env_address internal_addr; /* not used by 0.1 */
	char advertise[300];		  /* empty: the internal listener's address */
	char node[129];
	long long activations; /* how many cells may start at once */
	long long bound_ms;    /* longest drain of this release */
	long long poll_s;      /* pointer poll interval */
};

/*
 * Checks the whole environment and fills config. Returns 0, or -1 with a message that names the
 * variable (celld then exits with status 1).
 */
int env_load(struct env_config *config, int release, char *message, size_t size);

/* Whether nothing says that a node shall run: celld then prints its help and exits with status 0. */
bool env_idle(void);

/* Value of a variable; null when it is unset or empty. */
const char *env_text(const char *name);

/* Value of a variable that env_load accepted, or one of the simulator's own; fallback when unset or
 * no number. */
long long env_number(const char *name, long long fallback);

/* Parts of env_load, each in a file of its own; same result. */
int env_check_values(int release, char *message, size_t size);
int env_check_telemetry(int release, char *message, size_t size);
int env_load_network(struct env_config *config, char *message, size_t size);
int env_load_storage(struct env_config *config, char *message, size_t size);

/* Writes "NAME: reason" and returns -1. */
int env_refuse(char *message, size_t size, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* "127.0.0.1:80" or "[::1]:80"; false when it is not an address literal with a port. */
bool env_parse_listener(const char *value, struct env_address *out);

/* Whole number without sign; false when text is anything else. */
bool env_parse_uint(const char *text, long long *out);

#endif
