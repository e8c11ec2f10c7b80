/* The bucket, its dialect and the credentials that each dialect takes. */
#include "test/sim/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/release.h"

/* Takes "gs://" off; 0.1 knows S3 alone, gs came with 0.2 and az with 0.3. */
static int take_scheme(struct env_config *config, const char **value, char *message, size_t size)
{
	const char *colon = strstr(*value, "://");
	(void)snprintf(config->ownership, sizeof config->ownership, "s3");
	if (colon == NULL)
		return 0;
	static const struct {
		const char *name;
		int from;
	} schemes[] = { { "s3", 0 }, { "gs", V(0, 2, 0) }, { "az", V(0, 3, 0) } };
	size_t length = (size_t)(colon - *value);
	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		if (length != 2 || strncmp(*value, schemes[i].name, 2) != 0 ||
		    config->release < schemes[i].from)
			continue;
		(void)snprintf(config->ownership, sizeof config->ownership, "%s", schemes[i].name);
		*value = colon + 3;
		return 0;
	}
	return env_refuse(message, size, "CELLD_BUCKET", "\"%.*s\" is no supported storage",
			  (int)length, *value);
}

/* A prefix came with 0.2; which name 0.1 would have made of it is not known: it is refused here. */
static int take_bucket(struct env_config *config, const char *value, char *message, size_t size)
{
	size_t name = strcspn(value, "/");
	if (name == 0 || name >= sizeof config->bucket ||
	    strlen(value) - name >= sizeof config->prefix)
		return env_refuse(message, size, "CELLD_BUCKET", "\"%s\" names no bucket", value);
	(void)snprintf(config->bucket, sizeof config->bucket, "%.*s", (int)name, value);
	const char *prefix = value + name + strspn(value + name, "/");
	(void)snprintf(config->prefix, sizeof config->prefix, "%s", prefix);
	size_t length = strlen(config->prefix);
	while (length > 0 && config->prefix[length - 1] == '/')
		config->prefix[--length] = '\0';
	if (length > 0 && config->release < V(0, 2, 0))
		return env_refuse(message, size, "CELLD_BUCKET", "a prefix is not supported");
	size_t good = strspn(config->prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					     "0123456789-_./");
	if (good != length)
		return env_refuse(message, size, "CELLD_BUCKET",
				  "the prefix \"%s\" has a character outside A-Z a-z 0-9 - _ . /",
				  config->prefix);
	return 0;
}

static int check_s3(struct env_config *config, char *message, size_t size)
{
	const char *key = env_text("AWS_ACCESS_KEY_ID");
	const char *secret = env_text("AWS_SECRET_ACCESS_KEY");
	if ((key == NULL) != (secret == NULL))
		return env_refuse(message, size,
				  key == NULL ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
				  "is missing: the access key needs both parts");
	const char *region = env_text("AWS_REGION");
	region = region != NULL ? region : env_text("AWS_DEFAULT_REGION");
	(void)snprintf(config->region, sizeof config->region, "%s",
		       region != NULL ? region : "us-east-1");
	const char *endpoint = env_text("S3_ENDPOINT");
	if (endpoint == NULL && config->release >= V(0, 6, 1)) {
		endpoint = env_text("AWS_ENDPOINT_URL");
		endpoint = endpoint != NULL ? endpoint : env_text("AWS_ENDPOINT");
	}
	if (endpoint != NULL && strncmp(endpoint, "http://", 7) != 0 &&
	    strncmp(endpoint, "https://", 8) != 0)
		return env_refuse(message, size, "S3_ENDPOINT", "\"%s\" is no http(s) address",
				  endpoint);
	if (endpoint != NULL)
		(void)snprintf(config->endpoint, sizeof config->endpoint, "%s", endpoint);
	return 0;
}

