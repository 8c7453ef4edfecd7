/* SPDX-License-Identifier: MIT */
/*
 * The table of probes; see probes.h.
 *
 * A row is one way to see one thing; of the rows of an event the first that this kernel can do is taken.
 * A recipe is the kernel's own fetch language with three kinds of blanks:
 *   {folio.swap}   the member's offset with its sign; {a.b-c.d} the difference of two
 *   $folio         the argument that is a folio
 *   {ret}          s32, or u8 for a function that returns a bool
 *
 * As few records a page as tell the outcome: three for a stored page (out, len, out_ret), one more for a
 * rejected one, since store_ret is filtered to failures in the kernel; three for a refault. Writes need
 * no probe: a rejected swap-out that is not kept is written, a writeback says so by its return.
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

#define FOLIO_ARGS                                                                                 \
	"swp={folio.swap}($folio):x64 flags={folio.flags}($folio):u32 "                            \
	"flags1={folio._flags_1}($folio):u8 memcg={folio.memcg_data}($folio):x64 "

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

enum need { VITAL, USEFUL };

/* Where rows need a word on which kernels they are for, a function that only those have says it. */
struct row {
	enum rec_type type;
	const char *event, *function;
	bool at_return;
	const char *args, *filter;
	const char *kernel_has, *kernel_lacks;
	enum need need;
	const char *lost;
};

#define OUT_LOST  "swap-outs cannot be recorded"
#define IN_LOST	  "refaults cannot be recorded"
#define WB_LOST	  "writebacks are not recorded (WB, zswpwb)"

