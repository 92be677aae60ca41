/* test_mc_meta.c -- meta commands: flags, keys in base64, mistakes and answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "servers/memcached/mc_text_line.h"
#include "tests/unit/support/mc_script.h"

#define K50  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K250 K50 K50 K50 K50 K50
#define O31  "1234567890123456789012345678901"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct line {
    const char *bytes, *expected;
};

static const struct line commands[] = {
    {"mn\r\n", "NOOP metan\n"},
    {"mn foo bar\n", "NOOP metan\n"},
    {"mg a\r\n", "GET a metag\n"},
    {"mg a v\r\n", "GET a metag return=v want\n"},
    {"mg a s\r\n", "GET a metag return=s want\n"},
    {"mg a s v O123 k t c f h l\r\n", "GET a metag return=svOktcfhl opaque=123 want\n"},
    {"mg a kfoo vbar qz\r\n", "GET a metag quiet return=kv want\n"},
    {"mg a q u P L\r\n", "GET a metag quiet no_bump\n"},
    {"mg a T30 t\r\n", "GET a metag return=Tt expiry=1000030 touch\n"},
    {"mg a t T0\r\n", "GET a metag return=tT touch\n"},
    {"mg a N30 R10 E77\r\n", "GET a metag return=NR vivify=1000030 recache=1000010 new_cas=77\n"},
    {"mg a N-1 R-1\r\n", "GET a metag return=NR vivify=1 recache=1\n"},
    {"mg a R99999999999\r\n", "GET a metag return=R recache=4294967295\n"},
    {"mg a R0\r\n", "GET a metag return=R recache=0\n"},
    {"mg a v C12\r\n", "GET a metag mute return=v want cas=12\n"},
    {"mg a O\r\n", "GET a metag return=O\n"},
    {"mg a O" O31 "\r\n", "GET a metag return=O opaque=" O31 "\n"},
    {"mg a I x MI D2 J1\r\n", "GET a metag delta=2 initial=1\n"},
    {"mg YWI= b k v\r\n", "GET ab metag base64 return=kv want\n"},
    {"mg YQoA/w== b\r\n", "GET a\\x0a\\x00\\xff metag base64\n"},
    {"mg " K250 "\r\n", "GET " K250 " metag\n"},
    {"mg a P1 L2 c f h k l O1 q s t u v C1 D1 F1 I J1 N1 R1\r\n",
     "GET a metag quiet mute return=cfhklOstvNR opaque=1 flags=1 want cas=1 delta=1 initial=1 "
     "no_bump vivify=1000001 recache=1000001\n"},
    {"ms a 1\r\nx\r\n", "SET a metas value=x\n"},
    {"ms a 1 \r\nx\r\n", "SET a metas value=x\n"},
    {"ms a 0\r\n\r\n", "SET a metas value=\n"},
    {"ms a 2 F7 T60 k q O1 c s\r\nxx\r\n",
     "SET a metas quiet return=kOcs opaque=1 value=xx flags=7 expiry=1000060\n"},
    {"ms a 1 C5 I E6\r\nx\r\n", "SET a metas value=x cas=5 invalidate new_cas=6\n"},
    {"ms a 1 MS\r\nx\r\n", "SET a metas value=x\n"},
    {"ms a 1 ME\r\nx\r\n", "ADD a metas value=x\n"},
    {"ms a 1 MA\r\nx\r\n", "APPEND a metas value=x\n"},
    {"ms a 1 MP N0\r\nx\r\n", "PREPEND a metas value=x vivify=0\n"},
    {"ms a 1 MR N0\r\nx\r\n", "REPLACE a metas value=x\n"},
    {"ms a 1 T-1 Pfoo Lbar h v t f u x D1\r\nx\r\n",
     "SET a metas value=x expiry=1 delta=1 no_bump\n"},
    {"ms YWI= 2 b\r\nxx\r\n", "SET ab metas base64 value=xx\n"},
    {"ms a 2 I\r\n\r\n\r\n", "SET a metas value=\\x0d\\x0a invalidate\n"},
    {"md a\r\n", "DELETE a metad\n"},
    {"md a q k O1 C4\r\n", "DELETE a metad quiet return=kO opaque=1 cas=4\n"},
    {"md a I T30 x E9\r\n",
     "DELETE a metad expiry=1000030 touch invalidate drop_value new_cas=9\n"},
    {"md a T30 N1 c v t s f\r\n", "DELETE a metad\n"},
    {"md YWI= k b\r\n", "DELETE ab metad base64 return=k\n"},
    {"ma a\r\n", "INCREMENT a metaa delta=1\n"},
    {"ma a C0\r\nms a 1 MA C0\r\nx\r\n", "INCREMENT a metaa delta=1\nAPPEND a metas value=x\n"},
    {"ms a 1 C0\r\nx\r\nms a 1 MR C0\r\nx\r\n",
     "SET a metas value=x cas=0\nREPLACE a metas value=x cas=0\n"},
    {"ma a MI D5 v t c\r\n", "INCREMENT a metaa return=vtc delta=5\n"},
    {"ma a M+\r\nma a MD\r\nma a M- D0\r\n",
     "INCREMENT a metaa delta=1\nDECREMENT a metaa delta=1\nDECREMENT a metaa\n"},
    {"ma a N0 J99 q\r\n", "INCREMENT a metaa quiet return=N create delta=1 initial=99 vivify=0\n"},
    {"ma a N30\r\n", "INCREMENT a metaa return=N expiry=1000030 create delta=1 vivify=1000030\n"},
    {"ma a T60 N30\r\n",
     "INCREMENT a metaa return=TN expiry=1000060 touch create delta=1 vivify=1000030\n"},
    {"ma a t T60 C3 E4 I x\r\n",
     "INCREMENT a metaa return=tT expiry=1000060 touch cas=3 delta=1 new_cas=4\n"},
    {"ma YWI= b k O1 J18446744073709551615\r\n",
     "INCREMENT ab metaa base64 return=kO opaque=1 delta=1 initial=18446744073709551615\n"},
    {"me a\r\n", "GET a metae want no_bump\n"},
    {"me a q O1 x\r\n", "GET a metae want no_bump\n"},
    {"me YWI= b\r\n", "GET ab metae base64 want no_bump\n"},
};

#define ERROR      "BAD: ERROR\n"
#define SHORT      "BAD: CLIENT_ERROR bad command line format\n"
#define BAD        "BAD meta: CLIENT_ERROR "
#define BAD_FORMAT BAD "bad command line format\n"
#define BAD_TOKEN  BAD "bad token in command line format\n"
#define BAD_KEY    BAD "error decoding key\n"
#define MODE       BAD "incorrect length for M token\n"
#define FLAG       BAD "invalid flag\n"
#define SOME_FLAG  BAD "invalid or duplicate flag\n" /* The answer to a wrong flag of ma. */

