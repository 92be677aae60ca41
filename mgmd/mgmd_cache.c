/* mgmd_cache.c -- decides which configuration the server uses, and keeps it in its cache directory.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mgmd/config_parse.h"
#include "mgmd/mgmd.h"

/* ---- files ---- */

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    uint8_t *bytes = in == NULL ? NULL : malloc(CONFIG_ENCODED_MAX);

    *size = 0;
    if (bytes != NULL) *size = fread(bytes, 1, CONFIG_ENCODED_MAX, in);
    if (in != NULL) (void)fclose(in);
    return bytes;
}

static int sync_directory_of(const char *path)
{
    char directory[2400];

    (void)snprintf(directory, sizeof(directory), "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL) slash[1] = '\0';
    int in = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = in < 0 ? -1 : fsync(in);
    if (rc != 0 && errno == EINVAL) rc = 0; /* A file system that has no such thing. */
    if (in >= 0) (void)close(in);
    return rc;
}

int mgmd_remove_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) return -1;
    return sync_directory_of(path);
}

/* Writes beside, syncs, renames: the name never stands for half a file. When it has the name it
 * counts as written: a directory that cannot be synced may bring the former one back after a loss
 * of power, which is said. */
int mgmd_write_file(const char *path, const void *bytes, size_t size)
{
    char beside[2400];
    const char *at = bytes;

    (void)snprintf(beside, sizeof(beside), "%s.tmp", path);
    int out = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (out < 0) return -1;
    while (size > 0) {
        ssize_t n = write(out, at, size);
        if (n <= 0) break;
        at += n;
        size -= (size_t)n;
    }
    int rc = size == 0 ? fsync(out) : -1;
    (void)close(out);
    if (rc == 0) rc = rename(beside, path);
    if (rc != 0) (void)unlink(beside);
    if (rc == 0 && sync_directory_of(path) != 0)
        (void)fprintf(stderr,
                      "ndb_mgmd: the directory of %s cannot be synced (%s): a loss of power may "
                      "take what was written\n",
                      path, strerror(errno));
    return rc;
}

static void cache_path(const struct mgmd *mgmd, uint32_t generation, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u_config.bin.%u", mgmd->config_dir, mgmd->own_node,
                   generation);
}

/* The oldest or the newest of the generations from `from` to before `below` of which a file exists;
 * 0 when there is none. */
static uint32_t cache_find(const struct mgmd *mgmd, uint32_t from, uint32_t below, bool newest)
{
    char prefix[64];
    DIR *directory = opendir(mgmd->config_dir);
    uint32_t best = 0;

    int length = snprintf(prefix, sizeof(prefix), "ndb_%u_config.bin.", mgmd->own_node);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        int64_t generation;
        if (strncmp(entry->d_name, prefix, (size_t)length) != 0) continue;
        if (mgm_parse_number(entry->d_name + length, &generation) != 0) continue;
        if (generation < 1 || generation < from || generation >= below) continue;
        if (best == 0 || (newest ? generation > best : generation < best))
            best = (uint32_t)generation;
    }
    if (directory != NULL) (void)closedir(directory);
    return best;
}

static uint32_t cache_newest(const struct mgmd *mgmd, uint32_t below)
{
    return cache_find(mgmd, 1, below, true);
}

/* A generation that is kept, or NULL with the reason. */
static struct cluster_config *load_generation(const struct mgmd *mgmd, uint32_t generation,
                                              char *why, size_t why_size)
{
    char path[2300];
    size_t size;

    cache_path(mgmd, generation, path, sizeof(path));
    uint8_t *bytes = read_file(path, &size);
    if (bytes == NULL) (void)snprintf(why, why_size, "it cannot be read");
    struct cluster_config *config =
        bytes == NULL ? NULL : config_decode(bytes, size, why, why_size);
    free(bytes);
    return config;
}

/* The newest cached configuration that can be read; damaged ones are named and skipped. */
static struct cluster_config *cache_load(struct mgmd *mgmd)
{
    uint32_t generation = UINT32_MAX;
    char path[2300];
    char why[128];

