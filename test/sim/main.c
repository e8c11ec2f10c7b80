/*
 * celld-sim: stands in for celld in a test bed. It takes the release from the tag of the image
 * reference in IMAGE and behaves as that release is known to: refused variables, listeners, silence
 * before readiness, /state, drain, exit statuses. control.c lists the variables and the faults that
 * can be scripted.
 *
 * Exit statuses 0, 1 and 3 are celld's; 2 says that the simulator itself is not set up.
 */
#include "test/sim/sim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct sim the_sim;

long long sim_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool sim_has_bucket(const struct sim *sim)
{
	return strcmp(sim->config.ownership, "memory") != 0;
}

void sim_event(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)putchar('\n');
	(void)fflush(stdout);
}

void sim_die(int status, const char *format, ...)
{
	char line[1024];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(line, sizeof line, format, args);
	va_end(args);
	(void)fprintf(status == 3 || status == 0 ? stdout : stderr, "%s\n", line);
	const char *log = env_text("CELLD_SIM_TERMINATION_LOG");
	/* Never created: outside a pod the name does not exist. */
	int fd = open(log != NULL ? log : "/dev/termination-log", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t written = write(fd, line, strlen(line));
		(void)written;
		close(fd);
	}
	exit(status);
}

static const struct {
	const char *flag, *variable;
	int from;
	bool valued;
} flags[] = {
	{ "--bucket", "CELLD_BUCKET", 0, true },
	{ "--endpoint", "S3_ENDPOINT", 0, true },
	{ "--region", "AWS_REGION", 0, true },
	{ "--listen", "CELLD_ADDR", 0, true },
	{ "--internal-listen", "CELLD_INTERNAL_ADDR", V(0, 2, 0), true },
	{ "--advertise", "CELLD_ADVERTISE", 0, true },
	{ "--unsafe-public-advertise", "CELLD_UNSAFE_PUBLIC_ADVERTISE", 0, false },
	{ "--trust-forwarded-headers", "CELLD_TRUST_FORWARDED_HEADERS", V(0, 2, 1), false },
	{ "--no-control-plane", NULL, 0, false },
};

static void help(const struct sim *sim)
{
	(void)printf(
		"celld %s (simulated)\n\nUsage: celld [OPTIONS]\n       celld-sim ctl [WORD...]\n\n"
		"Options:\n",
		sim->release);
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (sim->config.release >= flags[i].from)
			(void)printf("  %s%s\n", flags[i].flag, flags[i].valued ? " VALUE" : "");
	(void)puts("  -h, --help\n  -V, --version");
}

/* Options are variables by another name. Returns how many words were taken, 0 for an unknown
 * option. */
static int take_flag(const struct sim *sim, int count, char **words)
{
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		if (strcmp(flags[i].flag, words[0]) != 0 || sim->config.release < flags[i].from)
			continue;
		if (!flags[i].valued) {
			if (flags[i].variable != NULL)
				(void)setenv(flags[i].variable, "1", 1);
			return 1;
		}
		if (count < 2)
			sim_die(1, "celld: %s needs a value", words[0]);
		(void)setenv(flags[i].variable, words[1], 1);
		return 2;
	}
	return 0;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static void take_words(struct sim *sim, int count, char **words)
{
	for (int i = 0; i < count;) {
		if (is_one_of(words[i], "-h", "--help", "help")) {
			help(sim);
			exit(0);
		}
		if (is_one_of(words[i], "-V", "--version", "version")) {
			(void)printf("celld %s\n", sim->release);
			exit(0);
		}
		int taken = take_flag(sim, count - i, words + i);
		if (taken == 0)
			sim_die(1, "celld: unknown argument \"%s\"", words[i]);
		i += taken;
	}
	if (count == 0 && env_idle()) {
		help(sim);
		exit(0);
	}
}

/* Makes the folder that a variable names, as deep as needed; a read-only file system is found here. */
static void need_folder(const char *name)
{
	const char *value = env_text(name);
	char path[1024];
	if (value == NULL)
		return;
	if (strlen(value) >= sizeof path)
		sim_die(1, "celld: %s: too long", name);
	memcpy(path, value, strlen(value) + 1);
	for (char *at = path + 1; *at != '\0'; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		(void)mkdir(path, 0777);
		*at = '/';
	}
	(void)mkdir(path, 0777);
	if (access(path, W_OK | X_OK) != 0)
		sim_die(1, "celld: %s: cannot write to %s: %s", name, path, strerror(errno));
}

