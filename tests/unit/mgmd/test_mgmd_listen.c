/* test_mgmd_listen.c -- of two servers that start at the same moment one gets the port, before
 * either listens. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/config_parse.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_session.h"
#include "tests/unit/support/temp_directory.h"

/* ---- What mgmd_listen.c calls. ---- */

static bool loopback_fails; /* Another one listens at 127.0.0.1 before the server does. */

/* libuv calls it, too. */
__attribute__((visibility("default"))) int listen(int fd, int backlog)
{
    struct sockaddr_in address = {.sin_family = AF_UNSPEC};
    socklen_t size = sizeof(address);

    (void)getsockname(fd, (struct sockaddr *)&address, &size);
    if (loopback_fails && address.sin_family == AF_INET &&
        address.sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
        errno = EADDRINUSE;
        return -1;
    }
    return (int)syscall(SYS_listen, fd, backlog);
}

void mgmd_session_accept(uv_stream_t *server, int status)
{
    (void)server;
    (void)status;
}

/* ---- */

static char directory[TEMP_DIRECTORY_SIZE];
static char why[400];

static int setup(void **state)
{
    (void)state;
    loopback_fails = false;
    temp_directory_make(directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    temp_directory_remove(directory);
    return 0;
}

/* A port of 127.0.0.1 and 127.0.0.2 that nobody has. */
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(close(fd), 0);
    return ntohs(address.sin_port);
}

static struct mgmd *make_server(const char *host, uint16_t port)
{
    char text[400];
    struct config_report report = {.lines = NULL};
    struct log_destination log = {.count = 1, .targets = {{.kind = LOG_TARGET_FILE}}};
    struct mgmd *mgmd = calloc(1, sizeof(*mgmd));

    assert_non_null(mgmd);
    int length = snprintf(text, sizeof(text),
                          "[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nNodeId=49\n%s%s\n"
                          "PortNumber=%u\n[ndbd]\nHostName=%s\n[api]\n",
                          host[0] == '\0' ? "" : "HostName=", host, port,
                          host[0] == '\0' ? "127.0.0.1" : host);
    mgmd->config = config_parse_text(text, (size_t)length, "config.ini", &report);
    assert_non_null(mgmd->config);
    config_report_clear(&report);
    log.targets[0].max_size = 1u << 20;
    (void)snprintf(log.targets[0].filename, sizeof(log.targets[0].filename), "%s/log", directory);
    mgmd->log = cluster_log_open(&log, "", 49, why, sizeof(why));
    assert_non_null(mgmd->log);
    mgmd->own_node = 49;
    mgmd->loop = malloc(sizeof(*mgmd->loop));
    assert_non_null(mgmd->loop);
    assert_int_equal(uv_loop_init(mgmd->loop), 0);
    return mgmd;
}

static void free_server(struct mgmd *mgmd)
{
    mgmd_listen_close(mgmd);
    (void)uv_run(mgmd->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(mgmd->loop), 0);
    free(mgmd->loop);
    cluster_log_close(mgmd->log);
    config_free(mgmd->config);
    free(mgmd);
}

static int take(struct mgmd *mgmd)
{
    return mgmd_take_port(mgmd, mgmd->config, why, sizeof(why));
}

static bool is_reached(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int rc = connect(fd, (struct sockaddr *)&address, sizeof(address));
    assert_int_equal(close(fd), 0);
    return rc == 0;
}

/* Neither listens yet. */
static void one_server_gets_a_port(const char *host)
{
    uint16_t port = free_port();
    struct mgmd *first = make_server(host, port);
    struct mgmd *second = make_server(host, port);

    assert_int_equal(take(first), 0);
    assert_false(is_reached(port));
    assert_int_equal(take(second), -1);
    assert_non_null(strstr(why, "cannot be used: address already in use"));
    free_server(second);
    assert_int_equal(mgmd_listen(first, why, sizeof(why)), 0);
    second = make_server(host, port);
    assert_int_equal(take(second), -1);
    free_server(second);
    free_server(first);
}

static void one_server_gets_the_port(void **state)
{
    (void)state;
    one_server_gets_a_port("127.0.0.1");
    one_server_gets_a_port("");
}

/* The server has closed a connection, which stays for a minute; its successors are as alone. */
static void former_connections_are_in_nobodys_way(void **state)
{
    uint16_t port = free_port();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct mgmd *server = make_server("127.0.0.1", port);
    struct linger at_once = {.l_onoff = 0};
    uv_os_fd_t listener;
    char byte;

    (void)state;
    assert_int_equal(take(server), 0);
    assert_int_equal(mgmd_listen(server, why, sizeof(why)), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(uv_fileno((uv_handle_t *)&server->listener[0], &listener), 0);
    int session = accept(listener, NULL, NULL);
    assert_true(session >= 0);
    assert_int_equal(setsockopt(session, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    assert_int_equal(close(session), 0);
    assert_int_equal(read(client, &byte, 1), 0);
    assert_int_equal(close(client), 0);
    free_server(server);
    for (uint32_t i = 0; i < 3; i++) {
        server = make_server("127.0.0.1", port);
        struct mgmd *second = make_server("127.0.0.1", port);
        assert_int_equal(take(server), 0);
        assert_int_equal(take(second), -1);
        assert_int_equal(mgmd_listen(server, why, sizeof(why)), 0);
        free_server(second);
        free_server(server);
    }
}

static bool log_has(const char *text)
{
    char name[TEMP_DIRECTORY_SIZE + 8];
    char lines[2000];

    (void)snprintf(name, sizeof(name), "%s/log", directory);
    FILE *in = fopen(name, "re");
    assert_non_null(in);
    lines[fread(lines, 1, sizeof(lines) - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    return strstr(lines, text) != NULL;
}

/* Another one has 127.0.0.1, when the port is taken or when it is opened: a warning both times. */
static void a_server_can_do_without_the_loopback(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint16_t port = free_port();
    char host[200];

    (void)state;
    /* A host of one loopback network only has no other address that it would listen beside. */
    assert_true(other >= 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    FILE *names = popen("hostname -I 2>/dev/null | tr ' ' '\\n' | grep '^[0-9.]*$' |"
                        " grep -v '^127\\.' | head -n 1",
                        "re");
    bool known = names != NULL && fscanf(names, "%199s", host) == 1;
    if (names != NULL) (void)pclose(names);
    if (!known) skip();
    struct mgmd *server = make_server(host, port);
    assert_int_equal(take(server), 0);
    loopback_fails = true;
    assert_int_equal(mgmd_listen(server, why, sizeof(why)), 0);
    free_server(server);
    assert_true(log_has("of 127.0.0.1 cannot be used: address already in use. Tools on this host"));
    loopback_fails = false;

    address.sin_port = htons(port);
    assert_int_equal(bind(other, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(other, 1), 0);
    server = make_server(host, port);
    assert_int_equal(take(server), 0);
    assert_int_equal(mgmd_listen(server, why, sizeof(why)), 0);
    free_server(server);
    assert_int_equal(close(other), 0);
}

/* The own address itself is no such case. */
static void a_server_does_not_do_without_its_address(void **state)
{
    struct mgmd *server = make_server("127.0.0.1", free_port());

    (void)state;
    assert_int_equal(take(server), 0);
    loopback_fails = true;
    assert_int_equal(mgmd_listen(server, why, sizeof(why)), -1);
    assert_non_null(strstr(why, "cannot be used: address already in use"));
    free_server(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_server_gets_the_port, setup, teardown),
        cmocka_unit_test_setup_teardown(former_connections_are_in_nobodys_way, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_can_do_without_the_loopback, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_does_not_do_without_its_address, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
