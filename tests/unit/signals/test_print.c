/* test_print.c -- every signal has a name and a field table that fits its struct. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "signals/print.h"
#include "signals/qmgr.h"
#include "signals/tckey.h"

static void test_fields_fill_struct(void **state)
{
    (void)state;
    for (uint32_t i = 0; signal_shape_at(i) != NULL; i++) {
        const struct signal_shape *shape = signal_shape_at(i);
        uint32_t next = 0;
        for (uint32_t f = 0; f < shape->field_count; f++) {
            if (shape->fields[f].word != next)
                fail_msg("%s.%s: gap", shape->name, shape->fields[f].name);
            next += shape->fields[f].words;
        }
        if (next != shape->words)
            fail_msg("%s: %u words named of %u", shape->name, next, shape->words);
    }
}

static void test_numbers_are_unique(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (uint32_t i = 0; signal_shape_at(i) != NULL; i++) {
        const struct signal_shape *shape = signal_shape_at(i);
        assert_true(shape->gsn > last);
        last = shape->gsn;
        assert_true(last < 1024);
        assert_string_equal(gsn_name(shape->gsn), shape->name);
        assert_ptr_equal(signal_shape(shape->gsn), shape);
        assert_true(shape->sections_min <= shape->sections_max);
        assert_true(shape->sections_max <= SIGNAL_SECTIONS_MAX);
    }
    assert_true(last > 200);
    assert_string_equal(gsn_name(1023), "UNKNOWN");
    assert_null(signal_shape(1023));
}

/* A REQ of gsn.def has a CONF, under the names of the grammar. */
static void test_each_request_has_an_answer(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"REQ", "CONF", "REF"};
    for (uint32_t i = 0; signal_shape_at(i) != NULL; i++) {
        const char *name = signal_shape_at(i)->name;
        size_t length = strlen(name);
        if (length < 4 || strcmp(name + length - 3, suffixes[0]) != 0) continue;
        if (strcmp(name, "SCAN_NEXTREQ") == 0 || strcmp(name, "SCAN_FRAG_NEXTREQ") == 0)
            continue;                                        /* Trains. */
        if (strcmp(name, "CNTR_INCLUDE_REQ") == 0) continue; /* Answered by an order to all. */
        char conf[64];
        memcpy(conf, name, length - 3);
        memcpy(conf + length - 3, "CONF", 5);
        uint32_t found = 0;
        for (uint32_t j = 0; signal_shape_at(j) != NULL; j++)
            found += strcmp(signal_shape_at(j)->name, conf) == 0;
        if (found != 1) fail_msg("%s has no %s", name, conf);
    }
}

static void test_describe(void **state)
{
    (void)state;
    char text[400];
    struct tckeyref ref = {.api_op = 7, .transid1 = 0xABCDEF01, .transid2 = 2, .error = 626};
    struct signal sig = {.gsn = GSN_TCKEYREF, .words = 4, .payload = (const uint32_t *)&ref};
    uint32_t length = signal_describe(&sig, text, sizeof(text));
    assert_string_equal(text, "api_op=7 transid1=0xabcdef01 transid2=2 error=626");
    assert_int_equal(length, strlen(text));

    sig.words = 2; /* As a trace keeps it. */
    signal_describe(&sig, text, sizeof(text));
    assert_string_equal(text, "api_op=7 transid1=0xabcdef01");

    uint32_t words[6] = {1, 2, 3, 4, 5, 6};
    struct signal longer = {.gsn = GSN_CM_HEARTBEAT,
                            .words = 3,
                            .payload = words,
                            .section_count = 1,
                            .section = {{words, 6}}};
    signal_describe(&longer, text, sizeof(text));
    assert_string_equal(text, "incarnation=1 2 3 section0=6w");

    struct signal unknown = {.gsn = 1000, .words = 2, .payload = words};
    signal_describe(&unknown, text, sizeof(text));
    assert_string_equal(text, "1 2");
}

static void test_describe_small_buffer(void **state)
{
    (void)state;
    uint32_t words[25] = {0};
    struct signal sig = {.gsn = GSN_CM_REGCONF, .words = 20, .payload = words};
    for (uint32_t size = 0; size < 300; size++) {
        char text[301];
        memset(text, 'x', sizeof(text));
        uint32_t length = signal_describe(&sig, text, size);
        assert_true(size == 0 ? length == 0 : length < size);
        assert_int_equal(text[size], 'x');
        if (size > 0) assert_int_equal(strlen(text), length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_fill_struct),
        cmocka_unit_test(test_numbers_are_unique),
        cmocka_unit_test(test_each_request_has_an_answer),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_describe_small_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
