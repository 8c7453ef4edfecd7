/* SPDX-License-Identifier: MIT */
/* Raw records from named fields; see raw.h. */
#include "recorder/raw.h"

#include <stddef.h>
#include <string.h>

static const char *const type_names[] = {
#define X(id, name) [REC_##id] = name,
	REC_TYPES(X)
#undef X
};

static const char *const field_names[] = {
#define X(id, name) [REC_FIELD_##id] = name,
	REC_FIELDS(X)
#undef X
};

#define BIT(field) (1u << REC_FIELD_##field)

enum { BLOCK_FIELDS = BIT(DEV) | BIT(SECTOR) | BIT(SECTORS) | BIT(RWBS) };

static const uint32_t needs[REC_TYPE_COUNT] = {
	[REC_OUT] = BIT(SWP),	      [REC_OUT_RET] = BIT(RET),	      [REC_STORE] = BIT(SWP),
	[REC_STORE_RET] = BIT(RET),   [REC_LEN] = BIT(LEN),	      [REC_READ] = BIT(SWP),
	[REC_LOAD] = BIT(SWP),	      [REC_LOAD_RET] = BIT(RET),      [REC_FAULT] = BIT(SWP),
	[REC_WB] = BIT(SWP),	      [REC_WB_RET] = BIT(RET), /* FREE: see has_needs() */
	[REC_WRITE] = BIT(SWP),	      [REC_SCAN] = BIT(NR),	      [REC_SCAN_RET] = BIT(RET),
	[REC_SLAB] = BIT(PRIO),	      [REC_COUNT_RET] = BIT(RET),     [REC_SHRINK_RET] = BIT(RET),
	[REC_RQ_ISSUE] = BLOCK_FIELDS, [REC_RQ_COMPLETE] = BLOCK_FIELDS, [REC_RQ_MERGE] = BLOCK_FIELDS,
	[REC_BACKMERGE] = BLOCK_FIELDS, [REC_FRONTMERGE] = BLOCK_FIELDS,
	[REC_SLAB_START] = BIT(NID) | BIT(PRIORITY) | BIT(SHR),
};

const char *rec_type_name(enum rec_type type)
{
	return type < REC_TYPE_COUNT ? type_names[type] : "";
}

uint32_t rec_type_needs(enum rec_type type)
{
	return needs[type];
}

static int find(const char *const *names, int n, const char *name, uint32_t bytes)
{
	for (int i = 0; i < n; i++)
		if (bytes && strlen(names[i]) == bytes && memcmp(names[i], name, bytes) == 0)
			return i;
	return -1;
}

int rec_type_of(const char *name, uint32_t bytes)
{
	return find(type_names, REC_TYPE_COUNT, name, bytes);
}

int rec_field_of(const char *name, uint32_t bytes)
{
	return find(field_names, REC_FIELD_COUNT, name, bytes);
}

enum rec_op rec_op_of(const char *rwbs, uint32_t bytes)
{
	uint32_t i = bytes > 1 && rwbs[0] == 'F';

	if (i >= bytes)
		return REC_OP_OTHER;
	switch (rwbs[i]) {
	case 'R':
		return REC_OP_READ;
	case 'W':
		return REC_OP_WRITE;
	case 'D':
		return REC_OP_DISCARD;
	default:
		return REC_OP_OTHER;
	}
}

static bool has(const struct rec_fields *fields, enum rec_field field)
{
	return fields->present >> field & 1;
}

static uint64_t value_of(const struct rec_fields *fields, enum rec_field field)
{
	return has(fields, field) ? fields->value[field] : 0;
}

/* The walk to the kernfs id is only good if its start was not NULL: the kernel leaves the bytes of a
 * failed walk as they were. */
static uint64_t memcg_key(const struct rec_fields *fields)
{
	uint64_t pointer = value_of(fields, REC_FIELD_MEMCG);

	if (has(fields, REC_FIELD_CG) && (pointer || !has(fields, REC_FIELD_MEMCG)))
		return fields->value[REC_FIELD_CG];
	return pointer;
}