    while ((generation = cache_newest(mgmd, generation)) != 0) {
        struct cluster_config *config = load_generation(mgmd, generation, why, sizeof(why));
        if (config != NULL) return config;
        cache_path(mgmd, generation, path, sizeof(path));
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR,
                           "Cached configuration %s is not used: %s", path, why);
        (void)fprintf(stderr, "ndb_mgmd: %s is not used: %s\n", path, why);
    }
    return NULL;
}

uint32_t mgmd_config_kept(const struct mgmd *mgmd, uint32_t generation)
{
    char why[128];
    struct cluster_config *kept = load_generation(mgmd, generation, why, sizeof(why));
    uint32_t digest = kept == NULL ? 0 : config_content_digest(kept);

    config_free(kept);
    return digest;
}

/* A generation is made once: not with the number of one whose file is damaged, either. */
static uint32_t next_generation(const struct mgmd *mgmd, const struct cluster_config *config)
{
    uint32_t newest = cache_newest(mgmd, UINT32_MAX);

    return (newest > config_generation(config) ? newest : config_generation(config)) + 1;
}

int mgmd_config_store(struct mgmd *mgmd, const struct cluster_config *config)
{
    char path[2300];
    size_t size;
    uint8_t *bytes = config_encode(config, &size);

    cache_path(mgmd, config_generation(config), path, sizeof(path));
    int rc = bytes == NULL ? -1 : mgmd_write_file(path, bytes, size);
    free(bytes);
    if (rc != 0) (void)fprintf(stderr, "ndb_mgmd: the cache %s cannot be written\n", path);
    return rc;
}

/* Removes the generations below `below`, but not `kept`: the oldest first, so that whoever is
 * killed meanwhile finds the newest still. 0, or -1: there is one that stays. */
static int cache_clear(struct mgmd *mgmd, uint32_t below, uint32_t kept)
{
    char path[2300];
    uint32_t at = 0;
    uint32_t removed = 0;
    int rc = 0;

    while ((at = cache_find(mgmd, at + 1, below, false)) != 0) {
        cache_path(mgmd, at, path, sizeof(path));
        if (at == kept) continue;
        removed++;
        if (unlink(path) == 0) continue;
        rc = -1;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR, "%s cannot be removed: %s", path,
                           strerror(errno));
        (void)fprintf(stderr, "ndb_mgmd: %s cannot be removed: %s\n", path, strerror(errno));
    }
    if (removed > 0 && rc == 0) (void)sync_directory_of(path); /* It was synced a moment ago. */
    return rc;
}

/* This configuration takes the place of all that are kept. They go when it is there: whoever cannot
 * write, or is killed, still has the cluster's id. */
static int store_alone(struct mgmd *mgmd, const struct cluster_config *config)
{
    if (mgmd_config_store(mgmd, config) != 0) return -1;
    return cache_clear(mgmd, UINT32_MAX, config_generation(config));
}

void mgmd_cache_forget(struct mgmd *mgmd)
{
    (void)cache_clear(mgmd, config_generation(mgmd->config), 0);
}

int mgmd_config_behind(struct mgmd *mgmd, uint32_t generation)
{
    uint32_t own = config_generation(mgmd->config);

    if (generation == 0 || generation == UINT32_MAX) return 0;
    if (config_count(mgmd->config, CONFIG_MGMD) > 1) return 0;
    if (generation < own || (generation == own && !mgmd->anew)) {
        char path[2300];
        cache_path(mgmd, generation, path, sizeof(path));
        if (mgmd->anew) (void)mgmd_remove_file(path); /* It is not what that node runs with. */
        return 0;
    }
    config_set_generation(mgmd->config, generation + 1);
    if (mgmd_config_store(mgmd, mgmd->config) != 0) {
        config_set_generation(mgmd->config, own);
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "The data nodes run with generation %u, which is lost, and the cache in "
                           "%s cannot be written: the next change may get a number that is taken",
                           generation, mgmd->config_dir);
        return -1;
    }
    (void)cache_clear(mgmd, generation + 1, 0);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "The data nodes run with generation %u, which is lost: the configuration is "
                       "generation %u",
                       generation, config_generation(mgmd->config));
    return 0;
}

/* ---- decision ---- */

