/* SPDX-License-Identifier: MIT */
/*
 * Traces in formats of others. Private to db/; the functions are in db.h. All of them stream.
 *
 * oracle: the binary format of cache simulators (oracleGeneral). A record of 24 bytes, little-endian and
 * packed, for each access:
 *
 *   offset  bytes
 *        0  4      time, seconds since the first event of the host
 *        4  8      object: host << 40 | area << 32 | slot
 *       12  4      size in bytes
 *       16  8      number, from 0, of the record with the next access to this object; -1 = none
 *
 * An access is every page of an OUT (its store), but one that was KEPT and so never left, and every IN but
 * one that failed (its use, read-ahead too). WB is the answer of a policy and no access; a FREE is none
 * either, so after one a slot is the same object with other contents. The size of a page that was stored
 * is its compressed length, and a page's (its length if that is not known) where it went to disk as it was.
 * A zero-filled page takes 1 byte, since simulators leave out objects of none. An IN has the size of the
 * slot's last OUT, or of a page if that was not seen.
 *
 * fio: an iolog, version 3, of the requests when they were issued: microseconds since the first, offset in
 * the swap area, length. Its files are called swap-area-N and not by the device's path, so that no replay
 * writes to a swap device by accident: give fio --replay_redirect=FILE. Requests without data (flushes)
 * cannot be written.
 *
 * ftrace: text with the canonical events, which `zreel import` reads back: see export_ftrace.c.
 *
 * oracle and fio have no way to say that events were lost: gaps count as dropped.
 */
#ifndef DB_EXPORT_H
#define DB_EXPORT_H

#include "db/edit.h"

/* An export of one host. */
struct db_export {
	struct db *db;
	struct db_selection selection;
	struct db_selector *selector;
	struct db_part part;
	FILE *out;
	struct db_export_result *result;
};

/* Begins with events of `kinds` only (0 = all); ZR_USAGE if that is not for one host, or leaves nothing of
 * the selection. `ex` holds db, out, result and selection. */
enum zr_err db_export_begin(struct db_export *ex, uint32_t kinds, const struct db_watch *watch);
void db_export_end(struct db_export *ex);

/* Calls `take` for each event. */
enum zr_err db_export_each(struct db_export *ex, void *arg,
			   enum zr_err (*take)(void *arg, const struct db_event *event));

#endif
