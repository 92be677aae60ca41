/* hostile_sockets.c -- attacks the ports of a running cluster with bytes that begin right and go
 * wrong. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hostile_sockets CONNECT_STRING NODE_PID MGM_PID [ATTACKS] [SEED]
 *
 * One data node and one management server run; hostile_sockets.sh starts them. The attackers are
 * API nodes of the configuration (and strangers); a good client in a thread of its own reads and
 * writes all the while and must see no error. At the end both processes live, and have about the
 * memory and the descriptors that they had near the beginning.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ndb/mgm.h>
#include <ndb/ndb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "config/config.h"
#include "signals/api_reg.h"
#include "tests/hostile/hostile_gen.h"
#include "transporters/handshake.h"
#include "transporters/link.h"

#define DATA_NODE        1u
#define ATTACKERS        3u
#define FLOOD            150u
#define FLOOD_EVERY      150u
#define MEMORY_GROWTH_KB (48u * 1024u)
#define GOOD_TABLE       1u /* The first table of a new cluster. */

struct attack {
    struct gen gen;
    uint16_t data_port;
    uint16_t mgm_port;
    uint64_t cluster_id;
    uint64_t incarnation;
    uint32_t node[ATTACKERS];
    uint32_t epoch[ATTACKERS];
    uint64_t sent;
    uint64_t sessions;
    uint64_t opened; /* Sessions that came through the handshake. */
    uint64_t answered;
    int flood[FLOOD];
    uint32_t flood_count;
};

/* --- The good client. --- */

struct row {
    uint32_t id;
    uint32_t value;
};

static const struct ndb_field row_fields[] = {NDB_FIELD(struct row, id, "id"),
                                              NDB_FIELD(struct row, value, "value")};

struct good {
    const char *connect_string;
    atomic_int ready; /* 1 works, -1 has failed. */
    atomic_int stop;
    atomic_ullong rounds;
    char why[300];
};

static int good_failed(struct good *good, const char *what, const ndb_error_t *error)
{
    snprintf(good->why, sizeof good->why, "%s: error %d: %s %s", what, error->code, error->text,
             error->detail);
    atomic_store(&good->ready, -1);
    return -1;
}

static int good_round(struct good *good, ndb_t *ndb, const struct ndb_record *record,
                      uint32_t number)
{
    struct row row = {.id = number % 1000u, .value = number};
    struct row back = {.id = row.id};
    if (ndb_write_row(ndb, record, &row, 0) != 0) return good_failed(good, "write", ndb_error(ndb));
    if (ndb_read_row(ndb, record, &back, 0) != 0) return good_failed(good, "read", ndb_error(ndb));
    if (back.value != number) {
        snprintf(good->why, sizeof good->why, "read %u instead of %u", back.value, number);
        atomic_store(&good->ready, -1);
        return -1;
    }
    if (number % 3u == 0 && ndb_delete_row(ndb, record, &row, 0) != 0)
        return good_failed(good, "delete", ndb_error(ndb));
    atomic_fetch_add(&good->rounds, 1);
    return 0;
}

static void *good_thread(void *context)
{
    struct good *good = context;
    ndb_error_t error;
    struct ndb_cluster_connection *connection = ndb_connection_create(good->connect_string, NULL);
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_connection_error(connection, &error);
        good_failed(good, "connect", &error);
        return NULL;
    }
    ndb_t *ndb = ndb_open(connection, "good");
    struct ndb_table *table = NULL;
    struct ndb_record *record = NULL;
    if (ndb_table_create(
            ndb,
            "CREATE TABLE good (id INT UNSIGNED NOT NULL PRIMARY KEY, value INT UNSIGNED NOT NULL)",
            NULL, 0) != 0 ||
        (table = ndb_table_open(ndb, "good", 0)) == NULL ||
        (record = ndb_record_create(ndb, table, row_fields, 2, sizeof(struct row))) == NULL) {
        good_failed(good, "table", ndb_error(ndb));
        return NULL;
    }
    for (uint32_t number = 0; atomic_load(&good->stop) == 0; number++) {
        if (good_round(good, ndb, record, number) != 0) break;
        if (number == 0) atomic_store(&good->ready, 1);
    }
    ndb_record_release(record);
    ndb_table_release(table);
    ndb_close(ndb);
    ndb_connection_free(connection);
    return NULL;
}

