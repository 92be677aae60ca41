/* mgmd_choose.c -- which configuration a server starts with: the file, one that it keeps, or that
 * of another server. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_parse.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"
#include "mgmd/mgmd_session.h"
#include "service/path_place.h"

struct cluster_config *mgmd_read_config(const char *file)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_file(file, &report);

    for (uint32_t i = 0; i < report.count; i++)
        (void)fprintf(stderr, "%s\n", report.lines[i].text);
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

/* Is it a file that the server starts from, or one of a name that it gives to its own? A log that
 * is full gets names, too: with .1, .2 and so on behind it. */
static bool is_own_file(const struct mgmd *mgmd, const char *path)
{
    static const char *const names[] = {"_config.bin", "_new_cluster", "_lock", "_ports", ".pid"};
    const char *const directories[] = {mgmd->config_dir, mgmd->directory};
    char place[PATH_MAX], own[PATH_MAX];

    struct stat status;

    if (mgmd->options.config_file != NULL && path_same(path, mgmd->options.config_file) &&
        (stat(path, &status) != 0 || S_ISREG(status.st_mode)))
        return true;
    if (!path_place(path, place, sizeof(place))) return false;
    for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
        char text[1200];
        (void)snprintf(text, sizeof(text), "%sndb_%u%s", directories[i % 2], mgmd->own_node,
                       names[i / 2]);
        if (!path_place(text, own, sizeof(own))) continue;
        size_t length = strlen(own);
        if (strncmp(place, own, length) == 0 && (place[length] == '\0' || place[length] == '.'))
            return true;
    }
    return false;
}

/* 0, or -1 with the reason. */
static int check_log_files(const struct mgmd *mgmd, const struct log_destination *destination,
                           char *why, size_t size)
{
    char path[PATH_MAX];

    for (uint32_t i = 0; i < destination->count; i++) {
        if (destination->targets[i].kind != LOG_TARGET_FILE) continue;
        cluster_log_path(&destination->targets[i], mgmd->directory, mgmd->own_node, path,
                         sizeof(path));
        if (!is_own_file(mgmd, path)) continue;
        (void)snprintf(why, size,
                       "the cluster log %.200s is a file that the server itself needs: change "
                       "LogDestination",
                       path);
        return -1;
    }
    return 0;
}

static int open_log(struct mgmd *mgmd, const struct cluster_config *config)
{
    const struct config_section *own = config_node(config, mgmd->own_node);
    struct log_destination destination;
    char why[400];

    set_directory(mgmd->directory, sizeof(mgmd->directory), config_get_text(own, CFG_MGMD_DataDir));
    if (log_destination_parse(config_get_text(own, CFG_MGMD_LogDestination), &destination, why,
                              sizeof(why)) == 0 &&
        check_log_files(mgmd, &destination, why, sizeof(why)) == 0) {
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

/* The server takes the port of this configuration, which it is going to use, before it keeps
 * anything of it: one that does not get its port has changed nothing, least of all the files of the
 * server that has it. The port is opened later: who finds it open takes the server for one that
 * runs. 0, or -1 with messages. */
static int take_port(struct mgmd *mgmd, const struct cluster_config *config)
{
    char why[400];

    if (mgmd_take_port(mgmd, config, why, sizeof(why)) == 0) return 0;
    mgmd_no_port(mgmd, why);
    return -1;
}

/* Does the operator say another id than that of the kept configurations, and may not? */
static bool other_cluster_wanted(const struct mgmd *mgmd, const struct cluster_config *cached)
{
    uint64_t wanted = mgmd->options.cluster_id;

    return wanted != 0 && wanted != config_cluster_id(cached) && !mgmd->options.initial;
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
        int rc = take_port(mgmd, file);
        if (rc == 0) rc = mgmd_config_adopt(mgmd, file, cached, 1);
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
    uint32_t generation = mgmd_kept_next(mgmd, cached);
    int rc = take_port(mgmd, file);
    if (rc == 0) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "%s has changed and becomes generation %u (%s)",
                           mgmd->options.config_file, generation, what);
        rc = mgmd_config_adopt(mgmd, file, cached, generation);
    }
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

/* Nothing is kept, and nothing that is kept is read, before it is certain that no other process is
 * this server: not even its log is written. 0, or -1 with a message. */
static int lock_config_dir(struct mgmd *mgmd)
{
    char why[1600];
    int rc = mgmd_lock_take(&mgmd->lock, mgmd->config_dir, mgmd->own_node, why, sizeof(why));

    if (why[0] != '\0') (void)fprintf(stderr, "ndb_mgmd: %s%s\n", rc == 0 ? "warning: " : "", why);
    return rc;
}

/* Without a file the id comes from the option or the names of the kept configurations. */
static int start_from_cache(struct mgmd *mgmd)
{
    const char *file = mgmd->options.config_file;
    char what[400] = "there is no config.ini";

    if (file != NULL) (void)snprintf(what, sizeof(what), "there is no file %.300s", file);
    use_config_dir(mgmd, NULL);
    mgmd->own_node = mgmd->options.node_id != 0 ? mgmd->options.node_id : mgmd_kept_owner(mgmd);
    if (mgmd->options.reload || mgmd->options.initial || mgmd->own_node == 0) {
        (void)fprintf(stderr,
                      "ndb_mgmd: %s; use -f, or --config-dir and --ndb-nodeid to start from the "
                      "cache\n",
                      what);
        return -1;
    }
    mgmd->options.node_id = mgmd->own_node;
    if (lock_config_dir(mgmd) != 0) return -1;
    mgmd->config = mgmd_kept_load_newest(mgmd);
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

/* The first start of a cluster makes its id. If there was one before, and what is left shows it, it
 * is not made by the way. */
static int first_start(struct mgmd *mgmd, struct cluster_config *file)
{
    static const char begins[] =
        "No configuration is kept in %s: a new cluster begins, with the id %" PRIu64
        ". If there are data nodes of a former one, the first of them gives it its id";

    mgmd->config = file;
    if (mgmd_kept_newest(mgmd, UINT32_MAX) != 0 && !mgmd->options.initial)
        return refuse_start(
            mgmd,
            "no configuration in %s can be read, and the cluster's id is in it: data nodes do not "
            "start with their files under another one. Bring a file back, or start another "
            "management server first; with --initial the data nodes are asked for it",
            mgmd->config_dir);
    if (take_port(mgmd, file) != 0) return -1;
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
    return mgmd_kept_store_alone(mgmd, file);
}

/* ---- several servers ---- */

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
    const char *why = mgmd_config_not_ours(
        mgmd, theirs, first ? config_cluster_id(theirs) : config_cluster_id(cached));
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
                "runs (%s). Start with its file first; then it can be changed, by ndb_mgmd "
                "--reload at node %u while all management servers run",
                mgmd->options.config_file, config_generation(theirs), from, what,
                config_section_node(config_next_node(theirs, 0, CONFIG_MGMD)));
    } else if (config_generation(theirs) == config_generation(cached) &&
               !config_equal(theirs, cached, what, sizeof(what))) {
        if (theirs_fresh && !fresh) return 1;
        return refuse_start(mgmd,
                            "generation %u of management server %u, which runs, is another "
                            "configuration than this one's (%s). Start with its file and --initial",
                            config_generation(theirs), from, what);
    }
    if (!newer && config_generation(theirs) < config_generation(cached)) return 1;
    if (take_port(mgmd, theirs) != 0) return -1;
    if (first && theirs_fresh && mgmd_identity_begin(mgmd, theirs) != 0) return -1;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "Generation %u is taken from management server %u",
                       config_generation(theirs), from);
    return first ? mgmd_kept_store_alone(mgmd, theirs) : mgmd_kept_store(mgmd, theirs);
}

