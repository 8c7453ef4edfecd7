/* SPDX-License-Identifier: MIT */
/* The error record of each thread; see err.h for the contract. */
#include "db/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_TEXT_BYTES = 1024 };

static _Thread_local char held_text[ERROR_TEXT_BYTES];

static const struct {
	const char *name;
	enum zr_class class;
} errors[] = {
#define X(name, class, text) [ZR_##name] = { #name, ZR_CLASS_##class },
	ZR_ERRORS(X)
#undef X
};

enum zr_err zr_fail(enum zr_err err, const char *fmt, ...)
{
	va_list ap;

	if (held_text[0])
		return err;
	va_start(ap, fmt);
	vsnprintf(held_text, sizeof(held_text), fmt, ap);
	va_end(ap);
	return err;
}

static enum zr_err from_errno(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return ZR_NOMEM;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return ZR_FULL;
	case EBUSY:
	case EAGAIN:
	case ETXTBSY:
		return ZR_BUSY;
	case ENOENT:
	case ENOTDIR:
		return ZR_NOT_FOUND;
	case EEXIST:
		return ZR_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return ZR_PERM;
	case ENOSYS:
	case EOPNOTSUPP:
		return ZR_UNSUPPORTED;
	case EINTR:
		return ZR_INTERRUPTED;
	default:
		return ZR_IO;
	}
}

enum zr_err zr_fail_errno(int errnum, const char *fmt, ...)
{
	va_list ap;
	int used;

	if (held_text[0])
		return from_errno(errnum);
	va_start(ap, fmt);
	used = vsnprintf(held_text, sizeof(held_text), fmt, ap);
	va_end(ap);
	if (used >= 0 && (size_t)used < sizeof(held_text))
		snprintf(held_text + used, sizeof(held_text) - (size_t)used, ": %s", strerror(errnum));
	return from_errno(errnum);
}

const char *zr_error_text(void)
{
	return held_text;
}

void zr_error_clear(void)
{
	held_text[0] = '\0';
}

const char *zr_err_name(enum zr_err err)
{
	return (size_t)err < sizeof(errors) / sizeof(errors[0]) ? errors[err].name : "UNKNOWN";
}

enum zr_class zr_err_class(enum zr_err err)
{
	return (size_t)err < sizeof(errors) / sizeof(errors[0]) ? errors[err].class : ZR_CLASS_FAILED;
}
