/* SPDX-License-Identifier: MIT */
/*
 * The table of probes; see probes.h.
 *
 * A row is one way to see one thing; of the rows of an event the first that this kernel can do is taken.
 * A recipe is the kernel's own fetch language with three kinds of blanks:
 *   {folio.swap}   the member's offset with its sign; {a.b-c.d} the difference of two; {a.b|c.d} that of
 *                  the first of them that this kernel has
 *   $folio         the argument that is a folio
 *   {ret}          s32, or u8 for a function that returns a bool
 *
 * As few records a page as tell the outcome: three for a stored page (out, len, out_ret), one more for a
 * rejected one, since store_ret is filtered to failures in the kernel; three for a refault. Writes need
 * no probe: a rejected swap-out that is not kept is written, a writeback says so by its return. Kernels
 * without a map of zero-filled pages (6.1 to 6.11) need two more: there a store can succeed without an
 * object, so that every store_ret is taken; and in 6.1 a writeback says that it is done, not what.
 *
 * Rows that are PLAIN are for printing only: a trace by other tools must tell by itself what our recorder
 * knows of the kernel. For the same purpose a printed probe carries constants (`how`, `head`; see raw.h).
 * A definition cannot carry a filter: what ours keeps out of the kernel's buffers, an import leaves out
 * (rec_map_least()).
 *
 * The kernel's walk to a cgroup's id leaves garbage when it meets NULL; so its start is recorded with it
 * (`memcg`), and `cg` holds only where that is not NULL.
 */
#include "recorder/probes.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CGROUP_OF(memcg) "cg={kernfs_node.id}({cgroup.kn}({mem_cgroup.css.cgroup}(" memcg "))):u64"

#define FOLIO_SWP "swp={folio.swap|page.private}($folio):x64"
#define FOLIO_ARGS                                                                                 \
	FOLIO_SWP " flags={folio.flags}($folio):u32 "                                              \
	"flags1={folio._folio_order|folio._flags_1}($folio):u8 "                                   \
	"memcg={folio.memcg_data}($folio):x64 "

/* A folio is charged to a memcg, or (7.x) to an obj_cgroup that points to one. */
#define OF_MEMCG  FOLIO_ARGS CGROUP_OF("{folio.memcg_data}($folio)")
#define OF_OBJCG  FOLIO_ARGS CGROUP_OF("{obj_cgroup.memcg}({folio.memcg_data}($folio))")

/* From a zswap entry, or from its place in the LRU list. */
#define ENTRY_ARGS                                                                                 \
	"swp=$arg2:x64 len={zswap_entry.length}($arg1):u32 memcg={zswap_entry.objcg}($arg1):x64 "  \
	CGROUP_OF("{obj_cgroup.memcg}({zswap_entry.objcg}($arg1))")
#define ITEM_ARGS                                                                                  \
	"swp={zswap_entry.swpentry-zswap_entry.lru}($arg1):x64 "                                   \
	"len={zswap_entry.length-zswap_entry.lru}($arg1):u32 "                                     \
	"memcg={zswap_entry.objcg-zswap_entry.lru}($arg1):x64 "                                    \
	CGROUP_OF("{obj_cgroup.memcg}({zswap_entry.objcg-zswap_entry.lru}($arg1))")

#define SCAN_ARGS                                                                                  \
	"nr={shrink_control.nr_to_scan}($arg2):u64 memcg={shrink_control.memcg}($arg2):x64 "       \
	CGROUP_OF("{shrink_control.memcg}($arg2)")

enum need { VITAL, USEFUL, PLAIN };

/* Where rows need a word on which kernels they are for, a function or an enumerator that only those have
 * says it. */
#define HAS_FRONTSWAP "zswap_frontswap_store" /* up to 6.5 */
#define HAS_IO_CTX    "swap_write_submit"     /* 7.x: and a folio is charged to an obj_cgroup */
#define HAS_ZERO_MAP  "vm_event_item.SWPOUT_ZERO"

