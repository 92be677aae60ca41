/* cntr_remains.c -- finds out whether a node without system files has really never had data. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A first start that was cut off leaves at most the dictionary's first, empty image, logs without a
 * page, and no checkpoint. More than that without system files means that those are gone: to start
 * initially would destroy the rows.
 */
#include <stdio.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "blocks/ndbfs/fs_client.h"
#include "formats/redo_format.h"
#include "values/errors.h"

static void system_files_gone(struct cntr *cntr, const char *there)
{
    struct cntr_data *data = &cntr->data;
    log_error(&cntr->block, "D1/sysfile.0 and D1/sysfile.1 are missing, but there is %s", there);
    if (block_config(&cntr->block)->initial_start == 0 &&
        block_config(&cntr->block)->survive != 0) {
        jam();
        log_warning(&cntr->block, "this node waits until the others run, then it gets all rows");
        data->aside = 1;
        return;
    }
    if (block_config(&cntr->block)->initial_start == 0)
        node_fail(EXIT_SYSFILE_DAMAGED, __FILE__, __LINE__, "both system files are missing");
    data->has_data = 1; /* Whatever it is, it is this node's alone. */
    data->gci = 1;
    node_mask_add(&data->members, cntr_own(cntr));
}

static void looked(struct cntr *cntr)
{
    struct cntr_remains *remains = &cntr->remains;
    jam();
    if (remains->page != NULL)
        arena_page_release(block_arena(&cntr->block), RG_NODE, remains->page);
    remains->page = NULL;
    cntr_step_done(cntr, STEP_SCHEMA_INFO);
}

void cntr_remains_look(struct cntr *cntr)
{
    cntr->remains = (struct cntr_remains){.part = 0};
    if (cntr->data.schema > 1u) {
        jam();
        system_files_gone(cntr, "a dictionary");
        looked(cntr);
        return;
    }
    jam();
    fs_list(&cntr->block, STEP_SCHEMA_INFO, "LCP", NULL);
}

static void log_look(struct cntr *cntr)
{
    struct cntr_remains *remains = &cntr->remains;
    char name[FS_NAME_BYTES + 1];
    if (remains->part == block_instances(&cntr->block, BLOCK_DBLQH)) {
        looked(cntr);
        return;
    }
    jam_data(remains->part);
    (void)snprintf(name, sizeof(name), "REDO/part%u/file0", remains->part++);
    fs_open(&cntr->block, STEP_SCHEMA_INFO, name, FS_READ);
}

void cntr_exec_FSLISTCONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    if (SIG_PAYLOAD(sig, fslistconf)->count > 0) {
        jam();
        system_files_gone(cntr, "a checkpoint");
        looked(cntr);
        return;
    }
    jam();
    log_look(cntr);
}

void cntr_exec_FSOPENCONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_remains *remains = &cntr->remains;
    if (remains->page == NULL) remains->page = arena_page(block_arena(block), RG_NODE);
    ndbrequire(remains->page != NULL);
    jam();
    remains->file = SIG_PAYLOAD(sig, fsopenconf)->file;
    struct fs_piece piece = fs_piece_of(block, remains->page, REDO_BLOCK_BYTES);
    fs_read(block, STEP_SCHEMA_INFO, remains->file, 0, &piece, 1, FS_PARTIAL);
}

void cntr_exec_FSREADCONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_remains *remains = &cntr->remains;
    const struct redo_page_head *head = remains->page;
    jam();
    if (SIG_PAYLOAD(sig, fs_io_conf)->bytes == REDO_BLOCK_BYTES && head->magic == REDO_MAGIC)
        remains->found = true;
    fs_close(block, STEP_SCHEMA_INFO, remains->file);
}

void cntr_exec_FSCLOSECONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    (void)sig;
    if (cntr->remains.found) {
        jam();
        system_files_gone(cntr, "a log of changes");
        looked(cntr);
        return;
    }
    jam();
    log_look(cntr);
}

/* What is not there has no data; what cannot be looked at may have. */
static bool is_missing(struct block *block, const struct signal *sig)
{
    const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
    char name[FS_NAME_BYTES + 1];
    if (ref->error == ERR_FILE_MISSING) return true;
    fs_ref_name(sig, name);
    log_error(block, "%s cannot be looked at: error %u, system's error %u", name, ref->error,
              ref->os_error);
    node_fail(EXIT_SYSFILE_IO, __FILE__, __LINE__, "the node's files could not be looked at");
}

void cntr_exec_FSLISTREF(struct block *block, const struct signal *sig)
{
    jam();
    if (is_missing(block, sig)) log_look(cntr_of(block));
}

void cntr_exec_FSOPENREF(struct block *block, const struct signal *sig)
{
    jam();
    if (is_missing(block, sig)) log_look(cntr_of(block));
}

void cntr_exec_FSREADREF(struct block *block, const struct signal *sig)
{
    jam();
    (void)is_missing(block, sig);
    ndbrequire(false); /* It is open. */
}

void cntr_exec_FSCLOSEREF(struct block *block, const struct signal *sig)
{
    jam(); /* Nothing was written. */
    cntr_exec_FSCLOSECONF(block, sig);
}
