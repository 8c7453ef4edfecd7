/* SPDX-License-Identifier: MIT */
/* The stop flag and the progress bar; see stop.h. The flag is the only state of this file. */
#include "ui/stop.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "ui/format.h"

static volatile int stop_flag;

static void raise_flag(int signal_number)
{
	(void)signal_number;
	stop_flag = 1;
}

const volatile int *ui_stop_catch(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = raise_flag }, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
		/* Under nohup the end of the terminal is to end nothing. */
		sigaction(caught[i], NULL, &before);
		if (caught[i] != SIGHUP || before.sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
	return &stop_flag;
}

int ui_columns(int fd, int otherwise)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return otherwise;
}

void ui_progress_begin(struct ui_progress *progress, const char *what)
{
	*progress = (struct ui_progress){
		.what = what,
		.on = isatty(STDERR_FILENO) != 0,
		.began_ns = zr_monotonic_ns(),
	};
}

static void draw_bar(const struct ui_progress *progress, double done, uint64_t elapsed_ns)
{
	char bar[64];
	int room = ui_columns(STDERR_FILENO, 80) - (int)strlen(progress->what) - 32;
	int width = room < 4 ? 4 : room > 40 ? 40 : room;
	int filled = (int)lround(done * width);
	uint64_t left_ns = done > 0.01 ? (uint64_t)((double)elapsed_ns * (1 - done) / done) : 0;

	memset(bar, '.', (size_t)width);
	memset(bar, '#', (size_t)filled);
	bar[width] = '\0';
	fprintf(stderr, "\r%s [%s] %3.0f%%", progress->what, bar, 100 * done);
	if (left_ns)
		fprintf(stderr, "  %s left", ui_span(left_ns).text);
	fputs("\033[K", stderr);
	fflush(stderr);
}

bool ui_progress_update(void *arg, double done)
{
	struct ui_progress *progress = arg;
	uint64_t elapsed_ns = zr_monotonic_ns() - progress->began_ns;

	if (progress->on && elapsed_ns > 1000000000) {
		draw_bar(progress, fmin(fmax(done, 0), 1), elapsed_ns);
		progress->shown = true;
	}
	return !stop_flag;
}

void ui_progress_end(struct ui_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
