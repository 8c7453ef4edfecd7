/* SPDX-License-Identifier: MIT */
/*
 * The device target on a regular file: what is submitted is what was planned, what is read back is what was
 * written, failures are told; and the guard in front of it. Real block devices are for the tests in the
 * virtual machine.
 */
#include "replayer/test_events.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "replayer/device.h"
#include "replayer/device_guard.h"

enum { SLOTS = 4096, PAGE = 4096 };

/* A folder of its own for each test; the test skips where files there cannot do O_DIRECT or io_uring is
 * not to be had. */
struct place {
	char dir[64], file[96];
};

static struct place new_place(void)
{
	struct place place = { .dir = "/tmp/zreel-device-XXXXXX" };

	assert_non_null(mkdtemp(place.dir));
	snprintf(place.file, sizeof(place.file), "%s/target", place.dir);
	return place;
}

static void remove_place(const struct place *place)
{
	unlink(place->file);
	assert_int_equal(rmdir(place->dir), 0);
}

static const uint64_t area_slots[] = { SLOTS };

static struct device_options options_for(const struct place *place)
{
	return (struct device_options){
		.path = place->file, .page_size = PAGE, .n_areas = 1, .area_slots = area_slots
	};
}

static struct device *open_or_skip(const struct device_options *options, const struct place *place)
{
	struct device *device;
	enum zr_err err = device_open(options, &device);

