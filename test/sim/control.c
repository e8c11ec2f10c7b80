/*
 * Faults, scripted from outside while the node runs. Three ways in, all with the same words:
 *
 *   POST to CELLD_SIM_CONTROL_ADDR (0.0.0.0:9091; "off": none), words in the body or in the path:
 *     curl -d 'restoring=3' http://POD:9091/   or   curl -X POST http://POD:9091/fence
 *   celld-sim ctl WORD...   over the socket CELLD_SIM_SOCKET (/tmp/celld-sim.sock; "off": none), for
 *     kubectl exec POD -- celld-sim ctl restoring=3; without a word it prints all
 *   CELLD_SIM_FAULTS=WORD,WORD   from the start
 *
 * Both listeners of this channel answer from the start on, also while celld's own are still silent.
 *
 *   restoring=N evicting=N occupied=N swapping=N rss=BYTES   the number in /state, held
 *   shedding=WORD | shedding=null       memory, rss-hard, rss, cpu: as written
 *   unready                             health answers 503
 *   starting                            never becomes ready
 *   silent[=all|public|internal]        accepts and reads, never answers (dropped after a minute)
 *   hang[=all|public|internal]          does not accept or read
 *   slow=MS[:public|:internal]          each answer comes late
 *   garbage[=KIND]                      a wrong /state: truncated (default), empty, html, array, utf8, stopped, 500,
 *                                       503, string, null, fraction, negative, missing, dup
 *   adopt_fail                          deployments that differ fail to load
 *   drain_ms=MS swap_ms=MS restore_ms=MS poll_ms=MS   lengths, as the variables below
 *   KEY=off                             takes one of the above back (not the lengths)
 *   reset, clear                        takes all of them back
 *   deploy=VERSION                      adopts that version now (0.4 and later)
 *   drain                               what SIGTERM does
 *   drained                             ends the drain that is going on
 *   fence                               SELF-FENCE, exit status 3
 *   exit=STATUS                         ends at once
 *
 * Other variables of the simulator:
 *   IMAGE                       its tag is the release
 *   CELLD_SIM_VERSION           the release, above all
 *   CELLD_SIM_DIGESTS           sha256:HEX=RELEASE,... for references by digest
 *   CELLD_SIM_BROKEN_VERSIONS   releases that exit with status 1
 *   CELLD_SIM_START_MS (200), CELLD_SIM_RESTORING (2), CELLD_SIM_RESTORE_MS (500), CELLD_SIM_DRAIN_MS (300),
 *   CELLD_SIM_SWAP_MS (200), CELLD_SIM_CELLS (2), CELLD_SIM_POLL_MS (CELLD_DEPLOY_POLL_S)
 *   CELLD_SIM_GATE_MS (0)       how long the fleet gate of 0.4 and later keeps health at 503
 *   CELLD_SIM_WORKER            "200 text"; "none": no Worker
 *   CELLD_SIM_POINTER           the file that stands for the bucket's deploy/current.json
 *   CELLD_SIM_POINTERS          a folder of such files, by the name of the bucket (CELLD_BUCKET with '_' for every
 *                               character but letters and digits, and ".json"); no file: as without
 *   CELLD_SIM_BUCKET            1: the bucket must answer, 0: it is never asked; unset: asked when S3_ENDPOINT is set,
 *                               and done without when nothing answers
 *   CELLD_SIM_APP_VERSION and CELLD_SIM_APP_SCRIPT   what is served without a pointer
 *   CELLD_SIM_TERMINATION_LOG   /dev/termination-log
 */
#include "test/sim/sim.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, SWITCH, WHERE, LENGTH, SLOW, SHEDDING, GARBAGE };

