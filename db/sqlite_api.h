/* SPDX-License-Identifier: MIT */
/*
 * SQLite as the events table calls it: linked, or, in the loadable extension, through the table of
 * functions of the program that loads it, which may have a SQLite of its own inside.
 */
#ifndef DB_SQLITE_API_H
#define DB_SQLITE_API_H

#ifdef DB_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#endif
