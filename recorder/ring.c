/* SPDX-License-Identifier: MIT */
/*
 * From the kernel's ring buffers to raw records; see ring.h.
 *
 * Cost an event: a table look-up by its 16-bit type, a load for each of its fields, and the merge.
 */
#include "recorder/ring.h"

#include <dirent.h>
#include <errno.h>
#include <traceevent/event-parse.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/bytes.h"
#include "db/event.h"
#include "recorder/files.h"
#include "recorder/merge.h"
#include "recorder/page.h"

/* ---------------------------------------------------------------------------------------- decoding */

enum { MAX_FIELDS = 8, MAX_RULES = 64, MAX_IDS = 65536 };

struct field_at {
	uint32_t offset;
	uint8_t field, size;
	bool is_signed;
};

struct rule {
	enum rec_type type;
	uint32_t bytes; /* that an event must have */
	uint32_t n;
	struct field_at fields[MAX_FIELDS];
};

struct rec_decoder {
	struct rec_layout layout;
	struct tep_handle *tep;
	uint32_t type_offset, pid_offset; /* common to all events */
	uint32_t n;
	struct rule rules[MAX_RULES];
	uint8_t rule_of[MAX_IDS]; /* index + 1 */
};

enum zr_err rec_decoder_new(const struct rec_layout *layout, struct rec_decoder **out)
{
	struct rec_decoder *decoder = calloc(1, sizeof(*decoder));

	if (decoder)
		decoder->tep = tep_alloc();
	if (!decoder || !decoder->tep) {
		free(decoder);
		return zr_fail(ZR_NOMEM, "no memory for the formats of events");
	}
	decoder->layout = *layout;
	*out = decoder;
	return ZR_OK;
}

void rec_decoder_free(struct rec_decoder *decoder)
{
	if (!decoder)
		return;
	tep_free(decoder->tep);
	free(decoder);
}

/* A field whose bytes can be taken; RWBS is text, the others are integers. */
static bool usable(const struct tep_format_field *from, enum rec_field field)
{
	if (from->offset < 0 || from->offset > UINT16_MAX)
		return false;
	if (field == REC_FIELD_RWBS)
		return from->size > 0 && from->size <= 32;
	return from->size == 1 || from->size == 2 || from->size == 4 || from->size == 8;
}

static void add_field(struct rule *rule, const struct tep_format_field *from, enum rec_field field)
{
	uint32_t end = (uint32_t)(from->offset + from->size);

	rule->fields[rule->n++] = (struct field_at){
		.offset = (uint32_t)from->offset, .field = (uint8_t)field,
		.size = (uint8_t)from->size, .is_signed = from->flags & TEP_FIELD_IS_SIGNED,
	};
	if (end > rule->bytes)
		rule->bytes = end;
}

/* Our dynamic events carry only fields of ours; of the kernel's own only what their type needs is taken. */
static void add_fields(struct rule *rule, struct tep_event *event, bool all)
{
	uint32_t wanted = all ? UINT32_MAX : rec_type_needs(rule->type);

	for (const struct tep_format_field *from = event->format.fields; from; from = from->next) {
		int field = rec_field_of(from->name, (uint32_t)strlen(from->name));

		if (field >= 0 && wanted >> field & 1 && rule->n < MAX_FIELDS &&
		    usable(from, (enum rec_field)field))
			add_field(rule, from, (enum rec_field)field);
	}
}

static uint32_t present(const struct rule *rule)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < rule->n; i++)
		bits |= 1u << rule->fields[i].field;
	return bits;
}

/* Would an event with these fields make a record? */
static bool suffices(const struct rule *rule, const struct rec_layout *layout)
{
	const struct rec_fields fields = { .present = present(rule) };
	struct rec_raw raw;

	return rec_raw_fill(&raw, rule->type, &fields, layout);
}