/* Of kernels that make events of functions' entries and returns in the one or the other way. */
#define FPROBE_EVENTS "trace_fprobe_create"
#define KPROBE_EVENTS "trace_kprobe_create"

struct row {
	enum rec_type type;
	const char *event, *function;
	bool at_return;
	const char *args, *filter;
	const char *kernel_has, *kernel_lacks;
	enum need need;
	const char *lost; /* without it */
};

#define OUT_LOST  "swap-outs cannot be recorded"
#define TELL_LOST "stored and rejected swap-outs cannot be told apart"
#define LEN_LOST                                                                                   \
	"compressed lengths, and with them the stored swap-outs, cannot be recorded; if zsmalloc " \
	"is a module, turn zswap on first"
#define IN_LOST	   "refaults cannot be recorded"
#define LOAD_LOST  "refaults from zswap and from disk cannot be told apart"
#define AHEAD_LOST "read-ahead is recorded like demand"
#define FREE_LOST  "frees of slots cannot be recorded"
#define WB_LOST	   "writebacks are not recorded (WB, zswpwb)"

static const struct row rows[] = {
	{ REC_OUT, "out", "swap_writepage", .args = OF_MEMCG, .lost = OUT_LOST },
	{ REC_OUT, "out", "swap_writeout", .args = OF_OBJCG, .kernel_has = HAS_IO_CTX,
	  .lost = OUT_LOST },
	{ REC_OUT, "out", "swap_writeout", .args = OF_MEMCG, .lost = OUT_LOST },
	{ REC_OUT_RET, "out_ret", "swap_writepage", true, "ret=$retval:s32", .lost = OUT_LOST },
	{ REC_OUT_RET, "out_ret", "swap_writeout", true, "ret=$retval:s32", .lost = OUT_LOST },
	{ REC_STORE, "store", "zswap_store", .args = OF_OBJCG, .kernel_has = HAS_IO_CTX,
	  .need = PLAIN, .lost = TELL_LOST },
	{ REC_STORE, "store", "zswap_store", .args = OF_MEMCG, .need = PLAIN, .lost = TELL_LOST },
	{ REC_STORE, "store", "zswap_frontswap_store", .args = OF_MEMCG, .need = PLAIN,
	  .lost = TELL_LOST },
	{ REC_STORE_RET, "store_ret", "zswap_store", true, "ret=$retval:u8", .filter = "ret == 0",
	  .kernel_has = HAS_ZERO_MAP, .lost = TELL_LOST },
	{ REC_STORE_RET, "store_ret", "zswap_store", true, "ret=$retval:u8", .lost = TELL_LOST },
	{ REC_STORE_RET, "store_ret", "zswap_frontswap_store", true, "ret=$retval:s32",
	  .lost = TELL_LOST },
	/* With zpools between, the allocator may be any, and in a module that is not there yet. */
	{ REC_LEN, "len", "zpool_malloc", .args = "len=$arg2:u32 evictable={zpool.evictable}($arg1):u8",
	  .lost = LEN_LOST },
	{ REC_LEN, "len", "zpool_malloc", .args = "len=$arg2:u32", .lost = LEN_LOST },
	{ REC_LEN, "len", "zs_malloc", .args = "len=$arg2:u32", .lost = LEN_LOST },
	/* A compression that fails never gets to the allocator: its error stands for a length beyond any. */
	{ REC_LEN, "len_none", "scomp_acomp_compress", true, "len=$retval:u32", .filter = "len != 0",
	  .kernel_lacks = HAS_FRONTSWAP, .need = USEFUL,
	  .lost = "pages that do not compress count as refused for the pool's limit" },
	{ REC_READ, "read", "swap_read_folio", .args = OF_OBJCG, .kernel_has = HAS_IO_CTX,
	  .lost = IN_LOST },
	{ REC_READ, "read", "swap_read_folio", .args = OF_MEMCG, .lost = IN_LOST },
	{ REC_READ, "read", "swap_readpage", .args = OF_MEMCG, .lost = IN_LOST },
	{ REC_READ_RET, "read_ret", "swap_read_folio", true, "", .lost = IN_LOST },
	{ REC_READ_RET, "read_ret", "swap_readpage", true, "", .lost = IN_LOST },
	{ REC_LOAD, "load", "zswap_load", .args = FOLIO_SWP, .need = PLAIN, .lost = LOAD_LOST },
	{ REC_LOAD, "load", "zswap_frontswap_load", .args = FOLIO_SWP, .need = PLAIN,
	  .lost = LOAD_LOST },
	{ REC_LOAD_RET, "load_ret", "zswap_load", true, "ret=$retval:{ret}", .lost = LOAD_LOST },
	{ REC_LOAD_RET, "load_ret", "zswap_frontswap_load", true, "ret=$retval:{ret}",
	  .lost = LOAD_LOST },
	{ REC_FAULT, "fault", "swapin_readahead", .args = "swp=$arg1:x64", .need = USEFUL,
	  .lost = AHEAD_LOST },
	{ REC_FAULT_RET, "fault_ret", "swapin_readahead", true, "", .need = USEFUL,
	  .lost = AHEAD_LOST },
	{ REC_FREE, "free", "zswap_invalidate", .args = "swp=$arg1:x64", .lost = FREE_LOST },
	/* The like of 6.1 is called only for what is in zswap. */
	{ REC_FREE, "free", "swap_range_free",
	  .args = "swp_type={swap_info_struct.type}($arg1):u8 offset=$arg2:u64 nr=$arg3:u32",
	  .lost = FREE_LOST },
	/* A large folio's slots that are freed at once do not pass zswap_invalidate there. */
	{ REC_FREE, "free_large", "swap_entry_range_free", .args = "swp=$arg2:x64 nr=$arg3:u32",
	  .filter = "nr > 1", .kernel_has = "zswap_invalidate", .kernel_lacks = "swap_writeout",
	  .need = USEFUL, .lost = "frees of whole large folios are not recorded" },
	/* Where pools evict: an object begins with its swap entry, and zbud's handle is its address. For a
	 * z3fold handle that makes no sense, and then the write inside names the slot. */
	{ REC_WB, "wb", "zswap_writeback_entry", .args = "swp=+0($arg2):x64",
	  .kernel_has = "zpool_shrink", .need = USEFUL, .lost = WB_LOST },
	{ REC_WB, "wb", "zswap_writeback_entry", .args = ENTRY_ARGS, .need = USEFUL,
	  .lost = WB_LOST },
	{ REC_WB, "wb", "shrink_memcg_cb", .args = ITEM_ARGS, .need = USEFUL, .lost = WB_LOST },
	{ REC_WB_RET, "wb_ret", "zswap_writeback_entry", true, "ret=$retval:s32", .need = USEFUL,
	  .lost = WB_LOST },
	{ REC_WB_RET, "wb_ret", "shrink_memcg_cb", true, "ret=$retval:s32", .need = USEFUL,
	  .lost = WB_LOST },
	{ REC_WRITE, "write", "__swap_writepage", .args = FOLIO_SWP, .kernel_has = HAS_FRONTSWAP,
	  .need = USEFUL, .lost = "writebacks and swap-outs past zswap are not recorded" },
	{ REC_WRITE, "write", "__swap_writepage", .args = FOLIO_SWP, .need = PLAIN, .lost = WB_LOST },
	{ REC_SCAN, "scan", "zswap_shrinker_scan", .args = SCAN_ARGS, .kernel_lacks = HAS_FRONTSWAP,
	  .need = USEFUL, .lost = "scans of the shrinker are not recorded (SCAN)" },
	{ REC_SCAN_RET, "scan_ret", "zswap_shrinker_scan", true, "ret=$retval:s64",
	  .kernel_lacks = HAS_FRONTSWAP, .need = USEFUL,
	  .lost = "what scans of the shrinker wrote is not recorded" },
	{ REC_SLAB, "slab", "shrink_slab",
	  .args = "nid=$arg2:u32 memcg=$arg3:x64 " CGROUP_OF("$arg3") " prio=$arg4:s32",
	  .need = USEFUL, .lost = "reclaim passes are not recorded (RECLAIM)" },
	{ REC_COUNT_RET, "count_ret", "zswap_shrinker_count", true, "ret=$retval:u64",
	  .kernel_lacks = HAS_FRONTSWAP, .need = USEFUL,
	  .lost = "the shrinker's count is missing in reclaim passes" },
	{ REC_WORKER, "worker", "shrink_worker", .args = "", .need = USEFUL,
	  .lost = "wake-ups of the background worker are not recorded (shrink_worker_wakeups)" },
	{ REC_SHRINK, "shrink", "shrink_memcg", .args = "memcg=$arg1:x64 " CGROUP_OF("$arg1"),
	  .kernel_lacks = HAS_FRONTSWAP, .need = USEFUL,
	  .lost = "shrinks of a memcg are not recorded (shrink_memcg_calls)" },
	{ REC_SHRINK_RET, "shrink_ret", "shrink_memcg", true, "ret=$retval:s32",
	  .kernel_lacks = HAS_FRONTSWAP, .need = USEFUL,
	  .lost = "results of shrinks are not recorded" },
};

