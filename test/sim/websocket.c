/*
 * A Worker that echoes (RFC 6455): whoever asks the public listener for a WebSocket gets each message
 * back. Messages are one frame of at most 125 bytes; a longer one ends the connection. All of them
 * are waited for in one epoll descriptor, so that the loop of main.c has one entry for them.
 */
#include "test/sim/sim.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHORT  125 /* what the second byte of a frame can say */
#define HEADER 6   /* of a masked short frame */
enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10, FINAL = 0x80 };

struct websocket {
	struct websocket *next;
	struct MHD_UpgradeResponseHandle *handle;
	int fd;
	size_t length;
	unsigned char data[HEADER + SHORT];
};

static struct websocket *sockets;
static int events = -1;

int websocket_fd(void)
{
	return events;
}

static void end(struct websocket *ws)
{
	struct websocket **at = &sockets;
	while (*at != ws)
		at = &(*at)->next;
	*at = ws->next;
	(void)epoll_ctl(events, EPOLL_CTL_DEL, ws->fd, NULL);
	(void)MHD_upgrade_action(ws->handle, MHD_UPGRADE_ACTION_CLOSE);
	free(ws);
}

static bool send_frame(const struct websocket *ws, int code, const unsigned char *data, size_t size)
{
	unsigned char frame[2 + SHORT] = { (unsigned char)(FINAL | code), (unsigned char)size };
	memcpy(frame + 2, data, size);
	/* So small that it fits, or nobody reads at the other end. */
	return send(ws->fd, frame, 2 + size, MSG_NOSIGNAL) == (ssize_t)(2 + size);
}

/* Answers the first whole frame. Returns how many bytes it had, 0 for none yet, -1 for the end. */
static int answer_frame(struct websocket *ws)
{
	unsigned char *data = ws->data;
	size_t size = data[1] & 0x7F;
	if (ws->length < 2)
		return 0;
	if (size > SHORT || !(data[1] & 0x80) || !(data[0] & FINAL))
		return -1;
	if (ws->length < HEADER + size)
		return 0;
	for (size_t i = 0; i < size; i++)
		data[HEADER + i] ^= data[2 + i % 4];
	int code = data[0] & 0x0F;
	if (code == PING)
		code = PONG;
	if (code != PONG && code != TEXT && code != BINARY && code != CLOSE)
		return -1;
	bool sent = send_frame(ws, code, data + HEADER, size);
	return !sent || code == CLOSE ? -1 : (int)(HEADER + size);
}

static void answer_all(struct websocket *ws)
{
	int taken = 0;
	while ((taken = answer_frame(ws)) > 0) {
		ws->length -= (size_t)taken;
		memmove(ws->data, ws->data + taken, ws->length);
	}
	if (taken < 0)
		end(ws);
}

void websocket_tick(void)
{
	struct epoll_event due[16];
	int count = events < 0 ? 0 : epoll_wait(events, due, 16, 0);
	for (int i = 0; i < count; i++) {
		struct websocket *ws = due[i].data.ptr;
		ssize_t got = recv(ws->fd, ws->data + ws->length, sizeof ws->data - ws->length,
				   MSG_DONTWAIT);
		if (got <= 0) {
			end(ws);
			continue;
		}
		ws->length += (size_t)got;
		answer_all(ws);
	}
}

void websocket_stop(void)
{
	static const unsigned char going_away[] = { 1001 >> 8, 1001 & 0xFF };
	while (sockets != NULL) {
		(void)send_frame(sockets, CLOSE, going_away, sizeof going_away);
		end(sockets);
	}
}

static void on_upgrade(void *arg, struct MHD_Connection *connection, void *state, const char *extra,
		       size_t extra_size, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
	struct websocket *ws = calloc(1, sizeof *ws);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = ws };
	(void)arg;
	(void)connection;
	(void)state;
	if (events < 0)
		events = epoll_create1(EPOLL_CLOEXEC);
	if (ws == NULL || extra_size > sizeof ws->data ||
	    epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) != 0) {
		(void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
		free(ws);
		return;
	}
	ws->handle = handle;
	ws->fd = fd;
	ws->next = sockets;
	sockets = ws;
	ws->length = extra_size;
	if (extra_size > 0)
		memcpy(ws->data, extra, extra_size);
	answer_all(ws);
}

const char *websocket_key(struct MHD_Connection *connection)
{
	const char *upgrade = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Upgrade");
	return upgrade != NULL && strcasecmp(upgrade, "websocket") == 0
		       ? MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						     "Sec-WebSocket-Key")
		       : NULL;
}

enum MHD_Result websocket_accept(struct MHD_Connection *connection, const char *key)
{
	unsigned char digest[EVP_MAX_MD_SIZE], accept[64];
	char text[128];
	unsigned size = 0;
	int length = snprintf(text, sizeof text, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	if (length < 0 || (size_t)length >= sizeof text ||
	    EVP_Digest(text, (size_t)length, digest, &size, EVP_sha1(), NULL) != 1)
		return MHD_NO;
	(void)EVP_EncodeBlock(accept, digest, (int)size);
	struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgrade, NULL);
	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, "Upgrade", "websocket");
	MHD_add_response_header(response, "Sec-WebSocket-Accept", (const char *)accept);
	enum MHD_Result result =
		MHD_queue_response(connection, MHD_HTTP_SWITCHING_PROTOCOLS, response);
	MHD_destroy_response(response);
	return result;
}
