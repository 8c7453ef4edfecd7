/* SPDX-License-Identifier: MIT */
/*
 * What a raw event costs from the mapped ring to the file: a perf ring filled with the records of a
 * swapping machine is read, decoded, merged, folded, encoded and stored, as a recording does it, without the
 * kernel's part. Processor time, and the share of each stage by leaving the later ones out.
 *
 *	fold_bench [MILLIONS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/base/bytes.h"
#include "recorder/perf.h"
#include "recorder/trace.h"

enum { CIRCLE = 1 << 20, RAW_BYTES = 44, RECORD_BYTES = 80, TASKS = 8, SLOTS = 100'000 };

enum stage { STAGE_READ, STAGE_FOLD, STAGE_STORE, STAGES };

static const char *const stage_names[] = { "read, decode, merge", "and fold", "and encode, store" };

/* One format for all types: the fields are those of the largest, a type takes what it needs. */
static void write_format(char *text, size_t bytes, const char *name, unsigned id)
{
	snprintf(text, bytes,
		 "name: %s\nID: %u\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		 "\tfield:u64 swp;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:u64 memcg;\toffset:16;\tsize:8;\tsigned:0;\n"
		 "\tfield:u64 cg;\toffset:24;\tsize:8;\tsigned:0;\n"
		 "\tfield:u32 len;\toffset:32;\tsize:4;\tsigned:0;\n"
		 "\tfield:s32 ret;\toffset:36;\tsize:4;\tsigned:1;\n\n"
		 "print fmt: \"swp=%%Lx\", REC->swp\n",
		 name, id);
}

/* A page goes out and is stored, comes back, and its slot is freed: nine events. */
static const enum rec_type cycle[] = { REC_OUT,	 REC_LEN,      REC_OUT_RET, REC_FAULT,	  REC_READ,
				       REC_LOAD_RET, REC_READ_RET, REC_FAULT_RET, REC_FREE };

enum { CYCLE = sizeof(cycle) / sizeof(*cycle), FIRST_ID = 1500 };

struct load {
	unsigned char data[CIRCLE];
	struct rec_perf_circle circle;
	uint64_t n, time_ns, random;
};

static void put_event(struct load *load)
{
	unsigned char record[RECORD_BYTES] = { 0 };
	uint64_t page = load->n / CYCLE / TASKS, task = load->n / CYCLE % TASKS;
	enum rec_type type = cycle[load->n % CYCLE];
	const struct perf_event_header head = { .type = PERF_RECORD_SAMPLE, .size = RECORD_BYTES };

	load->random = load->random * 6364136223846793005 + 1442695040888963407;
	load->time_ns += 500 + (load->random >> 54);
	memcpy(record, &head, sizeof(head));
	zr_put32(record + 12, (uint32_t)task + 100);
	zr_put64(record + 16, load->time_ns);
	zr_put32(record + 32, RAW_BYTES);
	zr_put16(record + 36, (uint16_t)(FIRST_ID + type));
	zr_put64(record + 44, (page * 7919 + task * 11) % SLOTS);
	zr_put64(record + 52, 1);
	zr_put64(record + 60, 4242 + task / 4);
	zr_put32(record + 68, 500 + (uint32_t)(load->random >> 40) % 2000);
	zr_put32(record + 72, type == REC_LOAD_RET);
	for (size_t i = 0; i < sizeof(record); i++)
		load->data[load->circle.head++ % CIRCLE] = record[i];
	load->n++;
}

