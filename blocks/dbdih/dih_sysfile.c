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
 */
#include <stdio.h>
#include <string.h>
#include "blocks/dbdih/dih_state.h"
#include "blocks/ndbfs/fs_client.h"

/* Long enough that commits for the disk, one after the other, do not pay for it. */
#define REPEAT_MS 20u

static const char *const copy_names[SYSFILE_COPIES] = {"D1/sysfile.0", "D1/sysfile.1"};

const char *dih_sysfile_name(uint32_t copy)
{
    return copy < SYSFILE_COPIES ? copy_names[copy] : NULL;
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

static void open_copy(struct dih *dih, uint32_t copy, enum sysfile_state state)
{
    dih->sysfile.copy = copy;
    dih->sysfile.state = state;
    fs_open(&dih->block, copy, copy_names[copy],
            FS_READ | FS_WRITE | FS_CREATE | FS_DIRECT | FS_SYNC);
}

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
    open_copy(dih, 0, SYSFILE_OPENING);
}

/* --- Reading. --- */

static uint8_t *block_of_copy(const struct dih_sysfile *sys, uint32_t copy)
{
    return sys->buffer + (size_t)copy * SYSFILE_BYTES_MAX;
}

static struct file_expected expected(const struct dih *dih, uint32_t copy)
{
    const struct node_config *config = block_config(&dih->block);
    return (struct file_expected){.kind = FILE_KIND_SYSTEM,
                                  .node = config->own_node,
                                  .cluster_id = config->cluster_id,
                                  .instance = copy};
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
    snprintf(text, sizeof text, "%s is refused: %s%s", copy_names[copy], why,
             file_foreign_advice(verdict));
    node_fail(EXIT_SYSFILE_FOREIGN, __FILE__, __LINE__, text);
}

/* What an older or newer program has written is not guessed at. */
static void check_layout(struct dih *dih, uint32_t copy, const struct sysfile *content)
{
    if (content->layout == SYSFILE_LAYOUT && content->ended_count <= SYSFILE_ENDED_MAX) return;
    jam_data(content->layout);
    log_error(&dih->block, "%s has layout %x, this program knows %x", copy_names[copy],
              content->layout, SYSFILE_LAYOUT);
    node_fail(EXIT_SYSFILE_FOREIGN, __FILE__, __LINE__,
              "the system file was written by another version");
}

static enum sysfile_found look_at(struct dih *dih, uint32_t copy, uint32_t bytes,
                                  uint64_t *sequence, struct sysfile *content)
{
    const uint8_t *block = block_of_copy(&dih->sysfile, copy);
    struct file_expected want = expected(dih, copy);
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
    log_warning(&dih->block, "%s is damaged: %s", copy_names[copy],
                verdict == FILE_GOOD ? "its content does not have its checksum" : why);
    return SYSFILE_BAD;
}

/* With --initial the data is given up, but it is there: it counts as this node's alone. */
static void both_damaged(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    log_error(&dih->block, "%s and %s are damaged", copy_names[0], copy_names[1]);
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

static void fill_groups(const struct dih *dih, uint8_t *nodegroup)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    (void)node_config_groups(block_config(&dih->block), group_of);
    for (uint32_t node = 0; node <= NODE_ID_MAX; node++)
        nodegroup[node] =
            group_of[node] < SYSFILE_NO_GROUP ? (uint8_t)group_of[node] : SYSFILE_NO_GROUP;
}

/* Tables know their nodes: with other node groups their rows would be looked for in the wrong
 * place.
 */
static void check_groups(const struct dih *dih)
{
    uint8_t now[NODE_ID_MAX + 1];
    fill_groups(dih, now);
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
    const char *name = copy_names[bad];
    const char *other = copy_names[1u - bad];
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
                    name, other, gci, REPEAT_MS, gci + 1u);
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
    const char *name = copy_names[1u - counts];
    const char *other = copy_names[counts];
    if (!lacks_copy(sys)) return;
    log_warning(&dih->block,
                "%s is missing, cut, or was written long before %s; no crash does that. If it was "
                "taken away after a crash that came within %u ms of its last write, it alone said "
                "that GCI %u was durable; %s has GCI %u",
                name, other, REPEAT_MS, gci + 1u, other, gci);
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
        open_copy(dih, sys->copy + 1, SYSFILE_OPENING);
        return;
    }
    jam();
    all_read(dih);
}

/* --- Writing. --- */

/* Sequences alternate between the copies, so the next one goes over the older. */
static void write_next(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    uint64_t sequence = ++sys->sequence;
    uint32_t copy = (uint32_t)(sequence % SYSFILE_COPIES);
    uint8_t *block = block_of_copy(sys, copy);
    struct file_expected self = expected(dih, copy);
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
        open_copy(dih, sys->copy + 1, SYSFILE_REOPENING);
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
    struct fs_piece piece = fs_piece_of(block, block_of_copy(sys, sys->copy), SYSFILE_BYTES_MAX);
    fs_read(block, sys->copy, conf->file, 0, &piece, 1, FS_PARTIAL);
}

static void want_writes(struct dih *dih, uint32_t writes)
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
        open_copy(dih, 0, SYSFILE_REOPENING);
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
    if (sys->lone) dih_work_later(dih, DIH_WORK_SYSFILE, (uint32_t)sys->sequence, REPEAT_MS);
}

void sysfile_write_both(struct dih *dih)
{
    dih->sysfile.lone = false;
    want_writes(dih, SYSFILE_COPIES);
}

