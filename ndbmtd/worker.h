/* worker.h -- the threads of the process: what each of them has, its account, its place. Private to
 * ndbmtd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>
#include "config/thread_config.h"
#include "kernel/node.h"
#include "transporters/send_queue.h"
#include "transporters/transporter.h"
#include "transporters/writer.h"

struct process;

/* A thread without work wakes up so often: the watchdog's proof of life. */
#define SLEEP_MAX_MS 1000u
/* Without SchedulerSpinTimer: what a client of eight threads takes from its answers to its next
   requests, with room. Who sleeps and is woken in each such gap loses half of the throughput. */
#define SPIN_DEFAULT_NS 100000u

/* What a thread has that owns sockets. A recv thread (or the only one) reads the links of its
 * peers; a send thread writes those of its share, or the recv thread does it itself. */
struct sockets {
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t sleep_timer;
    struct transporter *transporter; /* Links that it reads; NULL: it is a send thread. */
    struct link_writer *writer;      /* Links that it writes; NULL: there is no send thread. */
    struct send_queues *queues; /* What other threads want written here; NULL: they want nothing. */
    atomic_uint wishes;         /* Some link_wish is for this thread. */
    bool paused;                /* It does not read from clients. */
};

/* What a thread has used so far; it writes, others read. thread_account.c */
struct thread_account {
    atomic_ullong user_us, system_us, spin_ns, sleep_ns;
    atomic_ullong asleep_since_ns; /* When it fell asleep; 0: it is awake. */
    uint64_t sampled_ns;           /* When the operating system was asked last. */
    uint64_t gap_sleep_ns;         /* How long it has slept since it last had work. */
};

/* A thread of the layout as the operating system sees it. */
struct worker {
    struct process *process;
    struct thread *thread;   /* Thread of the kernel; NULL: a send thread, which runs no block. */
    struct sockets *sockets; /* Sockets that it owns; NULL: none. */
    atomic_ullong rounds;    /* Rounds of a send thread. */
    uint32_t no;
    pthread_t os_thread;
    atomic_uint tid;      /* The system's number of the thread; 0 before it runs. */
    atomic_uint sleeping; /* Set before the last look at the queues; a sender that sees it wakes the
                             thread. */
    pthread_mutex_t lock;
    pthread_cond_t wakeup;
    bool signalled;
    uint64_t idle_since_ns; /* When the thread last had work. */
    long ousted;            /* How often others had taken its CPU when it last asked. */
    uint64_t spin_ns;       /* How long it may look for work before it sleeps. */
    struct thread_account account;
    uint64_t gap_ns; /* Smoothed length of idle gaps: spinning pays only when they are short. */
};

/* --- worker.c --- */
/* The sockets of the first recv thread, which is the process's first thread. */
struct sockets *workers_first_sockets(struct process *process);
/* Makes workers and loops; before any other thread of the process is started: they wake the
 * workers. 0, or -1: the reason was told. */
int workers_init(struct process *process);
/* Runs all threads of the node until it has stopped; returns then. The calling thread becomes the
 * first recv thread. 0, or why a thread could not be started, as in errno. */
int workers_run(struct process *process);

/* --- thread_account.c --- */
/* The thread itself: in each of its rounds, when it falls asleep and is awake again (the time
 * then), and when work came after `gap_ns` without any. */
void account_round(struct worker *worker, uint64_t now_ns);
void account_sleep(struct worker *worker, uint64_t now_ns);
void account_awake(struct worker *worker);
void account_gap(struct worker *worker, uint64_t gap_ns);
/* Gives struct host the times of any thread, and of the process. */
bool account_times(struct host *host, uint32_t no, struct thread_times *times);

/* --- thread_place.c --- */
/* Binds the calling thread, number `no`, to its CPUs, sets its priority and its spin time. What the
 * system refuses is a warning in the log: the node works without. */
void thread_place(struct process *process, uint32_t no);
/* The same for the calling thread of a kind that is not in the layout: io, watchdog. */
void thread_place_kind(struct process *process, enum thread_kind kind);
/* The entry of ThreadConfig for a thread and, in `index`, its number among the entry's threads;
 * NULL: none. */
const struct thread_config_entry *thread_place_entry(const struct thread_config *threads,
                                                     const struct node_config *config, uint32_t no,
                                                     uint32_t *index);