static bool add_common(struct rec_decoder *decoder, struct rule *rule, struct tep_event *event)
{
	const struct tep_format_field *type = tep_find_common_field(event, "common_type");
	const struct tep_format_field *pid = tep_find_common_field(event, "common_pid");
	uint32_t end;

	if (!type || !pid || type->size != 2 || pid->size != 4 || type->offset < 0 ||
	    pid->offset < 0)
		return false;
	decoder->type_offset = (uint32_t)type->offset;
	decoder->pid_offset = (uint32_t)pid->offset;
	end = (uint32_t)(pid->offset > type->offset ? pid->offset + 4 : type->offset + 2);
	if (end > rule->bytes)
		rule->bytes = end;
	return true;
}

enum zr_err rec_decoder_add(struct rec_decoder *decoder, const char *system, const char *format,
			    enum rec_type type)
{
	struct tep_event *event = NULL;
	struct rule rule = { .type = type };

	if (tep_parse_format(decoder->tep, &event, format, strlen(format), system) || !event)
		return zr_fail(ZR_UNSUPPORTED, "reading the format of %s:%s: not understood",
			       system, rec_type_name(type));
	if (event->id < 0 || event->id >= MAX_IDS || decoder->n == MAX_RULES)
		return zr_fail(ZR_UNSUPPORTED, "reading the format of %s:%s: its id is %d", system,
			       rec_type_name(type), event->id);
	add_fields(&rule, event, strcmp(system, "block") != 0);
	if (!suffices(&rule, &decoder->layout) || !add_common(decoder, &rule, event))
		return zr_fail(ZR_UNSUPPORTED,
			       "reading the format of %s:%s: a field is missing (there are %#x)",
			       system, rec_type_name(type), present(&rule));
	decoder->rules[decoder->n++] = rule;
	decoder->rule_of[event->id] = (uint8_t)decoder->n;
	return ZR_OK;
}

static uint64_t load(const unsigned char *at, uint8_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*at : *at;
	case 2:
		return is_signed ? (uint64_t)(int16_t)zr_get16(at) : zr_get16(at);
	case 4:
		return is_signed ? (uint64_t)(int32_t)zr_get32(at) : zr_get32(at);
	default:
		return zr_get64(at);
	}
}

static void take_field(const unsigned char *data, const struct field_at *at,
		       struct rec_fields *fields)
{
	const char *text = (const char *)data + at->offset;

	fields->present |= 1u << at->field;
	fields->value[at->field] = at->field == REC_FIELD_RWBS
					   ? rec_op_of(text, (uint32_t)strnlen(text, at->size))
					   : load(data + at->offset, at->size, at->is_signed);
}

bool rec_decoder_event(const struct rec_decoder *decoder, const void *data, size_t bytes,
		       struct rec_raw *raw)
{
	const unsigned char *at = data;
	struct rec_fields fields;
	const struct rule *rule;
	uint8_t index;

	if (bytes < decoder->type_offset + sizeof(uint16_t))
		return false;
	index = decoder->rule_of[zr_get16(at + decoder->type_offset)];
	if (!index)
		return false;
	rule = &decoder->rules[index - 1];
	if (bytes < rule->bytes)
		return false;
	fields.present = 0;
	for (uint32_t i = 0; i < rule->n; i++)
		take_field(at, &rule->fields[i], &fields);
	if (!rec_raw_fill(raw, rule->type, &fields, &decoder->layout))
		return false;
	raw->tid = zr_get32(at + decoder->pid_offset);
	return true;
}

/* --------------------------------------------------------------------------------------- the buffers */

struct cpu {
	int fd;
	uint32_t number;
	uint64_t read_ns; /* nothing was left in it that is older than this mark */
};

struct rec_ring {
	const struct rec_decoder *decoder;
	struct cpu *cpus;
	uint32_t n_cpus;
	struct rec_merge *merge;
	size_t page_bytes;
	unsigned char *page;
	struct rec_ring_stats stats;
};