bool sysfile_repeat(struct dih *dih)
{
    struct dih_sysfile *sys = &dih->sysfile;
    if (!sys->lone) return false;
    if (sys->state == SYSFILE_READY) {
        jam();
        sys->lone = false;
        want_writes(dih, 1);
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

/* --- The cluster starts; a GCI is durable. --- */

static void take_list(struct sysfile *now, const struct section *list)
{
    uint32_t count = list->size / 2u;
    ndbrequire(list->size % 2u == 0 && count <= SYSFILE_ENDED_MAX);
    memset(now->ended, 0, sizeof(now->ended));
    memcpy(now->ended, list->words, (size_t)count * sizeof(now->ended[0]));
    now->ended_count = count;
}

void dih_exec_SYSFILE_START_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_sysfile *sys = &dih->sysfile;
    struct sysfile *now = &sys->now;
    const struct sysfile_start_req *req = SIG_PAYLOAD(sig, sysfile_start_req);
    struct sysfile_start_conf conf = {.sender_data = req->sender_data};
    if (dih_diskless(dih)) {
        jam();
        sig_send(block, sig->sender, GSN_SYSFILE_START_CONF, PRIO_A, &conf);
        return;
    }
    ndbrequire(sys->state >= SYSFILE_READY && sys->start_sender == 0);
    if (dih->include.state == DIH_INCLUDE_WHOLE) {
        jam();
        dih_include_files(dih, sig);
        return;
    }
    ndbrequire(req->incarnation > now->incarnation); /* I-GCP-5 */
    jam();
    sys->start_sender = sig->sender;
    sys->start_data = req->sender_data;
    if (req->gci == 0) memset(now, 0, sizeof(*now)); /* Nothing of a former life counts. */
    if (sig->section_count == 1) take_list(now, &sig->section[0]); /* With the former life's end. */
    now->layout = SYSFILE_LAYOUT;
    now->incarnation = req->incarnation;
    now->gci = req->gci;
    now->members = dih->members;
    now->ldm_count = block_config(block)->ldm_count;
    fill_groups(dih, now->nodegroup);
    dih->restart_gci = req->gci;
    dih->gcp_node.durable = req->gci;
    want_writes(dih, SYSFILE_COPIES);
}

/* --- The node comes back into a running cluster. --- */

/* A file that names no members. */
void dih_exec_SYSFILE_VOID_REQ(struct block *block, const struct signal *sig)
{
    struct dih_sysfile *sys = &dih_of(block)->sysfile;
    struct sysfile *now = &sys->now;
    ndbrequire(sys->state == SYSFILE_READY && sys->start_sender == 0 && sys->void_sender == 0);
    jam();
    sys->void_sender = sig->sender;
    sys->void_data = SIG_PAYLOAD(sig, sysfile_void_req)->sender_data;
    now->layout = SYSFILE_LAYOUT;
    now->gci = 0;
    memset(&now->members, 0, sizeof(now->members));
    now->ends.size = 0;
    want_writes(dih_of(block), SYSFILE_COPIES);
}

void sysfile_life(struct dih *dih, uint32_t incarnation, const struct section *ended)
{
    dih->sysfile.now.incarnation = incarnation;
    take_list(&dih->sysfile.now, ended);
}

void sysfile_join(struct dih *dih, uint32_t gci)
{
    struct sysfile *now = &dih->sysfile.now;
    now->layout = SYSFILE_LAYOUT;
    now->gci = gci;
    now->members = dih->members;
    now->ldm_count = block_config(&dih->block)->ldm_count;
    fill_groups(dih, now->nodegroup);
    want_writes(dih, SYSFILE_COPIES);
}

void dih_exec_SYSFILE_INFO_REQ(struct block *block, const struct signal *sig)
{
    const struct dih_sysfile *sys = &dih_of(block)->sysfile;
    const struct sysfile *now = &sys->now;
    jam();
    struct sysfile_info_conf conf = {.sender_data = SIG_PAYLOAD(sig, sysfile_info_req)->sender_data,
                                     .has_data = sys->has_data,
                                     .gci = now->gci,
                                     .incarnation = now->incarnation,
                                     .ldm_count = now->ldm_count,
                                     .members = now->members,
                                     .damaged = sys->damaged,
                                     .schema_lo = now->schema_lo,
                                     .schema_hi = now->schema_hi};
    const uint32_t *pairs = now->ends.words;
    uint32_t parts = dih_own_ends(dih_of(block), &pairs);
    struct section lists[2] = {{.words = &now->ended[0].incarnation, .size = now->ended_count * 2u},
                               {.words = pairs, .size = parts * 2u}};
    signal_send(block, sig->sender, GSN_SYSFILE_INFO_CONF, PRIO_A, &conf, sizeof(conf) / 4u, lists,
                sys->has_data ? 2u : 0u);
}

void sysfile_ends(struct dih *dih, const struct section *list)
{
    struct log_ends *ends = &dih->sysfile.now.ends;
    ndbrequire(list->size <= LOG_ENDS_WORDS);
    memcpy(ends->words, list->words, (size_t)list->size * 4u);
    ends->size = list->size;
}

void sysfile_copy(struct dih *dih, const struct node_mask *members)
{
    struct dih_sysfile *sys = &dih->sysfile;
    ndbrequire(dih->gcp_node.copy_gci > sys->now.gci); /* I-GCP-4 */
    sys->now.gci = dih->gcp_node.copy_gci;
    sys->now.members = *members; /* I-GCP-7 */
    sys->lone = true;
    want_writes(dih, 1);
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
