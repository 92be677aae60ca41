/* dih_sysfile.c -- the node's system file: which GCI is durable, in which incarnation of the
 * cluster. Two copies, in turn. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A write goes to the copy that is older, and is synced: the other one stays whole whatever happens
 * meanwhile. A copy that is damaged while the other is good is what a crash during a write leaves
 * behind; that write was never declared durable. Both copies are written before a start of the
 * cluster counts, so two damaged copies, or a damaged and an empty one after that, are never the
 * work of one crash.
 *
 * A GCI counts with the first copy that has it. The other one follows when nothing new has come for
 * a moment: what is damaged or lost in rest is then the same GCI twice, and no crash explains it.
 * Of a copy that is not there nobody knows whether it was in rest: the other nodes are asked.
 *
 * What the copies are worth at a start is judged in dih_sysfile_read.c; what they say is decided in
 * dih_sysfile_content.c.
 */
#include <stdio.h>
#include <string.h>
#include "blocks/dbdih/dih_state.h"
#include "blocks/ndbfs/fs_client.h"

const char *const dih_sysfile_names[SYSFILE_COPIES] = {"D1/sysfile.0", "D1/sysfile.1"};

const char *dih_sysfile_name(uint32_t copy)
{
    return copy < SYSFILE_COPIES ? dih_sysfile_names[copy] : NULL;
}

uint64_t dih_sysfile_cluster(const void *bytes, size_t size, uint32_t copy, uint32_t node)
{
    struct file_header header;
    char why[200];
    if (size < sizeof(header)) return 0;
    memcpy(&header, bytes, sizeof(header));
    struct file_expected want = {
        .kind = FILE_KIND_SYSTEM, .node = node, .cluster_id = header.cluster_id, .instance = copy};
    if (file_header_check(bytes, size, &want, &header, why, sizeof(why)) != FILE_GOOD) return 0;
    return header.cluster_id;
}

void dih_sysfile_open(struct dih *dih, uint32_t copy, enum sysfile_state state)
{
    dih->sysfile.copy = copy;
    dih->sysfile.state = state;
    fs_open(&dih->block, copy, dih_sysfile_names[copy],
            FS_READ | FS_WRITE | FS_CREATE | FS_DIRECT | FS_SYNC);
}

uint8_t *dih_sysfile_block(const struct dih_sysfile *sys, uint32_t copy)
{
    return sys->buffer + (size_t)copy * SYSFILE_BYTES_MAX;
}

struct file_expected dih_sysfile_expected(const struct dih *dih, uint32_t copy)
{
    const struct node_config *config = block_config(&dih->block);
    return (struct file_expected){.kind = FILE_KIND_SYSTEM,
                                  .node = config->own_node,
                                  .cluster_id = config->cluster_id,
                                  .instance = copy};
}

/* Sequences alternate between the copies, so the next one goes over the older. */
static void write_next(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    uint64_t sequence = ++sys->sequence;
    uint32_t copy = (uint32_t)(sequence % SYSFILE_COPIES);
    uint8_t *block = dih_sysfile_block(sys, copy);
    struct file_expected self = dih_sysfile_expected(dih, copy);
    struct file_header header = {.kind = self.kind,
                                 .node = self.node,
                                 .cluster_id = self.cluster_id,
                                 .instance = self.instance,
                                 .sequence = sequence,
                                 .page_bytes = FS_ALIGN};
    ndbrequire(sys->state >= SYSFILE_READY && sys->open);
    sys->state = SYSFILE_WRITING;
    sys->copy = copy;
    sys->now.lists_known = 1;
    if (sys->schema_lo != 0 || sys->schema_hi != 0) {
        sys->now.schema_lo = sys->schema_lo;
        sys->now.schema_hi = sys->schema_hi;
    }
    file_header_seal(&header);
    struct fs_piece piece =
        fs_piece_of(&dih->block, block, sysfile_seal(block, &header, &sys->now));
    fs_write(&dih->block, copy, sys->file[copy], 0, &piece, 1, FS_SYNC);
}

