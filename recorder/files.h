/* SPDX-License-Identifier: MIT */
/* Reading and writing what proc, sysfs, cgroupfs and tracefs hold as text. */
#ifndef RECORDER_FILES_H
#define RECORDER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"
#include "db/base/text_file.h"

/* zr_text_read() of a path that is put together. */
char *rec_file_readf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The first line, without its newline, in `text`; false (and "") if it cannot be read. */
bool rec_file_line(char *text, size_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes `text` in one write(2), appending; 0 or an errno. */
int rec_file_append(const char *path, const char *text);

/* The next line of a text that is cut up on the way; NULL at the end. Start with *at = text. */
char *rec_next_line(char **at);

/* The number behind "NAME " or "NAME: " at the start of a line, or `otherwise`. */
int64_t rec_text_number(const char *text, const char *name, int64_t otherwise);

/* Undoes the octal escapes of mount and swap tables (\040 for a space), in place. */
void rec_unescape(char *text);

/* Where things are mounted. */
struct rec_paths {
	char proc[256], sys[256], tracefs[256], cgroup[256]; /* "" = not mounted */
};

/* From `mounts` ("/proc/mounts"); proc and sys are the parameters' defaults if they are set already. */
enum zr_err rec_paths_find(const char *mounts, struct rec_paths *paths);

#endif
