/* SPDX-License-Identifier: MIT */
/* The device target of device.h. */
#include "replayer/device.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "replayer/content.h"
#include "replayer/device_guard.h"
#include "replayer/pages.h"

enum { OPS = 512, BUFFER_PAGES = 1024, READS = 64, TRIES = 1000, CONTENT_SEED = 1 };

/* Behind the pages of writes: one a read, one that nobody reads. */
enum { READ_PAGE = BUFFER_PAGES, SCRATCH_PAGE = READ_PAGE + READS, ALL_PAGES };

enum op_state { OP_DONE, OP_QUEUED, OP_IN_FLIGHT };

/* One write; or a read, which is not in the ring. */
struct op {
	enum op_state state;
	bool is_read;
	uint32_t slot, pages, index; /* index: of the first slot in `slots` */
	uint8_t area;
	uint32_t buffer_page, buffer_span; /* span: with the pages skipped at the ring's end */
	uint32_t tries;
	uint64_t start_ns;
};

/* What a slot's page must begin with. */
struct slot_content {
	uint32_t generation : 30; /* 0 = this pass has not written it */
	uint32_t writing : 1;	  /* a write is queued or in flight */
	uint32_t reading : 1;
};

struct page_header {
	uint64_t magic;
	uint32_t pass, index, generation, pad;
};

static const uint64_t page_magic = 0x7a7265656c2e7067; /* "zreel.pg" */

struct queue {
	uint32_t n;
	struct op *ops[OPS];
};

struct device {
	struct swapio_target target; /* first */
	const char *path;
	struct device_file file;
	enum zr_err err;
	bool no_cpu;
	uint32_t page_size, n_areas, n_slots, pass;
	uint32_t area_base[DB_AREA_MAX + 1];
	struct slot_content *slots;
	struct content *content;

	struct io_uring ring;
	bool have_ring, have_buffers;
	unsigned char *buffers; /* ALL_PAGES */
	struct op ops[OPS];
	uint32_t op_head, op_tail;	   /* oldest not reusable; next to give out; modulo OPS */
	uint32_t buffer_head, buffer_tail; /* the same, pages modulo BUFFER_PAGES */
	struct queue queues[SWAPIO_CONTEXTS];
	enum device_reads how_to_read;
	struct op reads[READS];
	uint32_t depth;
	uint32_t prepared, in_flight; /* entries for the kernel, and in it */
	uint32_t most_in_flight;

	struct device_report report;
	bool has_corpus;
	struct content_fit fit_before;
	struct account account;
};

static struct device *device_of(struct swapio_target *target)
{
	return (struct device *)target;
}

static void keep_error(struct device *device, enum zr_err err)
{
	if (!device->err)
		device->err = err;
}

static unsigned char *buffer_at(const struct device *device, uint32_t page)
{
	return device->buffers + (size_t)page * device->page_size;
}

static uint64_t offset_of(const struct device *device, uint32_t index)
{
	return ((uint64_t)index + 1) * device->page_size;
}

static const uint64_t ns_per_s = 1'000'000'000;

/* ------------------------------------------------------------------------- submission, completions */

static void check_result(struct device *device, const struct op *op, int32_t result)
{
	size_t wanted = (size_t)op->pages * device->page_size;
	const char *what = op->is_read ? "reading" : "writing";

	if (result < 0)
		keep_error(device, zr_fail_errno(-result,
						 "%s %u pages from slot %u of swap area %u %s '%s'; "
						 "the replay ends here",
						 what, op->pages, op->slot, op->area,
						 op->is_read ? "from" : "to", device->path));
	else if ((size_t)result < wanted)
		keep_error(device, zr_fail(ZR_FULL,
					   "%s %u pages from slot %u of swap area %u %s '%s': only %d "
					   "of %zu bytes went through; the replay ends here",
					   what, op->pages, op->slot, op->area,
					   op->is_read ? "from" : "to", device->path, result, wanted));
}

static void retire_oldest(struct device *device)
{
	while (device->op_head != device->op_tail &&
	       device->ops[device->op_head % OPS].state == OP_DONE) {
		device->buffer_head += device->ops[device->op_head % OPS].buffer_span;
		device->op_head++;
	}
}

