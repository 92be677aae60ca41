/* test_mc_text.c -- the text protocol: every command, every mistake, every way to cut it. */
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

struct line {
    const char *bytes, *expected;
};

static const struct line commands[] = {
    {"get a\r\n", "GET a want\nNOOP\n"},
    {"get a\n", "GET a want\nNOOP\n"},
    {" get  a  \r\n", "GET a want\nNOOP\n"},
    {"bget a\r\n", "GET a want\nNOOP\n"},
    {"get a bb c\r\n", "GET a want\nGET bb want\nGET c want\nNOOP\n"},
    {"gets a b\r\n", "GET a with_cas want\nGET b with_cas want\nNOOP with_cas\n"},
    {"get a\tb noreply\r\n", "GET a\\x09b want\nGET noreply want\nNOOP\n"},
    {"get a\r\r\n", "GET a\\x0d want\nNOOP\n"},
    {"get " K250 "\r\n", "GET " K250 " want\nNOOP\n"},
    {"gat 10 a b\r\n", "GET a expiry=1000010 want touch\nGET b expiry=1000010 want touch\nNOOP\n"},
    {"gats 0 a\r\n", "GET a with_cas want touch\nNOOP with_cas\n"},
    {"gat -1 a\n", "GET a expiry=1 want touch\nNOOP\n"},
    {"set a 1 0 3\r\nxyz\r\n", "SET a value=xyz flags=1\n"},
    {"set a 1 0 3\nxyz\r\n", "SET a value=xyz flags=1\n"},
    {"set a 4294967295 60 0\r\n\r\n", "SET a value= flags=4294967295 expiry=1000060\n"},
    {"set a +1 -1 +1\r\nx\r\n", "SET a value=x flags=1 expiry=1\n"},
    {"set a 0 2592000 1\r\nx\r\n", "SET a value=x expiry=3592000\n"},
    {"set a 0 2592001 1\r\nx\r\n", "SET a value=x expiry=2592001\n"},
    {"set a 0 99999999999 1\r\nx\r\n", "SET a value=x expiry=4294967295\n"},
    {"set a 0 0 1 noreply\r\nx\r\n", "SET a quiet value=x\n"},
    {"set a 0 0 1 other\r\nx\r\n", "SET a value=x\n"},
    {"set a 0 0 4\r\n\r\n\r\n\r\n", "SET a value=\\x0d\\x0a\\x0d\\x0a\n"},
    {"add a 0 0 1\r\nx\r\n", "ADD a value=x\n"},
    {"replace a 0 0 1\r\nx\r\n", "REPLACE a value=x\n"},
    {"append a 0 0 1\r\nx\r\n", "APPEND a value=x\n"},
    {"prepend a 0 0 1\r\nx\r\n", "PREPEND a value=x\n"},
    {"cas a 0 0 1 7\r\nx\r\n", "SET a value=x cas=7\n"},
    {"cas a 0 0 1 0\r\nx\r\n", "SET a value=x cas=0\n"},
    {"cas a 0 0 1 18446744073709551615 noreply\r\nx\r\n",
     "SET a quiet value=x cas=18446744073709551615\n"},
    {"touch a 10\r\n", "GET a touch_only expiry=1000010 touch\n"},
    {"touch a 0 noreply\r\n", "GET a quiet touch_only touch\n"},
    {"delete a\r\n", "DELETE a\n"},
    {"delete noreply\r\n", "DELETE noreply\n"},
    {"delete a 0\r\n", "DELETE a\n"},
    {"delete a noreply\r\n", "DELETE a quiet\n"},
    {"delete a 0 noreply\r\n", "DELETE a quiet\n"},
    {"incr a 5\r\n", "INCREMENT a delta=5\n"},
    {"incr a 18446744073709551615 noreply\r\n", "INCREMENT a quiet delta=18446744073709551615\n"},
    {"decr a 5 other\r\n", "DECREMENT a delta=5\n"},
    {"flush_all\r\n", "FLUSH_ALL\n"},
    {"flush_all noreply\r\n", "FLUSH_ALL quiet\n"},
    {"flush_all 0\r\n", "FLUSH_ALL\n"},
    {"flush_all -1\r\n", "FLUSH_ALL\n"},
    {"flush_all 10 noreply\r\n", "FLUSH_ALL quiet expiry=1000010\n"},
    {"version\r\n", "VERSION\n"},
    {"version 1 2 3\r\n", "VERSION\n"},
    {"verbosity 1\r\n", "VERBOSITY delta=1\n"},
    {"verbosity 1 noreply\r\n", "VERBOSITY quiet delta=1\n"},
    {"stats\r\n", "STATS\n"},
    {"stats  \r\n", "STATS\n"},
    {"stats items\r\n", "STATS items\n"},
    {"stats  detail on \r\n", "STATS detail\\x20on\n"},
    {"quit\r\n", "QUIT\n"},
    {"shutdown\r\n", "SHUTDOWN\n"},
    {"shutdown graceful\r\n", "SHUTDOWN\n"},
};

