#include "common/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_ms(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

static void format(int64_t wall_ms, const char *fraction, char text[CLOCK_TEXT])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char date[24];

	(void)gmtime_r(&s, &tm);
	if (!strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		date[0] = '\0';
	(void)snprintf(text, CLOCK_TEXT, "%.19s%.7sZ", date, fraction);
}

void clock_text(int64_t wall_ms, char text[CLOCK_TEXT])
{
	format(wall_ms, "", text);
}

void clock_text_micro(int64_t wall_ms, char text[CLOCK_TEXT])
{
	char fraction[8];

	(void)snprintf(fraction, sizeof(fraction), ".%03u000", (unsigned)(wall_ms % 1000) % 1000U);
	format(wall_ms, fraction, text);
}

/* Reads exactly n digits; -1 when there are fewer. */
static int digits(const char **s, int n)
{
	int v = 0;

	for (; n > 0; n--, (*s)++) {
		if (**s < '0' || **s > '9')
			return -1;
		v = v * 10 + (**s - '0');
	}
	return v;
}

static bool literal(const char **s, char c)
{
	if (**s != c)
		return false;
	(*s)++;
	return true;
}

/* The offset of a zone, "Z" or "+02:00", in minutes; false when it is none or something follows. */
static bool zone(const char *s, int *ret_minutes)
{
	int h, m;
	bool west = *s == '-';

	if (str_eq(s, "Z") || str_eq(s, "z")) {
		*ret_minutes = 0;
		return true;
	}
	if (*s != '+' && *s != '-')
		return false;
	s++;
	h = digits(&s, 2);
	if (h < 0 || !literal(&s, ':'))
		return false;
	m = digits(&s, 2);
	if (m < 0 || *s)
		return false;
	*ret_minutes = (west ? -1 : 1) * (h * 60 + m);
	return true;
}

static int64_t fraction_ms(const char **s)
{
	int64_t ms = 0, unit = 100;

	if (!literal(s, '.'))
		return 0;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		ms += unit * (**s - '0');
		unit /= 10;
	}
	return ms;
}

int64_t clock_parse(const char *text)
{
	struct tm tm = { .tm_isdst = 0 };
	int64_t ms;
	int minutes;

	tm.tm_year = digits(&text, 4) - 1900;
	if (tm.tm_year < 0 || !literal(&text, '-'))
		return -1;
	tm.tm_mon = digits(&text, 2) - 1;
	if (tm.tm_mon < 0 || !literal(&text, '-'))
		return -1;
	tm.tm_mday = digits(&text, 2);
	if (tm.tm_mday < 1 || (!literal(&text, 'T') && !literal(&text, 't')))
		return -1;
	tm.tm_hour = digits(&text, 2);
	if (tm.tm_hour < 0 || !literal(&text, ':'))
		return -1;
	tm.tm_min = digits(&text, 2);
	if (tm.tm_min < 0 || !literal(&text, ':'))
		return -1;
	tm.tm_sec = digits(&text, 2);
	if (tm.tm_sec < 0)
		return -1;
	ms = fraction_ms(&text);
	if (!zone(text, &minutes))
		return -1;
	return ((int64_t)timegm(&tm) - (int64_t)minutes * 60) * 1000 + ms;
}
