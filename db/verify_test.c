/* SPDX-License-Identifier: MIT */
/* Verify and repair: every kind of damage is found by its name, and all that is sound comes through. */
#include <sqlite3.h>
#include <sys/stat.h>

#include "db/edit_test_life.h"

static struct db_event got[LIFE_MAX * 2];

enum { EVENTS = 3000 };

struct seen {
	uint64_t count[DB_CHECK_COUNT];
	int64_t last_chunk;
	char text[512];
};

static void see(void *arg, const struct db_finding *finding)
{
	struct seen *seen = arg;

	seen->count[finding->check] += finding->count;
	seen->last_chunk = finding->chunk;
	assert_true(finding->text[0] != '\0');
	snprintf(seen->text, sizeof(seen->text), "%s", finding->text);
}

static struct db_verify_result verify(const char *path, struct seen *seen)
{
	struct db_verify_options options = { .finding = see, .arg = seen };
	struct db_verify_result result;
	struct db *db;

	*seen = (struct seen){ 0 };
	assert_ok(db_open(path, DB_SALVAGE, &db));
	assert_ok(db_verify(db, &options, &result));
	assert_ok(db_close(db));
	for (unsigned i = 0; i < DB_CHECK_COUNT; i++)
		assert_int_equal(seen->count[i], result.findings[i]);
	return result;
}

static enum zr_err repair(const char *path, const char *to, struct db_edit_result *saved)
{
	struct db_verify_options options = { 0 };
	struct db_verify_result found;
	struct db *db;
	enum zr_err err;

	err = db_open(path, DB_SALVAGE, &db);
	if (err)
		return err;
	err = db_repair(db, to, &options, &found, saved);
	assert_ok(db_close(db));
	return err;
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t sql_number(const char *path, const char *text)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t value;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return value;
}

/* One byte of a chunk's data is another. */
static void spoil_chunk(const char *path, int64_t chunk)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "UPDATE chunk SET data = CAST(substr(data, 1, 80) || "
		 "CASE hex(substr(data, 81, 1)) WHEN '00' THEN x'01' ELSE x'00' END || "
		 "substr(data, 82) AS BLOB) WHERE id = %lld",
		 (long long)chunk);
	sql(path, text);
}

static struct life *make(const char *path, uint64_t seed)
{
	struct life *life = life_new(seed, EVENTS);

	life_make_file(life, path);
	return life;
}

/* -------------------------------------------------------------------------------------- findings */

static void a_sound_trace_has_no_findings(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		const char *path = in_folder(state, "t.zr");
		struct life *life = make(path, seed);
		struct seen seen;
		struct db_verify_result result = verify(path, &seen);

		assert_int_equal(result.damages, 0);
		assert_int_equal(result.events, life->n);
		assert_true(result.chunks > 10);
		assert_true(result.complete);
		/* A life begins with empty slots, so it has nothing odd either. */
		assert_int_equal(result.frees_of_nothing + result.ins_of_nothing +
					 result.wbs_of_nothing + result.short_folios,
				 0);
		unlink(path);
		free(life);
	}
}

