/*
 * Reads deploy/current.json: from the file CELLD_SIM_POINTER, or from the bucket with one S3 GET
 * that curl signs when an access key is there.
 */
#include "test/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_version(const char *text)
{
	size_t length = strlen(text);
	return length > 0 && length <= 128 &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
		       length;
}

/* Whether the prefix is deploy/<script>/<version>. */
static bool fits(const char *prefix, const char *version)
{
	size_t length = strlen(prefix), tail = strlen(version);
	return strncmp(prefix, "deploy/", 7) == 0 && length > tail + 1 &&
	       prefix[length - tail - 1] == '/' && strcmp(prefix + length - tail, version) == 0;
}

static const char *member(const cJSON *doc, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, name));
}

bool pointer_parse(const char *text, struct sim_pointer *out, char *problem, size_t size)
{
	cJSON *doc = cJSON_ParseWithOpts(text, NULL, 1);
	const char *script = member(doc, "script_name");
	const char *version = member(doc, "version");
	const char *prefix = member(doc, "prefix");
	bool good = version != NULL && prefix != NULL && is_version(version) &&
		    strlen(prefix) < sizeof out->prefix && fits(prefix, version);
	memset(out, 0, sizeof *out);
	if (good) {
		(void)snprintf(out->script, sizeof out->script, "%s", script != NULL ? script : "");
		(void)snprintf(out->version, sizeof out->version, "%s", version);
		(void)snprintf(out->prefix, sizeof out->prefix, "%s", prefix);
	} else {
		(void)snprintf(
			problem, size,
			"deploy/current.json is malformed: version \"%.64s\", prefix \"%.64s\"",
			version != NULL ? version : "", prefix != NULL ? prefix : "");
	}
	cJSON_Delete(doc);
	return good;
}

static enum sim_fetch parsed(struct sim_deploy *deploy)
{
	deploy->body[deploy->length] = '\0';
	return pointer_parse(deploy->body, &deploy->seen, deploy->problem, sizeof deploy->problem)
		       ? FETCH_FOUND
		       : FETCH_BROKEN;
}

/* An absent file is an absent pointer; so is an empty one, as a file is not written in one step. */
static enum sim_fetch read_file(struct sim_deploy *deploy, const char *path)
{
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		(void)snprintf(deploy->problem, sizeof deploy->problem, "%s: %s", path,
			       strerror(errno));
		return errno == ENOENT ? FETCH_MISSING : FETCH_FAILED;
	}
	deploy->length = fread(deploy->body, 1, sizeof deploy->body - 1, file);
	(void)fclose(file);
	(void)snprintf(deploy->problem, sizeof deploy->problem, "%s: empty", path);
	return deploy->length == 0 ? FETCH_MISSING : parsed(deploy);
}

static size_t on_body(char *data, size_t one, size_t size, void *arg)
{
	struct sim_deploy *deploy = arg;
	(void)one;
	if (size >= sizeof deploy->body - deploy->length)
		return 0;
	memcpy(deploy->body + deploy->length, data, size);
	deploy->length += size;
	return size;
}

static void object_url(const struct env_config *config, char *url, size_t size)
{
	const char *slash = config->prefix[0] != '\0' ? "/" : "";
	size_t length = strlen(config->endpoint);
	while (length > 0 && config->endpoint[length - 1] == '/')
		length--;
	if (length > 0)
		(void)snprintf(url, size, "%.*s/%s/%s%sdeploy/current.json", (int)length,
			       config->endpoint, config->bucket, config->prefix, slash);
	else
		(void)snprintf(url, size, "https://%s.s3.%s.amazonaws.com/%s%sdeploy/current.json",
			       config->bucket, config->region, config->prefix, slash);
}

