/* kubectl-celld: a kubectl plugin; each command is a row of the table. */
#include <stdio.h>

#include "cli/fleet_status.h"
#include "cli/input.h"
#include "cli/qualify.h"
#include "cli/render.h"
#include "cli/validate.h"
#include "common/base.h"
#include "common/build_version.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the name */
	const char *help;
};

static const struct command commands[] = {
	{ "validate", validate_main, "judge WorkerApps in files by the rules of the webhook" },
	{ "render", render_main,
	  "print every object that the controller would make of a WorkerApp" },
	{ "status", fleet_status_main, "show fleets: phase, storage, rollout, pods, conditions" },
	{ "qualify", qualify_main, "test whether an object store can be trusted with cells" },
};

static void usage(FILE *to)
{
	fputs("Usage: kubectl celld COMMAND [FLAGS]\n\n", to);
	for (size_t i = 0; i < array_len(commands); i++)
		fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].help);
	fputs("\n  --version    print the version\n  --help       show this text; COMMAND --help "
	      "shows a "
	      "command's\n",
	      to);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < array_len(commands); i++) {
		if (str_eq(name, commands[i].name)) {
			int status = commands[i].run(argc - 1, argv + 1);

			/* A verdict that could not be written is none. */
			return fflush(stdout) || ferror(stdout) ? EXIT_USAGE : status;
		}
	}
	if (str_eq(name, "--version") || str_eq(name, "version")) {
		printf("kubectl-celld %s\n", build_version);
		return EXIT_FINE;
	}
	if (str_eq(name, "--help") || str_eq(name, "-h") || str_eq(name, "help")) {
		usage(stdout);
		return EXIT_FINE;
	}
	if (*name)
		fprintf(stderr, "kubectl-celld: unknown command %s\n", name);
	usage(stderr);
	return EXIT_USAGE;
}
