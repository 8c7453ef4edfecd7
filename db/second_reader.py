#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of trace files, written from zreel-trace(5) alone: it shares no code with the library
and exists to show that the page says enough. Prints each event as a line,

    host,time_ns,kind,area,slot,order,memcg,task,len,flags

Usage: second_reader.py FILE.zr        all events, by host and time
       second_reader.py --chunk FILE   the events of one chunk, as bytes in a file (host 0)
"""

import ctypes
import ctypes.util
import sqlite3
import struct
import sys
from collections import defaultdict

KINDS = ["OUT", "IN", "FREE", "WB", "RECLAIM", "SCAN", "WORKER", "SHRINK", "IO", "SAMPLE", "GAP"]
OUTCOMES = [4, 4, 1, 5, 1, 2, 1, 3, None, 1, 4]
OUT, IN, FREE, WB, IO = 0, 1, 2, 3, 8
HAVE_SLOTS = (OUT, IN, FREE, WB, IO)
COLUMNS = [  # name, group, width
    ("kind", 0, 1), ("area", 0, 1), ("order", 0, 1), ("flags", 0, 1), ("memcg", 0, 2), ("task", 0, 4),
    ("time", 1, 8), ("slot", 2, 4), ("len", 2, 2),
]


class Invalid(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Invalid(text)


def load_zstd():
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    zstd.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return zstd


ZSTD = load_zstd()


def decompress(frame, size):
    buffer = ctypes.create_string_buffer(size)
    got = ZSTD.ZSTD_decompress(buffer, size, frame, len(frame))
    need(not ZSTD.ZSTD_isError(got) and got == size, "a frame does not decompress")
    return buffer.raw


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def read_columns(chunk, n):
    """The columns as lists of n numbers, as they are stored."""
    masks = chunk[48:57]
    columns, at = {}, 64
    for group in range(3):
        size, frame = struct.unpack_from("<II", chunk, 24 + 8 * group)
        mine = [i for i, column in enumerate(COLUMNS) if column[1] == group]
        need(all(masks[i] >> COLUMNS[i][2] == 0 for i in mine), "a mask has a bit too many")
        need(size == n * sum(bin(masks[i]).count("1") for i in mine), "a group has a wrong size")
        need((size == 0) == (frame == 0) and at + frame <= len(chunk), "a frame has a wrong size")
        planes = decompress(chunk[at : at + frame], size) if size else b""
        at += frame
        for i in mine:
            values = [0] * n
            for p in range(COLUMNS[i][2]):
                if masks[i] >> p & 1:
                    values = [v | byte << 8 * p for v, byte in zip(values, planes[:n])]
                    planes = planes[n:]
            columns[COLUMNS[i][0]] = values
    need(at == len(chunk), "bytes after the last frame")
    return columns


def check_event(kind, flags, order):
    need(kind < len(KINDS), "unknown kind %d" % kind)
    if kind == IO:
        valid = flags & 3 <= 2 and flags >> 2 & 7 <= 2 and not flags & 0x60
    else:
        allowed = {OUT: 0x78, IN: 0x40}.get(kind, 0)
        valid = flags & 7 < OUTCOMES[kind] and not flags & 0x78 & ~allowed
        valid = valid and (kind != OUT or (flags >> 3 & 7) <= 6 and order <= 16)
    need(valid, "%s with flags 0x%02x, order %d" % (KINDS[kind], flags, order))


def next_slot(kind, slot, length):
    if kind in (OUT, IN, WB):
        return slot + 1
    if kind == FREE:
        return slot + (length or 1)
    if kind == IO:
        return slot + (length + 7) // 8
    return slot


def decode_chunk(chunk):
    """A list of (time, kind, area, slot, order, memcg, task, len, flags)."""
    need(len(chunk) >= 64 and chunk[:4] == b"ZRCK", "not a chunk")
    need(crc32c(chunk[8:]) == struct.unpack_from("<I", chunk, 4)[0], "wrong checksum")
    version, zero, n, time, zeros, unit = struct.unpack_from("<HHIQ33x3sI", chunk, 8)
    need(version == 1 and zero == 0 and zeros == bytes(3), "not chunk version 1")
    need(1 <= n <= 65536 and 1 <= unit <= 10**9, "impossible numbers in the header")
    columns = read_columns(chunk, n)

    # Where each event's values are: the order of kinds is a stable sort.
    place = [0] * n
    for at, event in enumerate(sorted(range(n), key=columns["kind"].__getitem__)):
        place[event] = at
    expected = defaultdict(int)
    events = []
    for i, kind in enumerate(columns["kind"]):
        at = place[i]
        area, order, flags, memcg, task, delta, zigzag, length = (
            columns[name][at] for name in ("area", "order", "flags", "memcg", "task", "time", "slot", "len")
        )
        check_event(kind, flags, order)
        before, time = time, (time + delta * unit) % 2**64
        need(time >= before, "times descend")
        difference = -(zigzag + 1) // 2 if zigzag & 1 else zigzag // 2
        slot = (expected[kind, task % 64] + difference) % 2**32
        expected[kind, task % 64] = next_slot(kind, slot, length)
        events.append((time, kind, area, slot, order, memcg, task, length, flags))
    return events


def slots_of(kind, slot, order, length, flags):
    last = slot
    if kind == OUT and not flags & 0x40:
        last = slot + 2**order - 1
    elif kind == FREE:
        last = slot + (length or 1) - 1
    elif kind == IO:
        last = slot + length // 8
    return slot, min(last, 2**32 - 1)


def row_of(events):
    """What the row of a chunk has to say: first_ns, last_ns, events, kinds, slot_min, slot_max, memcgs."""
    kinds = memcgs = 0
    low, high = 2**32 - 1, 0
    for _, kind, _, slot, order, memcg, _, length, flags in events:
        kinds |= 1 << kind
        memcgs |= 1 << memcg % 64
        if kind in HAVE_SLOTS:
            first, last = slots_of(kind, slot, order, length, flags)
            low, high = min(low, first), max(high, last)
    return [events[0][0], events[-1][0], len(events), kinds, low, high, memcgs]


def open_trace(path):
    with open(path, "rb") as file:
        head = file.read(100)
    need(head[:16] == b"SQLite format 3\0" and head[68:72] == b"zrel", "not a trace")
    need(struct.unpack_from(">I", head, 60)[0] == 1, "not version 1")
    return sqlite3.connect("file:%s?mode=ro" % path.replace("?", "%3f").replace("#", "%23"), uri=True)


def read_trace(path):
    last = None
    rows = open_trace(path).execute(
        "SELECT host, data, first_ns, last_ns, events, kinds, slot_min, slot_max, memcgs FROM chunk "
        "ORDER BY host, first_ns, id"
    )
    for host, data, *row in rows:
        events = decode_chunk(data)
        row[6] %= 2**64
        need(row == row_of(events), "a chunk's row says something else than its data")
        need(last is None or last[0] != host or last[1] <= events[0][0], "chunks overlap")
        last = host, events[-1][0]
        yield from ((host, *event) for event in events)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--chunk":
        with open(arguments[1], "rb") as file:
            events = ((0, *event) for event in decode_chunk(file.read()))
    elif len(arguments) == 1 and not arguments[0].startswith("-"):
        events = read_trace(arguments[0])
    else:
        sys.exit(__doc__)
    for host, time, kind, *rest in events:
        print(host, time, KINDS[kind], *rest, sep=",")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Invalid, OSError, sqlite3.Error) as error:
        sys.exit("second_reader: %s: %s" % (sys.argv[-1], error))
