/* SPDX-License-Identifier: MIT */
/* Settings and counters of the machine; see environ.h. */
#include "recorder/environ.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "recorder/dm.h"
#include "recorder/trace.h"

enum { PATH_BYTES = 1024, VALUE_BYTES = 512 };

static enum zr_err put(struct db *db, const char *key, const char *value)
{
	return db_env_set(db, REC_HOST, key, value);
}

/* The first line of a file, if it can be read. */
static enum zr_err put_file(struct db *db, const char *key, const char *path)
{
	char value[VALUE_BYTES];

	return rec_file_line(value, sizeof(value), "%s", path) ? put(db, key, value) : ZR_OK;
}

/* ----------------------------------------------------------------------------------------- settings */

uint64_t rec_managed_pages(const char *proc)
{
	char *text = rec_file_readf("%s/zoneinfo", proc), *at = text, *line;
	uint64_t pages = 0;

	while (text && (line = rec_next_line(&at))) {
		line += strspn(line, " ");
		if (strncmp(line, "managed ", 8) == 0)
			pages += strtoull(line + 8, NULL, 10);
	}
	free(text);
	return pages;
}

static enum zr_err put_kernel(struct db *db)
{
	struct utsname name;
	enum zr_err err;

	if (uname(&name) < 0)
		return zr_fail_errno(errno, "asking for the kernel's name");
	err = put(db, DB_ENV_HOSTNAME, name.nodename);
	if (!err)
		err = put(db, DB_ENV_KERNEL, name.release);
	if (!err)
		err = put(db, "kernel.version", name.version);
	if (!err)
		err = put(db, DB_ENV_ARCH, name.machine);
	if (!err)
		err = db_env_setf(db, REC_HOST, DB_ENV_PAGE_SIZE, "%ld", sysconf(_SC_PAGESIZE));
	if (!err)
		err = db_env_setf(db, REC_HOST, DB_ENV_CPUS, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	return err;
}

/* Every file of a directory, under PREFIX + its name. */
static enum zr_err put_directory(struct db *db, const char *prefix, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	enum zr_err err = ZR_OK;

	while (!err && dir && (entry = readdir(dir))) {
		char key[320], value[VALUE_BYTES];

		snprintf(key, sizeof(key), "%s%s", prefix, entry->d_name);
		if (entry->d_name[0] != '.' &&
		    rec_file_line(value, sizeof(value), "%s/%s", path, entry->d_name))
			err = put(db, key, value);
	}
	if (dir)
		closedir(dir);
	return err;
}

static const struct {
	const char *key, *path; /* below sys, or below proc with a leading ~ */
} settings[] = {
	{ DB_ENV_THP, "/kernel/mm/transparent_hugepage/enabled" },
	{ "thp.defrag", "/kernel/mm/transparent_hugepage/defrag" },
	{ DB_ENV_MGLRU, "/kernel/mm/lru_gen/enabled" },
	{ "mglru.min_ttl_ms", "/kernel/mm/lru_gen/min_ttl_ms" },
	{ "swap.vma_ra_enabled", "/kernel/mm/swap/vma_ra_enabled" },
	{ "vm.page_cluster", "~/sys/vm/page-cluster" },
	{ "vm.swappiness", "~/sys/vm/swappiness" },
	{ "vm.watermark_scale_factor", "~/sys/vm/watermark_scale_factor" },
};

static enum zr_err put_settings(struct db *db, const struct rec_paths *paths)
{
	enum zr_err err = ZR_OK;

