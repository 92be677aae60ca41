/* test_mgm_message.c -- the line grammar of the management protocol, connect strings, names. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include "config/mgm_handle.h"
#include "kernel/base/rng.h"
#include "signals/event_text.h"
#include "config/log_destination.h"
#include "config/message.h"
#include "signals/event_report.h"

static enum mgm_parse feed(struct mgm_parser *parser, const char *text, size_t *used)
{
    return mgm_parser_feed(parser, (const uint8_t *)text, strlen(text), used);
}

static void messages_are_read(void **unused)
{
    static const char text[] = "\n\n get status \r\nTypes :  NDB  \nx:\n\nbye\n\n";
    struct mgm_parser parser;
    size_t used;
    int64_t value;

    (void)unused;
    assert_int_equal(mgm_parser_init(&parser, 4, 256), 0);
    assert_int_equal(feed(&parser, text, &used), MGM_PARSE_DONE);
    assert_string_equal(mgm_command(&parser), "get status");
    assert_string_equal(mgm_value(&parser, "types"), "NDB");
    assert_string_equal(mgm_value(&parser, "X"), "");
    assert_null(mgm_value(&parser, "y"));
    assert_int_equal(mgm_number(&parser, "y", 0, 9, 5, &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(mgm_number(&parser, "types", 0, 9, 5, &value), -1);
    mgm_parser_reset(&parser);
    assert_int_equal(feed(&parser, text + used, &used), MGM_PARSE_DONE);
    assert_string_equal(mgm_command(&parser), "bye");
    mgm_parser_free(&parser);
}

static void every_split_reads_the_same(void **unused)
{
    static const char text[] = "stop\nnode: 1,2\nabort: 1\n\n";
    size_t size = strlen(text);

    (void)unused;
    for (size_t cut = 0; cut <= size; cut++) {
        struct mgm_parser parser;
        size_t used = 0;
        assert_int_equal(mgm_parser_init(&parser, 4, 256), 0);
        enum mgm_parse state = mgm_parser_feed(&parser, (const uint8_t *)text, cut, &used);
        assert_int_equal(state, cut == size ? MGM_PARSE_DONE : MGM_PARSE_MORE);
        if (cut < size) {
            state = mgm_parser_feed(&parser, (const uint8_t *)text + cut, size - cut, &used);
            assert_int_equal(state, MGM_PARSE_DONE);
        }
        assert_string_equal(mgm_value(&parser, "node"), "1,2");
        mgm_parser_free(&parser);
    }
}

static void wrong_messages_are_refused(void **unused)
{
    char line[MGM_LINE_MAX + 8];
    static const struct {
        const char *text;
        const char *error;
    } wrong[] = {
        {"a\nno colon\n\n", "line is not \"name: value\""},
        {"a\n: x\n\n", "line is not \"name: value\""},
        {"a\x01\n\n", "control character in a line"},
        {"a\na:1\na:2\na:3\na:4\na:5\n\n", "message has too many lines"},
        {"a\na:0123456789012345678901234567890123456789012345678901234567890123\n\n",
         "message is too long"},
    };
    struct mgm_parser parser;
    size_t used;

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(mgm_parser_init(&parser, 4, 64), 0);
        assert_int_equal(feed(&parser, wrong[i].text, &used), MGM_PARSE_ERROR);
        assert_string_equal(parser.error, wrong[i].error);
        mgm_parser_free(&parser);
    }
    memset(line, 'a', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    assert_int_equal(mgm_parser_init(&parser, 4, 4096), 0);
    assert_int_equal(feed(&parser, line, &used), MGM_PARSE_ERROR);
    assert_string_equal(parser.error, "line is too long");
    mgm_parser_free(&parser);
}

static void random_bytes_never_crash(void **unused)
{
    static const char letters[] = "ab:: \n\n\r\t1\x01\xff";
    struct rng rng;

    (void)unused;
    rng_seed(&rng, 5);
    for (uint32_t round = 0; round < 2000; round++) {
        struct mgm_parser parser;
        uint8_t bytes[300];
        size_t at = 0;
        assert_int_equal(mgm_parser_init(&parser, 8, 128), 0);
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)letters[rng_below(&rng, sizeof(letters))];
        while (at < sizeof(bytes)) {
            size_t used = 0;
            enum mgm_parse state = mgm_parser_feed(&parser, bytes + at, sizeof(bytes) - at, &used);
            assert_true(used > 0 && used <= sizeof(bytes) - at);
            at += used;
            if (state == MGM_PARSE_ERROR) break;
            if (state == MGM_PARSE_DONE) mgm_parser_reset(&parser);
        }
        mgm_parser_free(&parser);
    }
}

static void a_wrong_connect_string_is_told_with_its_source(void **unused)
{
    char why[256];

    (void)unused;
    assert_int_equal(setenv("NDB_CONNECTSTRING", "envhost:x", 1), 0);
    assert_int_equal(ndb_mgm_check_connectstring("host:7", "-c", why, sizeof(why)), 0);
    assert_int_equal(ndb_mgm_check_connectstring("host:y", "-c", why, sizeof(why)), -1);
    assert_non_null(strstr(why, "-c: Illegal connect string: \"host:y\": port \"y\" is wrong"));
    for (int i = 0; i < 2; i++) { /* Nothing given, or nothing in what is given: one thing. */
        const char *none = i == 0 ? NULL : "";
        assert_int_equal(ndb_mgm_check_connectstring(none, "-c", why, sizeof(why)), -1);
        assert_non_null(strstr(why, "NDB_CONNECTSTRING: Illegal connect string: \"envhost:x\""));
    }
    assert_int_equal(unsetenv("NDB_CONNECTSTRING"), 0);
    assert_int_equal(ndb_mgm_check_connectstring(NULL, "-c", why, sizeof(why)), 0);
}

