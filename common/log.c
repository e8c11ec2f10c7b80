#include "common/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/limits.h"

static _Atomic int current_level = LOG_INFO;
static _Atomic int current_format = LOG_TEXT;

static const char *const names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};

void log_set_level(enum log_level level)
{
	atomic_store(&current_level, (int)level);
}

void log_set_format(enum log_format format)
{
	atomic_store(&current_format, (int)format);
}

bool log_level_read(const char *s, enum log_level *ret)
{
	for (size_t i = 0; i < array_len(names); i++) {
		if (str_eq(s, names[i])) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

bool log_enabled(enum log_level level)
{
	return (int)level >= atomic_load(&current_level);
}

struct log_number log_int(int64_t i)
{
	struct log_number n;

	(void)snprintf(n.text, sizeof(n.text), "%lld", (long long)i);
	return n;
}

static bool is_plain(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++) {
		if ((unsigned char)*s <= ' ' || *s == '"' || *s == '=' || *s == '\\' || *s == 0x7f)
			return false;
	}
	return true;
}

/* Cut at a border of a UTF-8 character. */
static void bounded(const char *value, char cut[LIMIT_LOG_VALUE + 1])
{
	size_t n = strnlen(value, LIMIT_LOG_VALUE + 1);

	if (n > LIMIT_LOG_VALUE) {
		n = LIMIT_LOG_VALUE;
		while (n && ((unsigned char)value[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(cut, value, n);
	cut[n] = '\0';
}

static void pair(struct buf *b, bool json, const char *key, const char *value)
{
	char cut[LIMIT_LOG_VALUE + 1];

	bounded(value, cut);
	if (json) {
		buf_putc(b, b->len ? ',' : '{');
		json_print_str(key, b);
		buf_putc(b, ':');
		json_print_str(cut, b);
		return;
	}
	if (b->len)
		buf_putc(b, ' ');
	buf_puts(b, key);
	buf_putc(b, '=');
	if (is_plain(cut))
		buf_puts(b, cut);
	else
		json_print_str(cut, b);
}

void log_write(enum log_level level, const char *msg, ...)
{
	bool json = atomic_load(&current_format) == LOG_JSON;
	struct buf b = BUF_INIT(1 << 18);
	char now[CLOCK_TEXT];
	const char *key;
	va_list ap;

	if (!log_enabled(level))
		return;
	clock_text_micro(clock_wall_ms(), now);
	pair(&b, json, "time", now);
	pair(&b, json, "level", names[level]);
	pair(&b, json, "msg", msg);
	va_start(ap, msg);
	while ((key = va_arg(ap, const char *))) {
		const char *value = va_arg(ap, const char *);

		if (value)
			pair(&b, json, key, value);
	}
	va_end(ap);
	buf_puts(&b, json ? "}\n" : "\n");
	if (b.data && write(STDERR_FILENO, b.data, b.len) < 0)
		(void)0; /* nowhere to say it */
	buf_done(&b);
}