static void damage_is_found_by_name(void **state)
{
	static const struct {
		const char *sql;
		enum db_check check;
		int64_t chunk;
	} damages[] = {
		{ "UPDATE chunk SET events = events + 1 WHERE id = 5", DB_CHECK_ROW, 5 },
		{ "UPDATE chunk SET last_ns = last_ns + 1 WHERE id = 6", DB_CHECK_ROW, 6 },
		{ "UPDATE chunk SET kinds = kinds | 32768 WHERE id = 7", DB_CHECK_ROW, 7 },
		{ "UPDATE chunk SET slot_min = slot_min + 1 WHERE id = 8", DB_CHECK_ROW, 8 },
		{ "UPDATE chunk SET slot_max = slot_max - 1 WHERE id = 9", DB_CHECK_ROW, 9 },
		{ "UPDATE chunk SET memcgs = memcgs + 64 WHERE id = 9", DB_CHECK_ROW, 9 },
		{ "UPDATE chunk SET data = x'00' WHERE id = 4", DB_CHECK_CHUNK, 4 },
		{ "UPDATE chunk SET data = zeroblob(3000) WHERE id = 4", DB_CHECK_CHUNK, 4 },
		{ "UPDATE chunk SET host = 7 WHERE id = 20", DB_CHECK_HOST, 20 },
		/* The same events twice, the second time with the row of another time. */
		{ "INSERT INTO chunk SELECT 99, host, first_ns, last_ns, events, kinds, slot_min, "
		  "slot_max, memcgs, data FROM chunk WHERE id = 3",
		  DB_CHECK_ORDER, 99 },
		{ "DELETE FROM memcg WHERE id = 2", DB_CHECK_MEMCG, -2 },
		{ "DELETE FROM task WHERE id = 3", DB_CHECK_TASK, -2 },
		{ "DELETE FROM area WHERE id = 2", DB_CHECK_AREA, -2 },
		{ "UPDATE area SET slots = 200 WHERE id = 1", DB_CHECK_SLOT, -2 },
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const char *path = in_folder(state, "t.zr");
		struct seen seen;
		struct db_verify_result result;

		free(make(path, 3));
		sql(path, damages[i].sql);
		result = verify(path, &seen);
		if (!result.findings[damages[i].check])
			fail_msg("%s: not found as %s (%s)", damages[i].sql,
				 db_check_name(damages[i].check), seen.text);
		if (damages[i].check == DB_CHECK_CHUNK || damages[i].check == DB_CHECK_ROW)
			assert_int_equal(result.damages, 1);
		if (damages[i].chunk > 0 && damages[i].check != DB_CHECK_HOST)
			assert_int_equal(seen.last_chunk, damages[i].chunk);
		unlink(path);
	}
}

static void a_part_without_its_folio_is_found(void **state)
{
	struct db_event head = { .time_ns = 1, .kind = DB_OUT, .area = 1, .slot = 8, .memcg = 1,
				 .order = 1 };
	struct db_event part = head, other = head;
	const char *path = in_folder(state, "t.zr");
	struct life *life = calloc(1, sizeof(*life));
	struct db_verify_result result;
	struct seen seen;

	part.slot = 9;
	part.flags |= DB_F_PART;
	/* An order that is no folio's. */
	other.kind = DB_RECLAIM;
	other.order = 66;
	life->n = 5;
	life->events[0] = head; /* short: another event is between */
	life->events[1] = other;
	life->events[2] = part;
	life->events[3] = head;
	life->events[4] = part;
	life_make_file(life, path);
	result = verify(path, &seen);
	assert_int_equal(result.findings[DB_CHECK_PART], 1);
	assert_int_equal(result.damages, 1);
	assert_int_equal(result.short_folios, 1);
	free(life);
}

static void what_began_before_is_counted_and_no_damage(void **state)
{
	const struct db_event events[] = {
		{ .time_ns = 1, .kind = DB_FREE, .area = 1, .slot = 1, .len = 4 },
		{ .time_ns = 2, .kind = DB_IN, .area = 1, .slot = 2 },
		{ .time_ns = 2, .kind = DB_IN, .area = 1, .slot = 3 },
		{ .time_ns = 3, .kind = DB_WB, .area = 1, .slot = 3 },
		{ .time_ns = 4, .kind = DB_OUT, .area = 1, .slot = 3, .memcg = 1 },
		{ .time_ns = 5, .kind = DB_IN, .area = 1, .slot = 3, .memcg = 1 },
		{ .time_ns = 6, .kind = DB_FREE, .area = 1, .slot = 3 },
		{ .time_ns = 7, .kind = DB_FREE, .area = 1, .slot = 3 },
		{ .time_ns = 8, .kind = DB_FREE, .area = 2, .slot = 3 },
	};
	const char *path = in_folder(state, "t.zr");
	struct life *life = calloc(1, sizeof(*life));
	struct db_verify_result result;
	struct seen seen;

	life->n = sizeof(events) / sizeof(events[0]);
	memcpy(life->events, events, sizeof(events));
	life_make_file(life, path);
	result = verify(path, &seen);
	assert_int_equal(result.damages, 0);
	assert_int_equal(result.frees_of_nothing, 3);
	assert_int_equal(result.ins_of_nothing, 2);
	assert_int_equal(result.wbs_of_nothing, 1);
	free(life);
}