	for (size_t i = 0; !err && i < sizeof(settings) / sizeof(*settings); i++) {
		const char *path = settings[i].path;
		char file[PATH_BYTES];

		snprintf(file, sizeof(file), "%s%s", *path == '~' ? paths->proc : paths->sys,
			 path + (*path == '~'));
		err = put_file(db, settings[i].key, file);
	}
	return err;
}

/* Folio sizes other than the largest have their settings one by one. */
static enum zr_err put_thp_sizes(struct db *db, const struct rec_paths *paths)
{
	char path[PATH_BYTES];
	const struct dirent *entry;
	enum zr_err err = ZR_OK;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/kernel/mm/transparent_hugepage", paths->sys);
	dir = opendir(path);
	while (!err && dir && (entry = readdir(dir))) {
		char key[320], value[VALUE_BYTES];

		if (strncmp(entry->d_name, "hugepages-", 10) != 0)
			continue;
		snprintf(key, sizeof(key), "thp.%s", entry->d_name + 10);
		if (rec_file_line(value, sizeof(value), "%s/%s/enabled", path, entry->d_name))
			err = put(db, key, value);
	}
	if (dir)
		closedir(dir);
	return err;
}

static enum zr_err put_iocost(struct db *db, const struct rec_paths *paths)
{
	char path[PATH_BYTES];
	enum zr_err err;

	if (!paths->cgroup[0])
		return ZR_OK;
	snprintf(path, sizeof(path), "%s/io.cost.qos", paths->cgroup);
	err = put_file(db, "iocost.qos", path);
	snprintf(path, sizeof(path), "%s/io.cost.model", paths->cgroup);
	return err ? err : put_file(db, "iocost.model", path);
}

enum zr_err rec_environ_put(struct db *db, const struct rec_paths *paths)
{
	uint64_t pages = rec_managed_pages(paths->proc);
	char path[PATH_BYTES];
	enum zr_err err = put_kernel(db);

	if (!err && pages)
		err = db_env_setf(db, REC_HOST, DB_ENV_MEM_PAGES, "%llu",
				  (unsigned long long)pages);
	snprintf(path, sizeof(path), "%s/module/zswap/parameters", paths->sys);
	if (!err)
		err = put_directory(db, DB_ENV_ZSWAP_PREFIX, path);
	if (!err)
		err = put_settings(db, paths);
	if (!err)
		err = put_thp_sizes(db, paths);
	return err ? err : put_iocost(db, paths);
}

/* -------------------------------------------------------------------------------------- swap areas */

/* The kernel's internal encoding, which tracepoints print and filters compare. */
static uint32_t kernel_dev(unsigned major, unsigned minor)
{
	return (uint32_t)major << 20 | minor;
}

static bool read_dev(const char *path, uint32_t *dev)
{
	char text[32];
	unsigned major, minor;

	if (!rec_file_line(text, sizeof(text), "%s/dev", path) ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	*dev = kernel_dev(major, minor);
	return true;
}

/* A partition's place on its disk; a whole disk is its own. */
static void place_on_disk(const struct rec_paths *paths, struct rec_swap *swap)
{
	char path[PATH_BYTES], text[32];

	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", paths->sys, swap->row.major,
		 swap->row.minor);
	swap->area.disk_dev = swap->area.part_dev = kernel_dev(swap->row.major, swap->row.minor);
	if (rec_file_line(text, sizeof(text), "%s/partition", path)) {
		rec_file_line(text, sizeof(text), "%s/start", path);
		swap->area.start_sector = strtoull(text, NULL, 10);
		strcat(path, "/..");
		read_dev(path, &swap->area.disk_dev);
	}
	swap->row.start_sector = swap->area.start_sector;
}

/* "/dev/nvme0n1p1  partition  1048572  0  -2": sizes in KiB, the header not counted. */
static bool take_swap(const struct rec_paths *paths, char *line, struct rec_swap *swap)
{
	long page_kib = sysconf(_SC_PAGESIZE) / 1024;
	char path[512], type[16];
	unsigned long long kib, used;
	struct stat st;
	int priority;

	if (sscanf(line, "%511s %15s %llu %llu %d", path, type, &kib, &used, &priority) != 5)
		return false;
	rec_unescape(path);
	strcpy(swap->path, path);
	swap->row.host = REC_HOST;
	swap->row.path = swap->path;
	swap->row.is_file = strcmp(type, "partition") != 0;
	swap->row.priority = priority;
	swap->used_kib = used;
	swap->row.slots = swap->area.slots = kib / (unsigned long long)page_kib + 1;
	if (stat(path, &st) == 0) {
		dev_t dev = swap->row.is_file ? st.st_dev : st.st_rdev;

		swap->row.major = major(dev);
		swap->row.minor = minor(dev);
	}
	swap->area.sectors_per_slot = swap->row.is_file ? 0 : (uint32_t)page_kib * 2;
	place_on_disk(paths, swap);
	return true;
}

/* The pieces of a file on the device of its file system. */
static enum zr_err map_file(const struct rec_swap *swap, uint32_t page, struct rec_extents *extents)
{
	const struct rec_geometry geometry = { .page_bytes = page, .slots = swap->row.slots,
					       .start_sector = swap->area.start_sector };

