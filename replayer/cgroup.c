/* SPDX-License-Identifier: MIT */
/* See cgroup.h. */
#include "replayer/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/text_file.h"

enum { PATH_BYTES = 1024, FILE_BYTES = PATH_BYTES + 64, WORD_BYTES = 32, NAME_TRIES = 100, REMOVE_TRIES = 200 };

struct cgroup {
	const struct cgroup_calls *calls;
	struct cgroup *parent, *children, *sibling; /* of those that were made here */
	char path[PATH_BYTES], root[PATH_BYTES], origin[PATH_BYTES];
	char above[PATH_BYTES];	      /* in which it was made */
	char switched_on[PATH_BYTES]; /* controllers above that are to be switched off again, "-io -memory" */
};

/* ------------------------------------------------------------------------------------- the kernel's */

static int kernel_make(void *arg, const char *path)
{
	(void)arg;
	return mkdir(path, 0755) ? errno : 0;
}

static int kernel_remove(void *arg, const char *path)
{
	(void)arg;
	return rmdir(path) ? errno : 0;
}

static int kernel_write(void *arg, const char *path, const char *text)
{
	(void)arg;
	return zr_text_write(path, text);
}

static char *kernel_read(void *arg, const char *path)
{
	(void)arg;
	return zr_text_read(path);
}

static const struct cgroup_calls kernel_calls = {
	.make = kernel_make,
	.remove = kernel_remove,
	.write = kernel_write,
	.read = kernel_read,
};

static char *read_in(const struct cgroup_calls *calls, const char *directory, const char *file)
{
	char path[FILE_BYTES];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	return calls->read(calls->arg, path);
}

static int write_in(const struct cgroup_calls *calls, const char *directory, const char *file,
		    const char *text)
{
	char path[FILE_BYTES];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	return calls->write(calls->arg, path, text);
}

/* ---------------------------------------------------------------------------------- where things are */

/* The next line of a text, without cutting it up; false at the end. */
static bool next_line(const char **at, char *line, size_t bytes)
{
	size_t length = strcspn(*at, "\n");

	if (**at == '\0')
		return false;
	snprintf(line, bytes, "%.*s", (int)length, *at);
	*at += length + ((*at)[length] == '\n');
	return true;
}