static uint32_t saturate32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* One word, or (6.1) type and offset apart. */
static uint64_t swap_entry(const struct rec_fields *fields)
{
	if (has(fields, REC_FIELD_SWP))
		return fields->value[REC_FIELD_SWP];
	return (value_of(fields, REC_FIELD_SWP_TYPE) % REC_SWP_TYPES) << REC_SWP_TYPE_SHIFT |
	       rec_swp_offset(value_of(fields, REC_FIELD_OFFSET));
}

/* Some pools of old put the swap entry in front of what is stored, and were asked for its bytes too. */
static uint32_t length(const struct rec_fields *fields)
{
	uint64_t bytes = value_of(fields, REC_FIELD_LEN);
	uint64_t head = value_of(fields, REC_FIELD_EVICTABLE) ? sizeof(uint64_t) : 0;

	return saturate32(bytes > head ? bytes - head : 0);
}

/* A record that says the bit itself is of a printed probe, which reads the order wherever its kernel has it. */
static uint8_t order_of(const struct rec_fields *fields, const struct rec_layout *layout)
{
	bool says = has(fields, REC_FIELD_HEAD);
	uint64_t bit = says ? fields->value[REC_FIELD_HEAD] % 64 : layout->head_bit;

	if (!(says || layout->order_in_flags1) || !(value_of(fields, REC_FIELD_FLAGS) >> bit & 1))
		return 0;
	return (uint8_t)value_of(fields, REC_FIELD_FLAGS1);
}

static void fill_block(struct rec_raw *raw, const struct rec_fields *fields)
{
	raw->swp = fields->value[REC_FIELD_SECTOR];
	raw->len = saturate32(fields->value[REC_FIELD_SECTORS]);
	raw->dev = (uint32_t)fields->value[REC_FIELD_DEV];
	raw->op = (uint8_t)fields->value[REC_FIELD_RWBS];
}

/* What is freed may be named in one word or in two. */
static bool has_needs(const struct rec_fields *fields, enum rec_type type)
{
	if (type == REC_FREE)
		return has(fields, REC_FIELD_SWP) ||
		       (has(fields, REC_FIELD_SWP_TYPE) && has(fields, REC_FIELD_OFFSET));
	return (fields->present & needs[type]) == needs[type];
}

bool rec_raw_fill(struct rec_raw *raw, enum rec_type type, const struct rec_fields *fields,
		  const struct rec_layout *layout)
{
	if (!has_needs(fields, type))
		return false;
	*raw = (struct rec_raw){ .type = (uint8_t)type, .swp = swap_entry(fields),
				 .memcg = memcg_key(fields), .len = length(fields),
				 .op = (uint8_t)value_of(fields, REC_FIELD_HOW),
				 .ret = (int64_t)value_of(fields, REC_FIELD_RET) };
	if (type >= REC_RQ_ISSUE && type <= REC_FRONTMERGE)
		fill_block(raw, fields);
	else if (type == REC_OUT || type == REC_STORE || type == REC_READ)
		raw->order = order_of(fields, layout);
	else if (type == REC_FREE)
		raw->len = saturate32(value_of(fields, REC_FIELD_NR));
	else if (type == REC_SCAN)
		raw->ret = (int64_t)value_of(fields, REC_FIELD_NR);
	if (type == REC_SLAB) {
		raw->ret = (int64_t)value_of(fields, REC_FIELD_NID);
		raw->order = (uint8_t)value_of(fields, REC_FIELD_PRIO);
	} else if (type == REC_SLAB_START) {
		raw->ret = (int64_t)value_of(fields, REC_FIELD_NID);
		raw->order = (uint8_t)value_of(fields, REC_FIELD_PRIORITY);
		raw->swp = value_of(fields, REC_FIELD_SHR);
	}
	return true;
}
