/* test_mgm_misuse.c -- what a program gets wrong with the management API is an error of the call. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "ndb/mgm.h"

static void no_handle(void **unused)
{
    static struct ndb_mgm_cluster_state state;
    struct ndb_mgm_event event;
    struct ndb_mgm_memory memory;
    struct ndb_mgm_disk disk;
    struct ndb_mgm_threads threads;
    uint32_t levels[NDB_MGM_CATEGORIES] = {0};
    int enabled[NDB_MGM_SEVERITIES];
    uint8_t *bytes = NULL;
    size_t size;
    char list[8];
    (void)unused;
    ndb_mgm_destroy_handle(NULL);
    ndb_mgm_set_timeout(NULL, 1);
    ndb_mgm_set_name(NULL, "a");
    assert_int_equal(ndb_mgm_set_connectstring(NULL, "localhost"), -1);
    assert_int_equal(ndb_mgm_configured_nodeid(NULL), 0);
    assert_int_equal(ndb_mgm_address_count(NULL), 0);
    assert_int_equal(ndb_mgm_connect(NULL, 0, 0), -1);
    assert_int_equal(ndb_mgm_connect_to(NULL, 0), -1);
    assert_int_equal(ndb_mgm_disconnect(NULL), -1);
    assert_int_equal(ndb_mgm_is_connected(NULL), 0);
    assert_string_equal(ndb_mgm_connected_host(NULL), "");
    assert_int_equal(ndb_mgm_connected_port(NULL), 0);
    assert_int_equal(ndb_mgm_socket(NULL), -1);
    assert_int_equal(ndb_mgm_get_configuration(NULL, &bytes, &size), -1);
    assert_null(bytes);
    assert_int_equal(ndb_mgm_reload_config(NULL, NULL), -1);
    assert_int_equal(ndb_mgm_alloc_nodeid(NULL, NDB_MGM_NODE_API, 0, NULL), -1);
    assert_int_equal(ndb_mgm_free_nodeid(NULL, 1), -1);
    assert_int_equal(ndb_mgm_get_mgmd_nodeid(NULL), -1);
    assert_int_equal(ndb_mgm_set_connection_port(NULL, 1, 2, 3), -1);
    assert_int_equal(ndb_mgm_get_connection_port(NULL, 1, 2), -1);
    assert_int_equal(ndb_mgm_set_logfilter(NULL, NDB_MGM_SEVERITY_INFO, 1), -1);
    assert_int_equal(ndb_mgm_get_logfilter(NULL, enabled), -1);
    assert_int_equal(ndb_mgm_set_cluster_loglevel(NULL, 0, NDB_MGM_CATEGORY_INFO, 1), -1);
    assert_int_equal(ndb_mgm_set_node_loglevel(NULL, 0, NDB_MGM_CATEGORY_INFO, 1), -1);
    assert_int_equal(ndb_mgm_get_cluster_loglevel(NULL, levels), -1);
    assert_int_equal(ndb_mgm_listen_events(NULL, levels), -1);
    assert_int_equal(ndb_mgm_next_event(NULL, &event, 1), -1);
    assert_int_equal(ndb_mgm_get_status(NULL, &state), -1);
    assert_int_equal(ndb_mgm_report_memory(NULL, 0, &memory, 1), -1);
    assert_int_equal(ndb_mgm_report_disk(NULL, 0, &disk, 1), -1);
    assert_int_equal(ndb_mgm_report_threads(NULL, 0, &threads, 1), -1);
    assert_int_equal(ndb_mgm_report_events(NULL, 0, &event, 1), -1);
    assert_int_equal(ndb_mgm_start(NULL, NULL, 0), -1);
    assert_int_equal(ndb_mgm_stop(NULL, NULL, 0, 0, NULL), -1);
    assert_int_equal(ndb_mgm_restart(NULL, NULL, 0, 0, NULL), -1);
    assert_int_equal(ndb_mgm_check_restart(NULL, 0), -1);
    assert_int_equal(ndb_mgm_shutdown(NULL), -1);
    assert_int_equal(ndb_mgm_enter_single_user(NULL, 1), -1);
    assert_int_equal(ndb_mgm_exit_single_user(NULL), -1);
    assert_int_equal(ndb_mgm_purge_stale_sessions(NULL, list, sizeof list), -1);
    assert_int_equal(ndb_mgm_report_stop(NULL, 1, 1, 0, 0, 0, ""), -1);
    assert_int_equal(ndb_mgm_claim_cluster(NULL, 1, 1), -1);
    assert_int_equal(ndb_mgm_dump_state(NULL, 1, levels, 1), -1);
    assert_int_equal(ndb_mgm_error_code(NULL), NDB_MGM_USAGE_ERROR);
    assert_string_equal(ndb_mgm_error_text(NULL), "No handle given");
}

static ndb_mgm_handle_t *handle;

static void refused(int result, const char *text)
{
    assert_int_equal(result, -1);
    assert_int_equal(ndb_mgm_error_code(handle), NDB_MGM_USAGE_ERROR);
    assert_non_null(strstr(ndb_mgm_error_text(handle), text));
}

/* Refused before anything is sent: there is no server. */
static void arguments(void **unused)
{
    uint8_t *bytes;
    const uint32_t many[25] = {0};
    struct ndb_mgm_event event;
    (void)unused;
    handle = ndb_mgm_create_handle();
    assert_non_null(handle);
    refused(ndb_mgm_get_configuration(handle, NULL, NULL), "No place");
    refused(ndb_mgm_get_configuration(handle, &bytes, NULL), "No place");
    refused(ndb_mgm_reload_config(handle, "a\n\nstop all"), "The file has a line end");
    refused(ndb_mgm_alloc_nodeid(handle, (enum ndb_mgm_node_type)3, 0, NULL), "node type");
    refused(ndb_mgm_alloc_nodeid(handle, NDB_MGM_NODE_API, 0, "a\nb"), "The host has a line end");
    refused(ndb_mgm_get_logfilter(handle, NULL), "No place");
    refused(ndb_mgm_get_cluster_loglevel(handle, NULL), "No place");
    refused(ndb_mgm_listen_events(handle, NULL), "No levels");
    refused(ndb_mgm_next_event(handle, NULL, 1), "No place");
    refused(ndb_mgm_next_event(handle, &event, 1), "does not listen");
    refused(ndb_mgm_get_status(handle, NULL), "No place");
    refused(ndb_mgm_report_memory(handle, 0, NULL, 1), "No place");
    refused(ndb_mgm_report_disk(handle, 0, NULL, 1), "No place");
    refused(ndb_mgm_report_threads(handle, 0, NULL, 1), "No place");
    refused(ndb_mgm_report_events(handle, 0, NULL, 1), "No place");
    refused(ndb_mgm_start(handle, NULL, 1), "count");
    refused(ndb_mgm_stop(handle, NULL, 1, 0, NULL), "count");
    refused(ndb_mgm_restart(handle, NULL, 1, 0, NULL), "count");
    refused(ndb_mgm_dump_state(handle, 1, NULL, 1), "count");
    refused(ndb_mgm_dump_state(handle, 1, many, 25), "1..24");
    refused(ndb_mgm_purge_stale_sessions(handle, NULL, 8), "No place");
    refused(ndb_mgm_report_stop(handle, 1, 1, 0, 0, 0, NULL), "No text");
    ndb_mgm_set_name(handle, NULL);
    assert_int_equal(ndb_mgm_free_nodeid(handle, 1), -1);
    assert_int_equal(ndb_mgm_error_code(handle), NDB_MGM_SERVER_NOT_CONNECTED);
    ndb_mgm_destroy_handle(handle);
}

static void names(void **unused)
{
    (void)unused;
    assert_int_equal(ndb_mgm_category_number(NULL), -1);
    assert_int_equal(ndb_mgm_severity_number(NULL), -1);
    assert_int_equal(ndb_mgm_status_number(NULL), -1);
    assert_int_equal(ndb_mgm_type_number(NULL), -1);
    assert_null(ndb_mgm_category_name((enum ndb_mgm_category)0));
    assert_null(ndb_mgm_type_name((enum ndb_mgm_node_type)9));
    assert_int_equal(ndb_mgm_check_connectstring("a:b:c", NULL, NULL, 0), -1);
    assert_int_equal(ndb_mgm_check_connectstring("localhost", NULL, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_handle),
        cmocka_unit_test(arguments),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
