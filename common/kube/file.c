#include "common/kube/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"

static void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->room);
	buf_done(b);
}

static int fill(int fd, const char *path, struct buf *to, struct err *e)
{
	char part[4096];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, errno, "%s", path);
		buf_add(to, part, (size_t)n);
		explicit_bzero(part, sizeof(part));
		if (!buf_ok(to))
			return err_set(e, ERR_TOO_LARGE, "%s: longer than %zu bytes", path,
				       to->max);
	}
	if (to->len && memchr(to->data, '\0', to->len))
		return err_set(e, ERR_INVALID, "%s: holds a NUL byte", path);
	return 0;
}

int file_read(const char *path, size_t max, char **ret, struct err *e)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(buf_wipe) struct buf b = BUF_INIT(max);
	int r;

	if (fd < 0)
		return err_errno(e, errno, "%s", path);
	r = fill(fd, path, &b, e);
	if (r < 0)
		return r;
	*ret = xstrdup(buf_str(&b));
	return 0;
}

int file_read_line(const char *path, size_t max, char **ret, struct err *e)
{
	char *s = NULL;
	size_t skip, n;
	int r = file_read(path, max, &s, e);

	if (r < 0 || !s)
		return r;
	skip = strspn(s, " \t\r\n");
	n = strlen(s + skip);
	while (n && strchr(" \t\r\n", s[skip + n - 1]))
		n--;
	memmove(s, s + skip, n);
	s[n] = '\0';
	*ret = s;
	return 0;
}