/* Tables of mounts write blanks of names as octal escapes. */
static void unescape(char *text)
{
	char *to = text;

	for (unsigned value; *text; to++) {
		if (text[0] == '\\' && sscanf(text + 1, "%3o", &value) == 1 && strlen(text) >= 4) {
			*to = (char)value;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

bool cgroup_find_mount(const char *mountinfo, char *path, size_t bytes)
{
	char line[4096];

	while (next_line(&mountinfo, line, sizeof(line))) {
		const char *type = strstr(line, " - ");
		char where[PATH_BYTES];

		if (!type || strncmp(type, " - cgroup2 ", 11) != 0 ||
		    sscanf(line, "%*s %*s %*s %*s %1023s", where) != 1)
			continue;
		unescape(where);
		return snprintf(path, bytes, "%s", where) < (int)bytes;
	}
	return false;
}

bool cgroup_find_own(const char *text, char *path, size_t bytes)
{
	char line[4096];

	while (next_line(&text, line, sizeof(line)))
		if (strncmp(line, "0::/", 4) == 0)
			return snprintf(path, bytes, "%s", line + 3) < (int)bytes;
	return false;
}

/* ------------------------------------------------------------------------------------- controllers */

/* The next word of a list; false at the end. */
static bool next_word(const char **at, char *word, size_t bytes)
{
	size_t length;

	*at += strspn(*at, " \n");
	length = strcspn(*at, " \n");
	if (!length)
		return false;
	snprintf(word, bytes, "%.*s", (int)length, *at);
	*at += length;
	return true;
}

static bool has_word(const char *list, const char *wanted)
{
	char word[WORD_BYTES];

	while (next_word(&list, word, sizeof(word)))
		if (strcmp(word, wanted) == 0)
			return true;
	return false;
}

/* The first word of `wanted` that `list` does not have; false if it has all. */
static bool find_missing(const char *list, const char *wanted, char *missing, size_t bytes)
{
	while (next_word(&wanted, missing, bytes))
		if (!has_word(list, missing))
			return true;
	return false;
}

static bool hands_down(const struct cgroup_calls *calls, const char *directory, const char *controllers)
{
	char *list = read_in(calls, directory, "cgroup.subtree_control"), missing[WORD_BYTES];
	bool all = list && !find_missing(list, controllers, missing, sizeof(missing));

	free(list);
	return all;
}

/* How an errno of this file system is told: what is not permitted is not a failure of ours. */
static enum zr_err tell(int errnum, const char *doing, const char *path)
{
	if (errnum == EACCES || errnum == EPERM || errnum == EROFS)
		return zr_fail(ZR_PERM,
			       "%s %s: %s; a control group of its own needs root, or a hierarchy that was "
			       "delegated to this user",
			       doing, path, strerror(errnum));
	if (errnum == EBUSY)
		return zr_fail(ZR_UNSUPPORTED,
			       "%s %s: %s; a control group that has processes cannot hand controllers down "
			       "(inside a container, run it on the host)",
			       doing, path, strerror(errnum));
	return zr_fail_errno(errnum, "%s %s", doing, path);
}

/* Switches on what `directory` does not yet hand down, and notes in cgroup->switched_on how to undo that. */
static enum zr_err switch_on(struct cgroup *cgroup, const char *directory, const char *controllers)
{
	char *list = read_in(cgroup->calls, directory, "cgroup.subtree_control"), word[WORD_BYTES];
	enum zr_err err = ZR_OK;

	if (!list)
		return tell(errno, "reading cgroup.subtree_control of", directory);
	while (!err && next_word(&controllers, word, sizeof(word))) {
		size_t used = strlen(cgroup->switched_on);
		char text[WORD_BYTES + 1];
		int errnum;

		if (has_word(list, word))
			continue;
		snprintf(text, sizeof(text), "+%s", word);
		errnum = write_in(cgroup->calls, directory, "cgroup.subtree_control", text);
		if (errnum)
			err = tell(errnum, "switching controllers on below", directory);
		else
			snprintf(cgroup->switched_on + used, sizeof(cgroup->switched_on) - used, "%s-%s",
				 used ? " " : "", word);
	}
	free(list);
	return err;
}

static enum zr_err switch_off(const struct cgroup *cgroup)
{
	int errnum = cgroup->switched_on[0] ? write_in(cgroup->calls, cgroup->above, "cgroup.subtree_control",
						       cgroup->switched_on) :
					      0;

	return errnum ? tell(errnum, "switching controllers off again below", cgroup->above) : ZR_OK;
}

/* ------------------------------------------------------------------------------------------- making */

static enum zr_err too_long(const char *path)
{
	return zr_fail(ZR_LIMIT, "making a control group in '%.80s...': the path is too long", path);
}

static enum zr_err make_in(struct cgroup *cgroup, const char *above, const char *name)
{
	int errnum = EEXIST;

	strcpy(cgroup->above, above);
	for (int i = 0; errnum == EEXIST && i < NAME_TRIES; i++) {
		char suffix[16] = "";

		if (i)
			snprintf(suffix, sizeof(suffix), ".%d", i);
		if (snprintf(cgroup->path, sizeof(cgroup->path), "%s/%s%s", above, name, suffix) >=
		    (int)sizeof(cgroup->path))
			return too_long(above);
		errnum = cgroup->calls->make(cgroup->calls->arg, cgroup->path);
	}
	if (!errnum)
		return ZR_OK;
	cgroup->path[0] = '\0';
	return tell(errnum, "making a control group in", above);
}

/* Cuts the last name off; false when the root is left. */
static bool go_up(const struct cgroup *cgroup, char *directory)
{
	char *slash = strrchr(directory, '/');

	if (strlen(directory) <= strlen(cgroup->root) || !slash)
		return false;
	*slash = '\0';
	return strlen(directory) >= strlen(cgroup->root);
}

static enum zr_err make_anywhere(struct cgroup *cgroup, const char *controllers, const char *name)
{
	char above[PATH_BYTES];
	enum zr_err err;

	strcpy(above, cgroup->origin);
	while (go_up(cgroup, above)) {
		if (!hands_down(cgroup->calls, above, controllers))
			continue;
		if (!make_in(cgroup, above, name))
			return ZR_OK;
		zr_error_clear();
	}
	strcpy(cgroup->above, cgroup->root);
	err = switch_on(cgroup, cgroup->root, controllers);
	return err ? err : make_in(cgroup, cgroup->root, name);
}

static enum zr_err check_controllers(const struct cgroup *cgroup, const char *controllers)
{
	char *list = read_in(cgroup->calls, cgroup->root, "cgroup.controllers"), missing[WORD_BYTES];
	enum zr_err err = ZR_OK;

	if (!list)
		err = tell(errno, "reading cgroup.controllers of", cgroup->root);
	else if (find_missing(list, controllers, missing, sizeof(missing)))
		err = zr_fail(ZR_UNSUPPORTED,
			      "the controller '%s' is not in the cgroup v2 hierarchy at %s (it has: %.*s); this kernel "
			      "does without it or has it in a v1 hierarchy",
			      missing, cgroup->root, (int)strcspn(list, "\n"), list);
	free(list);
	return err;
}

/* Where the hierarchy is and this process in it. */
static enum zr_err find_places(struct cgroup *cgroup)
{
	const struct cgroup_calls *calls = cgroup->calls;
	char *mounts = calls->read(calls->arg, "/proc/self/mountinfo");
	char *own = calls->read(calls->arg, "/proc/self/cgroup"), name[PATH_BYTES];
	enum zr_err err = ZR_OK;

	if (!mounts || !own)
		err = zr_fail_errno(errno, "looking for control groups in /proc/self");
	else if (!cgroup_find_mount(mounts, cgroup->root, sizeof(cgroup->root)) ||
		 !cgroup_find_own(own, name, sizeof(name)))
		err = zr_fail(ZR_UNSUPPORTED, "no cgroup v2 hierarchy is mounted here");
	else if (snprintf(cgroup->origin, sizeof(cgroup->origin), "%s%s", cgroup->root,
			  strcmp(name, "/") ? name : "") >= (int)sizeof(cgroup->origin))
		err = too_long(cgroup->root);
	free(mounts);
	free(own);
	return err;
}

/* Of several failures the first one is told. */
static void keep_first(enum zr_err *first, enum zr_err err)
{
	if (!*first)
		*first = err;
}

static struct cgroup *new_cgroup(const struct cgroup_calls *calls)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup));

	if (cgroup)
		cgroup->calls = calls;
	return cgroup;
}

