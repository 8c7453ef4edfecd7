/* SPDX-License-Identifier: MIT */
/*
 * The events table as an extension that other programs load: `.load build/zreel_events` in the
 * sqlite3 shell, load_extension() in Python. Built apart from the library, with all SQLite calls
 * through the table of functions that the program hands over; the symbol below is where SQLite
 * looks by the file's name.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "db/vtab.h"

int sqlite3_zreelevents_init(sqlite3 *sql, char **error, const sqlite3_api_routines *api);

__attribute__((visibility("default"))) int sqlite3_zreelevents_init(sqlite3 *sql, char **error,
								    const sqlite3_api_routines *api)
{
	const uint64_t *chunks_decoded;
	int rc;

	SQLITE_EXTENSION_INIT2(api);
	rc = db_vtab_register(sql, &chunks_decoded);
	if (rc != SQLITE_OK && error)
		*error = sqlite3_mprintf("cannot add the table of events: %s", sqlite3_errmsg(sql));
	return rc;
}