static void an_abrupt_end_is_told_and_no_damage(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct seen seen;
	struct db_verify_result result;

	free(make(path, 3));
	sql(path, "UPDATE trace SET complete = 0");
	result = verify(path, &seen);
	assert_false(result.complete);
	assert_int_equal(result.damages, 0);
}

/* ---------------------------------------------------------------------------------------- repair */

/* Events of a chunk in the array from which the file was made. */
static void chunk_place(const char *path, int64_t chunk, uint32_t *first, uint32_t *n)
{
	char text[128];

	snprintf(text, sizeof(text), "SELECT ifnull(sum(events), 0) FROM chunk WHERE id < %lld",
		 (long long)chunk);
	*first = (uint32_t)sql_number(path, text);
	snprintf(text, sizeof(text), "SELECT events FROM chunk WHERE id = %lld", (long long)chunk);
	*n = (uint32_t)sql_number(path, text);
}

/* Marks as the recorder would behind a gap: the first IN, FREE or WB of a slot that was not met since. */
static void naive_mark(struct db_event *events, uint32_t n)
{
	static bool met[LIFE_AREAS + 1][LIFE_SLOTS];

	memset(met, 0, sizeof(met));
	for (uint32_t i = 0; i < n; i++) {
		struct db_event *e = &events[i];
		uint32_t pages = e->kind == DB_FREE && e->len ? e->len : 1;
		bool any = false;

		if (e->kind == DB_OUT && !(e->flags & DB_F_PART))
			pages = 1u << e->order;
		if (e->kind != DB_OUT && e->kind != DB_IN && e->kind != DB_FREE && e->kind != DB_WB)
			continue;
		for (uint32_t j = 0; j < pages; j++) {
			any |= met[e->area][e->slot + j];
			met[e->area][e->slot + j] = true;
		}
		if (e->kind != DB_OUT && !any)
			e->flags |= DB_F_UNKNOWN;
	}
}

static void repair_puts_a_gap_in_the_place_of_a_lost_chunk(void **state)
{
	static struct db_event wanted[LIFE_MAX];

	for (uint64_t seed = 1; seed <= 8; seed++) {
		const char *path = in_folder(state, "t.zr"), *to = in_folder(state, "to.zr");
		struct life *life = make(path, seed);
		int64_t chunk = 2 + (int64_t)test_draw(&life->random, 10);
		struct db_edit_result saved;
		struct seen seen;
		uint32_t first, n, rest;

		chunk_place(path, chunk, &first, &n);
		/* A folio that the border cuts would need a second gap; those are tested below. */
		if (life->events[first + n].flags & DB_F_PART &&
		    life->events[first + n].kind == DB_OUT) {
			unlink(path);
			free(life);
			continue;
		}
		memcpy(wanted, life->events, first * sizeof(*wanted));
		wanted[first] = (struct db_event){ .time_ns = life->events[first].time_ns,
						   .kind = DB_GAP, .slot = n, .len = UINT16_MAX,
						   .flags = DB_GAP_IMPORT };
		rest = life->n - first - n;
		memcpy(&wanted[first + 1], &life->events[first + n], rest * sizeof(*wanted));
		naive_mark(&wanted[first + 1], rest);
		spoil_chunk(path, chunk);
		assert_ok(repair(path, to, &saved));
		assert_same_events(wanted, first + 1 + rest, got, life_read(to, 0, got, LIFE_MAX));
		assert_int_equal(verify(to, &seen).damages, 0);
		assert_int_equal(sql_number(to, "SELECT value FROM env WHERE key = "
						"'repair.lost_chunks'"),
				 1);
		unlink(path);
		unlink(to);
		free(life);
	}
}