static struct cluster_config *parse_and_tell(const char *file)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_file(file, &report);

    for (uint32_t i = 0; i < report.count; i++)
        (void)fprintf(stderr, "%s\n", report.lines[i]);
    if (report.dropped > 0) (void)fprintf(stderr, "... and %u more lines\n", report.dropped);
    config_report_clear(&report);
    return config;
}

static void set_directory(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);

    (void)snprintf(to, size, "%s%s", length == 0 ? "." : from,
                   length > 0 && from[length - 1] == '/' ? "" : "/");
}

static int open_log(struct mgmd *mgmd, const struct cluster_config *config)
{
    const struct config_section *own = config_node(config, mgmd->own_node);
    struct log_destination destination;
    char why[300];

    set_directory(mgmd->directory, sizeof(mgmd->directory), config_get_text(own, CFG_MGMD_DataDir));
    if (log_destination_parse(config_get_text(own, CFG_MGMD_LogDestination), &destination, why,
                              sizeof(why)) == 0) {
        mgmd->log =
            cluster_log_open(&destination, mgmd->directory, mgmd->own_node, why, sizeof(why));
    }
    if (mgmd->log == NULL) (void)fprintf(stderr, "ndb_mgmd: %s\n", why);
    return mgmd->log == NULL ? -1 : 0;
}

static int refuse_start(struct mgmd *mgmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse_start(struct mgmd *mgmd, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)fprintf(stderr, "ndb_mgmd: %s\n", text);
    cluster_log_write(mgmd->log, NDB_MGM_SEVERITY_ERROR, 0, text);
    return -1;
}

/* Does the operator say another id than that of the kept configurations, and may not? */
static bool other_cluster_wanted(const struct mgmd *mgmd, const struct cluster_config *cached)
{
    uint64_t wanted = mgmd->options.cluster_id;

    return wanted != 0 && wanted != config_cluster_id(cached) && !mgmd->options.initial;
}

/* Gives the new configuration its generation and identity and stores it; generation 1 alone. */
static int adopt(struct mgmd *mgmd, struct cluster_config *config,
                 const struct cluster_config *cached, uint32_t generation)
{
    config_set_generation(config, generation);
    mgmd_identity_give(mgmd, config, cached);
    return generation == 1 ? store_alone(mgmd, config) : mgmd_config_store(mgmd, config);
}

/* Both exist: compare, and say which one is used. Consumes both; the winner becomes the server's.
 */
static int choose(struct mgmd *mgmd, struct cluster_config *file, struct cluster_config *cached)
{
    char what[256] = "";

    if (other_cluster_wanted(mgmd, cached)) {
        mgmd->config = cached;
        config_free(file);
        return refuse_start(mgmd,
                            "--cluster-id is another one than that of the kept configurations "
                            "(%" PRIu64 "): with --initial it takes its place",
                            config_cluster_id(cached));
    }
    if (mgmd->options.initial) {
        mgmd->anew = true;
        int rc = adopt(mgmd, file, cached, 1);
        if (rc == 0)
            cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                               "--initial: cached configurations removed, %s becomes generation 1",
                               mgmd->options.config_file);
        config_free(cached);
        mgmd->config = file;
        return rc;
    }
    if (config_equal(cached, file, what, sizeof(what))) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                           "%s is unchanged: generation %u is used", mgmd->options.config_file,
                           config_generation(cached));
        config_free(file);
        mgmd->config = cached;
        return 0;
    }
    uint32_t generation = next_generation(mgmd, cached);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "%s has changed and becomes generation %u (%s)", mgmd->options.config_file,
                       generation, what);
    int rc = adopt(mgmd, file, cached, generation);
    config_free(cached);
    mgmd->config = file;
    return rc;
}

static void use_config_dir(struct mgmd *mgmd, const struct cluster_config *file)
{
    const char *directory = mgmd->options.config_dir;

    if (directory == NULL) {
        const struct config_section *own = file == NULL ? NULL : config_node(file, mgmd->own_node);
        directory = own == NULL ? "." : config_get_text(own, CFG_MGMD_DataDir);
    }
    set_directory(mgmd->config_dir, sizeof(mgmd->config_dir), directory);
}

