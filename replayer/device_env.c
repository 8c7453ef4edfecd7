/* SPDX-License-Identifier: MIT */
/* See device_env.h. */
#include "replayer/device_env.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "db/base/text_file.h"

enum { VALUE_BYTES = 512 };

struct env {
	const struct device_env_places *places;
	const struct device_file *file;
	char disk[PATH_MAX]; /* the folder in sysfs of the disk, which has `queue` and `device` */
	char *text;
};

static void clean(char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 0x7f || strncmp(value, "; ", 2) == 0)
			*value = '?';
}

/* Behind the last piece: "; KEY=VALUE"; key NULL: VALUE alone. What does not fit is left out whole. */
static void append(char *text, const char *key, const char *value)
{
	size_t used = strlen(text), room = DEVICE_ENV_BYTES - used;
	int head = snprintf(text + used, room, "%s%s%s", used ? "; " : "", key ? key : "", key ? "=" : "");

	if (head >= 0 && (size_t)head < room && strlen(value) < room - (size_t)head) {
		strcpy(text + used + head, value);
		clean(text + used + head);
	} else {
		text[used] = '\0';
	}
}

void device_env_add(char *text, const char *key, const char *value)
{
	if (value[0])
		append(text, key, value);
}

/* The first line of a text without the blanks around it. */
static void first_line(const char *from, char *value)
{
	size_t length;

	from += strspn(from, " \t");
	length = strcspn(from, "\n");
	while (length && (from[length - 1] == ' ' || from[length - 1] == '\t'))
		length--;
	snprintf(value, VALUE_BYTES, "%.*s", (int)(length < VALUE_BYTES ? length : VALUE_BYTES - 1), from);
}

static void read_setting(const struct env *env, const char *name, char *value)
{
	char path[PATH_MAX + 64], *text;

	snprintf(path, sizeof(path), "%s/%s", env->disk, name);
	text = zr_text_read(path);
	first_line(text ? text : "", value);
	free(text);
}

/* "none [mq-deadline] kyber": the one in brackets. */
static void keep_chosen(char *value)
{
	char *open = strchr(value, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return;
	*close = '\0';
	memmove(value, open + 1, strlen(open + 1) + 1);
}

static void add_queue(const struct env *env)
{
	static const struct {
		const char *key, *file;
	} settings[] = {
		{ "scheduler", "queue/scheduler" },
		{ "nomerges", "queue/nomerges" },
		{ "wbt_us", "queue/wbt_lat_usec" },
		{ "rotational", "queue/rotational" },
		{ "write_cache", "queue/write_cache" },
		{ "nr_requests", "queue/nr_requests" },
		{ "max_sectors_kb", "queue/max_sectors_kb" },
		{ "max_segments", "queue/max_segments" },
		{ "logical_block_size", "queue/logical_block_size" },
		{ "physical_block_size", "queue/physical_block_size" },
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char value[VALUE_BYTES];

		read_setting(env, settings[i].file, value);
		keep_chosen(value);
		device_env_add(env->text, settings[i].key, value);
	}
}

/* The disk's line of a file of the root group, without its number: that may be another one at the next boot. */
static void add_iocost(const struct env *env, const char *key, const char *file)
{
	char path[PATH_MAX], number[32], value[VALUE_BYTES], *text;
	size_t length;

	read_setting(env, "dev", number);
	if (!env->places->cgroup || !number[0])
		return;
	strcat(number, " ");
	length = strlen(number);
	snprintf(path, sizeof(path), "%s/%s", env->places->cgroup, file);
	text = zr_text_read(path);
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		if (strncmp(line, number, length) != 0)
			continue;
		first_line(line + length, value);
		device_env_add(env->text, key, value);
		break;
	}
	free(text);
}

/* mountinfo: "36 35 98:0 /root /mount OPTIONS [optional]... - TYPE SOURCE SUPER"; the last one mounted counts. */
static void add_file_system(const struct env *env)
{
	char path[PATH_MAX], type[64] = "", options[VALUE_BYTES] = "", *text;

	snprintf(path, sizeof(path), "%s/self/mountinfo", env->places->proc);
	text = zr_text_read(path);
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		char found[VALUE_BYTES], found_type[64];
		unsigned major, minor;
		const char *dash = strstr(line, " - ");

		if (sscanf(line, "%*u %*u %u:%u %*s %*s %511s", &major, &minor, found) != 3 || !dash ||
		    major != env->file->major || minor != env->file->minor ||
		    sscanf(dash + 3, "%63s", found_type) != 1)
			continue;
		strcpy(type, found_type);
		strcpy(options, found);
	}
	free(text);
	device_env_add(env->text, "fs", type);
	device_env_add(env->text, "mount", options);
}

/* A partition's folder lies in its disk's. */
static void find_disk(struct env *env)
{
	char path[PATH_MAX], *partition;

	snprintf(path, sizeof(path), "%s/dev/block/%" PRIu32 ":%" PRIu32 "/partition", env->places->sys,
		 env->file->major, env->file->minor);
	partition = zr_text_read(path);
	snprintf(env->disk, sizeof(env->disk), "%s/dev/block/%" PRIu32 ":%" PRIu32 "%s", env->places->sys,
		 env->file->major, env->file->minor, partition ? "/.." : "");
	free(partition);
}

void device_env_read(const struct device_env_places *places, const char *path, const struct device_file *file,
		     char *text)
{
	struct env env = { .places = places, .file = file, .text = text };
	struct utsname name;
	char value[VALUE_BYTES];

	text[0] = '\0';
	append(text, NULL, path);
	if (uname(&name) == 0)
		device_env_add(text, "kernel", name.release);
	find_disk(&env);
	read_setting(&env, "device/model", value);
	device_env_add(text, "model", value);
	if (file->is_block) {
		snprintf(value, sizeof(value), "%" PRIu64, file->bytes);
		device_env_add(text, "bytes", value);
	} else {
		add_file_system(&env);
	}
	add_queue(&env);
	add_iocost(&env, "iocost_qos", "io.cost.qos");
	add_iocost(&env, "iocost_model", "io.cost.model");
}
