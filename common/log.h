/*
 * log.h - one line per event on standard error: logfmt ("level=info msg=... key=value") or JSON.
 *
 * Values are escaped and bounded (LIMIT_LOG_VALUE). A line is written by one write(2), so threads
 * do not mix. A line that cannot be written (disk full, closed pipe) is dropped: logging never stops
 * the program. Libraries (common/) never log above debug; the caller that gives up on an error logs
 * it, once.
 *
 *	log_info("rollout step", "namespace", ns, "name", name, "partition", log_int(p).text, NULL);
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include "common/base.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* Both may be called at any time, from any thread. */
void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
/* "debug" "info" "warn" "error"; false: none of them. */
bool log_level_read(const char *s, enum log_level *ret);
bool log_enabled(enum log_level level);

/* Pairs of key and value, ended by NULL; a NULL value is left out together with its key... so end
 * with NULL key. */
void log_write(enum log_level level, const char *msg, ...) __attribute__((sentinel));

#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_write(LOG_DEBUG, __VA_ARGS__) : (void)0)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

struct log_number {
	char text[24];
};
struct log_number log_int(int64_t i);

#endif
