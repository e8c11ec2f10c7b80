#include "test/lib/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS = FIELD_BIG + 1, CONNECTIONS = 4096, CHUNK = 64 << 10, BIG = 100000 };

/* Seen by both processes. */
struct shared {
	_Atomic int asked[KINDS][FIELD_ADDRESSES];
	_Atomic int asked_all[KINDS];
	_Atomic long long sent[KINDS];
	_Atomic int release_after;
};

struct field {
	struct shared *shared;
	pid_t pid;
	int port;
};

/* --- the process that serves ---------------------------------------------------------------------- */

struct connection {
	int fd; /* 0: free */
	enum field_kind kind;
	int node;
	bool asked, later; /* the answer has to wait for the hoarders */
	long long left;	   /* of a flood */
};

struct server {
	struct shared *shared;
	int epoll, listener, answers;
	bool idle; /* nothing has happened for a second */
	struct connection connections[CONNECTIONS];
};

static const char state[] = "{\"ownership\":\"s3\",\"occupied\":250,\"restoring\":2,\"evicting\":1,"
			    "\"rss_bytes\":5000,\"shedding\":null}";
static const char line[] = "x-x: y\r\n"; /* of a head */
static char blanks[CHUNK], lines[CHUNK];

static void end(struct connection *c)
{
	(void)close(c->fd); /* leaves the epoll set with it */
	c->fd = 0;
}

static void say(struct connection *c, const char *text)
{
	if (send(c->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		end(c);
}

static void listen_to(struct server *s, struct connection *c, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = c };

	(void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void flood(struct server *s, struct connection *c)
{
	const char *of = c->kind == FIELD_ENDLESS ? lines : blanks;

	while (c->left > 0) {
		size_t want = c->left < CHUNK ? (size_t)c->left : CHUNK;
		ssize_t n = send(c->fd, of, want, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			break;
		c->left -= n;
		atomic_fetch_add(&s->shared->sent[c->kind], n);
	}
	if (c->left || c->kind == FIELD_FLOOD || c->kind == FIELD_LONG ||
	    c->kind == FIELD_ENDLESS) {
		end(c);
		return;
	}
	if (c->kind == FIELD_BIG)
		say(c, state);
	if (c->fd)
		listen_to(s, c, EPOLLIN);
}

static void answer(struct server *s, struct connection *c)
{
	char text[512];

	switch (c->kind) {
	case FIELD_WELL:
		(void)snprintf(text, sizeof(text),
			       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			       "Content-Length: %zu\r\n\r\n%s",
			       strlen(state), state);
		say(c, text);
		s->answers++;
		break;
	case FIELD_FLOOD:
		say(c, "HTTP/1.1 200 OK\r\n\r\n");
		c->left = 1LL << 30;
		break;
	case FIELD_LONG:
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
		c->left = 1LL << 30;
		break;
	case FIELD_TRICKLE:
		say(c, "HTTP/1.1 200 OK\r\n\r\n{");
		break;
	case FIELD_ENDLESS:
		say(c, "HTTP/1.1 200 OK\r\n");
		c->left = 1LL << 30;
		break;
	case FIELD_HOARD:
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n");
		c->left = 3LL << 20;
		break;
	case FIELD_BIG:
		c->later = !s->idle;
		if (c->later)
			break;
		(void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
			       BIG + strlen(state));
		say(c, text);
		c->left = BIG;
		break;
	case FIELD_SILENT:
		break;
	}
	if (c->fd && c->left)
		listen_to(s, c, EPOLLIN | EPOLLOUT);
}

static void read_request(struct server *s, struct connection *c)
{
	char request[4096];
	ssize_t n = recv(c->fd, request, sizeof(request), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		s->answers += c->kind == FIELD_BIG; /* it was read, and the asker has closed */
		end(c);
		return;
	}
	if (n < 0 || c->asked)
		return;
	c->asked = true; /* a request this short comes in one piece */
	atomic_fetch_add(&s->shared->asked[c->kind][c->node], 1);
	atomic_fetch_add(&s->shared->asked_all[c->kind], 1);
	answer(s, c);
}

static void take_one(struct server *s, int fd)
{
	struct sockaddr_in at = { .sin_port = 0 };
	socklen_t len = sizeof(at);
	struct connection *c = NULL;
	unsigned address;

	if (getsockname(fd, (struct sockaddr *)&at, &len))
		_exit(1);
	address = ntohl(at.sin_addr.s_addr);
	for (int i = 0; i < CONNECTIONS && !c; i++) {
		if (!s->connections[i].fd)
			c = &s->connections[i];
	}
	if (!c || address >> 24 != 127 || !(address >> 16 & 255) ||
	    (address >> 16 & 255) >= KINDS) {
		(void)close(fd);
		return;
	}
	*c = (struct connection){ .fd = fd,
				  .kind = (enum field_kind)(address >> 16 & 255),
				  .node = (int)(address & 0xffff) };
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };

	(void)epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void every_second(struct server *s)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd && c->asked && c->kind == FIELD_TRICKLE)
			say(c, " ");
	}
}

static void release(struct server *s)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd && (c->kind == FIELD_SILENT || c->kind == FIELD_HOARD))
			end(c);
	}
}

