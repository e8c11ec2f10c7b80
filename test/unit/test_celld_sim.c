/* celld-sim as a whole: the program is started and looked at from outside, release by release. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <cjson/cJSON.h>

#include "test/lib/sim_node.h"

#define OLD_HEALTH "/__celld/health"
#define NEW_HEALTH "/.well-known/celld/health"

static const char *const releases[] = { "0.1.0", "0.2.0", "0.2.1", "0.3.0", "0.4.0", "0.4.1",
					"0.5.0", "0.5.1", "0.6.0", "0.6.1", "0.6.2" };
#define RELEASES (sizeof releases / sizeof releases[0])

/* Orders: 0.4.1 -> 41. */
static int number(const char *release)
{
	return (release[2] - '0') * 10 + (release[4] - '0');
}

static void start(struct sim_node *node, const char *release, const char *one, const char *two)
{
	char image[64];
	const char *env[] = { image, one, two, NULL };
	(void)snprintf(image, sizeof image, "IMAGE=ghcr.io/denoland/celld:v%s", release);
	sim_node_start(node, env, NULL);
}

/* 0.1 has one listener for everything. */
static const char *internal(const struct sim_node *node)
{
	return strcmp(node->internal_addr, "none") == 0 ? node->public_addr : node->internal_addr;
}

/* An answer shows that the signal handling is installed, which follows the two lines. */
static void wait_ready(struct sim_node *node)
{
	struct sim_reply reply;
	sim_node_wait(node, "celld listening on ");
	if (strcmp(node->internal_addr, "none") != 0)
		sim_node_wait(node, "celld internal listening on ");
	sim_node_ask("GET", node->public_addr, "/", &reply);
	sim_reply_done(&reply);
}

static int status_of(const char *method, const char *addr, const char *path)
{
	struct sim_reply reply;
	sim_node_ask(method, addr, path, &reply);
	sim_reply_done(&reply);
	return reply.status;
}

static cJSON *document(const char *addr, const char *path)
{
	struct sim_reply reply;
	sim_node_ask("GET", addr, path, &reply);
	assert_int_equal(reply.status, 200);
	cJSON *doc = cJSON_ParseWithOpts(reply.body, NULL, 1);
	assert_non_null(doc);
	sim_reply_done(&reply);
	return doc;
}

static double value(const struct sim_node *node, const char *name)
{
	cJSON *doc = document(internal(node), "/state");
	cJSON *item = cJSON_GetObjectItemCaseSensitive(doc, name);
	assert_true(cJSON_IsNumber(item));
	double out = item->valuedouble;
	cJSON_Delete(doc);
	return out;
}

/* --- the document against the golden files ------------------------------------------------------ */

static cJSON *golden(const char *release)
{
	char path[64], text[8192];
	(void)snprintf(path, sizeof path, "test/golden/state/%s.json", release);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	size_t length = fread(text, 1, sizeof text - 1, file);
	(void)fclose(file);
	text[length] = '\0';
	cJSON *doc = cJSON_ParseWithOpts(text, NULL, 1);
	assert_non_null(doc);
	return doc;
}

static bool is_named(const char *name, const char *list)
{
	char word[64];
	(void)snprintf(word, sizeof word, " %s ", name != NULL ? name : "");
	return strstr(list, word) != NULL;
}

static int kind(const cJSON *item)
{
	int type = item->type & 0xff;
	return type == cJSON_False ? cJSON_True : type;
}

/* Maps: their names are data (cells, phases), so only the kinds of their values are compared. */
#define MAPS " phases cells services "
/* Members that a node may write as null or as a value. */
#define NULLABLE " shedding bucket_format "

static void compare(const cJSON *want, const cJSON *got, const char *where);

