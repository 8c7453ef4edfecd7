/* SPDX-License-Identifier: MIT */
/*
 * trace.dat files, through libtracecmd.
 *
 * The library trusts its input. So it runs in a process of its own, which sends records through a
 * pipe and may die: then the file is refused, and with it goes whatever the library did. What it
 * prints (warnings about things that it does not know) is caught and kept as a note.
 *
 *   child: libtracecmd, all CPUs and buffers by time ──> messages of 64 bytes ──> parent:
 * rec_import_add
 */
#include "recorder/import_dat.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <trace-cmd.h>
#include <unistd.h>

#include "recorder/import.h"
#include "recorder/import_event.h"

enum { BUFFERS_MAX = 64, MESSAGES = 512 };

enum message_kind { MESSAGE_RAW, MESSAGE_SKIP, MESSAGE_LOAD_ERRNO, MESSAGE_END, MESSAGE_REFUSED };

struct message {
	uint32_t kind;
	int32_t value; /* SKIP: enum rec_skip; LOAD_ERRNO: the answer */
	union {
		struct rec_raw raw;
		char text[sizeof(struct rec_raw)]; /* SKIP: the event's name */
	};
};

/* ------------------------------------------------------------------------------------ the child */

struct child {
	struct rec_events *events;
	int pipe;
	size_t n;
	struct message messages[MESSAGES];
};

static void send_all(struct child *child)
{
	const char *at = (const char *)child->messages;
	size_t left = child->n * sizeof(struct message);

	while (left) {
		ssize_t n = write(child->pipe, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* the parent has gone */
			_exit(0);
		at += n;
		left -= (size_t)n;
	}
	child->n = 0;
}

static struct message *message(struct child *child, enum message_kind kind, int32_t value)
{
	struct message *next;

	if (child->n == MESSAGES)
		send_all(child);
	next = &child->messages[child->n++];
	memset(next, 0, sizeof(*next));
	next->kind = kind;
	next->value = value;
	return next;
}

static void send_skip(struct child *child, struct tracecmd_input *handle,
		      const struct tep_record *record, enum rec_line found)
{
	static const enum rec_skip why[] = { [REC_LINE_OTHER] = REC_SKIP_OTHER_EVENT,
					     [REC_LINE_LACKS] = REC_SKIP_LACKS_FIELD,
					     [REC_LINE_UNKNOWN] = REC_SKIP_UNKNOWN };
	struct message *skip = message(child, MESSAGE_SKIP, (int32_t)why[found]);
	struct tep_event *event =
		tep_find_event_by_record(tracecmd_get_tep(handle), (struct tep_record *)record);

	snprintf(skip->text, sizeof(skip->text), "%s", event ? event->name : "an unknown event");
}

static void send_lost(struct child *child, const struct tep_record *record)
{
	uint32_t lost = record->missed_events > 0 ? (uint32_t)record->missed_events : 1;

	message(child, MESSAGE_RAW, 0)->raw = (struct rec_raw){ .type = REC_LOST,
								.order = DB_GAP_RING,
								.time_ns = record->ts,
								.cpu = (uint16_t)record->cpu,
								.len = lost };
}

static int on_record(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *arg)
{
	struct child *child = arg;
	struct rec_raw raw;
	enum rec_line found;

	if (record->missed_events)
		send_lost(child, record);
	found = rec_events_decode(child->events, record->data,
				  record->size > 0 ? (size_t)record->size : 0, &raw);
	if (found == REC_LINE_COMMENT)
		return 0;
	if (found != REC_LINE_EVENT) {
		send_skip(child, handle, record, found);
		return 0;
	}
	raw.time_ns = record->ts;
	raw.cpu = (uint16_t)cpu;
	message(child, MESSAGE_RAW, 0)->raw = raw;
	return 0;
}

static bool read_events(struct child *child, struct tracecmd_input *handle)
{
	struct tracecmd_input *handles[BUFFERS_MAX] = { handle };
	int n = tracecmd_buffer_instances(handle), used = 1;

	for (int i = 0; i < n && used < BUFFERS_MAX; i++) {
		handles[used] = tracecmd_buffer_instance_handle(handle, i);
		used += handles[used] != NULL;
	}
	return tracecmd_iterate_events_multi(handles, used, on_record, child) == 0;
}

/* A damaged file must not make the library take all memory: the size of the file and 4 GiB are
 * enough. */
static void limit_memory(int fd)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;
	struct stat st;
	rlim_t limit;

	if (statm && fscanf(statm, "%llu", &pages) != 1)
		pages = 0;
	if (statm)
		fclose(statm);
	if (!pages || fstat(fd, &st) != 0)
		return;
	limit = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)st.st_size + (UINT64_C(4) << 30);
	setrlimit(RLIMIT_AS, &(struct rlimit){ limit, limit });
}

static _Noreturn void run_child(const struct rec_import *import, int fd, int pipe, int output)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	struct child child = { .pipe = pipe };
	struct tracecmd_input *handle;
	int answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		signal(deadly[i], SIG_DFL); /* the parent's handlers are not for this process */
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	limit_memory(fd);
	lseek(fd, 0, SEEK_SET);
	handle = tracecmd_open_fd(dup(fd), TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle || rec_events_new(&import->dialect, &child.events) ||
	    rec_events_add_tep(child.events, tracecmd_get_tep(handle))) {
		message(&child, MESSAGE_REFUSED, 0);
		send_all(&child);
		_exit(0);
	}
	answer = rec_events_load_errno(child.events);
	if (answer >= 0)
		message(&child, MESSAGE_LOAD_ERRNO, answer);
	message(&child, read_events(&child, handle) ? MESSAGE_END : MESSAGE_REFUSED, 0);
	send_all(&child);
	fflush(NULL);
	_exit(0);
}