/* Whoever has started the server with a file that is not used sees it, and not only the log. */
static void __attribute__((format(printf, 2, 3))) warn(struct mgmd *mgmd, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING, "%s", text);
    (void)fprintf(stderr, "ndb_mgmd: warning: %s\n", text);
}

/* The file says something else than what the servers have agreed on. */
static int differs(struct mgmd *mgmd, struct cluster_config *file, const char *what)
{
    uint32_t leader = config_section_node(config_next_node(mgmd->config, 0, CONFIG_MGMD));

    if (mgmd_leads(mgmd)) {
        mgmd->pending = file;
        mgmd->pending_until = mgmd->pending_told = uv_now(mgmd->loop) + 10000;
        warn(mgmd,
             "%s has changed (%s): it becomes generation %u when all management servers are there",
             mgmd->options.config_file, what, config_generation(mgmd->config) + 1);
        return 0;
    }
    config_free(file);
    if (mgmd->options.reload)
        return refuse_start(mgmd,
                            "the configuration is changed at management server %u: run ndb_mgmd "
                            "--reload there, with all management servers running",
                            leader);
    warn(mgmd,
         "%s differs from generation %u, which is used (%s). To change it, run ndb_mgmd --reload "
         "at management server %u",
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

/* ---- the start ---- */

static bool no_such_file(const char *file)
{
    return strcmp(file, "-") != 0 && access(file, F_OK) != 0 && errno == ENOENT;
}

static int choose_config(struct mgmd *mgmd)
{
    const char *wanted = mgmd->options.config_file;

    if (no_such_file(wanted == NULL ? "config.ini" : wanted)) return start_from_cache(mgmd);
    if (wanted == NULL) mgmd->options.config_file = "config.ini";
    struct cluster_config *file = mgmd_read_config(mgmd->options.config_file);
    if (file == NULL) return -1;
    mgmd->own_node = mgmd_find_own_node(mgmd, file);
    if (mgmd->own_node != 0) use_config_dir(mgmd, file);
    if (mgmd->own_node == 0 || lock_config_dir(mgmd) != 0 || open_log(mgmd, file) != 0) {
        config_free(file);
        return -1;
    }
    struct cluster_config *cached = mgmd_kept_load_newest(mgmd);
    if (config_count(cached != NULL ? cached : file, CONFIG_MGMD) > 1)
        return choose_together(mgmd, file, cached);
    return cached != NULL ? choose(mgmd, file, cached) : first_start(mgmd, file);
}

int mgmd_config_start(struct mgmd *mgmd)
{
    int rc = choose_config(mgmd);

    if (rc == 0) rc = take_port(mgmd, mgmd->config);
    if (rc == 0) mgmd->fresh = mgmd_identity_fresh(mgmd, mgmd->config);
    if (mgmd->fresh && mgmd->options.cluster_id != 0) mgmd_identity_confirm(mgmd);
    return rc;
}
