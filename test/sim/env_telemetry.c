/*
 * Telemetry variables that are not plain numbers. They exist from 0.2, are checked even while
 * telemetry is off, and CELLD_OTEL became an address in 0.5.
 */
#include "test/sim/env.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/release.h"

static bool is_url(const char *value, const char *refused)
{
	const char *host = NULL;
	if (strncmp(value, "http://", 7) == 0)
		host = value + 7;
	else if (strncmp(value, "https://", 8) == 0)
		host = value + 8;
	return host != NULL && host[0] != '\0' && host[0] != '/' && host[0] != ':' &&
	       strpbrk(value, refused) == NULL;
}

static int check_switch(int release, char *message, size_t size)
{
	const char *value = getenv("CELLD_OTEL");
	if (value == NULL || strcmp(value, "0") == 0 || strcmp(value, "1") == 0)
		return 0;
	if (release < V(0, 5, 0))
		return env_refuse(message, size, "CELLD_OTEL", "\"%s\" is neither 0 nor 1", value);
	if (is_url(value, "?# \t"))
		return 0;
	return env_refuse(message, size, "CELLD_OTEL",
			  "\"%s\" is neither 0, 1 nor an http(s) address without query", value);
}

/* Both names mean something up to 0.4 only; 0.5 refuses the first and does not read the second. */
static int check_sink(int release, char *message, size_t size)
{
	if (release >= V(0, 5, 0))
		return 0;
	const char *sink = getenv("CELLD_OTEL_SINK");
	if (sink != NULL && strcmp(sink, "bucket") != 0 && strcmp(sink, "otlp") != 0)
		return env_refuse(message, size, "CELLD_OTEL_SINK",
				  "\"%s\" is not one of bucket|otlp", sink);
	const char *endpoint = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	if (endpoint != NULL && !is_url(endpoint, " \t"))
		return env_refuse(message, size, "OTEL_EXPORTER_OTLP_ENDPOINT",
				  "\"%s\" is no http(s) address", endpoint);
	return 0;
}

static int check_headers(char *message, size_t size)
{
	const char *at = env_text("OTEL_EXPORTER_OTLP_HEADERS");
	while (at != NULL && *at != '\0') {
		size_t length = strcspn(at, ",");
		const char *equals = memchr(at, '=', length);
		/* The value may be a credential: it is not repeated. */
		if (equals == NULL || equals == at)
			return env_refuse(message, size, "OTEL_EXPORTER_OTLP_HEADERS",
					  "is not a list of key=value");
		at += length;
		at += *at == ',';
	}
	return 0;
}

static int check_retention(char *message, size_t size)
{
	const char *value = getenv("CELLD_OTEL_RETENTION");
	if (value == NULL || strcmp(value, "none") == 0)
		return 0;
	size_t digits = strspn(value, "0123456789");
	if (digits > 0 && digits < 10 && strcmp(value + digits, "d") == 0)
		return 0;
	return env_refuse(message, size, "CELLD_OTEL_RETENTION",
			  "\"%s\" is neither a number of days such as 30d nor none", value);
}

static int check_sampler(char *message, size_t size)
{
	static const char *const names[] = { "always_on",
					     "always_off",
					     "parentbased_always_on",
					     "parentbased_always_off",
					     "traceidratio",
					     "parentbased_traceidratio" };
	const char *value = getenv("OTEL_TRACES_SAMPLER");
	if (value == NULL)
		return 0;
	size_t i = 0;
	while (i < sizeof names / sizeof names[0] && strcmp(names[i], value) != 0)
		i++;
	if (i == sizeof names / sizeof names[0])
		return env_refuse(message, size, "OTEL_TRACES_SAMPLER",
				  "\"%s\" is no supported sampler", value);
	if (i < 4)
		return 0;
	const char *ratio = getenv("OTEL_TRACES_SAMPLER_ARG");
	char *end = NULL;
	double number = ratio != NULL ? strtod(ratio, &end) : -1;
	if (ratio == NULL || end == ratio || *end != '\0' || !isfinite(number) || number < 0 ||
	    number > 1)
		return env_refuse(message, size, "OTEL_TRACES_SAMPLER_ARG",
				  "must be a number from 0 to 1 for the sampler %s", value);
	return 0;
}

int env_check_telemetry(int release, char *message, size_t size)
{
	if (release < V(0, 2, 0))
		return 0;
	if (check_switch(release, message, size) != 0 || check_sink(release, message, size) != 0 ||
	    check_headers(message, size) != 0 || check_retention(message, size) != 0)
		return -1;
	return check_sampler(message, size);
}
