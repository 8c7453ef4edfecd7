-- SPDX-License-Identifier: MIT
--
-- The tables of a trace file, version 1. This text is normative, and so is db/chunk_format.h for what lies
-- in chunk.data. The file is made by running it once; a file is taken for a trace if application_id is the
-- one below, and for a whole one if the CREATE statements in it are these, to the letter. So a change to
-- any statement, its white space too, is a new version: raise user_version, and teach db/open.c to
-- bring version 1 forward. Comments stay outside of the statements for that reason.
--
-- Every row belongs to a host; ids of cgroups, tasks and areas are dense and count within their host.
-- Times are nanoseconds of the host's trace clock. Unsigned 64-bit values are stored as SQLite's signed
-- integer of the same bits. Tables are not STRICT: distributions still ship clients older than 3.37,
-- which cannot open a file that has a STRICT table, and any client shall be able to read results.
--
-- A page is 4 KiB. Measured for 4, 8 and 16 KiB with 96 chunks, flushed once a second: on a quiet host (112
-- events a chunk) 1.3, 2.1 and 3.8 MB were written for a file of 184, 221 and 344 kB; on a busy one
-- (22,000 events a chunk) 16.3, 17.7 and 20.3 MB for 7.5, 7.6 and 7.8 MB, and reading it all took
-- 49, 48 and 56 ms.

PRAGMA page_size = 4096;

BEGIN;

PRAGMA application_id = 2054317420; -- 0x7a72656c, 'zrel'
PRAGMA user_version = 1;

-- One row. name: 32 random hex digits, by which runs remember their trace. complete: 0 while it is being
-- recorded, and for ever if the recording ended abruptly.
CREATE TABLE trace (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	name TEXT NOT NULL,
	complete INTEGER NOT NULL
);

CREATE TABLE host (
	id INTEGER PRIMARY KEY
);

-- The environment of the recording. The keys are those of DB_ENV_... in db/db.h.
CREATE TABLE env (
	host INTEGER NOT NULL,
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (host, key)
) WITHOUT ROWID;

CREATE TABLE memcg (
	host INTEGER NOT NULL,
	id INTEGER NOT NULL,
	cgroup_id INTEGER NOT NULL,
	path TEXT NOT NULL,
	PRIMARY KEY (host, id)
) WITHOUT ROWID;

CREATE TABLE task (
	host INTEGER NOT NULL,
	id INTEGER NOT NULL,
	tid INTEGER NOT NULL,
	tgid INTEGER NOT NULL,
	comm TEXT NOT NULL,
	PRIMARY KEY (host, id)
) WITHOUT ROWID;

-- type: the kernel's number of the swap area. slots: its size in pages, header included.
CREATE TABLE area (
	host INTEGER NOT NULL,
	id INTEGER NOT NULL,
	type INTEGER NOT NULL,
	path TEXT NOT NULL,
	is_file INTEGER NOT NULL,
	major INTEGER NOT NULL,
	minor INTEGER NOT NULL,
	start_sector INTEGER NOT NULL,
	slots INTEGER NOT NULL,
	priority INTEGER NOT NULL,
	PRIMARY KEY (host, id)
) WITHOUT ROWID;

-- The events, up to 65536 a chunk. kinds: bits 1 << enum db_kind. slot_min, slot_max: the slots that its
-- OUT, IN, FREE, WB and IO events cover; min > max if there are none. memcgs: bits 1 << memcg % 64. The chunks of a host follow one
-- another: first_ns is not below last_ns of the one before.
CREATE TABLE chunk (
	id INTEGER PRIMARY KEY,
	host INTEGER NOT NULL,
	first_ns INTEGER NOT NULL,
	last_ns INTEGER NOT NULL,
	events INTEGER NOT NULL,
	kinds INTEGER NOT NULL,
	slot_min INTEGER NOT NULL,
	slot_max INTEGER NOT NULL,
	memcgs INTEGER NOT NULL,
	data BLOB NOT NULL
);

CREATE INDEX chunk_by_time ON chunk (host, first_ns);

-- Counters that were read now and then. A sample is appended, not sorted in by its counter: a second's
-- samples then dirty one page and not one for each counter.
CREATE TABLE counter (
	id INTEGER PRIMARY KEY,
	host INTEGER NOT NULL,
	source TEXT NOT NULL,
	name TEXT NOT NULL,
	UNIQUE (host, source, name)
);

CREATE TABLE sample (
	time_ns INTEGER NOT NULL,
	counter INTEGER NOT NULL,
	value REAL NOT NULL
);

-- Replays: plain rows, for any client. drive and target say what a figure means, metric.figure how it came
-- to be: measured, planned or modelled.
CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	policy TEXT NOT NULL,
	knobs TEXT NOT NULL,
	target TEXT NOT NULL,
	target_detail TEXT NOT NULL,
	drive TEXT NOT NULL,
	pace TEXT NOT NULL,
	trace_id TEXT NOT NULL,
	trace_path TEXT NOT NULL,
	host INTEGER NOT NULL,
	created_realtime_ns INTEGER NOT NULL,
	reps INTEGER NOT NULL,
	partial INTEGER NOT NULL,
	note TEXT NOT NULL
);

CREATE TABLE metric (
	run INTEGER NOT NULL,
	name TEXT NOT NULL,
	rep INTEGER NOT NULL,
	value REAL NOT NULL,
	figure TEXT NOT NULL,
	PRIMARY KEY (run, name, rep)
) WITHOUT ROWID;

-- seq: several points of a series may have one time.
CREATE TABLE point (
	run INTEGER NOT NULL,
	series TEXT NOT NULL,
	time_ns INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	value REAL NOT NULL,
	PRIMARY KEY (run, series, time_ns, seq)
) WITHOUT ROWID;

INSERT INTO trace (id, name, complete) VALUES (1, lower(hex(randomblob(16))), 0);

COMMIT;
