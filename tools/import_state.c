/* import_state.c -- how far the import of a file has come, kept in a file for --resume. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/import_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TITLES     "runno\tstart\tend\trows\tstartpos\tendpos\tbytes\treject\tstate\n"
#define FIELDS     15 /* Fields of a state file, with a table, a cluster, options and an epoch. */
#define FIELDS_13  13 /* Fields of an older one, with neither options nor epoch. */
#define FIELDS_11  11 /* Fields of one without a cluster, which also counted what was in memory. */
#define FIELDS_9   9  /* Fields of one without a table. */
#define IN_THE_WAY "is in the way: it is not of ndb_import (see --state-dir)"
#define TEXT_MAX   4096u
#define TAIL_BYTES 65536u

static void make_path(char *path, size_t size, const char *directory, const char *name)
{
    (void)snprintf(path, size, "%s/%s.map", directory, name);
}

static bool complain(const struct import_state *state, const char *what)
{
    (void)fprintf(stderr, "%s %s\n", state->path, what);
    return false;
}

/* ---- Files ---- */

bool import_is_at(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

void import_directory_of(const char *path, char *directory, size_t size)
{
    const char *slash = strrchr(path, '/');
    int length = slash == NULL || slash == path ? 1 : (int)(slash - path);

    (void)snprintf(directory, size, "%.*s", length, slash == NULL ? "." : path);
}

bool import_sync_directory_of(const char *path)
{
    char directory[4200];

    import_directory_of(path, directory, sizeof(directory));
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0) (void)close(fd);
    errno = error;
    return good;
}

/* ---- Checksums: cksum(1) gives the same. ---- */

static uint32_t crc_bytes(uint32_t crc, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        crc ^= (uint32_t)bytes[i] << 24;
        for (uint32_t bit = 0; bit < 8; bit++)
            crc = (crc & 0x80000000u) != 0 ? crc << 1 ^ 0x04C11DB7u : crc << 1;
    }
    return crc;
}

uint32_t import_checksum(const void *bytes, size_t count)
{
    uint32_t crc = crc_bytes(0, bytes, count);
    for (size_t rest = count; rest != 0; rest >>= 8)
        crc = crc_bytes(crc, &(uint8_t){(uint8_t)rest}, 1);
    return ~crc;
}

/* Checksum of the input's last bytes before `end`. False: they cannot be read; ENODATA: any more. */
static bool tail_checksum(const struct import_what *what, uint64_t end, uint32_t *sum)
{
    uint64_t start = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
    size_t size = (size_t)(end - start);
    uint8_t *bytes = malloc(TAIL_BYTES);
    if (bytes == NULL) return false;
    errno = 0;
    bool good = pread(what->fd, bytes, size, (off_t)start) == (ssize_t)size;

    if (good)
        *sum = import_checksum(bytes, size);
    else if (errno == 0)
        errno = ENODATA;
    free(bytes);
    return good;
}

/* ---- Reading ---- */

/* The former run's file and table: are they this run's? False: printed. */
static bool is_same(const struct import_state *state, const struct import_what *was, uint32_t tail)
{
    const struct import_what *what = &state->what;
    uint32_t now = 0;

    if (was->file_bytes != what->file_bytes) {
        (void)fprintf(stderr, "%s: the file had %" PRIu64 " bytes then, and has %" PRIu64 " now\n",
                      state->path, was->file_bytes, what->file_bytes);
        return false;
    }
    if (!tail_checksum(what, state->durable.end_pos, &now) || now != tail) {
        (void)fprintf(stderr,
                      "%s: the file has been changed since: what stands before its byte %" PRIu64
                      ", to where it was imported, is not what was imported\n",
                      state->path, state->durable.end_pos);
        return false;
    }
    if (was->cluster != what->cluster) {
        (void)fprintf(stderr,
                      "%s: the cluster is not the one that rows of %s were imported into (it is "
                      "another one, or has begun anew with --initial since). Those rows are not in "
                      "table %s; without --resume the whole file is imported\n",
                      state->path, what->path, what->table);
        return false;
    }
    if (was->options != what->options) {
        (void)fprintf(
            stderr,
            "%s: the options say something else about the file's rows than those of the "
            "run before (columns, lines to ignore, separators, quotes, NULL): give the same "
            "ones; without --resume the whole file is imported\n",
            state->path);
        return false;
    }
    if (was->table_id == what->table_id && was->table_major == what->table_major) return true;
    (void)fprintf(stderr,
                  "%s: table %s is not the one that rows of %s were imported into (it was "
                  "truncated, made anew or renamed since). Those rows are not in it; without "
                  "--resume the whole file is imported\n",
                  state->path, what->table, what->path);
    return false;
}

