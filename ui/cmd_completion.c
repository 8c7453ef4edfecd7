/* SPDX-License-Identifier: MIT */
/* zreel completion: the scripts with which shells complete command lines, and what these scripts ask for. */
#include <string.h>

#include "ui/commands.h"
#include "ui/completion.h"

static const struct {
	const char *shell, *script;
} scripts[] = {
	{ "bash",
#include "ui/completion.bash.h"
	},
	{ "zsh",
#include "ui/completion.zsh.h"
	},
	{ "fish",
#include "ui/completion.fish.h"
	},
};

static const struct ui_option options[] = { { 0 } };

static enum zr_err run(const struct ui_call *call)
{
	const char *word = call->operands[0];

	if (strcmp(word, "words") == 0) {
		ui_complete(ui_command_table(), call->operands + 1, call->n_operands - 1, stdout);
		return ZR_OK;
	}
	if (call->n_operands > 1)
		return zr_fail(ZR_USAGE, "'%s' is one argument too many; usage: zreel completion bash|zsh|fish",
			       call->operands[1]);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (strcmp(word, scripts[i].shell) == 0) {
			fputs(scripts[i].script, stdout);
			return ZR_OK;
		}
	return zr_fail(ZR_USAGE, "there is no completion for '%s'; it takes bash, zsh or fish", word);
}

const struct ui_command ui_cmd_completion = {
	.name = "completion",
	.summary = "print the script with which a shell completes zreel's words",
	.operands = "bash|zsh|fish",
	.about =
		"Prints a script for a shell that completes commands, options, policies, knobs, metrics and names\n"
		"of files. An installed zreel has them in their places already.",
	.example = "  source <(zreel completion bash)\n"
		   "  zreel completion fish > ~/.config/fish/completions/zreel.fish",
	.options = options,
	.operand_words = "bash|zsh|fish",
	.values_bytes = 1,
	.min_operands = 1,
	.max_operands = -1,
	.passes_command = true,
	.run = run,
};
