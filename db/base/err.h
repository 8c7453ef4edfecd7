/* SPDX-License-Identifier: MIT */
/*
 * Errors: one type for the whole project.
 *
 * A function that can fail returns `enum zr_err`; 0 is success and the result leaves through the
 * last out-parameter. The sentence that a user will read is kept in a record of the thread, filled by
 * zr_fail() where the failure is seen. The first failure wins: while a record is held, later zr_fail()
 * calls on the way up keep it, so that the cause is told and not its consequence. Whoever handles an
 * error instead of passing it on calls zr_error_clear().
 *
 * A message says what was being done, to which object, what was found, and what to try.
 */
#ifndef ZR_BASE_ERR_H
#define ZR_BASE_ERR_H

#include <stddef.h>

/* Classes are the exit statuses of the commands (DESIGN: 0 done, 1 failed, 2 usage, 3 input, 4 denied). */
enum zr_class {
	ZR_CLASS_OK = 0,
	ZR_CLASS_FAILED = 1,
	ZR_CLASS_USAGE = 2,
	ZR_CLASS_INPUT = 3,
	ZR_CLASS_DENIED = 4,
};

/* name, class, what it is in general */
#define ZR_ERRORS(X)                                                                               \
	X(OK, OK, "no error")                                                                      \
	X(NOMEM, FAILED, "out of memory")                                                          \
	X(IO, FAILED, "input or output failed")                                                    \
	X(FULL, FAILED, "no space left")                                                           \
	X(BUSY, FAILED, "in use by somebody else")                                                 \
	X(DB, FAILED, "the database reported an error")                                            \
	X(CHILD, FAILED, "the traced command failed")                                              \
	X(INTERRUPTED, FAILED, "interrupted")                                                      \
	X(LIMIT, FAILED, "a limit of the format was reached")                                      \
	X(USAGE, USAGE, "wrong usage")                                                             \
	X(BAD_POLICY, USAGE, "not a policy")                                                       \
	X(NOT_FOUND, INPUT, "no such file")                                                        \
	X(EXISTS, INPUT, "already there")                                                          \
	X(NOT_A_TRACE, INPUT, "not a zreel trace")                                                 \
	X(NEWER_VERSION, INPUT, "written by a newer zreel")                                        \
	X(CORRUPT, INPUT, "damaged data")                                                          \
	X(BAD_TEXT, INPUT, "text not understood")                                                  \
	X(NO_DATA, INPUT, "nothing there to work on")                                              \
	X(PERM, DENIED, "not permitted")                                                           \
	X(UNSUPPORTED, DENIED, "not supported here")

enum [[nodiscard]] zr_err {
#define X(name, class, text) ZR_##name,
	ZR_ERRORS(X)
#undef X
};

/* Keeps the sentence (unless one is held already) and returns `err`. `err` must not be ZR_OK. */
enum zr_err zr_fail(enum zr_err err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for a failed system call: appends ": " and the text of `errnum`, and picks the error from it. */
enum zr_err zr_fail_errno(int errnum, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The held sentence, "" if none. Valid until the next zr_fail() or zr_error_clear() of this thread. */
const char *zr_error_text(void);

/* Forgets the held sentence: the error was dealt with. */
void zr_error_clear(void);

const char *zr_err_name(enum zr_err err);
enum zr_class zr_err_class(enum zr_err err);

#endif