static void compare_members(const cJSON *want, const cJSON *got, const char *where)
{
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, want)
	{
		const cJSON *other = cJSON_GetObjectItemCaseSensitive(got, item->string);
		if (other == NULL)
			fail_msg("%s: member %s is missing", where, item->string);
		else
			compare(item, other, item->string);
	}
	cJSON_ArrayForEach(item, got)
	{
		if (!cJSON_HasObjectItem(want, item->string))
			fail_msg("%s: member %s is too many", where, item->string);
	}
	assert_int_equal(cJSON_GetArraySize(got), cJSON_GetArraySize(want));
}

static void compare_elements(const cJSON *want, const cJSON *got, const char *where)
{
	const cJSON *item = NULL;
	if (want->child == NULL)
		return;
	if (got->child == NULL)
		fail_msg("%s: is empty", where);
	cJSON_ArrayForEach(item, got)
	{
		compare(want->child, item, where);
	}
}

static void compare(const cJSON *want, const cJSON *got, const char *where)
{
	if (is_named(where, NULLABLE) && (cJSON_IsNull(want) || cJSON_IsNull(got)))
		return;
	if (kind(want) != kind(got))
		fail_msg("%s: kind %d, not %d", where, kind(got), kind(want));
	if (cJSON_IsNumber(got))
		assert_true(got->valuedouble >= 0 && got->valuedouble < 9e15 &&
			    got->valuedouble == (double)(long long)got->valuedouble);
	if (cJSON_IsArray(want) || (cJSON_IsObject(want) && is_named(where, MAPS)))
		compare_elements(want, got, where);
	else if (cJSON_IsObject(want))
		compare_members(want, got, where);
}

static void state_has_the_members_of_its_release(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < RELEASES; i++) {
		struct sim_node node;
		start(&node, releases[i], NULL, NULL);
		wait_ready(&node);
		if (number(releases[i]) >= 40)
			sim_node_script(&node, "deploy=fedcba9876543210 swapping=1");
		cJSON *want = golden(releases[i]);
		cJSON *got = document(internal(&node), "/state");
		compare(want, got, releases[i]);
		cJSON_Delete(got);
		/* A node that sheds writes a word where it wrote null. */
		sim_node_script(&node, "shedding=memory,restoring=3");
		got = document(internal(&node), "/state");
		compare(want, got, releases[i]);
		assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(got, "shedding")),
				    "memory");
		cJSON_Delete(got);
		cJSON_Delete(want);
		sim_node_done(&node);
	}
}

/* --- health and other paths ---------------------------------------------------------------------- */

static void health_path_moves_with_0_4(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < RELEASES; i++) {
		struct sim_node node;
		struct sim_reply reply;
		bool moved = number(releases[i]) >= 40;
		start(&node, releases[i], NULL, NULL);
		wait_ready(&node);
		sim_node_ask("GET", node.public_addr, moved ? NEW_HEALTH : OLD_HEALTH, &reply);
		assert_int_equal(reply.status, 200);
		assert_string_equal(reply.body, "{\"ok\":true}");
		sim_reply_done(&reply);
		/* The other path is the Worker's, which answers. */
		sim_node_ask("GET", node.public_addr, moved ? OLD_HEALTH : NEW_HEALTH, &reply);
		assert_int_equal(reply.status, 200);
		assert_string_equal(reply.body, "simulated worker\n");
		sim_reply_done(&reply);
		sim_node_script(&node, "unready");
		assert_int_equal(
			status_of("GET", node.public_addr, moved ? NEW_HEALTH : OLD_HEALTH), 503);
		if (number(releases[i]) >= 20) {
			assert_int_equal(status_of("GET", node.internal_addr, NEW_HEALTH), 404);
			assert_int_equal(status_of("GET", node.internal_addr, OLD_HEALTH), 404);
		}
		sim_node_done(&node);
	}
}