/* The node whose configurations the directory holds; 0: nobody's, or those of several. */
static uint32_t cache_owner(const struct mgmd *mgmd)
{
    DIR *directory = opendir(mgmd->config_dir);
    uint32_t owner = 0;
    bool several = false;

    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        unsigned node;
        unsigned generation;
        int end = 0;
        if (sscanf(entry->d_name, "ndb_%u_config.bin.%u%n", &node, &generation, &end) != 2 ||
            entry->d_name[end] != '\0')
            continue;
        several |= owner != 0 && owner != node;
        owner = node;
    }
    if (directory != NULL) (void)closedir(directory);
    return several ? 0 : owner;
}

/* Without a file the id comes from the option or the names of the kept configurations. */
static int start_from_cache(struct mgmd *mgmd)
{
    const char *file = mgmd->options.config_file;
    char what[400] = "there is no config.ini";

    if (file != NULL) (void)snprintf(what, sizeof(what), "there is no file %.300s", file);
    use_config_dir(mgmd, NULL);
    mgmd->own_node = mgmd->options.node_id != 0 ? mgmd->options.node_id : cache_owner(mgmd);
    if (mgmd->options.reload || mgmd->options.initial || mgmd->own_node == 0) {
        (void)fprintf(stderr,
                      "ndb_mgmd: %s; use -f, or --config-dir and --ndb-nodeid to start from the "
                      "cache\n",
                      what);
        return -1;
    }
    mgmd->options.node_id = mgmd->own_node;
    mgmd->config = cache_load(mgmd);
    if (mgmd->config == NULL) {
        (void)fprintf(stderr, "ndb_mgmd: %s, and %s holds no configuration of node %u\n", what,
                      mgmd->config_dir, mgmd->own_node);
        return -1;
    }
    if (mgmd_find_own_node(mgmd, mgmd->config) == 0 || open_log(mgmd, mgmd->config) != 0) return -1;
    if (other_cluster_wanted(mgmd, mgmd->config))
        return refuse_start(mgmd,
                            "--cluster-id is another one than that of the kept configurations "
                            "(%" PRIu64 ")",
                            config_cluster_id(mgmd->config));
    (void)fprintf(stderr, "ndb_mgmd: warning: %s: generation %u from %s is used\n", what,
                  config_generation(mgmd->config), mgmd->config_dir);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "There is no configuration file (%s): generation %u from the cache is used",
                       what, config_generation(mgmd->config));
    return 0;
}

/* ---- several servers ---- */

/* Why another server's configuration cannot be this one's, or NULL. */
static const char *not_ours(const struct mgmd *mgmd, const struct cluster_config *theirs,
                            uint64_t cluster_id)
{
    const struct config_section *own = config_node(theirs, mgmd->own_node);

    if (config_cluster_id(theirs) != cluster_id) return "is of another cluster";
    if (own == NULL || config_section_kind(own) != CONFIG_MGMD)
        return "has no [ndb_mgmd] section for this one any more";
    return NULL;
}

