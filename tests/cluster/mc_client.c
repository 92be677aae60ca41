/* mc_client.c -- memcached's text protocol for tests: several clients change one key through
 * several servers, and nothing is lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mc_client incr|cas|append SECONDS KEY PORT...: four threads for each port. incr adds 1, cas adds
 * 1 by gets and cas, append appends a word that nobody else appends. At the end the value is
 * compared with what was answered: each change that was answered is in it once; one of which the
 * server said that its outcome is not known, at most once; no other. Exit code 1 when it is not so.
 *
 * mc_client count SECONDS KEY PORT: adds 1 from one thread, and prints how often that was answered
 * and how often the outcome was not known; the value is compared by the caller.
 *
 * mc_client send PORT: standard input as it is, replies to standard output until the server closes
 * or is silent for a second (send a quit).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS        4u
#define PORTS_MAX      8u
#define LINE_MAX_BYTES (8u * 1024u * 1024u)
#define WORD_BYTES     9u /* ",t-nnnnnn" without its first letter's thread: see word_of(). */
#define WORDS_MAX      100000u

enum mode { MODE_INCR, MODE_CAS, MODE_APPEND };

struct client {
    pthread_t thread;
    int fd;
    FILE *in;
    uint32_t number;
    uint32_t done, unknown, refused;
    uint8_t *outcome; /* append: of each word: 0 not, 1 done, 2 unknown. */
    uint32_t words;
};

static enum mode mode;
static const char *key;
static atomic_bool stop;

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "mc_client: %s: %s\n", what, why);
    exit(1);
}

static int open_port(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        die("connect", strerror(errno));
    return fd;
}

static void client_open(struct client *client, const char *port)
{
    client->fd = open_port(port);
    client->in = fdopen(client->fd, "r");
    if (client->in == NULL) die("open", strerror(errno));
}

static void send_text(struct client *client, const char *text)
{
    size_t size = strlen(text);
    if (send(client->fd, text, size, MSG_NOSIGNAL) != (ssize_t)size) die("send", strerror(errno));
}

static void read_line(struct client *client, char *line, size_t size)
{
    if (fgets(line, (int)size, client->in) == NULL) die("the server has closed", "");
    line[strcspn(line, "\r\n")] = 0;
}

/* The value of `key`, "" if there is none. *cas may be NULL. */
static void read_value(struct client *client, char *value, size_t size, uint64_t *cas)
{
    char line[512];
    unsigned long bytes;
    unsigned long long number;
    value[0] = 0;
    snprintf(line, sizeof line, "gets %s\r\n", key);
    send_text(client, line);
    read_line(client, line, sizeof line);
    if (strncmp(line, "SERVER_ERROR", 12) == 0) {
        if (cas != NULL) *cas = 0;
        return;
    }
    if (strcmp(line, "END") == 0) return;
    if (sscanf(line, "VALUE %*s %*u %lu %llu", &bytes, &number) != 2 || bytes + 3 > size)
        die("no value", line);
    if (cas != NULL) *cas = number;
    if (fread(value, 1, bytes + 2, client->in) != bytes + 2) die("value", "too short");
    value[bytes] = 0;
    read_line(client, line, sizeof line);
    if (strcmp(line, "END") != 0) die("no end", line);
}

/* The word number `word` of a client: always as long, and nobody else's. */
static void word_of(const struct client *client, uint32_t word, char *text)
{
    snprintf(text, 16, "%c%07u,", (char)('A' + client->number), word);
}

/* Counts what was answered. 1: done, 2: it may be done, 0: not. */
static uint8_t count(struct client *client, const char *line, bool good)
{
    if (good) {
        client->done++;
        return 1;
    }
    if (strstr(line, "outcome not known") != NULL) {
        client->unknown++;
        return 2;
    }
    if (strncmp(line, "SERVER_ERROR", 12) != 0 && strcmp(line, "EXISTS") != 0)
        die("unexpected answer", line);
    client->refused++;
    return 0;
}

static void change(struct client *client)
{
    char line[512];
    char value[64];
    char word[16];
    uint64_t cas = 0;
    switch (mode) {
    case MODE_INCR:
        snprintf(line, sizeof line, "incr %s 1\r\n", key);
        send_text(client, line);
        read_line(client, line, sizeof line);
        count(client, line, line[0] >= '0' && line[0] <= '9');
        break;
    case MODE_CAS:
        read_value(client, value, sizeof value, &cas);
        if (cas == 0) return;
        snprintf(word, sizeof word, "%llu", strtoull(value, NULL, 10) + 1);
        snprintf(line, sizeof line, "cas %s 0 0 %zu %llu\r\n%s\r\n", key, strlen(word),
                 (unsigned long long)cas, word);
        send_text(client, line);
        read_line(client, line, sizeof line);
        count(client, line, strcmp(line, "STORED") == 0);
        break;
    case MODE_APPEND:
        if (client->words == WORDS_MAX) return;
        word_of(client, client->words, word);
        snprintf(line, sizeof line, "append %s 0 0 %zu\r\n%s\r\n", key, strlen(word), word);
        send_text(client, line);
        read_line(client, line, sizeof line);
        client->outcome[client->words++] = count(client, line, strcmp(line, "STORED") == 0);
        break;
    }
}