static bool is_of_older_version(const struct import_state *state)
{
    (void)fprintf(stderr,
                  "%s is of an older version, and does not say whether table %s is still the one "
                  "that rows of %s were imported into, or whether they are there still. Without "
                  "--resume the whole file is imported; with --rejects=N --ignore-lines=%" PRIu64
                  " only the rows behind the last one that was done, of which those that are there "
                  "are rejected\n",
                  state->path, state->what.table, state->what.path, state->durable.mark);
    return false;
}

/* How much of the text has its checksum, given in the last line; 0: it does not end with one. */
static size_t checked_size(const char *text, size_t size)
{
    size_t at = size;
    uint32_t sum;

    if (size == 0 || text[size - 1] != '\n') return 0;
    for (at = size - 1; at > 0 && text[at - 1] != '\n';)
        at--;
    return sscanf(text + at, "check\t%" SCNu32, &sum) == 1 && sum == import_checksum(text, at) ? at
                                                                                               : 0;
}

static bool understand(struct import_state *state, const char *text, size_t size)
{
    struct import_point *point = &state->durable;
    struct import_what was = {0};
    char word[16] = "";
    uint32_t tail = 0;
    int count = 0;

    if (size == 0)
        return complain(state, "is empty: what was imported is not known. Without --resume the "
                               "whole file is imported");
    if (strncmp(text, TITLES, sizeof(TITLES) - 1) == 0)
        count =
            sscanf(text + sizeof(TITLES) - 1,
                   "%" SCNu32 " 0 %" SCNu64 " %" SCNu64 " 0 %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %15s %*u %*u %" SCNu64 " %*u %*u %*u %*u %*u sent number %" SCNu64
                   " table %" SCNu32 " %" SCNu32 " cluster %" SCNx64 " tail %" SCNu32
                   " options %" SCNu32 " epoch %" SCNx64 "",
                   &state->run, &point->mark, &point->inserted, &point->end_pos, &was.file_bytes,
                   &point->rejected, word, &state->doubt, &point->greatest, &was.table_id,
                   &was.table_major, &was.cluster, &tail, &was.options, &point->epoch);
    state->memory = strcmp(word, "memory") == 0;
    state->complete = state->memory || strcmp(word, "complete") == 0;
    if ((count == FIELDS_9 || count == FIELDS_11 || count == FIELDS_13) && text[size - 1] == '\n' &&
        strstr(text, count == FIELDS_13 ? "\noptions" : "\ncluster") == NULL)
        return is_of_older_version(state);
    if (count != FIELDS || checked_size(text, size) == 0 || state->doubt < point->mark)
        return complain(state, "is damaged; without --resume it is replaced, and the whole file is "
                               "imported");
    return is_same(state, &was, tail);
}

static bool read_state(struct import_state *state)
{
    char text[TEXT_MAX + 1];
    ssize_t size = pread(state->lock, text, TEXT_MAX, 0);

    if (size < 0) {
        (void)fprintf(stderr, "%s: %s\n", state->path, strerror(errno));
        return false;
    }
    text[size] = '\0';
    return understand(state, text, (size_t)size);
}

/* Is it a state, a part of one, or nothing, as a killed run leaves it? What else has the name is
 * somebody else's. */
static bool is_state(int fd)
{
    char text[sizeof(TITLES) - 1];
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    ssize_t size = pread(fd, text, sizeof(text), 0);
    return size >= 0 && memcmp(text, TITLES, (size_t)size) == 0;
}

/* Locks what is open. False: the reason is printed, and it is closed. */
static bool lock_file(const struct import_state *state, int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK)
        (void)complain(state, "is in use: another import of a file of this name is running; give "
                              "it another --state-dir");
    else
        (void)fprintf(stderr, "%s: %s\n", state->path, strerror(errno));
    (void)close(fd);
    return false;
}

/* Opens and locks the state file, if there is one. False: the reason is printed, also that it is
 * none, which would be replaced, and removed at the end. */
static bool lock_state(struct import_state *state)
{
    for (;;) {
        int fd = open(state->path, O_RDWR | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) return true;
        if (fd < 0) {
            (void)fprintf(stderr, "%s: %s\n", state->path, strerror(errno));
            return false;
        }
        if (!lock_file(state, fd)) return false;
        if (!import_is_at(fd, state->path)) {
            (void)close(fd); /* Replaced meanwhile. */
            continue;
        }
        state->lock = fd;
        return is_state(fd) || complain(state, IN_THE_WAY);
    }
}