/* Another server runs: its configuration counts. Consumes `theirs`. */
static int join_servers(struct mgmd *mgmd, const struct cluster_config *file,
                        const struct cluster_config *cached, struct cluster_config *theirs,
                        uint32_t from, bool theirs_fresh)
{
    char what[256] = "";
    uint64_t wanted = mgmd->options.cluster_id;
    bool same = cached != NULL && config_cluster_id(theirs) == config_cluster_id(cached);
    bool fresh = cached != NULL && mgmd_identity_fresh(mgmd, cached);
    bool differs = !same || config_generation(theirs) != config_generation(cached) ||
                   !config_equal(theirs, cached, what, sizeof(what));
    bool first = mgmd->options.initial || cached == NULL || (differs && fresh && !theirs_fresh);
    bool newer = first || config_generation(theirs) > config_generation(cached);

    /* What a fresh server has made by itself does not count: it takes this one's. */
    if (theirs_fresh && !same && ((cached != NULL && !fresh) || wanted != 0)) return 1;
    const char *why =
        not_ours(mgmd, theirs, first ? config_cluster_id(theirs) : config_cluster_id(cached));
    if (wanted != 0 && wanted != config_cluster_id(theirs)) why = "has not the --cluster-id";

    mgmd->config = theirs;
    if (why != NULL)
        return refuse_start(mgmd, "generation %u of management server %u, which runs, %s",
                            config_generation(theirs), from, why);
    if (first) {
        bool takes =
            cached != NULL && !mgmd->options.initial; /* What it has made does not count. */
        if (!takes && !config_equal(theirs, file, what, sizeof(what)))
            return refuse_start(
                mgmd,
                "%s is another configuration than generation %u of management server %u, which "
                "runs (%s). Start with its file; to change it, run ndb_mgmd --reload at node %u",
                mgmd->options.config_file, config_generation(theirs), from, what,
                config_section_node(config_next_node(theirs, 0, CONFIG_MGMD)));
        if (theirs_fresh && mgmd_identity_begin(mgmd, theirs) != 0) return -1;
    } else if (config_generation(theirs) == config_generation(cached) &&
               !config_equal(theirs, cached, what, sizeof(what))) {
        if (theirs_fresh && !fresh) return 1;
        return refuse_start(mgmd,
                            "generation %u of management server %u, which runs, is another "
                            "configuration than this one's (%s). Start with its file and --initial",
                            config_generation(theirs), from, what);
    }
    if (!newer && config_generation(theirs) < config_generation(cached)) return 1;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "Generation %u is taken from management server %u",
                       config_generation(theirs), from);
    return first ? store_alone(mgmd, theirs) : mgmd_config_store(mgmd, theirs);
}

/* The first start of a cluster makes its id. If there was one before, and what is left shows it, it
 * is not made by the way. */
static int first_start(struct mgmd *mgmd, struct cluster_config *file)
{
    static const char begins[] =
        "No configuration is kept in %s: a new cluster begins, with the id %" PRIu64
        ". If there are data nodes of a former one, the first of them gives it its id";

    mgmd->config = file;
    if (cache_newest(mgmd, UINT32_MAX) != 0 && !mgmd->options.initial)
        return refuse_start(
            mgmd,
            "no configuration in %s can be read, and the cluster's id is in it: data nodes do not "
            "start with their files under another one. Bring a file back, or start another "
            "management server first; with --initial the data nodes are asked for it",
            mgmd->config_dir);
    mgmd->anew = true;
    config_set_generation(file, 1);
    mgmd_identity_give(mgmd, file, NULL);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "First start: %s becomes generation 1",
                       mgmd->options.config_file);
    if (mgmd->options.cluster_id == 0) {
        if (mgmd_identity_begin(mgmd, file) != 0) return -1;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING, begins, mgmd->config_dir,
                           config_cluster_id(file));
        (void)fprintf(stderr, "ndb_mgmd: ");
        (void)fprintf(stderr, begins, mgmd->config_dir, config_cluster_id(file));
        (void)fprintf(stderr, "\n");
    }
    return store_alone(mgmd, file);
}

/* The file says something else than what the servers have agreed on. */
static int differs(struct mgmd *mgmd, struct cluster_config *file, const char *what)
{
    uint32_t leader = config_section_node(config_next_node(mgmd->config, 0, CONFIG_MGMD));

    if (mgmd_leads(mgmd)) {
        mgmd->pending = file;
        mgmd->pending_until = mgmd->pending_told = uv_now(mgmd->loop) + 10000;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "%s has changed (%s): it becomes generation %u when all management "
                           "servers are there",
                           mgmd->options.config_file, what, config_generation(mgmd->config) + 1);
        return 0;
    }
    config_free(file);
    if (mgmd->options.reload)
        return refuse_start(mgmd,
                            "the configuration is changed at management server %u: run ndb_mgmd "
                            "--reload there, with all management servers running",
                            leader);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "%s differs from generation %u, which is used (%s). To change it, run "
                       "ndb_mgmd --reload at management server %u",
                       mgmd->options.config_file, config_generation(mgmd->config), what, leader);
    return 0;
}

