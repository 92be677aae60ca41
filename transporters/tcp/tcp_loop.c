/* tcp_loop.c -- a libuv loop, or the reason why there is none. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "transporters/transporter.h"

/* What the first loop of a process opens (libuv 1.44: epoll, an eventfd, three pipes), and a bit. */
#define DESCRIPTORS 10

/* libuv calls abort() when it finds no descriptors for the pipe of its signals: so they are looked
 * for before. */
static int look_for_descriptors(void)
{
    int found[DESCRIPTORS];
    int count = 0;
    int error = 0;

    while (count < DESCRIPTORS && error == 0) {
        found[count] = eventfd(0, EFD_CLOEXEC);
        error = found[count] < 0 ? uv_translate_sys_error(errno) : 0;
        if (error == 0) count++;
    }
    while (count > 0)
        (void)close(found[--count]);
    return error;
}

int transporter_loop_init(uv_loop_t *loop)
{
    int error = look_for_descriptors();

    return error != 0 ? error : uv_loop_init(loop);
}
