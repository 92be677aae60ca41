/* ndb_mgm_terminal.c -- reads the console's lines with libedit, and keeps them in a file. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Lines go to the history file one by one, before they are carried out: a console that is killed
 * has kept them, and several consoles share the file. Its form is libedit's: a first line of its
 * own, then a line each, in which a backslash stands before a byte's three octal digits.
 */
#include "tools/ndb_mgm_terminal.h"

#include <editline/readline.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "tools/ndb_mgm_complete.h"

/* So many are kept when a console begins and finds twice as many. */
#define HISTORY_LINES  1000
#define HISTORY_HEAD   "_HiStOrY_V2_\n"
#define CLEAR_LINE     "\r\033[K"
#define REDRAW_KEY     ('^' & 037) /* No key of libedit's by itself: what is typed is drawn anew. */
#define REDRAW_BINDING "bind ^^ ed-redisplay"
#define TAB_TIMEOUT_MS 2000  /* A server that hangs shall not hold a key for long. */
#define TIMEOUT_MS     60000 /* What a handle begins with. */

/* libedit calls functions without an argument of ours. */
static struct {
    ndb_mgm_handle_t *handle;
    /* The nodes as the last Tab found them; NULL: not known. */
    struct ndb_mgm_cluster_state *nodes;
    struct console_choices choices;
    uint32_t next;   /* Choice that libedit gets next. */
    char path[1024]; /* The file of the history; empty: none is kept. */
    char *last;      /* Line that was kept last. */
    sigset_t mask;   /* Signals that are blocked while a key is waited for. */
    bool unkept;     /* It has been told that the history cannot be kept. */
} terminal;

/* ---- events ---- */

/* What other threads tell. While a line is being typed it waits here for the thread that reads
 * keys, which is woken by a byte in the pipe: nobody else may write where libedit does. */
static struct {
    pthread_mutex_t lock;
    bool typing;
    int wake[2];
    char *lines;
    size_t size;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = {-1, -1}};

static void open_told(void)
{
    if (pipe2(told.wake, O_CLOEXEC | O_NONBLOCK) != 0) told.wake[0] = told.wake[1] = -1;
}

static void close_told(void)
{
    if (told.wake[0] >= 0) (void)close(told.wake[0]);
    if (told.wake[1] >= 0) (void)close(told.wake[1]);
    told.wake[0] = told.wake[1] = -1;
}

/* The lock is held. False: there is no way to wake the reader, or no memory. */
static bool leave(const char *line)
{
    size_t length = strlen(line);
    char *lines = told.wake[1] < 0 ? NULL : realloc(told.lines, told.size + length + 1);

    if (lines == NULL) return false;
    told.lines = lines;
    memcpy(told.lines + told.size, line, length);
    told.lines[told.size + length] = '\n';
    if (write(told.wake[1], "", 1) != 1 && errno != EAGAIN) return false; /* Full: it is awake. */
    told.size += length + 1;
    return true;
}

void terminal_tell(const char *line)
{
    (void)pthread_mutex_lock(&told.lock);
    if (!told.typing || !leave(line)) {
        printf("%s\n", line);
        (void)fflush(stdout);
    }
    (void)pthread_mutex_unlock(&told.lock);
}

/* Prints what was left in the meantime, on lines of its own. */
static void print_told(const char *before)
{
    char bytes[64];

    (void)pthread_mutex_lock(&told.lock);
    while (told.wake[0] >= 0 && read(told.wake[0], bytes, sizeof(bytes)) > 0)
        continue;
    if (told.size > 0) {
        printf("%s%.*s", before, (int)told.size, told.lines);
        (void)fflush(stdout);
    }
    free(told.lines);
    told.lines = NULL;
    told.size = 0;
    (void)pthread_mutex_unlock(&told.lock);
}

static void set_typing(bool typing)
{
    (void)pthread_mutex_lock(&told.lock);
    told.typing = typing;
    (void)pthread_mutex_unlock(&told.lock);
}

/* ---- keys ---- */

enum wake { KEY_READY, EVENT_TOLD, KEYS_END };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* SIGINT is let in only where the console waits for a key: one that comes a moment before is not
 * lost, and none meets libedit in the middle of something. */
static enum wake wait_for_key(int fd, bool events)
{
    int wake = events ? told.wake[0] : -1;
    int last = wake > fd ? wake : fd;
    fd_set ready;

