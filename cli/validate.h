/*
 * validate.h - `kubectl-celld validate`: judges the WorkerApps of files by the same rules as the admission webhook,
 * without a cluster.
 */
#ifndef CLI_VALIDATE_H
#define CLI_VALIDATE_H

#include <stdio.h>

/*
 * argv[0] is "validate". Faults are lines "spec.field: what is wrong; what to write instead" on out, behind
 * "FILE[DOCUMENT] NAMESPACE/NAME: " when there are several objects. Warnings and the count are on err. Exit status: 0
 * all fine, 1 something is refused, 2 usage or a file that cannot be read.
 */
int validate_run(int argc, char **argv, FILE *in, FILE *out, FILE *err);
int validate_main(int argc, char **argv);

#endif