static void verify(struct device *device, const struct op *op)
{
	struct page_header want = { .magic = page_magic,
				    .pass = device->pass,
				    .index = op->index,
				    .generation = device->slots[op->index].generation };
	struct page_header found;

	memcpy(&found, buffer_at(device, op->buffer_page), sizeof(found));
	if (!want.generation)
		return;
	device->report.verified++;
	if (memcmp(&found, &want, sizeof(want)) != 0)
		keep_error(
			device,
			zr_fail(ZR_CORRUPT,
				"slot %u of swap area %u came back from '%s' with %s "
				"(generation %u, expected %u): the device or the replay lost a write",
				op->slot, op->area, device->path,
				found.magic == page_magic ? "another page's content" :
							    "content that zreel did not write",
				found.generation, want.generation));
}

static void finish_op(struct device *device, struct op *op)
{
	op->state = OP_DONE;
	if (op->is_read) {
		device->slots[op->index].reading = 0;
		return;
	}
	for (uint32_t i = 0; i < op->pages; i++)
		device->slots[op->index + i].writing = 0;
	retire_oldest(device);
}

/* Of one that went well. */
static void report_op(struct device *device, const struct op *op)
{
	uint64_t took_ns = zr_monotonic_ns() - op->start_ns;

	if (!op->is_read) {
		zr_hist_add(&device->report.write_ns, took_ns);
		return;
	}
	zr_hist_add(&device->report.read_ns, took_ns);
	device->report.reads++;
	verify(device, op);
}

static void prepare(struct device *device, struct op *op)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&device->ring);
	void *buffer = buffer_at(device, op->buffer_page);
	unsigned bytes = op->pages * device->page_size;
	uint64_t offset = offset_of(device, op->index);

	if (device->have_buffers && op->is_read)
		io_uring_prep_read_fixed(sqe, 0, buffer, bytes, offset, 0);
	else if (device->have_buffers)
		io_uring_prep_write_fixed(sqe, 0, buffer, bytes, offset, 0);
	else if (op->is_read)
		io_uring_prep_read(sqe, 0, buffer, bytes, offset);
	else
		io_uring_prep_write(sqe, 0, buffer, bytes, offset);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, op);
	op->state = OP_IN_FLIGHT;
	device->prepared++;
}

/* A signal makes the kernel cancel what it was about to hand to a thread of its own. It goes out again with whatever
 * is submitted next. */
static bool is_retried(struct device *device, struct op *op, int32_t result)
{
	bool interrupted = result == -ECANCELED || result == -EINTR || result == -EAGAIN;

	if (!interrupted || device->err || op->tries == TRIES)
		return false;
	op->tries++;
	prepare(device, op);
	return true;
}

static void take_completion(struct device *device, struct io_uring_cqe *cqe)
{
	struct op *op = io_uring_cqe_get_data(cqe);
	int32_t result = cqe->res;

	io_uring_cqe_seen(&device->ring, cqe);
	device->in_flight--;
	if (!op || is_retried(device, op, result))
		return; /* the no-op; or not done yet */
	check_result(device, op, result);
	if (!device->err)
		report_op(device, op);
	finish_op(device, op);
}

/* One call that submits what is prepared; false: nothing went, an error is kept. Entries that the kernel has no room for
 * at the moment stay prepared. */
static bool submit_some(struct device *device)
{
	int ret = io_uring_submit(&device->ring);

	if (ret > 0) {
		device->in_flight += (uint32_t)ret;
		device->prepared -= (uint32_t)ret;
		return true;
	}
	if (ret == -EINTR || ((ret == -EAGAIN || ret == -EBUSY) && device->in_flight))
		return true;
	keep_error(device, zr_fail_errno(ret ? -ret : EIO, "submitting %u writes to '%s'",
					 device->prepared, device->path));
	device->prepared = 0;
	return false;
}

/* Is there anything to wait for? After an error, what has not gone yet does not go any more. */
static bool under_way(const struct device *device)
{
	return device->in_flight || (device->prepared && !device->err);
}

static void wait_one(struct device *device)
{
	struct io_uring_cqe *cqe;
	int ret;

	if (device->prepared && !device->err && !submit_some(device))
		return;
	if (!device->in_flight)
		return;
	do
		ret = io_uring_wait_cqe(&device->ring, &cqe);
	while (ret == -EINTR);
	if (ret < 0) {
		/* Nothing will ever complete again: do not wait for it. */
		keep_error(device, zr_fail_errno(-ret, "waiting for I/O on '%s'", device->path));
		device->in_flight = 0;
		return;
	}
	take_completion(device, cqe);
}