static void *client_main(void *context)
{
    struct client *client = context;
    while (!atomic_load(&stop))
        change(client);
    return NULL;
}

static uint32_t occurrences(const char *value, const char *word)
{
    uint32_t found = 0;
    for (const char *at = strstr(value, word); at != NULL; at = strstr(at + 1, word))
        found++;
    return found;
}

static int check_words(const struct client *clients, uint32_t count_of, const char *value)
{
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count_of; i++) {
        for (uint32_t w = 0; w < clients[i].words; w++) {
            char word[16];
            word_of(&clients[i], w, word);
            uint32_t found = occurrences(value, word);
            uint8_t outcome = clients[i].outcome[w];
            expected += found;
            if (found > 1 || (outcome == 1 && found != 1) || (outcome == 0 && found != 0)) {
                printf("%s is there %u times, outcome %u\n", word, found, outcome);
                return 1;
            }
        }
    }
    if (strlen(value) == expected * WORD_BYTES) return 0;
    printf("%zu bytes instead of %llu\n", strlen(value), (unsigned long long)expected * WORD_BYTES);
    return 1;
}

static int check(struct client *clients, uint32_t count_of)
{
    static char value[LINE_MAX_BYTES];
    uint64_t done = 0;
    uint64_t unknown = 0;
    uint64_t refused = 0;
    for (uint32_t i = 0; i < count_of; i++) {
        done += clients[i].done;
        unknown += clients[i].unknown;
        refused += clients[i].refused;
    }
    read_value(&clients[0], value, sizeof value, NULL);
    printf("%llu done, %llu not known, %llu refused; the value has %zu bytes\n",
           (unsigned long long)done, (unsigned long long)unknown, (unsigned long long)refused,
           strlen(value));
    if (done == 0) return 1;
    if (mode == MODE_APPEND) return check_words(clients, count_of, value);
    uint64_t number = strtoull(value, NULL, 10);
    if (number >= done && number <= done + unknown) return 0;
    printf("the value is %s\n", value);
    return 1;
}

static int race(double seconds, char **ports, uint32_t port_count)
{
    static struct client clients[PORTS_MAX * THREADS];
    uint32_t count_of = port_count * THREADS;
    char line[512];
    for (uint32_t i = 0; i < count_of; i++) {
        clients[i].number = i;
        clients[i].outcome = calloc(WORDS_MAX, 1);
        if (clients[i].outcome == NULL) die("memory", "");
        client_open(&clients[i], ports[i % port_count]);
    }
    snprintf(line, sizeof line, "set %s 0 0 %u\r\n%s\r\n", key, mode == MODE_APPEND ? 0u : 1u,
             mode == MODE_APPEND ? "" : "0");
    send_text(&clients[0], line);
    read_line(&clients[0], line, sizeof line);
    if (strcmp(line, "STORED") != 0) die("set", line);
    printf("running\n");
    (void)fflush(stdout);
    for (uint32_t i = 0; i < count_of; i++)
        pthread_create(&clients[i].thread, NULL, client_main, &clients[i]);
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < count_of; i++)
        pthread_join(clients[i].thread, NULL);
    return check(clients, count_of);
}

static int count_up(double seconds, const char *port)
{
    static struct client client;
    struct timespec now;
    client_open(&client, port);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    do {
        change(&client);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
    printf("%u %u\n", client.done, client.unknown);
    return client.done > 0 ? 0 : 1;
}

static int send_all(const char *port)
{
    static char bytes[65536];
    size_t got;
    int fd = open_port(port);
    const struct timeval patience = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while ((got = fread(bytes, 1, sizeof bytes, stdin)) > 0) {
        for (size_t at = 0; at < got;) {
            ssize_t sent = send(fd, bytes + at, got - at, MSG_NOSIGNAL);
            if (sent <= 0) return 1;
            at += (size_t)sent;
        }
    }
    for (;;) {
        ssize_t in = recv(fd, bytes, sizeof bytes, 0);
        if (in <= 0) break;
        fwrite(bytes, 1, (size_t)in, stdout);
    }
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "send") == 0) return send_all(argv[2]);
    if (argc < 5 || (uint32_t)argc - 4 > PORTS_MAX) return 2;
    key = argv[3];
    if (strcmp(argv[1], "count") == 0) return count_up(atof(argv[2]), argv[4]);
    mode = strcmp(argv[1], "incr") == 0  ? MODE_INCR
           : strcmp(argv[1], "cas") == 0 ? MODE_CAS
                                         : MODE_APPEND;
    return race(atof(argv[2]), argv + 4, (uint32_t)argc - 4);
}
