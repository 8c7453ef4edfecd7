/* SPDX-License-Identifier: MIT */
/* Small text files of proc, sysfs, cgroupfs and tracefs: read whole, written in one piece. */
#ifndef DB_BASE_TEXT_FILE_H
#define DB_BASE_TEXT_FILE_H

/* The whole file, terminated; such files come in pieces and without a size. The caller frees it. NULL with errno
 * if it cannot be read; a file beyond 16 MiB counts as unreadable (EFBIG). */
char *zr_text_read(const char *path);

/* Writes `text` in one write(2) into a file that is there; 0 or an errno. */
int zr_text_write(const char *path, const char *text);

#endif