static void take_completed(struct device *device)
{
	struct io_uring_cqe *cqe;

	while (device->in_flight && io_uring_peek_cqe(&device->ring, &cqe) == 0)
		take_completion(device, cqe);
}

static void submit_prepared(struct device *device, bool writes)
{
	while (device->prepared && !device->err) {
		uint32_t before = device->prepared;

		if (!submit_some(device))
			return;
		if (device->prepared < before)
			device->report.enters += writes;
		else if (device->in_flight)
			wait_one(device);
	}
}

static void start_op(struct device *device, struct op *op, uint64_t start_ns)
{
	op->start_ns = start_ns;
	prepare(device, op);
}

static void prepare_nothing(struct device *device)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&device->ring);

	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, NULL);
	device->prepared++;
}

/* ------------------------------------------------------------------------------------------ kicks */

/* So that the disk has a tag for each of n writes: io_uring asks for one without waiting, and hands what got none to
 * threads of its own, one by one, outside of the plug and of the order. */
static void wait_for_tags(struct device *device, uint32_t n)
{
	while (!device->err && device->in_flight && device->in_flight + n > device->most_in_flight)
		wait_one(device);
}

static void kick(struct device *device, enum swapio_context_id id)
{
	struct queue *queue = &device->queues[id];
	uint32_t n = queue->n;
	uint64_t start_ns;

	if (!n)
		return;
	wait_for_tags(device, n);
	queue->n = 0;
	start_ns = zr_monotonic_ns();
	for (uint32_t i = 0; i < n; i++) {
		if (device->err)
			finish_op(device, queue->ops[i]);
		else
			start_op(device, queue->ops[i], start_ns);
	}
	if (device->err)
		return;
	device->report.write_entries += n;
	if (n == 2)
		prepare_nothing(device);
	submit_prepared(device, true);
	take_completed(device);
}

/* Nothing waits for a kick after this; true if something did. */
static bool kick_early(struct device *device)
{
	bool any = false;

	for (int id = 0; id < SWAPIO_CONTEXTS; id++) {
		any = any || device->queues[id].n;
		kick(device, (enum swapio_context_id)id);
	}
	device->report.early_kicks += any;
	return any;
}

/* ------------------------------------------------------------------------------------------ writes */

static bool any_written(const struct device *device, uint32_t index, uint32_t pages)
{
	for (uint32_t i = index; i < index + pages; i++)
		if (device->slots[i].writing)
			return true;
	return false;
}

static bool any_busy(const struct device *device, uint32_t index, uint32_t pages)
{
	for (uint32_t i = index; i < index + pages; i++)
		if (device->slots[i].writing || device->slots[i].reading)
			return true;
	return false;
}

/* Waits for what is done with the slots already; true if bios had to be sent early for that. */
static bool wait_for_slots(struct device *device, uint32_t index, uint32_t pages)
{
	bool early = any_written(device, index, pages) && kick_early(device);

	while (!device->err && any_busy(device, index, pages))
		wait_one(device);
	return early;
}

/* Pages of the buffer ring that the next write takes, those skipped at the end included. */
static uint32_t span_for(const struct device *device, uint32_t pages)
{
	uint32_t left = BUFFER_PAGES - device->buffer_tail % BUFFER_PAGES;

	return pages <= left ? pages : left + pages;
}

static bool has_room(const struct device *device, uint32_t pages)
{
	return device->in_flight < device->depth && device->op_tail - device->op_head < OPS &&
	       device->buffer_tail - device->buffer_head + span_for(device, pages) <= BUFFER_PAGES;
}

static bool wait_for_room(struct device *device, uint32_t pages)
{
	bool early = false;

	while (!device->err && !has_room(device, pages)) {
		if (device->ops[device->op_head % OPS].state == OP_QUEUED)
			early |= kick_early(device);
		else
			wait_one(device);
	}
	return early;
}

static struct op *new_op(struct device *device, const struct swapio_bio *bio)
{
	struct op *op = &device->ops[device->op_tail++ % OPS];
	uint32_t span = span_for(device, bio->pages);