struct key {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define FAULT(member)	offsetof(struct sim, faults.member)
#define SETTING(member) offsetof(struct sim, set.member)

static const struct key keys[] = {
	{ "restoring", NUMBER, FAULT(restoring) },
	{ "evicting", NUMBER, FAULT(evicting) },
	{ "occupied", NUMBER, FAULT(occupied) },
	{ "swapping", NUMBER, FAULT(swapping) },
	{ "rss", NUMBER, FAULT(rss) },
	{ "unready", SWITCH, FAULT(unready) },
	{ "starting", SWITCH, FAULT(starting) },
	{ "adopt_fail", SWITCH, FAULT(adopt_fail) },
	{ "silent", WHERE, FAULT(silent) },
	{ "hang", WHERE, FAULT(hang) },
	{ "drain_ms", LENGTH, SETTING(drain_ms) },
	{ "swap_ms", LENGTH, SETTING(swap_ms) },
	{ "restore_ms", LENGTH, SETTING(restore_ms) },
	{ "poll_ms", LENGTH, SETTING(poll_ms) },
	{ "slow", SLOW, 0 },
	{ "shedding", SHEDDING, 0 },
	{ "garbage", GARBAGE, 0 },
};

void control_clear(struct sim_faults *faults)
{
	memset(faults, 0, sizeof *faults);
	faults->restoring = faults->evicting = faults->occupied = faults->swapping = faults->rss =
		-1;
}

const char *control_socket(void)
{
	const char *path = env_text("CELLD_SIM_SOCKET");
	return path != NULL ? path : "/tmp/celld-sim.sock";
}

static bool set_where(int *mask, const char *value)
{
	if (value == NULL || strcmp(value, "all") == 0)
		*mask = SIM_BOTH;
	else if (strcmp(value, "public") == 0)
		*mask = SIM_MASK(SIM_PUBLIC);
	else if (strcmp(value, "internal") == 0)
		*mask = SIM_MASK(SIM_INTERNAL);
	else
		return false;
	return true;
}

static bool set_slow(struct sim_faults *faults, char *value)
{
	char *where = value != NULL ? strchr(value, ':') : NULL;
	if (where != NULL)
		*where++ = '\0';
	return value != NULL && env_parse_uint(value, &faults->slow) &&
	       set_where(&faults->slow_on, where);
}

static bool set_garbage(struct sim_faults *faults, const char *value)
{
	static const char kinds[] = " truncated empty html array utf8 stopped 500 503 string null "
				    "fraction negative missing dup ";
	char word[24];
	value = value != NULL ? value : "truncated";
	(void)snprintf(word, sizeof word, " %s ", value);
	if (value[0] == '\0' || strlen(value) >= sizeof faults->garbage ||
	    strstr(kinds, word) == NULL)
		return false;
	(void)snprintf(faults->garbage, sizeof faults->garbage, "%s", value);
	return true;
}

static bool set_shedding(struct sim_faults *faults, const char *value)
{
	if (value == NULL || value[0] == '\0' || strlen(value) >= sizeof faults->shedding)
		return false;
	faults->shedding_set = strcmp(value, "null") != 0;
	(void)snprintf(faults->shedding, sizeof faults->shedding, "%s", value);
	return true;
}

static void take_back(struct sim *sim, const struct key *key)
{
	char *member = (char *)sim + key->offset;
	switch (key->kind) {
	case NUMBER:
		*(long long *)(void *)member = -1;
		break;
	case SWITCH:
		*(bool *)(void *)member = false;
		break;
	case WHERE:
		*(int *)(void *)member = 0;
		break;
	case SLOW:
		sim->faults.slow = 0;
		break;
	case SHEDDING:
		sim->faults.shedding_set = false;
		break;
	case GARBAGE:
		sim->faults.garbage[0] = '\0';
		break;
	case LENGTH:
		break;
	}
}

static bool set_key(struct sim *sim, const struct key *key, char *value)
{
	char *member = (char *)sim + key->offset;
	if (value != NULL && strcmp(value, "off") == 0 && key->kind != LENGTH) {
		take_back(sim, key);
		return true;
	}
	switch (key->kind) {
	case NUMBER:
	case LENGTH:
		return value != NULL && env_parse_uint(value, (long long *)(void *)member) &&
		       *(long long *)(void *)member < 1000000000000000LL;
	case SWITCH:
		*(bool *)(void *)member = value == NULL || strcmp(value, "0") != 0;
		return true;
	case WHERE:
		return set_where((int *)(void *)member, value);
	case SLOW:
		return set_slow(&sim->faults, value);
	case SHEDDING:
		return set_shedding(&sim->faults, value);
	case GARBAGE:
		return set_garbage(&sim->faults, value);
	}
	return false;
}

static bool act(struct sim *sim, const char *name, const char *value)
{
	long long status = 0;
	if (strcmp(name, "reset") == 0 || strcmp(name, "clear") == 0)
		control_clear(&sim->faults);
	else if (strcmp(name, "drain") == 0)
		sim->stop = true;
	else if (strcmp(name, "drained") == 0)
		sim->drain_end_ms = sim_now();
	else if (strcmp(name, "fence") == 0)
		sim_die(3, "SELF-FENCE: node lease of %s is lost", sim->config.node);
	else if (strcmp(name, "exit") == 0 && value != NULL && env_parse_uint(value, &status) &&
		 status < 256)
		sim_die((int)status, "celld-sim: scripted exit with status %lld", status);
	else if (strcmp(name, "deploy") == 0 && value != NULL)
		return deploy_set(sim, value, sim_now());
	else
		return false;
	return true;
}

bool control_apply(struct sim *sim, char *word, char *message, size_t size)
{
	char *value = strchr(word, '=');
	if (value != NULL)
		*value++ = '\0';
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (strcmp(keys[i].name, word) != 0)
			continue;
		if (set_key(sim, &keys[i], value))
			return true;
		(void)snprintf(message, size, "%s: bad value \"%.64s\"\n", word,
			       value != NULL ? value : "");
		return false;
	}
	if (act(sim, word, value))
		return true;
	(void)snprintf(message, size, "%.64s: not understood\n", word);
	return false;
}