static void parts_whose_folio_is_lost_are_a_gap(void **state)
{
	struct db_event head = { .time_ns = 10, .kind = DB_OUT, .area = 1, .slot = 8, .memcg = 1,
				 .order = 2 };
	const char *path = in_folder(state, "t.zr"), *to = in_folder(state, "to.zr");
	struct life *life = calloc(1, sizeof(*life));
	struct db_edit_result saved;
	struct db_event wanted[3] = { 0 };
	struct seen seen;

	life->n = 5;
	for (uint32_t i = 0; i < 4; i++) {
		life->events[i] = head;
		life->events[i].slot += i;
		life->events[i].flags |= i ? DB_F_PART : 0;
	}
	/* The head alone in a chunk of its own: three parts are left over. */
	life->events[1].time_ns = life->events[2].time_ns = life->events[3].time_ns = 2000000;
	life->events[4] = (struct db_event){ .time_ns = 2000001, .kind = DB_IN, .area = 1, .slot = 9,
					     .memcg = 1 };
	life_make_file(life, path);
	spoil_chunk(path, 1);
	assert_ok(repair(path, to, &saved));
	wanted[0] = (struct db_event){ .time_ns = 10, .kind = DB_GAP, .slot = 1, .len = UINT16_MAX,
				       .flags = DB_GAP_IMPORT };
	wanted[1] = wanted[0];
	wanted[1].slot = 3;
	wanted[1].time_ns = 2000001;
	wanted[2] = life->events[4];
	wanted[2].flags |= DB_F_UNKNOWN;
	assert_same_events(wanted, 3, got, life_read(to, 0, got, 9));
	assert_int_equal(verify(to, &seen).damages, 0);
	free(life);
}

static void repair_gives_ids_without_a_row_an_empty_one(void **state)
{
	const char *path = in_folder(state, "t.zr"), *to = in_folder(state, "to.zr");
	struct life *life = make(path, 4);
	struct db_edit_result saved;
	struct seen seen;

	sql(path, "DELETE FROM memcg WHERE id = 2; DELETE FROM task WHERE id = 3; "
		  "DELETE FROM area WHERE id = 2; DELETE FROM host");
	assert_true(verify(path, &seen).damages > 4);
	assert_ok(repair(path, to, &saved));
	assert_same_events(life->events, life->n, got, life_read(to, 0, got, LIFE_MAX));
	assert_int_equal(verify(to, &seen).damages, 0);
	assert_int_equal(sql_number(to, "SELECT count(*) FROM memcg WHERE id = 2 AND path = ''"), 1);
	free(life);
}

static void events_of_slots_beyond_their_area_become_gaps(void **state)
{
	const char *path = in_folder(state, "t.zr"), *to = in_folder(state, "to.zr");
	struct life *life = make(path, 4);
	struct db_edit_result saved;
	struct seen seen;
	uint64_t beyond = 0, gaps = 0, lost = 0;

	sql(path, "UPDATE area SET slots = 200 WHERE id = 1");
	assert_ok(repair(path, to, &saved));
	assert_int_equal(verify(to, &seen).damages, 0);
	for (uint32_t i = 0; i < life->n; i++) {
		const struct db_event *e = &life->events[i];
		bool is_out = e->kind == DB_OUT && !(e->flags & DB_F_PART);
		uint32_t pages = is_out ? 1u << e->order : e->kind == DB_FREE && e->len ? e->len : 1;

		gaps += e->kind == DB_GAP;
		lost += e->kind == DB_GAP ? e->slot : 0;
		beyond += e->area == 1 && e->slot + pages > 200 &&
			  (e->kind == DB_OUT || e->kind == DB_IN || e->kind == DB_FREE || e->kind == DB_WB);
	}
	assert_true(beyond > 0);
	/* The parts of a folio that reaches over the end go with it. */
	assert_true(saved.lost_events - lost >= beyond);
	assert_int_equal(saved.events - (saved.gaps - gaps) + saved.lost_events - lost, life->n);
	free(life);
}

