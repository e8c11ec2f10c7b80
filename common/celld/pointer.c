#include "common/celld/pointer.h"

#include <string.h>

#include "common/json.h"
#include "common/limits.h"

static bool legal(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

bool celld_version_id(const char *s)
{
	size_t n = strnlen(s, CELLD_VERSION_ID);

	for (size_t i = 0; i < n; i++) {
		if (!legal(s[i]))
			return false;
	}
	return n >= 1 && n <= 128;
}

int celld_pointer_parse(const char *body, size_t len, char version[CELLD_VERSION_ID], struct err *e)
{
	cleanup_json struct json *j = NULL;
	struct err why = ERR_INIT;
	const char *v;

	if (len > LIMIT_POINTER)
		return err_set(e, ERR_INVALID, "more than %d bytes", (int)LIMIT_POINTER);
	if (json_parse(body, len, &j, &why))
		return err_set(e, ERR_INVALID, "no valid JSON");
	if (json_kind(j) != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "no JSON object");
	v = json_get_str(j, "version");
	if (!v)
		return err_field(e, ERR_INVALID, "version", "version is no string");
	if (!celld_version_id(v))
		return err_field(e, ERR_INVALID, "version", "version is no legal version");
	memcpy(version, v, strlen(v) + 1);
	return 0;
}
