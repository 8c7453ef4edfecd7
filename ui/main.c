/* SPDX-License-Identifier: MIT */
/* The entry of zreel. */
#include "ui/commands.h"

int main(int argc, char **argv)
{
	return ui_main(argc, argv);
}