bool import_state_begin(struct import_state *state, const char *directory, const char *name,
                        const struct import_what *what, bool resume)
{
    *state = (struct import_state){.what = *what, .lock = -1};
    make_path(state->path, sizeof(state->path), directory, name);
    state->ends = calloc(IMPORT_WINDOW, sizeof(*state->ends));
    state->kinds = calloc(IMPORT_WINDOW, sizeof(*state->kinds));
    if (state->ends == NULL || state->kinds == NULL) {
        (void)fprintf(stderr, "ndb_import: out of memory\n");
        return false;
    }
    if (!lock_state(state)) return false;
    if (resume && state->lock >= 0 && !read_state(state)) return false;
    /* It may have gone with the end of a run that nobody has heard of. */
    if (resume && state->lock < 0) state->doubt = UINT64_MAX;
    state->answered = state->durable;
    state->run++;
    return true;
}

/* ---- Rows ---- */

void import_state_row(struct import_state *state, uint64_t number, uint64_t end_pos)
{
    if (state->ends == NULL) return;
    state->ends[number % IMPORT_WINDOW] = end_pos;
    state->kinds[number % IMPORT_WINDOW] = IMPORT_WAITING;
}

void import_state_done(struct import_state *state, uint64_t number, enum import_row_end kind)
{
    struct import_point *point = &state->answered;

    if (state->ends == NULL) return;
    state->kinds[number % IMPORT_WINDOW] = (uint8_t)kind;
    for (uint64_t next = point->mark + 1; state->kinds[next % IMPORT_WINDOW] != IMPORT_WAITING;
         next++) {
        uint8_t *done = &state->kinds[next % IMPORT_WINDOW];
        point->inserted += *done == IMPORT_INSERTED;
        point->rejected += *done == IMPORT_REJECTED;
        *done = IMPORT_WAITING;
        point->end_pos = state->ends[next % IMPORT_WINDOW];
        point->mark = next;
    }
}

bool import_state_may_send(const struct import_state *state, uint64_t number)
{
    return state->ends == NULL ||
           (number < state->limit && number - state->answered.mark < IMPORT_WINDOW - 1);
}

void import_state_durable(struct import_state *state, const struct import_point *point)
{
    state->durable = *point;
}

void import_state_rewind(struct import_state *state, uint64_t number)
{
    state->answered = state->durable;
    memset(state->kinds, 0, IMPORT_WINDOW * sizeof(*state->kinds));
    if (state->doubt < number) state->doubt = number;
}

/* ---- Saving ---- */

/* Rows up to it need not be done again. */
static uint64_t mark_of(const struct import_state *state)
{
    uint64_t mark = state->durable.mark;

    return mark < state->what.left_out ? state->what.left_out : mark;
}

/* The whole file; 0: the input cannot be read, errno tells. */
static size_t make_text(const struct import_state *state, uint64_t limit, char *text)
{
    const struct import_point *point = &state->durable;
    uint64_t mark = mark_of(state);
    uint32_t tail = 0;

    if (limit < mark) limit = mark;
    if (!tail_checksum(&state->what, point->end_pos, &tail)) return 0;
    int size = snprintf(
        text, TEXT_MAX,
        TITLES "%" PRIu32 "\t0\t%" PRIu64 "\t%" PRIu64 "\t0\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
               "\t%s\n"
               "%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t0\t%" PRIu64 "\t0\t0\t0\tsent\n"
               "number\t%" PRIu64 "\n"
               "table\t%" PRIu32 "\t%" PRIu32 "\n"
               "cluster\t%" PRIx64 "\n"
               "tail\t%" PRIu32 "\n"
               "options\t%" PRIu32 "\n"
               "epoch\t%016" PRIx64 "\n",
        state->run, mark, point->inserted, point->end_pos, state->what.file_bytes, point->rejected,
        !state->complete ? "done"
        : state->memory  ? "memory"
                         : "complete",
        state->run, mark, limit, point->end_pos, point->greatest, state->what.table_id,
        state->what.table_major, state->what.cluster, tail, state->what.options, point->epoch);
    size += snprintf(text + size, TEXT_MAX - (size_t)size, "check\t%" PRIu32 "\n",
                     import_checksum(text, (size_t)size));
    return (size_t)size;
}

