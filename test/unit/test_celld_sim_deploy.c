/* Which deployment celld-sim serves: pointer file, bucket, adoption in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <cmocka.h>
#include <cjson/cJSON.h>

#include "test/lib/sim_node.h"

#define ONE                                                                                        \
	"{\"script_name\":\"chat\",\"version\":\"1111111111111111\","                              \
	"\"prefix\":\"deploy/chat/1111111111111111\",\"rollout\":{\"percent\":100}}"
#define TWO   "{\"version\":\"2222222222222222\",\"prefix\":\"deploy/chat/2222222222222222\"}"
#define TRIES 2000

struct folder {
	char path[64], pointer[96], variable[128];
};

static void make_folder(struct folder *folder)
{
	(void)snprintf(folder->path, sizeof folder->path, "/tmp/test_celld_sim.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	(void)snprintf(folder->pointer, sizeof folder->pointer, "%s/current.json", folder->path);
	(void)snprintf(folder->variable, sizeof folder->variable, "CELLD_SIM_POINTER=%s",
		       folder->pointer);
}

/* As a mounted ConfigMap changes: whole. */
static void write_pointer(const struct folder *folder, const char *text)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s.new", folder->pointer);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(path, folder->pointer), 0);
}

static void remove_folder(const struct folder *folder)
{
	(void)unlink(folder->pointer);
	assert_int_equal(rmdir(folder->path), 0);
}

static cJSON *document(const char *addr, const char *path)
{
	struct sim_reply reply;
	sim_node_ask("GET", addr, path, &reply);
	cJSON *doc = cJSON_ParseWithOpts(reply.body, NULL, 1);
	assert_non_null(doc);
	sim_reply_done(&reply);
	return doc;
}

static cJSON *deployment(const struct sim_node *node)
{
	cJSON *doc = document(node->internal_addr, "/state");
	cJSON *part = cJSON_DetachItemFromObjectCaseSensitive(doc, "deployment");
	assert_non_null(part);
	cJSON_Delete(doc);
	return part;
}

static double number(const cJSON *doc, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(doc, name);
	assert_true(cJSON_IsNumber(item));
	return item->valuedouble;
}

static void expect_version(const cJSON *doc, const char *version)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "version"));
	assert_non_null(text);
	assert_string_equal(text, version);
}

/* Looks again and again until the node serves the generation; the caller deletes the result. */
static cJSON *wait_generation(const struct sim_node *node, double generation)
{
	for (int i = 0; i < TRIES; i++) {
		cJSON *doc = deployment(node);
		if (number(doc, "generation") == generation)
			return doc;
		cJSON_Delete(doc);
		(void)poll(NULL, 0, 10);
	}
	fail_msg("generation %g did not come", generation);
	return NULL;
}

static void reload(const struct sim_node *node, int status, const char *word)
{
	struct sim_reply reply;
	sim_node_ask("POST", node->internal_addr, "/reload", &reply);
	assert_int_equal(reply.status, status);
	assert_non_null(strstr(reply.body, word));
	sim_reply_done(&reply);
}

static void adopts_in_place_from_a_file(void **unused)
{
	(void)unused;
	struct folder folder;
	struct sim_node node;
	make_folder(&folder);
	write_pointer(&folder, ONE);
	const char *env[] = { "IMAGE=celld:v0.4.1", "CELLD_SIM_POLL_MS=10",
			      "CELLD_SIM_SWAP_MS=86400000", folder.variable, NULL };
	sim_node_start(&node, env, NULL);
	sim_node_wait(&node, "celld internal listening on ");
	cJSON *doc = wait_generation(&node, 1);
	expect_version(doc, "1111111111111111");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(doc, "prefix")),
			    "deploy/chat/1111111111111111");
	assert_true(number(doc, "swapping") == 0);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "draining")), 0);
	cJSON_Delete(doc);
	write_pointer(&folder, TWO);
	doc = wait_generation(&node, 2);
	expect_version(doc, "2222222222222222");
	assert_true(number(doc, "swapping") == 2);
	const cJSON *old = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "draining"), 0);
	assert_true(number(old, "generation") == 1);
	expect_version(old, "1111111111111111");
	cJSON_Delete(doc);
	sim_node_script(&node, "swap_ms=0");
	doc = deployment(&node);
	assert_true(number(doc, "swapping") == 0);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "draining")), 0);
	cJSON_Delete(doc);
	sim_node_done(&node);
	remove_folder(&folder);
}