bool control_apply_all(struct sim *sim, char *words, char *message, size_t size)
{
	char *rest = NULL;
	for (char *word = strtok_r(words, ", &\r\n", &rest); word != NULL;
	     word = strtok_r(NULL, ", &\r\n", &rest)) {
		sim_event("celld-sim: %s", word);
		if (!control_apply(sim, word, message, size))
			return false;
	}
	return true;
}

/* What the node is and what is scripted. */
static char *show(const struct sim *sim)
{
	static const char *const phases[] = { "starting", "ready", "draining" };
	cJSON *doc = cJSON_CreateObject();
	cJSON_AddStringToObject(doc, "version", sim->release);
	cJSON_AddStringToObject(doc, "node", sim->config.node);
	cJSON_AddStringToObject(doc, "phase", phases[sim->phase]);
	cJSON_AddStringToObject(doc, "deployment", sim->deploy.now.version);
	cJSON *faults = cJSON_AddObjectToObject(doc, "faults");
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const void *member = (const char *)sim + keys[i].offset;
		if (keys[i].kind == NUMBER && *(const long long *)member >= 0)
			cJSON_AddNumberToObject(faults, keys[i].name,
						(double)*(const long long *)member);
		else if ((keys[i].kind == SWITCH && *(const bool *)member) ||
			 (keys[i].kind == WHERE && *(const int *)member != 0))
			cJSON_AddTrueToObject(faults, keys[i].name);
	}
	if (sim->faults.slow > 0)
		cJSON_AddNumberToObject(faults, "slow", (double)sim->faults.slow);
	if (sim->faults.garbage[0] != '\0')
		cJSON_AddStringToObject(faults, "garbage", sim->faults.garbage);
	if (sim->faults.shedding_set)
		cJSON_AddStringToObject(faults, "shedding", sim->faults.shedding);
	char *text = cJSON_PrintUnformatted(doc);
	cJSON_Delete(doc);
	return text;
}

struct words {
	size_t length;
	char text[4096];
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, char *body)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(body), body, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		free(body);
		return MHD_NO;
	}
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_control(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct sim *sim = arg;
	struct words *words = *state;
	char message[128] = "ok\n";
	(void)version;
	if (words == NULL) {
		*state = words = calloc(1, sizeof *words);
		return words != NULL ? MHD_YES : MHD_NO;
	}
	if (*size > 0) {
		if (*size >= sizeof words->text - words->length)
			return MHD_NO;
		memcpy(words->text + words->length, data, *size);
		words->length += *size;
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(method, "POST") != 0 && strcmp(method, "PUT") != 0)
		return reply(connection, 200, show(sim));
	if (words->length == 0 && strlen(path) < sizeof words->text)
		memcpy(words->text, path + 1, strlen(path));
	bool good = control_apply_all(sim, words->text, message, sizeof message);
	return reply(connection, good ? 200 : 400, strdup(message));
}

static void on_end(void *arg, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode code)
{
	(void)arg;
	(void)connection;
	(void)code;
	free(*state);
	*state = NULL;
}

bool control_start(struct sim *sim, enum sim_listener listener)
{
	sim->daemon[listener] = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_control, sim, MHD_OPTION_LISTEN_SOCKET,
		sim->fd[listener], MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
	return sim->daemon[listener] != NULL;
}

int control_client(int count, char **words)
{
	char text[4096] = "";
	size_t used = 0;
	long status = 0;
	for (int i = 0; i < count; i++) {
		size_t length = strlen(words[i]);
		if (length >= sizeof text - used - 1) {
			(void)fputs("celld-sim ctl: too long\n", stderr);
			return 2;
		}
		memcpy(text + used, words[i], length);
		used += length;
		text[used++] = '\n';
	}
	CURL *easy = curl_easy_init();
	if (easy == NULL)
		return 2;
	curl_easy_setopt(easy, CURLOPT_URL, "http://celld-sim/");
	curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, control_socket());
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, 10L);
	if (count > 0) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)used);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, text);
	}
	CURLcode code = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(easy);
	/* The answer to fence or exit is the end of the connection. */
	if (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR)
		return 0;
	if (code != CURLE_OK)
		(void)fprintf(stderr, "celld-sim ctl: %s: %s\n", control_socket(),
			      curl_easy_strerror(code));
	return code == CURLE_OK && status == 200 ? 0 : 1;
}