	/* As of btrfs, whose addresses are not of any one disk. */
	if (!swap->row.major)
		return zr_fail(ZR_UNSUPPORTED,
			       "mapping the swap file %s to its disk: its file system has none of its own",
			       swap->path);
	return rec_extents_read(swap->path, &geometry, &extents->list, &extents->n);
}

static enum zr_err map_device(const struct rec_swap *swap, struct rec_extents *extents)
{
	extents->list = calloc(1, sizeof(*extents->list));
	if (!extents->list)
		return zr_fail(ZR_NOMEM, "no memory for the pieces of a swap area");
	extents->list[0].slots = (uint32_t)swap->row.slots;
	extents->n = 1;
	return ZR_OK;
}

/* Of devices that hand on what they get, or keep it in memory, nobody sees requests. */
static bool has_requests(const struct rec_paths *paths, uint32_t dev)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", paths->sys, dev >> 20, dev & 0xfffff);
	if (access(path, F_OK) < 0)
		return true; /* nobody can tell */
	strcat(path, "/mq");
	return access(path, F_OK) == 0;
}

static enum zr_err find_disk(const struct rec_paths *paths, const struct rec_swap *swap,
			     struct rec_extents *extents, uint32_t *disk)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	bool mapped = rec_dm_is(paths, *disk);
	enum zr_err err = ZR_OK;

	if (swap->row.is_file)
		err = map_file(swap, page, extents);
	else if (mapped)
		err = map_device(swap, extents);
	if (!err && mapped)
		err = rec_dm_to_disk(paths, page / 512, extents, disk);
	if (err || has_requests(paths, *disk))
		return err;
	return zr_fail(ZR_UNSUPPORTED, "%s is on %u:%u, which has no requests (as zram, md or brd)",
		       swap->path, *disk >> 20, *disk & 0xfffff);
}

void rec_swap_map(const struct rec_paths *paths, struct rec_swap *swap)
{
	uint32_t disk = swap->area.disk_dev;
	struct rec_extents extents = { 0 };
	enum zr_err err = find_disk(paths, swap, &extents, &disk);

	snprintf(swap->unmapped, sizeof(swap->unmapped), "%s", err ? zr_error_text() : "");
	if (err) {
		zr_error_clear();
		free(extents.list);
		extents = (struct rec_extents){ 0 };
	}
	if (disk != swap->area.disk_dev && !err) {
		swap->area.disk_dev = swap->area.part_dev = disk;
		swap->area.start_sector = 0;
	}
	swap->extents = extents.list;
	swap->area.extents = extents.list;
	swap->area.n_extents = extents.n;
	if (err || swap->row.is_file)
		swap->area.sectors_per_slot =
			extents.n ? (uint32_t)sysconf(_SC_PAGESIZE) / 512 : 0;
}

void rec_swap_unmap(struct rec_swap *swap)
{
	free(swap->extents);
	swap->extents = NULL;
	swap->area.extents = NULL;
	swap->area.n_extents = 0;
}

bool rec_zswap_is_on(const struct rec_paths *paths)
{
	char value[8];

	return !rec_file_line(value, sizeof(value), "%s/module/zswap/parameters/enabled",
			      paths->sys) ||
	       value[0] == 'Y';
}

enum zr_err rec_swaps_read(const struct rec_paths *paths, struct rec_swap *swaps, uint32_t *n)
{
	char *text = rec_file_readf("%s/swaps", paths->proc), *at = text, *line;

