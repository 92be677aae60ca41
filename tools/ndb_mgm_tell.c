/* ndb_mgm_tell.c -- how the management console tells that something has failed, and where. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_tell.h"

#include <errno.h>

#include "service/wait_told.h"
#include "tools/ndb_mgm_wait.h"

void console_answered(const struct console *console)
{
    wait_told_for(console->wait, "%s", "");
}

void console_flush(struct console *console)
{
    if (fflush(console->out) != 0 && console->out_error == 0) console->out_error = errno;
}

FILE *console_error_out(const struct console *console)
{
    return console->json ? stderr : console->out;
}

int console_print_error(struct console *console, int failed_code)
{
    int code = ndb_mgm_error_code(console->handle);

    console_answered(console);
    if (console_interrupted()) {
        (void)fprintf(console->out, "Interrupted\n");
        return CONSOLE_INTERRUPTED;
    }
    (void)fprintf(console_error_out(console), "*  %5d: %s\n*        %s\n",
                  failed_code != 0 ? failed_code : code,
                  ndb_mgm_error_message(failed_code != 0 ? failed_code : code),
                  ndb_mgm_error_text(console->handle));
    return code == 0 ? 1 : code;
}

int console_order_failed(struct console *console, int failed_code, const char *line)
{
    console_answered(console);
    if (console_interrupted()) {
        (void)fprintf(console->out,
                      "Interrupted. An order that the management server has got goes on\n");
        return CONSOLE_INTERRUPTED;
    }
    (void)fprintf(console_error_out(console), "%s\n", line);
    return console_print_error(console, failed_code);
}
