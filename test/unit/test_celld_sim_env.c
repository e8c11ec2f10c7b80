/* Which environment each release refuses, and which variable it then names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "test/lib/sim_node.h"

struct row {
	const char *release;
	const char *env[5];
	const char *named; /* in the message; null: it starts */
};

/* With exit=0 the node ends as soon as it has accepted its environment and bound its listeners. */
static void check(const struct row *row)
{
	struct sim_node node;
	char image[64];
	const char *env[8] = { image, "CELLD_SIM_FAULTS=exit=0" };
	(void)snprintf(image, sizeof image, "IMAGE=r.example:5000/celld:v%s", row->release);
	memcpy(env + 2, row->env, sizeof row->env);
	sim_node_start(&node, env, NULL);
	int status = sim_node_end(&node);
	if (status != (row->named != NULL ? 1 : 0))
		fail_msg("%s %s: status %d\n%s", row->release, row->env[0], status, node.text);
	if (row->named != NULL && strstr(node.text, row->named) == NULL)
		fail_msg("%s %s: \"%s\" is not in\n%s", row->release, row->env[0], row->named,
			 node.text);
	sim_node_done(&node);
}

#define CHECK(rows)                                                                                \
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows)[0]; i++)                                \
	check(&(rows)[i])

static void removed_names(void **unused)
{
	(void)unused;
	static const char *const names[] = {
		"CELLD_TEST_OTEL_SWEEP_MS",
		"CELLD_OTEL_SINK",
		"CELLD_AI_BINDING",
		"CELLD_AI_URL",
		"CELLD_PACED_HANDOFF",
		"CELLD_LOG_GROUP_COMMIT_MS",
		"CELLD_QUEUE_PRODUCER_GROUP_MS",
		"CELLD_LOG_BUNDLE",
		"CELLD_PRESENCE_SHADOW",
		"CELLD_STORAGE_PROBE",
		"CELLD_EVICTIONS",
		"CELLD_LOG_CAPTURE_WORKERS",
		"CELLD_REBALANCE_BATCH_CELLS",
		"CELLD_CLOUD_RESTART_ON_DEPLOY",
		"CELLD_OUTPUT_GATE",
		"CELLD_DRAIN_TOKEN_WAIT_MS",
		"CELLD_SHUTDOWN_DRAIN_MS",
		"CELLD_MAX_LOADED_WORKERS",
		"CELLD_VARS_FILE",
		"CELLD_VAR_GREETING",
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char empty[64], expected[64];
		(void)snprintf(empty, sizeof empty, "%s=", names[i]);
		(void)snprintf(expected, sizeof expected, "%s: ", names[i]);
		check(&(struct row){ i % 2 == 0 ? "0.5.0" : "0.6.2", { empty }, expected });
	}
	static const struct row rows[] = {
		{ "0.5.0", { "CELLD_WORKER_LOADER=1" }, "CELLD_WORKER_LOADER: " },
		{ "0.5.0", { "CELLD_WORKER_LOADER=" }, NULL },
		{ "0.4.1", { "CELLD_VAR_GREETING=hello", "CELLD_SHUTDOWN_DRAIN_MS=1000" }, NULL },
		{ "0.4.1", { "CELLD_STORAGE_PROBE=0", "CELLD_OTEL_SINK=otlp" }, NULL },
		{ "0.6.2", { "CELLD_PORT=tcp://10.0.0.1:80", "CELLD_WHATEVER=" }, NULL },
	};
	CHECK(rows);
}