static void load(struct sim *sim)
{
	char message[512];
	const char *override = env_text("CELLD_SIM_VERSION");
	struct sim_settings *set = &sim->set;
	if (release_listed(env_text("CELLD_SIM_BROKEN_VERSIONS"), sim->config.release))
		sim_die(1, "celld: release %s is broken%s", sim->release,
			override != NULL ? " (CELLD_SIM_VERSION)" : "");
	if (env_load(&sim->config, sim->config.release, message, sizeof message) != 0)
		sim_die(1, "celld: configuration error: %s", message);
	need_folder("CELLD_WATCH");
	need_folder("CELLD_ASSET_CACHE_DIR");
	set->start_ms = env_number("CELLD_SIM_START_MS", 200);
	set->restoring = env_number("CELLD_SIM_RESTORING", 2);
	set->restore_ms = env_number("CELLD_SIM_RESTORE_MS", 500);
	set->drain_ms = env_number("CELLD_SIM_DRAIN_MS", 300);
	set->swap_ms = env_number("CELLD_SIM_SWAP_MS", 200);
	set->gate_ms = env_number("CELLD_SIM_GATE_MS", 0);
	set->cells = env_number("CELLD_SIM_CELLS", 2);
	set->poll_ms = env_number("CELLD_SIM_POLL_MS", sim->config.poll_s * 1000);
	sim->publishes = (unsigned long long)set->cells;
	const char *worker = env_text("CELLD_SIM_WORKER");
	worker = worker != NULL ? worker : "200 simulated worker\n";
	sim->worker_status = (int)strtol(worker, NULL, 10);
	if (sim->worker_status < 200 || sim->worker_status > 599)
		sim->worker_status = 0;
	const char *body = strchr(worker, ' ');
	(void)snprintf(sim->worker_body, sizeof sim->worker_body, "%s",
		       body != NULL ? body + 1 : "");
}

static void bind_celld(struct sim *sim)
{
	const struct env_config *config = &sim->config;
	sim->fd[SIM_PUBLIC] = listen_tcp(&config->public_addr);
	if (sim->fd[SIM_PUBLIC] < 0)
		sim_die(1, "celld: binding CELLD_ADDR: %s", strerror(errno));
	if (config->release < V(0, 2, 0))
		return;
	sim->fd[SIM_INTERNAL] = listen_tcp(&config->internal_addr);
	if (sim->fd[SIM_INTERNAL] < 0)
		sim_die(1, "celld: binding CELLD_INTERNAL_ADDR: %s", strerror(errno));
}

/* Without its own channel the simulator still serves; it says so. */
static void bind_control(struct sim *sim)
{
	const char *address = env_text("CELLD_SIM_CONTROL_ADDR");
	struct env_address at;
	address = address != NULL ? address : "0.0.0.0:9091";
	if (strcmp(address, "off") != 0) {
		if (!env_parse_listener(address, &at))
			sim_die(2, "celld-sim: CELLD_SIM_CONTROL_ADDR: \"%s\" is no address",
				address);
		sim->fd[SIM_CONTROL] = listen_tcp(&at);
		if (sim->fd[SIM_CONTROL] < 0 || !control_start(sim, SIM_CONTROL))
			sim_event("celld-sim: no control on %s: %s", address, strerror(errno));
	}
	if (strcmp(control_socket(), "off") == 0)
		return;
	sim->fd[SIM_SOCKET] = listen_unix(control_socket());
	if (sim->fd[SIM_SOCKET] < 0 || !control_start(sim, SIM_SOCKET))
		sim_event("celld-sim: no control on %s: %s", control_socket(), strerror(errno));
}

static void say_bound(const struct sim *sim)
{
	char name[3][80];
	for (int i = 0; i < 3; i++)
		listen_name(sim->fd[i], name[i]);
	sim_event("celld-sim: release=%s node=%s public=%s internal=%s control=%s", sim->release,
		  sim->config.node, name[SIM_PUBLIC], name[SIM_INTERNAL], name[SIM_CONTROL]);
}

