/*
 * One simulated celld node. Single threaded: main.c's loop waits on everything and calls the other
 * files; nothing here blocks. All times are milliseconds of the monotonic clock.
 */
#ifndef TEST_SIM_SIM_H
#define TEST_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <curl/curl.h>
#include <microhttpd.h>
#include <cjson/cJSON.h>

#include "test/sim/env.h"
#include "test/sim/release.h"

enum sim_phase { SIM_STARTING, SIM_READY, SIM_DRAINING };

enum sim_listener { SIM_PUBLIC, SIM_INTERNAL, SIM_CONTROL, SIM_SOCKET, SIM_LISTENERS };

/* Bits for faults that concern either listener. */
#define SIM_MASK(listener) (1 << (listener))
#define SIM_BOTH	   (SIM_MASK(SIM_PUBLIC) | SIM_MASK(SIM_INTERNAL))

/* Scripted by the control channel (control.c says what each does). -1: not set. */
struct sim_faults {
	long long restoring, evicting, occupied, swapping, rss, slow;
	int slow_on, silent, hang; /* SIM_MASK bits */
	bool unready, starting, adopt_fail, shedding_set;
	char shedding[32]; /* empty: null */
	char garbage[16];  /* empty: a right answer */
};

struct sim_settings {
	long long start_ms, restoring, restore_ms, drain_ms, swap_ms, gate_ms, cells, poll_ms;
};

#define SIM_OLD 8

struct sim_generation {
	long long number;
	char version[129];
};

/* What deploy/current.json says. */
struct sim_pointer {
	char script[129], version[129], prefix[320];
};

enum sim_source { SOURCE_NONE, SOURCE_DEFAULT, SOURCE_FILE, SOURCE_BUCKET, SOURCE_TRY_BUCKET };

enum sim_fetch { FETCH_IDLE, FETCH_BUSY, FETCH_FOUND, FETCH_MISSING, FETCH_BROKEN, FETCH_FAILED };

struct sim_deploy {
	enum sim_source source;
	enum sim_fetch fetch;
	struct sim_pointer seen; /* filled by FETCH_FOUND */
	char problem[256];	 /* of FETCH_BROKEN and FETCH_FAILED */
	CURL *easy;
	struct curl_slist *headers;
	char body[16384];
	size_t length;
	long long next_ms; /* when to look again */

	bool serving; /* a deployment runs */
	struct sim_pointer now;
	long long generation, adopted_ms;
	struct sim_generation old[SIM_OLD]; /* generations that still hold work */
	int olds;
	struct sim_pointer failed; /* not tried again until the pointer changes */
	bool forced;		   /* /reload waits for the fetch */
	unsigned reloads;	   /* finished reloads */
	int reload_status;
	char reload_body[1024];
};

struct sim_request;

struct sim {
	struct env_config config;
	struct sim_settings set;
	struct sim_faults faults;
	struct sim_deploy deploy;
	char release[32];
	enum sim_phase phase;
	long long start_ms, ready_ms, drain_ms, drain_end_ms;
	bool stop; /* drain was asked for */
	bool preserve, paused;
	unsigned long long publishes, stops;
	int fd[SIM_LISTENERS]; /* listening sockets, -1 when there is none */
	struct MHD_Daemon *daemon[SIM_LISTENERS];
	struct sim_request *waiting; /* suspended requests */
	CURLM *multi;
	int worker_status;
	char worker_body[256];
};

long long sim_now(void);

/* Without a bucket a node has no lease, no deployment and answers 404 to everything. */
bool sim_has_bucket(const struct sim *sim);

/* One line on standard output. */
void sim_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Ends the process with a line on standard error (standard output for a self-fence, as celld does
 * not say which) that is also put into the termination log when that file exists and may be
 * written.
 */
void sim_die(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* state.c: the document of GET /state; the caller deletes it. */
cJSON *sim_state(const struct sim *sim, long long now);
/* Cells that occupy the node now, the backlog of cells that start, the cells that still have to
 * move. */
long long sim_occupied(const struct sim *sim, long long now);
long long sim_restoring(const struct sim *sim, long long now);
long long sim_swapping(const struct sim *sim, long long now);
/* Name of the nth resident cell. */
void sim_scope(long long n, char out[40]);

/* http.c: answers of both listeners. */
bool http_start(struct sim *sim, enum sim_listener listener);
/* Resumes what has waited long enough; returns milliseconds until something else will have, or -1. */
long long http_tick(struct sim *sim, long long now);
void http_stop(struct sim *sim);

/* websocket.c: what asks for one has a key, else NULL; an accepted one echoes until it ends. */
const char *websocket_key(struct MHD_Connection *connection);
enum MHD_Result websocket_accept(struct MHD_Connection *connection, const char *key);
/* Readable when websocket_tick has something to do; -1 while there was none. */
int websocket_fd(void);
void websocket_tick(void);
/* Ends all of them: going away. */
void websocket_stop(void);

/* routes.c: the answer to one request. body is freed by free(); extra: the two headers of a
 * draining node. */
struct answer {
	int status;
	char *body;
	const char *type;
	bool extra;
	bool wait_reload; /* no answer yet: ask again when deploy.reloads has changed */
};
void routes_answer(struct sim *sim, enum sim_listener listener, const char *method,
		   const char *path, const char *handoff, struct answer *out);
/* Whether the health path answers 200. */
bool routes_healthy(const struct sim *sim, long long now);
const char *routes_health_path(int release);

/* deploy.c: pointer and adoption. */
void deploy_init(struct sim *sim);
/* Fetches when due, takes what has been fetched. */
void deploy_tick(struct sim *sim, long long now);
/* Starts POST /reload. Returns false when there is nothing to reload from. */
bool deploy_reload(struct sim *sim, long long now);
/* As though the pointer named this version (16 hexadecimal digits); false when it is none. */
bool deploy_set(struct sim *sim, const char *version, long long now);
void deploy_done(struct sim *sim);

/* pointer.c: reads the pointer file or object. */
bool pointer_parse(const char *text, struct sim_pointer *out, char *problem, size_t size);
/* The file that stands for the bucket's pointer; NULL: none. */
const char *pointer_path(void);
void pointer_begin(struct sim *sim);
/* Looks whether a transfer has ended. */
void pointer_poll(struct sim *sim);

/* control.c: faults. Applies one "key" or "key=value"; false with a message when it is not
 * understood. */
bool control_apply(struct sim *sim, char *word, char *message, size_t size);
/* Applies words that are separated by comma, space, & or line end; stops at the first that is
 * wrong. */
bool control_apply_all(struct sim *sim, char *words, char *message, size_t size);
void control_clear(struct sim_faults *faults);
bool control_start(struct sim *sim, enum sim_listener listener);
/* "celld-sim ctl ...": returns the exit status. */
int control_client(int count, char **words);
const char *control_socket(void);

/* listen.c: bound sockets. Each returns a descriptor, or -1 with errno. */
int listen_tcp(const struct env_address *at);
int listen_unix(const char *path);
/* "127.0.0.1:8080" of a bound socket. */
void listen_name(int fd, char out[80]);

#endif