    while (!interrupted) {
        FD_ZERO(&ready);
        FD_SET(fd, &ready);
        if (wake >= 0) FD_SET(wake, &ready);
        if (pselect(last + 1, &ready, NULL, NULL, NULL, &terminal.mask) > 0)
            return FD_ISSET(fd, &ready) ? KEY_READY : EVENT_TOLD;
        if (errno != EINTR) return KEYS_END;
    }
    return KEYS_END;
}

/* One character; -1 at the end of input and after Ctrl-C, which both end readline(). */
static int read_key(FILE *input)
{
    mbstate_t state = {0};
    wchar_t key;
    char byte;

    for (;;) {
        enum wake wake = wait_for_key(fileno(input), mbsinit(&state) != 0);
        if (wake == EVENT_TOLD) {
            print_told(CLEAR_LINE);
            return REDRAW_KEY;
        }
        if (wake == KEYS_END || read(fileno(input), &byte, 1) != 1) return -1;
        size_t used = mbrtowc(&key, &byte, 1, &state);
        if (used <= 1) return (int)key;
        if (used == (size_t)-1) state = (mbstate_t){0}; /* None of the terminal's. */
    }
}

/* Before the prompt: libedit does this behind it by itself, and a key that comes between, as
 * Ctrl-D, would still be the line discipline's. */
static int set_raw(void)
{
    rl_prep_terminal(1);
    return 0;
}

/* ---- Tab ---- */

static const struct ndb_mgm_cluster_state *ask_nodes(void)
{
    if (!ndb_mgm_is_connected(terminal.handle)) return terminal.nodes;
    struct ndb_mgm_cluster_state *nodes = malloc(sizeof(*nodes));
    if (nodes == NULL) return terminal.nodes;
    ndb_mgm_set_timeout(terminal.handle, TAB_TIMEOUT_MS);
    if (ndb_mgm_get_status(terminal.handle, nodes) == 0) {
        free(terminal.nodes);
        terminal.nodes = nodes;
    } else {
        free(nodes);
    }
    ndb_mgm_set_timeout(terminal.handle, TIMEOUT_MS);
    return terminal.nodes;
}

static char *next_choice(const char *text, int state)
{
    (void)text;
    if (state == 0) terminal.next = 0;
    if (terminal.next == terminal.choices.count) return NULL;
    return strdup(terminal.choices.at[terminal.next++]);
}

/* The word from `start` to `end` of the line. NULL: nothing is offered, file names neither. */
static char **complete(const char *word, int start, int end)
{
    char before[4096];
    const struct console_choices *choices = &terminal.choices;

    (void)end;
    (void)snprintf(before, sizeof(before), "%.*s", start, rl_line_buffer);
    console_complete(before, word, ask_nodes(), &terminal.choices);
    rl_attempted_completion_over = 1;
    rl_completion_append_character = ' ';
    if (choices->count == 0) return NULL;
    if (choices->at[0][strlen(choices->at[0]) - 1] == '=')
        rl_completion_append_character = '\0'; /* The level follows. */
    return rl_completion_matches(word, next_choice);
}

/* ---- history ---- */

static void find_history(void)
{
    const char *file = getenv("NDB_MGM_HISTFILE");
    const char *home = getenv("HOME");

    if (file != NULL)
        (void)snprintf(terminal.path, sizeof(terminal.path), "%s", file);
    else
        (void)snprintf(terminal.path, sizeof(terminal.path), "%s/.ndb_mgm_history",
                       home == NULL ? "." : home);
}

/* Lines without libedit's head and form, which another library has written, or a person. NULL, or
 * why the file is no history. */
static const char *read_plain_lines(void)
{
    FILE *in = fopen(terminal.path, "r");
    char *line = NULL;
    size_t room = 0;
    bool text = true;

    if (in == NULL) return strerror(errno);
    for (ssize_t length; text && (length = getline(&line, &room, in)) >= 0;) {
        if (length > 0 && line[length - 1] == '\n') line[--length] = '\0';
        text = strlen(line) == (size_t)length;
        if (text && line[0] != '\0') (void)add_history(line);
    }
    const char *why = ferror(in) != 0 ? strerror(errno) : text ? NULL : "it is no text file";
    free(line);
    (void)fclose(in);
    if (why != NULL) clear_history();
    return why;
}

/* Beside, then in its place: a full disk costs no line, nor does another console that reads. The
 * name is nobody else's, so that no other file is written over, and one that was left stops nobody.
 */
