/* mc_store_race.c -- part of mc_store_client: many threads on the same rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <time.h>
#include "tests/cluster/mc_store_client.h"

#define THREADS_MAX 16u
#define COUNTERS    4u
#define WINDOW      8u
#define LARGE_ROWS  3u
#define SIZE_MAX_OF (3200u * 1024u) /* Values of the large rows. */
#define PIECE       5000u           /* What is appended to a large value. */

/* ---- Threads ---- */

/* What was answered, and what nobody knows. */
struct tally {
    uint64_t done, unknown;
};

struct racer {
    pthread_t thread;
    uint32_t number, seconds;
    struct tally counter[COUNTERS], cas, append, piece, set;
    uint64_t reads, temporary;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* MC_OK: it is done. Of an unknown outcome it may be. */
static bool tally(struct racer *racer, struct tally *tally, const struct mc_request *request)
{
    const struct mc_result *result = &request->result;
    if (result->status == MC_OK) tally->done++;
    if (result->status != MC_TEMPORARY) return result->status == MC_OK;
    racer->temporary++;
    if (strcmp(result->message, "outcome not known") == 0 ||
        strncmp(result->message, "done", 4) == 0)
        tally->unknown++;
    return false;
}

static void race_counters(struct racer *racer, struct client *client, const struct mc_container *c)
{
    struct mc_request requests[WINDOW];
    bool done[WINDOW];
    for (uint32_t i = 0; i < WINDOW; i++) {
        char key[10];
        snprintf(key, sizeof key, "n%u", i % COUNTERS);
        requests[i] = request_of(MC_INCREMENT, key);
        requests[i].delta = 1;
        begin(client, c, &requests[i], &done[i]);
    }
    for (uint32_t i = 0; i < WINDOW; i++) {
        wait_for(client, &done[i]);
        bool good = tally(racer, &racer->counter[i % COUNTERS], &requests[i]);
        if (!good) want("increment", requests[i].result.status, MC_TEMPORARY);
        mc_request_clear(&requests[i]);
    }
}

/* Reads a number and writes the next one, if nobody else has. */
static void race_cas(struct racer *racer, struct client *client, const struct mc_container *c)
{
    struct mc_request get = request_of(MC_GET, "c");
    struct mc_request set = request_of(MC_SET, "c");
    char text[30];
    if (run(client, c, &get) == MC_OK) {
        snprintf(text, sizeof text, "%.*s", (int)get.result.value->size, get.result.value->bytes);
        snprintf(text, sizeof text, "%llu", strtoull(text, NULL, 10) + 1);
        give_value(&set, text, (uint32_t)strlen(text));
        set.cas_given = true;
        set.cas = get.result.cas;
        if (run(client, c, &set) != MC_EXISTS && !tally(racer, &racer->cas, &set))
            want("cas", set.result.status, MC_TEMPORARY);
    } else {
        want("get", get.result.status, MC_TEMPORARY);
    }
    mc_request_clear(&get);
    mc_request_clear(&set);
}

static void race_append(struct racer *racer, struct client *client, const struct mc_container *c,
                        uint32_t *random)
{
    struct mc_request request =
        request_of(next_random(random) % 2 == 0 ? MC_APPEND : MC_PREPEND, "a");
    give_value(&request, "x", 1);
    (void)run(client, c, &request);
    if (request.result.status != MC_TOO_LARGE && !tally(racer, &racer->append, &request))
        want("append", request.result.status, MC_TEMPORARY);
    mc_request_clear(&request);
}

static void race_large(struct racer *racer, struct client *client, const struct mc_container *c,
                       uint32_t *random)
{
    char key[10];
    snprintf(key, sizeof key, "l%u", next_random(random) % LARGE_ROWS);
    uint32_t what = next_random(random) % 10;
    uint32_t size = next_random(random) % (what == 0 ? SIZE_MAX_OF : what < 5 ? 60000 : 4000);
    struct mc_request request = request_of(what < 7 ? MC_SET : MC_DELETE, key);
    if (what < 7) request.value = pattern(size, next_random(random));
    (void)run(client, c, &request);
    if (!tally(racer, &racer->set, &request) && request.result.status != MC_NOT_FOUND)
        want("set or delete of a large value", request.result.status, MC_TEMPORARY);
    mc_request_clear(&request);
    for (uint32_t i = 0; i < LARGE_ROWS; i++) {
        snprintf(key, sizeof key, "l%u", i);
        request = request_of(MC_GET, key);
        enum mc_status status = run(client, c, &request);
        if (status == MC_OK) {
            want("a value that was written whole", is_pattern(request.result.value), true);
            racer->reads++;
        } else if (status != MC_NOT_FOUND) {
            want("read of a large value", status, MC_TEMPORARY);
        }
        mc_request_clear(&request);
    }
}

/* One large value to which all append pieces of one letter. */
static void race_pieces(struct racer *racer, struct client *client, const struct mc_container *c)
{
    static const char letters[] = "abcdefghijklmnop";
    struct mc_request request = request_of(MC_APPEND, "p");
    request.value = mc_value_create(PIECE);
    memset(request.value->bytes, letters[racer->number], PIECE);
    (void)run(client, c, &request);
    if (request.result.status != MC_TOO_LARGE && !tally(racer, &racer->piece, &request))
        want("append to a large value", request.result.status, MC_TEMPORARY);
    mc_request_clear(&request);
}

static void *race_on(void *context)
{
    struct racer *racer = context;
    struct client client;
    struct mc_container demo;
    struct mc_container large;
    uint32_t random = racer->number + 1;
    time_t end = time(NULL) + racer->seconds;
    client_open(&client, 10000, 0);
    container_open(&client, &demo, &race_view);
    container_open(&client, &large, &large_view);
    for (uint32_t i = 0; time(NULL) < end; i++) {
        race_counters(racer, &client, &demo);
        race_cas(racer, &client, &demo);
        race_append(racer, &client, &demo, &random);
        if (i % 4 == 0) race_large(racer, &client, &large, &random);
        if (i % 8 == 0) race_pieces(racer, &client, &large);
    }
    container_close(&demo);
    container_close(&large);
    client_close(&client);
    return NULL;
}

/* ---- What must be there then ---- */

static void want_between(const char *what, uint64_t is, const struct tally *tally)
{
    printf("%s: %llu, answered %llu, of unknown outcome %llu\n", what, (unsigned long long)is,
           (unsigned long long)tally->done, (unsigned long long)tally->unknown);
    want(what, is >= tally->done && is <= tally->done + tally->unknown, true);
}

static void add(struct tally *sum, const struct tally *tally)
{
    sum->done += tally->done;
    sum->unknown += tally->unknown;
}

static struct mc_request get(struct client *client, const struct mc_container *c, const char *key)
{
    struct mc_request request = request_of(MC_GET, key);
    enum mc_status status;
    uint32_t tries = 0;
    while ((status = run(client, c, &request)) == MC_TEMPORARY && tries++ < 20)
        mc_value_release(request.result.value);
    want(key, status, MC_OK);
    return request;
}

static uint64_t number_in(struct client *client, const struct mc_container *c, const char *key)
{
    char text[40];
    struct mc_request request = get(client, c, key);
    snprintf(text, sizeof text, "%.*s", (int)request.result.value->size,
             request.result.value->bytes);
    mc_request_clear(&request);
    return strtoull(text, NULL, 10);
}

static void check_pieces(struct client *client, const struct mc_container *c,
                         const struct racer *racers, uint32_t threads)
{
    struct mc_request request = get(client, c, "p");
    const struct mc_value *value = request.result.value;
    want("whole pieces", value->size % PIECE, 0);
    for (uint32_t i = 0; i < threads; i++) {
        uint64_t pieces = 0;
        for (uint32_t at = 0; at < value->size; at += PIECE) {
            if (value->bytes[at] != (char)('a' + i)) continue;
            for (uint32_t k = 0; k < PIECE; k++)
                want("of one letter", value->bytes[at + k] == (char)('a' + i), true);
            pieces++;
        }
        want_between("pieces", pieces, &racers[i].piece);
    }
    mc_request_clear(&request);
}

/* No part is left that no row has. */
static void check_parts(struct client *client, const struct mc_container *c)
{
    uint64_t parts = 0;
    static const char *const keys[] = {"l0", "l1", "l2", "p"};
    for (uint32_t i = 0; i < 4; i++) {
        struct mc_request request = request_of(MC_GET, keys[i]);
        if (run(client, c, &request) == MC_OK && request.result.value->size > 2000)
            parts += (request.result.value->size + 13949) / 13950;
        mc_request_clear(&request);
    }
    want("parts", rows_of(client, c->parts), parts);
}

static void check_sums(struct client *client, const struct racer *racers, uint32_t threads)
{
    struct mc_container demo;
    struct mc_container large;
    struct racer sum = {0};
    char key[10];
    container_open(client, &demo, &race_view);
    container_open(client, &large, &large_view);
    for (uint32_t i = 0; i < threads; i++) {
        for (uint32_t k = 0; k < COUNTERS; k++)
            add(&sum.counter[k], &racers[i].counter[k]);
        add(&sum.cas, &racers[i].cas);
        add(&sum.append, &racers[i].append);
        add(&sum.set, &racers[i].set);
        sum.reads += racers[i].reads;
        sum.temporary += racers[i].temporary;
    }
    for (uint32_t k = 0; k < COUNTERS; k++) {
        snprintf(key, sizeof key, "n%u", k);
        want_between("increments", number_in(client, &demo, key), &sum.counter[k]);
    }
    want_between("cas", number_in(client, &demo, "c"), &sum.cas);
    struct mc_request request = get(client, &demo, "a");
    want_between("appends", request.result.value->size, &sum.append);
    mc_request_clear(&request);
    check_pieces(client, &large, racers, threads);
    check_parts(client, &large);
    printf("large values: %llu written or deleted, %llu read; %llu temporary errors\n",
           (unsigned long long)sum.set.done, (unsigned long long)sum.reads,
           (unsigned long long)sum.temporary);
    container_close(&demo);
    container_close(&large);
}

int race(uint32_t threads, uint32_t seconds)
{
    static struct racer racers[THREADS_MAX];
    struct client client;
    struct mc_container demo;
    struct mc_container large;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    client_open(&client, 10000, 0);
    make_tables(&client);
    container_open(&client, &demo, &race_view);
    container_open(&client, &large, &large_view);
    for (uint32_t k = 0; k < COUNTERS; k++) {
        char key[10];
        snprintf(key, sizeof key, "n%u", k);
        want("set", put(&client, &demo, MC_SET, key, "0"), MC_OK);
    }
    want("set", put(&client, &demo, MC_SET, "c", "0"), MC_OK);
    want("set", put(&client, &demo, MC_SET, "a", ""), MC_OK);
    want("set", put(&client, &large, MC_SET, "p", ""), MC_OK);
    container_close(&demo);
    container_close(&large);
    printf("running\n");
    (void)fflush(stdout);
    for (uint32_t i = 0; i < threads; i++) {
        racers[i] = (struct racer){.number = i, .seconds = seconds};
        if (pthread_create(&racers[i].thread, NULL, race_on, &racers[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(racers[i].thread, NULL);
    check_sums(&client, racers, threads);
    client_close(&client);
    printf("no update is lost\n");
    return 0;
}