/* --- Bytes. --- */

static uint64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u;
}

static int open_socket(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* False when the other end has closed. What the receiver does not take within a second is dropped.
 */
static bool put_bytes(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t end = now_ms() + 1000u;
    while (size > 0 && now_ms() < end) {
        ssize_t count = send(fd, at, size, MSG_NOSIGNAL);
        if (count > 0) {
            at += count;
            size -= (size_t)count;
        } else if (count < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 20);
        } else {
            return false;
        }
    }
    return size == 0;
}

static void drain(int fd, int wait_ms)
{
    uint8_t bytes[4096];
    while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, wait_ms) > 0) {
        if (recv(fd, bytes, sizeof bytes, 0) <= 0) return;
    }
}

static uint32_t mutate(struct rng *rng, uint8_t *bytes, uint32_t size, uint32_t room)
{
    uint32_t count = 1u + (uint32_t)rng_below(rng, 4);
    if (size == 0) return 0;
    while (count-- > 0) {
        uint32_t at = (uint32_t)rng_below(rng, rng_chance(rng, 1, 2) && size > 32u ? 32u : size);
        switch (rng_below(rng, 6)) {
        case 0:
        case 1:
            bytes[at] ^= (uint8_t)(1u << rng_below(rng, 8));
            break;
        case 2:
            bytes[at] = (uint8_t)rng_next(rng);
            break;
        case 3:
            size = at + 1u;
            break;
        case 4:
            memset(bytes + at, rng_chance(rng, 1, 2) ? 0xFF : 0, size - at < 8u ? size - at : 8u);
            break;
        default:
            if (size + 16u <= room) {
                memmove(bytes + at + 16u, bytes + at, size - at);
                size += 16u;
            }
            break;
        }
    }
    return size;
}

/* --- Sessions with the data node. --- */

struct session {
    struct attack *attack;
    struct link *link;
    uint32_t who;
    int fd;
};

static void on_up(void *context, struct link *link, const struct link_peer *peer)
{
    struct session *session = context;
    (void)link;
    session->attack->opened++;
    session->attack->epoch[session->who] = peer->epoch;
}

static bool on_signals(void *context, struct link *link, const uint32_t *words, uint32_t count)
{
    struct session *session = context;
    (void)link;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        struct signal sig;
        signal_open(&sig, words + at);
        gen_learn(&session->attack->gen, session->attack->node[session->who], &sig);
        session->attack->answered++;
    }
    return true;
}

/* Writes what the link has; each piece may be damaged, one in `odds` (0 = none). False: the
 * connection is over. */
static bool flush_link(struct session *session, uint32_t odds)
{
    static uint8_t copy[1u << 19];
    struct rng *rng = &session->attack->gen.rng;
    struct link_bytes piece;
    while (link_output(session->link, &piece, 1) > 0) {
        uint32_t size = (uint32_t)piece.size;
        bool whole = odds == 0 || size + 64u > sizeof copy || !rng_chance(rng, 1, odds);
        if (size <= sizeof copy) memcpy(copy, piece.at, size);
        if (!whole) size = mutate(rng, copy, size, sizeof copy);
        if (!put_bytes(session->fd, whole ? piece.at : copy, size)) return false;
        link_sent(session->link, piece.size);
    }
    return true;
}

static bool read_link(struct session *session, int wait_ms)
{
    uint8_t bytes[16384];
    while (poll(&(struct pollfd){.fd = session->fd, .events = POLLIN}, 1, wait_ms) > 0) {
        ssize_t count = recv(session->fd, bytes, sizeof bytes, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) return false;
        if (count > 0 && !link_receive(session->link, bytes, (size_t)count)) return false;
        wait_ms = 0;
    }
    return true;
}

static bool shake_hands(struct session *session, uint32_t odds)
{
    link_start(session->link, 0);
    for (uint32_t i = 0; i < 100 && link_state(session->link) != LINK_OPEN; i++) {
        if (!flush_link(session, odds) || !read_link(session, 10)) return false;
        if (link_state(session->link) == LINK_CLOSING || odds != 0) return false;
    }
    return link_state(session->link) == LINK_OPEN && flush_link(session, 0);
}

