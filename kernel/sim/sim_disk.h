/* sim_disk.h -- one node's simulated disk: files, what is not durable yet, and what a power cut
 * leaves of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/rng.h"
#include "kernel/io_request.h"

/*
 * Knows nothing of worlds and nodes: it takes over io_requests, answers them at drawn virtual times
 * in whatever order these give, and applies each at the moment of its answer. Per file there are
 * two images, what a read sees and what is durable, and the list of changes between them. Names
 * (create, rename, remove) are durable with their answer, as the host promises; of those under way
 * at a crash, each happened or not.
 */
#define SIM_SECTOR 512u

enum sim_fate { FATE_KEPT = 0, FATE_LOST, FATE_TORN, FATE_GARBAGE, FATE_COUNT };
#define FATES_ALL ((1u << FATE_COUNT) - 1u)

struct sim_disk_options {
    uint64_t seed;
    uint64_t capacity; /* Bytes of all files; 0 = endless. */
    uint32_t latency_min_us;
    uint32_t latency_mean_us;   /* Mean of what is added to the minimum; exponential. */
    uint32_t stall_per_10000;   /* Requests of 10000 that take longer. */
    uint32_t stall_us;          /* How much longer these take. */
    uint32_t error_per_million; /* Reads, writes and syncs of a million that fail with IO_DEVICE. */
    /* A file system without O_DIRECT: what was written can be read, whatever becomes of it. */
    bool buffered;
};

struct sim_disk;

void sim_disk_defaults(struct sim_disk_options *options);
struct sim_disk *sim_disk_create(const struct sim_disk_options *options);
void sim_disk_destroy(struct sim_disk *disk);

/* A copy of files and names as they are now, writes under way counting as unsynced ones; nothing is
 * open in it. */
struct sim_disk *sim_disk_clone(const struct sim_disk *disk);

/* --- Running. --- */

void sim_disk_submit(struct sim_disk *disk, struct io_request *request, uint64_t now_us);
uint64_t sim_disk_next(const struct sim_disk *disk); /* When the next answer is due; UINT64_MAX =
                                                        nothing is under way. */
struct io_request *sim_disk_take(
    struct sim_disk *disk, uint64_t now_us); /* Applies and returns one that is due, or NULL. */
uint64_t sim_disk_operations(const struct sim_disk *disk); /* Applied so far. */

/* What a node did that it may not (memory of a write changed under way, conflicting requests); NULL
 * = nothing. */
const char *sim_disk_violation(const struct sim_disk *disk);

/* --- Ends. Requests under way are forgotten; each took place, or a part of it, or nothing. --- */

/* The process dies, the machine lives: what was written stays readable, though not yet durable. */
void sim_disk_detach(struct sim_disk *disk);

/* The power goes: each unsynced write of each file gets a fate of `fates_allowed` (bits of enum
 * sim_fate). */
void sim_disk_crash(struct sim_disk *disk, uint32_t fates_allowed);

/* Writes under way become unsynced changes; other requests are forgotten. For enumeration, before
 * the two that follow. */
void sim_disk_land(struct sim_disk *disk);

/* For enumeration: how many unsynced changes there are, and a crash with the fate of each. */
uint32_t sim_disk_unsynced(const struct sim_disk *disk);
void sim_disk_crash_exact(struct sim_disk *disk, const uint8_t *fates, uint32_t count);

/* --- Faults. --- */

void sim_disk_set_capacity(struct sim_disk *disk, uint64_t bytes); /* 0 = endless. */
uint64_t sim_disk_used(const struct sim_disk *disk);

/* The next `count` requests with this op on files whose name begins with `prefix` fail, after
 * `skip` that do not. */
void sim_disk_fail(struct sim_disk *disk, enum io_op op, const char *prefix, enum io_error error,
                   uint32_t skip, uint32_t count);

/* Requests of this disk are still to fail, or it has a limit. A disk outlives its node's lives. */
bool sim_disk_armed(const struct sim_disk *disk);

/* From now on syncs are confirmed and do nothing: a disk that no software can do anything about. */
void sim_disk_lie(struct sim_disk *disk);

/* Nothing is answered before this time. */
void sim_disk_stall(struct sim_disk *disk, uint64_t until_us);

/* Overlays on the good image. A later write of the sector heals it. Both return false when there is
 * nothing to damage. */
bool sim_disk_rot(struct sim_disk *disk, const char *name,
                  uint64_t offset);           /* One bit; which one, from the content. */
bool sim_disk_rot_any(struct sim_disk *disk); /* The same at a drawn place. */
/* The next write of the file lands on the sectors at `offset` of file `victim` instead. */
bool sim_disk_misdirect(struct sim_disk *disk, const char *name, const char *victim,
                        uint64_t offset);
bool sim_disk_misdirect_any(struct sim_disk *disk); /* Both drawn. */
/* Something of the file does not show what was written there last: it has rotted, or a write of it
 * or of another file went astray. */
bool sim_disk_overlaid(const struct sim_disk *disk, const char *name);
void sim_disk_overlays(struct sim_disk *disk, bool on);

/* While the node does not run. `what` picks one of the eight places of sim_disk_spoil.c, or above
 * that a file; `other` is the disk whose files come in the place of these. Returns how many files
 * it was done to; 0 = nothing. */
enum sim_spoil {
    SPOIL_GONE = 0,
    SPOIL_EMPTIED,
    SPOIL_CUT, /* The file is cut at a drawn length. */
    SPOIL_OLDER,
    SPOIL_FOREIGN,
    SPOIL_COUNT
};
uint32_t sim_disk_spoil(struct sim_disk *disk, const struct sim_disk *other, enum sim_spoil how,
                        uint32_t what);

/* No more drawn errors, stalls and overlays, a limit on space no more: for the phase in which all
 * must end well. */
void sim_disk_calm(struct sim_disk *disk);

/* --- For checks. --- */

bool sim_disk_exists(const struct sim_disk *disk, const char *name);
/* Content as a read sees it (durable = false) or as it is durable; UINT64_MAX when there is no such
 * file. */
uint64_t sim_disk_content(const struct sim_disk *disk, const char *name, bool durable,
                          const uint8_t **bytes);
/* Changes the good image itself, durable: for tests that damage files on purpose. */
bool sim_disk_poke(struct sim_disk *disk, const char *name, uint64_t offset, uint8_t value);