static const struct line mistakes[] = {
    {"mg\r\nmd\r\nma \r\nms\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"me\r\n", BAD_FORMAT},
    {"mx a\r\nmG a\r\nm a\r\nmgg a\r\n", ERROR ERROR ERROR ERROR},
    {"mg k" K250 " q\r\n", BAD_FORMAT},
    {"md k" K250 "\r\nma k" K250 "\r\nme k" K250 "\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"ms k" K250 " 1\r\nx\r\nmn\r\n", BAD_FORMAT "NOOP metan\n"},
    {"ms a\r\n", BAD_FORMAT},
    {"ms a x\r\nxy\r\n", BAD_FORMAT ERROR},
    {"ms a S1\r\nms a -1\r\nms a 2147483646\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"ms a 1 q\r\nxyz2\r\nmn\r\n", BAD "bad data chunk\n" SHORT "NOOP metan\n"},
    {"mg a a\r\nmg a S5\r\nmg a 1\r\nmg a q noreply\r\n", FLAG FLAG FLAG FLAG},
    {"mg a \xe4\r\nma a \x01\r\nmd a i\r\n", FLAG SOME_FLAG FLAG},
    {"mg a Tx i Nx\r\nmg a Tx Fx v v\r\nmg a Tx Fx\r\n", FLAG BAD "duplicate flag\n" BAD_TOKEN},
    {"mg a b Tx\r\nmg a Tx b\r\n", BAD_TOKEN BAD_KEY},
    {"mg a b Fx\r\nmg a Tx Fx\r\n", BAD_KEY BAD_TOKEN},
    {"mg a Fx O" O31 "2\r\nmg a O" O31 "2 Fx\r\n", BAD_FORMAT BAD_FORMAT},
    {"ms a 4 q ! k O1\r\nabcd\r\nmn\r\n", FLAG "NOOP metan\n"},
    {"mg a v v\r\nms a 1 c c\r\nx\r\n", BAD "duplicate flag\n" BAD "duplicate flag\n"},
    {"mg a O" O31 "2\r\n", BAD "opaque token too long\n"},
    {"mg a O" O31 "2 Tx\r\nmd a O" O31 "2\r\n", BAD_TOKEN BAD "opaque token too long\n"},
    {"ms a 1 q O" O31 "2\r\nx\r\n", BAD "opaque token too long\n"},
    {"mg a T\r\nmg a Tx\r\nmg a N\r\nmg a Rx\r\n", BAD_TOKEN BAD_TOKEN BAD_TOKEN BAD_TOKEN},
    {"md a Cx\r\nma a C\r\nma a E-1\r\n", BAD_TOKEN SOME_FLAG SOME_FLAG},
    {"mg a C18446744073709551616\r\n", BAD_TOKEN},
    {"ms a 1 F\r\nx\r\nms a 1 F-1\r\nx\r\n", BAD_FORMAT BAD_FORMAT},
    {"ms a 1 F4294967296\r\nx\r\n", BAD_FORMAT},
    {"ms a 1 M\r\nx\r\nms a 1 Madd\r\nx\r\nmg a M\r\n", MODE MODE MODE},
    {"ms a 1 MX\r\nx\r\nms a 1 Ms\r\nx\r\n",
     BAD "invalid mode for ms M token\n" BAD "invalid mode for ms M token\n"},
    {"ma a Mi\r\nma a MA q\r\n",
     BAD "invalid mode for ma M token\n" BAD "invalid mode for ma M token\n"},
    {"ma a Jx\r\nma a J\r\nma a Dx\r\nma a D-1\r\n", SOME_FLAG SOME_FLAG SOME_FLAG SOME_FLAG},
    {"mg a Jx\r\nmg a Dx\r\n",
     BAD "invalid numeric initial value\n" BAD "invalid numeric delta value\n"},
    {"ma a D18446744073709551616\r\n", SOME_FLAG},
    {"mg a b\r\nmg YWI b\r\nmg Y!I= b\r\n", BAD_KEY BAD_KEY BAD_KEY},
    {"mg ==== b\r\nmg = b\r\nmg YWI=YWI= b\r\n", BAD_KEY BAD_KEY BAD_KEY},
    {"mg YWJ= b\r\nmg YQ=a b\r\nmg Y=== b\r\n", BAD_KEY BAD_KEY BAD_KEY},
    {"md a b q\r\nma a b\r\nms a 2 b\r\nxx\r\n", BAD_KEY SOME_FLAG BAD_KEY},
    {"me a b\r\n", BAD_FORMAT},
    {"mg a v v v v v v v v v v v v v v v v v v v v v\r\n", BAD "options flags are too long\n"},
    {"ms a 1 v v v v v v v v v v v v v v v v v v v v v\r\nx\r\nmn\r\n",
     BAD "options flags are too long\nNOOP metan\n"},
    {"md a v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v v\r\n",
     BAD "options flags are too long\n"},
    {"ms a 1001 q\r\nx", "BAD a meta: SERVER_ERROR object too large for cache\n"},
    {"ms a 1001 ME\r\nx", "BAD meta: SERVER_ERROR object too large for cache\n"},
};

static uint32_t piece_of(void *context)
{
    return *(const uint32_t *)context;
}

static void assert_line(const struct line *line, uint32_t piece)
{
    struct mc_script script;

    mc_script_begin(&script);
    script.piece = piece_of;
    script.context = &piece;
    script.exact = true;
    mc_script_run(&script, line->bytes, (uint32_t)strlen(line->bytes));
    if (script.broken != NULL || strcmp(mc_script_text(&script), line->expected) != 0)
        print_message("%s\n", line->bytes);
    assert_null(script.broken);
    assert_string_equal(mc_script_text(&script), line->expected);
    assert_int_equal(script.left, 0);
    mc_script_end(&script);
}

static void assert_lines(const struct line *lines, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        for (uint32_t piece = 1; piece <= strlen(lines[index].bytes); piece++)
            assert_line(&lines[index], piece);
    }
}

static void every_flag(void **state)
{
    (void)state;
    assert_lines(commands, COUNT(commands));
}

static void every_mistake(void **state)
{
    (void)state;
    assert_lines(mistakes, COUNT(mistakes));
}

/* Every key of up to 187 bytes, and back. */
static void base64(void **state)
{
    char bytes[MC_KEY_MAX], again[MC_KEY_MAX];
    uint64_t seed = 1;

    (void)state;
    for (uint32_t size = 1; size <= 187; size++) {
        struct mc_output text = {0};
        for (uint32_t at = 0; at < size; at++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[at] = (char)(seed >> 56);
        }
        mc_base64_put(bytes, size, &text);
        assert_int_equal(text.size, (size + 2) / 3 * 4);
        assert_int_equal(mc_base64_decode(text.bytes, text.size, again), size);
        assert_memory_equal(bytes, again, size);
        mc_output_free(&text);
    }
    struct mc_output failed = {.failed = true};
    mc_base64_put(bytes, 3, &failed);
    assert_int_equal(failed.size, 0);
}

struct reply {
    const char *bytes;
    struct mc_result result;
    const char *value, *expected;
};

#define NOW MC_SCRIPT_NOW

static const struct reply replies[] = {
    {"mn\r\n", {0}, NULL, "MN\r\n"},
    {"mg a\r\n", {0}, NULL, "HD\r\n"},
    {"mg a v\r\n", {0}, "xyz", "VA 3\r\nxyz\r\n"},
    {"mg a v q\r\n", {0}, "xyz", "VA 3\r\nxyz\r\n"},
    {"mg a v\r\n", {.won = true}, NULL, "VA 0 W\r\n\r\n"},
    {"mg a k f s t c v O77 h l\r\n",
     {.flags = 7, .cas = 41, .fetched = true, .accessed = 5},
     "xx",
     "VA 2 ka f7 s2 t-1 c41 O77 h1 l5\r\nxx\r\n"},
    {"mg a h t s\r\n", {.expiry = NOW + 30}, "xx", "HD h0 t30 s2\r\n"},
    {"mg a t\r\n", {.expiry = NOW}, NULL, "HD t0\r\n"},
    {"mg a t T30\r\n", {.expiry = NOW - 1}, NULL, "HD t0\r\n"},
    {"mg a c v\r\n", {.cas = 2, .stale = true, .won = true}, "x", "VA 1 c2 X W\r\nx\r\n"},
    {"mg a v\r\n", {.stale = true, .token_sent = true}, "x", "VA 1 Z X\r\nx\r\n"},
    {"mg a v c C5\r\n", {.cas = 5}, "x", "HD c5\r\n"},
    {"mg a v c C5\r\n", {.cas = 6}, "x", "VA 1 c6\r\nx\r\n"},
    {"mg YWI= k b v O1\r\n", {0}, "xx", "VA 2 kYWI= b O1\r\nxx\r\n"},
    {"mg a k O1 v c t\r\n", {.status = MC_NOT_FOUND}, NULL, "EN ka O1\r\n"},
    {"mg YWI= b k\r\n", {.status = MC_NOT_FOUND}, NULL, "EN kYWI= b\r\n"},
    {"mg YWI= b\r\n", {.status = MC_NOT_FOUND}, NULL, "EN\r\n"},
    {"mg a q k\r\n", {.status = MC_NOT_FOUND}, NULL, ""},
    {"mg a q k\r\n", {.status = MC_FAILED}, NULL, "SERVER_ERROR database error\r\n"},
    {"mg a\r\n", {.status = MC_NOT_SUPPORTED}, NULL, "SERVER_ERROR not supported\r\n"},
    {"mg a q v v\r\n", {0}, NULL, "CLIENT_ERROR duplicate flag\r\n"},
    {"ms a 2\r\nxx\r\n", {0}, NULL, "HD\r\n"},
    {"ms a 2 c k O4 s b\r\nxx\r\n", {0}, NULL, "CLIENT_ERROR error decoding key\r\n"},
    {"ms YWI= 2 c k O4 s b\r\nxx\r\n", {.cas = 9}, NULL, "HD c9 kYWI= b O4 s2\r\n"},
    {"ms a 2 q c\r\nxx\r\n", {.cas = 9}, NULL, ""},
    {"ms a 2 q k c C1\r\nxx\r\n", {.status = MC_EXISTS, .cas = 3}, NULL, "EX ka c0\r\n"},
    {"ms a 2 q k c ME\r\nxx\r\n", {.status = MC_NOT_STORED}, NULL, "NS ka c0\r\n"},
    {"ms a 2 C1 O1 s\r\nxx\r\n", {.status = MC_NOT_FOUND}, NULL, "NF O1\r\n"},
    {"ms a 2 q\r\nxx\r\n",
     {.status = MC_NO_MEMORY},
     NULL,
     "SERVER_ERROR out of memory storing object\r\n"},
    {"ms a 2 q\r\nxx\r\n",
     {.status = MC_TOO_LARGE, .message = "VALUE_TOO_LARGE"},
     NULL,
     "SERVER_ERROR VALUE_TOO_LARGE\r\n"},
    {"ms a 2\r\nxx\r\n", {.status = MC_INVALID}, NULL, "CLIENT_ERROR invalid arguments\r\n"},
    {"ms a 2\r\nxx\r\n", {.status = MC_TEMPORARY}, NULL, "SERVER_ERROR temporary failure\r\n"},
    {"ms a 2\r\nxx\r\n",
     {.status = MC_AUTH_ERROR},
     NULL,
     "CLIENT_ERROR authentication failure\r\n"},
    {"ms a 2\r\nxx\r\n", {.status = MC_STATUSES}, NULL, "SERVER_ERROR database error\r\n"},
    {"ms a 2 q !\r\nxx\r\n", {0}, NULL, "CLIENT_ERROR invalid flag\r\n"},
    {"md a k O2\r\n", {0}, NULL, "HD ka O2\r\n"},
    {"md a k O2 q\r\n", {0}, NULL, ""},
    {"md a k O1 q\r\n", {.status = MC_NOT_FOUND}, NULL, "NF ka O1\r\n"},
    {"md a C1 q O2 k\r\n", {.status = MC_EXISTS}, NULL, "EX O2 ka\r\n"},
    {"ma a\r\n", {.number = 12}, NULL, "HD\r\n"},
    {"ma a v\r\n", {.number = 12}, NULL, "VA 2\r\n12\r\n"},
    {"ma a v\r\n", {.number = 9}, NULL, "VA 1\r\n9\r\n"},
    {"ma a v\r\n", {.number = UINT64_MAX}, NULL, "VA 20\r\n18446744073709551615\r\n"},
    {"ma a v t c k O3\r\n", {.number = 0, .cas = 46}, NULL, "VA 1 t-1 c46 ka O3\r\n0\r\n"},
    {"ma a q v\r\n", {.number = 1}, NULL, ""},
    {"ma a q v N0\r\n", {.number = 7, .created = true}, NULL, "VA 1\r\n7\r\n"},
    {"ms a 2 q N0 MA\r\nxx\r\n", {.created = true}, NULL, ""},
    {"ma a q k O1 c\r\n", {.status = MC_NOT_FOUND}, NULL, "NF ka O1\r\n"},
    {"ma a N0\r\n", {.status = MC_NOT_STORED}, NULL, "NS\r\n"},
    {"ma a C1\r\n", {.status = MC_EXISTS}, NULL, "EX\r\n"},
    {"ma a q\r\n",
     {.status = MC_NON_NUMERIC},
     NULL,
     "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
    {"me a\r\n", {.cas = 61}, "1", "ME a exp=-1 la=0 cas=61 fetch=no cls=1 size=2\r\n"},
    {"me YWI= b\r\n",
     {.expiry = NOW + 100, .accessed = 7, .fetched = true},
     "",
     "ME YWI= exp=100 la=7 cas=0 fetch=yes cls=1 size=2\r\n"},
    {"me a q k\r\n", {.status = MC_NOT_FOUND}, NULL, "EN\r\n"},
    {"me a\r\n", {.status = MC_FAILED}, NULL, "SERVER_ERROR database error\r\n"},
};

static void every_reply(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT(replies); index++) {
        const struct reply *reply = &replies[index];
        struct mc_parser parser = {.value_max = 1000};
        struct mc_request request = {0};
        struct mc_output output = {0};
        uint32_t used, needed;
        assert_int_equal(mc_text_parse(&parser, reply->bytes, (uint32_t)strlen(reply->bytes),
                                       MC_SCRIPT_NOW, &request, &used, &needed),
                         MC_PARSED_REQUEST);
        if (request.command != MC_BAD) request.result = reply->result;
        if (reply->value != NULL) {
            uint32_t size = (uint32_t)strlen(reply->value);
            request.result.value = mc_value_create(size);
            assert_non_null(request.result.value);
            memcpy(request.result.value->bytes, reply->value, size);
        }
        mc_meta_reply(&request, MC_SCRIPT_NOW, &output);
        mc_put(&output, "", 1);
        assert_string_equal(output.bytes, reply->expected);
        mc_output_free(&output);
        mc_request_clear(&request);
    }
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* A command with some flags, good ones more often than others, and perhaps another byte in it. */
static uint32_t make_line(char *bytes, size_t room, uint64_t *seed)
{
    static const char *const tokens[] = {"", "1", "30", "-1", "S", "+", "x", O31, O31 "1"};
    static const char *const heads[] = {"mg a", "mg YWI=", "ms a 3",  "ms YQ== 0", "md a",
                                        "ma a", "mn",      "me YQ==", "ms a x",    "mz a"};
    static const char letters[] = "bcfhklqstuvxCDEFIJLMNOPRTbkbkZ\x80";
    int size = snprintf(bytes, room, "%s", heads[next_random(seed) % COUNT(heads)]);

    for (uint32_t flags = next_random(seed) % 8; flags > 0; flags--) {
        size += snprintf(bytes + size, room - (size_t)size, " %c%s",
                         letters[next_random(seed) % (sizeof letters - 1)],
                         tokens[next_random(seed) % COUNT(tokens)]);
    }
    size += snprintf(bytes + size, room - (size_t)size, "\r\nabc\r\n");
    if (next_random(seed) % 4 == 0)
        bytes[next_random(seed) % (uint32_t)size] = (char)next_random(seed);
    return (uint32_t)size;
}

static void anything(void **state)
{
    const char *wish = getenv("MC_TEXT_INPUTS");
    uint32_t inputs = wish == NULL ? 100000 : (uint32_t)strtoul(wish, NULL, 10);
    char bytes[600];

    (void)state;
    for (uint32_t input = 0; input < inputs; input++) {
        uint64_t seed = input;
        uint32_t size = make_line(bytes, sizeof bytes, &seed), piece = 1 + input % 7;
        struct mc_script whole, pieces;
        mc_script_begin(&whole);
        mc_script_begin(&pieces);
        whole.exact = pieces.exact = true;
        pieces.piece = piece_of;
        pieces.context = &piece;
        mc_script_run(&whole, bytes, size);
        mc_script_run(&pieces, bytes, size);
        if (whole.broken != NULL || pieces.broken != NULL) print_message("input %u\n", input);
        assert_null(whole.broken);
        assert_null(pieces.broken);
        assert_string_equal(mc_script_text(&whole), mc_script_text(&pieces));
        mc_script_end(&whole);
        mc_script_end(&pieces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flag),  cmocka_unit_test(every_mistake), cmocka_unit_test(base64),
        cmocka_unit_test(every_reply), cmocka_unit_test(anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