/* Signals that are refused one by one, or frames that are refused as a whole. */
static void speak(struct session *session, uint32_t odds)
{
    static uint32_t words[SIGNAL_EXTENT_MAX + 32000];
    struct attack *attack = session->attack;
    uint32_t count = 10u + (uint32_t)rng_below(&attack->gen.rng, 90);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = gen_signal(&attack->gen, attack->node[session->who], FROM_API, words);
        attack->sent++;
        if (signal_extent_check(words, size) == size &&
            link_send(session->link, words, size) != LINK_SENT)
            return;
        bool flush = rng_chance(&attack->gen.rng, 1, 4);
        if (flush && (!flush_link(session, odds) ||
                      !read_link(session, rng_chance(&attack->gen.rng, 1, 2) ? 2 : 0)))
            return;
    }
    /* What was sent is to be executed before the connection goes, most of the time. */
    if (flush_link(session, odds) && !rng_chance(&attack->gen.rng, 1, 5)) read_link(session, 30);
}

/* Opens as a client does: registers, and waits for the answer. */
static bool register_client(struct session *session)
{
    uint32_t node = session->attack->node[session->who];
    uint32_t words[] = {signal_kind(GSN_API_REGREQ, 3, 0, PRIO_A, 0),
                        block_ref(DATA_NODE, BLOCK_QMGR, 0),
                        block_ref(node, BLOCK_API, 1),
                        SIGNAL_HEAD_WORDS + 3u,
                        1,
                        NDB_VERSION,
                        1};
    uint64_t answers = session->attack->answered;
    if (link_send(session->link, words, sizeof words / 4u) != LINK_SENT) return false;
    for (uint32_t i = 0; i < 100 && session->attack->answered == answers; i++) {
        if (!flush_link(session, 0) || !read_link(session, 10)) return false;
    }
    return session->attack->answered != answers;
}

static void link_session(struct attack *attack, uint32_t hello_odds, uint32_t frame_odds)
{
    static const struct link_callbacks calls = {.up = on_up, .signals = on_signals};
    struct rng *rng = &attack->gen.rng;
    struct session session = {.attack = attack, .who = (uint32_t)rng_below(rng, ATTACKERS)};
    struct link_options options = {
        .calls = &calls,
        .context = &session,
        .own_node =
            rng_chance(rng, 1, 40) ? (uint32_t)rng_below(rng, 256) : attack->node[session.who],
        .own_role = rng_chance(rng, 1, 40) ? LINK_ROLE_MGM : LINK_ROLE_API,
        .cluster_id = attack->cluster_id ^ (rng_chance(rng, 1, 40) ? 1u : 0u),
        .incarnation = attack->incarnation + session.who,
        .connect = true,
        .peer = DATA_NODE,
        .peer_role = LINK_ROLE_DATA,
        .epoch_last = attack->epoch[session.who],
    };
    session.fd = open_socket(attack->data_port);
    if (session.fd < 0) return;
    session.link = link_create(&options);
    gen_forget(&attack->gen, attack->node[session.who]);
    attack->sent++;
    if (session.link != NULL && shake_hands(&session, hello_odds) &&
        (rng_chance(rng, 1, 10) || register_client(&session)))
        speak(&session, frame_odds);
    if (getenv("HOSTILE_VERBOSE") != NULL && session.link != NULL)
        printf("node %u: %s, %s\n", options.own_node, link_state_name(link_state(session.link)),
               link_reason(session.link));
    link_destroy(session.link);
    close(session.fd);
}

static void garbage(struct attack *attack, uint16_t port)
{
    uint8_t bytes[3000];
    struct rng *rng = &attack->gen.rng;
    int fd = open_socket(port);
    if (fd < 0) return;
    uint32_t chunks = 1u + (uint32_t)rng_below(rng, 4);
    for (uint32_t i = 0; i < chunks; i++) {
        uint32_t size = (uint32_t)rng_below(rng, sizeof bytes);
        for (uint32_t b = 0; b < size; b++)
            bytes[b] = (uint8_t)rng_next(rng);
        if (i == 0 && size >= 4 && rng_chance(rng, 1, 2)) memcpy(bytes, "NDBL", 4);
        attack->sent++;
        if (!put_bytes(fd, bytes, size)) break;
    }
    drain(fd, 1);
    close(fd);
}