/*
 * Up to here SIGTERM was ignored, as the kernel ignores it for a process 1 without a handler.
 * Blocked first, so that none is lost or fatal between the two steps. 0.1 has no handler at all.
 * Returns the descriptor, -1 without one.
 */
static int take_signals(const struct sim *sim)
{
	sigset_t set;
	if (sim->config.release < V(0, 2, 0))
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Prints the ready lines, starts to accept, installs the signal handling: in celld's order. */
static int become_ready(struct sim *sim, long long now)
{
	char name[80];
	sim->phase = SIM_READY;
	sim->ready_ms = now;
	sim->deploy.next_ms = now + sim->set.poll_ms;
	listen_name(sim->fd[SIM_PUBLIC], name);
	sim_event("celld listening on %s", name);
	if (sim->fd[SIM_INTERNAL] >= 0) {
		listen_name(sim->fd[SIM_INTERNAL], name);
		sim_event("celld internal listening on %s", name);
	}
	if (!http_start(sim, SIM_PUBLIC) ||
	    (sim->fd[SIM_INTERNAL] >= 0 && !http_start(sim, SIM_INTERNAL)))
		sim_die(2, "celld-sim: cannot serve HTTP");
	return take_signals(sim);
}

/* The bound is the release's; a shorter time is scripted. What asks by HTTP still gets its answer. */
static void begin_drain(struct sim *sim, long long now)
{
	long long wanted = sim->set.drain_ms < 20 ? 20 : sim->set.drain_ms;
	sim->phase = SIM_DRAINING;
	sim->drain_ms = now;
	sim->drain_end_ms = now + (wanted < sim->config.bound_ms ? wanted : sim->config.bound_ms);
	sim_event("celld: draining%s", sim->preserve ? " handoff=preserve" : "");
}

static void end_drain(struct sim *sim)
{
	bool cut = sim->set.drain_ms > sim->config.bound_ms;
	const char *watch = env_text("CELLD_WATCH");
	if (cut)
		sim_event(sim->config.release < V(0, 4, 0) ? "celld: drain reached its deadline"
							   : "celld: shutdown_handoff_stalled");
	else if (sim->config.release >= V(0, 3, 0) && sim->config.release < V(0, 4, 0))
		sim_event("node-log close: sealed epoch 1");
	if (sim->preserve && watch != NULL) {
		/* The marker's real name is not known. */
		char path[1100];
		(void)snprintf(path, sizeof path, "%s/clean-reload", watch);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd >= 0)
			close(fd);
	}
	http_stop(sim);
	deploy_done(sim);
	curl_multi_cleanup(sim->multi);
	if (sim->fd[SIM_SOCKET] >= 0)
		(void)unlink(control_socket());
	sim_event("celld: stopped");
	exit(0);
}

static bool may_start(const struct sim *sim, long long now)
{
	return !sim->faults.starting && now >= sim->start_ms + sim->set.start_ms &&
	       (sim->deploy.serving || sim->deploy.source == SOURCE_NONE);
}

/* Steps from phase to phase; signals is the descriptor that readiness opens. */
static void advance(struct sim *sim, int *signals, long long now)
{
	struct signalfd_siginfo info;
	deploy_tick(sim, now);
	if (sim->phase == SIM_STARTING && may_start(sim, now))
		*signals = become_ready(sim, now);
	if (*signals >= 0 && read(*signals, &info, sizeof info) == sizeof info)
		sim->stop = true;
	if (sim->phase == SIM_READY && sim->stop)
		begin_drain(sim, now);
	if (sim->phase == SIM_DRAINING && now >= sim->drain_end_ms)
		end_drain(sim);
}

static void sooner(long long *timeout, long long left)
{
	left = left < 0 ? 0 : left;
	*timeout = left < *timeout ? left : *timeout;
}

/* How long nothing will happen by itself. */
static long long own_timeout(const struct sim *sim, long long now)
{
	const struct sim_deploy *deploy = &sim->deploy;
	bool polls = deploy->source >= SOURCE_FILE && deploy->fetch == FETCH_IDLE;
	long long timeout = 60000;
	bool startable = deploy->serving || deploy->source == SOURCE_NONE;
	if (sim->phase == SIM_STARTING && !sim->faults.starting && startable)
		sooner(&timeout, sim->start_ms + sim->set.start_ms - now);
	if (sim->phase == SIM_DRAINING)
		sooner(&timeout, sim->drain_end_ms - now);
	if (polls &&
	    (!deploy->serving || (sim->phase == SIM_READY && sim->config.release >= V(0, 4, 0))))
		sooner(&timeout, deploy->next_ms - now);
	if (deploy->fetch > FETCH_BUSY)
		sooner(&timeout, 0);
	return timeout;
}

