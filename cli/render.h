/*
 * render.h - `kubectl-celld render`: the objects that the controller would make of each WorkerApp
 * in a file.
 *
 * Output is YAML, one document an object, in the order of the apps in the files and of kind and
 * name for each app; names of members are sorted. The same input gives the same bytes. It shows a
 * fleet that does not exist yet: at rest and of its first size. What only a cluster knows is not
 * there: the owner reference and the claims' app-uid for an app that was never applied, the config
 * hash of Secrets.
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <stdio.h>

/* argv[0] is "render". Exit status: 0; 1 an app is refused, by name and field on err; 2 usage, or a
 * file cannot be read. */
int render_run(int argc, char **argv, FILE *in, FILE *out, FILE *err);
int render_main(int argc, char **argv);

#endif