static void rewrite(void)
{
    char *path = realpath(terminal.path, NULL); /* A link stays one. */
    char beside[PATH_MAX + 8];

    (void)snprintf(beside, sizeof(beside), "%s.XXXXXX", path == NULL ? "" : path);
    int fd = path == NULL ? -1 : mkostemp(beside, O_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
        if (write_history(beside) != 0 || rename(beside, path) != 0) (void)unlink(beside);
    }
    free(path);
}

static void read_lines(void)
{
    struct stat status;

    if (stat(terminal.path, &status) != 0 || !S_ISREG(status.st_mode)) return;
    bool plain = read_history(terminal.path) != 0;
    const char *why = plain ? read_plain_lines() : NULL;
    if (why != NULL) {
        (void)fprintf(stderr, "ndb_mgm: the history is not kept in %s: %s\n", terminal.path, why);
        terminal.path[0] = '\0';
        return;
    }
    if (!plain && history_length <= 2 * HISTORY_LINES) return;
    stifle_history(HISTORY_LINES);
    rewrite();
}

/* The line as it stands in the file; NULL without memory. */
static char *encode(const char *line, bool first, size_t *length)
{
    size_t room = sizeof(HISTORY_HEAD) + 4 * strlen(line) + 1;
    char *text = malloc(room);
    size_t used = 0;

    if (text == NULL) return NULL;
    if (first) used = (size_t)snprintf(text, room, "%s", HISTORY_HEAD);
    for (const char *c = line; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '\\' || byte < ' ' || byte == 127)
            used += (size_t)snprintf(text + used, room - used, "\\%03o", byte);
        else
            text[used++] = *c;
    }
    text[used++] = '\n';
    *length = used;
    return text;
}

static int append_line(const char *line)
{
    int fd = open(terminal.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                  S_IRUSR | S_IWUSR);
    struct stat status = {.st_size = 0};
    size_t length = 0;
    int rc = -1;

    if (fd < 0) return -1;
    if (fstat(fd, &status) == 0) {
        char *text = encode(line, status.st_size == 0, &length);
        /* A terminal or /dev/null keeps its mode. */
        if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
            (void)fchmod(fd, S_IRUSR | S_IWUSR);
        if (text != NULL && write(fd, text, length) == (ssize_t)length) rc = 0;
        free(text);
    }
    return close(fd) == 0 ? rc : -1;
}

static void keep(const char *line)
{
    if (line[0] == '\0' || (terminal.last != NULL && strcmp(terminal.last, line) == 0)) return;
    free(terminal.last);
    terminal.last = strdup(line);
    (void)add_history(line);
    if (terminal.path[0] == '\0' || append_line(line) == 0 || terminal.unkept) return;
    terminal.unkept = true;
    (void)fprintf(stderr, "ndb_mgm: the history is not kept in %s: %s\n", terminal.path,
                  strerror(errno));
}

/* ---- lines ---- */

void terminal_open(ndb_mgm_handle_t *handle)
{
    static char breaks[] = " \t";

    terminal.handle = handle;
    (void)setlocale(LC_CTYPE, ""); /* How many bytes make a character. */
    rl_getc_function = read_key;
    rl_pre_input_hook = set_raw;
    rl_readline_name = "ndb_mgm";
    rl_attempted_completion_function = complete;
    rl_basic_word_break_characters = breaks;
    find_history();
    using_history();
    (void)rl_parse_and_bind(REDRAW_BINDING);
    read_lines();
    open_told();
}

char *terminal_read(const char *prompt)
{
    struct sigaction ours = {.sa_handler = on_interrupt};
    struct sigaction before;
    sigset_t interrupt;
    char *line;

    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigaction(SIGINT, &ours, &before);
    (void)pthread_sigmask(SIG_BLOCK, &interrupt, &terminal.mask);
    set_typing(true);
    do {
        interrupted = 0;
        line = readline(prompt);
        if (line == NULL && interrupted) printf("^C\n");
    } while (line == NULL && interrupted);
    set_typing(false);
    print_told("");
    (void)pthread_sigmask(SIG_SETMASK, &terminal.mask, NULL);
    (void)sigaction(SIGINT, &before, NULL);
    if (line == NULL) return NULL;
    for (size_t length = strlen(line); length > 0 && line[length - 1] == ' '; length--)
        line[length - 1] = '\0'; /* Tab leaves one. */
    keep(line);
    return line;
}

void terminal_close(void)
{
    free(terminal.nodes);
    free(terminal.last);
    terminal.nodes = NULL;
    terminal.last = NULL;
    close_told();
}
