/* SPDX-License-Identifier: MIT */
/* Our corner of tracefs; see tracefs.h. */
#include "recorder/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#include "recorder/files.h"

enum { PATH_BYTES = 512, DEFINITION_BYTES = REC_PROBE_ARGS + 256, MOST_PIECE_BYTES = 32 << 10 };

#define NAME_PREFIX "zreel_"

struct rec_tracefs {
	char dir[256], instance_dir[PATH_BYTES], name[32];
	struct tracefs_instance *instance;
	bool uses_kprobes;
};

/* ------------------------------------------------------------------------------------ what was left */

/* Is this the name of a recorder that is no more? */
static bool is_dead(const char *name)
{
	char *end;
	long pid;

	if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
		return false;
	pid = strtol(name + strlen(NAME_PREFIX), &end, 10);
	return !*end && pid > 0 && pid != getpid() && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void count_removal(struct rec_leftovers *left, uint32_t *removed, bool done)
{
	if (done)
		++*removed;
	else
		left->refused++;
}

/* Removes the dynamic events of a group. An event that somebody uses stays; the kernel sees to that. */
static void remove_group(const char *dir, const char *group, struct rec_leftovers *left)
{
	char path[PATH_BYTES], *text, *at, *line;
	size_t n = strlen(group);

	snprintf(path, sizeof(path), "%s/dynamic_events", dir);
	text = at = zr_text_read(path);
	while (text && (line = rec_next_line(&at))) {
		char *name = strchr(line, ':'), command[PATH_BYTES];

		if (!name || strncmp(++name, group, n) != 0 || name[n] != '/')
			continue;
		snprintf(command, sizeof(command), "-:%.*s", (int)strcspn(name, " "), name);
		count_removal(left, &left->events, rec_file_append(path, command) == 0);
	}
	free(text);
}

/* Groups of dynamic events whose recorder is dead, also those whose instance is gone already. */
static void remove_dead_groups(const char *dir, struct rec_leftovers *left)
{
	char *text = rec_file_readf("%s/dynamic_events", dir), *at = text, *line;

	while (text && (line = rec_next_line(&at))) {
		char *group = strchr(line, ':'), *slash = group ? strchr(group, '/') : NULL;

		if (!slash)
			continue;
		*slash = '\0';
		if (is_dead(group + 1))
			remove_group(dir, group + 1, left);
	}
	free(text);
}

void rec_tracefs_recover(const char *dir, struct rec_leftovers *out)
{
	char path[PATH_BYTES];
	const struct dirent *entry;
	DIR *instances;

	*out = (struct rec_leftovers){ 0 };
	snprintf(path, sizeof(path), "%s/instances", dir);
	instances = opendir(path);
	while (instances && (entry = readdir(instances))) {
		if (!is_dead(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", dir, entry->d_name);
		count_removal(out, &out->instances, rmdir(path) == 0);
	}
	if (instances)
		closedir(instances);
	remove_dead_groups(dir, out);
}

/* -------------------------------------------------------------------------------------------- life */

static enum zr_err put(struct rec_tracefs *tracefs, const char *file, const char *text)
{
	if (tracefs_instance_file_write(tracefs->instance, file, text) >= 0)
		return ZR_OK;
	return zr_fail_errno(errno, "writing \"%s\" to %s/%s", text, tracefs->instance_dir, file);
}

/* Larger pieces, where the kernel has them (6.8 and later), take fewer calls to read; a small ring still has 16. */
static void enlarge_pieces(struct rec_tracefs *tracefs, uint64_t ring_bytes)
{
	char kib[32];
	uint64_t most = ring_bytes / 16 < MOST_PIECE_BYTES ? ring_bytes / 16 : MOST_PIECE_BYTES;

	snprintf(kib, sizeof(kib), "%llu", (unsigned long long)most / 1024);
	(void)tracefs_instance_file_write(tracefs->instance, "buffer_subbuf_size_kb", kib);
}

static enum zr_err make_instance(struct rec_tracefs *tracefs, const struct rec_tracefs_setup *setup)
{
	char kib[32];
	enum zr_err err;

	if (mkdir(tracefs->instance_dir, 0700) < 0)
		return zr_fail_errno(errno, "making the trace instance %s (it takes root, or CAP_DAC_OVERRIDE)",
				     tracefs->instance_dir);
	tracefs->instance = tracefs_instance_alloc(tracefs->dir, tracefs->name);
	if (!tracefs->instance)
		return zr_fail(ZR_NOMEM, "no memory for the trace instance");
	snprintf(kib, sizeof(kib), "%llu", (unsigned long long)((setup->ring_bytes + 1023) / 1024));
	err = put(tracefs, "tracing_on", "0");
	if (!err)
		err = put(tracefs, "trace_clock", setup->clock);
	enlarge_pieces(tracefs, setup->ring_bytes);
	if (!err)
		err = put(tracefs, "buffer_size_kb", kib);
	return err;
}

enum zr_err rec_tracefs_open(const struct rec_tracefs_setup *setup, struct rec_tracefs **out)
{
	struct rec_tracefs *tracefs = calloc(1, sizeof(*tracefs));
	struct rec_leftovers left;
	enum zr_err err = ZR_OK;

	if (!tracefs)
		return zr_fail(ZR_NOMEM, "no memory for the trace instance");
	snprintf(tracefs->dir, sizeof(tracefs->dir), "%s", setup->dir);
	snprintf(tracefs->name, sizeof(tracefs->name), NAME_PREFIX "%d", (int)getpid());
	snprintf(tracefs->instance_dir, sizeof(tracefs->instance_dir), "%s/instances/%s",
		 tracefs->dir, tracefs->name);
	rec_tracefs_recover(setup->dir, &left);
	if (setup->ring_bytes)
		err = make_instance(tracefs, setup);
	if (err) {
		rec_tracefs_close(tracefs);
		return err;
	}
	*out = tracefs;
	return ZR_OK;
}

void rec_tracefs_close(struct rec_tracefs *tracefs)
{
	struct rec_leftovers left = { 0 };

	if (!tracefs)
		return;
	if (tracefs->instance) {
		rec_tracefs_off(tracefs);
		(void)tracefs_instance_file_write(tracefs->instance, "events/enable", "0");
		tracefs_instance_free(tracefs->instance);
	}
	/* The instance first: it uses the events. */
	(void)rmdir(tracefs->instance_dir);
	remove_group(tracefs->dir, tracefs->name, &left);
	free(tracefs);
}

const char *rec_tracefs_instance(const struct rec_tracefs *tracefs)
{
	return tracefs->instance_dir;
}

const char *rec_tracefs_group(const struct rec_tracefs *tracefs)
{
	return tracefs->name;
}

enum zr_err rec_tracefs_on(struct rec_tracefs *tracefs)
{
	return put(tracefs, "tracing_on", "1");
}

void rec_tracefs_off(struct rec_tracefs *tracefs)
{
	(void)tracefs_instance_file_write(tracefs->instance, "tracing_on", "0");
}

/* ------------------------------------------------------------------------------------------ events */

/* "f1024:zreel_7/out_ret swap_writepage%return ret=..."; a kprobe says its return by the letter. */
static void define(const struct rec_tracefs *tracefs, const struct rec_probe *probe, bool kprobe,
		   char text[DEFINITION_BYTES])
{
	const char *letter = !kprobe ? "f" : probe->at_return ? "r" : "p";
	char active[16] = "";

	if (kprobe ? probe->at_return : probe->takes_active)
		snprintf(active, sizeof(active), "%d", REC_PROBE_ACTIVE);
	snprintf(text, DEFINITION_BYTES, "%s%s:%s/%s %s%s%s%s\n", letter, active, tracefs->name,
		 probe->event, probe->function, probe->at_return && !kprobe ? "%return" : "",
		 probe->args[0] ? " " : "", probe->args);
}

/* The kernel's last word on it, one line: "trace_fprobe: error: ..." */
static void last_error(const struct rec_tracefs *tracefs, char *text, size_t bytes)
{
	char *log = rec_file_readf("%s/error_log", tracefs->dir), *last = NULL, *line, *at = log;

	while (log && (line = rec_next_line(&at)))
		if (strstr(line, "error:"))
			last = strstr(line, "error:");
	snprintf(text, bytes, "%s", last ? last : "");
	free(log);
}

enum zr_err rec_tracefs_define(struct rec_tracefs *tracefs, const struct rec_probe *probe)
{
	char path[PATH_BYTES], text[DEFINITION_BYTES], why[160];
	int err, kprobe_err;

	snprintf(path, sizeof(path), "%s/dynamic_events", tracefs->dir);
	define(tracefs, probe, false, text);
	err = rec_file_append(path, text);
	if (err) {
		last_error(tracefs, why, sizeof(why));
		define(tracefs, probe, true, text);
		kprobe_err = rec_file_append(path, text);
		if (kprobe_err)
			return zr_fail_errno(err,
					     "probing %s (%s): the kernel takes neither an fprobe "
					     "nor a kprobe (%s; %s)",
					     probe->function, probe->event, why,
					     strerror(kprobe_err));
		tracefs->uses_kprobes = true;
	}
	return ZR_OK;
}

static enum zr_err set_filter(struct rec_tracefs *tracefs, const char *system, const char *event,
			      const char *filter)
{
	char file[PATH_BYTES];

	snprintf(file, sizeof(file), "events/%s/%s/filter", system, event);
	return filter ? put(tracefs, file, filter) : ZR_OK;
}

static enum zr_err enable(struct rec_tracefs *tracefs, const char *system, const char *event)
{
	char file[PATH_BYTES];

	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	return put(tracefs, file, "1");
}

enum zr_err rec_tracefs_add_probe(struct rec_tracefs *tracefs, const struct rec_probe *probe)
{
	enum zr_err err = rec_tracefs_define(tracefs, probe);

	return err ? err : set_filter(tracefs, tracefs->name, probe->event, probe->filter);
}

enum zr_err rec_tracefs_enable_probe(struct rec_tracefs *tracefs, const struct rec_probe *probe)
{
	return enable(tracefs, tracefs->name, probe->event);
}

enum zr_err rec_tracefs_enable_probes(struct rec_tracefs *tracefs)
{
	char file[PATH_BYTES];

	snprintf(file, sizeof(file), "events/%s/enable", tracefs->name);
	return put(tracefs, file, "1");
}

enum zr_err rec_tracefs_add_event(struct rec_tracefs *tracefs, const char *system,
				  const char *event, const char *filter)
{
	enum zr_err err = set_filter(tracefs, system, event, filter);

	return err ? err : enable(tracefs, system, event);
}

int64_t rec_tracefs_missed(const struct rec_tracefs *tracefs)
{
	char *text, *at, *line;
	int64_t missed = 0;

	if (!tracefs->uses_kprobes)
		return -1;
	text = at = rec_file_readf("%s/kprobe_profile", tracefs->dir);
	while (text && (line = rec_next_line(&at))) {
		char *name = strstr(line, tracefs->name);
		unsigned long long hits, misses;

		if (name && sscanf(name, "%*s %llu %llu", &hits, &misses) == 2)
			missed += (int64_t)misses;
	}
	free(text);
	return missed;
}