/* Takes away a file that has the new one's name, and is nobody's. False: the reason is printed. */
static bool clear_name(const struct import_state *state, const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT) return true;
    /* A run was killed when its first state had both names: this run has the lock. */
    bool own = fd >= 0 && state->lock >= 0 && import_is_at(state->lock, path);
    if (fd >= 0 && !own && !lock_file(state, fd)) return false;
    bool here = fd < 0 || import_is_at(fd, path);
    bool good = !here || (fd >= 0 && (own || is_state(fd)) && unlink(path) == 0);
    if (!good)
        (void)fprintf(stderr,
                      fd < 0 ? "%s is in the way: %s (see --state-dir)\n" : "%s " IN_THE_WAY "\n",
                      path, strerror(errno));
    if (fd >= 0) (void)close(fd);
    return good;
}

/* A new file, locked. -1: the reason is printed. */
static int make_new(const struct import_state *state, const char *path)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST) {
            if (!clear_name(state, path)) return -1;
            continue;
        }
        if (fd < 0) {
            (void)fprintf(stderr, "%s: %s (see --state-dir)\n", path, strerror(errno));
            return -1;
        }
        if (!lock_file(state, fd)) return -1;
        if (import_is_at(fd, path)) return fd;
        (void)close(fd); /* Another import took it for one that was left. */
    }
}

/* The text under a new name takes the place of the former file, whose lock the new one has then.
 * Where there was none, nobody else may have made one meanwhile. */
static bool replace(struct import_state *state, int fd, const char *new_path, const char *text,
                    size_t size)
{
    ssize_t written = pwrite(fd, text, size, 0);
    if (written >= 0 && written < (ssize_t)size) errno = ENOSPC;
    if (written != (ssize_t)size || fdatasync(fd) != 0) return false;
    if (state->lock >= 0 ? rename(new_path, state->path) != 0
                         : link(new_path, state->path) != 0 || unlink(new_path) != 0)
        return false;
    return import_sync_directory_of(state->path);
}

/* As errno says: the input cannot be read, or the new file not be written. */
static void tell_failed(struct import_state *state, bool input, const char *new_path)
{
    bool told = state->cut;

    state->cut |= input && errno == ENODATA;
    if (!input)
        (void)fprintf(stderr, "%s: %s (see --state-dir)\n",
                      errno == EEXIST ? state->path : new_path, /* EEXIST: of link(). */
                      strerror(errno));
    else if (!told)
        (void)fprintf(stderr, "%s: %s\n", state->what.path,
                      state->cut ? IMPORT_CUT : strerror(errno));
}

bool import_state_save(struct import_state *state, uint64_t limit, uint64_t now_ms)
{
    char path[sizeof(state->path) + 8];
    char text[TEXT_MAX];

    if (state->ends == NULL) return true;
    (void)snprintf(path, sizeof(path), "%s.new", state->path);
    if (limit < state->doubt) limit = state->doubt; /* What was in doubt still is. */
    int fd = make_new(state, path);
    if (fd < 0) return false;
    size_t size = make_text(state, limit, text);
    if (size == 0 || !replace(state, fd, path, text, size)) {
        tell_failed(state, size == 0, path);
        (void)unlink(path);
        (void)close(fd);
        return false;
    }
    if (state->lock >= 0) (void)close(state->lock);
    state->lock = fd;
    state->limit = limit;
    state->saved_ms = now_ms;
    state->saved_mark = mark_of(state);
    return true;
}

struct import_state_kept import_state_kept(const struct import_state *state)
{
    struct stat status;

    if (state->path[0] == '\0' || state->lock < 0 || fstat(state->lock, &status) != 0)
        return (struct import_state_kept){.kept = false};
    return (struct import_state_kept){
        .kept = true, .device = status.st_dev, .inode = status.st_ino, .changed = status.st_ctim};
}

/* A number of an inode is given to another file soon, but not with the time of this one's change. */
static bool is_kept(int fd, const struct import_state_kept *kept)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_dev == kept->device &&
           status.st_ino == kept->inode && status.st_ctim.tv_sec == kept->changed.tv_sec &&
           status.st_ctim.tv_nsec == kept->changed.tv_nsec;
}

void import_state_remove(const char *directory, const char *name,
                         const struct import_state_kept *kept)
{
    char path[4200];

    if (!kept->kept) return;
    make_path(path, sizeof(path), directory, name);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && import_is_at(fd, path) && is_kept(fd, kept))
        (void)unlink(path);
    (void)close(fd);
}

void import_state_free(struct import_state *state)
{
    free(state->ends);
    free(state->kinds);
    state->ends = NULL;
    state->kinds = NULL;
    if (state->lock >= 0) (void)close(state->lock);
    state->lock = -1;
}