static void typed_values(void **unused)
{
	(void)unused;
	static const struct row rows[] = {
		{ "0.1.0", { "CELLD_TTL_MS=soon", "CELLD_ACTIVATIONS=" }, NULL },
		{ "0.1.0", { "CELLD_MAX_RSS_MB=all" }, "CELLD_MAX_RSS_MB: " },
		{ "0.2.0", { "CELLD_TTL_MS=soon" }, "CELLD_TTL_MS: " },
		{ "0.2.0", { "CELLD_TTL_MS=" }, "CELLD_TTL_MS: " },
		{ "0.2.0", { "CELLD_TTL_MS=0" }, "CELLD_TTL_MS: " },
		{ "0.2.0", { "CELLD_TTL_MS=-5" }, "CELLD_TTL_MS: " },
		{ "0.2.0", { "CELLD_TTL_MS=5000" }, NULL },
		{ "0.3.0", { "CELLD_IDLE_EVICT_S=0" }, "CELLD_IDLE_EVICT_S: " },
		{ "0.3.0", { "CELLD_MAX_RSS_MB=0", "CELLD_MAX_RESIDENT_CELLS=0" }, NULL },
		{ "0.3.0", { "CELLD_LTX_COMPACTION=on" }, "CELLD_LTX_COMPACTION: " },
		{ "0.2.1",
		  { "CELLD_TRUST_FORWARDED_HEADERS=true" },
		  "CELLD_TRUST_FORWARDED_HEADERS: " },
		{ "0.2.0", { "CELLD_TRUST_FORWARDED_HEADERS=true" }, NULL },
		{ "0.2.1", { "CELLD_DURABILITY=some" }, NULL },
		{ "0.3.0", { "CELLD_DURABILITY=some" }, "CELLD_DURABILITY: " },
		{ "0.6.2", { "CELLD_DURABILITY=" }, "CELLD_DURABILITY: " },
		{ "0.6.2", { "CELLD_DURABILITY=fleet" }, NULL },
		{ "0.6.2", { "CELLD_DURABILITY=bucket" }, NULL },
		{ "0.4.0",
		  { "CELLD_MAX_REQUEST_BODY_BYTES=1073741825" },
		  "CELLD_MAX_REQUEST_BODY_BYTES: " },
		{ "0.4.0", { "CELLD_MAX_REQUEST_BODY_BYTES=1073741824" }, NULL },
		{ "0.5.0", { "CELLD_LTX_COMPACTION_MIN_MB=65" }, "CELLD_LTX_COMPACTION_MIN_MB: " },
		{ "0.6.0", { "CELLD_LTX_RETENTION_SECS=never" }, NULL },
		{ "0.6.1", { "CELLD_LTX_RETENTION_SECS=never" }, "CELLD_LTX_RETENTION_SECS: " },
		{ "0.6.2", { "CELLD_PRESSURE_OWNERSHIP=keep" }, "CELLD_PRESSURE_OWNERSHIP: " },
		{ "0.4.1", { "CELLD_SHUTDOWN_TOTAL_MS=39999" }, "CELLD_DRAIN_TOKEN_WAIT_MS: " },
		{ "0.4.1",
		  { "CELLD_SHUTDOWN_TOTAL_MS=20000", "CELLD_DRAIN_TOKEN_WAIT_MS=15000" },
		  NULL },
		{ "0.4.0", { "CELLD_SHUTDOWN_TOTAL_MS=20000" }, NULL },
		{ "0.5.0", { "CELLD_SHUTDOWN_TOTAL_MS=20000" }, NULL },
	};
	CHECK(rows);
}

static void names_and_addresses(void **unused)
{
	(void)unused;
#define ANY "CELLD_INTERNAL_ADDR=0.0.0.0:0"
	static const struct row rows[] = {
		{ "0.4.0", { "CELLD_NODE=a/b" }, NULL },
		{ "0.4.1", { "CELLD_NODE=a/b" }, "CELLD_NODE: " },
		{ "0.6.2", { "CELLD_NODE=" }, "CELLD_NODE: " },
		{ "0.6.2", { "CELLD_NODE=.." }, "CELLD_NODE: " },
		{ "0.6.2", { "CELLD_NODE=shop-celld_0.A" }, NULL },
		{ "0.6.2", { "CELLD_NODE" }, NULL },
		{ "0.6.2", { "CELLD_ADDR=localhost:0" }, "CELLD_ADDR: " },
		{ "0.6.2", { "CELLD_INTERNAL_ADDR=celld:0" }, "CELLD_INTERNAL_ADDR: " },
		{ "0.6.2",
		  { "CELLD_ADDR=0.0.0.0:0", "CELLD_INTERNAL_ADDR" },
		  "CELLD_INTERNAL_ADDR: " },
		{ "0.1.0", { "CELLD_ADDR=0.0.0.0:0", "CELLD_INTERNAL_ADDR" }, NULL },
		{ "0.2.0", { ANY }, "CELLD_ADVERTISE: " },
		{ "0.2.0",
		  { "CELLD_ADVERTISE=10.0.0.1:1", "CELLD_INTERNAL_ADDR=" },
		  "CELLD_INTERNAL_ADDR: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=shop-0.shop.default.svc:8081" }, NULL },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=shop_0.shop:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=shop-0:0" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=shop-0" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=0.0.0.0:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=224.0.0.1:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=8.8.8.8:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2",
		  { ANY, "CELLD_ADVERTISE=8.8.8.8:8081", "CELLD_UNSAFE_PUBLIC_ADVERTISE=1" },
		  NULL },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=172.31.255.1:8081" }, NULL },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=172.32.0.1:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=100.127.0.1:8081" }, NULL },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=100.128.0.1:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=[fd00::1]:8081" }, NULL },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=fd00::1:8081" }, "CELLD_ADVERTISE: " },
		{ "0.6.2", { ANY, "CELLD_ADVERTISE=[2001:4860::1]:8081" }, "CELLD_ADVERTISE: " },
	};
	CHECK(rows);
}

