#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of this folder anew, beside itself. They were made once and are checked in; this says
how. Pages are of 512 bytes, to keep the files small."""

import os
import re
import sqlite3
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
PAGE = 512


def path_of(name):
    return os.path.join(HERE, name)


def schema():
    with open(os.path.join(TOP, "db", "schema.sql"), encoding="utf-8") as file:
        return file.read().replace("page_size = 4096", "page_size = %d" % PAGE)


def example_chunk(name):
    """A chunk of the format's page: five events."""
    with open(os.path.join(TOP, "db", "zreel-trace.5"), encoding="utf-8") as file:
        text = file.read().split('.\\" BEGIN %s\n' % name)[1].split('.\\" END %s' % name)[0]
    return bytes.fromhex("".join(line[6:] for line in text.splitlines()))


CHUNK = example_chunk("example")
CHUNK_1 = example_chunk("old example")
ROW = (0, 5000000000, 5000080000, 5, 7, 4096, 4098, 5)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def with_crc(chunk):
    return chunk[:4] + struct.pack("<I", crc32c(chunk[8:])) + chunk[8:]


def write(name, data):
    with open(path_of(name), "wb") as file:
        file.write(data)


def read(name):
    with open(path_of(name), "rb") as file:
        return file.read()


def trace(name, *statements, chunk=CHUNK, row=ROW):
    """A trace with one chunk, and what the statements do to it."""
    if os.path.exists(path_of(name)):
        os.unlink(path_of(name))
    db = sqlite3.connect(path_of(name), isolation_level=None)
    db.executescript(schema())
    db.execute("UPDATE trace SET name = '00112233445566778899aabbccddeeff', complete = 1")
    db.execute("INSERT INTO host VALUES (0)")
    db.execute("INSERT INTO env VALUES (0, 'kernel.release', '6.12')")
    db.execute("INSERT INTO chunk VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, chunk))
    for statement in statements:
        db.executescript(statement)
    db.close()


def zstd_of_zeros(size):
    """A frame of zeros by run-length blocks: 4 bytes for each 128 KiB."""
    frame = struct.pack("<IBQ", 0xFD2FB528, 0xE0, size)
    while size:
        block = min(size, 1 << 17)
        size -= block
        frame += struct.pack("<I", block << 3 | 1 << 1 | (size == 0))[:3] + b"\0"
    return frame


def bomb():
    """The header says 65536 events and the right sizes; the frame gives 4096 times as much."""
    frame = zstd_of_zeros(1 << 28)
    head = bytearray(56)
    head[:4] = b"ZRCK"
    struct.pack_into("<HHIQ", head, 8, 2, 0, 65536, 0)
    struct.pack_into("<II", head, 24, 65536, len(frame))
    struct.pack_into("<I", head, 44, 1)
    head[48] = 1
    return with_crc(bytes(head) + frame)


def bomb_1():
    """The same in a chunk of version 1."""
    frame = zstd_of_zeros(1 << 28)
    head = bytearray(64)
    head[:4] = b"ZRCK"
    struct.pack_into("<HHIQ", head, 8, 1, 0, 65536, 0)
    struct.pack_into("<II", head, 24, 65536, len(frame))
    head[48] = 1
    struct.pack_into("<I", head, 60, 1)
    return with_crc(bytes(head) + frame)


def root_page(name, table):
    db = sqlite3.connect(path_of(name))
    page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    db.close()
    return page


def endless(name, table):
    """Pages of the table whose children are all the same page, eight levels deep: 70^8 rows."""
    trace(name, "CREATE TABLE spare (a); INSERT INTO spare WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL "
                "SELECT x + 1 FROM n WHERE x < 12) SELECT zeroblob(400) FROM n; DROP TABLE spare",
          "INSERT INTO counter VALUES (1, 0, 'vmstat', 'pswpout'); INSERT INTO sample VALUES (5, 2, 1.0)")
    data = bytearray(read(name))
    root = root_page(name, table)
    free = [p for p in range(1, len(data) // PAGE + 1)][-8:]
    leaf = data[(root - 1) * PAGE : root * PAGE]
    pages = [root] + free
    for level, page in enumerate(pages):
        if level == len(pages) - 1:
            content = bytes(leaf)
        else:
            count = 70
            cells = [struct.pack(">IB", pages[level + 1], 1 + i) for i in range(count)]
            first = PAGE - 5 * count
            content = struct.pack(">BHHHBI", 5, 0, count, first, 0, pages[level + 1])
            content += b"".join(struct.pack(">H", first + 5 * i) for i in range(count))
            content = content.ljust(first, b"\0") + b"".join(cells)
        data[(page - 1) * PAGE : page * PAGE] = content
    # No free pages any more.
    data[32:40] = bytes(8)
    write(name, bytes(data))


def main():
    write("empty.zr", b"")
    write("text.zr", b"# tracer: nop\n#\n  cc1-17 [000] d..1. 1.000001: zreel:store: swp=0x10 flags=0\n" * 3)
    state, noise = 1, bytearray()
    for _ in range(4096):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        noise.append(state >> 56)
    write("random.zr", bytes(noise))
    trace("sound.zr")
    sound = read("sound.zr")
    write("header-only.zr", sound[:100])
    write("truncated.zr", sound[: len(sound) // 2 // PAGE * PAGE])
    write("cut-in-page.zr", sound[: len(sound) - 300])
    write("random-inside.zr", sound[: 3 * PAGE] + bytes(noise) + sound[3 * PAGE + len(noise) :])
    trace("other-program.zr", "PRAGMA application_id = 252006674")
    trace("newer.zr", "PRAGMA user_version = 7")
    trace("version-0.zr", "PRAGMA user_version = 0")
    trace("trigger.zr", "CREATE TABLE victim (a); CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM chunk; END;"
                        "CREATE VIEW also AS SELECT randomblob(1000000000) FROM chunk")
    trace("view.zr", "DROP TABLE env; CREATE VIEW env AS SELECT 0 AS host, 'cpus' AS key, zeroblob(900000000) AS value")
    trace("generated.zr", "DROP TABLE env; CREATE TABLE env (host, key, value AS (zeroblob(900000000)))")
    trace("no-index.zr", "DROP INDEX chunk_by_time")
    trace("events-table.zr", "CREATE TABLE events (host, time_ns, kind)")
    trace("types.zr", "INSERT INTO memcg VALUES (0, 'x', x'00ff', 7); INSERT INTO task VALUES (0, -1, 1, 1, '')")
    trace("big-id.zr", "INSERT INTO memcg VALUES (0, 70000, 1, '/a')")
    trace("bad-host.zr", "INSERT INTO host VALUES (-5)")
    flipped = bytearray(CHUNK)
    flipped[100] ^= 1
    trace("flipped-bit.zr", chunk=bytes(flipped))
    trace("short-chunk.zr", chunk=CHUNK[:90])
    trace("newer-chunk.zr", chunk=with_crc(CHUNK[:8] + b"\3" + CHUNK[9:]))
    trace("huge-count.zr", chunk=with_crc(CHUNK[:12] + b"\xff\xff\xff\x7f" + CHUNK[16:]))
    trace("wrong-kind.zr", chunk=with_crc(CHUNK_1[:73] + b"\x0b" + CHUNK_1[74:]))
    trace("wrong-type.zr", chunk=with_crc(CHUNK[:65] + b"\xb6" + CHUNK[66:]))
    trace("no-place.zr", chunk=with_crc(CHUNK[:96] + b"\x04" + CHUNK[97:]))
    trace("sound-1.zr", chunk=CHUNK_1)
    trace("bomb.zr", chunk=bomb(), row=(0, 0, 0, 65536, 1, 0, 0, 1))
    trace("bomb-1.zr", chunk=bomb_1(), row=(0, 0, 0, 65536, 1, 0, 0, 1))
    trace("lying-row.zr", row=(*ROW[:3], 1 << 40, *ROW[4:]))
    trace("overlap.zr", "INSERT INTO chunk SELECT 2, host, first_ns, last_ns, events, kinds, slot_min, slot_max, memcgs, "
                        "data FROM chunk")
    endless("endless-hosts.zr", "host")
    endless("endless-chunks.zr", "chunk")
    endless("endless-samples.zr", "sample")


if __name__ == "__main__":
    main()
