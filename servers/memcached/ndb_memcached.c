/* ndb_memcached.c -- the program: starts the server, and ends it in order. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_server.h"
#include "service/notify.h"
#include "service/program.h"

#define CLOCK_MS     100u
#define FILES_BEYOND 64u /* Descriptors besides connections. */

static struct mc_server server;

void mc_log(const char *format, ...)
{
    char text[1024];
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (server.options.daemonize) syslog(LOG_NOTICE, "%s", text);
    localtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &parts);
    fprintf(stderr, "%s [ndb_memcached] %s\n", stamp, text);
}

bool mc_log_tells(const struct mc_server *of, enum mc_verbosity what)
{
    return atomic_load_explicit(&of->verbosity, memory_order_relaxed) >= (uint32_t)what;
}

/* ---- The process. ---- */

static int become_user(const char *name)
{
    if (name == NULL || getuid() != 0) return 0;
    errno = 0;
    struct passwd *user = getpwnam(name);
    if (user == NULL) {
        if (errno == 0 || errno == ENOENT)
            mc_log("there is no user %s", name);
        else
            mc_log("user %s cannot be looked up: %s", name, strerror(errno));
        return -1;
    }
    if (initgroups(name, user->pw_gid) == 0 && setgid(user->pw_gid) == 0 &&
        setuid(user->pw_uid) == 0)
        return 0;
    mc_log("cannot become user %s: %s", name, strerror(errno));
    return -1;
}

static void allow_descriptors(void)
{
    struct rlimit limit;
    rlim_t want = (rlim_t)server.options.connections + FILES_BEYOND + 8u * server.options.threads;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want) return;
    limit.rlim_cur = want;
    if (limit.rlim_max < want) limit.rlim_max = want;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= FILES_BEYOND) return;
    uint32_t most = (uint32_t)limit.rlim_cur - FILES_BEYOND;
    mc_log("%u connections at most: that is what the system allows", most);
    server.options.connections = most;
}

static void allow_core_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_CORE, &limit) == 0) return;
    }
    mc_log("core files cannot be larger: %s", strerror(errno));
}

static bool pid_written; /* Into a file, and no device. */

static void remove_pid(void)
{
    if (pid_written) unlink(server.options.pid_file);
}

/* Until the loop takes signals: the cluster may be waited for. */
static void end_early(int number)
{
    remove_pid();
    signal(number, SIG_DFL);
    raise(number);
}

static int write_pid(const char *path)
{
    struct stat status;
    if (path == NULL) return 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        mc_log("%s: %s", path, strerror(errno));
        return -1;
    }
    pid_written = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    signal(SIGTERM, end_early);
    signal(SIGINT, end_early);
    fprintf(file, "%ld\n", (long)getpid());
    if (fclose(file) == 0) return 0;
    mc_log("%s: %s", path, strerror(errno));
    remove_pid();
    return -1;
}

static int report = -1; /* The parent waits at the other end. */

/* The parent ends when the child serves, with 0, or with the child, which has said why. */
static int go_to_background(void)
{
    int ends[2];
    char done;
    pid_t child = -1;
    (void)fflush(NULL);
    if (pipe(ends) == 0) child = fork();
    if (child < 0) {
        mc_log("cannot go to the background: %s", strerror(errno));
        return -1;
    }
    if (child > 0) {
        close(ends[1]);
        ssize_t got;
        while ((got = read(ends[0], &done, 1)) < 0 && errno == EINTR) {
        }
        _exit(got == 1 ? 0 : 1);
    }
    close(ends[0]);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    report = ends[1];
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* Whoever ends the parent now does not want it. */
    (void)setsid();
    if (chdir("/") != 0) mc_log("/: %s", strerror(errno));
    return 0;
}

/* It serves: the parent and the terminal are let go. */
static void let_go(void)
{
    if (report < 0) return;
    int null = server.options.verbose > 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        (void)dup2(null, fd);
    (void)prctl(PR_SET_PDEATHSIG, 0);
    if (write(report, "", 1) != 1) mc_log("who has started this server does not wait any more");
    close(report);
}

/* A file that is named from here is found from "/", too. */
static int make_absolute(const char **path)
{
    char here[4096];
    char *whole;
    if (*path == NULL || (*path)[0] == '/') return 0;
    if (getcwd(here, sizeof here) == NULL || asprintf(&whole, "%s/%s", here, *path) < 0) {
        mc_log("%s: %s", *path, strerror(errno));
        return -1;
    }
    *path = whole;
    return 0;
}

/* ---- The main loop: it accepts, and keeps the time. ---- */

static void tell_time(void)
{
    atomic_store(&server.now, (uint32_t)time(NULL));
}

static void on_clock(uv_timer_t *timer)
{
    (void)timer;
    tell_time();
    service_alive(CLOCK_MS);
    mc_reload_watch(&server);
    if (!server.accepting && atomic_load(&server.connections) < server.options.connections)
        (void)mc_listen_begin(&server);
}

static void stop(void)
{
    atomic_store(&server.stopping, true);
    uv_stop(&server.loop);
}