static void operator_paths(void **unused)
{
	(void)unused;
	static const struct {
		const char *release, *method, *path;
		int status;
	} rows[] = {
		{ "0.1.0", "GET", "/evict/whatever", 200 },
		{ "0.2.1", "GET", "/shutdown", 405 },
		{ "0.2.1", "GET", "/evict/whatever", 200 },
		{ "0.2.1", "GET", "/__celld/probe", 403 },
		{ "0.3.0", "POST", "/reload", 404 },
		{ "0.3.0", "GET", "/evict/whatever", 400 },
		{ "0.3.0", "GET", "/evict/Room:1", 200 },
		{ "0.4.0", "GET", "/reload", 405 },
		{ "0.4.0", "POST", "/reload", 200 },
		{ "0.4.0", "POST", "/rebalance/pause", 404 },
		{ "0.4.1", "POST", "/rebalance/pause", 200 },
		{ "0.4.1", "GET", "/rebalance/resume", 405 },
		{ "0.5.0", "GET", "/evict/Room:1", 200 },
		{ "0.5.1", "GET", "/evict/Room:1", 409 },
		{ "0.6.2", "POST", "/peer/probe", 403 },
		{ "0.6.2", "GET", "/cell/Room:1", 200 },
		{ "0.6.2", "GET", "/metrics", 404 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sim_node node;
		start(&node, rows[i].release, NULL, NULL);
		wait_ready(&node);
		int status = status_of(rows[i].method, internal(&node), rows[i].path);
		if (status != rows[i].status)
			fail_msg("%s %s: %d, not %d", rows[i].release, rows[i].path, status,
				 rows[i].status);
		sim_node_done(&node);
	}
}

static void without_a_bucket_everything_is_404(void **unused)
{
	(void)unused;
	struct sim_node node;
	start(&node, "0.6.2", "CELLD_BUCKET", NULL);
	wait_ready(&node);
	assert_int_equal(status_of("GET", node.public_addr, "/"), 404);
	assert_int_equal(status_of("POST", node.internal_addr, "/rebalance/pause"), 409);
	cJSON *doc = document(node.internal_addr, "/state");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(doc, "ownership")), "memory");
	assert_false(cJSON_HasObjectItem(doc, "deployment"));
	cJSON_Delete(doc);
	sim_node_done(&node);
}

/* --- start and end ------------------------------------------------------------------------------- */

static void silent_until_ready(void **unused)
{
	(void)unused;
	static const char request[] =
		"GET " NEW_HEALTH " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	struct sim_node node;
	char answer[512] = "";
	start(&node, "0.6.2", "CELLD_SIM_FAULTS=starting", NULL);
	sim_node_wait(&node, "celld-sim: release=0.6.2 ");
	int fd = sim_node_connect(node.public_addr);
	assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
	assert_false(sim_node_readable(fd, 100));
	/* Process 1 without a handler: the signal goes nowhere. */
	assert_int_equal(kill(node.pid, SIGTERM), 0);
	sim_node_script(&node, "starting=off");
	assert_true(sim_node_readable(fd, 20000));
	assert_true(read(fd, answer, sizeof answer - 1) > 0);
	assert_memory_equal(answer, "HTTP/1.1 200", 12);
	close(fd);
	wait_ready(&node);
	assert_null(strstr(node.text, "draining"));
	sim_node_done(&node);
}

static void drain_takes_health_away_and_ends_with_0(void **unused)
{
	(void)unused;
	for (size_t i = 1; i < RELEASES; i++) {
		struct sim_node node;
		struct sim_reply reply;
		int release = number(releases[i]);
		start(&node, releases[i], "CELLD_SIM_DRAIN_MS=20000", NULL);
		wait_ready(&node);
		assert_int_equal(kill(node.pid, SIGTERM), 0);
		sim_node_wait(&node, "celld: draining");
		assert_int_equal(
			status_of("GET", node.public_addr, release < 40 ? OLD_HEALTH : NEW_HEALTH),
			503);
		sim_node_ask("GET", node.public_addr, "/", &reply);
		assert_int_equal(reply.status, 503);
		assert_string_equal(reply.body, "{\"ok\":false,\"draining\":true}");
		assert_non_null(strstr(reply.headers, "Retry-After: 1\r\n"));
		assert_non_null(strstr(reply.headers, "Connection: close\r\n"));
		sim_reply_done(&reply);
		assert_int_equal(status_of("GET", node.internal_addr, "/state"), 200);
		assert_int_equal(status_of("GET", node.internal_addr, "/cell/Room:1"),
				 release < 40 ? 503 : 200);
		sim_node_script(&node, "drained");
		assert_int_equal(sim_node_end(&node), 0);
		assert_true((strstr(node.text, "node-log close: sealed epoch") != NULL) ==
			    (release == 30));
		sim_node_done(&node);
	}
}