static void connect_strings_are_read(void **unused)
{
    struct mgm_connectstring target;
    char why[256];

    (void)unused;
    assert_int_equal(unsetenv("NDB_CONNECTSTRING"), 0);
    assert_int_equal(mgm_connectstring_parse("", &target, why, sizeof(why)), 0);
    assert_int_equal(target.count, 1);
    assert_string_equal(target.addresses[0].host, "localhost");
    assert_int_equal(target.addresses[0].port, 1186);
    assert_int_equal(
        mgm_connectstring_parse("nodeid=5,bind-address=10.0.0.1:99,a.b,c:1187;[::1]:1188 fe80::1",
                                &target, why, sizeof(why)),
        0);
    assert_int_equal(target.node_id, 5);
    assert_string_equal(target.bind_host, "10.0.0.1");
    assert_int_equal(target.bind_port, 99);
    assert_int_equal(target.count, 4);
    assert_int_equal(target.addresses[1].port, 1187);
    assert_string_equal(target.addresses[2].host, "::1");
    assert_int_equal(target.addresses[2].port, 1188);
    assert_string_equal(target.addresses[3].host, "fe80::1");
    assert_int_equal(mgm_connectstring_parse("[fe80::1%eth0]:9,::ffff:10.0.0.1,[name]:8", &target,
                                             why, sizeof(why)),
                     0);
    assert_string_equal(target.addresses[0].host, "fe80::1%eth0");
    assert_string_equal(target.addresses[1].host, "::ffff:10.0.0.1");
    assert_int_equal(target.addresses[1].port, 1186);
    assert_string_equal(target.addresses[2].host, "name");
    assert_int_equal(setenv("NDB_CONNECTSTRING", "envhost:7", 1), 0);
    assert_int_equal(mgm_connectstring_parse(NULL, &target, why, sizeof(why)), 0);
    assert_string_equal(target.addresses[0].host, "envhost");
    assert_int_equal(unsetenv("NDB_CONNECTSTRING"), 0);
}

static void wrong_connect_strings_are_refused(void **unused)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"nodeid=0", "nodeid=0 is wrong"},
        {"nodeid=256", "1..255"},
        {"nodeid=x", "nodeid=x"},
        {"a:0", "\"a:0\": port \"0\" is wrong (allowed range 1..65535)"},
        {"a:65536", "port \"65536\""},
        {"host:99999", "\"host:99999\": port \"99999\""},
        {"a:b", "port \"b\""},
        {"a:", "\"a:\": port \"\""},
        {":1186", "\":1186\": the host name is missing"},
        {":1186x", "\":1186x\": the host name is missing"},
        {"host:1186:x", "\"host:1186:x\" is neither host[:port] nor an IPv6 address"},
        {"10.0.0.1:1186:1", "\"10.0.0.1:1186:1\" is neither"},
        {"::", NULL}, /* An address: of no use, but one. */
        {"a,host::1186", "\"host::1186\" is neither"},
        {"1:2:3", "neither"},
        {"[a:1]:1186", "\"[a:1]:1186\" is neither"},
        {"[::1", "no closing bracket"},
        {"[]:1", "\"[]:1\": the host name is missing"},
        {"x=y", "\"x=y\" is unknown"},
        {"a b!c", "\"b!c\" is no host name"},
        {"bind-address=", "the host name is missing"},
        {"bind-address=a:1:b", "\"a:1:b\" is neither"},
        {"[::1]x", "\"[::1]x\": port \"x\""},
    };
    struct mgm_connectstring target;
    char why[256];

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        why[0] = '\0';
        int rc = mgm_connectstring_parse(wrong[i].text, &target, why, sizeof(why));
        if (wrong[i].why == NULL) {
            assert_int_equal(rc, 0);
            continue;
        }
        if (rc == 0 || strstr(why, wrong[i].why) == NULL)
            print_error("%s: %d, %s\n", wrong[i].text, rc, why);
        assert_int_equal(rc, -1);
        assert_non_null(strstr(why, wrong[i].why));
    }
}