#define BAD_FORMAT "BAD: CLIENT_ERROR bad command line format\n"
#define BAD_QUIET  "BAD quiet: CLIENT_ERROR bad command line format\n"
#define USAGE      "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\n"
#define ERROR      "BAD: ERROR\n"
#define EXPTIME    "CLIENT_ERROR invalid exptime argument\n"
#define DELTA      "CLIENT_ERROR invalid numeric delta argument\n"
#define NOT_HERE   "BAD: CLIENT_ERROR command not supported by this server\n"
#define TOO_LARGE  "SERVER_ERROR object too large for cache\n"
#define BAD_CHUNK  "CLIENT_ERROR bad data chunk\n"

/* What memcached 1.6.45 says to these. */
static const struct line mistakes[] = {
    {"\r\n\r\n\na\r\nab\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"  \r\n", ERROR},
    {"foo a\r\nGET a\r\nab\r\n", ERROR ERROR ERROR},
    {"get\r\ngets\r\nget \r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"m\r\nmx a\r\n", BAD_FORMAT ERROR},
    {"get k" K250 "\r\n", BAD_FORMAT},
    {"get a k" K250 " b\r\nget c\r\n", BAD_FORMAT "GET c want\nNOOP\n"},
    {"gat\r\ngats\r\ngat 0\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"gat x a\r\n", "BAD: " EXPTIME},
    {"gat 99999999999999999999 a\r\n", "BAD: " EXPTIME},
    {"gat 0 k" K250 "\r\n", BAD_FORMAT},
    {"set\r\nset a\r\nset a 0 0\r\nset a noreply\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"set a 0 0 1 noreply x\r\nx\r\n", "SET a value=x\n"},
    {"cas a 0 0 1\r\nx\r\n", BAD_FORMAT},
    {"cas a 0 0 1 noreply\r\nx\r\n", BAD_QUIET},
    {"cas a 0 0 1 1 x noreply\r\nx\r\n", "SET a quiet value=x cas=1\n"},
    {"set a x 0 1\r\nx\r\nversion\r\n", BAD_FORMAT "VERSION\n"},
    {"set a -1 0 1\r\nx\r\n", BAD_FORMAT},
    {"set a 0x10 0 1\r\nx\r\n", BAD_FORMAT},
    {"set a 1a 0 1\r\nx\r\n", BAD_FORMAT},
    {"set a 4294967296 0 1\r\nx\r\n", BAD_FORMAT},
    {"set a 0 x 1\r\nx\r\n", BAD_FORMAT},
    {"set a 0 9223372036854775808 1\r\nx\r\n", BAD_FORMAT},
    {"set a 0 0 x\r\n", BAD_FORMAT},
    {"set a 0 0 -1\r\n", BAD_FORMAT},
    {"set a 0 0 2147483646\r\n", BAD_FORMAT},
    {"set a 0 0 noreply\r\n", BAD_QUIET},
    {"set a x 0 1 noreply\r\nx\r\n", BAD_QUIET},
    {"set k" K250 " 0 0 1\r\nx\r\n", BAD_FORMAT},
    {"set k" K250 " 0 0 1 noreply\r\nx\r\n", BAD_QUIET},
    {"cas a 0 0 1 x\r\nx\r\n", BAD_FORMAT},
    {"cas a 0 0 1 -1\r\nx\r\n", BAD_FORMAT},
    {"cas a 0 0 1 18446744073709551616\r\nx\r\n", BAD_FORMAT},
    {"set a 0 0 1\r\nxyz\r\nget b\r\n", "BAD: " BAD_CHUNK BAD_FORMAT "GET b want\nNOOP\n"},
    {"set a 0 0 1 noreply\r\nxyz\r\n", "BAD quiet: " BAD_CHUNK BAD_FORMAT},
    {"set a 0 0 1\r\nx\nget b\r\n", "BAD: " BAD_CHUNK ERROR},
    {"touch\r\ntouch a\r\ntouch noreply\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"touch a x\r\n", "BAD: " EXPTIME},
    {"touch a x noreply\r\n", "BAD quiet: " EXPTIME},
    {"touch k" K250 " 0\r\n", BAD_FORMAT},
    {"delete\r\n", BAD_FORMAT},
    {"delete a 1\r\ndelete a b c d\r\n", "BAD: " USAGE "BAD: " USAGE},
    {"delete a 0 b\r\ndelete a noreply b\r\n", "BAD: " USAGE "BAD: " USAGE},
    {"delete a 1 noreply\r\n", "BAD quiet: " USAGE},
    {"delete k" K250 "\r\n", BAD_FORMAT},
    {"incr\r\nincr a\r\ndecr noreply\r\n", BAD_FORMAT BAD_FORMAT BAD_FORMAT},
    {"incr a 1 b c\r\ntouch a 0 b c\r\n", "INCREMENT a delta=1\n"
                                          "GET a touch_only touch\n"},
    {"incr a x\r\nincr a -1\r\ndecr a 1.5\r\n", "BAD: " DELTA "BAD: " DELTA "BAD: " DELTA},
    {"incr a 18446744073709551616\r\n", "BAD: " DELTA},
    {"incr a x noreply\r\n", "BAD quiet: " DELTA},
    {"decr k" K250 " 1\r\n", BAD_FORMAT},
    {"flush_all 0 0 0\r\n", "FLUSH_ALL\n"},
    {"flush_all x\r\n", "BAD: " EXPTIME},
    {"flush_all x noreply\r\n", "BAD quiet: " EXPTIME},
    {"verbosity\r\nverbosity 1 2 3\r\n", BAD_FORMAT "VERBOSITY delta=1\n"},
    {"verbosity x\r\nverbosity -1\r\n", BAD_FORMAT BAD_FORMAT},
    {"verbosity noreply\r\n", BAD_QUIET},
    {"stats " K250 "k\r\n", "BAD: CLIENT_ERROR bad command line\n"},
    {"shutdown now\r\n", "SHUTDOWN delta=1\n"},
    {"shutdown graceful now\r\n", "SHUTDOWN delta=1\n"},
    {"cache_memlimit 100\r\nslabs automove 1\r\nlru mode flat\r\n", NOT_HERE NOT_HERE NOT_HERE},
    {"lru_crawler metadump all\r\nwatch\r\n", NOT_HERE NOT_HERE},
    {"refresh_certs\r\ndebugtime 1\r\n", ERROR ERROR},
};

/* Refused values are swallowed: these are of 20 bytes when 10 are allowed. */
static const struct line refused[] = {
    {"set a 0 0 20\r\n01234567890123456789\r\nget b\r\n", "BAD a: " TOO_LARGE "GET b want\nNOOP\n"},
    {"set a 0 0 20 noreply\r\nget a\r\nget a\r\nget ab\r\nget b\r\n",
     "BAD a quiet: " TOO_LARGE "GET b want\nNOOP\n"},
    {"add a 0 0 20\r\n01234567890123456789\r\nget b\r\n", "BAD: " TOO_LARGE "GET b want\nNOOP\n"},
    {"append a 0 0 20\r\n01234567890123456789\r\n", "BAD: " TOO_LARGE},
    {"cas a 0 0 20 1\r\n01234567890123456789\r\n", "BAD: " TOO_LARGE},
    {"set a 0 0 10\r\n0123456789\r\n", "SET a value=0123456789\n"},
};

static const struct line authentications[] = {
    {"set a 0 0 6\r\njoe pw\r\n", "AUTH value=joe\\x20pw\n"},
    {"set k" K250 " x y 6 noreply z\r\njoe pw\r\n", "AUTH value=joe\\x20pw\n"},
    {"get a\r\nquit\r\n\r\n",
     "BAD: CLIENT_ERROR unauthenticated\nBAD: CLIENT_ERROR unauthenticated\n"
     "BAD: CLIENT_ERROR unauthenticated\n"},
    {"mn\r\nadd a 0 0 0\r\n",
     "BAD: CLIENT_ERROR unauthenticated\nBAD: CLIENT_ERROR unauthenticated\n"},
    {"set a 0 0\r\n", "BAD: CLIENT_ERROR unauthenticated\n"},
    {"set a 0 0 x\r\n", "BAD: CLIENT_ERROR unauthenticated\n"},
    {"set a 0 0 6\r\njoe pwxx", "BAD: " BAD_CHUNK},
};

/* Who speaks HTTP is not heard any more, whatever comes then. */
static const struct line strangers[] = {
    {"GET / HTTP/1.0\r\n", "CLOSE\n"},
    {"POST / HTTP/1.1\r\n", "CLOSE\n"},
    {"PUT /a/b/c HTTP/1.1\r\n", "CLOSE\n"},
    {"DELETE HTTP/1.1\n", "CLOSE\n"},
    {"PRI * HTTP/2.0\r\n", "CLOSE\n"},
    {"set /a HTTP/1.1\r\n", "CLOSE\n"},
    {"touch /a HTTP/1.1\r\n", "CLOSE\n"},
    {"incr /a HTTP/1.1\r\n", "CLOSE\n"},
    {"delete /a HTTP/1.1\r\n", "CLOSE\n"},
    {"flush_all HTTP/1.1\r\n", "CLOSE\n"},
    {"md /a HTTP/1.1\r\n", "CLOSE\n"},
    {"GET " K250 K250 " HTTP/1.1\r\n", "CLOSE\n"},
    {"OPTIONS a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g HTTP/1.1\r\n",
     "CLOSE\n"},
    {"Host: a.example\r\n", "CLOSE\n"},
    {"hOsT:a.example\r\n", "CLOSE\n"},
    {"get a\r\nhost:\r\n", "GET a want\nNOOP\nCLOSE\n"},
};

/* These are requests, or mistakes, and no HTTP. */
static const struct line no_strangers[] = {
    {"get /a HTTP/1.1\r\n", "GET /a want\nGET HTTP/1.1 want\nNOOP\n"},
    {"get Host: a\r\n", "GET Host: want\nGET a want\nNOOP\n"},
    {"set a 0 0 17\r\nGET / HTTP/1.1\r\n\n\r\n",
     "SET a value=GET\\x20/\\x20HTTP/1.1\\x0d\\x0a\\x0a\n"},
    {"POST /\r\nHTTP/1.1\r\nx HTTP\r\nx HTTP/1.1 y\r\n", ERROR ERROR ERROR ERROR},
};

/* Piece by piece: by the bits of a seed, or always the same. */
static uint32_t piece_of(void *context)
{
    return *(const uint32_t *)context;
}

static uint32_t piece_random(void *context)
{
    uint64_t *seed = context;
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 1 + (uint32_t)(*seed >> 60);
}

static void assert_line(const struct line *line, struct mc_parser parser, uint32_t piece)
{
    struct mc_script script;

    mc_script_begin(&script);
    script.parser = parser;
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

/* What follows the last line is not taken, nor that line. */
static void assert_closed(const struct line *line, struct mc_parser parser)
{
    static const char next[] = "flush_all\r\n";
    char bytes[1000];

    for (uint32_t piece = 1; piece < 100; piece += 7) {
        struct mc_script script;
        mc_script_begin(&script);
        script.parser = parser;
        script.piece = piece_of;
        script.context = &piece;
        script.exact = true;
        int size = snprintf(bytes, sizeof bytes, "%s%s", line->bytes, next);
        mc_script_run(&script, bytes, (uint32_t)size);
        if (strcmp(mc_script_text(&script), line->expected) != 0) print_message("%s", line->bytes);
        assert_null(script.broken);
        assert_string_equal(mc_script_text(&script), line->expected);
        mc_script_end(&script);
    }
}

static void assert_lines(const struct line *lines, size_t count, struct mc_parser parser)
{
    for (size_t index = 0; index < count; index++) {
        for (uint32_t piece = 1; piece < 20; piece++)
            assert_line(&lines[index], parser, piece);
        assert_line(&lines[index], parser, 100000);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void every_command(void **state)
{
    (void)state;
    assert_lines(commands, COUNT(commands), (struct mc_parser){.value_max = 1000});
}

static void every_mistake(void **state)
{
    (void)state;
    assert_lines(mistakes, COUNT(mistakes), (struct mc_parser){.value_max = 1000});
}

static void refused_values(void **state)
{
    (void)state;
    assert_lines(refused, COUNT(refused), (struct mc_parser){.value_max = 10});
}

static void http(void **state)
{
    const struct mc_parser parser = {.value_max = 1000};
    const struct mc_parser strict = {.value_max = 1000, .authenticating = true};

    (void)state;
    for (size_t index = 0; index < COUNT(strangers); index++) {
        const char *end = strstr(strangers[index].expected, "CLOSE");
        assert_closed(&strangers[index], parser);
        if (end == strangers[index].expected) assert_closed(&strangers[index], strict);
    }
    assert_lines(no_strangers, COUNT(no_strangers), parser);
}

static void authentication(void **state)
{
    struct mc_script script;
    char bytes[4000] = "set a 0 0 2049\r\n";
    size_t size = strlen(bytes);

    (void)state;
    assert_lines(authentications, COUNT(authentications),
                 (struct mc_parser){.value_max = 1000, .authenticating = true});
    memset(bytes + size, 'x', 2051);
    memcpy(bytes + size + 2051, "get a\r\n", 7);
    mc_script_begin(&script);
    script.parser.value_max = 100000;
    script.parser.authenticating = true;
    mc_script_run(&script, bytes, (uint32_t)size + 2051 + 7);
    assert_string_equal(mc_script_text(&script),
                        "BAD: CLIENT_ERROR unauthenticated\nBAD: CLIENT_ERROR unauthenticated\n");
    mc_script_end(&script);
}

static char *all_lines(uint32_t *size)
{
    struct mc_output all = {0};

    for (size_t index = 0; index < COUNT(commands); index++)
        mc_put_text(&all, commands[index].bytes);
    for (size_t index = 0; index < COUNT(mistakes); index++)
        mc_put_text(&all, mistakes[index].bytes);
    mc_put_text(&all, "set a 0 0 2000\r\n");
    for (uint32_t index = 0; index < 2002; index++)
        mc_put(&all, "x", 1);
    mc_put_text(&all, "set a 0 0 600\r\n");
    for (uint32_t index = 0; index < 600; index++)
        mc_put(&all, "x", 1);
    mc_put_text(&all, "\r\nget a b c\r\n");
    assert_false(all.failed);
    *size = all.size;
    return all.bytes;
}

static void assert_same(struct mc_script *script, struct mc_script *whole, const char *bytes,
                        uint32_t size)
{
    mc_script_run(script, bytes, size);
    assert_null(script->broken);
    assert_int_equal(script->left, 0);
    assert_int_equal(script->requests, whole->requests);
    assert_string_equal(mc_script_text(script), mc_script_text(whole));
    mc_script_end(script);
}

/* One script of everything above: in pieces of one byte, of two, ... of all but one, so that there
   is a cut at every byte; and at random. */
static void cut_anywhere(void **state)
{
    struct mc_script whole, script;
    uint32_t size;
    char *bytes = all_lines(&size);

    (void)state;
    mc_script_begin(&whole);
    mc_script_run(&whole, bytes, size);
    assert_null(whole.broken);
    assert_int_equal(whole.left, 0);
    for (uint32_t piece = 1; piece < size; piece++) {
        mc_script_begin(&script);
        script.exact = piece % 16 == 1;
        script.piece = piece_of;
        script.context = &piece;
        assert_same(&script, &whole, bytes, size);
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint64_t state_of_seed = seed;
        mc_script_begin(&script);
        script.exact = true;
        script.piece = piece_random;
        script.context = &state_of_seed;
        assert_same(&script, &whole, bytes, size);
    }
    mc_script_end(&whole);
    free(bytes);
}

static void pipeline(void **state)
{
    struct mc_output bytes = {0};
    struct mc_script script;

    (void)state;
    for (uint32_t number = 0; number < 10000; number++) {
        mc_put_text(&bytes, "set key");
        mc_put_number(&bytes, number);
        mc_put_text(&bytes, " 0 0 5\r\nvalue\r\nget a b\r\nmg a v\r\n");
    }
    mc_script_begin(&script);
    script.silent = true;
    mc_script_run(&script, bytes.bytes, bytes.size);
    assert_null(script.broken);
    assert_int_equal(script.requests, 50000);
    assert_int_equal(script.left, 0);
    mc_script_end(&script);
    mc_output_free(&bytes);
}

/* `prefix`, and as many bytes, with a blank after each `word`-th one, as there are in all. */
struct long_line {
    const char *prefix;
    uint32_t size;
    uint32_t word;
    uint32_t line_max;
    bool closed;
};

static void assert_long_line(const struct long_line *step)
{
    char *bytes = malloc(step->size + 1);

    assert_non_null(bytes);
    for (uint32_t at = 0; at < step->size; at++)
        bytes[at] = at % step->word == 0 ? ' ' : 'x';
    memcpy(bytes, step->prefix, strlen(step->prefix));
    for (uint32_t ended = 0; ended < 2; ended++) {
        bytes[step->size] = '\n';
        for (uint32_t piece = 1; piece <= step->size + 1; piece += 1 + piece * 7) {
            struct mc_script script;
            mc_script_begin(&script);
            script.parser.line_max = step->line_max;
            script.piece = piece_of;
            script.context = &piece;
            script.silent = true;
            mc_script_run(&script, bytes, step->size + ended);
            assert_null(script.broken);
            assert_int_equal(script.closed, step->closed);
            assert_true(step->closed || (script.requests > 0) == (ended > 0));
            mc_script_end(&script);
        }
    }
    free(bytes);
}
#define assert_long(...) assert_long_line(&(struct long_line){__VA_ARGS__})

static void long_lines(void **state)
{
    (void)state;
    assert_long(.prefix = "x", .size = 2048, .word = 10);
    assert_long(.prefix = "x", .size = 2049, .word = 10, .closed = true);
    assert_long(.prefix = "set", .size = 2049, .word = 10, .closed = true);
    assert_long(.prefix = "mg ", .size = 2049, .word = 10, .closed = true);
    assert_long(.prefix = "getx", .size = 2049, .word = 10, .closed = true);
    assert_long(.prefix = "get ", .size = 2049, .word = 10);
    assert_long(.prefix = "   gets ", .size = 4000,
                .word = 300); /* A key is too long, the line is not. */
    assert_long(.prefix = "gat 0 ", .size = 10000, .word = 5);
    assert_long(.prefix = "gats 0 ", .size = 10000, .word = 5);
    assert_long(.prefix = "get ", .size = 10000, .word = 5, .line_max = 10000);
    assert_long(.prefix = "get ", .size = 10001, .word = 5, .line_max = 10000, .closed = true);
    assert_long(.prefix = "get ", .size = 1024 * 1024, .word = 100);
    assert_long(.prefix = "get ", .size = 1024 * 1024 + 1, .word = 100, .closed = true);
    assert_long(.prefix = " ", .size = 2049, .word = 1, .closed = true);
}

/* Bytes are asked for only as many as the value has. */
static void need(void **state)
{
    struct mc_parser parser = {.value_max = 1000};
    struct mc_request request = {0};
    uint32_t used, needed;

    (void)state;
    assert_int_equal(mc_text_parse(&parser, "", 0, 1, &request, &used, &needed), MC_PARSED_MORE);
    assert_int_equal(needed, 0);
    assert_int_equal(mc_text_parse(&parser, "set a 0 0 10", 12, 1, &request, &used, &needed),
                     MC_PARSED_MORE);
    assert_int_equal(needed, 0);
    assert_int_equal(mc_text_parse(&parser, "set a 0 0 10\r\n01", 16, 1, &request, &used, &needed),
                     MC_PARSED_MORE);
    assert_int_equal(needed, 26);
    /* Somebody who does not keep the rest of a line is not a client of this parser. */
    parser = (struct mc_parser){.value_max = 1000, .line_at = 4};
    assert_int_equal(mc_text_parse(&parser, "get", 3, 1, &request, &used, &needed),
                     MC_PARSED_CLOSE);
    parser.line_at = 4;
    assert_int_equal(mc_text_parse(&parser, "get  ", 5, 1, &request, &used, &needed),
                     MC_PARSED_CLOSE);
    parser.line_at = 1;
    assert_int_equal(mc_text_parse(&parser, K250 "kk", 252, 1, &request, &used, &needed),
                     MC_PARSED_CLOSE);
    assert_int_equal(used, 0);
}

static bool memory_is_out;
struct mc_value *__real_mc_value_create(uint32_t size);
struct mc_value *__wrap_mc_value_create(uint32_t size);

struct mc_value *__wrap_mc_value_create(uint32_t size)
{
    return memory_is_out ? NULL : __real_mc_value_create(size);
}

static void no_memory(void **state)
{
    static const struct line lines[] = {
        {"set a 0 0 4\r\nfoo \r\nget a\r\n",
         "BAD: SERVER_ERROR out of memory storing object\nGET a want\nNOOP\n"},
        {"set a 0 0 1 noreply\r\nx\r\n", "BAD quiet: SERVER_ERROR out of memory storing object\n"},
        {"ms a 1 q\r\nx\r\nmn\r\n",
         "BAD meta: SERVER_ERROR out of memory storing object\nNOOP metan\n"},
    };

    (void)state;
    memory_is_out = true;
    assert_lines(lines, COUNT(lines), (struct mc_parser){.value_max = 1000});
    memory_is_out = false;
}

/* ---- Replies ---- */

struct reply {
    const char *bytes; /* Bytes whose first request is answered. */
    struct mc_result result;
    const char *value, *expected;
};

static const struct reply replies[] = {
    {"get a\r\n", {.flags = 7}, "xyz", "VALUE a 7 3\r\nxyz\r\n"},
    {"get a\r\n", {.flags = 7}, NULL, "VALUE a 7 0\r\n\r\n"},
    {"gets a\r\n", {.cas = 9}, "", "VALUE a 0 0 9\r\n\r\n"},
    {"gats 0 a\r\n", {.cas = 9}, "x", "VALUE a 0 1 9\r\nx\r\n"},
    {"get a\r\n", {.status = MC_NOT_FOUND}, NULL, ""},
    {"get a\r\n", {.status = MC_TEMPORARY}, NULL, "SERVER_ERROR temporary failure\r\n"},
    {"touch a 0\r\n", {0}, NULL, "TOUCHED\r\n"},
    {"touch a 0\r\n", {.status = MC_NOT_FOUND}, NULL, "NOT_FOUND\r\n"},
    {"touch a 0\r\n", {.status = MC_NOT_SUPPORTED}, NULL, "SERVER_ERROR not supported\r\n"},
    {"touch a 0 noreply\r\n", {0}, NULL, ""},
    {"set a 0 0 0\r\n\r\n", {.cas = 5}, NULL, "STORED\r\n"},
    {"set a 0 0 0 noreply\r\n\r\n", {.status = MC_FAILED}, NULL, ""},
    {"add a 0 0 0\r\n\r\n", {.status = MC_NOT_STORED}, NULL, "NOT_STORED\r\n"},
    {"cas a 0 0 0 1\r\n\r\n", {.status = MC_EXISTS}, NULL, "EXISTS\r\n"},
    {"cas a 0 0 0 1\r\n\r\n", {.status = MC_NOT_FOUND}, NULL, "NOT_FOUND\r\n"},
    {"replace a 0 0 0\r\n\r\n",
     {.status = MC_TOO_LARGE},
     NULL,
     "SERVER_ERROR object too large for cache\r\n"},
    {"append a 0 0 0\r\n\r\n",
     {.status = MC_NO_MEMORY},
     NULL,
     "SERVER_ERROR out of memory storing object\r\n"},
    {"prepend a 0 0 0\r\n\r\n", {.status = MC_FAILED}, NULL, "SERVER_ERROR database error\r\n"},
    {"set a 0 0 0\r\n\r\n",
     {.status = MC_FAILED, .message = "the table is gone"},
     NULL,
     "SERVER_ERROR the table is gone\r\n"},
    {"set a 0 0 0\r\n\r\n", {.status = MC_INVALID}, NULL, "CLIENT_ERROR invalid arguments\r\n"},
    {"set a 0 0 0\r\n\r\n", {.status = MC_STATUSES}, NULL, "SERVER_ERROR database error\r\n"},
    {"delete a\r\n", {0}, NULL, "DELETED\r\n"},
    {"delete a\r\n", {.status = MC_NOT_FOUND}, NULL, "NOT_FOUND\r\n"},
    {"incr a 1\r\n", {.number = UINT64_MAX}, NULL, "18446744073709551615\r\n"},
    {"decr a 1\r\n", {0}, NULL, "0\r\n"},
    {"decr a 1\r\n", {.status = MC_NOT_FOUND}, NULL, "NOT_FOUND\r\n"},
    {"incr a 1\r\n",
     {.status = MC_NON_NUMERIC},
     NULL,
     "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
    {"flush_all\r\n", {0}, NULL, "OK\r\n"},
    {"flush_all noreply\r\n", {0}, NULL, ""},
    {"flush_all\r\n", {.status = MC_TEMPORARY}, NULL, "SERVER_ERROR temporary failure\r\n"},
    {"verbosity 1\r\n", {0}, NULL, "OK\r\n"},
    {"version\r\n", {.message = "1.2.3"}, NULL, "VERSION 1.2.3\r\n"},
    {"stats\r\n", {0}, NULL, ""},
    {"stats reset\r\n", {.message = "RESET"}, NULL, "RESET\r\n"},
    {"quit\r\n", {0}, NULL, ""},
    {"shutdown\r\n", {0}, NULL, ""},
    {"shutdown\r\n",
     {.message = "SERVER_ERROR: shutdown not enabled"},
     NULL,
     "SERVER_ERROR: shutdown not enabled\r\n"},
};

static void assert_reply(const struct reply *reply, bool authenticating)
{
    struct mc_parser parser = {.value_max = 1000, .authenticating = authenticating};
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
    mc_text_reply(&request, &output);
    mc_put(&output, "", 1);
    assert_string_equal(output.bytes, reply->expected);
    mc_output_free(&output);
    mc_request_clear(&request);
}

static void every_reply(void **state)
{
    static const struct reply auth[] = {
        {"set a 0 0 3\r\na b\r\n", {0}, NULL, "STORED\r\n"},
        {"set a 0 0 3\r\na b\r\n",
         {.status = MC_AUTH_ERROR},
         NULL,
         "CLIENT_ERROR authentication failure\r\n"},
        {"get a\r\n", {0}, NULL, "CLIENT_ERROR unauthenticated\r\n"},
    };
    static const struct reply bad[] = {
        {"foo\r\n", {0}, NULL, "ERROR\r\n"},
        {"incr a x\r\n", {0}, NULL, "CLIENT_ERROR invalid numeric delta argument\r\n"},
        {"incr a x noreply\r\n", {0}, NULL, ""},
    };

    (void)state;
    for (size_t index = 0; index < COUNT(replies); index++)
        assert_reply(&replies[index], false);
    for (size_t index = 0; index < COUNT(auth); index++)
        assert_reply(&auth[index], true);
    for (size_t index = 0; index < COUNT(bad); index++)
        assert_reply(&bad[index], false);
}

static void no_words_for_binary_commands(void **state)
{
    static const enum mc_command commands_of_others[] = {MC_AUTH_LIST, MC_QUIT, MC_COMMANDS};
    struct mc_output output = {0};

    (void)state;
    for (size_t index = 0; index < COUNT(commands_of_others); index++) {
        struct mc_request request = {.command = commands_of_others[index]};
        mc_text_reply(&request, &output);
    }
    assert_int_equal(output.size, 0);
}

static void statistics(void **state)
{
    struct mc_output output = {0};

    (void)state;
    mc_text_reply_stat("pid", "17", &output);
    mc_text_reply_stat("empty", NULL, &output);
    mc_text_reply_stat(NULL, NULL, &output);
    mc_text_reply_stat("", NULL, &output);
    mc_put(&output, "", 1);
    assert_string_equal(output.bytes, "STAT pid 17\r\nSTAT empty \r\nEND\r\nEND\r\n");
    mc_output_free(&output);
}

/* ---- Anything at all ---- */

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static uint32_t mutate(char *bytes, uint32_t size, uint32_t room, uint64_t *seed)
{
    for (uint32_t times = next_random(seed) % 6; times > 0; times--) {
        uint32_t at = size == 0 ? 0 : next_random(seed) % size;
        switch (next_random(seed) % 4) {
        case 0:
            if (size > 0) bytes[at] = (char)next_random(seed);
            break;
        case 1:
            if (size > 0) memmove(bytes + at, bytes + at + 1, --size - at);
            break;
        case 2:
            if (size == room) break;
            memmove(bytes + at + 1, bytes + at, size++ - at);
            bytes[at] = " \r\n0aq-"[next_random(seed) % 7];
            break;
        default:
            size = at;
            break;
        }
    }
    return size;
}

static uint32_t make_input(char *bytes, uint32_t room, uint64_t *seed)
{
    uint32_t size = 0;

    if (next_random(seed) % 4 == 0) {
        for (size = 0; size < next_random(seed) % 100; size++)
            bytes[size] = (char)next_random(seed);
        return size;
    }
    for (uint32_t count = 1 + next_random(seed) % 4; count > 0; count--) {
        uint32_t index = next_random(seed) % (uint32_t)(COUNT(commands) + COUNT(mistakes));
        const char *line = index < COUNT(commands) ? commands[index].bytes
                                                   : mistakes[index - COUNT(commands)].bytes;
        uint32_t length = (uint32_t)strlen(line);
        if (size + length > room) break;
        memcpy(bytes + size, line, length);
        size = mutate(bytes, size + length, room, seed);
    }
    return size;
}

/* Never more bytes than there are, always further, and the same whether cut or not. */
static void anything(void **state)
{
    const char *wish = getenv("MC_TEXT_INPUTS");
    uint32_t inputs = wish == NULL ? 100000 : (uint32_t)strtoul(wish, NULL, 10);
    char bytes[2000];

    (void)state;
    for (uint32_t input = 0; input < inputs; input++) {
        uint64_t seed = input, cuts = input;
        uint32_t size = make_input(bytes, sizeof bytes, &seed);
        struct mc_script whole, pieces;
        mc_script_begin(&whole);
        mc_script_begin(&pieces);
        whole.exact = pieces.exact = true;
        whole.parser.authenticating = pieces.parser.authenticating = input % 64 == 0;
        pieces.piece = piece_random;
        pieces.context = &cuts;
        mc_script_run(&whole, bytes, size);
        mc_script_run(&pieces, bytes, size);
        if (whole.broken != NULL || pieces.broken != NULL) print_message("input %u\n", input);
        assert_null(whole.broken);
        assert_null(pieces.broken);
        assert_string_equal(mc_script_text(&whole), mc_script_text(&pieces));
        assert_true(whole.closed || whole.left == pieces.left);
        mc_script_end(&whole);
        mc_script_end(&pieces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command),  cmocka_unit_test(every_mistake),
        cmocka_unit_test(refused_values), cmocka_unit_test(authentication),
        cmocka_unit_test(http),           cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(pipeline),       cmocka_unit_test(long_lines),
        cmocka_unit_test(need),           cmocka_unit_test(no_memory),
        cmocka_unit_test(every_reply),    cmocka_unit_test(no_words_for_binary_commands),
        cmocka_unit_test(statistics),     cmocka_unit_test(anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