static void storage(void **unused)
{
	(void)unused;
#define AZ	"CELLD_BUCKET=az://b"
#define ACCOUNT "AZURE_STORAGE_ACCOUNT_NAME=a"
	static const struct row rows[] = {
		{ "0.1.0", { "CELLD_BUCKET=b/p" }, "CELLD_BUCKET: " },
		{ "0.2.0", { "CELLD_BUCKET=s3://b/p-1/x_y." }, NULL },
		{ "0.2.0", { "CELLD_BUCKET=b/p q" }, "CELLD_BUCKET: " },
		{ "0.1.0", { "CELLD_BUCKET=gs://b" }, "CELLD_BUCKET: " },
		{ "0.2.0", { "CELLD_BUCKET=gs://b" }, NULL },
		{ "0.2.1", { AZ, ACCOUNT }, "CELLD_BUCKET: " },
		{ "0.3.0", { AZ, ACCOUNT }, NULL },
		{ "0.3.0", { AZ }, "AZURE_STORAGE_ACCOUNT_NAME: " },
		{ "0.6.2", { "CELLD_BUCKET=gs://b", "S3_ENDPOINT=http://s" }, "S3_ENDPOINT: " },
		{ "0.6.2", { "CELLD_BUCKET=gs://b", "S3_ENDPOINT=" }, NULL },
		{ "0.6.2", { AZ, ACCOUNT, "S3_ENDPOINT=http://s" }, "S3_ENDPOINT: " },
		{ "0.6.2",
		  { AZ, ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY=k", "AZURE_CLIENT_ID=c" },
		  "AZURE_STORAGE_ACCOUNT_KEY: " },
		{ "0.6.2", { AZ, ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY=k" }, NULL },
		{ "0.6.2",
		  { AZ, ACCOUNT, "AZURE_CLIENT_ID=c", "AZURE_OBJECT_ID=o" },
		  "AZURE_CLIENT_ID: " },
		{ "0.6.2", { AZ, ACCOUNT, "AZURE_TENANT_ID=t" }, "AZURE_FEDERATED_TOKEN_FILE: " },
		{ "0.6.2",
		  { AZ, ACCOUNT, "AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c",
		    "AZURE_FEDERATED_TOKEN_FILE=f" },
		  NULL },
		{ "0.6.2",
		  { AZ, ACCOUNT, "AZURE_STORAGE_SAS_TOKEN=s" },
		  "AZURE_STORAGE_SAS_TOKEN: " },
		{ "0.6.2",
		  { AZ, ACCOUNT, "AZURE_AUTHORITY_HOST=https://elsewhere" },
		  "AZURE_AUTHORITY_HOST: " },
		{ "0.6.2", { "AWS_ACCESS_KEY_ID=k" }, "AWS_SECRET_ACCESS_KEY: " },
		{ "0.6.2", { "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s" }, NULL },
	};
	CHECK(rows);
}

static void telemetry(void **unused)
{
	(void)unused;
#define OTEL "CELLD_OTEL=1"
	static const struct row rows[] = {
		{ "0.1.0", { "CELLD_OTEL=yes" }, NULL },
		{ "0.2.0", { "CELLD_OTEL=yes" }, "CELLD_OTEL: " },
		{ "0.4.1", { "CELLD_OTEL=http://otel:4318" }, "CELLD_OTEL: " },
		{ "0.5.0", { "CELLD_OTEL=http://otel:4318" }, NULL },
		{ "0.5.0", { "CELLD_OTEL=http://otel:4318?x=1" }, "CELLD_OTEL: " },
		{ "0.5.0", { "CELLD_OTEL=otel:4318" }, "CELLD_OTEL: " },
		{ "0.5.0", { "CELLD_OTEL=" }, "CELLD_OTEL: " },
		{ "0.3.0", { "CELLD_OTEL_SINK=file" }, "CELLD_OTEL_SINK: " },
		{ "0.3.0",
		  { "OTEL_EXPORTER_OTLP_ENDPOINT=otel" },
		  "OTEL_EXPORTER_OTLP_ENDPOINT: " },
		{ "0.5.0", { "OTEL_EXPORTER_OTLP_ENDPOINT=otel" }, NULL },
		{ "0.6.2", { "CELLD_OTEL_RETENTION=14d" }, NULL },
		{ "0.6.2", { "CELLD_OTEL_RETENTION=none" }, NULL },
		{ "0.6.2", { "CELLD_OTEL_RETENTION=2w" }, "CELLD_OTEL_RETENTION: " },
		{ "0.6.2", { "CELLD_OTEL_RETENTION=" }, "CELLD_OTEL_RETENTION: " },
		{ "0.6.2", { "OTEL_EXPORTER_OTLP_HEADERS=a=b,c=d" }, NULL },
		{ "0.6.2", { "OTEL_EXPORTER_OTLP_HEADERS=a" }, "OTEL_EXPORTER_OTLP_HEADERS: " },
		{ "0.6.2", { "OTEL_EXPORTER_OTLP_TIMEOUT=10s" }, "OTEL_EXPORTER_OTLP_TIMEOUT: " },
		{ "0.6.2", { "OTEL_TRACES_SAMPLER=jaeger_remote" }, "OTEL_TRACES_SAMPLER: " },
		{ "0.6.2",
		  { OTEL, "OTEL_TRACES_SAMPLER=traceidratio" },
		  "OTEL_TRACES_SAMPLER_ARG: " },
		{ "0.6.2",
		  { OTEL, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.1" },
		  NULL },
		{ "0.6.2", { OTEL, "OTEL_TRACES_SAMPLER=always_off" }, NULL },
	};
	CHECK(rows);
}

static void folders_must_be_writable(void **unused)
{
	(void)unused;
	check(&(struct row){ "0.6.2", { "CELLD_WATCH=/proc/celld" }, "CELLD_WATCH: " });
}

/* Which release an image reference names, by what --version prints. */
static void release_by_image(void **unused)
{
	(void)unused;
	static const struct {
		const char *env[3];
		int status;
		const char *text;
	} rows[] = {
		{ { "IMAGE=ghcr.io/denoland/celld:v0.4.1" }, 0, "celld 0.4.1\n" },
		{ { "IMAGE=ghcr.io/denoland/celld:0.4.1" }, 0, "celld 0.4.1\n" },
		{ { "IMAGE=localhost:5000/celld:v0.1.0@sha256:ab" }, 0, "celld 0.1.0\n" },
		{ { "IMAGE=celld:latest" }, 0, "celld 0.6.2\n" },
		{ { "IMAGE=celld:v0.6.9-rc.1" }, 0, "celld 0.6.9\n" },
		{ { "IMAGE=localhost:5000/celld" }, 2, "IMAGE=localhost:5000/celld" },
		{ { "IMAGE=celld:sha-1234" }, 2, "CELLD_SIM_VERSION" },
		{ { "IMAGE=celld:sha-1234", "CELLD_SIM_VERSION=v0.5.1" }, 0, "celld 0.5.1\n" },
		{ { "IMAGE=celld@sha256:cd", "CELLD_SIM_DIGESTS=sha256:ab=0.6.1,sha256:cd=v0.6.0" },
		  0,
		  "celld 0.6.0\n" },
		{ { "IMAGE=celld@sha256:c", "CELLD_SIM_DIGESTS=sha256:cd=0.6.0" },
		  2,
		  "no release" },
	};
	static const char *const words[] = { "--version", NULL };
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sim_node node;
		sim_node_start(&node, rows[i].env, words);
		assert_int_equal(sim_node_end(&node), rows[i].status);
		assert_non_null(strstr(node.text, rows[i].text));
		sim_node_done(&node);
	}
}

static void command_line(void **unused)
{
	(void)unused;
	static const struct {
		const char *words[4];
		const char *env[6];
		int status;
		const char *text;
	} rows[] = {
		{ { "--help" }, { NULL }, 0, "--internal-listen VALUE" },
		{ { NULL }, { "CELLD_ADDR", "CELLD_INTERNAL_ADDR", "CELLD_BUCKET" }, 0, "Usage:" },
		{ { "--durability", "fleet" }, { NULL }, 1, "unknown argument \"--durability\"" },
		{ { "--listen" }, { NULL }, 1, "--listen needs a value" },
		{ { "--listen", "localhost:1" }, { NULL }, 1, "CELLD_ADDR: " },
		{ { "--internal-listen", "127.0.0.1:0" },
		  { "IMAGE=celld:0.1.0" },
		  1,
		  "unknown argument" },
		{ { NULL }, { "CELLD_SIM_BROKEN_VERSIONS=v0.6.9,v0.6.2" }, 1, "0.6.2 is broken" },
		{ { NULL }, { "CELLD_SIM_FAULTS=nonsense" }, 2, "nonsense: not understood" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sim_node node;
		sim_node_start(&node, rows[i].env, rows[i].words);
		assert_int_equal(sim_node_end(&node), rows[i].status);
		assert_non_null(strstr(node.text, rows[i].text));
		sim_node_done(&node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removed_names),       cmocka_unit_test(typed_values),
		cmocka_unit_test(names_and_addresses), cmocka_unit_test(storage),
		cmocka_unit_test(telemetry),	       cmocka_unit_test(folders_must_be_writable),
		cmocka_unit_test(release_by_image),    cmocka_unit_test(command_line),
	};
	return cmocka_run_group_tests_name("celld_sim_env", tests, NULL, NULL);
}