enum { N_ROWS = sizeof(rows) / sizeof(*rows), SYMBOL_BYTES = 128 };

/* What the symbol list has of the names that the table asks for. */
struct symbols {
	struct symbol {
		const char *name;
		bool there;
		char hidden_as[SYMBOL_BYTES]; /* "swap_writepage.isra.0" */
	} symbol[3 * N_ROWS + 2];
	uint32_t n;
};

/* ----------------------------------------------------------------------------------------- symbols */

static struct symbol *find_symbol(struct symbols *symbols, const char *name, size_t bytes)
{
	for (uint32_t i = 0; i < symbols->n; i++)
		if (strncmp(symbols->symbol[i].name, name, bytes) == 0 &&
		    !symbols->symbol[i].name[bytes])
			return &symbols->symbol[i];
	return NULL;
}

static void want(struct symbols *symbols, const char *name)
{
	if (name && !strchr(name, '.') && !find_symbol(symbols, name, strlen(name)))
		symbols->symbol[symbols->n++] = (struct symbol){ .name = name };
}

static bool there(struct symbols *symbols, const char *name)
{
	return find_symbol(symbols, name, strlen(name))->there;
}

/* A function, or ENUMERATION.NAME. */
static bool kernel_has(struct symbols *symbols, const struct rec_btf *btf, const char *what)
{
	const char *dot = strchr(what, '.');
	char enumeration[64];

	if (!dot)
		return there(symbols, what);
	snprintf(enumeration, sizeof(enumeration), "%.*s", (int)(dot - what), what);
	return rec_btf_enumerator(btf, enumeration, dot + 1) >= 0;
}

