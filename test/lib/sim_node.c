#include "test/lib/sim_node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <curl/curl.h>

#define DEADLINE_MS 20000
#define MAX_ENV	    64

/* build/<profile>/test/unit/test_x -> build/<profile>/bin/celld-sim */
static void program(char path[4096])
{
	ssize_t length = readlink("/proc/self/exe", path, 4000);
	assert_true(length > 0);
	path[length] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(path, '/');
		assert_non_null(slash);
		*slash = '\0';
	}
	memcpy(path + strlen(path), "/bin/celld-sim", sizeof "/bin/celld-sim");
}

/* Sets, replaces or (without "=") removes one entry of the list. */
static void put(const char **list, size_t *count, const char *entry)
{
	size_t name = strcspn(entry, "=");
	size_t at = 0;
	while (at < *count && (strncmp(list[at], entry, name) != 0 || list[at][name] != '='))
		at++;
	assert_true(at < MAX_ENV - 1);
	if (entry[name] != '=') {
		if (at < *count)
			list[at] = list[--*count];
		return;
	}
	list[at] = entry;
	*count += at == *count;
}

void sim_node_start(struct sim_node *node, const char *const *env, const char *const *words)
{
	static const char *const defaults[] = { "IMAGE=ghcr.io/denoland/celld:v0.6.2",
						"CELLD_ADDR=127.0.0.1:0",
						"CELLD_INTERNAL_ADDR=127.0.0.1:0",
						"CELLD_BUCKET=b",
						"CELLD_NODE=celld-0",
						"CELLD_SIM_CONTROL_ADDR=127.0.0.1:0",
						"CELLD_SIM_SOCKET=off",
						"CELLD_SIM_START_MS=0",
						"CELLD_SIM_DIE_WITH_PARENT=1",
						"CELLD_SIM_TERMINATION_LOG=/nonexistent" };
	const char *list[MAX_ENV] = { 0 };
	const char *argv[16] = { "celld-sim" };
	size_t count = 0;
	char path[4096];
	int ends[2];
	posix_spawn_file_actions_t actions;
	program(path);
	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
		put(list, &count, defaults[i]);
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		put(list, &count, env[i]);
	list[count] = NULL;
	for (size_t i = 0; words != NULL && words[i] != NULL && i < 14; i++)
		argv[i + 1] = words[i];
	memset(node, 0, sizeof *node);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	assert_int_equal(posix_spawn(&node->pid, path, &actions, NULL, (char **)(void *)argv,
				     (char **)(void *)list),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	node->out = ends[0];
}

bool sim_node_readable(int fd, int ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	return poll(&wait, 1, ms) > 0;
}

/* Reads what there is; false at the end of the output. */
static bool more(struct sim_node *node)
{
	if (!sim_node_readable(node->out, DEADLINE_MS))
		fail_msg("celld-sim says nothing more; it said:\n%s", node->text);
	assert_true(node->length < sizeof node->text - 1);
	ssize_t got =
		read(node->out, node->text + node->length, sizeof node->text - 1 - node->length);
	assert_true(got >= 0);
	node->length += (size_t)got;
	node->text[node->length] = '\0';
	return got > 0;
}

static void read_address(const struct sim_node *node, const char *name, char out[80])
{
	const char *at = strstr(node->text, name);
	if (at == NULL)
		return;
	at += strlen(name);
	size_t length = strcspn(at, " \n");
	if (at[length] == '\0' || length >= 80)
		return;
	memcpy(out, at, length);
	out[length] = '\0';
}

void sim_node_wait(struct sim_node *node, const char *text)
{
	while (strstr(node->text, text) == NULL)
		if (!more(node))
			fail_msg("celld-sim ended without \"%s\"; it said:\n%s", text, node->text);
	read_address(node, " public=", node->public_addr);
	read_address(node, " internal=", node->internal_addr);
	read_address(node, " control=", node->control_addr);
}

int sim_node_end(struct sim_node *node)
{
	int status = 0;
	while (more(node))
		;
	assert_int_equal(waitpid(node->pid, &status, 0), node->pid);
	node->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void sim_node_done(struct sim_node *node)
{
	if (node->pid > 0) {
		(void)kill(node->pid, SIGKILL);
		(void)waitpid(node->pid, NULL, 0);
	}
	node->pid = 0;
	close(node->out);
}

struct gather {
	char *text;
	size_t length, size;
};

static size_t on_data(char *data, size_t one, size_t size, void *arg)
{
	struct gather *to = arg;
	(void)one;
	if (to->length + size + 1 > to->size) {
		to->size = (to->length + size + 1) * 2;
		to->text = realloc(to->text, to->size);
		assert_non_null(to->text);
	}
	memcpy(to->text + to->length, data, size);
	to->length += size;
	to->text[to->length] = '\0';
	return size;
}

static void ask(const char *method, const char *addr, const char *path, const char *body,
		struct sim_reply *reply)
{
	struct gather all = { calloc(1, 1), 0, 1 };
	struct gather headers = { calloc(1, 1), 0, 1 };
	char url[512];
	long status = 0;
	CURL *easy = curl_easy_init();
	assert_non_null(easy);
	(void)snprintf(url, sizeof url, "http://%s%s", addr, path);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)DEADLINE_MS);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, &all);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_data);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, &headers);
	if (body != NULL)
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	CURLcode code = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(easy);
	reply->status = (int)status;
	reply->body = all.text;
	(void)snprintf(reply->headers, sizeof reply->headers, "%s", headers.text);
	free(headers.text);
	if (code != CURLE_OK)
		fail_msg("%s %s: %s", method, url, curl_easy_strerror(code));
}

void sim_node_ask(const char *method, const char *addr, const char *path, struct sim_reply *reply)
{
	ask(method, addr, path, NULL, reply);
}

void sim_reply_done(struct sim_reply *reply)
{
	free(reply->body);
	reply->body = NULL;
}

void sim_node_script(const struct sim_node *node, const char *words)
{
	struct sim_reply reply;
	ask("POST", node->control_addr, "/", words, &reply);
	if (reply.status != 200)
		fail_msg("%s: %s", words, reply.body);
	sim_reply_done(&reply);
}

int sim_node_connect(const char *addr)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *colon = strrchr(addr, ':');
	char host[64];
	assert_non_null(colon);
	(void)snprintf(host, sizeof host, "%.*s", (int)(colon - addr), addr);
	assert_int_equal(inet_pton(AF_INET, host, &to.sin_addr), 1);
	to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (const void *)&to, sizeof to), 0);
	return fd;
}
