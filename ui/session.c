/* SPDX-License-Identifier: MIT */
/* Sessions, as in session.h. */
#include "ui/session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "zreel session 1";

/* Whatever a name holds, a line stays one. */
static void put_line(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s ", key);
	for (; *text; text++)
		fputc(*text == '\n' ? '?' : *text, out);
	fputc('\n', out);
}

static void put_session(const struct ui_dash *dash, FILE *out)
{
	const struct ui_view *view = dash->view;

	fprintf(out, "%s\n", head);
	put_line(out, "trace", dash->title);
	put_line(out, "trace-id", view->trace_id);
	fprintf(out, "clock %" PRIu64 "\nspeed %g\nselected %u\n", view->clock_ns,
		ui_dash_speed(dash), dash->selected + 1);
	for (uint32_t i = 0; i < view->n_lanes; i++)
		put_line(out, "lane", view->lanes[i].policy.text);
	for (uint32_t i = 0; i < dash->n_bookmarks; i++)
		fprintf(out, "bookmark %" PRIu64 "\n", dash->bookmarks[i]);
}

/* Anything else under that name is somebody's file. */
static enum zr_err check_replaceable(const char *path)
{
	char line[sizeof(head) + 1] = "";
	FILE *in = fopen(path, "r");
	bool is_session;

	if (!in)
		return ZR_OK;
	is_session = fgets(line, sizeof(line), in) && strncmp(line, head, sizeof(head) - 1) == 0;
	fclose(in);
	return is_session
		       ? ZR_OK
		       : zr_fail(ZR_EXISTS,
				 "'%s' is there and is not a session; choose another name", path);
}

enum zr_err ui_session_save(const struct ui_dash *dash, const char *path)
{
	enum zr_err err = check_replaceable(path);
	bool failed;
	FILE *out;

	if (err)
		return err;
	out = fopen(path, "w");
	if (!out)
		return zr_fail_errno(errno, "storing the session in '%s'", path);
	put_session(dash, out);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return zr_fail(ZR_IO, "storing the session in '%s': the file could not be written",
			       path);
	return ZR_OK;
}

/* -------------------------------------------------------------------------------------- reading */

static bool parse_number(const char *text, uint64_t *out)
{
	int used = 0;

	return text[0] != '-' && sscanf(text, "%" SCNu64 "%n", out, &used) == 1 &&
	       text[used] == '\0';
}

static bool parse_speed(const char *text, double *out)
{
	int used = 0;

	return sscanf(text, "%lf%n", out, &used) == 1 && text[used] == '\0' && isfinite(*out) &&
	       *out > 0;
}

static bool take_lane(struct ui_session *session, const char *text)
{
	struct sim_policy policy;

	if (session->n_lanes == PLAY_RACE_LANES || sim_policy_parse(text, &policy))
		return false;
	snprintf(session->lanes[session->n_lanes++], sizeof(session->lanes[0]), "%s", text);
	return true;
}

static bool take_bookmark(struct ui_session *session, const char *text)
{
	uint64_t time_ns;

	if (session->n_bookmarks == UI_BOOKMARKS || !parse_number(text, &time_ns) ||
	    (session->n_bookmarks && session->bookmarks[session->n_bookmarks - 1] >= time_ns))
		return false;
	session->bookmarks[session->n_bookmarks++] = time_ns;
	return true;
}

static bool take_selected(struct ui_session *session, const char *text)
{
	uint64_t n;

	if (!parse_number(text, &n) || n < 1 || n > PLAY_RACE_LANES)
		return false;
	session->selected = (uint32_t)n - 1;
	return true;
}

static bool copy_text(char *to, size_t bytes, const char *text)
{
	return snprintf(to, bytes, "%s", text) < (int)bytes;
}

static bool take_line(struct ui_session *session, const char *key, const char *text)
{
	if (strcmp(key, "trace") == 0)
		return copy_text(session->trace, sizeof(session->trace), text);
	if (strcmp(key, "trace-id") == 0)
		return copy_text(session->trace_id, sizeof(session->trace_id), text);
	if (strcmp(key, "clock") == 0)
		return parse_number(text, &session->clock_ns);
	if (strcmp(key, "speed") == 0)
		return parse_speed(text, &session->speed);
	if (strcmp(key, "selected") == 0)
		return take_selected(session, text);
	if (strcmp(key, "lane") == 0)
		return take_lane(session, text);
	return strcmp(key, "bookmark") == 0 && take_bookmark(session, text);
}

static enum zr_err read_lines(const char *path, FILE *in, struct ui_session *out)
{
	char line[UI_SESSION_LINE];
	unsigned n = 1;

	if (!fgets(line, sizeof(line), in) || strncmp(line, head, sizeof(head) - 1) != 0)
		return zr_fail(ZR_BAD_TEXT, "'%s' is not a session: it does not begin with '%s'",
			       path, head);
	while (fgets(line, sizeof(line), in)) {
		char *value = strchr(line, ' ');

		n++;
		line[strcspn(line, "\n")] = '\0';
		if (value)
			*value++ = '\0';
		zr_error_clear();
		if (!value || !take_line(out, line, value))
			return zr_fail(ZR_BAD_TEXT,
				       "'%s': line %u, '%.20s %.60s', is not understood", path, n,
				       line, value ? value : "");
	}
	return out->n_lanes ? ZR_OK : zr_fail(ZR_BAD_TEXT, "'%s': a session without lanes", path);
}

enum zr_err ui_session_read(const char *path, struct ui_session *out)
{
	FILE *in = fopen(path, "r");
	enum zr_err err;

	*out = (struct ui_session){ .speed = 1 };
	if (!in)
		return zr_fail_errno(errno, "reading the session '%s'", path);
	err = read_lines(path, in, out);
	fclose(in);
	return err;
}

static void order_lane(struct ui_dash *dash, enum ui_order_kind kind, uint32_t lane,
		       const char *policy)
{
	struct ui_order order = { .kind = kind, .lane = lane };

	snprintf(order.text, sizeof(order.text), "%s", policy);
	ui_dash_order(dash, &order);
}

static void apply_lanes(struct ui_dash *dash, const struct ui_session *session)
{
	const struct ui_view *view = dash->view;

	for (uint32_t i = 0; i < session->n_lanes; i++) {
		if (i >= view->n_lanes)
			order_lane(dash, UI_ORDER_ADD, 0, session->lanes[i]);
		else if (strcmp(session->lanes[i], view->lanes[i].policy.text) != 0)
			order_lane(dash, UI_ORDER_REPLACE, i, session->lanes[i]);
	}
	for (uint32_t i = view->n_lanes; i > session->n_lanes; i--)
		order_lane(dash, UI_ORDER_REMOVE, i - 1, "");
}

enum zr_err ui_session_apply(struct ui_dash *dash, const struct ui_session *session)
{
	if (strcmp(session->trace_id, dash->view->trace_id) != 0)
		return zr_fail(ZR_NO_DATA,
			       "the session is of another trace, '%.200s'; open it with "
			       "zreel ui --session",
			       session->trace);
	apply_lanes(dash, session);
	dash->selected = session->selected < session->n_lanes ? session->selected : 0;
	dash->n_bookmarks = session->n_bookmarks;
	memcpy(dash->bookmarks, session->bookmarks, sizeof(dash->bookmarks));
	dash->playing = false;
	ui_dash_set_speed(dash, session->speed);
	ui_dash_go(dash, session->clock_ns);
	return ZR_OK;
}
