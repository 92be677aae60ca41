/* io_data.c -- reads, writes, syncs and sizes of open files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "ndbmtd/io_private.h"

/* The pieces from byte `from` on. Returns how many. */
static int vector_of(const struct io_request *request, uint64_t from, struct iovec *vector)
{
    int count = 0;
    for (uint32_t i = 0; i < request->piece_count; i++) {
        const struct io_piece *piece = &request->piece[i];
        if (from >= piece->size) {
            from -= piece->size;
            continue;
        }
        vector[count].iov_base = piece->memory + from;
        vector[count].iov_len = piece->size - from;
        from = 0;
        count++;
    }
    return count;
}

void io_do_read(struct io_threads *io, struct io_request *request)
{
    const struct io_file *file = &io->file[request->file];
    uint64_t bytes = io_bytes(request);
    while (request->done < bytes) {
        struct iovec vector[IO_PIECES_MAX];
        int count = vector_of(request, request->done, vector);
        ssize_t got = preadv(file->fd, vector, count, (off_t)(request->offset + request->done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            io_fail(request, errno);
            return;
        }
        request->done += (uint64_t)got;
        if (got == 0 || (file->direct && (uint64_t)got % IO_ALIGN != 0))
            return; /* The end of the file. */
    }
}

static void sync_file(struct io_threads *io, struct io_request *request)
{
    int number = 0;
    if (request->op == IO_WRITE && io->options.fault != NULL)
        number = io->options.fault(io->options.context, IO_SYNC, io->file[request->file].name);
    if (number == 0) {
        do {
            number = fdatasync(io->file[request->file].fd) == 0 ? 0 : errno;
        } while (number == EINTR);
    }
    if (number == 0) return;
    io_fail(request, number);
    request->more = request->op == IO_WRITE; /* It was the sync behind the write. */
}

void io_do_write(struct io_threads *io, struct io_request *request)
{
    const struct io_file *file = &io->file[request->file];
    uint64_t bytes = io_bytes(request);
    while (request->done < bytes) {
        struct iovec vector[IO_PIECES_MAX];
        int count = vector_of(request, request->done, vector);
        ssize_t put = pwritev(file->fd, vector, count, (off_t)(request->offset + request->done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            io_fail(request, put == 0 ? ENOSPC : errno);
            return;
        }
        request->done += (uint64_t)put;
    }
    if ((request->flags & IO_THEN_SYNC) != 0) sync_file(io, request);
}

void io_do_sync(struct io_threads *io, struct io_request *request)
{
    sync_file(io, request);
}

void io_do_truncate(struct io_threads *io, struct io_request *request)
{
    while (ftruncate(io->file[request->file].fd, (off_t)request->size) != 0) {
        if (errno == EINTR) continue;
        io_fail(request, errno);
        return;
    }
}

/* Zeros in `from`..`end`; nothing that was in the file before is touched. */
static void write_zeros(struct io_threads *io, struct io_request *request, uint64_t from,
                        uint64_t end)
{
    int fd = io->file[request->file].fd;
    from = (from + IO_ALIGN - 1) / IO_ALIGN *
           IO_ALIGN; /* What is before has been zeroed by the file's growth. */
    while (from < end) {
        size_t size = end - from < IO_ZERO_BYTES ? (size_t)(end - from) : IO_ZERO_BYTES;
        ssize_t put = pwrite(fd, io->zeros, size, (off_t)from);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            io_fail(request, put == 0 ? ENOSPC : errno);
            return;
        }
        from += (uint64_t)put;
    }
}

void io_do_preallocate(struct io_threads *io, struct io_request *request)
{
    struct io_file *file = &io->file[request->file];
    uint64_t end = request->offset + request->size;
    struct stat status;
    if (fstat(file->fd, &status) != 0) {
        io_fail(request, errno);
        return;
    }
    uint64_t size = (uint64_t)status.st_size;
    int result;
    do {
        result = fallocate(file->fd, 0, (off_t)request->offset, (off_t)request->size);
    } while (result != 0 && errno == EINTR);
    bool unknown = result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS);
    if (result != 0 && !unknown) {
        io_fail(request, errno);
        return;
    }
    if (unknown) {
        io_tell_once(io, &io->told_zeros,
                     "the file system cannot reserve space; zeros are written instead", file->name);
        if (end > size && ftruncate(file->fd, (off_t)end) != 0) {
            io_fail(request, errno);
            return;
        }
    }
    if (unknown || (request->flags & IO_ZERO) != 0)
        write_zeros(io, request, size > request->offset ? size : request->offset, end);
}