static void wild_rows_do_not_bend_time(void **state)
{
	const char *path = in_folder(state, "t.zr"), *to = in_folder(state, "to.zr");
	struct life *life = make(path, 4);
	struct db_edit_result saved;
	uint64_t last_ns = life->events[life->n - 1].time_ns;
	struct seen seen;
	uint32_t n;

	/* Lost, and said to be from the end of time. */
	spoil_chunk(path, 5);
	sql(path, "UPDATE chunk SET first_ns = 9e18, last_ns = 9e18, events = -1 WHERE id = 5");
	/* Sound, and said to be from long ago. */
	sql(path, "UPDATE chunk SET first_ns = 0 WHERE id = 9");
	assert_ok(repair(path, to, &saved));
	n = life_read(to, 0, got, LIFE_MAX);
	assert_true(got[n - 1].time_ns == last_ns);
	assert_int_equal(got[n - 1].kind, DB_GAP);
	assert_int_equal(got[n - 1].slot, 1);
	assert_int_equal(sql_number(to, "SELECT value FROM env WHERE key = 'repair.lost_events'"), 1);
	assert_int_equal(verify(to, &seen).damages, 0);
	free(life);
}

static bool same_bytes(const char *a, const char *b)
{
	FILE *x = fopen(a, "r"), *y = fopen(b, "r");
	int c, d;

	assert_true(x && y);
	do {
		c = fgetc(x);
		d = fgetc(y);
	} while (c == d && c != EOF);
	fclose(x);
	fclose(y);
	return c == d;
}

static long file_bytes(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (long)st.st_size;
}

static void copy(const char *from, const char *to, long bytes)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");

	assert_true(in && out);
	while (bytes-- > 0)
		fputc(fgetc(in), out);
	assert_int_equal(fclose(in) + fclose(out), 0);
}

/* Whether all events of `some`, but gaps and marks, are of `all` in this order. */
static void assert_subset(const struct db_event *some, uint32_t n, const struct life *all)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct db_event e = some[i];

		if (e.kind == DB_GAP)
			continue;
		e.flags &= (uint8_t)~DB_F_UNKNOWN;
		while (at < all->n && memcmp(&all->events[at], &e, sizeof(e)) != 0)
			at++;
		assert_true(at < all->n);
	}
}

static void a_file_that_was_cut_short_gives_what_is_left(void **state)
{
	const char *whole = in_folder(state, "t.zr"), *path = in_folder(state, "short.zr");
	const char *to = in_folder(state, "to.zr");
	struct life *life = make(whole, 6);
	uint32_t saved_any = 0;

	for (long bytes = 4096; bytes < file_bytes(whole); bytes += 7000) {
		struct db_edit_result saved = { 0 };
		struct seen seen;
		enum zr_err err;

		copy(whole, path, bytes);
		err = repair(path, to, &saved);
		if (!err) {
			assert_int_equal(verify(to, &seen).damages, 0);
			assert_true(verify(path, &seen).damages > 0);
			assert_subset(got, life_read(to, 0, got, LIFE_MAX), life);
			saved_any += saved.events > saved.gaps;
			unlink(to);
		}
		zr_error_clear();
		unlink(path);
	}
	assert_true(saved_any > 0);
	free(life);
}

/* A sound trace of so many chunks of one event. */
static void make_chunks(const char *path, uint32_t n)
{
	struct db_writer_options options = { 0 };
	struct db_area area = { .path = "/dev/swap", .slots = n };
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	assert_ok(db_put_area(db, &area));
	assert_ok(db_writer_new(db, &options, &writer));
	for (uint32_t i = 0; i < n; i++) {
		struct db_event e = { .time_ns = 1000000000 + i, .kind = DB_OUT, .slot = i, .len = 700 };

		assert_ok(db_writer_add(writer, &e));
		assert_ok(db_writer_flush(writer));
	}
	assert_ok(db_writer_free(writer));
	assert_ok(db_set_complete(db));
	assert_ok(db_close(db));
}

