/*
 * file.h - reads small files whole: tokens, certificates, kubeconfigs.
 */
#ifndef COMMON_KUBE_FILE_H
#define COMMON_KUBE_FILE_H

#include "common/base.h"
#include "common/err.h"

/* The contents, which may not hold a NUL byte; the caller's. ERR_NOT_FOUND, ERR_TOO_LARGE (over
 * max), ERR_INVALID; the message names the path. */
int file_read(const char *path, size_t max, char **ret, struct err *e);
/* The same without blanks and newlines at both ends. */
int file_read_line(const char *path, size_t max, char **ret, struct err *e);

#endif
