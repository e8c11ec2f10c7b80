/*
 * clock.h - the two clocks. Waiting and leases use the monotonic one alone, so that a wall clock
 * that jumps moves nothing.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include "common/base.h"

/* Milliseconds since some moment in the past; never goes back, counts the time that the machine
 * slept. */
int64_t clock_mono_ms(void);
/* Milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* RFC 3339 in UTC: seconds ("2026-11-29T10:00:00Z"), or microseconds for a Lease. */
enum { CLOCK_TEXT = 32 };
void clock_text(int64_t wall_ms, char text[CLOCK_TEXT]);
void clock_text_micro(int64_t wall_ms, char text[CLOCK_TEXT]);
/* Milliseconds since 1970 of an RFC 3339 text; -1 when it is none, or
 * lies before 1970. */
int64_t clock_parse(const char *text);

#endif