/* More chunks in a row than are tried one by one: what comes behind is not taken for nothing. */
static void a_trace_whose_end_is_gone_is_not_called_complete(void **state)
{
	const char *whole = in_folder(state, "t.zr"), *path = in_folder(state, "short.zr");
	const char *to = in_folder(state, "to.zr");
	struct db_edit_result saved = { 0 };
	struct seen seen;
	struct db_verify_result found;

	make_chunks(whole, 600);
	assert_true(verify(whole, &seen).complete);
	copy(whole, path, file_bytes(whole) / 2);
	found = verify(path, &seen);
	assert_true(found.cut_short);
	assert_false(found.complete);
	assert_ok(repair(path, to, &saved));
	assert_true(saved.events > saved.gaps);
	found = verify(to, &seen);
	assert_int_equal(found.damages, 0);
	assert_false(found.complete);
}

static void random_damage_never_crashes_and_what_is_saved_is_true(void **state)
{
	const char *whole = in_folder(state, "t.zr"), *path = in_folder(state, "bad.zr");
	const char *to = in_folder(state, "to.zr");
	struct life *life = make(whole, 7);
	uint32_t repaired = 0;
	long bytes = file_bytes(whole);

	for (uint32_t round = 0; round < 60; round++) {
		struct db_edit_result saved = { 0 };
		struct seen seen;
		FILE *file;

		copy(whole, path, bytes);
		file = fopen(path, "r+");
		assert_non_null(file);
		/* Past the first pages, without which nobody can open it. */
		fseek(file, 4096 * 3 + (long)test_draw(&life->random, (uint64_t)bytes - 4096 * 4), SEEK_SET);
		for (uint64_t n = 1 + test_draw(&life->random, 600); n; n--)
			fputc((int)test_draw(&life->random, 256), file);
		assert_int_equal(fclose(file), 0);
		if (!repair(path, to, &saved)) {
			repaired++;
			assert_int_equal(verify(to, &seen).damages, 0);
			assert_subset(got, life_read(to, 0, got, LIFE_MAX), life);
			unlink(to);
		}
		zr_error_clear();
		unlink(path);
	}
	assert_true(repaired > 40);
	free(life);
}

static void repair_never_changes_the_file(void **state)
{
	const char *path = in_folder(state, "t.zr"), *before = in_folder(state, "before.zr");
	struct db_edit_result saved;

	free(make(path, 6));
	spoil_chunk(path, 3);
	copy(path, before, file_bytes(path));
	assert_fails(repair(path, path, &saved), ZR_EXISTS, "there already");
	assert_ok(repair(path, in_folder(state, "to.zr"), &saved));
	assert_true(same_bytes(path, before));
}

#define in_new_folder(test) cmocka_unit_test_setup_teardown(test, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_new_folder(a_sound_trace_has_no_findings),
		in_new_folder(damage_is_found_by_name),
		in_new_folder(a_part_without_its_folio_is_found),
		in_new_folder(what_began_before_is_counted_and_no_damage),
		in_new_folder(an_abrupt_end_is_told_and_no_damage),
		in_new_folder(repair_puts_a_gap_in_the_place_of_a_lost_chunk),
		in_new_folder(parts_whose_folio_is_lost_are_a_gap),
		in_new_folder(repair_gives_ids_without_a_row_an_empty_one),
		in_new_folder(events_of_slots_beyond_their_area_become_gaps),
		in_new_folder(wild_rows_do_not_bend_time),
		in_new_folder(a_file_that_was_cut_short_gives_what_is_left),
		in_new_folder(a_trace_whose_end_is_gone_is_not_called_complete),
		in_new_folder(random_damage_never_crashes_and_what_is_saved_is_true),
		in_new_folder(repair_never_changes_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