/* "ffffffff81000000 t swap_writepage [module]" */
static void take_symbol(struct symbols *symbols, char *line)
{
	char *save, *type, *name;
	struct symbol *symbol;
	size_t bytes;

	strtok_r(line, " \t", &save);
	type = strtok_r(NULL, " \t", &save);
	name = strtok_r(NULL, " \t\n", &save);
	if (!name || (type[0] | 0x20) != 't')
		return;
	bytes = strcspn(name, ".");
	symbol = find_symbol(symbols, name, bytes);
	if (!symbol)
		return;
	if (name[bytes])
		snprintf(symbol->hidden_as, sizeof(symbol->hidden_as), "%s", name);
	else
		symbol->there = true;
}

static enum zr_err read_symbols(const char *path, struct symbols *symbols)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return zr_fail_errno(errno, "reading the kernel's symbols from %s", path);
	want(symbols, FPROBE_EVENTS);
	want(symbols, KPROBE_EVENTS);
	for (uint32_t i = 0; i < N_ROWS; i++) {
		want(symbols, rows[i].function);
		want(symbols, rows[i].kernel_has);
		want(symbols, rows[i].kernel_lacks);
	}
	while (getline(&line, &room, file) > 0)
		take_symbol(symbols, line);
	free(line);
	fclose(file);
	return ZR_OK;
}