static void sign(struct sim_deploy *deploy, const struct env_config *config)
{
	const char *key = env_text("AWS_ACCESS_KEY_ID");
	const char *secret = env_text("AWS_SECRET_ACCESS_KEY");
	const char *token = env_text("AWS_SESSION_TOKEN");
	char text[4096];
	if (key == NULL || secret == NULL)
		return;
	(void)snprintf(text, sizeof text, "aws:amz:%s:s3", config->region);
	curl_easy_setopt(deploy->easy, CURLOPT_AWS_SIGV4, text);
	curl_easy_setopt(deploy->easy, CURLOPT_USERNAME, key);
	curl_easy_setopt(deploy->easy, CURLOPT_PASSWORD, secret);
	/* Versions of curl that do not add it by themselves leave it to us; the object store asks
	 * for it. */
	deploy->headers =
		curl_slist_append(deploy->headers, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
	if (token != NULL) {
		(void)snprintf(text, sizeof text, "x-amz-security-token: %s", token);
		deploy->headers = curl_slist_append(deploy->headers, text);
	}
	curl_easy_setopt(deploy->easy, CURLOPT_HTTPHEADER, deploy->headers);
}

const char *pointer_path(void)
{
	static char path[512];
	const char *file = env_text("CELLD_SIM_POINTER"), *folder = env_text("CELLD_SIM_POINTERS");
	const char *bucket = env_text("CELLD_BUCKET");
	size_t at;

	if (file != NULL || folder == NULL || bucket == NULL)
		return file;
	(void)snprintf(path, sizeof path, "%s/", folder);
	at = strlen(path);
	(void)snprintf(path + at, sizeof path - at, "%s.json", bucket);
	for (; path[at] != '\0' && strcmp(path + at, ".json") != 0; at++) {
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
			   path[at]) == NULL)
			path[at] = '_';
	}
	return access(path, R_OK) == 0 ? path : NULL;
}

void pointer_begin(struct sim *sim)
{
	struct sim_deploy *deploy = &sim->deploy;
	char url[1200];
	bool attempt = deploy->source == SOURCE_TRY_BUCKET;
	deploy->length = 0;
	if (deploy->source == SOURCE_FILE) {
		deploy->fetch = read_file(deploy, pointer_path());
		return;
	}
	deploy->easy = curl_easy_init();
	if (deploy->easy == NULL)
		sim_die(2, "celld-sim: no memory for a transfer");
	object_url(&sim->config, url, sizeof url);
	curl_easy_setopt(deploy->easy, CURLOPT_URL, url);
	curl_easy_setopt(deploy->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(deploy->easy, CURLOPT_WRITEDATA, deploy);
	curl_easy_setopt(deploy->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(deploy->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(deploy->easy, CURLOPT_CONNECTTIMEOUT_MS, attempt ? 1000L : 3000L);
	curl_easy_setopt(deploy->easy, CURLOPT_TIMEOUT_MS, attempt ? 3000L : 15000L);
	if (env_text("SSL_CERT_FILE") != NULL)
		curl_easy_setopt(deploy->easy, CURLOPT_CAINFO, env_text("SSL_CERT_FILE"));
	sign(deploy, &sim->config);
	deploy->fetch = FETCH_BUSY;
	curl_multi_add_handle(sim->multi, deploy->easy);
}

static enum sim_fetch outcome(struct sim_deploy *deploy, CURLcode code, long status)
{
	if (code != CURLE_OK) {
		(void)snprintf(deploy->problem, sizeof deploy->problem, "object store: %s",
			       curl_easy_strerror(code));
		return code == CURLE_WRITE_ERROR ? FETCH_BROKEN : FETCH_FAILED;
	}
	if (status == 200)
		return parsed(deploy);
	(void)snprintf(deploy->problem, sizeof deploy->problem, "object store: status %ld", status);
	return status == 404 ? FETCH_MISSING : FETCH_BROKEN;
}

void pointer_poll(struct sim *sim)
{
	struct sim_deploy *deploy = &sim->deploy;
	int left = 0;
	CURLMsg *done = curl_multi_info_read(sim->multi, &left);
	if (done == NULL || done->msg != CURLMSG_DONE)
		return;
	long status = 0;
	CURLcode code = done->data.result;
	curl_easy_getinfo(deploy->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_multi_remove_handle(sim->multi, deploy->easy);
	curl_easy_cleanup(deploy->easy);
	curl_slist_free_all(deploy->headers);
	deploy->easy = NULL;
	deploy->headers = NULL;
	deploy->fetch = outcome(deploy, code, status);
}
