/* SPDX-License-Identifier: MIT */
/* What the two ways to merge share; private to db/. */
#ifndef DB_EDIT_MERGE_H
#define DB_EDIT_MERGE_H

#include "db/edit.h"
#include "db/edit_names.h"

struct db_merge {
	const struct db_merge_options *options;
	struct db_edit_result *result;
	struct db_output output;
	struct db_names origins; /* "trace_id host" -> number of the input that has it */
	bool complete;		 /* all inputs so far are */
	double done;
};

/* Remembers the hosts of an input by where they first came from; ZR_EXISTS, unless forced, when another
 * input has one of them. */
enum zr_err db_merge_claim(struct db_merge *merge, struct db *db, uint32_t input);

/* Several traces of one host; see edit_weave.c. */
enum zr_err db_merge_same_host(struct db_merge *merge);

#endif
