/* SPDX-License-Identifier: MIT */
/*
 * What a terminal really shows: the program runs on a pseudo-terminal, libvterm plays the terminal,
 * and its cells are compared with the screen that --dump draws after the same keys. So ncurses, the
 * order of its updates, wide characters and resizes are in the test, and the grid is the oracle.
 *
 * Waits are for output, never for time; a program that says nothing for a minute has failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include "ui/test_trace.h"
#include "ui/text.h"

enum { SILENCE_MS = 60000, W_MAX = 220, H_MAX = 70 };

struct fixture {
	char dir[64], path[96];
	int w, h, fd;
	pid_t pid;
	VTerm *vterm;
	VTermScreen *screen;
};

static const char *program(void)
{
	static char path[512];
	const char *build = getenv("BUILD");

	snprintf(path, sizeof(path), "%s/zreel", build ? build : "build");
	return path;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	snprintf(f->dir, sizeof(f->dir), "/tmp/zreel-vterm-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/\u4e16\u84ee\x1b[31m.zr", f->dir);
	return test_trace_make(f->path, "6.12.0-test", TEST_EVENTS) ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	if (f->vterm) {
		close(f->fd);
		vterm_free(f->vterm);
	}
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void skip_without_program(void)
{
	if (access(program(), X_OK) == 0)
		return;
	print_message("skipped: %s is not built\n", program());
	skip();
}

static void run_child(const char *path, const char *term)
{
	setenv("TERM", term, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("NO_COLOR");
	execl(program(), program(), "ui", path, "-p", "unbatched", "-p", "plugged", (char *)NULL);
	_exit(127);
}

static void start(struct fixture *f, int w, int h, const char *term)
{
	struct winsize size = { .ws_row = (unsigned short)h, .ws_col = (unsigned short)w };

	skip_without_program();
	f->w = w;
	f->h = h;
	f->vterm = vterm_new(h, w);
	vterm_set_utf8(f->vterm, 1);
	f->screen = vterm_obtain_screen(f->vterm);
	vterm_screen_reset(f->screen, 1);
	f->pid = forkpty(&f->fd, NULL, NULL, &size);
	if (f->pid == 0)
		run_child(f->path, term);
	assert_true(f->pid > 0);
}

/* Feeds the terminal with what the program writes next; false at its end, or after a long silence.
 */
static bool read_some(struct fixture *f)
{
	struct pollfd in = { .fd = f->fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n;

	if (poll(&in, 1, SILENCE_MS) <= 0)
		return false;
	n = read(f->fd, bytes, sizeof(bytes));
	if (n <= 0)
		return false;
	vterm_input_write(f->vterm, bytes, (size_t)n);
	return true;
}

static void put_row(struct fixture *f, int y, char *text)
{
	size_t used = 0, end = 0;

	for (int x = 0; x < f->w; x++) {
		VTermPos at = { .row = y, .col = x };
		VTermScreenCell cell;

		vterm_screen_get_cell(f->screen, at, &cell);
		/* The right half of a wide character. */
		if (cell.chars[0] == (uint32_t)-1)
			continue;
		used += ui_utf8_put(cell.chars[0] ? cell.chars[0] : ' ', text + used);
		if (cell.chars[0] && cell.chars[0] != ' ')
			end = used;
	}
	text[end] = '\0';
}

/* The whole screen as --dump prints it. */
static char *shown(struct fixture *f)
{
	static char text[H_MAX * (4 * W_MAX + 1) + 1];
	size_t used = 0;

	for (int y = 0; y < f->h; y++) {
		put_row(f, y, text + used);
		used += strlen(text + used);
		text[used++] = '\n';
	}
	text[used] = '\0';
	return text;
}

static char *dumped(const struct fixture *f, const char *script)
{
	static char text[H_MAX * (4 * W_MAX + 1) + 1];
	char command[1024];
	size_t n;
	FILE *in;

	snprintf(command, sizeof(command),
		 "LC_ALL=C.UTF-8 %s ui '%s' -p unbatched -p plugged --dump --size %dx%d --script "
		 "'%s'",
		 program(), f->path, f->w, f->h, script);
	in = popen(command, "r");
	assert_non_null(in);
	n = fread(text, 1, sizeof(text) - 1, in);
	text[n] = '\0';
	assert_int_equal(pclose(in), 0);
	return text;
}

/* Until the terminal shows what was wanted; every look is after some output. */
static void await(struct fixture *f, const char *wanted)
{
	while (strcmp(shown(f), wanted) != 0)
		if (!read_some(f))
			fail_msg("the terminal shows\n%s\nand not\n%s", shown(f), wanted);
}

static void press(struct fixture *f, const char *keys)
{
	assert_int_equal(write(f->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static void resize(struct fixture *f, int w, int h)
{
	struct winsize size = { .ws_row = (unsigned short)h, .ws_col = (unsigned short)w };

	f->w = w;
	f->h = h;
	vterm_set_size(f->vterm, h, w);
	assert_int_equal(ioctl(f->fd, TIOCSWINSZ, &size), 0);
}

static void the_terminal_shows_what_the_grid_holds(void **state)
{
	struct fixture *f = *state;

	start(f, 80, 24, "xterm-256color");
	press(f, " \x1bOF");
	await(f, dumped(f, " <end>"));
	press(f, "vv");
	await(f, dumped(f, " <end>vv"));
	press(f, "?");
	await(f, dumped(f, " <end>vv?"));
}

static void resizes_end_in_the_screen_of_the_last_size(void **state)
{
	struct fixture *f = *state;

	start(f, 80, 24, "xterm-256color");
	press(f, " \x1bOF");
	await(f, dumped(f, " <end>"));
	resize(f, 20, 5);
	await(f, dumped(f, " <end>"));
	resize(f, 200, 60);
	resize(f, 33, 9);
	resize(f, 200, 60);
	await(f, dumped(f, " <end>"));
	resize(f, 80, 24);
	await(f, dumped(f, " <end>"));
}

static void other_terminals_show_the_same(void **state)
{
	struct fixture *f = *state;

	start(f, 100, 30, "linux");
	press(f, " 2\x1b[4~");
	await(f, dumped(f, " 2<end>"));
}

static void it_ends_with_the_screen_restored(void **state)
{
	struct fixture *f = *state;
	int status;

	start(f, 80, 24, "xterm-256color");
	press(f, " \x1bOF");
	await(f, dumped(f, " <end>"));
	press(f, "q");
	while (read_some(f))
		;
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	f->pid = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_terminal_shows_what_the_grid_holds),
		TEST(resizes_end_in_the_screen_of_the_last_size),
		TEST(other_terminals_show_the_same),
		TEST(it_ends_with_the_screen_restored),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