bool rec_ring_next(struct rec_ring *ring, uint64_t until_ns, struct rec_raw *raw)
{
	return rec_merge_next(ring->merge, until_ns, raw);
}

uint64_t rec_ring_reached(const struct rec_ring *ring, uint64_t until_ns)
{
	return rec_merge_reached(ring->merge, until_ns);
}

/* ------------------------------------------------------------------------------------- sub-buffers */

static bool push_lost(struct rec_ring *ring, uint32_t index, enum db_gap kind, uint64_t n)
{
	struct rec_raw raw = { .type = REC_LOST, .order = (uint8_t)kind,
			       .len = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
			       .cpu = (uint16_t)ring->cpus[index].number };

	ring->stats.lost += n;
	return rec_merge_push(ring->merge, index, &raw);
}

/* Nobody knows how many events it held: one at least. */
static bool push_damaged(struct rec_ring *ring, uint32_t index)
{
	ring->stats.damaged++;
	return push_lost(ring, index, DB_GAP_READER, 1);
}

static bool take_event(struct rec_ring *ring, uint32_t index, const void *data, size_t bytes)
{
	struct rec_raw raw;

	ring->stats.events++;
	if (!rec_decoder_event(ring->decoder, data, bytes, &raw)) {
		ring->stats.skipped++;
		return true;
	}
	raw.cpu = (uint16_t)ring->cpus[index].number;
	return rec_merge_push(ring->merge, index, &raw);
}

/* What was lost before the page bears the time of its first event. */
static bool take_events(struct rec_ring *ring, uint32_t index, struct rec_page *page)
{
	struct rec_page_event event = { 0 };
	bool more = rec_page_next(page, &event), fits = true;

	rec_merge_time(ring->merge, index, page->time_ns);
	if (page->lost)
		fits = push_lost(ring, index, DB_GAP_RING, page->lost);
	for (; more && fits; more = rec_page_next(page, &event)) {
		rec_merge_time(ring->merge, index, page->time_ns);
		fits = take_event(ring, index, event.data, event.bytes);
	}
	return fits && (!page->damaged || push_damaged(ring, index));
}

enum zr_err rec_ring_page(struct rec_ring *ring, uint32_t cpu_index, const void *data, size_t room)
{
	struct rec_page page;
	bool fits;

	if (rec_page_open(&page, data, room))
		fits = take_events(ring, cpu_index, &page);
	else
		fits = push_damaged(ring, cpu_index);
	return fits ? ZR_OK
		    : zr_fail(ZR_NOMEM, "no memory for the events of CPU %u",
			      ring->cpus[cpu_index].number);
}

/* -------------------------------------------------------------------------------------------- files */

static enum zr_err drain_cpu(struct rec_ring *ring, uint32_t index, uint64_t mark_ns,
			     uint64_t *bytes)
{
	struct cpu *cpu = &ring->cpus[index];

	while (cpu->fd >= 0 && cpu->read_ns < mark_ns &&
	       rec_merge_time(ring->merge, index, 0) <= mark_ns) {
		ssize_t got;
		enum zr_err err;

		if (rec_merge_full(ring->merge, index)) {
			rec_merge_behind(ring->merge, index);
			return ZR_OK;
		}
		got = read(cpu->fd, ring->page, ring->page_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0 || (got < 0 && (errno == EAGAIN || errno == ENODEV))) {
			cpu->read_ns = mark_ns;
			return ZR_OK;
		}
		if (got < 0)
			return zr_fail_errno(errno, "reading the trace buffer of CPU %u",
					     cpu->number);
		*bytes += (uint64_t)got;
		err = rec_ring_page(ring, index, ring->page, (size_t)got);
		if (err)
			return err;
	}
	return ZR_OK;
}

enum zr_err rec_ring_drain(struct rec_ring *ring, uint64_t mark_ns, uint64_t *bytes)
{
	enum zr_err err = ZR_OK;