static void on_wake(uv_async_t *wake)
{
    (void)wake;
    if (atomic_load(&server.stopping)) {
        stop();
    } else if (!server.accepting && atomic_load(&server.connections) < server.options.connections) {
        (void)mc_listen_begin(&server);
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    mc_log("ended by signal %d", number);
    stop();
}

/* The exit code; *left: a thread is still there, which waits for a cluster. */
static int serve(bool *left)
{
    uint32_t started = 0;
    int result = 0;
    while (started < server.options.threads && result == 0)
        if ((result = mc_worker_start(&server, started)) == 0) started++;
    if (result == 0) result = mc_reload_start(&server);
    bool reloading = result == 0;
    if (result == 0) result = mc_listen_begin(&server);
    if (result == 0) {
        mc_log("ready: role %s, %u threads", server.options.role, server.options.threads);
        let_go();
        service_ready("Role %s", server.options.role);
        uv_run(&server.loop, UV_RUN_DEFAULT);
        service_notify("STOPPING=1");
    }
    atomic_store(&server.stopping, true);
    for (uint32_t i = 0; i < started; i++)
        mc_worker_stop(&server.workers[i]);
    mc_listen_close(&server); /* Only now: the first worker has used that of UDP. */
    *left = reloading && !mc_reload_stop(&server);
    return result == 0 ? 0 : 1;
}

static int init_loop(void)
{
    int error = uv_loop_init(&server.loop);
    if (error == 0) error = uv_async_init(&server.loop, &server.wake, on_wake);
    if (error == 0) error = uv_timer_init(&server.loop, &server.clock);
    if (error == 0) error = uv_signal_init(&server.loop, &server.term);
    if (error == 0) error = uv_signal_init(&server.loop, &server.interrupt);
    if (error == 0) error = uv_timer_start(&server.clock, on_clock, CLOCK_MS, CLOCK_MS);
    if (error == 0) error = uv_signal_start(&server.term, on_signal, SIGTERM);
    if (error == 0) error = uv_signal_start(&server.interrupt, on_signal, SIGINT);
    return error;
}

/* Rows outlive the process, and other servers have them, too: a number of a copy must not be that
   of another copy which somebody has read elsewhere, or before. Seconds, and 36 bits by chance. */
static uint64_t first_cas(void)
{
    uint64_t chance;
    uint64_t seconds = (uint64_t)time(NULL) & ((UINT64_C(1) << 27) - 1);
    if (getrandom(&chance, sizeof chance, 0) != sizeof chance) chance = (uint64_t)getpid();
    return seconds << 36 | (chance & ((UINT64_C(1) << 36) - 1));
}

static int prepare(void)
{
    const struct mc_cache_options cache = {.bytes_max = server.options.cache_bytes,
                                           .value_max = server.options.value_max,
                                           .no_eviction = server.options.no_eviction,
                                           .cas = first_cas()};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* A limit of file sizes is like a full disk. */
    tell_time();
    atomic_store(&server.verbosity, server.options.verbose);
    server.started = atomic_load(&server.now);
    pthread_mutex_init(&server.lock, NULL);
    pthread_cond_init(&server.configurer_wake, NULL);
    allow_descriptors();
    if (server.options.core_files) allow_core_files();
    if (mc_auth_load(&server) != 0 || mc_tls_open(&server) != 0) return -1;
    /* Before anything is started: a port that is taken is told at once. */
    if (mc_listen_open(&server) != 0) return -1;
    if (become_user(server.options.user) != 0) return -1;
    server.cache = mc_cache_create(&cache);
    if (server.cache == NULL) {
        mc_log("no memory");
        return -1;
    }
    if (server.options.daemonize &&
        (make_absolute(&server.options.pid_file) != 0 || go_to_background() != 0))
        return -1;
    program_takes_no_hangup(server.options.daemonize); /* As memcached does. */
    /* Only the process that stays locks it: a child inherits no locks. */
    if (server.options.lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        mc_log("memory cannot be locked: %s", strerror(errno));
    return write_pid(server.options.pid_file);
}

int main(int argc, char **argv)
{
    (void)program_begin(argv[0], 1);
    int result = mc_options_parse(&server.options, argc, argv);
    if (result != 0) return result - 1;
    if (server.options.bootstrap) {
        pthread_mutex_init(&server.lock, NULL);
        result = mc_reload_first(&server) == 0 ? 0 : 1;
        return result;
    }
    program_serves();
    if (prepare() != 0) return 1;
    if (mc_reload_first(&server) != 0) {
        remove_pid();
        return 1;
    }
    int error = init_loop();
    if (error != 0) {
        mc_log("the network cannot be used: %s", uv_strerror(error));
        remove_pid();
        return 1;
    }
    bool left;
    result = serve(&left);
    remove_pid();
    if (left)
        _exit(result); /* Whoever stops the server does not wait for a cluster that is gone. */
    mc_cache_free(server.cache);
    SSL_CTX_free(server.tls);
    return result;
}
