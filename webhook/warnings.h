/*
 * warnings.h - soft facts as an admission answer carries them. Pure (tier 2).
 */
#ifndef WEBHOOK_WARNINGS_H
#define WEBHOOK_WARNINGS_H

#include "common/buf.h"
#include "common/strlist.h"

/*
 * Appends `,"warnings":[...]`; nothing when there are none. A warning with a control character would
 * vanish on its way without a word, so they are dropped; each is cut at LIMIT_WARNING characters, and
 * what is over LIMIT_MESSAGE bytes together is left out.
 */
void warnings_print(const struct strlist *l, struct buf *to);

#endif
