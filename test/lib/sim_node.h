/*
 * Runs the real celld-sim of the same build as a child and talks to it: for tests. Everything that
 * waits gives up after a deadline and fails the test that called; nothing is taken to happen within
 * a time.
 */
#ifndef TEST_LIB_SIM_NODE_H
#define TEST_LIB_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sim_node {
	pid_t pid;
	int out; /* reading end of its standard output and standard error */
	size_t length;
	char text[6144]; /* all that it printed up to now */
	char public_addr[80], internal_addr[80], control_addr[80];
};

struct sim_reply {
	int status;
	char *body; /* freed by sim_reply_done */
	char headers[2048];
};

/*
 * Starts the program with exactly this environment: defaults (release 0.6.2, loopback, ports that
 * the kernel chooses, no socket, bucket "b", ready at once) and then env, a list of "NAME=VALUE"
 * that ends with null; "NAME" alone takes a default away. words are its arguments, null for none.
 * Does not wait.
 */
void sim_node_start(struct sim_node *node, const char *const *env, const char *const *words);

/* Waits until the text has been printed; reads the three addresses on the way. */
void sim_node_wait(struct sim_node *node, const char *text);

/* Waits for the end; returns the exit status, or the negated signal. */
int sim_node_end(struct sim_node *node);

/* Kills what still runs. */
void sim_node_done(struct sim_node *node);

/* One request; the test fails when there is no answer. addr is one of the node's. */
void sim_node_ask(const char *method, const char *addr, const char *path, struct sim_reply *reply);
void sim_reply_done(struct sim_reply *reply);

/* Scripts the node over its control port; the test fails when it is refused. */
void sim_node_script(const struct sim_node *node, const char *words);

/* A connection to an address "127.0.0.1:80". */
int sim_node_connect(const char *addr);

/* Whether something can be read from the descriptor within the time. */
bool sim_node_readable(int fd, int ms);

#endif