static void reload_says_what_became_of_it(void **unused)
{
	(void)unused;
	struct folder folder;
	struct sim_node node;
	make_folder(&folder);
	write_pointer(&folder, ONE);
	const char *env[] = { "CELLD_SIM_POLL_MS=86400000", folder.variable, NULL };
	sim_node_start(&node, env, NULL);
	sim_node_wait(&node, "celld internal listening on ");
	reload(&node, 200, "\"unchanged\"");
	sim_node_script(&node, "adopt_fail");
	write_pointer(&folder, TWO);
	reload(&node, 422, "\"failed\"");
	cJSON *doc = wait_generation(&node, 1);
	expect_version(doc, "1111111111111111");
	cJSON_Delete(doc);
	sim_node_script(&node, "adopt_fail=off");
	reload(&node, 200, "\"adopted\"");
	doc = wait_generation(&node, 2);
	expect_version(doc, "2222222222222222");
	cJSON_Delete(doc);
	write_pointer(&folder,
		      "{\"version\":\"3333333333333333\",\"prefix\":\"deploy/chat/else\"}");
	reload(&node, 503, "\"unavailable\"");
	doc = wait_generation(&node, 2);
	cJSON_Delete(doc);
	sim_node_done(&node);
	remove_folder(&folder);
}

/* Before 0.4 the pointer is read once. The next start reads the new one. */
static void old_releases_adopt_at_the_start_only(void **unused)
{
	(void)unused;
	struct folder folder;
	struct sim_node node;
	make_folder(&folder);
	write_pointer(&folder, ONE);
	const char *env[] = { "IMAGE=celld:v0.3.0", "CELLD_SIM_POLL_MS=1", folder.variable, NULL };
	sim_node_start(&node, env, NULL);
	sim_node_wait(&node, "celld internal listening on ");
	write_pointer(&folder, TWO);
	for (int i = 0; i < 20; i++) {
		cJSON *doc = document(node.control_addr, "/");
		assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(doc, "deployment")),
				    "1111111111111111");
		cJSON_Delete(doc);
	}
	sim_node_done(&node);
	sim_node_start(&node, env, NULL);
	sim_node_wait(&node, "version=2222222222222222");
	sim_node_done(&node);
	remove_folder(&folder);
}

static void a_missing_pointer(void **unused)
{
	(void)unused;
	static const char *const ends[] = { "IMAGE=celld:v0.1.0", "IMAGE=celld:v0.3.0",
					    "IMAGE=celld:v0.4.1", "IMAGE=celld:v0.5.0" };
	struct folder folder;
	struct sim_node node;
	make_folder(&folder);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		const char *env[] = { ends[i], folder.variable, NULL };
		sim_node_start(&node, env, NULL);
		assert_int_equal(sim_node_end(&node), 1);
		assert_non_null(strstr(node.text, "no such key: deploy/current.json"));
		sim_node_done(&node);
	}
	const char *env[] = { "IMAGE=celld:v0.5.1", "CELLD_SIM_POLL_MS=10", folder.variable, NULL };
	sim_node_start(&node, env, NULL);
	sim_node_wait(&node, "awaiting_initial_deployment");
	write_pointer(&folder, ONE);
	sim_node_wait(&node, "celld internal listening on ");
	cJSON *doc = wait_generation(&node, 1);
	expect_version(doc, "1111111111111111");
	cJSON_Delete(doc);
	sim_node_done(&node);
	remove_folder(&folder);
}

/* --- the bucket ---------------------------------------------------------------------------------- */

static int store_open(char endpoint[64])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const void *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (void *)&at, &length), 0);
	(void)snprintf(endpoint, 64, "S3_ENDPOINT=http://127.0.0.1:%u/", ntohs(at.sin_port));
	return fd;
}