static const struct row rows[] = {
	{ REC_OUT, "out", "swap_writepage", false, OF_MEMCG, NULL, NULL, NULL, VITAL, OUT_LOST },
	{ REC_OUT, "out", "swap_writeout", false, OF_OBJCG, NULL, "swap_write_submit", NULL, VITAL,
	  OUT_LOST },
	{ REC_OUT, "out", "swap_writeout", false, OF_MEMCG, NULL, NULL, NULL, VITAL, OUT_LOST },
	{ REC_OUT_RET, "out_ret", "swap_writepage", true, "ret=$retval:s32", NULL, NULL, NULL,
	  VITAL, OUT_LOST },
	{ REC_OUT_RET, "out_ret", "swap_writeout", true, "ret=$retval:s32", NULL, NULL, NULL, VITAL,
	  OUT_LOST },
	{ REC_STORE_RET, "store_ret", "zswap_store", true, "ret=$retval:u8", "ret == 0", NULL, NULL,
	  VITAL, "stored and rejected swap-outs cannot be told apart" },
	{ REC_LEN, "len", "zs_malloc", false, "len=$arg2:u32", NULL, NULL, NULL, VITAL,
	  "compressed lengths, and with them the stored swap-outs, cannot be recorded; if zsmalloc "
	  "is a module, turn zswap on first" },
	{ REC_READ, "read", "swap_read_folio", false, OF_OBJCG, NULL, "swap_write_submit", NULL,
	  VITAL, IN_LOST },
	{ REC_READ, "read", "swap_read_folio", false, OF_MEMCG, NULL, NULL, NULL, VITAL, IN_LOST },
	{ REC_READ_RET, "read_ret", "swap_read_folio", true, "", NULL, NULL, NULL, VITAL, IN_LOST },
	{ REC_LOAD_RET, "load_ret", "zswap_load", true, "ret=$retval:{ret}", NULL, NULL, NULL, VITAL,
	  "refaults from zswap and from disk cannot be told apart" },
	{ REC_FAULT, "fault", "swapin_readahead", false, "swp=$arg1:x64", NULL, NULL, NULL, USEFUL,
	  "read-ahead is recorded like demand" },
	{ REC_FAULT_RET, "fault_ret", "swapin_readahead", true, "", NULL, NULL, NULL, USEFUL,
	  "read-ahead is recorded like demand" },
	{ REC_FREE, "free", "zswap_invalidate", false, "swp=$arg1:x64", NULL, NULL, NULL, VITAL,
	  "frees of slots cannot be recorded" },
	/* A large folio's slots that are freed at once do not pass zswap_invalidate there. */
	{ REC_FREE, "free_large", "swap_entry_range_free", false, "swp=$arg2:x64 nr=$arg3:u32",
	  "nr > 1", "swap_writepage", "swap_writeout", USEFUL, "frees of whole large folios are not recorded" },
	{ REC_WB, "wb", "zswap_writeback_entry", false, ENTRY_ARGS, NULL, NULL, NULL, USEFUL,
	  WB_LOST },
	{ REC_WB, "wb", "shrink_memcg_cb", false, ITEM_ARGS, NULL, NULL, NULL, USEFUL, WB_LOST },
	{ REC_WB_RET, "wb_ret", "zswap_writeback_entry", true, "ret=$retval:s32", NULL, NULL, NULL,
	  USEFUL, WB_LOST },
	{ REC_WB_RET, "wb_ret", "shrink_memcg_cb", true, "ret=$retval:s32", NULL, NULL, NULL, USEFUL,
	  WB_LOST },
	{ REC_SCAN, "scan", "zswap_shrinker_scan", false, SCAN_ARGS, NULL, NULL, NULL, USEFUL,
	  "scans of the shrinker are not recorded (SCAN)" },
	{ REC_SCAN_RET, "scan_ret", "zswap_shrinker_scan", true, "ret=$retval:s64", NULL, NULL, NULL,
	  USEFUL, "what scans of the shrinker wrote is not recorded" },
	{ REC_SLAB, "slab", "shrink_slab", false,
	  "nid=$arg2:u32 memcg=$arg3:x64 " CGROUP_OF("$arg3") " prio=$arg4:s32", NULL, NULL, NULL,
	  USEFUL, "reclaim passes are not recorded (RECLAIM)" },
	{ REC_COUNT_RET, "count_ret", "zswap_shrinker_count", true, "ret=$retval:u64", NULL, NULL,
	  NULL, USEFUL, "the shrinker's count is missing in reclaim passes" },
	{ REC_WORKER, "worker", "shrink_worker", false, "", NULL, NULL, NULL, USEFUL,
	  "wake-ups of the background worker are not recorded (shrink_worker_wakeups)" },
	{ REC_SHRINK, "shrink", "shrink_memcg", false, "memcg=$arg1:x64 " CGROUP_OF("$arg1"), NULL,
	  NULL, NULL, USEFUL, "shrinks of a memcg are not recorded (shrink_memcg_calls)" },
	{ REC_SHRINK_RET, "shrink_ret", "shrink_memcg", true, "ret=$retval:s32", NULL, NULL, NULL,
	  USEFUL, "results of shrinks are not recorded" },
};

enum { N_ROWS = sizeof(rows) / sizeof(*rows), SYMBOL_BYTES = 128 };

/* What the symbol list has of the names that the table asks for. */
struct symbols {
	struct symbol {
		const char *name;
		bool there;
		char hidden_as[SYMBOL_BYTES]; /* "swap_writepage.isra.0" */
	} symbol[3 * N_ROWS];
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
	if (name && !find_symbol(symbols, name, strlen(name)))
		symbols->symbol[symbols->n++] = (struct symbol){ .name = name };
}

