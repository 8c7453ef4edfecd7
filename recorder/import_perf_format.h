/* SPDX-License-Identifier: MIT */
/*
 * The layout of perf.data, little-endian, as documented with perf and in its user header. Offsets in bytes.
 */
#ifndef RECORDER_IMPORT_PERF_FORMAT_H
#define RECORDER_IMPORT_PERF_FORMAT_H

enum {
	/* The file's head: magic 0, size 8, size of an attribute 16, then three sections of { place 8, size 8 }:
	 * attributes 24, data 40, event types 56; and a bitmap of features 72. A pipe's head ends after 16. */
	PERF_HEAD_BYTES = 104,
	PERF_PIPE_HEAD_BYTES = 16,
	PERF_HEAD_ATTR_BYTES = 16,
	PERF_HEAD_ATTRS = 24,
	PERF_HEAD_DATA = 40,
	PERF_HEAD_FEATURES = 72,
	PERF_FEATURES = 256,
	PERF_SECTION_BYTES = 16,

	/* Features; each that is there has a section in the table behind the data, in this order. */
	PERF_FEATURE_TRACING_DATA = 1,
	PERF_FEATURE_RELEASE = 4,
	PERF_FEATURE_COMPRESSED = 27,

	/* An attribute: type 0, size 4, config 8, sample_type 24, read_format 32, flags 40. */
	PERF_ATTR_SAMPLE_TYPE = 24,
	PERF_ATTR_READ_FORMAT = 32,
	PERF_ATTR_FLAGS = 40,
	PERF_ATTR_MIN_BYTES = 64,
	PERF_ATTR_CLOCKID = 92,
	PERF_ATTR_CLOCKID_END = 96,
	PERF_ATTR_FLAG_SAMPLE_ID_ALL_BIT = 18,
	PERF_ATTR_FLAG_USE_CLOCKID_BIT = 25,

	/* A record: type 0 (4), misc 4 (2), size 6 (2), then its body. */
	PERF_RECORD_HEAD_BYTES = 8,
	PERF_RECORD_LOST = 2,
	PERF_RECORD_SAMPLE = 9,
	PERF_RECORD_LOST_SAMPLES = 13,
	PERF_RECORD_HEADER_ATTR = 64,
	PERF_RECORD_HEADER_TRACING_DATA = 66,
	PERF_RECORD_FINISHED_ROUND = 68,
	PERF_RECORD_AUXTRACE = 71,
	PERF_RECORD_HEADER_FEATURE = 80,
	PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_COMPRESSED2 = 83,

	/* What a sample may hold, in the order in which it is there (IDENTIFIER is first). */
	PERF_SAMPLE_IP = 1 << 0,
	PERF_SAMPLE_TID = 1 << 1,
	PERF_SAMPLE_TIME = 1 << 2,
	PERF_SAMPLE_ADDR = 1 << 3,
	PERF_SAMPLE_READ = 1 << 4,
	PERF_SAMPLE_CALLCHAIN = 1 << 5,
	PERF_SAMPLE_ID = 1 << 6,
	PERF_SAMPLE_CPU = 1 << 7,
	PERF_SAMPLE_PERIOD = 1 << 8,
	PERF_SAMPLE_STREAM_ID = 1 << 9,
	PERF_SAMPLE_RAW = 1 << 10,
	PERF_SAMPLE_IDENTIFIER = 1 << 16,

	/* The format of READ. */
	PERF_READ_TIME_ENABLED = 1 << 0,
	PERF_READ_TIME_RUNNING = 1 << 1,
	PERF_READ_ID = 1 << 2,
	PERF_READ_GROUP = 1 << 3,
	PERF_READ_LOST = 1 << 4,
};

#endif