/* Answers that had to wait, tried again. */
static void answer_late(struct server *s)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd && c->later)
			answer(s, c);
	}
}

static void one_event(struct server *s, const struct epoll_event *e)
{
	struct connection *c = e->data.ptr;
	int fd;

	if (!c) {
		while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
			take_one(s, fd);
		return;
	}
	if (c->fd && e->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_request(s, c);
	if (c->fd && e->events & EPOLLOUT && c->left)
		flood(s, c);
}

_Noreturn static void serve(struct shared *shared, int listener)
{
	static struct server s;
	struct epoll_event events[256], of_listener = { .events = EPOLLIN, .data.ptr = NULL };

	memset(blanks, ' ', sizeof(blanks));
	for (size_t i = 0; i < sizeof(lines); i++) /* cut anywhere, they stay lines */
		lines[i] = line[i % (sizeof(line) - 1)];
	s.shared = shared;
	s.listener = listener;
	s.epoll = epoll_create1(EPOLL_CLOEXEC);
	(void)epoll_ctl(s.epoll, EPOLL_CTL_ADD, listener, &of_listener);
	for (;;) {
		int n = epoll_wait(s.epoll, events, (int)array_len(events), 1000);

		for (int i = 0; i < n; i++)
			one_event(&s, &events[i]);
		s.idle = n == 0;
		if (s.idle) {
			every_second(&s);
			answer_late(&s);
		}
		if (s.answers >= atomic_load(&shared->release_after))
			release(&s);
	}
}

/* --- the test's side ------------------------------------------------------------------------------ */

/* On the loopback device alone: the addresses are all its own. */
static int listen_everywhere(int *ret_port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4096), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

struct field *field_start(void)
{
	struct field *f = xcalloc(1, sizeof(*f));
	int fd = listen_everywhere(&f->port);

	f->shared = mmap(NULL, sizeof(*f->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(f->shared != MAP_FAILED);
	atomic_store(&f->shared->release_after, INT32_MAX);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(f->shared, fd);
	}
	(void)close(fd);
	return f;
}

void field_stop(struct field *f)
{
	int status;

	assert_int_equal(kill(f->pid, SIGKILL), 0);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	assert_true(WIFSIGNALED(status)); /* and not before, by itself */
	assert_int_equal(munmap(f->shared, sizeof(*f->shared)), 0);
	free(f);
}

int field_port(const struct field *f)
{
	return f->port;
}

void field_ip(enum field_kind kind, int n, char ip[FIELD_IP])
{
	(void)snprintf(ip, FIELD_IP, "127.%d.%d.%d", (int)kind, n >> 8 & 255, n & 255);
}

int field_asked(const struct field *f, enum field_kind kind, int n)
{
	return atomic_load(&f->shared->asked[kind][n]);
}

int field_asked_all(const struct field *f, enum field_kind kind)
{
	return atomic_load(&f->shared->asked_all[kind]);
}

int64_t field_sent(const struct field *f, enum field_kind kind)
{
	return atomic_load(&f->shared->sent[kind]);
}

void field_release_after(struct field *f, int answers)
{
	atomic_store(&f->shared->release_after, answers);
}
