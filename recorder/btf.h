/* SPDX-License-Identifier: MIT */
/*
 * The running kernel's own description of its types (BTF): where a member lies in a structure, which
 * argument of a function is the folio, what an enumerator's number is. So no offset is ever written down.
 * In place of the types of a kernel that has none, NULL is taken everywhere: then nothing is found.
 */
#ifndef RECORDER_BTF_H
#define RECORDER_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"

struct rec_btf;

/* `path` is /sys/kernel/btf/vmlinux or a file of that form. ZR_UNSUPPORTED says what to do about it. */
enum zr_err rec_btf_open(const char *path, struct rec_btf **out);
void rec_btf_close(struct rec_btf *btf);

/* "folio.swap", "mem_cgroup.css.cgroup": a structure and a path of members, through unnamed structures and
 * unions. Bytes from the start of the structure; false if there is no such member. */
bool rec_btf_offset(const struct rec_btf *btf, const char *path, int32_t *bytes);

/* The number, from 1, of the function's argument that points to a folio (or, in older kernels, a page); 0
 * if the function or such an argument is not there. */
int rec_btf_folio_argument(const struct rec_btf *btf, const char *function);

/* Does the function return a bool? Its upper bits are then garbage. */
bool rec_btf_returns_bool(const struct rec_btf *btf, const char *function);

/* The number of an enumerator, or -1. */
int64_t rec_btf_enumerator(const struct rec_btf *btf, const char *enumeration, const char *name);

#endif
