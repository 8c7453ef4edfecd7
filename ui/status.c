/* SPDX-License-Identifier: MIT */
/* The line of status.h. */
#include "ui/status.h"

#include <string.h>
#include <unistd.h>

#include "ui/format.h"
#include "ui/stop.h"

struct ui_status ui_status_on(FILE *out)
{
	return (struct ui_status){ .out = out, .on = isatty(fileno(out)) != 0 };
}

static double rate(uint64_t now, uint64_t before, uint64_t elapsed_ns)
{
	return elapsed_ns && now > before ? (double)(now - before) * 1e9 / (double)elapsed_ns : 0;
}

/* What was lost comes first: it must be seen in a narrow terminal too. */
static void write_text(const struct rec_status *status, const struct rec_status *last, char *text,
		       size_t bytes)
{
	uint64_t ns = status->elapsed_ns - last->elapsed_ns;
	char lost[64] = "";

	if (status->lost)
		snprintf(lost, sizeof(lost), "LOST %s  ", ui_count(status->lost).text);
	snprintf(text, bytes, "recording %s  %s%s events/s  out %s/s in %s/s  pool %s  %s written",
		 ui_clock(status->elapsed_ns).text, lost,
		 ui_count((uint64_t)rate(status->raw_events, last->raw_events, ns)).text,
		 ui_count((uint64_t)rate(status->pages_out, last->pages_out, ns)).text,
		 ui_count((uint64_t)rate(status->pages_in, last->pages_in, ns)).text,
		 ui_bytes(status->pool_bytes).text, ui_bytes(status->chunk_bytes).text);
}

void ui_status_update(void *arg, const struct rec_status *status)
{
	struct ui_status *line = arg;
	char text[400];

	if (!line->on)
		return;
	write_text(status, &line->last, text, sizeof(text));
	/* A line that wraps could not be drawn over. */
	fprintf(line->out, "\r%.*s\033[K", ui_columns(fileno(line->out), 80) - 1, text);
	fflush(line->out);
	line->shown = true;
	line->last = *status;
}

void ui_status_clear(struct ui_status *line)
{
	if (line->shown) {
		fputs("\r\033[K", line->out);
		fflush(line->out);
	}
	line->shown = false;
}