/* --- The management port. --- */

static void management(struct attack *attack)
{
    static const char *const commands[] = {
        "get version\n\n",
        "get status\n\n",
        "get config\nversion: 65536\nnodetype: 0\n\n",
        ("get nodeid\nversion: 65536\nnodetype: 1\nnodeid: 55\nuser: x\npassword: y\n"
         "public key: z\n\n"),
        "get connection parameter\nnode1: 1\nnode2: 50\nparam: 403\n\n",
        "listen event\nfilter: 15 1\n\n",
        "get info clusterlog\n\n",
        "transporter connect\n\n",
        "get mgmd nodeid\n\n",
        "check connection\n\n",
    };
    uint8_t bytes[4096];
    struct rng *rng = &attack->gen.rng;
    int fd = open_socket(attack->mgm_port);
    if (fd < 0) return;
    uint32_t count = 1u + (uint32_t)rng_below(rng, 8);
    for (uint32_t i = 0; i < count; i++) {
        const char *command = commands[rng_below(rng, sizeof commands / sizeof commands[0])];
        uint32_t size = (uint32_t)strlen(command);
        memcpy(bytes, command, size);
        if (rng_chance(rng, 3, 4)) size = mutate(rng, bytes, size, 2048);
        if (rng_chance(rng, 1, 20)) {
            memset(bytes, 'a', sizeof bytes);
            size = sizeof bytes;
        }
        attack->sent++;
        if (!put_bytes(fd, bytes, size)) break;
        drain(fd, 0);
    }
    drain(fd, 1);
    close(fd);
}

/* Connections that say nothing, or half a greeting, and stay. */
static void flood(struct attack *attack)
{
    for (uint32_t i = 0; i < attack->flood_count; i++)
        close(attack->flood[i]);
    attack->flood_count = 0;
    while (attack->flood_count < FLOOD) {
        int fd =
            open_socket(rng_chance(&attack->gen.rng, 1, 4) ? attack->mgm_port : attack->data_port);
        if (fd < 0) break;
        if (rng_chance(&attack->gen.rng, 1, 2))
            put_bytes(fd, "NDBLslow", 4 + rng_below(&attack->gen.rng, 5));
        attack->sent++;
        attack->flood[attack->flood_count++] = fd;
    }
}

static void attack_once(struct attack *attack)
{
    if (attack->sessions++ % FLOOD_EVERY == 20) flood(attack);
    switch (rng_below(&attack->gen.rng, 12)) {
    case 0:
    case 1:
        link_session(attack, 1, 0);
        break;
    case 2:
        garbage(attack, attack->data_port);
        break;
    case 3:
        garbage(attack, attack->mgm_port);
        break;
    case 4:
        management(attack);
        break;
    case 5:
    case 6:
        link_session(attack, 0, 3);
        break;
    default:
        link_session(attack, 0, 0);
        break;
    }
}

/* --- What the processes use. --- */

static uint32_t resident_kb(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    fclose(file);
    return (uint32_t)(pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024u);
}

static uint32_t descriptors(pid_t pid)
{
    char path[64];
    uint32_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (dir == NULL) return 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

struct process {
    const char *name;
    pid_t pid;
    uint32_t resident_kb;
    uint32_t descriptors;
};

/* Closed connections are noticed and given up within the handshake's time. */
static bool same_as_before(const struct process *process)
{
    uint64_t end = now_ms() + 20000u;
    while (descriptors(process->pid) > process->descriptors + 2u && now_ms() < end)
        poll(NULL, 0, 100);
    uint32_t kb = resident_kb(process->pid);
    uint32_t open_now = descriptors(process->pid);
    printf("%s: %u KB, was %u; %u descriptors, were %u\n", process->name, kb, process->resident_kb,
           open_now, process->descriptors);
    if (kb == 0 || open_now == 0) return false; /* It is gone. */
    return open_now <= process->descriptors + 2u && kb <= process->resident_kb + MEMORY_GROWTH_KB;
}

static int learn_cluster(struct attack *attack, const char *connect_string)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    char why[200] = "";
    ndb_mgm_handle_t *handle = ndb_mgm_create_handle();
    if (ndb_mgm_set_connectstring(handle, connect_string) != 0 ||
        ndb_mgm_connect(handle, 5, 1) != 0 ||
        ndb_mgm_get_configuration(handle, &bytes, &size) != 0) {
        fprintf(stderr, "%s\n", ndb_mgm_error_text(handle));
        return -1;
    }
    struct cluster_config *config = config_decode(bytes, size, why, sizeof why);
    int port = ndb_mgm_get_connection_port(handle, DATA_NODE, 0);
    if (config == NULL || port <= 0) {
        fprintf(stderr, "no configuration or no port: %s\n", why);
        return -1;
    }
    uint32_t count = 0; /* The last API nodes: the good client takes the first. */
    for (uint32_t id = 255; id > 0 && count < ATTACKERS; id--) {
        const struct config_section *node = config_node(config, id);
        if (node != NULL && config_section_kind(node) == CONFIG_API) attack->node[count++] = id;
    }
    attack->cluster_id = config_cluster_id(config);
    attack->data_port = (uint16_t)port;
    attack->mgm_port = ndb_mgm_connected_port(handle);
    config_free(config);
    free(bytes);
    ndb_mgm_destroy_handle(handle);
    return count == ATTACKERS ? 0 : -1;
}