static void drain_is_cut_at_the_bound_of_the_release(void **unused)
{
	(void)unused;
	static const struct {
		const char *release, *bound, *line;
	} rows[] = {
		{ "0.3.0", "CELLD_SHUTDOWN_DRAIN_MS=200", "celld: drain reached its deadline" },
		{ "0.6.2", "CELLD_SHUTDOWN_TOTAL_MS=200", "celld: shutdown_handoff_stalled" },
	};
	for (size_t i = 0; i < 2; i++) {
		struct sim_node node;
		start(&node, rows[i].release, rows[i].bound, "CELLD_SIM_DRAIN_MS=86400000");
		wait_ready(&node);
		assert_int_equal(status_of("POST", node.internal_addr, "/shutdown"), 200);
		assert_int_equal(sim_node_end(&node), 0);
		assert_non_null(strstr(node.text, rows[i].line));
		assert_null(strstr(node.text, "sealed"));
		sim_node_done(&node);
	}
}

static void release_0_1_ignores_sigterm(void **unused)
{
	(void)unused;
	struct sim_node node;
	start(&node, "0.1.0", NULL, NULL);
	wait_ready(&node);
	assert_int_equal(kill(node.pid, SIGTERM), 0);
	assert_int_equal(status_of("GET", node.public_addr, OLD_HEALTH), 200);
	assert_int_equal(status_of("GET", node.public_addr, "/shutdown"), 200);
	assert_int_equal(sim_node_end(&node), 0);
	sim_node_done(&node);
}

static void fence_ends_with_3(void **unused)
{
	(void)unused;
	char log[] = "/tmp/test_celld_sim.XXXXXX", variable[64], text[128] = "";
	struct sim_node node;
	int fd = mkstemp(log);
	assert_true(fd >= 0);
	(void)snprintf(variable, sizeof variable, "CELLD_SIM_TERMINATION_LOG=%s", log);
	start(&node, "0.6.2", variable, NULL);
	wait_ready(&node);
	int control = sim_node_connect(node.control_addr);
	static const char request[] =
		"POST /fence HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
	assert_int_equal(write(control, request, sizeof request - 1), sizeof request - 1);
	assert_int_equal(sim_node_end(&node), 3);
	close(control);
	assert_non_null(strstr(node.text, "\nSELF-FENCE: "));
	assert_true(read(fd, text, sizeof text - 1) > 0);
	assert_memory_equal(text, "SELF-FENCE: ", 12);
	close(fd);
	(void)unlink(log);
	sim_node_done(&node);
}

/* --- scripted ------------------------------------------------------------------------------------ */

static void restores_after_a_start(void **unused)
{
	(void)unused;
	struct sim_node node;
	const char *env[] = { "CELLD_SIM_RESTORING=40", "CELLD_SIM_RESTORE_MS=86400000",
			      "CELLD_ACTIVATIONS=16", NULL };
	sim_node_start(&node, env, NULL);
	wait_ready(&node);
	assert_true(value(&node, "restoring") == 40);
	assert_true(value(&node, "activating") == 16);
	assert_true(value(&node, "activation_waiting") == 24);
	sim_node_script(&node, "restore_ms=0");
	assert_true(value(&node, "restoring") == 0);
	sim_node_script(&node, "restoring=3&evicting=4&occupied=5");
	assert_true(value(&node, "restoring") == 3);
	assert_true(value(&node, "evicting") == 4);
	assert_true(value(&node, "occupied") == 5);
	sim_node_script(&node, "restoring=off");
	assert_true(value(&node, "restoring") == 0);
	assert_true(value(&node, "evicting") == 4);
	sim_node_script(&node, "reset");
	assert_true(value(&node, "evicting") == 0);
	sim_node_done(&node);
}

