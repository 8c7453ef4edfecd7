/* SPDX-License-Identifier: MIT */
/* See iocost_setup.h. */
#include "replayer/iocost_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/text_file.h"

/* The disk's line of a file without its end, "" if it has none. */
static enum zr_err read_line(const char *path, const char *disk, char *line, size_t bytes)
{
	char *text = zr_text_read(path);
	size_t name = strlen(disk), length;

	line[0] = '\0';
	if (!text && errno == ENOENT)
		return zr_fail(ZR_UNSUPPORTED, "'%s' is not there: this kernel has no iocost", path);
	if (!text)
		return zr_fail_errno(errno, "reading '%s'", path);
	for (const char *at = text; *at; at += length + (at[length] == '\n')) {
		length = strcspn(at, "\n");
		if (strncmp(at, disk, name) == 0 && at[name] == ' ')
			snprintf(line, bytes, "%.*s", (int)length, at);
	}
	free(text);
	return ZR_OK;
}

static void drop_figures_of_the_kernels(char *line)
{
	static const char automatic[] = " ctrl=auto";
	char *at = strstr(line, automatic);

	if (at)
		at[strlen(automatic)] = '\0';
}

static enum zr_err write_line(const char *path, const char *line)
{
	int errnum = zr_text_write(path, line);

	return errnum ? zr_fail_errno(errnum, "setting up iocost: writing '%s' into '%s'", line, path) : ZR_OK;
}

static enum zr_err remember(struct iocost_setup *setup, const struct iocost_setup_options *options,
			    const char *disk)
{
	enum zr_err err;

	snprintf(setup->qos_file, sizeof(setup->qos_file), "%s/io.cost.qos", options->root);
	snprintf(setup->model_file, sizeof(setup->model_file), "%s/io.cost.model", options->root);
	err = read_line(setup->qos_file, disk, setup->qos, sizeof(setup->qos));
	if (!err)
		err = read_line(setup->model_file, disk, setup->model, sizeof(setup->model));
	if (!setup->qos[0])
		snprintf(setup->qos, sizeof(setup->qos), "%s enable=0 ctrl=auto", disk);
	if (!setup->model[0])
		snprintf(setup->model, sizeof(setup->model), "%s ctrl=auto", disk);
	drop_figures_of_the_kernels(setup->qos);
	drop_figures_of_the_kernels(setup->model);
	if (!options->model)
		setup->model_file[0] = '\0';
	return err;
}

static enum zr_err switch_on(const struct iocost_setup *setup, const struct play_iocost *model,
			     const char *disk)
{
	char line[IOCOST_LINE_BYTES], figures[256];
	enum zr_err err = ZR_OK;

	if (model) {
		play_iocost_to_text(model, figures, sizeof(figures));
		snprintf(line, sizeof(line), "%s %s", disk, figures);
		err = write_line(setup->model_file, line);
	}
	if (err)
		return err;
	snprintf(line, sizeof(line), "%s enable=1%s", disk, model ? " ctrl=user min=100.00 max=100.00" : "");
	return write_line(setup->qos_file, line);
}

enum zr_err iocost_setup_begin(const struct iocost_setup_options *options, struct iocost_setup *out)
{
	char disk[32];
	enum zr_err err;

	*out = (struct iocost_setup){ 0 };
	snprintf(disk, sizeof(disk), "%u:%u", options->major, options->minor);
	err = remember(out, options, disk);
	if (err) {
		*out = (struct iocost_setup){ 0 };
		return err;
	}
	err = switch_on(out, options->model, disk);
	if (err)
		(void)!iocost_setup_end(out);
	return err;
}

enum zr_err iocost_setup_end(struct iocost_setup *setup)
{
	enum zr_err err = ZR_OK, qos_err = ZR_OK;

	if (setup->model_file[0])
		err = write_line(setup->model_file, setup->model);
	if (setup->qos_file[0])
		qos_err = write_line(setup->qos_file, setup->qos);
	*setup = (struct iocost_setup){ 0 };
	return err ? err : qos_err;
}
