#!/usr/bin/env python3
"""What the dashboard costs: processor time of its drawing thread at ten frames a second, and the time from a key to
the screen while the worker is as busy as it can be. Figures for ui/BENCH.md; no test.

usage: redraw.py ZREEL TRACE WxH SECONDS

Six lanes play in a terminal of that size. Then they play as fast as they go, from the start again and again, and the
help is opened thirty times.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

LANES = ["unbatched", "batched", "plugged", "shrink-off", "hysteresis", "batched+pool=10%"]
PRESSES, WAIT_S = 30, 5


def start(zreel, trace, w, h):
    lanes = [word for lane in LANES for word in ("-p", lane)]
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        # The size is there before the program asks for it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", h, w, 0, 0))
        os.execv(zreel, [zreel, "ui", trace] + lanes)
    return pid, fd


def read_for(fd, seconds, until=None):
    """What was written, and when `until` was among it."""
    end, out = time.monotonic() + seconds, b""
    while (left := end - time.monotonic()) > 0:
        if select.select([fd], [], [], left)[0]:
            out += os.read(fd, 65536)
            if until and until in out:
                return out, time.monotonic()
    return out, None


def cpu_ns(pid):
    """By thread; the main one draws."""
    return {int(task): int(open(f"/proc/{pid}/task/{task}/schedstat").read().split()[0])
            for task in os.listdir(f"/proc/{pid}/task")}


def drawing(pid, fd, seconds):
    before, begin = cpu_ns(pid), time.monotonic()
    out, _ = read_for(fd, seconds)
    after, took = cpu_ns(pid), time.monotonic() - begin
    drawn = (after[pid] - before[pid]) / 1e9
    worked = sum(after[task] - before.get(task, 0) for task in after if task != pid) / 1e9
    print(f"drawing: {100 * drawn / took:.2f}% of a core, worker {100 * worked / took:.1f}%, "
          f"{len(out) / took / 1024:.1f} KiB/s to the terminal")


def reaction(fd):
    took = []
    for i in range(PRESSES):
        if i % 5 == 0:
            for key in (b"\x1b[H", b"*"):
                os.write(fd, key)
                read_for(fd, 0.1)
        begin = time.monotonic()
        os.write(fd, b"?")
        _, seen = read_for(fd, WAIT_S, b"mouse")
        took.append((seen - begin if seen else WAIT_S) * 1000)
        os.write(fd, b" ")
        read_for(fd, 0.15)
    took.sort()
    print(f"from a key to the screen: median {took[PRESSES // 2]:.1f} ms, longest {took[-1]:.1f} ms")


def main():
    zreel, trace, size, seconds = sys.argv[1:]
    w, h = map(int, size.split("x"))
    pid, fd = start(zreel, trace, w, h)
    read_for(fd, 2)
    drawing(pid, fd, float(seconds))
    reaction(fd)
    os.write(fd, b"q")
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass  # so a terminal ends
    os.waitpid(pid, 0)


main()
