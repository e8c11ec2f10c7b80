/*
 * Which celld the process pretends to be. A release is one number that orders like the release:
 * V(0, 4, 1) is v0.4.1. A release that nobody has seen behaves like the newest known one below it,
 * because all rules are written as "from this release on".
 */
#ifndef TEST_SIM_RELEASE_H
#define TEST_SIM_RELEASE_H

#include <stdbool.h>
#include <stddef.h>

#define V(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define RELEASE_LATEST	       "0.6.2" /* what the tag "latest" names */
#define RELEASE_END	       V(999, 0, 0)

/* Number of "v0.4.1", "0.4.1" or "0.4.1-rc.1" (text after the patch number is ignored); -1 when it
 * is none. */
int release_parse(const char *text);

/*
 * Reads the release from an image reference: the tag, with or without "v", "latest" included.
 * override wins when it is given and not empty. digests ("sha256:abc=0.6.1,sha256:def=0.6.2", may
 * be null) names the release of a reference that has a digest and no usable tag. Writes "0.6.2" and
 * returns its number; -1 when the reference tells nothing.
 */
int release_of_image(const char *image, const char *override, const char *digests, char out[32]);

/* Whether the release is in a list like "v0.6.9,0.7.0". */
bool release_listed(const char *list, int release);

#endif
