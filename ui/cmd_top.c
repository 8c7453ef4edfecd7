/* SPDX-License-Identifier: MIT */
/*
 * zreel top: the dashboard on the running host, without keeping a file.
 *
 *   this process: dashboard ──follows──> temporary file <──writes── child: recorder
 *
 * The recorder runs in a process of its own, so that its signals and its work do not meet the
 * dashboard's. What it says when it cannot go on comes through a pipe. When the dashboard ends, the
 * recorder is told to, undoes what it changed in the kernel, and the file is removed.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/dash_loop.h"
#include "ui/stop.h"
#include "ui/term.h"
#include "ui/text.h"

struct values {
	struct ui_list policies, cgroups;
	uint64_t ring_bytes, max_bytes;
	bool ascii;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "policy", 'p', UI_LIST, MEMBER(policies), "POLICY",
	  "a lane for this policy, up to six (as in replay)" },
	{ "cgroup", 'c', UI_LIST, MEMBER(cgroups), "PATH",
	  "watch this cgroup (several -c: several)" },
	{ "ring-size", 0, UI_BYTES, MEMBER(ring_bytes), "BYTES", "ring buffer of each CPU (8M)" },
	{ "max-size", 0, UI_BYTES, MEMBER(max_bytes), "BYTES",
	  "the temporary file grows to this, then no more events are taken (1G)" },
	{ "ascii", 0, UI_FLAG, MEMBER(ascii), NULL,
	  "draw with ASCII only; the rule in locales without UTF-8" },
	{ 0 },
};

enum { MAX_BYTES = 1 << 30, POLL_US = 20'000 };

struct session {
	char dir[256], path[300];
	pid_t recorder;
	int words; /* what the recorder says when it fails */
};

/* The first thing that stands in the way, in the doctor's words. */
static enum zr_err refuse(const struct rec_doctor *doctor)
{
	for (uint32_t i = 0; i < doctor->n_checks; i++) {
		const struct rec_doctor_check *check = &doctor->checks[i];

		if (!check->ok && check->advice[0])
			return zr_fail(ZR_UNSUPPORTED, "this host cannot be recorded: %s: %s; %s",
				       check->name, check->found, check->advice);
	}
	for (uint32_t i = 0; i < doctor->n_events; i++)
		if (!doctor->events[i].ok && doctor->events[i].vital)
			return zr_fail(ZR_UNSUPPORTED, "this host cannot be recorded: %s: %s",
				       doctor->events[i].event, doctor->events[i].why);
	return zr_fail(ZR_UNSUPPORTED, "this host cannot be recorded; `zreel doctor` tells more");
}

static enum zr_err see_doctor(struct zr_arena *arena)
{
	const struct rec_doctor_roots roots = { 0 };
	struct rec_doctor *doctor = zr_arena_alloc(arena, sizeof(*doctor));
	enum zr_err err;

	if (!doctor)
		return zr_fail(ZR_NOMEM, "looking at this host: out of memory");
	err = rec_doctor(&roots, doctor);
	if (err || doctor->can_record)
		return err;
	return refuse(doctor);
}

static enum zr_err make_place(struct session *session)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(session->dir, sizeof(session->dir), "%s/zreel-top-XXXXXX",
		 tmp && tmp[0] ? tmp : "/tmp");
	if (!mkdtemp(session->dir))
		return zr_fail_errno(errno, "making a folder for the recording: '%s'",
				     session->dir);
	snprintf(session->path, sizeof(session->path), "%s/live.zr", session->dir);
	return ZR_OK;
}

static void remove_place(const struct session *session)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	char path[320];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", session->path, suffixes[i]);
		unlink(path);
	}
	rmdir(session->dir);
}

/* In the child. Ctrl-C is the dashboard's: the terminal sends it to both. */
static void record(const struct session *session, const struct values *values, int words)
{
	const struct rec_options how = {
		.output = session->path,
		.cgroups = values->cgroups.items,
		.n_cgroups = values->cgroups.n,
		.ring_bytes = values->ring_bytes,
		.max_bytes = values->max_bytes ? values->max_bytes : MAX_BYTES,
		.stop = ui_stop_catch(),
	};
	struct rec_result result;
	enum zr_err err;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_IGN);
	setpgid(0, 0);
	err = rec_record(&how, &result);
	if (err) {
		const char *text = zr_error_text();

		if (write(words, text, strlen(text)) < 0)
			_exit(1);
	}
	_exit(err ? 1 : 0);
}

