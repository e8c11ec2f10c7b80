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
	if (h < 0 || h > 23 || !literal(&s, ':'))
		return false;
	m = digits(&s, 2);
	if (m < 0 || m > 59 || *s)
		return false;
	*ret_minutes = (west ? -1 : 1) * (h * 60 + m);
	return true;
}

/* Nothing, or a point and at least one digit; digits beyond milliseconds are dropped. */
static bool fraction(const char **s, int64_t *ret_ms)
{
	int64_t ms = 0, unit = 100;

	*ret_ms = 0;
	if (!literal(s, '.'))
		return true;
	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		ms += unit * (**s - '0');
		unit /= 10;
	}
	*ret_ms = ms;
	return true;
}

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static bool date(const char **s, struct tm *tm)
{
	int year = digits(s, 4), month, day;

	if (year < 1970 || !literal(s, '-'))
		return false;
	month = digits(s, 2);
	if (month < 1 || month > 12 || !literal(s, '-'))
		return false;
	day = digits(s, 2);
	if (day < 1 || day > days_of(year, month))
		return false;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	return literal(s, 'T') || literal(s, 't');
}

static bool time_of_day(const char **s, struct tm *tm)
{
	tm->tm_hour = digits(s, 2);
	if (tm->tm_hour < 0 || tm->tm_hour > 23 || !literal(s, ':'))
		return false;
	tm->tm_min = digits(s, 2);
	if (tm->tm_min < 0 || tm->tm_min > 59 || !literal(s, ':'))
		return false;
	tm->tm_sec = digits(s, 2);
	return tm->tm_sec >= 0 && tm->tm_sec <= 60; /* 60: a leap second */
}

int64_t clock_parse(const char *text)
{
	struct tm tm = { .tm_isdst = 0 };
	int64_t ms;
	int minutes;

	if (!date(&text, &tm) || !time_of_day(&text, &tm) || !fraction(&text, &ms) ||
	    !zone(text, &minutes))
		return -1;
	ms += ((int64_t)timegm(&tm) - (int64_t)minutes * 60) * 1000;
	return ms < 0 ? -1 : ms;
}