static bool hangs(const struct sim *sim, int listener)
{
	return (sim->faults.hang & SIM_MASK(listener)) != 0;
}

/* Runs the HTTP servers that are due and puts their descriptors into wait; returns how many. */
static unsigned serve(struct sim *sim, struct curl_waitfd *wait, long long *timeout)
{
	unsigned count = 0;
	for (int i = 0; i < SIM_LISTENERS; i++) {
		MHD_UNSIGNED_LONG_LONG left = 0;
		if (sim->daemon[i] == NULL || hangs(sim, i))
			continue;
		(void)MHD_run(sim->daemon[i]);
		const union MHD_DaemonInfo *info =
			MHD_get_daemon_info(sim->daemon[i], MHD_DAEMON_INFO_EPOLL_FD);
		wait[count++] =
			(struct curl_waitfd){ .fd = info->epoll_fd, .events = CURL_WAIT_POLLIN };
		if (MHD_get_timeout(sim->daemon[i], &left) == MHD_YES)
			sooner(timeout, (long long)left);
	}
	return count;
}

static void run(struct sim *sim)
{
	int signals = -1;
	for (;;) {
		struct curl_waitfd wait[SIM_LISTENERS + 2];
		int running = 0;
		websocket_tick();
		advance(sim, &signals, sim_now());
		long long timeout = 60000;
		unsigned count = serve(sim, wait, &timeout);
		long long soon = http_tick(sim, sim_now());
		/* What the requests have just asked for must not wait. */
		bool asked = sim->stop && sim->phase == SIM_READY;
		sooner(&timeout, asked ? 0 : own_timeout(sim, sim_now()));
		if (soon >= 0)
			sooner(&timeout, soon);
		if (signals >= 0)
			wait[count++] =
				(struct curl_waitfd){ .fd = signals, .events = CURL_WAIT_POLLIN };
		if (websocket_fd() >= 0)
			wait[count++] = (struct curl_waitfd){ .fd = websocket_fd(),
							      .events = CURL_WAIT_POLLIN };
		(void)curl_multi_perform(sim->multi, &running);
		/* A transfer that has just ended wakes nobody. */
		if (sim->deploy.fetch == FETCH_BUSY && running == 0)
			timeout = 0;
		(void)curl_multi_poll(sim->multi, wait, count, (int)timeout, NULL);
	}
}

int main(int argc, char **argv)
{
	struct sim *sim = &the_sim;
	char message[128];
	const char *image = getenv("IMAGE");
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	if (argc > 1 && strcmp(argv[1], "ctl") == 0)
		return control_client(argc - 2, argv + 2);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	/* A test that dies leaves nothing behind. */
	if (env_number("CELLD_SIM_DIE_WITH_PARENT", 0) == 1)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	sim->start_ms = sim_now();
	for (int i = 0; i < SIM_LISTENERS; i++)
		sim->fd[i] = -1;
	control_clear(&sim->faults);
	sim->config.release = release_of_image(image, env_text("CELLD_SIM_VERSION"),
					       env_text("CELLD_SIM_DIGESTS"), sim->release);
	if (sim->config.release < 0)
		sim_die(2, "celld-sim: no release in IMAGE=%.200s; CELLD_SIM_VERSION names one",
			image != NULL ? image : "");
	take_words(sim, argc - 1, argv + 1);
	load(sim);
	sim->multi = curl_multi_init();
	bind_celld(sim);
	bind_control(sim);
	say_bound(sim);
	const char *faults = env_text("CELLD_SIM_FAULTS");
	char *words = strdup(faults != NULL ? faults : "");
	if (!control_apply_all(sim, words, message, sizeof message))
		sim_die(2, "celld-sim: CELLD_SIM_FAULTS: %s", message);
	free(words);
	deploy_init(sim);
	run(sim);
}