enum zr_err cgroup_make(const struct cgroup_options *options, struct cgroup **out)
{
	struct cgroup *cgroup = new_cgroup(options->calls ? options->calls : &kernel_calls);
	char name[64];
	enum zr_err err;

	*out = NULL;
	if (!cgroup)
		return zr_fail(ZR_NOMEM, "making a control group: no memory");
	snprintf(name, sizeof(name), "%s-%ld", options->name ? options->name : "zreel", (long)getpid());
	err = find_places(cgroup);
	if (!err)
		err = check_controllers(cgroup, options->controllers);
	if (!err)
		err = make_anywhere(cgroup, options->controllers, name);
	if (!err)
		*out = cgroup;
	else
		keep_first(&err, cgroup_free(cgroup));
	return err;
}

enum zr_err cgroup_make_below(struct cgroup *parent, const char *name, const char *controllers,
			      struct cgroup **out)
{
	struct cgroup *cgroup = new_cgroup(parent->calls);
	enum zr_err err;

	*out = NULL;
	if (!cgroup)
		return zr_fail(ZR_NOMEM, "making a control group: no memory");
	strcpy(cgroup->root, parent->root);
	strcpy(cgroup->origin, parent->origin);
	err = switch_on(cgroup, parent->path, controllers);
	/* Goes with the parent. */
	cgroup->switched_on[0] = '\0';
	if (!err)
		err = make_in(cgroup, parent->path, name);
	if (err) {
		free(cgroup);
		return err;
	}
	cgroup->parent = parent;
	cgroup->sibling = parent->children;
	parent->children = cgroup;
	*out = cgroup;
	return ZR_OK;
}

/* -------------------------------------------------------------------------------------------- using */

const char *cgroup_path(const struct cgroup *cgroup)
{
	return cgroup->path;
}

const char *cgroup_root(const struct cgroup *cgroup)
{
	return cgroup->root;
}