/* ------------------------------------------------------------------------------------------ recipes */

struct recipe {
	const struct row *row;
	const struct rec_btf *btf;
	char *to;
	size_t room;
	char bad[96]; /* the blank that this kernel cannot fill */
};

static void put(struct recipe *recipe, const char *text, size_t bytes)
{
	if (bytes >= recipe->room) {
		snprintf(recipe->bad, sizeof(recipe->bad), "a shorter recipe");
		return;
	}
	memcpy(recipe->to, text, bytes);
	recipe->to += bytes;
	recipe->room -= bytes;
	*recipe->to = '\0';
}

/* "a.b|c.d": that of the first that is there. */
static bool offset_of(const struct rec_btf *btf, char *members, int32_t *offset)
{
	char *save, *one = strtok_r(members, "|", &save);

	while (one && !rec_btf_offset(btf, one, offset))
		one = strtok_r(NULL, "|", &save);
	return one;
}

/* {a.b} or {a.b-c.d}. */
static void put_offset(struct recipe *recipe, char *blank)
{
	char *minus = strchr(blank, '-'), text[16];
	int32_t offset, less = 0;

	if (minus)
		*minus++ = '\0';
	if (!offset_of(recipe->btf, blank, &offset))
		snprintf(recipe->bad, sizeof(recipe->bad), "%s", blank);
	else if (minus && !rec_btf_offset(recipe->btf, minus, &less))
		snprintf(recipe->bad, sizeof(recipe->bad), "%s", minus);
	else
		put(recipe, text, (size_t)snprintf(text, sizeof(text), "%+d", offset - less));
}

static const char *put_blank(struct recipe *recipe, const char *at)
{
	size_t n = strcspn(++at, "}");
	char blank[96];

	snprintf(blank, sizeof(blank), "%.*s", (int)n, at);
	if (strcmp(blank, "ret") != 0)
		put_offset(recipe, blank);
	else if (rec_btf_returns_bool(recipe->btf, recipe->row->function))
		put(recipe, "u8", 2);
	else
		put(recipe, "s32", 3);
	return at + n + 1;
}

static const char *put_folio(struct recipe *recipe, const char *at)
{
	int argument = rec_btf_folio_argument(recipe->btf, recipe->row->function);
	char text[16];

	if (!argument)
		snprintf(recipe->bad, sizeof(recipe->bad), "a folio among its arguments");
	put(recipe, text, (size_t)snprintf(text, sizeof(text), "$arg%d", argument));
	return at + strlen("$folio");
}

static void fill_recipe(struct recipe *recipe)
{
	const char *at = recipe->row->args;

	*recipe->to = '\0';
	while (*at && !recipe->bad[0]) {
		if (*at == '{')
			at = put_blank(recipe, at);
		else if (strncmp(at, "$folio", 6) == 0)
			at = put_folio(recipe, at);
		else
			put(recipe, at++, 1);
	}
}

/* ---------------------------------------------------------------------------------------- choosing */

/* What the rows are chosen for, and from. */
struct choice {
	struct symbols *symbols;
	const struct rec_btf *btf; /* NULL = the kernel has no types */
	bool plain;
	struct rec_probes *out;
};

