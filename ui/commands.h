/* SPDX-License-Identifier: MIT */
/* The subcommands of zreel and the way into them. Each ui/cmd_*.c defines one row of the table. */
#ifndef UI_COMMANDS_H
#define UI_COMMANDS_H

#include "ui/options.h"

#define UI_VERSION "0.1"

extern const struct ui_command ui_cmd_record, ui_cmd_import, ui_cmd_info, ui_cmd_dump, ui_cmd_replay,
	ui_cmd_compare, ui_cmd_ui, ui_cmd_top, ui_cmd_cut, ui_cmd_merge, ui_cmd_verify, ui_cmd_sql,
	ui_cmd_explain, ui_cmd_sweep, ui_cmd_doctor, ui_cmd_report, ui_cmd_completion, ui_cmd_gen, ui_cmd_calibrate;

/* All of them, ended by NULL. */
const struct ui_command *const *ui_command_table(void);

/* The whole program: returns the exit status. */
int ui_main(int argc, char **argv);

#endif