static enum zr_err start_recorder(struct session *session, const struct values *values)
{
	int ends[2];

	if (pipe(ends) != 0)
		return zr_fail_errno(errno, "making a pipe to the recorder");
	fflush(NULL);
	session->recorder = fork();
	if (session->recorder == 0) {
		close(ends[0]);
		record(session, values, ends[1]);
	}
	close(ends[1]);
	session->words = ends[0];
	if (session->recorder < 0) {
		close(ends[0]);
		return zr_fail_errno(errno, "starting the recorder");
	}
	return ZR_OK;
}

static enum zr_err told_by(const struct session *session)
{
	char text[512];
	ssize_t n = read(session->words, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return zr_fail(ZR_CHILD, "the recorder has ended: %s",
		       text[0] ? text : "it did not say why");
}

/* Until there is a file to look at; probing a kernel takes a moment. */
static enum zr_err wait_for_file(struct session *session)
{
	while (access(session->path, R_OK) != 0) {
		int status;

		if (waitpid(session->recorder, &status, WNOHANG) == session->recorder) {
			session->recorder = 0;
			return told_by(session);
		}
		usleep(POLL_US);
	}
	return ZR_OK;
}

/* Its own error matters only if the dashboard had none. */
static enum zr_err end_recorder(const struct session *session)
{
	int status = 0;

	if (session->recorder <= 0)
		return ZR_OK;
	kill(session->recorder, SIGTERM);
	while (waitpid(session->recorder, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ZR_OK : told_by(session);
}

static enum zr_err watch(const struct session *session, const struct ui_call *call)
{
	static const char *const default_policies[] = { "unbatched", "batched", "plugged" };
	const struct values *values = call->values;
	struct ui_pilot_setting setting = { .path = session->path,
					    .runs = "zreel-top.runs.zr",
					    .policies = default_policies,
					    .n_policies = 3,
					    .follow = true };
	struct ui_dash *dash = zr_arena_alloc(call->arena, sizeof(*dash));
	enum zr_err err;

	if (!dash)
		return zr_fail(ZR_NOMEM, "starting the dashboard: out of memory");
	if (values->policies.n) {
		setting.policies = values->policies.items;
		setting.n_policies = values->policies.n;
	}
	err = ui_dash_init(dash, &setting);
	dash->ascii = values->ascii || ui_locale_is_ascii();
	dash->title = "this host";
	if (!err)
		err = ui_dash_loop(dash);
	ui_dash_fini(dash);
	return err;
}

static enum zr_err check(const struct ui_call *call)
{
	const struct values *values = call->values;

	if (values->policies.n > PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "%u policies were given; the dashboard has %d lanes",
			       values->policies.n, PLAY_RACE_LANES);
	for (uint32_t i = 0; i < values->policies.n; i++) {
		struct sim_policy policy;
		enum zr_err err = sim_policy_parse(values->policies.items[i], &policy);

		if (err)
			return err;
	}
	return see_doctor(call->arena);
}

static enum zr_err run(const struct ui_call *call)
{
	struct session session = { .words = -1 };
	enum zr_err err = check(call), ended;

	if (!err)
		err = ui_term_check();
	if (!err)
		err = make_place(&session);
	if (err)
		return err;
	err = start_recorder(&session, call->values);
	if (!err)
		err = wait_for_file(&session);
	if (!err)
		err = watch(&session, call);
	ended = end_recorder(&session);
	if (session.words >= 0)
		close(session.words);
	remove_place(&session);
	return err ? err : ended;
}

const struct ui_command ui_cmd_top = {
	.name = "top",
	.summary = "the dashboard on the running host, without keeping a file",
	.operands = "",
	.about = "Records this host's swap traffic into a temporary file and shows it as `zreel ui "
		 "--follow` does: the\n"
		 "model runs alongside, under two or more policies, on what really happens. Needs "
		 "what `zreel\n"
		 "record` needs (`zreel doctor`). The file is removed at the end.",
	.example = "  zreel top\n"
		   "  zreel top --cgroup /build -p batched -p batched+pool=10%",
	.options = options,
	.values_bytes = sizeof(struct values),
	.run = run,
};
