/* dih_sysfile_read.c -- both copies of the system file at a start, and what they are worth. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/dbdih/dih_state.h"
#include "blocks/ndbfs/fs_client.h"

void sysfile_read(struct dih *dih, uint32_t sttor_sender, uint32_t sttor_data)
{
    struct dih_sysfile *sys = &dih->sysfile;
    ndbrequire(sys->state == SYSFILE_CLOSED);
    jam();
    sys->sttor_sender = sttor_sender;
    sys->sttor_data = sttor_data;
    uint8_t *memory =
        block_alloc(&dih->block, RG_NODE, SYSFILE_COPIES * SYSFILE_BYTES_MAX + FS_ALIGN);
    sys->buffer = memory + (FS_ALIGN - (uintptr_t)memory % FS_ALIGN) % FS_ALIGN;
    dih_sysfile_open(dih, 0, SYSFILE_OPENING);
}

/* A file of somebody else is not used, and not overwritten either. Another file of this node in its
 * place is a write that went astray, hence damage. */
static void refuse_foreign(uint32_t copy, enum file_verdict verdict, const char *why)
{
    if (verdict == FILE_GOOD || verdict == FILE_NOT_OURS || verdict == FILE_DAMAGED ||
        verdict == FILE_OTHER_KIND)
        return;
    char text[600];
    jam_data(verdict);
    snprintf(text, sizeof text, "%s is refused: %s%s", dih_sysfile_names[copy], why,
             file_foreign_advice(verdict));
    node_fail(EXIT_SYSFILE_FOREIGN, __FILE__, __LINE__, text);
}

/* What an older or newer program has written is not guessed at. */
static void check_layout(struct dih *dih, uint32_t copy, const struct sysfile *content)
{
    if (content->layout == SYSFILE_LAYOUT && content->ended_count <= SYSFILE_ENDED_MAX) return;
    jam_data(content->layout);
    log_error(&dih->block, "%s has layout %x, this program knows %x", dih_sysfile_names[copy],
              content->layout, SYSFILE_LAYOUT);
    node_fail(EXIT_SYSFILE_FOREIGN, __FILE__, __LINE__,
              "the system file was written by another version");
}

static enum sysfile_found look_at(struct dih *dih, uint32_t copy, uint32_t bytes,
                                  uint64_t *sequence, struct sysfile *content)
{
    const uint8_t *block = dih_sysfile_block(&dih->sysfile, copy);
    struct file_expected want = dih_sysfile_expected(dih, copy);
    struct file_header header;
    char why[200];
    if (bytes == 0) return SYSFILE_NONE;
    enum file_verdict verdict = file_header_check(block, bytes, &want, &header, why, sizeof(why));
    refuse_foreign(copy, verdict, why);
    if (verdict == FILE_GOOD && sysfile_content(block, bytes, content)) {
        jam();
        *sequence = header.sequence;
        check_layout(dih, copy, content);
        return SYSFILE_GOOD;
    }
    jam();
    dih->sysfile.bad_sequence = verdict == FILE_GOOD ? header.sequence : 0;
    dih->sysfile.cut = bytes < SYSFILE_BLOCK;
    log_warning(&dih->block, "%s is damaged: %s", dih_sysfile_names[copy],
                verdict == FILE_GOOD ? "its content does not have its checksum" : why);
    return SYSFILE_BAD;
}

/* With --initial the data is given up, but it is there: it counts as this node's alone. */
static void both_damaged(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    log_error(&dih->block, "%s and %s are damaged", dih_sysfile_names[0], dih_sysfile_names[1]);
    if (block_config(&dih->block)->initial_start) {
        jam();
        sys->has_data = 1;
        sys->now.gci = 1;
        node_mask_add(&sys->now.members, dih_own(dih));
        return;
    }
    if (block_config(&dih->block)->survive != 0) {
        jam();
        sys->damaged = 1;
        return;
    }
    node_fail(EXIT_SYSFILE_DAMAGED, __FILE__, __LINE__, "both system files are damaged");
}

/* A return that was not completed: rows, logs and checkpoints are of no time. Nor does the
 * incarnation count that it was for: a new cluster may begin here. */
static void voided(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    jam();
    memset(&sys->now, 0, sizeof(sys->now));
    log_warning(&dih->block, "the last return of this node was cut off: its files are of no use");
    if (block_config(&dih->block)->initial_start) return;
    if (block_config(&dih->block)->survive == 0)
        node_fail(EXIT_SYSFILE_DAMAGED, __FILE__, __LINE__, "the system files are of no use");
    sys->damaged = 1;
}

/* Tables know their nodes: with other node groups their rows would be looked for in the wrong
 * place.
 */
static void check_groups(const struct dih *dih)
{
    uint8_t now[NODE_ID_MAX + 1];
    dih_sysfile_fill_groups(dih, now);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        uint32_t then = dih->sysfile.now.nodegroup[node];
        if (now[node] == then) continue;
        jam_data(node);
        log_error(&dih->block, "node %u was in node group %u (255 = none) and is now in %u", node,
                  then, now[node]);
        node_fail(EXIT_DATA_GROUPS, __FILE__, __LINE__,
                  "the node groups are not those of the data");
    }
}

static bool is_alone(const struct dih *dih)
{
    uint32_t nodes = 0;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++)
        nodes += block_config(&dih->block)->node[node].type == NODE_DATA;
    return nodes == 1;
}