enum zr_err cgroup_put(struct cgroup *cgroup, pid_t pid)
{
	char text[24];
	int errnum;

	snprintf(text, sizeof(text), "%ld", (long)pid);
	errnum = write_in(cgroup->calls, cgroup->path, "cgroup.procs", text);
	return errnum ? tell(errnum, "moving a process into the control group", cgroup->path) : ZR_OK;
}

enum zr_err cgroup_leave(struct cgroup *cgroup)
{
	int errnum = write_in(cgroup->calls, cgroup->origin, "cgroup.procs", "0");

	return errnum ? tell(errnum, "going back into the control group", cgroup->origin) : ZR_OK;
}

enum zr_err cgroup_write(const struct cgroup *cgroup, const char *file, const char *text)
{
	int errnum = write_in(cgroup->calls, cgroup->path, file, text);
	char doing[FILE_BYTES];

	if (!errnum)
		return ZR_OK;
	snprintf(doing, sizeof(doing), "writing '%s' to %s of the control group", text, file);
	return tell(errnum, doing, cgroup->path);
}

enum zr_err cgroup_read(const struct cgroup *cgroup, const char *file, char **out)
{
	char doing[FILE_BYTES];

	*out = cgroup_peek(cgroup, file);
	if (*out)
		return ZR_OK;
	snprintf(doing, sizeof(doing), "reading %s of the control group", file);
	return tell(errno, doing, cgroup->path);
}

char *cgroup_peek(const struct cgroup *cgroup, const char *file)
{
	return read_in(cgroup->calls, cgroup->path, file);
}

/* ------------------------------------------------------------------------------------- taking down */

/* Moves all processes to where we came from. One that ends meanwhile (ESRCH) has gone by itself. */
static int empty(const struct cgroup *cgroup)
{
	char *list = read_in(cgroup->calls, cgroup->path, "cgroup.procs"), word[WORD_BYTES];
	const char *at = list ? list : "";
	int first = list ? 0 : errno;

	while (next_word(&at, word, sizeof(word))) {
		int errnum = write_in(cgroup->calls, cgroup->origin, "cgroup.procs", word);

		if (errnum && errnum != ESRCH && !first)
			first = errnum;
	}
	free(list);
	return first;
}

/* A process that is about to end is in no list any more and still holds its group for a moment. */
static int remove_patiently(const struct cgroup *cgroup)
{
	const struct timespec a_moment = { .tv_nsec = 5'000'000 };
	int errnum = cgroup->calls->remove(cgroup->calls->arg, cgroup->path);

	for (int i = 0; errnum == EBUSY && i < REMOVE_TRIES; i++) {
		nanosleep(&a_moment, NULL);
		errnum = cgroup->calls->remove(cgroup->calls->arg, cgroup->path);
	}
	return errnum == ENOENT ? 0 : errnum;
}

static void unlink_from_parent(struct cgroup *cgroup)
{
	struct cgroup **at = cgroup->parent ? &cgroup->parent->children : NULL;

	while (at && *at != cgroup)
		at = &(*at)->sibling;
	if (at)
		*at = cgroup->sibling;
}

/* A group without groups below it. */
static enum zr_err take_down(struct cgroup *cgroup)
{
	enum zr_err first = ZR_OK;
	int errnum;

	if (cgroup->path[0]) {
		errnum = empty(cgroup);
		if (errnum && errnum != ENOENT)
			keep_first(&first, tell(errnum, "moving processes out of the control group",
						cgroup->path));
		errnum = remove_patiently(cgroup);
		if (errnum)
			keep_first(&first, zr_fail_errno(errnum, "removing the control group %s; remove it "
								 "with rmdir when it is empty",
							 cgroup->path));
	}
	keep_first(&first, switch_off(cgroup));
	unlink_from_parent(cgroup);
	free(cgroup);
	return first;
}

enum zr_err cgroup_free(struct cgroup *cgroup)
{
	enum zr_err first = ZR_OK;

	if (!cgroup)
		return ZR_OK;
	/* Depth first without recursion: whoever has no children goes, its parent is looked at again. */
	for (struct cgroup *at = cgroup, *next; at; at = next) {
		if (at->children) {
			next = at->children;
			continue;
		}
		next = at == cgroup ? NULL : at->parent;
		keep_first(&first, take_down(at));
	}
	return first;
}
