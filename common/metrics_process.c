#include "common/metrics_process.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/metrics.h"

static void sample(struct buf *to, const char *name, enum metric_kind kind, const char *help,
		   double value)
{
	metrics_write_family(to, name, kind, help);
	metrics_write_sample(to, name, NULL, NULL, 0, value);
}

static void write_cpu(struct buf *to)
{
	struct timespec ts;

	if (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		sample(to, "process_cpu_seconds_total", METRIC_COUNTER,
		       "User and system time spent", (double)ts.tv_sec + (double)ts.tv_nsec / 1e9);
}

/* statm: size, then resident, in pages */
static void write_memory(struct buf *to)
{
	char line[128], *end;
	FILE *f = fopen("/proc/self/statm", "re");
	long resident;

	if (!f)
		return;
	if (fgets(line, sizeof(line), f)) {
		(void)strtol(line, &end, 10);
		resident = strtol(end, NULL, 10);
		if (resident > 0)
			sample(to, "process_resident_memory_bytes", METRIC_GAUGE, "Resident memory",
			       (double)resident * (double)sysconf(_SC_PAGESIZE));
	}
	(void)fclose(f);
}

static void write_files(struct buf *to)
{
	DIR *d = opendir("/proc/self/fd");
	struct rlimit limit;
	long n = -3; /* ".", ".." and the one that reads */

	if (d) {
		while (readdir(d))
			n++;
		(void)closedir(d);
		sample(to, "process_open_fds", METRIC_GAUGE, "Open file descriptors", (double)n);
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		sample(to, "process_max_fds", METRIC_GAUGE, "How many may be open",
		       (double)limit.rlim_cur);
}

static int64_t started_ms;

static void note_start(void)
{
	started_ms = clock_wall_ms();
}

/* The moment of the first call: close enough to the start, and it never moves. */
static void write_start(struct buf *to)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, note_start);
	sample(to, "process_start_time_seconds", METRIC_GAUGE, "When the process started",
	       (double)started_ms / 1000);
}

void metrics_write_process(struct buf *to)
{
	write_cpu(to);
	write_memory(to);
	write_files(to);
	write_start(to);
}
