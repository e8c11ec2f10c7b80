/*
 * image.h - container image references, as far as celld's version is in them. Pure.
 */
#ifndef COMMON_CELLD_IMAGE_H
#define COMMON_CELLD_IMAGE_H

#include "common/version.h"

struct image {
	const char *tag; /* lent, inside the reference; not NUL-terminated */
	size_t tag_len;	 /* 0: no tag */
	bool digest;	 /* "@sha256:..." is there */
	bool has_version;
	struct version version; /* of a tag `v?MAJOR.MINOR.PATCH[suffix]` */
};

/* False: no legal reference (empty, blanks, empty repository, bad digest). A registry port is no
 * tag. */
bool image_parse(const char *ref, struct image *ret);
/*
 * The celld version of an image (NULL: no legal one) and spec.celld.version (NULL: not given). False: neither tells.
 * *ret_conflict is set when both tell and differ; *ret is then the tag's.
 */
bool image_version(const struct image *image, const char *declared, struct version *ret,
		   bool *ret_conflict);
/* The same for a reference that nobody has read yet. */
bool image_celld_version(const char *ref, const char *declared, struct version *ret);

#endif
