/* SPDX-License-Identifier: MIT */
/* Golden screens of tests: ui/screens/NAME.golden, made anew where ZREEL_UPDATE_GOLDEN is set. */
#ifndef UI_TEST_GOLDEN_H
#define UI_TEST_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_whole(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!in)
		return NULL;
	/* Screens hold no NUL, so this reads the whole file. */
	if (getdelim(&text, &size, '\0', in) < 0) {
		free(text);
		text = NULL;
	}
	fclose(in);
	return text;
}

static void write_golden(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void assert_golden(const char *name, const char *got)
{
	char path[96], *wanted;

	snprintf(path, sizeof(path), "ui/screens/%s.golden", name);
	if (getenv("ZREEL_UPDATE_GOLDEN"))
		write_golden(path, got);
	wanted = read_whole(path);
	if (!wanted)
		fail_msg("%s is missing; ZREEL_UPDATE_GOLDEN=1 makes it", path);
	if (strcmp(wanted, got) != 0)
		fail_msg("the screen is not as in %s:\n%s", path, got);
	free(wanted);
}

#endif