	device->buffer_tail += span;
	*op = (struct op){ .state = OP_QUEUED,
			   .slot = bio->slot,
			   .pages = bio->pages,
			   .index = device->area_base[bio->area] + bio->slot,
			   .area = bio->area,
			   .buffer_page = (device->buffer_tail - bio->pages) % BUFFER_PAGES,
			   .buffer_span = span };
	return op;
}

static void fill_page(struct device *device, void *page, uint32_t index, const struct sim_write *folio)
{
	struct slot_content *slot = &device->slots[index];

	if (folio && !device->no_cpu) {
		enum zr_err err = content_decompress(device->content, folio->len, page);

		if (err)
			keep_error(device, err);
	}
	slot->generation++;
	slot->writing = 1;
	*(struct page_header *)page = (struct page_header){ .magic = page_magic,
							    .pass = device->pass,
							    .index = index,
							    .generation = slot->generation };
}

static bool on_bio(struct swapio_target *target, const struct swapio_bio *bio)
{
	struct device *device = device_of(target);
	struct queue *queue = &device->queues[bio->context];
	struct op *op;
	bool early;

	if (device->err)
		return false;
	take_completed(device);
	early = wait_for_slots(device, device->area_base[bio->area] + bio->slot, bio->pages);
	early |= wait_for_room(device, bio->pages);
	if (device->err)
		return early;
	op = new_op(device, bio);
	for (uint32_t i = 0; i < bio->pages; i++)
		fill_page(device, buffer_at(device, op->buffer_page + i), op->index + i,
			  bio->folios ? &bio->folios[i] : NULL);
	device->report.bytes_written += (uint64_t)bio->pages * device->page_size;
	queue->ops[queue->n++] = op;
	return early;
}

static void on_kick(struct swapio_target *target, enum swapio_context_id context)
{
	kick(device_of(target), context);
}

/* ------------------------------------------------------------------------------------------- reads */

static struct op *free_read(struct device *device)
{
	for (;;) {
		for (uint32_t i = 0; i < READS; i++)
			if (device->reads[i].state == OP_DONE)
				return &device->reads[i];
		if (device->err || !under_way(device))
			return NULL; /* what was in flight is lost */
		wait_one(device);
	}
}

static void on_read(struct swapio_target *target, uint8_t area, uint32_t slot)
{
	struct device *device = device_of(target);
	uint32_t index = device->area_base[area] + slot;
	struct op *op;

	wait_for_slots(device, index, 1);
	op = free_read(device);
	if (device->err || !op)
		return;
	*op = (struct op){ .is_read = true,
			   .slot = slot,
			   .pages = 1,
			   .index = index,
			   .area = area,
			   .buffer_page = READ_PAGE + (uint32_t)(op - device->reads) };
	device->slots[index].reading = 1;
	start_op(device, op, zr_monotonic_ns());
	submit_prepared(device, false);
	if (device->how_to_read == DEVICE_READS_OVERLAP)
		return;
	while (op->state == OP_IN_FLIGHT && under_way(device))
		wait_one(device);
}

/* -------------------------------------------------------------------------------------------- work */

static void on_store(struct swapio_target *target, uint16_t len)
{
	struct device *device = device_of(target);
	size_t got;
	enum zr_err err;

	if (device->err || device->no_cpu)
		return;
	take_completed(device);
	err = content_compress(device->content, len, &got);
	if (err)
		keep_error(device, err);
}

static void on_load(struct swapio_target *target, uint16_t len)
{
	struct device *device = device_of(target);
	enum zr_err err;

	if (device->err || device->no_cpu)
		return;
	take_completed(device);
	err = content_decompress(device->content, len, buffer_at(device, SCRATCH_PAGE));
	if (err)
		keep_error(device, err);
}

/* -------------------------------------------------------------------------------------------- life */

static enum zr_err place_areas(struct device *device, const struct device_options *options)
{
	uint64_t slots = 0;

	for (uint32_t area = 0; area < options->n_areas; area++) {
		device->area_base[area] = (uint32_t)slots;
		if (options->area_slots[area] >= UINT32_MAX / 2 - slots)
			return zr_fail(ZR_LIMIT,
				       "swap area %u has %llu slots, more than a target can have", area,
				       (unsigned long long)options->area_slots[area]);
		slots += options->area_slots[area];
	}
	device->n_slots = (uint32_t)slots;
	return ZR_OK;
}