/* Answers one request; request is what was asked. */
static void store_answer(int fd, int status, const char *body, char request[4096])
{
	char answer[1024];
	size_t length = 0;
	assert_true(sim_node_readable(fd, 20000));
	int client = accept(fd, NULL, NULL);
	assert_true(client >= 0);
	request[0] = '\0';
	while (strstr(request, "\r\n\r\n") == NULL) {
		assert_true(sim_node_readable(client, 20000));
		ssize_t got = read(client, request + length, 4095 - length);
		assert_true(got > 0);
		length += (size_t)got;
		request[length] = '\0';
	}
	int size = snprintf(answer, sizeof answer,
			    "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
			    status, strlen(body), body);
	assert_int_equal(write(client, answer, (size_t)size), size);
	close(client);
}

static void adopts_from_the_bucket(void **unused)
{
	(void)unused;
	struct sim_node node;
	char endpoint[64], request[4096];
	int store = store_open(endpoint);
	const char *env[] = { "CELLD_BUCKET=s3://fleet/shop/prod/",
			      endpoint,
			      "AWS_ACCESS_KEY_ID=AKID",
			      "AWS_SECRET_ACCESS_KEY=secret",
			      "AWS_SESSION_TOKEN=session",
			      "AWS_REGION=eu-west-1",
			      "CELLD_SIM_POLL_MS=10",
			      NULL };
	sim_node_start(&node, env, NULL);
	store_answer(store, 404, "<Error><Code>NoSuchKey</Code></Error>", request);
	sim_node_wait(&node, "awaiting_initial_deployment");
	store_answer(store, 200, ONE, request);
	assert_memory_equal(request, "GET /fleet/shop/prod/deploy/current.json HTTP/1.1\r\n", 51);
	assert_non_null(strstr(request, "\r\nAuthorization: AWS4-HMAC-SHA256 Credential=AKID/"));
	assert_non_null(strstr(request, "/eu-west-1/s3/aws4_request"));
	assert_non_null(strstr(request, "\r\nx-amz-security-token: session\r\n"));
	assert_null(strstr(request, "secret"));
	sim_node_wait(&node, "celld internal listening on ");
	store_answer(store, 503, "busy", request);
	sim_node_wait(&node, "status 503, the old one stays");
	store_answer(store, 200, TWO, request);
	close(store);
	cJSON *doc = wait_generation(&node, 2);
	expect_version(doc, "2222222222222222");
	cJSON_Delete(doc);
	sim_node_done(&node);
}

static void an_unreachable_bucket(void **unused)
{
	(void)unused;
	struct sim_node node;
	char endpoint[64], request[4096];
	int store = store_open(endpoint);
	const char *must[] = { endpoint, "CELLD_SIM_BUCKET=1", NULL };
	const char *may[] = { endpoint, "CELLD_SIM_APP_VERSION=abcdabcdabcdabcd", NULL };
	/* It answers, but not with the pointer: no default takes its place. */
	sim_node_start(&node, may, NULL);
	store_answer(store, 403, "", request);
	assert_null(strstr(request, "Authorization"));
	assert_int_equal(sim_node_end(&node), 1);
	assert_non_null(strstr(node.text, "object store: status 403"));
	sim_node_done(&node);
	close(store);
	sim_node_start(&node, must, NULL);
	assert_int_equal(sim_node_end(&node), 1);
	sim_node_done(&node);
	sim_node_start(&node, may, NULL);
	sim_node_wait(&node, "celld internal listening on ");
	cJSON *doc = wait_generation(&node, 1);
	expect_version(doc, "abcdabcdabcdabcd");
	cJSON_Delete(doc);
	sim_node_done(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adopts_in_place_from_a_file),
		cmocka_unit_test(reload_says_what_became_of_it),
		cmocka_unit_test(old_releases_adopt_at_the_start_only),
		cmocka_unit_test(a_missing_pointer),
		cmocka_unit_test(adopts_from_the_bucket),
		cmocka_unit_test(an_unreachable_bucket),
	};
	return cmocka_run_group_tests_name("celld_sim_deploy", tests, NULL, NULL);
}
