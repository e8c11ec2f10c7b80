#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/celld/table_load.h"

/* The file as it is; the GNUmakefile makes this object depend on it. */
__asm__(".pushsection .rodata,\"a\",@progbits\n"
	".globl celld_yaml_begin\n"
	".hidden celld_yaml_begin\n"
	"celld_yaml_begin:\n"
	".incbin \"common/celld/celld.yaml\"\n"
	".globl celld_yaml_end\n"
	".hidden celld_yaml_end\n"
	"celld_yaml_end:\n"
	".byte 0\n"
	".popsection\n");

extern const char celld_yaml_begin[], celld_yaml_end[];

static struct celld_table builtin;

static void load(void)
{
	struct err e = ERR_INIT;
	size_t len = (size_t)((uintptr_t)celld_yaml_end - (uintptr_t)celld_yaml_begin);

	if (celld_table_load(celld_yaml_begin, len, "celld.yaml", &builtin, &e)) {
		(void)dprintf(STDERR_FILENO, "level=error msg=\"built-in table\" error=\"%s\"\n",
			      e.message);
		abort();
	}
}

const struct celld_table *celld_table_builtin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, load);
	return &builtin;
}