/* Several management servers: nobody changes anything alone. Consumes both. */
static int choose_together(struct mgmd *mgmd, struct cluster_config *file,
                           struct cluster_config *cached)
{
    char what[256] = "";
    uint32_t from = 0;
    bool fresh = false;
    struct cluster_config *theirs =
        mgmd_peers_first(cached != NULL ? cached : file, mgmd->own_node, &from, &fresh);
    int rc = 1;

    if (theirs != NULL) {
        rc = join_servers(mgmd, file, cached, theirs, from, fresh);
        if (rc == 1) { /* This one has a newer one, which the others will take. */
            config_free(theirs);
            mgmd->config = NULL;
        }
    }
    if (rc < 0) {
        config_free(file);
        config_free(cached);
        return rc;
    }
    if (rc == 1 && (cached == NULL || mgmd->options.initial)) {
        if (cached != NULL) return choose(mgmd, file, cached); /* --initial */
        return first_start(mgmd, file);
    }
    if (rc == 1)
        mgmd->config = cached;
    else
        config_free(cached);
    if (other_cluster_wanted(mgmd, mgmd->config)) {
        config_free(file);
        return refuse_start(mgmd,
                            "--cluster-id is another one than that of the kept configurations "
                            "(%" PRIu64 ")",
                            config_cluster_id(mgmd->config));
    }
    if (config_equal(mgmd->config, file, what, sizeof(what))) {
        config_free(file);
        return 0;
    }
    return differs(mgmd, file, what);
}

int mgmd_config_take(struct mgmd *mgmd, struct cluster_config *config, bool any_cluster)
{
    bool same = config_cluster_id(config) == config_cluster_id(mgmd->config);
    uint64_t wanted = config_cluster_id(any_cluster ? config : mgmd->config);
    const char *why = not_ours(mgmd, config, wanted);

    if (why != NULL) {
        bool leaves = same || any_cluster;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ALERT,
                           "Generation %u of another management server %s%s",
                           config_generation(config), why, leaves ? ". This server stops" : "");
        if (leaves) mgmd_exit(mgmd, 0);
        return 1;
    }
    /* From one that is sure: what this server has made by itself counts no more. */
    if ((any_cluster ? store_alone(mgmd, config) : mgmd_config_store(mgmd, config)) != 0) return -1;
    config_free(mgmd->config);
    mgmd->config = config;
    mgm_link_update(mgmd->link);
    return 0;
}

/* What the file said at the start counts no more: it has been read again. */
static void forget_pending(struct mgmd *mgmd)
{
    if (mgmd->pending == NULL) return;
    config_free(mgmd->pending);
    mgmd->pending = NULL;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "The change that waited for all management servers is dropped: the file has "
                       "been read again");
}

void mgmd_config_pending(struct mgmd *mgmd)
{
    struct mgmd_unlike unlike;
    uint32_t missing = mgmd_peer_missing(mgmd, &unlike);
    uint64_t now = uv_now(mgmd->loop);

    if (mgmd->pending == NULL) return;
    if (missing != 0) {
        if (now < mgmd->pending_told) return;
        mgmd->pending_told = now + 60000;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "The change of the configuration waits for management server %u, which "
                           "%s: %s",
                           missing, unlike.what, unlike.cure);
        return;
    }
    struct cluster_config *config = mgmd->pending;
    mgmd->pending = NULL;
    if (adopt(mgmd, config, mgmd->config, next_generation(mgmd, mgmd->config)) != 0) {
        config_free(config);
        return;
    }
    config_free(mgmd->config);
    mgmd->config = config;
    mgm_link_update(mgmd->link);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING, "The changed file is generation %u now",
                       config_generation(config));
}

static bool no_such_file(const char *file)
{
    return strcmp(file, "-") != 0 && access(file, F_OK) != 0 && errno == ENOENT;
}

static int choose_config(struct mgmd *mgmd)
{
    const char *wanted = mgmd->options.config_file;

    if (no_such_file(wanted == NULL ? "config.ini" : wanted)) return start_from_cache(mgmd);
    if (wanted == NULL) mgmd->options.config_file = "config.ini";
    struct cluster_config *file = parse_and_tell(mgmd->options.config_file);
    if (file == NULL) return -1;
    mgmd->own_node = mgmd_find_own_node(mgmd, file);
    if (mgmd->own_node == 0 || open_log(mgmd, file) != 0) {
        config_free(file);
        return -1;
    }
    use_config_dir(mgmd, file);
    struct cluster_config *cached = cache_load(mgmd);
    if (config_count(cached != NULL ? cached : file, CONFIG_MGMD) > 1)
        return choose_together(mgmd, file, cached);
    return cached != NULL ? choose(mgmd, file, cached) : first_start(mgmd, file);
}