/* ----------------------------------------------------------------------------------- the parent */

struct reader {
	struct rec_import *import;
	int pipe, output;
	pid_t pid;
	bool ended, refused;
};

static enum zr_err take_message(struct reader *reader, const struct message *message)
{
	struct rec_import *import = reader->import;
	char text[sizeof(message->text) + 1] = "";

	switch ((enum message_kind)message->kind) {
	case MESSAGE_RAW:
		return rec_import_add(import, &message->raw);
	case MESSAGE_SKIP:
		memcpy(text, message->text, sizeof(message->text));
		rec_import_skip(import, (enum rec_skip)message->value, text);
		break;
	case MESSAGE_LOAD_ERRNO:
		if (import->load_ret_is_errno == REC_NOT_SAID)
			import->load_ret_is_errno = message->value ? REC_YES : REC_NO;
		break;
	case MESSAGE_END:
		reader->ended = true;
		break;
	case MESSAGE_REFUSED:
		reader->refused = true;
		break;
	}
	return ZR_OK;
}

/* The next message; false at the end of the pipe or when the user wants an end. */
static bool next_message(struct reader *reader, struct message *message)
{
	size_t n = 0;

	while (n < sizeof(*message)) {
		ssize_t got = read(reader->pipe, (char *)message + n, sizeof(*message) - n);

		if (got < 0 && errno == EINTR && !reader->import->stop) {
			rec_import_ask(reader->import);
			continue;
		}
		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

static enum zr_err take_messages(struct reader *reader)
{
	struct message message;
	enum zr_err err = ZR_OK;

	while (!err && next_message(reader, &message)) {
		err = take_message(reader, &message);
		if (message.kind <= MESSAGE_SKIP && !rec_import_go_on(reader->import, -1))
			break;
	}
	return err;
}

/* The first line that the library printed. */
static void take_note(struct reader *reader)
{
	char *note = reader->import->result->note, text[160];
	size_t used = strlen(note);
	ssize_t n = pread(reader->output, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return;
	text[n] = '\0';
	for (char *at = text; *at; at++)
		if (*at == '\n' || *at == '\t')
			*at = ' ';
	snprintf(note + used, sizeof(reader->import->result->note) - used,
		 "%strace-cmd's library says: %.150s", used ? "; " : "", text);
}

static enum zr_err judge(struct reader *reader, int status)
{
	const char *path = rec_input_name(reader->import->input);
	const char *note = reader->import->result->note;

	if (reader->import->stop || reader->ended)
		return ZR_OK;
	if (WIFSIGNALED(status))
		return zr_fail(ZR_CORRUPT,
			       "importing %s: trace-cmd's library died of signal %d (%s) on it: "
			       "the file is "
			       "damaged. %s",
			       path, WTERMSIG(status), strsignal(WTERMSIG(status)), note);
	return zr_fail(ZR_CORRUPT, "importing %s: trace-cmd's library cannot read it. %s", path,
		       note);
}

static enum zr_err read_child(struct reader *reader)
{
	enum zr_err err = take_messages(reader), judged;
	int status = 0;

	close(reader->pipe);
	if (err || reader->import->stop)
		kill(reader->pid, SIGKILL);
	while (waitpid(reader->pid, &status, 0) < 0 && errno == EINTR)
		;
	take_note(reader);
	judged = err ? err : judge(reader, status);
	return judged;
}

static enum zr_err start_child(struct rec_import *import, struct reader *reader, int fd)
{
	int ends[2];

	if (pipe(ends) != 0)
		return zr_fail_errno(errno, "making a pipe to read %s",
				     rec_input_name(import->input));
	reader->pid = fork();
	if (reader->pid == 0) {
		close(ends[0]);
		run_child(import, fd, ends[1], reader->output);
	}
	close(ends[1]);
	reader->pipe = ends[0];
	if (reader->pid > 0)
		return ZR_OK;
	close(ends[0]);
	return zr_fail_errno(errno, "starting a process to read %s", rec_input_name(import->input));
}

static enum zr_err put_head(struct rec_import *import, const struct rec_dat_head *head)
{
	char text[16];
	enum zr_err err = ZR_OK;

	snprintf(import->result->format, sizeof(import->result->format), "trace.dat-v%u",
		 head->version);
	if (head->unknown[0])
		snprintf(import->result->note, sizeof(import->result->note),
			 "the file has options that are not known here and were left out: %s",
			 head->unknown);
	snprintf(text, sizeof(text), "%u", head->page_size);
	if (!import->options->page_size)
		err = rec_import_env(import, DB_ENV_PAGE_SIZE, text, "file");
	if (!err && head->clock[0])
		err = rec_import_env(import, DB_ENV_CLOCK, head->clock, "file");
	if (!err && head->kernel[0])
		err = rec_import_kernel(import, head->kernel, "file");
	return err;
}

enum zr_err rec_import_dat(struct rec_import *import)
{
	struct reader reader = { .import = import };
	const char *path = rec_input_name(import->input);
	int fd = rec_input_seekable(import->input);
	struct rec_dat_head head;
	enum zr_err err;

	if (fd < 0)
		return zr_fail(
			ZR_UNSUPPORTED,
			"importing %s: a trace.dat file is read at several places, so it must be a "
			"plain file, not a pipe and not compressed as a whole",
			path);
	err = rec_dat_head(fd, path, &head);
	if (!err)
		err = put_head(import, &head);
	if (err)
		return err;
	reader.output = memfd_create("import", MFD_CLOEXEC);
	if (reader.output < 0)
		return zr_fail_errno(errno, "making a place for messages about %s", path);
	err = start_child(import, &reader, fd);
	if (!err)
		err = read_child(&reader);
	close(reader.output);
	return err;
}
