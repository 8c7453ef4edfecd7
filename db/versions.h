/* SPDX-License-Identifier: MIT */
/*
 * The versions of the tables, and how a file of an older one is brought forward. Private to db/.
 *
 * A file that is opened for writing is changed: the steps from its version to the newest, in one
 * transaction. A file that is opened for reading stays as it is: temporary views show its tables as
 * those of the newest version, for a temporary name is found before one of the file.
 *
 * A step changes a table by ALTER TABLE t RENAME TO t_1, CREATE TABLE t, INSERT ... SELECT, DROP
 * TABLE t_1 and only then CREATE INDEX, since ALTER TABLE alone leaves another text in the schema
 * than that which is compared (open.c).
 */
#ifndef DB_VERSIONS_H
#define DB_VERSIONS_H

#include "db/db.h"

struct db_version {
	const char *schema; /* what makes an empty file of it */
	const char *change; /* makes the next version of it; NULL in the newest */
	const char *views;  /* shows it as the newest; NULL in the newest */
};

/* Version v is list[v - 1]; the newest is list[newest - 1]. */
struct db_versions {
	const struct db_version *list;
	int newest;
};

extern const struct db_versions db_versions;

/* db_open with other versions than those of this program, for tests of the way forward. */
enum zr_err db_open_as(const struct db_versions *versions, const char *path, enum db_mode mode,
		       struct db **out);

#endif
