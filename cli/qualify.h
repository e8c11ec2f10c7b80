/*
 * qualify.h - `kubectl-celld qualify`: may celld trust this store? celld's ownership of cells rests on conditional
 * writes; a store that accepts the conditions and ignores them splits a cell in two without a word.
 */
#ifndef CLI_QUALIFY_H
#define CLI_QUALIFY_H

#include <stdio.h>

#include "common/store/store.h"

/*
 * argv[0] is "qualify". Credentials come from the environment, by celld's names. Exit status: 0 the store can fence,
 * 1 it cannot, 2 usage, or the store could not be asked.
 */
int qualify_run(int argc, char **argv, FILE *out, FILE *err);
int qualify_main(int argc, char **argv);

#endif
