/* tcp_loop.c -- a libuv loop, or the reason why there is none. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "transporters/transporter.h"

/* What the first loop of a process opens (libuv 1.44: epoll, an eventfd, two pipes). */
#define DESCRIPTORS 6

/* libuv calls abort() when it finds no descriptors for the pipe that all loops share: so they are
 * looked for before the first one. Another thread may still be quicker. */
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
    static _Atomic bool once;
    int error = once ? 0 : look_for_descriptors();

    if (error == 0) error = uv_loop_init(loop);
    if (error == 0) once = true;
    return error;
}