static void reopened(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    if (sys->copy + 1 < SYSFILE_COPIES) {
        jam();
        dih_sysfile_open(dih, sys->copy + 1, SYSFILE_REOPENING);
        return;
    }
    jam();
    sys->open = true;
    write_next(dih);
}

void dih_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
    ndbrequire(sys->state == SYSFILE_OPENING || sys->state == SYSFILE_REOPENING);
    ndbrequire(conf->sender_data == sys->copy);
    jam();
    sys->file[sys->copy] = conf->file;
    if (sys->state == SYSFILE_REOPENING) {
        reopened(dih);
        return;
    }
    sys->state = SYSFILE_READING;
    struct fs_piece piece =
        fs_piece_of(block, dih_sysfile_block(sys, sys->copy), SYSFILE_BYTES_MAX);
    fs_read(block, sys->copy, conf->file, 0, &piece, 1, FS_PARTIAL);
}

void dih_sysfile_want_writes(struct dih *dih, uint32_t writes)
{
    struct dih_sysfile *sys = &dih->sysfile;
    bool writing = sys->state == SYSFILE_WRITING;
    if (writing) writes++; /* What is on its way has the former content. */
    if (sys->writes < writes) sys->writes = writes;
    if (sys->state != SYSFILE_READY) return;
    if (sys->open) {
        jam();
        write_next(dih);
    } else {
        jam();
        dih_sysfile_open(dih, 0, SYSFILE_REOPENING);
    }
}

static void all_written(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    struct sysfile_start_conf conf = {.sender_data = sys->start_data};
    sys->state = SYSFILE_READY;
    if (sys->start_sender != 0) {
        jam();
        sig_send(&dih->block, sys->start_sender, GSN_SYSFILE_START_CONF, PRIO_A, &conf);
        sys->start_sender = 0;
    }
    if (sys->void_sender != 0) {
        struct sysfile_void_conf void_conf = {.sender_data = sys->void_data};
        jam();
        sig_send(&dih->block, sys->void_sender, GSN_SYSFILE_VOID_CONF, PRIO_A, &void_conf);
        sys->void_sender = 0;
        return;
    }
    gcp_node_copied(dih);
    gcp_node_flushed(dih);
    dih_include_written(dih);
    lcp_node_named(dih);
    if (sys->lone)
        dih_work_later(dih, DIH_WORK_SYSFILE, (uint32_t)sys->sequence, SYSFILE_REPEAT_MS);
}

void sysfile_write_both(struct dih *dih)
{
    dih->sysfile.lone = false;
    dih_sysfile_want_writes(dih, SYSFILE_COPIES);
}

bool sysfile_repeat(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    if (!sys->lone) return false;
    if (sys->state == SYSFILE_READY) {
        jam();
        sys->lone = false;
        dih_sysfile_want_writes(dih, 1);
    }
    return true;
}

void sysfile_tick(struct dih *dih, uint32_t sequence)
{
    if ((uint32_t)dih->sysfile.sequence == sequence) (void)sysfile_repeat(dih);
}

void dih_exec_FSWRITECONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    ndbrequire(sys->state == SYSFILE_WRITING && conf->sender_data == sys->copy);
    ndbrequire(conf->bytes % SYSFILE_BLOCK == 0 && sys->writes > 0);
    jam();
    sys->has_data = 1;
    if (--sys->writes > 0) {
        write_next(dih);
        return;
    }
    all_written(dih);
}

/* --- Errors: without its system file the node cannot go on. --- */

static _Noreturn void file_failed(struct block *block, const struct signal *sig, const char *what)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char name[FS_NAME_BYTES + 1];
    fs_ref_name(sig, name);
    log_error(block, "%s cannot be %s: error %u, system's error %u",
              name[0] != 0 ? name : "D1/sysfile", what, ref->error, ref->os_error);
    node_fail(EXIT_SYSFILE_IO, __FILE__, __LINE__, "the system file could not be used");
}

void dih_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    jam();
    file_failed(block, sig, "opened");
}

void dih_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    jam();
    file_failed(block, sig, "read");
}

void dih_exec_FSWRITEREF(struct block *block, const struct signal *sig)
{
    jam();
    file_failed(block, sig, "written");
}

void dih_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    jam();
    file_failed(block, sig, "closed");
}
