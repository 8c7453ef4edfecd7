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
GROUPS_1 = [  # name and width of the columns of each group
    [("kind", 1), ("area", 1), ("order", 1), ("flags", 1), ("memcg", 2), ("task", 4)],
    [("time", 8)],
    [("slot", 4), ("len", 2)],
]
GROUPS_2 = [
    [("type", 1), ("area", 1), ("order", 1), ("memcg", 2), ("task", 4)],
    [("time", 1), ("slot", 1), ("len", 1)],
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


def read_columns(chunk, n, groups, at):
    """The columns as lists of n numbers, as they are stored, and what is left of the chunk; the frames begin at `at`."""
    mask, columns = 48, {}
    for number, group in enumerate(groups):
        size, frame = struct.unpack_from("<II", chunk, 24 + 8 * number)
        masks = chunk[mask : mask + len(group)]
        mask += len(group)
        need(all(m >> width == 0 for m, (_, width) in zip(masks, group)), "a mask has a bit too many")
        need(size == n * sum(bin(m).count("1") for m in masks), "a group has a wrong size")
        need((size == 0) == (frame == 0) and at + frame <= len(chunk), "a frame has a wrong size")
        planes = decompress(chunk[at : at + frame], size) if size else b""
        at += frame
        for m, (name, width) in zip(masks, group):
            values = [0] * n
            for p in range(width):
                if m >> p & 1:
                    values = [v | byte << 8 * p for v, byte in zip(values, planes[:n])]
                    planes = planes[n:]
            columns[name] = values
    return columns, chunk[at:]


def allowed(kind, flags):
    """Whether the table of events has these flags for this kind."""
    if kind == IO:
        return flags & 3 <= 2 and flags >> 2 & 7 <= 2 and not flags & 0x60
    more = {OUT: 0x78, IN: 0x40}.get(kind, 0)
    return flags & 7 < OUTCOMES[kind] and not flags & 0x78 & ~more and (kind != OUT or flags >> 3 & 7 <= 6)


TYPES = [(kind, flags) for kind in range(len(KINDS)) for flags in range(256) if allowed(kind, flags)]


def order_of(values):
    """Where each event's values are: the order of types or kinds is a stable sort."""
    place = [0] * len(values)
    for at, event in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        place[event] = at
    return place


def unzigzag(z):
    return -(z + 1) // 2 if z & 1 else z // 2


class Bits:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        first, last = self.at // 8, (self.at + n + 7) // 8
        need(last <= len(self.data), "too few bits")
        value = int.from_bytes(self.data[first:last], "little") >> self.at % 8 & (1 << n) - 1
        self.at += n
        return value

    def number(self, code, mantissa):
        if code < 1 << mantissa:
            return code
        n = (code >> mantissa) - 1
        return ((1 << mantissa) + code % (1 << mantissa) << n) + self.take(n)

    def end(self):
        need((self.at + 7) // 8 == len(self.data), "bytes after the last bits")
        need(self.at % 8 == 0 or self.data[-1] >> self.at % 8 == 0, "bits after the last")


class Slots:
    """The lists, places and expected slots of version 2."""

    def __init__(self):
        self.lists = [], [], []
        self.places, self.expected = defaultdict(int), defaultdict(int)

    def read(self, code, z, kind, flags, task, length):
        which = kind, kind == IO and flags >> 2 & 7 != 0
        if code < 102:
            slots = self.lists[code // 34]
            place = self.places[which, code // 34] + unzigzag(z)
            need(0 <= place < len(slots), "a place that is not in the list")
            self.places[which, code // 34] = place + 1
            slot = slots[place]
        else:
            slot = (self.expected[which, task % 64] + unzigzag(z)) % 2**32
            ahead = {OUT: 1, IN: 1, WB: 1, FREE: length or 1, IO: length // 8}.get(kind, 0)
            self.expected[which, task % 64] = (slot + ahead) % 2**32
        if kind in (OUT, IN):
            self.lists[kind].append(slot)
        elif kind == IO and not which[1]:
            self.lists[2].append(slot)
        return slot


def decode_2(chunk, n, time):
    size, unit = struct.unpack_from("<II", chunk, 40)
    columns, rest = read_columns(chunk, n, GROUPS_2, 56)
    need(len(rest) == size, "a wrong number of bits")
    need(all(number < len(TYPES) for number in columns["type"]), "an unknown type")
    bits, slots, last_task, events = Bits(rest), Slots(), 1, []
    for number, at in zip(columns["type"], order_of(columns["type"])):
        kind, flags = TYPES[number]
        area, order, memcg, task, time_code, slot_code, len_code = (
            columns[name][at] for name in ("area", "order", "memcg", "task", "time", "slot", "len")
        )
        need(time_code <= 240 and slot_code <= 165 and len_code <= 207, "an unknown code")
        task = last_task if task == 1 else 1 if task == last_task else task
        last_task = task or last_task
        delta = bits.take(64) if time_code == 240 else bits.number(time_code, 3)
        z = bits.number(slot_code - min(slot_code // 34, 3) * 34, 1)
        length = bits.number(len_code, 4)
        slot = slots.read(slot_code, z, kind, flags, task, length)
        before, time = time, (time + delta * unit) % 2**64
        need(time >= before, "times descend")
        events.append((time, kind, area, slot, order, memcg, task, length, flags))
    bits.end()
    return unit, events


def next_slot_1(kind, slot, length):
    return slot + {OUT: 1, IN: 1, WB: 1, FREE: length or 1, IO: (length + 7) // 8}.get(kind, 0)


def decode_1(chunk, n, time):
    zeros, unit = struct.unpack_from("<3sI", chunk.ljust(64), 57)
    need(len(chunk) >= 64 and zeros == bytes(3), "not the header of version 1")
    columns, rest = read_columns(chunk, n, GROUPS_1, 64)
    need(not rest, "bytes after the last frame")
    expected, events = defaultdict(int), []
    for kind, at in zip(columns["kind"], order_of(columns["kind"])):
        area, order, flags, memcg, task, delta, zigzag, length = (
            columns[name][at] for name in ("area", "order", "flags", "memcg", "task", "time", "slot", "len")
        )
        need(kind < len(KINDS) and allowed(kind, flags), "an unknown event")
        before, time = time, (time + delta * unit) % 2**64
        need(time >= before, "times descend")
        slot = (expected[kind, task % 64] + unzigzag(zigzag)) % 2**32
        expected[kind, task % 64] = next_slot_1(kind, slot, length)
        events.append((time, kind, area, slot, order, memcg, task, length, flags))
    return unit, events


def decode_chunk(chunk):
    """A list of (time, kind, area, slot, order, memcg, task, len, flags)."""
    need(len(chunk) >= 56 and chunk[:4] == b"ZRCK", "not a chunk")
    need(crc32c(chunk[8:]) == struct.unpack_from("<I", chunk, 4)[0], "wrong checksum")
    version, zero, n, time = struct.unpack_from("<HHIQ", chunk, 8)
    need(version in (1, 2) and zero == 0, "not chunk version 1 or 2")
    need(1 <= n <= 65536, "an impossible number of events")
    unit, events = (decode_1 if version == 1 else decode_2)(chunk, n, time)
    need(1 <= unit <= 10**9, "an impossible time unit")
    need(all(event[1] != OUT or event[4] <= 16 for event in events), "an impossible order")
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
