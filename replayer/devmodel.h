/* SPDX-License-Identifier: MIT */
/*
 * The modelled block device, and the parameters of everything that is modelled in time.
 *
 * A request takes base + pages * page, where base is the sequential or the random one by the
 * distance from the end of the request before (16 MiB). `channels` of them are served at once,
 * first come, first served; no more than `depth` are inside the device, later ones wait for a
 * place.
 *
 *   submit ──(depth)──> place ──(channels)──> service ──> delay ──> done
 *
 * The delay keeps a place but no channel, so any number of requests are in it at once; the presets
 * have none.
 *
 * The presets are the four classes of devices that Linux's iocost carries in its source
 * (block/blk-iocost.c: an HDD, an SSD of queue depth 1, an ordinary and a fast SSD), as
 * microseconds for a page and for the two bases, with one channel. They are what a kernel takes a
 * device for that nobody has measured, and no measurement of any device here; they are cost models,
 * so one channel is busy as long as the kernel would charge. Own figures: knobs, or a drive that
 * `zreel calibrate` has measured (calibrated:FILE#NAME, drive_fit.h).
 *
 * Time is virtual and in nanoseconds; equal input gives equal output. Cost: a look at each channel
 * a request.
 */
#ifndef REPLAYER_DEVMODEL_H
#define REPLAYER_DEVMODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/err.h"

/* name, least, most, help */
#define TIME_KNOBS(X)                                                                              \
	X(read_page_ns, 0, 1'000'000'000, "service of a page read")                                \
	X(read_seq_ns, 0, 1'000'000'000, "service of a sequential read besides its pages")         \
	X(read_rand_ns, 0, 1'000'000'000, "service of a random read besides its pages")            \
	X(write_page_ns, 0, 1'000'000'000, "service of a page written")                            \
	X(write_seq_ns, 0, 1'000'000'000, "service of a sequential write besides its pages")       \
	X(write_rand_ns, 0, 1'000'000'000, "service of a random write besides its pages")          \
	X(read_delay_ns, 0, 1'000'000'000, "of a read, in which it keeps no channel")              \
	X(read_delay_page_ns, 0, 1'000'000'000, "the same for each of its pages")                  \
	X(write_delay_ns, 0, 1'000'000'000, "of a write, in which it keeps no channel")            \
	X(write_delay_page_ns, 0, 1'000'000'000, "the same for each of its pages")                 \
	X(channels, 1, 1024, "requests that the device serves at once")                            \
	X(depth, 1, 65536, "requests that it takes in")                                            \
	X(iocost, 0, 1, "the iocost controller")                                                   \
	X(cost_read_page_ns, 0, 1'000'000'000, "iocost's idea of the device: a page read")         \
	X(cost_read_seq_ns, 0, 1'000'000'000, "a sequential read besides its pages")               \
	X(cost_read_rand_ns, 0, 1'000'000'000, "a random read besides its pages")                  \
	X(cost_write_page_ns, 0, 1'000'000'000, "a page written")                                  \
	X(cost_write_seq_ns, 0, 1'000'000'000, "a sequential write besides its pages")             \
	X(cost_write_rand_ns, 0, 1'000'000'000, "a random write besides its pages")                \
	X(read_latency_us, 1, 10'000'000, "iocost's latency target of reads")                      \
	X(write_latency_us, 1, 10'000'000, "iocost's latency target of writes")                    \
	X(latency_percent, 0, 100, "of the requests that must meet it")                            \
	X(vrate_min, 1, 10000, "percent: the least speed that iocost takes the device for")        \
	X(vrate_max, 1, 10000, "percent: the greatest")                                            \
	X(weight, 1, 10000, "of each recorded cgroup")                                             \
	X(rival, 0, 10000, "weight of a cgroup that writes at random all the time; 0 = none")      \
	X(rival_depth, 1, 1024, "writes that it keeps going")

struct time_params {
#define X(name, least, most, help) uint64_t name;
	TIME_KNOBS(X)
#undef X
};

/* "ssd+channels=4+iocost=0", "calibrated:drives.zr#NAME+iocost=0": the last drive of that name in the file, or the
 * last one of all; neither may contain a '+', nor the file's a '#'. ZR_USAGE names the word that is not understood. */
enum zr_err time_params_parse(const char *text, struct time_params *out);

struct play_iocost;

/* iocost's parameters of a drive of the form calibrated:FILE#NAME. ZR_USAGE for any other device. */
enum zr_err time_params_iocost(const char *text, struct play_iocost *out);

/* Where the device of such a text comes from: "built-in drive ssd (...), not measured", "drive 'NAME', measured ...".
 * Of a text that was parsed. */
enum zr_err time_params_origin(const char *text, char *out, size_t bytes);

/* Preset-free: every knob with its value. */
void time_params_to_text(const struct time_params *params, char *text, size_t bytes);

/* Coefficients of a linear model: index [write], in ns. */
struct cost_model {
	uint64_t page_ns[2], seq_ns[2], rand_ns[2];
};

struct cost_model device_cost_model(const struct time_params *params);
struct cost_model iocost_cost_model(const struct time_params *params);

/* What iocost makes of the parameters of its linear model: block/blk-iocost.c, calc_lcoefs(). */
struct cost_model iocost_coefficients(const struct play_iocost *iocost);

/* A request, or a part of one that merged into it and pays for its pages only. */
struct timed_io {
	uint64_t start_page; /* on the device */
	uint32_t pages;
	bool write, merged;
};

/* `cursor`: the page behind the request before; moved on. */
uint64_t cost_of(const struct cost_model *model, const struct timed_io *io, uint64_t *cursor);

struct devmodel {
	struct cost_model cost;
	uint64_t *channels, *places; /* when each will be free: heaps, the earliest first */
	uint32_t n_channels, depth;
	uint64_t cursor, delay_ns[2], delay_page_ns[2];
};

struct dev_times {
	uint64_t taken_ns, done_ns;
};

enum zr_err devmodel_init(struct devmodel *dev, const struct time_params *params,
			  struct zr_arena *arena);

/* When the device takes in what is submitted now, and when it is done. Times of calls ascend. */
struct dev_times devmodel_submit(struct devmodel *dev, const struct timed_io *io, uint64_t now_ns);

#endif