int main(int argc, char **argv)
{
    static struct attack attack;
    static struct good good;
    pthread_t thread;
    if (argc < 4) {
        fprintf(stderr, "usage: %s CONNECT_STRING NODE_PID MGM_PID [ATTACKS] [SEED]\n", argv[0]);
        return 2;
    }
    struct process processes[2] = {{.name = "ndbmtd", .pid = (pid_t)atoi(argv[2])},
                                   {.name = "ndb_mgmd", .pid = (pid_t)atoi(argv[3])}};
    uint64_t attacks = argc > 4 ? strtoull(argv[4], NULL, 10) : 10000u;
    gen_init(&attack.gen, argc > 5 ? strtoull(argv[5], NULL, 10) : 1u);
    attack.gen.tc_count = attack.gen.ldm_count = 1;
    attack.gen.good_table = GOOD_TABLE;
    attack.gen.good_version = 1;
    attack.incarnation = now_ms() + 1u;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    good.connect_string = argv[1];
    pthread_create(&thread, NULL, good_thread, &good);
    while (atomic_load(&good.ready) == 0)
        poll(NULL, 0, 10);
    if (atomic_load(&good.ready) > 0 && learn_cluster(&attack, argv[1]) != 0) return 1;

    /* The first attacks fill pools and buffers that stay; what is used after them is the measure.
     */
    uint64_t warm = attacks / 10u;
    while (attack.sent < attacks && atomic_load(&good.ready) > 0) {
        attack_once(&attack);
        if (processes[0].descriptors != 0 || attack.sent < warm) continue;
        for (uint32_t i = 0; i < attack.flood_count; i++)
            close(attack.flood[i]);
        attack.flood_count = 0;
        poll(NULL, 0, 1000);
        for (uint32_t i = 0; i < 2; i++) {
            processes[i].resident_kb = resident_kb(processes[i].pid);
            processes[i].descriptors = descriptors(processes[i].pid);
        }
    }
    for (uint32_t i = 0; i < attack.flood_count; i++)
        close(attack.flood[i]);
    uint64_t rounds = atomic_load(&good.rounds);
    for (uint32_t i = 0; i < 100 && atomic_load(&good.rounds) < rounds + 20u; i++)
        poll(NULL, 0, 50);
    bool served = atomic_load(&good.ready) > 0 && atomic_load(&good.rounds) >= rounds + 20u;
    atomic_store(&good.stop, 1);
    pthread_join(thread, NULL);
    printf("%llu attacks in %llu sessions, %llu past the handshake, %llu answers; the good client "
           "did %llu rounds\n",
           (unsigned long long)attack.sent, (unsigned long long)attack.sessions,
           (unsigned long long)attack.opened, (unsigned long long)attack.answered,
           (unsigned long long)atomic_load(&good.rounds));
    if (!served) printf("FAILED: the good client was harmed: %s\n", good.why);
    bool same = same_as_before(&processes[0]);
    same &= same_as_before(&processes[1]);
    if (!same) printf("FAILED: a process is gone, or keeps memory or descriptors\n");
    return served && same ? 0 : 1;
}