static int check_azure_names(char *message, size_t size)
{
	/* Every other AZURE_* name that the storage library would read stops the start; this is its
	 * list. */
	static const char *const known[] = {
		"AZURE_STORAGE_ACCESS_KEY",
		"AZURE_STORAGE_MASTER_KEY",
		"AZURE_STORAGE_CLIENT_ID",
		"AZURE_STORAGE_CLIENT_SECRET",
		"AZURE_CLIENT_SECRET",
		"AZURE_STORAGE_TENANT_ID",
		"AZURE_STORAGE_AUTHORITY_ID",
		"AZURE_AUTHORITY_ID",
		"AZURE_STORAGE_SAS_KEY",
		"AZURE_STORAGE_SAS_TOKEN",
		"AZURE_STORAGE_TOKEN",
		"AZURE_STORAGE_ENDPOINT",
		"AZURE_ENDPOINT",
		"AZURE_STORAGE_AUTHORITY_HOST",
		"AZURE_USE_AZURE_CLI",
		"AZURE_SKIP_SIGNATURE",
		"AZURE_CONTAINER_NAME",
		"AZURE_DISABLE_TAGGING",
		"AZURE_USE_FABRIC_ENDPOINT",
		"AZURE_FABRIC_TOKEN_SERVICE_URL",
		"AZURE_FABRIC_WORKLOAD_HOST",
		"AZURE_FABRIC_SESSION_TOKEN",
		"AZURE_FABRIC_CLUSTER_IDENTIFIER",
		"AZURE_IDENTITY_ENDPOINT",
		"AZURE_MSI_ENDPOINT",
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (getenv(known[i]) != NULL)
			return env_refuse(message, size, known[i], "is not supported");
	const char *host = env_text("AZURE_AUTHORITY_HOST");
	if (host != NULL && strcmp(host, "https://login.microsoftonline.com") != 0 &&
	    strcmp(host, "https://login.microsoftonline.com/") != 0)
		return env_refuse(message, size, "AZURE_AUTHORITY_HOST",
				  "only the public cloud is supported");
	return 0;
}

/* Exactly one of: account key, workload identity, managed identity (system-assigned when nothing is
 * named). */
static int check_azure_family(char *message, size_t size)
{
	bool client = env_text("AZURE_CLIENT_ID") != NULL;
	bool tenant = env_text("AZURE_TENANT_ID") != NULL;
	bool token = env_text("AZURE_FEDERATED_TOKEN_FILE") != NULL;
	bool object = env_text("AZURE_OBJECT_ID") != NULL;
	bool resource = env_text("AZURE_MSI_RESOURCE_ID") != NULL;
	if (env_text("AZURE_STORAGE_ACCOUNT_KEY") != NULL) {
		if (client || tenant || token || object || resource)
			return env_refuse(message, size, "AZURE_STORAGE_ACCOUNT_KEY",
					  "cannot be mixed with an identity (AZURE_CLIENT_ID, "
					  "AZURE_TENANT_ID, AZURE_FEDERATED_TOKEN_FILE, ...)");
		return 0;
	}
	if (tenant || token) {
		if (!client || !tenant || !token || object || resource)
			return env_refuse(
				message, size, "AZURE_FEDERATED_TOKEN_FILE",
				"workload identity takes AZURE_CLIENT_ID, AZURE_TENANT_ID "
				"and AZURE_FEDERATED_TOKEN_FILE and nothing else");
		return 0;
	}
	if (client + object + resource > 1)
		return env_refuse(message, size, "AZURE_CLIENT_ID",
				  "a managed identity takes one of AZURE_CLIENT_ID, "
				  "AZURE_OBJECT_ID and AZURE_MSI_RESOURCE_ID");
	return 0;
}

static int check_azure(char *message, size_t size)
{
	if (env_text("AZURE_STORAGE_ACCOUNT_NAME") == NULL)
		return env_refuse(message, size, "AZURE_STORAGE_ACCOUNT_NAME",
				  "is required for an az:// bucket");
	if (check_azure_names(message, size) != 0)
		return -1;
	const char *emulator = getenv("AZURE_STORAGE_USE_EMULATOR");
	if (emulator != NULL && strcmp(emulator, "true") == 0)
		return 0;
	return check_azure_family(message, size);
}

int env_load_storage(struct env_config *config, char *message, size_t size)
{
	const char *value = env_text("CELLD_BUCKET");
	/* What follows 0.3 when the bucket is missing is not known; it is taken to boot without one
	 * as before. */
	(void)snprintf(config->ownership, sizeof config->ownership, "memory");
	if (value == NULL)
		return 0;
	if (take_scheme(config, &value, message, size) != 0 ||
	    take_bucket(config, value, message, size) != 0)
		return -1;
	if (strcmp(config->ownership, "s3") == 0)
		return check_s3(config, message, size);
	if (env_text("S3_ENDPOINT") != NULL)
		return env_refuse(message, size, "S3_ENDPOINT",
				  "cannot be combined with a %s:// bucket", config->ownership);
	return strcmp(config->ownership, "az") == 0 ? check_azure(message, size) : 0;
}
