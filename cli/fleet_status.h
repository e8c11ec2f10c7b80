/*
 * fleet_status.h - `kubectl-celld status`: what is the matter with a fleet, on one page; without a name, a line for
 * each.
 */
#ifndef CLI_FLEET_STATUS_H
#define CLI_FLEET_STATUS_H

#include <stdio.h>

/* argv[0] is "status". Exit status: 0 all that was asked for is Ready, 1 something is not, 2 usage, or the cluster or
 * the app could not be read. */
int fleet_status_run(int argc, char **argv, FILE *out, FILE *err);
int fleet_status_main(int argc, char **argv);

#endif
