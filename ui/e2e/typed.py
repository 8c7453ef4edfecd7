#!/usr/bin/env python3
"""Types a command line into an interactive shell on a terminal, ends it with Tab, and prints what it became.

usage: typed.py bash|zsh SCRIPT FOLDER LINE

The completed line is not run: `printf` is put in front of it, which prints its words, each in brackets. Keys are
read by the shell one after the other, so nothing has to be waited for.
"""
import os
import pty
import re
import select
import sys

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1=; bind 'set bell-style none'; source '{}'\n"),
    "zsh": (["zsh", "-f", "-i"], "PS1=; bindkey -e; unsetopt beep; autoload -U compinit; compinit -u -D; source '{}'\n"),
}
DEADLINE_S = 60


def main(shell, script, folder, line):
    command, setup = SHELLS[shell]
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb" if shell == "bash" else "vt100", HOME=folder, HISTFILE="/dev/null")
        os.execvp(command[0], command)
    seen = b""

    def read_until(what):
        nonlocal seen
        while what not in seen:
            if not select.select([fd], [], [], DEADLINE_S)[0]:
                sys.exit(f"{shell} does not answer: {seen!r}")
            try:
                got = os.read(fd, 65536)
            except OSError:
                sys.exit(f"{shell} has ended: {seen!r}")
            seen += got

    # Two quotes, so that the echo of the line is not taken for its output.
    os.write(fd, setup.format(script).encode() + b"echo REA''DY\n")
    read_until(b"READY")
    seen = b""
    os.write(fd, line.encode() + b"\t\x01printf '[%s]' \x05 E''ND\n")
    read_until(b"[END]")
    os.write(fd, b"exit\n")
    os.waitpid(pid, 0)
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen).decode()
    print(re.search(r"((\[[^\[\]]*\])+)\[END\]", text).group(1))


if __name__ == "__main__":
    main(*sys.argv[1:])
