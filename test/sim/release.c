#include "test/sim/release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int release_parse(const char *text)
{
	long part[3];
	const char *at = text[0] == 'v' ? text + 1 : text;
	for (int i = 0; i < 3; i++) {
		if (*at < '0' || *at > '9')
			return -1;
		char *end = NULL;
		part[i] = strtol(at, &end, 10);
		if (part[i] > 998 || (i < 2 && *end != '.'))
			return -1;
		at = i < 2 ? end + 1 : end;
	}
	if (*at != '\0' && *at != '-' && *at != '+')
		return -1;
	return (int)V(part[0], part[1], part[2]);
}

static int release_write(int release, char out[32])
{
	if (release >= 0)
		(void)snprintf(out, 32, "%d.%d.%d", release / 1000000, release / 1000 % 1000,
			       release % 1000);
	return release;
}

/* The release that the list gives for the digest; -1 when it does not name it. */
static int release_of_digest(const char *digest, const char *digests)
{
	size_t length = strlen(digest);
	for (const char *at = digests; at != NULL && *at != '\0';) {
		if (strncmp(at, digest, length) == 0 && at[length] == '=') {
			char text[32];
			size_t size = strcspn(at + length + 1, ",");
			if (size >= sizeof text)
				return -1;
			memcpy(text, at + length + 1, size);
			text[size] = '\0';
			return release_parse(text);
		}
		at = strchr(at, ',');
		at = at != NULL ? at + 1 : NULL;
	}
	return -1;
}

int release_of_image(const char *image, const char *override, const char *digests, char out[32])
{
	if (override != NULL && override[0] != '\0')
		return release_write(release_parse(override), out);
	if (image == NULL || strlen(image) >= 512)
		return -1;
	char name[512];
	memcpy(name, image, strlen(image) + 1);
	char *digest = strchr(name, '@');
	if (digest != NULL)
		*digest++ = '\0';
	const char *slash = strrchr(name, '/');
	const char *colon = strrchr(name, ':');
	if (colon != NULL && (slash == NULL || colon > slash)) {
		int release = strcmp(colon + 1, "latest") == 0 ? release_parse(RELEASE_LATEST)
							       : release_parse(colon + 1);
		if (release >= 0)
			return release_write(release, out);
	}
	return release_write(digest != NULL ? release_of_digest(digest, digests) : -1, out);
}

bool release_listed(const char *list, int release)
{
	while (list != NULL && *list != '\0') {
		char text[32];
		size_t size = strcspn(list, ",");
		if (size < sizeof text) {
			memcpy(text, list, size);
			text[size] = '\0';
			if (release_parse(text) == release)
				return true;
		}
		list += size;
		list += *list == ',';
	}
	return false;
}