static bool applies(const struct choice *choice, const struct row *row)
{
	if (row->need == PLAIN && !choice->plain)
		return false;
	return (!row->kernel_has || kernel_has(choice->symbols, choice->btf, row->kernel_has)) &&
	       (!row->kernel_lacks || !there(choice->symbols, row->kernel_lacks));
}

struct text {
	char *at;
	size_t room;
};

static void say(struct text *text, const char *words)
{
	size_t n = strlen(words);

	if (n >= text->room)
		n = text->room - 1;
	memcpy(text->at, words, n);
	text->at += n;
	text->room -= n;
	*text->at = '\0';
}

static void say_symbol(struct text *text, const struct symbol *symbol)
{
	say(text, symbol->name);
	if (symbol->there)
		say(text, " as expected");
	else if (symbol->hidden_as[0]) {
		say(text, " (only ");
		say(text, symbol->hidden_as);
		say(text, ")");
	}
}

/* "no swap_writepage (only swap_writepage.isra.0), no swap_writeout" */
static void note_gap(const struct choice *choice, const struct row *first, const char *bad)
{
	struct rec_probe_gap *gap = &choice->out->gaps[choice->out->n_gaps++];
	struct text text = { gap->why, sizeof(gap->why) };
	const char *last = "";

	*gap = (struct rec_probe_gap){ .event = first->event, .lost = first->lost,
				       .vital = first->need == VITAL };
	for (const struct row *row = first;
	     row < rows + N_ROWS && strcmp(row->event, first->event) == 0; row++) {
		if (strcmp(row->function, last) == 0)
			continue;
		say(&text, *last ? ", no " : "no ");
		say_symbol(&text, find_symbol(choice->symbols, row->function, strlen(row->function)));
		last = row->function;
	}
	if (*bad) {
		say(&text, choice->btf ? "; its types lack " : "; without BTF nobody knows ");
		say(&text, bad);
	}
}

/* What a printed probe must say of the kernel; the recorder knows it from elsewhere. */
static void add_constants(const struct choice *choice, const struct row *row,
			  struct recipe *recipe)
{
	const struct rec_probes *out = choice->out;
	enum rec_how how = REC_HOW_UNSAID;
	char text[48];

	if (row->type == REC_STORE_RET)
		how = out->store_ret_is_errno ? REC_HOW_ERRNO : REC_HOW_BOOL;
	else if (row->type == REC_LOAD_RET)
		how = out->load_ret_is_errno ? REC_HOW_ERRNO : REC_HOW_BOOL;
	else if (row->type == REC_WB_RET)
		how = out->wb_ret_is_lru_status ? REC_HOW_LRU : REC_HOW_ERRNO;
	else if ((row->type == REC_OUT || row->type == REC_READ) && out->no_zeros)
		how = REC_HOW_NO_ZEROS;
	if (how != REC_HOW_UNSAID)
		put(recipe, text, (size_t)snprintf(text, sizeof(text), "%show=\\%d:u8",
						   *row->args ? " " : "", how));
	if (strstr(row->args, "flags1="))
		put(recipe, text, (size_t)snprintf(text, sizeof(text), " head=\\%u:u8",
						   out->layout.head_bit));
}

static bool try_row(const struct choice *choice, const struct row *row, char bad[96])
{
	struct rec_probes *out = choice->out;
	struct rec_probe *probe = &out->probe[out->n];
	struct recipe recipe = { .row = row, .btf = choice->btf, .to = probe->args,
				 .room = sizeof(probe->args) };

	if (!there(choice->symbols, row->function) || !applies(choice, row))
		return false;
	fill_recipe(&recipe);
	if (choice->plain)
		add_constants(choice, row, &recipe);
	if (recipe.bad[0]) {
		memcpy(bad, recipe.bad, sizeof(recipe.bad));
		return false;
	}
	probe->event = row->event;
	probe->function = row->function;
	probe->filter = choice->plain ? NULL : row->filter;
	probe->type = row->type;
	probe->at_return = row->at_return;
	/* Up to 6.13; since then a return is hooked on a stack of each task, and the kernel refuses a number. */
	probe->takes_active = row->at_return &&
			      rec_btf_offset(choice->btf, "fprobe.nr_maxactive", &(int32_t){ 0 });
	probe->vital = row->need == VITAL;
	probe->lost = row->lost;
	out->types |= 1u << row->type;
	out->n++;
	return true;
}