int mgmd_config_start(struct mgmd *mgmd)
{
    int rc = choose_config(mgmd);

    if (rc == 0) mgmd->fresh = mgmd_identity_fresh(mgmd, mgmd->config);
    if (mgmd->fresh && mgmd->options.cluster_id != 0) mgmd_identity_confirm(mgmd);
    return rc;
}

/* 0, or -1 with the reason why this server cannot change the configuration now. */
static int may_change(const struct mgmd *mgmd, char *why, size_t size)
{
    struct mgmd_unlike unlike;

    if (config_count(mgmd->config, CONFIG_MGMD) < 2) return 0;
    if (!mgmd_leads(mgmd)) {
        (void)snprintf(why, size, "the configuration is changed at management server %u",
                       config_section_node(config_next_node(mgmd->config, 0, CONFIG_MGMD)));
        return -1;
    }
    uint32_t missing = mgmd_peer_missing(mgmd, &unlike);
    if (missing == 0) return 0;
    (void)snprintf(why, size,
                   "management server %u %s, and all must have the same configuration: %s, then "
                   "repeat",
                   missing, unlike.what, unlike.cure);
    return -1;
}

/* A file that this server can be a part of, or NULL with the reason. */
static struct cluster_config *read_own(const struct mgmd *mgmd, const char *file, char *why,
                                       size_t why_size)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_file(file, &report);

    if (config == NULL)
        (void)snprintf(why, why_size, "%s", report.count > 0 ? report.lines[0] : "out of memory");
    config_report_clear(&report);
    if (config == NULL) return NULL;
    const struct config_section *own = config_node(config, mgmd->own_node);
    if (own != NULL && config_section_kind(own) == CONFIG_MGMD) return config;
    (void)snprintf(why, why_size, "%s has no [ndb_mgmd] section for node %u", file, mgmd->own_node);
    config_free(config);
    return NULL;
}

int mgmd_config_reload(struct mgmd *mgmd, const char *file, char *why, size_t why_size)
{
    char what[256] = "";

    if (file == NULL) file = mgmd->options.config_file;
    if (file == NULL) {
        (void)snprintf(why, why_size, "the server was started without a configuration file");
        return -1;
    }
    struct cluster_config *config = read_own(mgmd, file, why, why_size);
    if (config == NULL) return -1;
    if (config_equal(mgmd->config, config, what, sizeof(what))) {
        config_free(config);
        forget_pending(mgmd);
        return 0;
    }
    if (may_change(mgmd, why, why_size) != 0) {
        config_free(config);
        return -1;
    }
    if (adopt(mgmd, config, mgmd->config, next_generation(mgmd, mgmd->config)) != 0) {
        (void)snprintf(why, why_size, "the cache in %s cannot be written", mgmd->config_dir);
        config_free(config);
        return -1;
    }
    forget_pending(mgmd);
    config_free(mgmd->config);
    mgmd->config = config;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "%s was reloaded and is generation %u (%s)", file, config_generation(config),
                       what);
    mgm_link_update(mgmd->link);
    return 0;
}

/* A generation that nodes still run with; NULL: not kept. */
uint8_t *mgmd_config_encode(const struct mgmd *mgmd, uint32_t from_node, size_t *size,
                            uint32_t *generation, char *why, size_t why_size)
{
    *generation = config_generation(mgmd->config);
    if (from_node != 0) {
        *generation = mgmd->nodes[from_node].linked ? mgmd->nodes[from_node].generation : 0;
        if (*generation == 0) {
            (void)snprintf(why, why_size, "node %u is no data node that runs", from_node);
            return NULL;
        }
    }
    bool current = *generation == config_generation(mgmd->config);
    struct cluster_config *old = current ? NULL : load_generation(mgmd, *generation, why, why_size);
    if (!current && old == NULL) {
        (void)snprintf(why, why_size, "node %u runs with generation %u, which is not kept here",
                       from_node, *generation);
        return NULL;
    }
    uint8_t *bytes = config_encode(current ? mgmd->config : old, size);
    if (bytes == NULL) (void)snprintf(why, why_size, "out of memory");
    config_free(old);
    return bytes;
}

