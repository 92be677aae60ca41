/* dih_sysfile_state.h -- private: the system file, which formats/sysfile_format.h describes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "formats/sysfile_format.h"
#include "signals/fs.h"
#include "signals/gcp.h"
#include "signals/start.h"
#include "signals/sysfile.h"

struct dih;

static_assert(SYSFILE_BLOCK == FS_ALIGN && SYSFILE_NODES == NODE_ID_MAX + 1u, "one numbering");

/*
 * CLOSED -> OPENING 0 -> READING 0 -> CLOSING 0 -> the same with 1 -> READY
 * READY -> REOPENING 0 -> REOPENING 1 -> WRITING <-> READY
 * Between reading and the first write they are closed: an initial start removes them.
 */
enum sysfile_state {
    SYSFILE_CLOSED = 0,
    SYSFILE_OPENING,
    SYSFILE_READING,
    SYSFILE_CLOSING,
    SYSFILE_READY,
    SYSFILE_REOPENING,
    SYSFILE_WRITING
};
enum sysfile_found { SYSFILE_NONE = 0, SYSFILE_GOOD, SYSFILE_BAD };

/* Pause until the other copy follows: long enough that commits for the disk, one after the other,
 * do not pay for it. */
#define SYSFILE_REPEAT_MS 20u

struct dih_sysfile {
    uint32_t state; /* enum sysfile_state */
    uint32_t copy;  /* Copy that is being opened, read or written. */
    uint32_t file[SYSFILE_COPIES];
    uint32_t found[SYSFILE_COPIES]; /* enum sysfile_found */
    uint64_t sequence; /* Sequence of the newest write: the copy with the greater one counts. */
    uint64_t older;    /* Sequence of the other copy, when both are good. */
    /* Sequence in the header of a damaged copy; 0 = the header is no good. */
    uint64_t bad_sequence;
    bool cut; /* A damaged copy is shorter than any good one. */
    uint32_t has_data;
    uint32_t damaged; /* The copy that counts may be gone: this node waits until the others run. */
    uint32_t writes;  /* Writes that are still to be done. */
    bool lone;        /* Only one copy has, or will have, the newest GCI. */
    bool open;
    uint32_t start_sender; /* Sender of the SYSFILE_START_REQ that waits; 0 = none does. */
    uint32_t start_data;
    uint32_t void_sender; /* Sender of the SYSFILE_VOID_REQ that waits; 0 = none does. */
    uint32_t void_data;
    uint32_t sttor_sender;
    uint32_t sttor_data;
    uint32_t ends_sender; /* Sender of the SYSFILE_ENDS_REQ that waits; 0 = none does. */
    struct sysfile_ends_req ends;
    uint8_t *buffer;    /* SYSFILE_BYTES_MAX for each copy. */
    uint32_t schema_lo; /* Sequence of the schema files, from DICT; 0 = not heard yet. */
    uint32_t schema_hi;
    struct sysfile now;
    struct sysfile read; /* Content of the copy that was read last. */
};

/* dih_sysfile.c: the copies are opened and written. */
extern const char *const dih_sysfile_names[SYSFILE_COPIES];
/* Opens the copy; FSOPENCONF finds `state`. */
void dih_sysfile_open(struct dih *dih, uint32_t copy, enum sysfile_state state);
/* Memory for the bytes of the copy. */
uint8_t *dih_sysfile_block(const struct dih_sysfile *sys, uint32_t copy);
/* What the header of this node's copy says. */
struct file_expected dih_sysfile_expected(const struct dih *dih, uint32_t copy);
/* So many writes of what is known now; the last of them answers whoever waits. */
void dih_sysfile_want_writes(struct dih *dih, uint32_t writes);
/* Both copies get what is known now; lcp_node_named() follows. */
void sysfile_write_both(struct dih *dih);
/* Lets both copies have the newest GCI. False: they have it already. */
bool sysfile_repeat(struct dih *dih);
/* Repeats the write of this sequence if it is still the newest. */
void sysfile_tick(struct dih *dih, uint32_t sequence);
void dih_exec_FSCLOSEREF(struct block *block, const struct signal *sig);
void dih_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void dih_exec_FSWRITECONF(struct block *block, const struct signal *sig);
void dih_exec_FSOPENREF(struct block *block, const struct signal *sig);
void dih_exec_FSREADREF(struct block *block, const struct signal *sig);
void dih_exec_FSWRITEREF(struct block *block, const struct signal *sig);

/* dih_sysfile_read.c: what the copies are worth at a start. */
void sysfile_read(struct dih *dih, uint32_t sttor_sender, uint32_t sttor_data);
void dih_exec_FSREADCONF(struct block *block, const struct signal *sig);
void dih_exec_FSCLOSECONF(struct block *block, const struct signal *sig);

/* dih_sysfile_content.c: what they say. */
/* Fills in the node group of each node id, or SYSFILE_NO_GROUP. */
void dih_sysfile_fill_groups(const struct dih *dih, uint8_t *nodegroup);
/* Writes gcp_node.copy_gci, which the logs of `members` have; sysfile_ends() came before. */
void sysfile_copy(struct dih *dih, const struct node_mask *members);
void sysfile_ends(struct dih *dih, const struct section *list);
/* A node that comes back learns of which life the data is, and later writes its first system files,
 * at `gci`. */
void sysfile_life(struct dih *dih, uint32_t incarnation, const struct section *ended);
void sysfile_join(struct dih *dih, uint32_t gci);
void dih_exec_SYSFILE_INFO_REQ(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_START_REQ(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_VOID_REQ(struct block *block, const struct signal *sig);

/* dih_lists.c */
void dih_list_take(struct dih *dih, uint32_t instance, uint32_t number, uint32_t check);
/* False: there are no system files to name them in yet. */
bool dih_lists_name(struct dih *dih);
void dih_exec_LCP_LIST_REQ(struct block *block, const struct signal *sig);
void dih_exec_SCHEMA_WRITTEN_ORD(struct block *block, const struct signal *sig);

/* dih_log_ends.c */
uint32_t dih_own_ends(const struct dih *dih,
                      const uint32_t **pairs); /* Log parts that are known. */
bool dih_ends_name_own(const struct dih *dih, const struct section *list, uint32_t gci);
bool dih_ends_name_all(const struct section *list, const struct node_mask *members);
void dih_exec_LOG_ENDS_REQ(struct block *block, const struct signal *sig);
void dih_exec_LOG_ENDS_CONF(struct block *block, const struct signal *sig);
void dih_exec_SYSFILE_ENDS_REQ(struct block *block, const struct signal *sig);