static enum zr_err make_large_enough(struct device *device, const struct device_options *options)
{
	uint64_t needed = offset_of(device, device->n_slots);
	uint64_t bytes = options->file_bytes && !device->file.is_block ? options->file_bytes : needed;

	if (device->file.is_block)
		bytes = device->file.bytes;
	if (bytes < needed)
		return zr_fail(ZR_FULL,
			       "'%s' is %llu bytes large, but the trace's swap slots reach to %llu",
			       device->path, (unsigned long long)bytes, (unsigned long long)needed);
	if (!device->file.is_block && device->file.bytes < bytes &&
	    ftruncate(device->file.fd, (off_t)bytes))
		return zr_fail_errno(errno, "making '%s' %llu bytes large", device->path,
				     (unsigned long long)bytes);
	return ZR_OK;
}

static void say_what_will_go(const struct device *device, const struct device_options *options)
{
	char text[512];

	if (!options->say)
		return;
	if (device->file.is_block)
		snprintf(text, sizeof(text), "overwriting block device %s: %s, %llu bytes",
			 device->path, device->file.model, (unsigned long long)device->file.bytes);
	else
		snprintf(text, sizeof(text), "%s file %s, up to %llu bytes",
			 device->file.created ? "making scratch" : "overwriting", device->path,
			 (unsigned long long)offset_of(device, device->n_slots));
	options->say(options->say_arg, text);
}

static enum zr_err mark_file(struct device *device)
{
	void *page = buffer_at(device, 0);

	if (device->file.is_block)
		return ZR_OK;
	device_mark(page, device->page_size);
	if (pwrite(device->file.fd, page, device->page_size, 0) != (ssize_t)device->page_size)
		return zr_fail_errno(errno, "writing the first page of '%s'", device->path);
	return ZR_OK;
}

static enum zr_err make_buffers(struct device *device)
{
	size_t bytes = (size_t)ALL_PAGES * device->page_size;
	void *buffers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffers == MAP_FAILED)
		return zr_fail_errno(errno, "making %zu bytes of I/O buffers", bytes);
	device->buffers = buffers;
	return ZR_OK;
}

static enum zr_err make_ring(struct device *device)
{
	struct iovec all = { .iov_base = device->buffers,
			     .iov_len = (size_t)ALL_PAGES * device->page_size };
	int ret = io_uring_queue_init(OPS + READS + 2, &device->ring, 0);

	if (ret == -ENOSYS || ret == -EPERM)
		return zr_fail(ZR_UNSUPPORTED,
			       "setting up io_uring: the kernel refuses it here (%s); replay "
			       "with --on null instead",
			       strerror(-ret));
	if (ret < 0)
		return zr_fail_errno(-ret, "setting up io_uring with %d entries", OPS + READS + 2);
	device->have_ring = true;
	ret = io_uring_register_files(&device->ring, &device->file.fd, 1);
	if (ret < 0)
		return zr_fail_errno(-ret, "registering '%s' with io_uring", device->path);
	/* Only a saving: where locked memory is scarce, plain buffers do the same. */
	device->have_buffers = io_uring_register_buffers(&device->ring, &all, 1) == 0;
	return ZR_OK;
}

static enum zr_err prepare_device(struct device *device, const struct device_options *options)
{
	enum zr_err err = place_areas(device, options);

	if (!err)
		err = content_new(device->page_size, CONTENT_SEED,
				  options->no_cpu ? NULL : options->corpus, &device->content);
	if (!err)
		err = device_file_open(options->path, options->yes_destroy, &device->file);
	if (!err)
		err = make_large_enough(device, options);
	device->most_in_flight = device_tags(&device->file);
	account_init(&device->account, device->file.is_block, device->file.major, device->file.minor);
	if (!err)
		err = make_buffers(device);
	if (!err)
		err = make_ring(device);
	if (err)
		return err;
	say_what_will_go(device, options);
	return mark_file(device);
}

enum zr_err device_open(const struct device_options *options, struct device **out)
{
	struct device *device = calloc(1, sizeof(*device));
	enum zr_err err;

	*out = NULL;
	if (!device)
		return zr_fail(ZR_NOMEM, "opening '%s': no memory", options->path);
	device->target = (struct swapio_target){
		.bio = on_bio, .kick = on_kick, .read = on_read, .store = on_store, .load = on_load
	};
	device->path = options->path;
	device->page_size = options->page_size;
	device->no_cpu = options->no_cpu;
	device->depth = options->depth ? options->depth : UINT32_MAX;
	device->has_corpus = options->corpus && !options->no_cpu;
	device->file.fd = -1;
	err = prepare_device(device, options);
	if (err) {
		device_close(device);
		return err;
	}
	*out = device;
	return ZR_OK;
}

