/*
 * metrics_process.h - the usual series of a process: process_cpu_seconds_total, process_resident_memory_bytes,
 * process_open_fds, process_max_fds, process_start_time_seconds.
 */
#ifndef COMMON_METRICS_PROCESS_H
#define COMMON_METRICS_PROCESS_H

#include "common/buf.h"

/* What cannot be read has no sample. */
void metrics_write_process(struct buf *to);

#endif
