/*
 * workerapp_defaults_load.h - the platform's defaults from their YAML file.
 *
 *	defaults: {celld: {image: ghcr.io/denoland/celld:v0.6.2}}
 *	namespaces:
 *	- pattern: team-*
 *	  defaults: {bucket: {endpoint: https://minio.team.example.com}}
 *
 * `defaults` is for every namespace; each of `namespaces` is for those that its pattern matches, and
 * wins over what stands before it. Values have the form of a WorkerApp's spec, and are judged by the
 * rules of a WorkerApp while reading.
 */
#ifndef COMMON_WORKERAPP_DEFAULTS_LOAD_H
#define COMMON_WORKERAPP_DEFAULTS_LOAD_H

#include "common/celld/table.h"
#include "common/workerapp_defaults.h"

/* origin is the text's name in messages. ERR_INVALID "defaults.yaml:3: ..."; *ret on success only. */
int workerapp_defaults_load(const char *text, size_t len, const char *origin,
			    const struct celld_table *table, struct workerapp_defaults *ret,
			    struct err *e);

#endif