/* The rows of one event lie together, from `first`; returns the row behind them. */
static uint32_t choose_event(const struct choice *choice, uint32_t first)
{
	bool found = false, any_applies = false;
	uint32_t i = first, last = first;
	char bad[96] = "";

	for (; i < N_ROWS && strcmp(rows[i].event, rows[first].event) == 0; i++) {
		if (!applies(choice, &rows[i]))
			continue;
		last = any_applies ? last : i;
		any_applies = true;
		found = found || try_row(choice, &rows[i], bad);
	}
	if (!found && any_applies)
		note_gap(choice, &rows[last], bad);
	return i;
}

static void choose_meanings(const struct choice *choice)
{
	int64_t head = rec_btf_enumerator(choice->btf, "pageflags", "PG_head");
	struct symbols *symbols = choice->symbols;
	struct rec_probes *out = choice->out;

	out->layout = (struct rec_layout){ .head_bit = head < 0 ? 6 : (uint8_t)head,
					   .order_in_flags1 = head >= 0 };
	out->store_ret_is_errno = there(symbols, HAS_FRONTSWAP);
	out->load_ret_is_errno = !rec_btf_returns_bool(choice->btf, "zswap_load");
	out->wb_ret_is_lru_status = !there(symbols, "zswap_writeback_entry");
	out->stores_large = there(symbols, "swap_writeout");
	out->no_zeros = !kernel_has(symbols, choice->btf, HAS_ZERO_MAP);
	out->store_ret_of_failures = !out->no_zeros && !choice->plain;
}

/* What is missing and can be done without, as one text. */
static void sum_up(struct rec_probes *out)
{
	struct text text = { out->missing, sizeof(out->missing) };

	for (uint32_t i = 0; i < out->n_gaps; i++) {
		if (out->gaps[i].vital)
			continue;
		say(&text, out->gaps[i].why);
		say(&text, ": ");
		say(&text, out->gaps[i].lost);
		say(&text, "\n");
	}
}

enum zr_err rec_probes_survey(const char *symbols_path, const struct rec_btf *btf, bool plain,
			      struct rec_probes *out)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	struct choice choice = { .symbols = symbols, .btf = btf, .plain = plain, .out = out };
	enum zr_err err;

	if (!symbols)
		return zr_fail(ZR_NOMEM, "no memory for the kernel's symbols");
	*out = (struct rec_probes){ 0 };
	err = read_symbols(symbols_path, symbols);
	if (!err) {
		choose_meanings(&choice);
		for (uint32_t i = 0; i < N_ROWS;)
			i = choose_event(&choice, i);
		out->has_fprobes = there(symbols, FPROBE_EVENTS);
		out->has_kprobes = there(symbols, KPROBE_EVENTS);
		sum_up(out);
	}
	free(symbols);
	return err;
}

enum zr_err rec_probes_choose(const char *symbols_path, const struct rec_btf *btf,
			      struct rec_probes *out)
{
	char words[768] = "";
	struct text text = { words, sizeof(words) };
	enum zr_err err = rec_probes_survey(symbols_path, btf, false, out);

	for (uint32_t i = 0; !err && i < out->n_gaps; i++) {
		if (!out->gaps[i].vital)
			continue;
		say(&text, *words ? "; " : "");
		say(&text, out->gaps[i].why);
		say(&text, ": ");
		say(&text, out->gaps[i].lost);
	}
	if (err || !*words)
		return err;
	return zr_fail(ZR_UNSUPPORTED, "choosing probes from %s: this kernel has %s", symbols_path,
		       words);
}