static enum zr_err drop_event([[maybe_unused]] void *arg, [[maybe_unused]] const struct db_event *event)
{
	return ZR_OK;
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct bench {
	struct load *load;
	struct rec_perf_reader *reader;
	struct rec_decoder *decoder;
	struct rec_fold *fold;
	struct rec_trace trace;
	char path[64];
};

static enum zr_err open_bench(struct bench *bench, enum stage stage)
{
	static const struct rec_layout layout = { .head_bit = 6 };
	struct rec_fold_options options = {
		.sink = { .event = stage == STAGE_STORE ? rec_trace_event : drop_event,
			  .memcg = rec_trace_memcg, .task = rec_trace_task, .area = rec_trace_area,
			  .arg = &bench->trace },
		.store_ret_of_failures = true,
	};
	char format[1024];
	uint32_t id;
	enum zr_err err = rec_decoder_new(&layout, &bench->decoder);

	for (uint32_t i = 0; !err && i < CYCLE; i++) {
		options.types |= 1u << cycle[i];
		write_format(format, sizeof(format), rec_type_name(cycle[i]), FIRST_ID + cycle[i]);
		err = rec_decoder_add(bench->decoder, "zreel_1", format, cycle[i]);
	}
	snprintf(bench->path, sizeof(bench->path), "/tmp/zreel-bench-%d.zr", (int)getpid());
	if (!err)
		err = rec_trace_open(bench->path, &(struct rec_trace_how){ 0 }, &bench->trace);
	if (!err)
		err = rec_fold_new(&options, &bench->fold);
	if (!err)
		err = rec_fold_area(bench->fold, &(struct rec_area){ .slots = SLOTS }, &id);
	bench->load = calloc(1, sizeof(*bench->load));
	bench->reader = calloc(1, sizeof(*bench->reader));
	bench->load->circle = (struct rec_perf_circle){ .data = bench->load->data, .bytes = CIRCLE };
	bench->load->time_ns = 1'000'000;
	bench->reader->decoder = bench->decoder;
	bench->reader->merge = rec_merge_new(1, 0);
	return err;
}

static void close_bench(struct bench *bench)
{
	rec_merge_free(bench->reader->merge);
	rec_decoder_free(bench->decoder);
	rec_fold_free(bench->fold);
	free(bench->load);
	free(bench->reader);
	unlink(bench->path);
}

static enum zr_err one_round(struct bench *bench, enum stage stage)
{
	struct rec_raw raw;
	enum zr_err err;

	rec_merge_begin(bench->reader->merge);
	err = rec_perf_take(bench->reader, &bench->load->circle, UINT64_MAX - 1);
	rec_merge_end(bench->reader->merge);
	while (!err && rec_merge_next(bench->reader->merge, UINT64_MAX, &raw))
		if (stage >= STAGE_FOLD)
			err = rec_fold_add(bench->fold, &raw);
	return err;
}

/* Processor seconds of `events`, without those that it took to make them up. */
static enum zr_err run(enum stage stage, uint64_t events)
{
	struct bench bench = { 0 };
	double seconds = 0, begin;
	struct db_writer_stats stats;
	enum zr_err err = open_bench(&bench, stage);

	while (!err && bench.load->n < events) {
		for (uint32_t i = 0; i < CIRCLE / RECORD_BYTES; i++)
			put_event(bench.load);
		begin = cpu_seconds();
		err = one_round(&bench, stage);
		seconds += cpu_seconds() - begin;
	}
	stats = db_writer_stats(bench.trace.writer);
	begin = cpu_seconds();
	err = rec_trace_close(&bench.trace, err);
	seconds += cpu_seconds() - begin;
	if (!err)
		printf("  %-20s %.3f CPU s a million raw events", stage_names[stage],
		       seconds * 1e6 / (double)bench.load->n);
	if (!err && stats.events)
		printf(", %.2f bytes an event", (double)stats.chunk_bytes / (double)stats.events);
	printf("\n");
	close_bench(&bench);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t millions = argc > 1 ? strtoull(argv[1], NULL, 10) : 4;
	enum zr_err err = ZR_OK;

	for (enum stage stage = 0; !err && stage < STAGES; stage++)
		err = run(stage, millions * 1'000'000);
	if (err)
		fprintf(stderr, "fold_bench: %s\n", zr_error_text());
	return err != ZR_OK;
}