	*n = 0;
	if (!text)
		return zr_fail_errno(errno, "reading the list of swap areas %s/swaps", paths->proc);
	rec_next_line(&at); /* the heading */
	while (*n < REC_SWAPS_MAX && (line = rec_next_line(&at))) {
		struct rec_swap *swap = &swaps[*n];

		*swap = (struct rec_swap){ .area.type = *n, .row.type = *n };
		*n += take_swap(paths, line, swap);
	}
	free(text);
	return ZR_OK;
}

static uint32_t count_used(const struct rec_swap *swaps, uint32_t n)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		used += swaps[i].used_kib > 0;
	return used;
}

bool rec_swaps_match(const struct rec_swap *swaps, uint32_t n, uint32_t seen,
		     uint32_t types[REC_SWAPS_MAX])
{
	uint32_t n_seen = (uint32_t)__builtin_popcount(seen), next = 0;
	bool all = n_seen == n;

	if (!all && n_seen != count_used(swaps, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		bool known = all || swaps[i].used_kib;

		if (known) {
			types[i] = (uint32_t)__builtin_ctz(seen);
			seen &= seen - 1;
		} else {
			types[i] = next;
		}
		if (types[i] < next || types[i] >= REC_SWAPS_MAX)
			return false;
		next = types[i] + 1;
	}
	return true;
}

static const char *const queue_settings[] = {
	"scheduler", "nomerges", "wbt_lat_usec", "rotational", "nr_requests", "max_sectors_kb",
	"max_segments", "max_hw_sectors_kb", "logical_block_size", "physical_block_size",
	"discard_max_bytes", "write_cache", "fua",
};

static enum zr_err put_extents(struct db *db, const struct rec_swap *swap, uint32_t id)
{
	char *text = rec_extents_text(swap->extents, swap->area.n_extents), key[64];
	enum zr_err err;

	if (!text)
		return zr_fail(ZR_NOMEM, "no memory for the extents of a swap file");
	snprintf(key, sizeof(key), "area.%u.extents", id);
	err = put(db, key, text);
	free(text);
	if (!err && swap->unmapped[0]) {
		snprintf(key, sizeof(key), "area.%u.unmapped", id);
		err = put(db, key, swap->unmapped);
	}
	return err;
}

enum zr_err rec_swap_put_queue(struct db *db, const struct rec_paths *paths,
			       const struct rec_swap *swap, uint32_t id)
{
	unsigned major = swap->area.disk_dev >> 20, minor = swap->area.disk_dev & 0xfffff;
	char path[PATH_BYTES], key[64];
	enum zr_err err = ZR_OK;

	for (size_t i = 0; !err && i < sizeof(queue_settings) / sizeof(*queue_settings); i++) {
		snprintf(path, sizeof(path), "%s/dev/block/%u:%u/queue/%s", paths->sys, major,
			 minor, queue_settings[i]);
		snprintf(key, sizeof(key), DB_ENV_QUEUE_PREFIX "%u.%s", id, queue_settings[i]);
		err = put_file(db, key, path);
	}
	snprintf(path, sizeof(path), "%s/dev/block/%u:%u/device/model", paths->sys, major, minor);
	snprintf(key, sizeof(key), DB_ENV_QUEUE_PREFIX "%u.model", id);
	if (!err)
		err = put_file(db, key, path);
	return err || (!swap->extents && !swap->unmapped[0]) ? err : put_extents(db, swap, id);
}

/* ----------------------------------------------------------------------------------------- samples */

struct sample {
	const struct rec_sample_sink *sink;
	uint64_t time_ns;
	const char *source;
	enum zr_err err;
};

static void put_value(struct sample *sample, const char *name, double value)
{
	if (!sample->err)
		sample->err = sample->sink->put(sample->sink->arg, sample->time_ns, sample->source,
						name, value);
}

/* "name value" lines; those whose names start with one of `wanted`, or all without. */
static void put_flat(struct sample *sample, char *text, const char *const *wanted)
{
	char *at = text, *line;

	while (text && (line = rec_next_line(&at))) {
		char *space = strchr(line, ' ');
		bool ours = !wanted;

		if (!space)
			continue;
		*space = '\0';
		for (size_t i = 0; !ours && wanted[i]; i++)
			ours = strncmp(line, wanted[i], strlen(wanted[i])) == 0;
		if (ours)
			put_value(sample, line, strtod(space + 1, NULL));
	}
	free(text);
}

/* "some avg10=0.00 ... total=123" and "259:0 rbytes=1 wios=2": NAME.FIELD for each word of a line. */
static void put_nested(struct sample *sample, char *text)
{
	char *at = text, *line;

	while (text && (line = rec_next_line(&at))) {
		char *save, *head = strtok_r(line, " ", &save), *word;

		while (head && (word = strtok_r(NULL, " ", &save))) {
			char name[96], *equals = strchr(word, '=');

			if (!equals)
				continue;
			*equals = '\0';
			snprintf(name, sizeof(name), "%s.%s", head, word);
			put_value(sample, name, strtod(equals + 1, NULL));
		}
	}
	free(text);
}

static void put_zswap(struct sample *sample, const struct rec_paths *paths)
{
	char path[PATH_BYTES], value[64];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/kernel/debug/zswap", paths->sys);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    rec_file_line(value, sizeof(value), "%s/%s", path, entry->d_name))
			put_value(sample, entry->d_name, strtod(value, NULL));
	if (dir)
		closedir(dir);
}

static const char *const vmstat_wanted[] = { "pswp",	   "zswp",    "swpin_zero", "swpout_zero",
					     "nrswp",	   "swap_ra", "pgmajfault", "pgscan_",
					     "pgsteal_",   "thp_swpout", "workingset_refault_anon",
					     "allocstall", "oom_kill", NULL };
static const char *const stat_wanted[] = { "anon", "file",	   "zswap",    "swapcached",
					   "pswp",  "pgmajfault", "zswp", "workingset_refault_anon",
					   NULL };

static void put_cgroup(struct sample *sample, const char *dir, const char *path)
{
	static const char *const files[] = { "memory.stat", "io.stat", "io.pressure",
					     "memory.pressure", "memory.events" };
	char source[VALUE_BYTES];
	struct sample inner = { .sink = sample->sink, .time_ns = sample->time_ns, .source = source };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *text = rec_file_readf("%s/%s", dir, files[i]);

		snprintf(source, sizeof(source), "cgroup %s %s", path, files[i]);
		if (strcmp(files[i], "memory.stat") == 0)
			put_flat(&inner, text, stat_wanted);
		else if (strcmp(files[i], "memory.events") == 0)
			put_flat(&inner, text, NULL);
		else
			put_nested(&inner, text);
	}
	if (!sample->err)
		sample->err = inner.err;
}

