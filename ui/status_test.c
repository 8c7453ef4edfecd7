/* SPDX-License-Identifier: MIT */
/* The status line of a recording, on a pseudo terminal of its own and on what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ui/status.h"

struct terminal {
	int master;
	FILE *out;
	struct ui_status line;
	char text[1024]; /* what was read so far */
};

static int open_terminal(void **state)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	int slave;

	*state = terminal;
	terminal->master = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal->master < 0 || grantpt(terminal->master) || unlockpt(terminal->master))
		return -1;
	slave = open(ptsname(terminal->master), O_RDWR | O_NOCTTY);
	if (slave < 0)
		return -1;
	terminal->out = fdopen(slave, "w");
	terminal->line = ui_status_on(terminal->out);
	return 0;
}

static int close_terminal(void **state)
{
	struct terminal *terminal = *state;

	fclose(terminal->out);
	close(terminal->master);
	free(terminal);
	return 0;
}

static void set_width(struct terminal *terminal, unsigned short columns)
{
	const struct winsize size = { .ws_row = 24, .ws_col = columns };

	assert_int_equal(ioctl(terminal->master, TIOCSWINSZ, &size), 0);
}

/* All that was written since the last look: it is there as soon as it was flushed. */
static const char *written(struct terminal *terminal)
{
	ssize_t n;

	assert_int_equal(fcntl(terminal->master, F_SETFL, O_NONBLOCK), 0);
	n = read(terminal->master, terminal->text, sizeof(terminal->text) - 1);
	terminal->text[n > 0 ? n : 0] = '\0';
	return terminal->text;
}

static const struct rec_status first = { .raw_events = 3000,
					 .elapsed_ns = 2'000'000'000,
					 .pages_out = 1000,
					 .pages_in = 500,
					 .pool_bytes = 3 << 20,
					 .chunk_bytes = 2048 };

static void rates_are_of_the_time_since_the_last_line(void **state)
{
	struct terminal *terminal = *state;
	struct rec_status next = first;

	set_width(terminal, 132);
	assert_true(terminal->line.on);
	ui_status_update(&terminal->line, &first);
	assert_string_equal(written(terminal),
			    "\rrecording 0:02.000  1,500 events/s  out 500/s in 250/s  "
			    "pool 3.00 MiB  2.00 KiB written\033[K");
	next.elapsed_ns += 500'000'000;
	next.raw_events += 1000;
	next.pages_in += 1;
	ui_status_update(&terminal->line, &next);
	assert_non_null(strstr(written(terminal), "  2,000 events/s  out 0/s in 2/s  "));
}

static void a_line_is_never_as_wide_as_the_terminal(void **state)
{
	static const unsigned short widths[] = { 20, 40, 80 };
	struct terminal *terminal = *state;

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		const char *text;

		set_width(terminal, widths[i]);
		ui_status_update(&terminal->line, &first);
		text = written(terminal);
		assert_int_equal(text[0], '\r');
		assert_null(strchr(text, '\n'));
		assert_int_equal(strcspn(text + 1, "\033"), widths[i] - 1);
	}
}

static void lost_events_are_seen_in_a_narrow_terminal(void **state)
{
	struct terminal *terminal = *state;
	struct rec_status lossy = first;

	set_width(terminal, 40);
	ui_status_update(&terminal->line, &first);
	assert_null(strstr(written(terminal), "LOST"));
	lossy.lost = 12345;
	ui_status_update(&terminal->line, &lossy);
	assert_non_null(strstr(written(terminal), "LOST 12,345"));
}

static void the_line_is_taken_away_once(void **state)
{
	struct terminal *terminal = *state;

	set_width(terminal, 80);
	ui_status_clear(&terminal->line);
	assert_string_equal(written(terminal), "");
	ui_status_update(&terminal->line, &first);
	written(terminal);
	ui_status_clear(&terminal->line);
	assert_string_equal(written(terminal), "\r\033[K");
	ui_status_clear(&terminal->line);
	assert_string_equal(written(terminal), "");
}

static void what_is_no_terminal_stays_empty(void **state)
{
	FILE *out = tmpfile();
	struct ui_status line;

	(void)state;
	assert_non_null(out);
	line = ui_status_on(out);
	ui_status_update(&line, &first);
	ui_status_clear(&line);
	fflush(out);
	assert_int_equal(ftell(out), 0);
	fclose(out);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, open_terminal, close_terminal)
	const struct CMUnitTest tests[] = {
		TEST(rates_are_of_the_time_since_the_last_line),
		TEST(a_line_is_never_as_wide_as_the_terminal),
		TEST(lost_events_are_seen_in_a_narrow_terminal),
		TEST(the_line_is_taken_away_once),
		cmocka_unit_test(what_is_no_terminal_stays_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
