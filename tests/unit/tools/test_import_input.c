/* test_import_input.c -- the file of an import is read, and read again from where the rows are not
 * on disk. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/support/temp_directory.h"
#include "tools/import.h"

#define ROWS 1000u

static char path[] = "/tmp/test_import_input.XXXXXX";
static uint64_t end_of[ROWS + 1]; /* Where the first 0, 1, 2, ... rows end. */

static struct csv_format format = {
    .field_end = ",", .field_end_size = 1, .line_end = "\n", .line_end_size = 1};

static int make_file(void **state)
{
    char line[40];
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        int size = snprintf(line, sizeof line, "%u,row %u\n", i, i * 7u);
        assert_int_equal(write(fd, line, (size_t)size), size);
        end_of[i + 1u] = end_of[i] + (uint64_t)size;
    }
    close(fd);
    csv_format_prepare(&format);
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* Reads rows from that one on, at most so many; how many there were. */
static uint32_t read_from(struct import_input *input, struct csv_row *row, uint32_t from,
                          uint32_t most)
{
    const char *raw = NULL;
    const char *problem = NULL;
    uint32_t count = 0;
    while (count < most && import_input_row(input, &format, -1, row, &raw, &problem) > 0) {
        assert_int_equal(row->count, 2);
        assert_int_equal(strtoul(raw, NULL, 10), from + count);
        count++;
        assert_int_equal(import_input_position(input), end_of[from + count]);
    }
    assert_null(problem);
    return count;
}

/* All of it, whether the file had been read to its end before or not. */
static void test_goes_back(void **state)
{
    static const uint32_t reads[] = {0, 1, ROWS / 2, ROWS - 1, ROWS, ROWS + 1};
    struct import_input input;
    struct csv_row row = {0};
    (void)state;
    assert_true(import_input_open(&input, path));
    assert_true(input.regular);
    assert_int_equal(input.bytes_total, end_of[ROWS]);
    for (uint32_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        for (uint32_t to = 0; to <= ROWS; to += ROWS / 4) {
            assert_true(import_input_seek(&input, 0));
            assert_int_equal(read_from(&input, &row, 0, reads[i]),
                             reads[i] < ROWS ? reads[i] : ROWS);
            assert_true(import_input_seek(&input, end_of[to]));
            assert_int_equal(read_from(&input, &row, to, UINT32_MAX), ROWS - to);
        }
    }
    assert_false(import_input_seek(&input, end_of[ROWS] + 1u));
    csv_row_free(&row);
    import_input_close(&input);
}

/* Who has something else to do is not held up by a pipe without a row, or with a part of one. */
static void test_pipe_without_row(void **state)
{
    char directory[TEMP_DIRECTORY_SIZE];
    char name[TEMP_DIRECTORY_SIZE + 8];
    struct import_input input;
    struct csv_row row = {0};
    const char *raw = NULL;
    const char *problem = NULL;
    (void)state;
    temp_directory_make(directory);
    (void)snprintf(name, sizeof name, "%s/pipe", directory);
    assert_int_equal(mkfifo(name, 0600), 0);
    int writer = open(name, O_RDWR | O_CLOEXEC);
    assert_true(import_input_open(&input, name));
    assert_int_equal(import_input_row(&input, &format, 0, &row, &raw, &problem), IMPORT_NO_ROW_YET);
    assert_int_equal(write(writer, "1,on", 4), 4);
    assert_int_equal(import_input_row(&input, &format, 0, &row, &raw, &problem), IMPORT_NO_ROW_YET);
    assert_int_equal(write(writer, "e\n2,two", 7), 7);
    assert_int_equal(import_input_row(&input, &format, 0, &row, &raw, &problem), 1);
    assert_memory_equal(raw, "1,one\n", 6);
    assert_int_equal(import_input_row(&input, &format, 0, &row, &raw, &problem), IMPORT_NO_ROW_YET);
    assert_int_equal(close(writer), 0);
    assert_int_equal(import_input_row(&input, &format, 0, &row, &raw, &problem), 1);
    assert_memory_equal(raw, "2,two", 5);
    assert_int_equal(import_input_row(&input, &format, 0, &row, &raw, &problem), 0);
    csv_row_free(&row);
    import_input_close(&input);
    temp_directory_remove(directory);
}

/* What was read of it is not all that it had. */
static void test_cut_file(void **state)
{
    struct import_input input;
    struct csv_row row = {0};
    const char *raw = NULL;
    const char *problem = NULL;
    (void)state;
    assert_true(import_input_open(&input, path));
    assert_int_equal(truncate(path, (off_t)end_of[3] + 2), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem), 1);
    assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem), -1);
    assert_string_equal(problem, "it was made shorter since its import began");
    assert_true(input.cut);
    import_input_close(&input);
    /* The same of standard input, behind a line that somebody else has read. */
    int saved = dup(STDIN_FILENO);
    int file = open(path, O_RDONLY);
    assert_int_equal(lseek(file, (off_t)end_of[1], SEEK_SET), end_of[1]);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    for (uint32_t cut = 0; cut < 2; cut++) {
        assert_int_equal(lseek(file, (off_t)end_of[1], SEEK_SET), end_of[1]);
        assert_true(import_input_open(&input, "-"));
        assert_int_equal(input.bytes_total, end_of[3] + 2 - end_of[1]);
        if (cut == 1) assert_int_equal(truncate(path, (off_t)end_of[3]), 0);
        for (uint32_t i = 0; i < 3 - cut; i++)
            assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem), 1);
        assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem),
                         cut == 1 ? -1 : 0);
        assert_int_equal(input.cut, cut == 1);
        free(input.buffer);
    }
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    (void)close(saved);
    (void)close(file);
    csv_row_free(&row);
}

/* A row of a pipe that comes in a thousand pieces. */
static void test_long_row_of_pipe(void **state)
{
    enum { PIECES = 1000, PIECE = 4000 };
    char piece[PIECE];
    char name[40];
    int ends[2];
    struct import_input input;
    struct csv_row row = {0};
    const char *raw = NULL;
    const char *problem = NULL;
    (void)state;
    memset(piece, 'x', sizeof piece);
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        for (uint32_t i = 0; i < PIECES; i++)
            if (write(ends[1], piece, sizeof piece) != PIECE) _exit(1);
        _exit(write(ends[1], "\n1,2\n", 5) == 5 ? 0 : 1);
    }
    (void)close(ends[1]);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_true(import_input_open(&input, name));
    assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem), 1);
    assert_int_equal(row.raw_size, PIECES * PIECE);
    assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem), 1);
    assert_int_equal(row.count, 2);
    assert_int_equal(import_input_row(&input, &format, -1, &row, &raw, &problem), 0);
    csv_row_free(&row);
    import_input_close(&input);
    (void)close(ends[0]);
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
}

static void test_no_file(void **state)
{
    struct import_input input;
    (void)state;
    assert_false(import_input_open(&input, "/tmp/no such file of an import"));
    assert_false(import_input_open(&input, "/tmp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_back), cmocka_unit_test(test_pipe_without_row),
        cmocka_unit_test(test_no_file),   cmocka_unit_test(test_long_row_of_pipe),
        cmocka_unit_test(test_cut_file), /* The last one: it cuts it. */
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