	*bytes = 0;
	rec_merge_begin(ring->merge);
	for (uint32_t i = 0; !err && i < ring->n_cpus; i++)
		err = drain_cpu(ring, i, mark_ns, bytes);
	ring->stats.bytes += *bytes;
	rec_merge_end(ring->merge);
	return err;
}

struct rec_ring_stats rec_ring_stats(const struct rec_ring *ring)
{
	return ring->stats;
}

uint32_t rec_ring_cpus(const struct rec_ring *ring)
{
	return ring->n_cpus;
}

uint32_t rec_ring_cpu(const struct rec_ring *ring, uint32_t index)
{
	return ring->cpus[index].number;
}

/* -------------------------------------------------------------------------------------------- life */

enum zr_err rec_ring_new(const struct rec_decoder *decoder, const struct rec_ring_size *size,
			 struct rec_ring **out)
{
	struct rec_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return zr_fail(ZR_NOMEM, "no memory for the trace buffers");
	ring->decoder = decoder;
	ring->page_bytes = size->page_bytes;
	ring->cpus = calloc(size->cpus, sizeof(*ring->cpus));
	ring->merge = rec_merge_new(size->cpus, size->most_waiting);
	ring->page = malloc(size->page_bytes);
	if (!ring->cpus || !ring->merge || !ring->page) {
		rec_ring_close(ring);
		return zr_fail(ZR_NOMEM, "no memory for the trace buffers");
	}
	ring->n_cpus = size->cpus;
	for (uint32_t i = 0; i < size->cpus; i++)
		ring->cpus[i] = (struct cpu){ .fd = -1, .number = i };
	*out = ring;
	return ZR_OK;
}

void rec_ring_close(struct rec_ring *ring)
{
	if (!ring)
		return;
	for (uint32_t i = 0; i < ring->n_cpus; i++)
		if (ring->cpus[i].fd >= 0)
			close(ring->cpus[i].fd);
	free(ring->cpus);
	rec_merge_free(ring->merge);
	free(ring->page);
	free(ring);
}

/* The numbers of the CPUs that have a buffer; how many, or 0. */
static uint32_t list_cpus(const char *instance_dir, uint32_t *numbers, uint32_t room)
{
	char path[512];
	const struct dirent *entry;
	uint32_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/per_cpu", instance_dir);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "cpu%u", &numbers[n]) == 1 && n + 1 < room)
			n++;
	if (dir)
		closedir(dir);
	return n;
}

static enum zr_err open_cpu(struct cpu *cpu, const char *instance_dir, uint32_t number)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", instance_dir, number);
	cpu->number = number;
	cpu->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return cpu->fd >= 0 ? ZR_OK : zr_fail_errno(errno, "opening %s", path);
}

/* A sub-buffer is a page, unless somebody made it larger. */
static size_t subbuffer_bytes(const char *instance_dir)
{
	char *text = rec_file_readf("%s/buffer_subbuf_size_kb", instance_dir);
	size_t bytes = text ? strtoul(text, NULL, 10) * 1024 : 0;

	free(text);
	return bytes ? bytes : (size_t)sysconf(_SC_PAGESIZE);
}

enum zr_err rec_ring_open(const char *instance_dir, const struct rec_decoder *decoder,
			  struct rec_ring **out)
{
	uint32_t numbers[4096];
	uint32_t n = list_cpus(instance_dir, numbers, 4096);
	struct rec_ring_size size = { .cpus = n, .most_waiting = REC_MERGE_MOST,
				      .page_bytes = subbuffer_bytes(instance_dir) };
	struct rec_ring *ring;
	enum zr_err err;

	if (!n)
		return zr_fail(ZR_UNSUPPORTED, "reading trace buffers: no %s/per_cpu/cpuN",
			       instance_dir);
	err = rec_ring_new(decoder, &size, &ring);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < n; i++)
		err = open_cpu(&ring->cpus[i], instance_dir, numbers[i]);
	if (err) {
		rec_ring_close(ring);
		return err;
	}
	*out = ring;
	return ZR_OK;
}