/*
 * No crash makes a copy of what counts missing, empty or cut, nor leaves two that were not written
 * one right after the other: somebody has taken the newest one, or put an older one back. Before
 * GCI 1 nothing was stored, and there may be one copy.
 */
static bool lacks_copy(const struct dih_sysfile *sys)
{
    if (sys->now.gci == 0 || sys->sequence <= 1u) return false;
    for (uint32_t copy = 0; copy < SYSFILE_COPIES; copy++)
        if (sys->found[copy] == SYSFILE_NONE) return true;
    if (sys->found[0] == SYSFILE_BAD || sys->found[1] == SYSFILE_BAD) return sys->cut;
    return sys->older + 1u != sys->sequence;
}

/*
 * A write that the crash has cut off looks like one that has rotted since. Nothing of the former
 * was ever declared; a GCI of the latter was, if the node ended before the other copy had it too.
 * The other nodes' files tell; a lone node has nobody to ask, and says what may be.
 */
static void tell_damaged(const struct dih *dih)
{
    const struct dih_sysfile *sys = &dih->sysfile;
    uint32_t bad = sys->found[0] == SYSFILE_BAD ? 0 : 1u;
    uint32_t gci = sys->now.gci;
    const char *name = dih_sysfile_names[bad];
    const char *other = dih_sysfile_names[1u - bad];
    if (sys->found[bad] != SYSFILE_BAD || sys->cut) return;
    if (sys->bad_sequence != 0 && sys->bad_sequence < sys->sequence) {
        jam();
        log_warning(&dih->block, "%s is damaged and %s counts, which is newer: nothing is lost",
                    name, other);
        return;
    }
    jam_data(bad);
    if (is_alone(dih))
        log_warning(&dih->block,
                    "%s is damaged and %s counts, with GCI %u. If the crash has cut off the last "
                    "write of it, nothing is lost: that was not declared durable. If it has rotted "
                    "since, and the crash came within %u ms of that write, commits of GCI %u that "
                    "were answered as durable are lost: nothing else has said that it was complete",
                    name, other, gci, SYSFILE_REPEAT_MS, gci + 1u);
    else
        log_warning(&dih->block,
                    "%s is damaged and %s counts, with GCI %u: a write that the crash has cut off, "
                    "or it has rotted since. If GCI %u was declared durable, the other nodes have "
                    "it in their system files, and this one comes back with it too",
                    name, other, gci, gci + 1u);
}

/* What is newest may be gone. The other nodes have it; without them nobody can tell. */
static void tell_lacking(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    uint32_t counts = (uint32_t)(sys->sequence % SYSFILE_COPIES);
    uint32_t gci = sys->now.gci;
    const char *name = dih_sysfile_names[1u - counts];
    const char *other = dih_sysfile_names[counts];
    if (!lacks_copy(sys)) return;
    log_warning(&dih->block,
                "%s is missing, cut, or was written long before %s; no crash does that. If it was "
                "taken away after a crash that came within %u ms of its last write, it alone said "
                "that GCI %u was durable; %s has GCI %u",
                name, other, SYSFILE_REPEAT_MS, gci + 1u, other, gci);
    if (block_config(&dih->block)->survive == 0 || block_config(&dih->block)->initial_start) return;
    jam();
    log_error(&dih->block,
              "%s may lack what other nodes have. If none of them can start, bring %s back; if it "
              "is gone for good, copy %s over it: this node then begins with GCI %u",
              other, name, other, gci);
    sys->damaged = 1;
}

static void all_read(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    bool good = sys->found[0] == SYSFILE_GOOD || sys->found[1] == SYSFILE_GOOD;
    sys->state = SYSFILE_READY;
    if (!good && sys->found[0] == SYSFILE_BAD && sys->found[1] == SYSFILE_BAD) {
        jam();
        both_damaged(dih);
    }
    if (good && node_mask_empty(&sys->now.members)) {
        voided(dih);
    } else if (good) {
        jam();
        sys->has_data = 1;
        tell_lacking(dih);
        tell_damaged(dih);
        if (!block_config(&dih->block)->initial_start) check_groups(dih);
        log_info(&dih->block, "the node has data of incarnation %u up to GCI %u",
                 sys->now.incarnation, sys->now.gci);
    }
    dih_sttorry(dih, sys->sttor_sender, sys->sttor_data);
}

void dih_exec_FSREADCONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
    uint64_t sequence = 0;
    ndbrequire(sys->state == SYSFILE_READING && conf->sender_data == sys->copy);
    jam();
    sys->found[sys->copy] = look_at(dih, sys->copy, conf->bytes, &sequence, &sys->read);
    if (sys->found[sys->copy] == SYSFILE_GOOD && sequence > sys->sequence) {
        jam();
        sys->older = sys->sequence;
        sys->sequence = sequence;
        sys->now = sys->read;
    } else if (sys->found[sys->copy] == SYSFILE_GOOD) {
        jam();
        sys->older = sequence;
    }
    sys->state = SYSFILE_CLOSING;
    fs_close(block, sys->copy, sys->file[sys->copy]);
}

void dih_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    ndbrequire(sys->state == SYSFILE_CLOSING);
    ndbrequire(SIG_PAYLOAD(sig, fs_conf)->sender_data == sys->copy);
    if (sys->copy + 1 < SYSFILE_COPIES) {
        jam();
        dih_sysfile_open(dih, sys->copy + 1, SYSFILE_OPENING);
        return;
    }
    jam();
    all_read(dih);
}