bool mgmd_config_fits(struct mgmd *mgmd, const struct node_mask *nodes, bool whole, bool initial,
                      char *why, size_t size)
{
    bool fits = true;

    for (uint32_t id = node_mask_next(nodes, 0); id != 0 && fits; id = node_mask_next(nodes, id)) {
        uint32_t generation = mgmd->nodes[id].generation;
        char what[300] = "";
        if (!mgmd->nodes[id].linked || generation == 0 ||
            generation == config_generation(mgmd->config))
            continue;
        struct cluster_config *old = load_generation(mgmd, generation, what, sizeof(what));
        if (old == NULL) continue; /* Then the others refuse it if it does not fit. */
        const char *needs = config_restart_needed(old, mgmd->config, id, what, sizeof(what));
        config_free(old);
        fits = false;
        if (strcmp(needs, "IS") == 0 && !(whole && initial))
            (void)snprintf(why, size,
                           "%s. That takes effect only in an initial restart of the whole cluster "
                           "(ALL RESTART -i), which empties it",
                           what);
        else if (strcmp(needs, "S") == 0 && !whole)
            (void)snprintf(why, size,
                           "%s. That takes effect only when all data nodes are restarted together "
                           "(ALL RESTART)",
                           what);
        else if (strcmp(needs, "IN") == 0 && !initial)
            (void)snprintf(why, size, "%s. That needs a restart with empty files (-i)%s", what,
                           whole ? ", node by node: ROLLING RESTART -i" : "");
        else
            fits = true;
    }
    return fits;
}

static void print_section(const struct config_section *section)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);

    printf("[%s]\n", config_kind_name(config_section_kind(section)));
    for (uint32_t i = 0; i < count; i++) {
        const struct config_param *param = &params[i];
        if (param->kind != config_section_kind(section)) continue;
        if (param->type == CONFIG_STRING) {
            printf("%s=%s\n", param->name, config_get_text(section, param->id));
        } else {
            printf("%s=%" PRIu64 "\n", param->name, config_get_u64(section, param->id));
        }
    }
    printf("\n");
}

void mgmd_config_print(const struct cluster_config *config)
{
    print_section(config_system(config));
    for (struct config_section *node = config_next_node(config, 0, CONFIG_NONE); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_NONE)) {
        print_section(node);
    }
    for (uint32_t i = 0; i < config_count(config, CONFIG_TCP); i++)
        print_section(config_link_at(config, i));
}

/* ---- ports ---- */

static void ports_path(const struct mgmd *mgmd, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u_ports", mgmd->config_dir, mgmd->own_node);
}

/* Old ports do no harm: whoever answers there must prove to be that node, of this cluster. A fresh
 * server believes whoever answers which cluster it is: it waits until it is told ports. */
void mgmd_ports_load(struct mgmd *mgmd)
{
    char path[2300];
    unsigned node;
    unsigned port;

    if (mgmd->fresh) return;
    ports_path(mgmd, path, sizeof(path));
    FILE *in = fopen(path, "r");
    if (in == NULL) return;
    while (fscanf(in, "%u %u", &node, &port) == 2) {
        if (node >= 1 && node <= CONFIG_DATA_NODES_MAX && port <= 65535) {
            mgmd->nodes[node].port = (uint16_t)port;
        }
    }
    (void)fclose(in);
}

void mgmd_ports_store(const struct mgmd *mgmd)
{
    char path[2300];
    char text[CONFIG_DATA_NODES_MAX * 12 + 1];
    size_t used = 0;

    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd->nodes[id].port == 0) continue;
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%u %u\n", id, mgmd->nodes[id].port);
    }
    ports_path(mgmd, path, sizeof(path));
    if (mgmd_write_file(path, text, used) != 0) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING, "%s cannot be written", path);
    }
}