	if (err == ZR_UNSUPPORTED) {
		print_message("skipped: %s\n", zr_error_text());
		zr_error_clear();
		remove_place(place);
		skip();
	}
	assert_int_equal(err, ZR_OK);
	assert_int_equal(device_start(device, DEVICE_READS_WAIT), ZR_OK);
	return device;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void put_file(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

/* ------------------------------------------------------------------------------------ carrying out */

struct run {
	struct swapio *swapio;
	struct sim *sim;
	struct sim_machine machine;
	struct device_report report;
};

static struct run start_run(const char *policy_text, struct device *device)
{
	struct sim_policy policy = policy_of(policy_text);
	struct run run = { .swapio = calloc(1, sizeof(*run.swapio)), .machine = small_machine(SLOTS) };

	assert_non_null(run.swapio);
	swapio_init(run.swapio, &policy, PAGE, device_target(device));
	assert_int_equal(sim_new(&policy, &run.machine, &run.swapio->sink, &run.sim), ZR_OK);
	return run;
}

static void run_event(struct run *run, struct db_event event)
{
	feed_event(run->sim, &run->machine, &event);
}

static enum zr_err finish_run(struct run *run, struct device *device)
{
	sim_flush(run->sim);
	return device_finish(device, &run->report);
}

static void free_run(struct run *run)
{
	sim_free(run->sim);
	free(run->swapio);
}

/* Fills the pool in ascending runs with holes, lets the shrinker write, and reads much of it back. */
static void play_workload(struct run *run)
{
	uint64_t random = 3;

	for (int round = 0; round < 6; round++) {
		for (uint32_t i = 0; i < 400; i++)
			if (random_below(&random, 5))
				run_event(run,
					  event_out((uint32_t)round * 400 + i, 1,
						    (uint16_t)(200 + random_below(&random, 3800))));
		run_event(run, event_rejected(3000 + (uint32_t)round * 2, 1, DB_REASON_COMPRESS));
		run_event(run, event_rejected(3001 + (uint32_t)round * 2, 1, DB_REASON_COMPRESS));
		for (int walk = 0; walk < 4; walk++)
			run_event(run, event_scan(1, 128));
		for (int i = 0; i < 60; i++)
			run_event(run, event_in(random_below(&random, (uint32_t)(round + 1) * 400),
						DB_IN_DISK));
	}
}

static void what_is_submitted_is_what_was_planned(void **state)
{
	static const char *const policies[] = { "unbatched", "batched", "plug-only", "plugged" };
	uint64_t enters[4], entries[4];

	(void)state;
	for (size_t p = 0; p < 4; p++) {
		struct place place = new_place();
		struct device_options options = options_for(&place);
		struct device *device = open_or_skip(&options, &place);
		struct run run = start_run(policies[p], device);

		play_workload(&run);
		assert_int_equal(finish_run(&run, device), ZR_OK);
		assert_int_equal(run.report.write_entries, run.swapio->io.write_bios);
		assert_int_equal(run.report.bytes_written, run.swapio->io.write_pages * PAGE);
		assert_int_equal(run.report.reads, run.swapio->io.read_requests);
		assert_int_equal(run.report.read_ns.count, run.report.reads);
		assert_int_equal(run.report.early_kicks, 0);
		assert_false(run.report.counted);
		assert_true(run.report.reads > 100);
		enters[p] = run.report.enters;
		entries[p] = run.report.write_entries;
		free_run(&run);
		device_close(device);
		remove_place(&place);
	}
	/* 24 walks and 6 direct runs at most, each in one call where there is a plug. */
	assert_true(enters[2] <= 30 && enters[3] <= 30 && enters[2] == enters[3]);
	assert_true(entries[0] == entries[2] && entries[1] == entries[3] && entries[1] < entries[0]);
	/* Without one, a call for each write of a walk; a direct run is plugged anyway. */
	assert_true(enters[0] >= entries[0] - 6 && enters[0] <= entries[0]);
	assert_true(enters[1] >= entries[1] - 6 && enters[1] <= entries[1]);
}

static void refaults_read_what_was_last_written(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct run run = start_run("plugged+second_chance=off", device);

	(void)state;
	for (int generation = 0; generation < 3; generation++) {
		for (uint32_t slot = 0; slot < 100; slot++)
			run_event(&run, event_out(slot, 1, 1000));
		run_event(&run, event_scan(1, 100));
		for (uint32_t slot = 0; slot < 100; slot += 7)
			run_event(&run, event_in(slot, DB_IN_DISK));
		run_event(&run, event_free(0, 100));
	}
	assert_int_equal(finish_run(&run, device), ZR_OK);
	assert_int_equal(run.report.verified, 45);
	assert_int_equal(run.report.reads, 45);
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

/* More refaults than can be under way at once; those slots are then written again, while they may still be read. */
static void overlapping_refaults_read_what_was_last_written(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct run run;

	(void)state;
	assert_int_equal(device_start(device, DEVICE_READS_OVERLAP), ZR_OK);
	run = start_run("plugged+second_chance=off", device);
	for (int generation = 0; generation < 3; generation++) {
		for (uint32_t slot = 0; slot < 200; slot++)
			run_event(&run, event_out(slot, 1, 1000));
		run_event(&run, event_scan(1, 200));
		for (uint32_t slot = 0; slot < 200; slot++)
			run_event(&run, event_in(slot, DB_IN_DISK));
		run_event(&run, event_free(0, 200));
	}
	run_event(&run, event_in(0, DB_IN_DISK)); /* unknown: no read */
	assert_int_equal(finish_run(&run, device), ZR_OK);
	assert_int_equal(run.report.reads, 600);
	assert_int_equal(run.report.verified, 600);
	assert_int_equal(run.report.read_ns.count, 600);
	assert_int_equal(run.report.write_ns.count, run.report.write_entries);
	assert_int_equal(run.report.reads, run.swapio->io.read_requests);
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1'000'000'000 + (uint64_t)now.tv_nsec;
}

/* With a refault under way the wait ends with it, though the time to wait for never comes. */
static void waiting_serves_what_is_under_way(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct run run;
	uint64_t before;

	(void)state;
	assert_int_equal(device_start(device, DEVICE_READS_OVERLAP), ZR_OK);
	run = start_run("unbatched", device);
	run_event(&run, event_rejected(5, 1, DB_REASON_COMPRESS));
	run_event(&run, event_in(5, DB_IN_DISK)); /* waits for the write, not for the read */
	device_wait(device, UINT64_MAX / 2);
	before = monotonic_ns();
	device_wait(device, before + 100'000);
	assert_true(monotonic_ns() >= before + 100'000);
	assert_int_equal(finish_run(&run, device), ZR_OK);
	assert_int_equal(run.report.verified, 1);
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

static void a_slot_that_is_written_twice_in_a_run_keeps_the_second(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct run run = start_run("plugged", device);

	(void)state;
	for (int i = 0; i < 3; i++) {
		run_event(&run, event_rejected(5, 1, DB_REASON_COMPRESS));
		run_event(&run, event_rejected(9, 1, DB_REASON_COMPRESS));
		run_event(&run, event_free(5, 1));
	}
	run_event(&run, event_rejected(5, 1, DB_REASON_COMPRESS));
	run_event(&run, event_in(5, DB_IN_DISK));
	run_event(&run, event_in(9, DB_IN_DISK));
	assert_int_equal(finish_run(&run, device), ZR_OK);
	assert_int_equal(run.report.verified, 2);
	assert_true(run.report.early_kicks > 0);
	assert_int_equal(run.report.bytes_written, 7 * PAGE);
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

static void a_walk_larger_than_the_buffers_is_sent_in_pieces(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device;
	struct run run;

	(void)state;
	options.no_cpu = true;
	device = open_or_skip(&options, &place);
	run = start_run("plug-only+second_chance=off", device);
	for (uint32_t slot = 0; slot < 3000; slot++)
		run_event(&run, event_out(slot, 1, 500));
	run_event(&run, event_scan(1, 3000));
	for (uint32_t slot = 0; slot < 3000; slot += 100)
		run_event(&run, event_in(slot, DB_IN_DISK));
	assert_int_equal(finish_run(&run, device), ZR_OK);
	assert_int_equal(run.report.write_entries, 3000);
	assert_true(run.report.early_kicks > 0);
	assert_int_equal(run.report.enters, run.report.early_kicks + 1);
	assert_int_equal(run.report.verified, 30);
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

static void a_pass_does_not_expect_what_an_earlier_one_wrote(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		struct run run = start_run("batched", device);

		if (pass)
			assert_int_equal(device_start(device, DEVICE_READS_WAIT), ZR_OK);
		run_event(&run, event_in(7, DB_IN_DISK)); /* unknown: no read */
		run_event(&run, event_in(7, DB_IN_DISK)); /* a read of who knows what */
		run_event(&run, event_rejected(7, 1, DB_REASON_COMPRESS));
		assert_int_equal(finish_run(&run, device), ZR_OK);
		assert_int_equal(run.report.reads, 1);
		assert_int_equal(run.report.verified, 0);
		free_run(&run);
	}
	device_close(device);
	remove_place(&place);
}

/* ---------------------------------------------------------------------------------------- failures */

/* The page of a slot in the file; `write` puts it there, else it is fetched. */
static void copy_page(const struct place *place, uint32_t slot, unsigned char page[PAGE], bool write)
{
	int fd = open(place->file, O_RDWR);
	off_t offset = (off_t)(1 + slot) * PAGE;

	assert_true(fd >= 0);
	assert_int_equal(write ? pwrite(fd, page, PAGE, offset) : pread(fd, page, PAGE, offset), PAGE);
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

/* Writes slot 5, waits for it and reads it. */
static void write_slot_5(struct run *run)
{
	run_event(run, event_rejected(5, 1, DB_REASON_COMPRESS));
	run_event(run, event_in(5, DB_IN_DISK));
}

static void content_that_was_changed_behind_its_back_is_told(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct run run = start_run("unbatched", device);
	unsigned char junk[PAGE] = { 1 };

	(void)state;
	write_slot_5(&run);
	assert_int_equal(device_error(device), ZR_OK);
	copy_page(&place, 5, junk, true);
	run_event(&run, event_in(5, DB_IN_DISK));
	assert_int_equal(device_error(device), ZR_CORRUPT);
	assert_non_null(strstr(zr_error_text(), "slot 5 of swap area 0"));
	assert_int_equal(finish_run(&run, device), ZR_CORRUPT);
	zr_error_clear();
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

/* A device that lost the second of two writes: in the same pass, or the first of the next pass. */
static void an_older_page_in_the_slot_is_told(void **state)
{
	(void)state;
	for (int passes = 1; passes <= 2; passes++) {
		struct place place = new_place();
		struct device_options options = options_for(&place);
		struct device *device = open_or_skip(&options, &place);
		struct run run = start_run("unbatched", device);
		unsigned char older[PAGE];

		write_slot_5(&run);
		assert_int_equal(finish_run(&run, device), ZR_OK);
		copy_page(&place, 5, older, false);
		if (passes == 2)
			assert_int_equal(device_start(device, DEVICE_READS_WAIT), ZR_OK);
		write_slot_5(&run);
		assert_int_equal(device_error(device), ZR_OK);
		copy_page(&place, 5, older, true);
		run_event(&run, event_in(5, DB_IN_DISK));
		assert_int_equal(finish_run(&run, device), ZR_CORRUPT);
		assert_non_null(strstr(zr_error_text(), "another page's content"));
		zr_error_clear();
		free_run(&run);
		device_close(device);
		remove_place(&place);
	}
}

/* The limit of the process stands for a full file system: the write fails in the middle of the run. */
static void a_write_that_fails_ends_the_run_and_names_what_was_lost(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct run run = start_run("batched+second_chance=off", device);
	struct rlimit before, small;
	void (*old)(int) = signal(SIGXFSZ, SIG_IGN);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100 * PAGE;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint32_t slot = 0; slot < 32; slot++)
		run_event(&run, event_out(slot, 1, 1000));
	for (uint32_t slot = 200; slot < 232; slot++)
		run_event(&run, event_out(slot, 1, 1000));
	run_event(&run, event_scan(1, 32));
	run_event(&run, event_in(3, DB_IN_DISK)); /* still fine */
	assert_int_equal(device_error(device), ZR_OK);
	run_event(&run, event_scan(1, 32));
	for (uint32_t slot = 32; slot < 64; slot++) /* must do nothing, and not hang */
		run_event(&run, event_rejected(slot, 1, DB_REASON_COMPRESS));
	run_event(&run, event_in(200, DB_IN_DISK));
	assert_int_equal(finish_run(&run, device), ZR_FULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, old);
	assert_non_null(strstr(zr_error_text(), "slot 200 of swap area 0"));
	assert_int_equal(run.report.verified, 1);
	assert_int_equal(run.report.write_entries, 2);
	zr_error_clear();
	free_run(&run);
	device_close(device);
	remove_place(&place);
}

static void a_file_that_is_too_small_for_the_slots_is_refused(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device;
	enum zr_err err;

	(void)state;
	options.file_bytes = SLOTS * (uint64_t)PAGE; /* the first page is one more */
	err = device_open(&options, &device);
	if (err == ZR_UNSUPPORTED) {
		print_message("skipped: %s\n", zr_error_text());
		zr_error_clear();
		remove_place(&place);
		skip();
	}
	assert_int_equal(err, ZR_FULL);
	zr_error_clear();
	assert_false(exists(place.file));
	remove_place(&place);
}

/* ------------------------------------------------------------------------------------------- guard */

static void a_scratch_file_is_made_and_removed(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device = open_or_skip(&options, &place);
	struct stat st;

	(void)state;
	assert_int_equal(stat(place.file, &st), 0);
	assert_int_equal(st.st_size, (SLOTS + 1) * PAGE);
	device_close(device);
	assert_false(exists(place.file));
	remove_place(&place);
}

static enum zr_err try_open(const char *path, const char *yes_destroy)
{
	struct device_file file;
	enum zr_err err = device_file_open(path, yes_destroy, &file);

	if (!err)
		close(file.fd);
	return err;
}

static void a_foreign_file_is_refused_unless_it_is_named_again(void **state)
{
	struct place place = new_place();
	struct device_options options = options_for(&place);
	struct device *device;

	(void)state;
	put_file(place.file, "thesis", 6);
	if (try_open(place.file, place.file) == ZR_UNSUPPORTED) {
		print_message("skipped: %s\n", zr_error_text());
		zr_error_clear();
		remove_place(&place);
		skip();
	}
	assert_int_equal(try_open(place.file, NULL), ZR_EXISTS);
	assert_non_null(strstr(zr_error_text(), "--yes-destroy"));
	zr_error_clear();
	assert_int_equal(try_open(place.file, "other"), ZR_EXISTS);
	zr_error_clear();
	options.yes_destroy = place.file;
	device = open_or_skip(&options, &place);
	device_close(device);
	assert_true(exists(place.file)); /* it was there before: it stays */
	/* Now it is marked as zreel's own. */
	assert_int_equal(try_open(place.file, NULL), ZR_OK);
	remove_place(&place);
}

static void what_is_neither_file_nor_block_device_is_refused(void **state)
{
	struct place place = new_place();

	(void)state;
	assert_int_equal(try_open(place.dir, place.dir), ZR_UNSUPPORTED);
	zr_error_clear();
	assert_int_equal(try_open("/dev/null", "/dev/null"), ZR_UNSUPPORTED);
	zr_error_clear();
	assert_int_equal(try_open("/nonexistent/zreel/target", NULL), ZR_NOT_FOUND);
	zr_error_clear();
	remove_place(&place);
}

static void a_block_device_must_be_named_twice(void **state)
{
	glob_t devices;

	(void)state;
	if (glob("/dev/[vs]d[a-z]", 0, NULL, &devices) && glob("/dev/nvme*n1", 0, NULL, &devices)) {
		print_message("skipped: there is no block device here\n");
		skip();
	}
	assert_int_equal(try_open(devices.gl_pathv[0], NULL), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "--yes-destroy"));
	zr_error_clear();
	globfree(&devices);
}

static void known_signatures_are_found(void **state)
{
	static const struct {
		uint32_t offset;
		const char *magic, *name;
	} samples[] = {
		{ 1080, "\x53\xef", "ext" },	{ 0, "XFSB", "XFS" },
		{ 65600, "_BHRfS_M", "btrfs" }, { 4086, "SWAPSPACE2", "swap" },
		{ 512, "LABELONE", "LVM" },	{ 0, "LUKS\xba\xbe", "LUKS" },
		{ 512, "EFI PART", "GUID" },	{ 510, "\x55\xaa", "partition table" },
		{ 32769, "CD001", "ISO 9660" }, { 4096, "\xfc\x4e\x2b\xa9", "RAID" },
	};
	unsigned char *start = malloc(DEVICE_SIGNATURE_BYTES);

	(void)state;
	assert_non_null(start);
	memset(start, 0, DEVICE_SIGNATURE_BYTES);
	assert_null(device_signature(start, DEVICE_SIGNATURE_BYTES));
	assert_null(device_signature(start, 0));
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		memset(start, 0, DEVICE_SIGNATURE_BYTES);
		memcpy(start + samples[i].offset, samples[i].magic, strlen(samples[i].magic));
		assert_non_null(device_signature(start, DEVICE_SIGNATURE_BYTES));
		assert_non_null(
			strstr(device_signature(start, DEVICE_SIGNATURE_BYTES), samples[i].name));
	}
	memset(start, 0, DEVICE_SIGNATURE_BYTES);
	device_mark(start, PAGE);
	assert_null(device_signature(start, DEVICE_SIGNATURE_BYTES));
	assert_true(device_is_marked(start, PAGE));
	free(start);
}

static void mounts_and_swaps_are_found_in_their_tables(void **state)
{
	static const char mounts[] = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
				     "30 22 259:12 /sub /mnt/x\\040y rw - xfs /dev/nvme0n1p2 rw\n";
	static const char swaps[] =
		"Filename\t\t\t\tType\t\tSize\n/dev/vdb2                partition\t8\n"
		"/var/a\\040swap\\134file                file\t1\n";

	(void)state;
	assert_true(device_is_mounted(mounts, 254, 0));
	assert_true(device_is_mounted(mounts, 259, 12));
	assert_false(device_is_mounted(mounts, 259, 1));
	assert_false(device_is_mounted(mounts, 22, 1));
	assert_false(device_is_mounted("", 0, 0));
	assert_true(device_is_swap(swaps, "/dev/vdb2"));
	assert_false(device_is_swap(swaps, "/dev/vdb"));
	assert_false(device_is_swap(swaps, "/dev/vdb22"));
	assert_true(device_is_swap(swaps, "/var/a swap\\file"));
	assert_false(device_is_swap(swaps, "/var/a"));
	assert_false(device_is_swap("", "/var/swap"));
}

static void a_mistyped_device_is_not_made_a_file(void **state)
{
	struct device_file file;

	(void)state;
	assert_int_equal(device_file_open("/dev/nosuch0n1", NULL, &file), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "no device"));
	zr_error_clear();
	assert_false(exists("/dev/nosuch0n1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistyped_device_is_not_made_a_file),
		cmocka_unit_test(what_is_submitted_is_what_was_planned),
		cmocka_unit_test(refaults_read_what_was_last_written),
		cmocka_unit_test(overlapping_refaults_read_what_was_last_written),
		cmocka_unit_test(waiting_serves_what_is_under_way),
		cmocka_unit_test(a_slot_that_is_written_twice_in_a_run_keeps_the_second),
		cmocka_unit_test(a_walk_larger_than_the_buffers_is_sent_in_pieces),
		cmocka_unit_test(a_pass_does_not_expect_what_an_earlier_one_wrote),
		cmocka_unit_test(content_that_was_changed_behind_its_back_is_told),
		cmocka_unit_test(an_older_page_in_the_slot_is_told),
		cmocka_unit_test(a_write_that_fails_ends_the_run_and_names_what_was_lost),
		cmocka_unit_test(a_file_that_is_too_small_for_the_slots_is_refused),
		cmocka_unit_test(a_scratch_file_is_made_and_removed),
		cmocka_unit_test(a_foreign_file_is_refused_unless_it_is_named_again),
		cmocka_unit_test(what_is_neither_file_nor_block_device_is_refused),
		cmocka_unit_test(a_block_device_must_be_named_twice),
		cmocka_unit_test(known_signatures_are_found),
		cmocka_unit_test(mounts_and_swaps_are_found_in_their_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