static void silence_hang_and_garbage(void **unused)
{
	(void)unused;
	static const char request[] = "GET /state HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	static const char *const faults[] = { "silent=internal", "hang=internal" };
	struct sim_node node;
	struct sim_reply reply;
	start(&node, "0.6.2", NULL, NULL);
	wait_ready(&node);
	for (size_t i = 0; i < 2; i++) {
		char answer[64] = "";
		sim_node_script(&node, faults[i]);
		int fd = sim_node_connect(node.internal_addr);
		assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
		assert_false(sim_node_readable(fd, 100));
		assert_int_equal(status_of("GET", node.public_addr, NEW_HEALTH), 200);
		sim_node_script(&node, "reset");
		assert_true(sim_node_readable(fd, 20000));
		assert_true(read(fd, answer, sizeof answer - 1) > 0);
		assert_memory_equal(answer, "HTTP/1.1 200", 12);
		close(fd);
	}
	sim_node_script(&node, "slow=30");
	assert_int_equal(status_of("GET", node.internal_addr, "/state"), 200);
	sim_node_script(&node, "garbage");
	sim_node_ask("GET", node.internal_addr, "/state", &reply);
	assert_int_equal(reply.status, 200);
	assert_null(cJSON_ParseWithOpts(reply.body, NULL, 1));
	sim_reply_done(&reply);
	sim_node_script(&node, "garbage=500");
	assert_int_equal(status_of("GET", node.internal_addr, "/state"), 500);
	assert_int_equal(status_of("POST", node.control_addr, "/nonsense"), 400);
	assert_int_equal(status_of("POST", node.control_addr, "/restoring=many"), 400);
	sim_node_done(&node);
}

static void scripted_by_its_own_client(void **unused)
{
	(void)unused;
	char folder[] = "/tmp/test_celld_sim.XXXXXX", variable[64];
	struct sim_node node, client;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(variable, sizeof variable, "CELLD_SIM_SOCKET=%s/s", folder);
	start(&node, "0.6.2", variable, NULL);
	wait_ready(&node);
	const char *env[] = { variable, NULL };
	const char *good[] = { "ctl", "restoring=7", "evicting=1", NULL };
	const char *bad[] = { "ctl", "restoring=-1", NULL };
	const char *show[] = { "ctl", NULL };
	sim_node_start(&client, env, good);
	assert_int_equal(sim_node_end(&client), 0);
	sim_node_done(&client);
	assert_true(value(&node, "restoring") == 7);
	assert_true(value(&node, "evicting") == 1);
	sim_node_start(&client, env, bad);
	assert_int_equal(sim_node_end(&client), 1);
	sim_node_done(&client);
	sim_node_start(&client, env, show);
	assert_int_equal(sim_node_end(&client), 0);
	assert_non_null(strstr(client.text, "\"restoring\":7"));
	sim_node_done(&client);
	assert_int_equal(kill(node.pid, SIGTERM), 0);
	assert_int_equal(sim_node_end(&node), 0);
	sim_node_done(&node);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_has_the_members_of_its_release),
		cmocka_unit_test(health_path_moves_with_0_4),
		cmocka_unit_test(operator_paths),
		cmocka_unit_test(without_a_bucket_everything_is_404),
		cmocka_unit_test(silent_until_ready),
		cmocka_unit_test(drain_takes_health_away_and_ends_with_0),
		cmocka_unit_test(drain_is_cut_at_the_bound_of_the_release),
		cmocka_unit_test(release_0_1_ignores_sigterm),
		cmocka_unit_test(fence_ends_with_3),
		cmocka_unit_test(restores_after_a_start),
		cmocka_unit_test(silence_hang_and_garbage),
		cmocka_unit_test(scripted_by_its_own_client),
	};
	return cmocka_run_group_tests_name("celld_sim", tests, NULL, NULL);
}
