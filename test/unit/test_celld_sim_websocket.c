/* The simulator's echo, with the example values of RFC 6455 (sections 1.3, 5.5 and 5.7). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "test/lib/sim_node.h"

/* Reads exactly so many bytes; fewer only when the other end closes. */
static size_t take(int fd, void *to, size_t size)
{
	size_t have = 0;
	ssize_t got = 1;
	while (have < size && (got = read(fd, (char *)to + have, size - have)) > 0)
		have += (size_t)got;
	return have;
}

static int open_socket(struct sim_node *node)
{
	static const char ask[] = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
				  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
				  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	const char *env[] = { "IMAGE=ghcr.io/denoland/celld:v0.6.2", NULL };
	char head[1024] = "";
	sim_node_start(node, env, NULL);
	sim_node_wait(node, "celld internal listening on ");
	int fd = sim_node_connect(node->public_addr);
	assert_true(write(fd, ask, sizeof ask - 1) == sizeof ask - 1);
	for (size_t n = 0; strstr(head, "\r\n\r\n") == NULL; n++) {
		assert_true(n + 1 < sizeof head);
		assert_int_equal(take(fd, head + n, 1), 1);
	}
	assert_memory_equal(head, "HTTP/1.1 101 ", 13);
	assert_non_null(strstr(head, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
	return fd;
}

static void expect(int fd, const void *bytes, size_t size)
{
	unsigned char back[64];
	assert_int_equal(take(fd, back, size), size);
	assert_memory_equal(back, bytes, size);
}

static const unsigned char masked_hello[] = { 0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d,
					      0x7f, 0x9f, 0x4d, 0x51, 0x58 };

static void a_message_comes_back(void **unused)
{
	static const unsigned char hello[] = { 0x81, 5, 'H', 'e', 'l', 'l', 'o' };
	struct sim_node node;
	(void)unused;
	int fd = open_socket(&node);
	/* cut in two, and two at once */
	assert_true(write(fd, masked_hello, 4) == 4);
	assert_true(write(fd, masked_hello + 4, sizeof masked_hello - 4) ==
		    sizeof masked_hello - 4);
	expect(fd, hello, sizeof hello);
	unsigned char two[2 * sizeof masked_hello];
	memcpy(two, masked_hello, sizeof masked_hello);
	memcpy(two + sizeof masked_hello, masked_hello, sizeof masked_hello);
	assert_true(write(fd, two, sizeof two) == sizeof two);
	expect(fd, hello, sizeof hello);
	expect(fd, hello, sizeof hello);
	close(fd);
	sim_node_done(&node);
}

static void a_ping_is_answered_and_a_close_ends(void **unused)
{
	static const unsigned char ping[] = { 0x89, 0x85, 0x37, 0xfa, 0x21, 0x3d,
					      0x7f, 0x9f, 0x4d, 0x51, 0x58 };
	static const unsigned char pong[] = { 0x8a, 5, 'H', 'e', 'l', 'l', 'o' };
	static const unsigned char bye[] = { 0x88, 0x80, 0, 0, 0, 0 }, closed[] = { 0x88, 0 };
	struct sim_node node;
	char more;
	(void)unused;
	int fd = open_socket(&node);
	assert_true(write(fd, ping, sizeof ping) == sizeof ping);
	expect(fd, pong, sizeof pong);
	assert_true(write(fd, bye, sizeof bye) == sizeof bye);
	expect(fd, closed, sizeof closed);
	assert_int_equal(take(fd, &more, 1), 0);
	close(fd);
	sim_node_done(&node);
}

static void what_is_not_masked_ends_it(void **unused)
{
	static const unsigned char bare[] = { 0x81, 5, 'H', 'e', 'l', 'l', 'o' };
	struct sim_node node;
	char more;
	(void)unused;
	int fd = open_socket(&node);
	assert_true(write(fd, bare, sizeof bare) == sizeof bare);
	assert_int_equal(take(fd, &more, 1), 0);
	close(fd);
	sim_node_done(&node);
}

static void a_drain_says_that_it_goes_away(void **unused)
{
	static const unsigned char away[] = { 0x88, 2, 0x03, 0xe9 }; /* 1001 */
	struct sim_node node;
	(void)unused;
	int fd = open_socket(&node);
	sim_node_script(&node, "drain");
	expect(fd, away, sizeof away);
	close(fd);
	assert_int_equal(sim_node_end(&node), 0);
	sim_node_done(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_comes_back),
		cmocka_unit_test(a_ping_is_answered_and_a_close_ends),
		cmocka_unit_test(what_is_not_masked_ends_it),
		cmocka_unit_test(a_drain_says_that_it_goes_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