struct swapio_target *device_target(struct device *device)
{
	return &device->target;
}

const struct device_file *device_file(const struct device *device)
{
	return &device->file;
}

uint64_t device_taken_bytes(const struct device *device)
{
	return offset_of(device, device->n_slots);
}

void device_share(struct device *device)
{
	device->account.is_block = false;
}

void device_set_group(struct device *device, const struct cgroup *group)
{
	device->account.group = group;
}

enum zr_err device_error(const struct device *device)
{
	return device->err;
}

enum zr_err device_start(struct device *device, enum device_reads reads)
{
	void *slots;
	enum zr_err err;

	pages_free(device->slots, device->n_slots, sizeof(*device->slots));
	err = pages_new(device->n_slots, sizeof(*device->slots), "the slots' generations", &slots);
	device->slots = slots;
	if (err)
		return err;
	device->pass++;
	device->how_to_read = reads;
	device->fit_before = content_fit(device->content);
	memset(&device->report, 0, sizeof(device->report));
	account_begin(&device->account);
	device->report.counted = measure_get(&device->account.before, "block.write_requests", &(uint64_t){ 0 });
	return ZR_OK;
}

void device_look(const struct device *device, struct device_report *out)
{
	const struct account *account = &device->account;
	struct measure now = { 0 };

	*out = device->report;
	if (!device->report.counted)
		return;
	measure_block_file(&now, "block.", account->major, account->minor);
	out->counted = measure_difference(&account->before, &now, "block.write_requests",
					  &out->write_requests) &&
		       measure_difference(&account->before, &now, "block.write_merges",
					  &out->write_merges);
	measure_fini(&now);
}

void device_wait(struct device *device, uint64_t until_ns)
{
	uint64_t now = zr_monotonic_ns();
	struct __kernel_timespec left;
	struct io_uring_cqe *cqe;
	int ret;

	if (now >= until_ns)
		return;
	submit_prepared(device, false);
	if (!device->in_flight) {
		zr_sleep_until(until_ns);
		return;
	}
	left = (struct __kernel_timespec){ .tv_sec = (int64_t)((until_ns - now) / ns_per_s),
					   .tv_nsec = (int64_t)((until_ns - now) % ns_per_s) };
	ret = io_uring_wait_cqe_timeout(&device->ring, &cqe, &left);
	if (!ret)
		take_completion(device, cqe);
	else if (ret != -ETIME && ret != -EINTR && ret != -EAGAIN)
		keep_error(device, zr_fail_errno(-ret, "waiting for I/O on '%s'", device->path));
}

enum zr_err device_finish(struct device *device, struct device_report *out)
{
	const struct measure *counted = &device->account.counted;

	kick_early(device);
	while (under_way(device))
		wait_one(device);
	if (device->has_corpus) {
		struct content_fit fit = content_fit(device->content);

		device->report.drawn_pages = fit.pages - device->fit_before.pages;
		device->report.drawn_off_bytes = fit.off_bytes - device->fit_before.off_bytes;
	}
	/* Before the flush, which drives with a cache count as a write. */
	account_end(&device->account);
	device->report.account = &device->account;
	device->report.counted =
		measure_get(counted, "block.write_requests", &device->report.write_requests) &&
		measure_get(counted, "block.write_merges", &device->report.write_merges);
	if (!device->err && fdatasync(device->file.fd))
		keep_error(device, zr_fail_errno(errno, "flushing '%s'", device->path));
	*out = device->report;
	return device->err;
}

void device_close(struct device *device)
{
	if (!device)
		return;
	if (device->have_ring)
		io_uring_queue_exit(&device->ring);
	if (device->buffers)
		munmap(device->buffers, (size_t)ALL_PAGES * device->page_size);
	if (device->file.fd >= 0) {
		close(device->file.fd);
		if (device->file.created)
			unlink(device->path);
	}
	pages_free(device->slots, device->n_slots, sizeof(*device->slots));
	content_free(device->content);
	account_fini(&device->account);
	free(device);
}
