/* SPDX-License-Identifier: MIT */
/* The cgroups of the machine by their kernfs id; see cgroups.h. */
#include "recorder/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/base/arena.h"
#include "recorder/ids.h"

enum { PATH_BYTES = 4096, MAX_CGROUPS = 1 << 20, MAX_DEPTH = 64, MAX_WATCHED = 64 };

struct rec_cgroups {
	char mount[256];
	struct zr_arena arena;
	struct rec_ids ids;
	const char **paths; /* by dense id */
	uint32_t n_paths;
	const char *watched[MAX_WATCHED];
	uint32_t n_watched;
};

static bool keep_path(struct rec_cgroups *cgroups, uint32_t id, const char *path)
{
	if (id >= cgroups->n_paths) {
		uint32_t n = cgroups->n_paths ? cgroups->n_paths * 2 : 256;
		const char **paths = realloc(cgroups->paths, n * sizeof(*paths));

		if (!paths)
			return false;
		memset(paths + cgroups->n_paths, 0, (n - cgroups->n_paths) * sizeof(*paths));
		cgroups->paths = paths;
		cgroups->n_paths = n;
	}
	cgroups->paths[id] = zr_arena_text(&cgroups->arena, path);
	return cgroups->paths[id];
}

/* Cgroup directories come and go while we look: what cannot be read is passed over. */
static void scan(struct rec_cgroups *cgroups, char *path, size_t used, int depth)
{
	const char *below = path + strlen(cgroups->mount);
	const struct dirent *entry;
	struct stat st;
	uint32_t id;
	bool fresh;
	DIR *dir;

	if (depth > MAX_DEPTH || stat(path, &st) < 0)
		return;
	id = rec_ids_of(&cgroups->ids, st.st_ino, &fresh);
	if (id && (fresh || strcmp(cgroups->paths[id], *below ? below : "/") != 0) &&
	    !keep_path(cgroups, id, *below ? below : "/"))
		return;
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || used + n + 2 > PATH_BYTES)
			continue;
		path[used] = '/';
		memcpy(path + used + 1, entry->d_name, n + 1);
		scan(cgroups, path, used + n + 1, depth + 1);
		path[used] = '\0';
	}
	if (dir)
		closedir(dir);
}

static void rescan(struct rec_cgroups *cgroups)
{
	char path[PATH_BYTES];

	if (!cgroups->mount[0])
		return;
	strcpy(path, cgroups->mount);
	scan(cgroups, path, strlen(path), 0);
}

enum zr_err rec_cgroups_open(const char *mount, struct rec_cgroups **out)
{
	struct rec_cgroups *cgroups = calloc(1, sizeof(*cgroups));

	if (!cgroups || !rec_ids_init(&cgroups->ids, MAX_CGROUPS)) {
		free(cgroups);
		return zr_fail(ZR_NOMEM, "no memory for the list of cgroups");
	}
	snprintf(cgroups->mount, sizeof(cgroups->mount), "%s", mount);
	rescan(cgroups);
	*out = cgroups;
	return ZR_OK;
}

void rec_cgroups_close(struct rec_cgroups *cgroups)
{
	if (!cgroups)
		return;
	rec_ids_fini(&cgroups->ids);
	zr_arena_fini(&cgroups->arena);
	free(cgroups->paths);
	free(cgroups);
}

static bool starts_with_path(const char *path, const char *start)
{
	size_t n = strlen(start);

	return strncmp(path, start, n) == 0 && (!path[n] || path[n] == '/');
}

enum zr_err rec_cgroups_watch(struct rec_cgroups *cgroups, const char *path)
{
	char below[PATH_BYTES], whole[PATH_BYTES + 512];
	const char *rest = path;
	struct stat st;
	size_t n;

	if (!cgroups->mount[0])
		return zr_fail(ZR_UNSUPPORTED,
			       "watching cgroup %s: no cgroup2 file system is mounted", path);
	if (cgroups->n_watched == MAX_WATCHED)
		return zr_fail(ZR_LIMIT, "watching cgroup %s: at most %d can be watched", path,
			       MAX_WATCHED);
	if (starts_with_path(path, cgroups->mount))
		rest += strlen(cgroups->mount);
	snprintf(below, sizeof(below), "/%s", rest + strspn(rest, "/"));
	for (n = strlen(below); n > 1 && below[n - 1] == '/';)
		below[--n] = '\0';
	snprintf(whole, sizeof(whole), "%s%s", cgroups->mount, below);
	if (stat(whole, &st) < 0)
		return zr_fail_errno(errno, "watching cgroup %s: looking at %s", path, whole);
	if (!S_ISDIR(st.st_mode))
		return zr_fail(ZR_NOT_FOUND, "watching cgroup %s: %s is not a directory", path, whole);
	cgroups->watched[cgroups->n_watched] = zr_arena_text(&cgroups->arena, below);
	if (!cgroups->watched[cgroups->n_watched])
		return zr_fail(ZR_NOMEM, "no memory for the list of cgroups");
	cgroups->n_watched++;
	return ZR_OK;
}

const char *rec_cgroups_path(struct rec_cgroups *cgroups, uint64_t id)
{
	bool fresh;
	uint32_t dense = rec_ids_of(&cgroups->ids, id, &fresh);

	if (fresh && keep_path(cgroups, dense, ""))
		rescan(cgroups);
	return dense && dense < cgroups->n_paths && cgroups->paths[dense] ? cgroups->paths[dense]
									  : "";
}

bool rec_cgroups_watched(struct rec_cgroups *cgroups, uint64_t id)
{
	const char *path = rec_cgroups_path(cgroups, id);

	for (uint32_t i = 0; i < cgroups->n_watched; i++)
		if (strcmp(cgroups->watched[i], "/") == 0 ||
		    starts_with_path(path, cgroups->watched[i]))
			return true;
	return !cgroups->n_watched;
}

uint32_t rec_cgroups_n_watched(const struct rec_cgroups *cgroups)
{
	return cgroups->n_watched;
}

const char *rec_cgroups_watched_path(const struct rec_cgroups *cgroups, uint32_t n)
{
	return cgroups->watched[n];
}

void rec_cgroups_directory(const struct rec_cgroups *cgroups, uint32_t n, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s%s", cgroups->mount, cgroups->watched[n]);
}
