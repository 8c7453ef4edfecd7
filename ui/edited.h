/* SPDX-License-Identifier: MIT */
/* What a command that made a trace of traces says about it. */
#ifndef UI_EDITED_H
#define UI_EDITED_H

#include "db/db.h"

/* On standard output: one line, or a JSON object. */
void ui_edited_print(const struct db_edit_result *result, const char *output, bool as_json);

#endif
