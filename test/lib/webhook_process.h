/*
 * webhook_process.h - celld-webhook as a process of its own, for tests. Every function fails the test when something
 * goes wrong that the test did not ask for.
 */
#ifndef TEST_LIB_WEBHOOK_PROCESS_H
#define TEST_LIB_WEBHOOK_PROCESS_H

#include <sys/types.h>

#include "common/buf.h"

struct webhook_process {
	pid_t pid;
	int err; /* reading end of its standard error; -1: closed */
	struct buf said;
	int port, health, metrics;
	unsigned long
		files; /* set before the start, 0: as many as we: the limit of its descriptors */
};

/* The pair that webhook_serve gives it: made by webhook_setup, good for a day. */
extern char webhook_cert[64], webhook_key[64];

/* For cmocka_run_group_tests: finds the program beside the test and makes the pair. */
int webhook_setup(void **state);
int webhook_teardown(void **state);

/* Arguments are separated by blanks. */
void webhook_run(struct webhook_process *p, const char *arguments);
/* With the pair, on ports of its own, and ready. */
void webhook_serve(struct webhook_process *p, const char *more);
/* Its exit status, after all that it says. */
int webhook_wait(struct webhook_process *p);
/* SIGTERM, and it must end with status 0; frees what it said. */
void webhook_stop(struct webhook_process *p);
/* A line of /proc/PID/status in kB: "VmHWM". */
long webhook_memory(const struct webhook_process *p, const char *line);

#endif
