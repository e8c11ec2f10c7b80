/*
 * settings.h - the files that a platform may change while the program runs: compatibility table,
 * policy, defaults.
 *
 * At the start a file that cannot be read or is wrong is fatal. Later each is looked at every two
 * seconds, and read again when it has changed (a ConfigMap's volume changes by a symbolic link, so a
 * file counts as changed by what it holds); a wrong one leaves the last good one in use. Readers hold
 * a view: everything in it belongs together and stays until it is released.
 */
#ifndef COMMON_SETTINGS_H
#define COMMON_SETTINGS_H

#include "common/celld/table.h"
#include "common/flags.h"
#include "common/policy.h"
#include "common/workerapp_defaults.h"

enum settings_file { SETTINGS_TABLE, SETTINGS_POLICY, SETTINGS_DEFAULTS, SETTINGS_FILES };

struct settings_options {
	const char *file[SETTINGS_FILES];     /* lent; NULL or "": none */
	struct strlist allowed[POLICY_KINDS]; /* of the flags; added to the policy's file */
	/*
	 * Told on the settings' thread of each change of a file: e NULL when it is in use, else why it
	 * is not. name: "compat-table", "policy", "defaults". May be NULL.
	 */
	void (*on_reload)(void *ctx, const char *name, const struct err *e);
	void *ctx;
	const struct celld_table *table; /* without a file; lent. NULL: the built-in one */
	int poll_ms; /* 0: 2000; below 0: never, settings_look() is called instead */
};

struct settings_view {
	const struct celld_table *table;	   /* never NULL */
	const struct policy *policy;		   /* never NULL; may be empty */
	const struct workerapp_defaults *defaults; /* NULL without a file */
};

struct settings; /* opaque; used by any number of threads */

/* The rows --compat-table, --policy and --allowed-*; with --defaults when the program fills them in. */
enum { SETTINGS_FLAGS_MAX = SETTINGS_FILES + POLICY_KINDS };
size_t settings_flags(struct settings_options *o, bool defaults,
		      struct flag to[SETTINGS_FLAGS_MAX]);
void settings_options_done(struct settings_options *o);

/* o is copied, its lists too. ERR_INVALID, ERR_NOT_FOUND: one line that names flag, file and line. */
int settings_start(const struct settings_options *o, struct settings **ret, struct err *e);
void settings_stop(struct settings *s); /* every view has been released */
define_cleanup(struct settings *, settings_stop);
#define cleanup_settings cleanup(settings_stop_cleanup)

const struct settings_view *settings_get(struct settings *s) must_use;
void settings_release(struct settings *s, const struct settings_view *v);
/* Looks at the files now, in the caller's thread. */
void settings_look(struct settings *s);

#endif