static bool there(struct symbols *symbols, const char *name)
{
	return find_symbol(symbols, name, strlen(name))->there;
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

/* {a.b} or {a.b-c.d}. */
static void put_offset(struct recipe *recipe, char *blank)
{
	char *minus = strchr(blank, '-'), text[16];
	int32_t offset, less = 0;

	if (minus)
		*minus++ = '\0';
	if (!rec_btf_offset(recipe->btf, blank, &offset))
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

static bool applies(const struct row *row, struct symbols *symbols)
{
	return (!row->kernel_has || there(symbols, row->kernel_has)) &&
	       (!row->kernel_lacks || !there(symbols, row->kernel_lacks));
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

/* "no swap_writepage (only swap_writepage.isra.0), no swap_writeout: swap-outs cannot be recorded" */
static void say_missing(struct text *text, struct symbols *symbols, const char *event)
{
	const char *lost = "";

	for (uint32_t i = 0, n = 0; i < N_ROWS; i++) {
		const struct symbol *symbol;

		if (strcmp(rows[i].event, event) != 0 ||
		    (i && rows[i - 1].function == rows[i].function))
			continue;
		symbol = find_symbol(symbols, rows[i].function, strlen(rows[i].function));
		say(text, n++ ? ", no " : "no ");
		say(text, symbol->name);
		if (symbol->there)
			say(text, " as expected");
		else if (symbol->hidden_as[0]) {
			say(text, " (only ");
			say(text, symbol->hidden_as);
			say(text, ")");
		}
		lost = rows[i].lost;
	}
	say(text, ": ");
	say(text, lost);
}

static bool try_row(const struct row *row, struct symbols *symbols, const struct rec_btf *btf,
		    struct rec_probes *out)
{
	struct rec_probe *probe = &out->probe[out->n];
	struct recipe recipe = { .row = row, .btf = btf, .to = probe->args,
				 .room = sizeof(probe->args) };

	if (!there(symbols, row->function) || !applies(row, symbols))
		return false;
	fill_recipe(&recipe);
	if (recipe.bad[0])
		return false;
	probe->event = row->event;
	probe->function = row->function;
	probe->filter = row->filter;
	probe->type = row->type;
	probe->at_return = row->at_return;
	probe->vital = row->need == VITAL;
	probe->lost = row->lost;
	out->types |= 1u << row->type;
	out->n++;
	return true;
}

/* The rows of one event lie together, from `first`; returns the row behind them. */
static uint32_t choose_event(uint32_t first, struct symbols *symbols, const struct rec_btf *btf,
			     struct rec_probes *out, struct text *vital)
{
	struct text useful = { out->missing + strlen(out->missing), 0 };
	bool found = false, any_applies = false;
	uint32_t i = first;

	useful.room = sizeof(out->missing) - (size_t)(useful.at - out->missing);
	for (; i < N_ROWS && strcmp(rows[i].event, rows[first].event) == 0; i++) {
		any_applies = any_applies || applies(&rows[i], symbols);
		found = found || try_row(&rows[i], symbols, btf, out);
	}
	if (!found && any_applies) {
		struct text *text = rows[first].need == VITAL ? vital : &useful;

		say_missing(text, symbols, rows[first].event);
		say(text, "\n");
	}
	return i;
}

static void choose_meanings(const struct rec_btf *btf, struct symbols *symbols,
			    struct rec_probes *out)
{
	int64_t head = rec_btf_enumerator(btf, "pageflags", "PG_head");

	out->layout = (struct rec_layout){ .head_bit = head < 0 ? 6 : (uint8_t)head,
					   .order_in_flags1 = head >= 0 };
	out->load_ret_is_errno = !rec_btf_returns_bool(btf, "zswap_load");
	out->wb_ret_is_lru_status = !there(symbols, "zswap_writeback_entry");
	out->stores_large = there(symbols, "swap_writeout");
}

static void one_line(char *text)
{
	for (size_t n = strlen(text); n && text[n - 1] == '\n';)
		text[--n] = '\0';
	for (; *text; text++)
		if (*text == '\n')
			*text = ';';
}

enum zr_err rec_probes_choose(const char *symbols_path, const struct rec_btf *btf,
			      struct rec_probes *out)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	char vital_text[768] = "";
	struct text vital = { vital_text, sizeof(vital_text) };
	enum zr_err err;

	if (!symbols)
		return zr_fail(ZR_NOMEM, "no memory for the kernel's symbols");
	*out = (struct rec_probes){ 0 };
	err = read_symbols(symbols_path, symbols);
	if (!err) {
		for (uint32_t i = 0; i < N_ROWS;)
			i = choose_event(i, symbols, btf, out, &vital);
		choose_meanings(btf, symbols, out);
	}
	free(symbols);
	if (err || !vital_text[0])
		return err;
	one_line(vital_text);
	return zr_fail(ZR_UNSUPPORTED, "choosing probes from %s: this kernel has %s", symbols_path,
		       vital_text);
}