static void names_go_both_ways(void **unused)
{
    (void)unused;
    for (int i = 0; i < NDB_MGM_CATEGORIES; i++) {
        enum ndb_mgm_category category = (enum ndb_mgm_category)(NDB_MGM_CATEGORY_FIRST + i);
        assert_int_equal(ndb_mgm_category_number(ndb_mgm_category_name(category)), category);
    }
    for (int i = 0; i <= NDB_MGM_SEVERITY_ALL; i++) {
        assert_int_equal(ndb_mgm_severity_number(ndb_mgm_severity_name((enum ndb_mgm_severity)i)),
                         i);
    }
    for (int i = 0; i <= NDB_MGM_STATUS_NO_ANSWER; i++) {
        assert_int_equal(ndb_mgm_status_number(ndb_mgm_status_name((enum ndb_mgm_node_status)i)),
                         i);
    }
    assert_int_equal(ndb_mgm_category_number("NONSENSE"), -1);
    assert_null(ndb_mgm_category_name((enum ndb_mgm_category)7));
    assert_string_equal(ndb_mgm_status_text((enum ndb_mgm_node_status)99), "unknown state");
}

static void events_read_as_in_the_field(void **unused)
{
    uint32_t data[EVENT_WORDS] = {3, 0x010000};
    uint32_t memory[EVENT_WORDS] = {1, 32, 32768, 80, 100, BLOCK_DBTUP};
    char line[512];

    (void)unused;
    event_format(EVENT_CONNECTED, data, "", line, sizeof(line));
    assert_string_equal(line, "Node 3 Connected");
    event_format(EVENT_START_PHASE_COMPLETED, data, "", line, sizeof(line));
    assert_string_equal(line, "Start phase 3 completed (unknown start type)");
    event_format(EVENT_MEMORY_USAGE, memory, "", line, sizeof(line));
    assert_string_equal(line, "Data usage increased to 80%(80 32K pages of total 100)");
    event_format(EVENT_INFO, data, "hello", line, sizeof(line));
    assert_string_equal(line, "hello");
    event_format(EVENT_LOCAL_CHECKPOINT_COMPLETED, (uint32_t[EVENT_WORDS]){25}, "", line,
                 sizeof(line));
    assert_string_equal(line, "Local checkpoint 25 completed");
    event_format(EVENT_LOCAL_CHECKPOINT_COMPLETED, (uint32_t[EVENT_WORDS]){25, 6}, "", line,
                 sizeof(line));
    assert_string_equal(line, "Local checkpoint 25 completed, but for 6 fragments");
    event_format(EVENT_LOCAL_CHECKPOINT_FAILED, (uint32_t[EVENT_WORDS]){25, 6, 1, 2810}, "", line,
                 sizeof(line));
    assert_string_equal(line,
                        "Local checkpoint 25 failed at node 1: 6 fragments, error 2810 (disk full);"
                        " its redo log fills up");
    event_format(EVENT_LOCAL_CHECKPOINT_FAILED, (uint32_t[EVENT_WORDS]){25, 1, 1, 0}, "", line,
                 sizeof(line));
    assert_string_equal(line, "Local checkpoint 25 failed at node 1: the list of its fragments "
                              "could not be written; its redo log fills up");
    assert_int_equal(event_kind(EVENT_DISCONNECTED)->severity, NDB_MGM_SEVERITY_ALERT);
    assert_int_equal(event_kind(9999)->category, NDB_MGM_CATEGORY_INFO);
    for (uint32_t type = 0; type < 100; type++)
        event_format(type, data, "", line, 16);
}

static void cluster_ids_are_read(void **unused)
{
    static const char *const wrong[] = {NULL,
                                        "",
                                        "0",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "0x1",
                                        "18446744073709551616",
                                        "99999999999999999999"};
    uint64_t id = 7;

    (void)unused;
    assert_int_equal(mgm_parse_id("1", &id), 0);
    assert_true(id == 1);
    assert_int_equal(mgm_parse_id("18446744073709551615", &id), 0);
    assert_true(id == UINT64_MAX);
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(mgm_parse_id(wrong[i], &id), -1);
        assert_true(id == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read),
        cmocka_unit_test(every_split_reads_the_same),
        cmocka_unit_test(wrong_messages_are_refused),
        cmocka_unit_test(random_bytes_never_crash),
        cmocka_unit_test(connect_strings_are_read),
        cmocka_unit_test(a_wrong_connect_string_is_told_with_its_source),
        cmocka_unit_test(wrong_connect_strings_are_refused),
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(events_read_as_in_the_field),
        cmocka_unit_test(cluster_ids_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
