/*
 * kubectl-celld - kubectl's plugin `kubectl celld`. Each subcommand is a file of its own with flags of its own.
 */
#include <stdio.h>

#include "cli/render.h"
#include "common/base.h"

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "render", "print every object that the controller would make of a WorkerApp",
	  render_main },
};

static void help(FILE *to)
{
	fputs("usage: kubectl celld COMMAND [flags]\n\n", to);
	for (size_t i = 0; i < array_len(commands); i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what);
	fputs("\nkubectl celld COMMAND --help tells a command's flags.\n", to);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	for (size_t i = 0; i < array_len(commands); i++)
		if (str_eq(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (str_eq(argv[1], "--help") || str_eq(argv[1], "-h") || str_eq(argv[1], "help")) {
		help(stdout);
		return 0;
	}
	fprintf(stderr, "kubectl-celld: unknown command %s; see --help\n", argv[1]);
	return 2;
}
