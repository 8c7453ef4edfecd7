/* SPDX-License-Identifier: MIT */
/* Small text files of proc, sysfs and cgroupfs: read whole, written in one piece. */
#ifndef REPLAYER_TEXT_FILE_H
#define REPLAYER_TEXT_FILE_H

/* The whole file, terminated; such files come in pieces and without a size. The caller frees it. NULL with errno
 * if it cannot be read; a file beyond 16 MiB counts as unreadable (EFBIG). */
char *text_file_read(const char *path);

/* Writes `text` in one write(2) into a file that is there; 0 or an errno. */
int text_file_write(const char *path, const char *text);

#endif