enum zr_err rec_sample_take(const struct rec_sample_sink *sink, const struct rec_paths *paths,
			    const struct rec_cgroups *cgroups, uint64_t time_ns)
{
	struct sample sample = { .sink = sink, .time_ns = time_ns, .source = "vmstat" };

	put_flat(&sample, rec_file_readf("%s/vmstat", paths->proc), vmstat_wanted);
	sample.source = "zswap";
	put_zswap(&sample, paths);
	sample.source = "psi.io";
	put_nested(&sample, rec_file_readf("%s/pressure/io", paths->proc));
	for (uint32_t i = 0; i < rec_cgroups_n_watched(cgroups); i++) {
		char dir[PATH_BYTES];

		rec_cgroups_directory(cgroups, i, dir, sizeof(dir));
		put_cgroup(&sample, dir, rec_cgroups_watched_path(cgroups, i));
	}
	return sample.err;
}

static enum zr_err put_in_db(void *arg, uint64_t time_ns, const char *source, const char *name,
			     double value)
{
	return db_put_sample(arg, REC_HOST, time_ns, source, name, value);
}

enum zr_err rec_sample_put(struct db *db, const struct rec_paths *paths,
			   const struct rec_cgroups *cgroups, uint64_t time_ns)
{
	const struct rec_sample_sink sink = { .put = put_in_db, .arg = db };

	return rec_sample_take(&sink, paths, cgroups, time_ns);
}
