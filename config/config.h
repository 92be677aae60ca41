/* config.h -- the cluster configuration in memory, and its binary form. */
/* SPDX-License-Identifier: MIT
 *
 * Used by ndb_mgmd, ndbmtd, the client library and the simulator; blocks never see it (they get
 * READ_CONFIG_REQ). Needs only the C library and xxhash. Nothing here is thread safe while it is
 * changed; a configuration that nobody changes may be read by any number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFG_KB(n)    ((uint64_t)(n) << 10)
#define CFG_MB(n)    ((uint64_t)(n) << 20)
#define CFG_GB(n)    ((uint64_t)(n) << 30)
#define CFG_RNIL_MAX 4294967039ULL /* Largest 32-bit value that is no reserved reference. */
#define CFG_U32_MAX  4294967295ULL

#define CONFIG_NODES_MAX       255 /* Largest node id. */
#define CONFIG_DATA_NODES_MAX  144 /* Largest id of a data node. */
#define CONFIG_NODEGROUP_UNSET 65535
#define CONFIG_NODEGROUP_NONE  65536
#define CONFIG_NODEGROUPS_MAX  72
#define CONFIG_ENCODED_MAX     (8u << 20) /* Bytes; 255 nodes and 4096 links need about 1 MB. */
#define CONFIG_LINKS_MAX       4096 /* [tcp] sections; all other links take the tcp defaults. */

/* The numbers are written into the binary form. */
enum config_kind {
    CONFIG_NONE = 0,
    CONFIG_NDBD = 1,
    CONFIG_API = 2,
    CONFIG_MGMD = 3,
    CONFIG_TCP = 4,
    CONFIG_SYSTEM = 6,
    CONFIG_KINDS = 7
};

enum config_type {
    CONFIG_INT = 1,
    CONFIG_STRING = 2,
    CONFIG_INT64 = 4,
    CONFIG_BOOL = 5,
    CONFIG_ENUM = 6
};

/* CFG_NDBD_DataMemory and so on: the parameter's id; valid with a section of that kind only. */
enum config_param_id {
#define PARAM(section, id, name, type, def, min, max, unit, restart, smin, smax, help)             \
    CFG_##section##_##name = (id),
#include "config/params.def"
#undef PARAM
};

struct config_param {
    enum config_kind kind;
    uint32_t id;
    enum config_type type;
    const char *name;
    uint64_t def;
    const char *def_text; /* Default of a STRING; NULL for numbers. */
    uint64_t min;
    uint64_t max;     /* Greatest value; for a STRING its longest length. */
    const char *unit; /* Unit; for an ENUM the names of the values, separated by commas. */
    const char *restart;
    uint64_t sim_min; /* Least value that the simulator draws; both 0: it keeps the default. */
    uint64_t sim_max; /* Greatest value that it draws. */
    const char *help;
};

/* One node, one link, the tcp defaults or the system section. */
struct config_section;

struct cluster_config;

/* All parameters, ordered by kind as in params.def. `*count` is set. */
const struct config_param *config_params(uint32_t *count);

/* The parameter of this kind by id or by name (any case); NULL when there is none. */
const struct config_param *config_param(enum config_kind kind, uint32_t id);
const struct config_param *config_param_by_name(enum config_kind kind, const char *name);

/* "ndbd", "ndb_mgmd", "mysqld", "tcp", "system": the name of the section in files and errors. */
const char *config_kind_name(enum config_kind kind);

/* An empty configuration; NULL when memory is out. config_free() takes NULL too. */
struct cluster_config *config_new(void);
void config_free(struct cluster_config *config);

/* Adds a node with default values. NULL: id 0 or above 255, in use, a data node above 144, or no
 * memory. */
struct config_section *config_add_node(struct cluster_config *config, enum config_kind kind,
                                       uint32_t node_id);
/* Adds a link with its own values (a copy of the tcp defaults). NULL: unknown or equal ends, given
 * twice. */
struct config_section *config_add_link(struct cluster_config *config, uint32_t node_a,
                                       uint32_t node_b);

/* The node, or NULL. config_next_node: the first with an id above `after` of this kind (NONE: any).
 */
struct config_section *config_node(const struct cluster_config *config, uint32_t node_id);
struct config_section *config_next_node(const struct cluster_config *config, uint32_t after,
                                        enum config_kind kind);
uint32_t config_count(const struct cluster_config *config, enum config_kind kind);
struct config_section *config_system(const struct cluster_config *config);
struct config_section *config_tcp_default(const struct cluster_config *config);
/* The link's own section or the tcp defaults; never NULL. */
struct config_section *config_link(const struct cluster_config *config, uint32_t node_a,
                                   uint32_t node_b);
/* Where `from` connects to when it wants the data node `to`: what the link's section says of that
 * end, else the node's HostName. It lives as long as the configuration. */
const char *config_link_host(const struct cluster_config *config, uint32_t from, uint32_t to);
/* The index-th [tcp] section or NULL. */
struct config_section *config_link_at(const struct cluster_config *config, uint32_t index);

enum config_kind config_section_kind(const struct config_section *section);
uint32_t config_section_node(
    const struct config_section *section); /* Node id; a link's lower id. */
uint32_t config_section_node2(
    const struct config_section *section); /* A link's higher id, else 0. */

/* The value or its default. A parameter that this kind does not have reads as 0 or "". */
uint64_t config_get_u64(const struct config_section *section, uint32_t param_id);
const char *config_get_text(const struct config_section *section, uint32_t param_id);
/* Was the value given, in the file or by a setter (also when it equals the default)? */
bool config_is_set(const struct config_section *section, uint32_t param_id);

/* 0, or -1: no such parameter, wrong type, out of range, no memory. The text is copied. */
int config_set_u64(struct config_section *section, uint32_t param_id, uint64_t value);
int config_set_text(struct config_section *section, uint32_t param_id, const char *text);

/* Where the section and a value came from, for messages; 0 when not from a file. */
void config_set_line(struct config_section *section, uint32_t param_id, uint32_t line);
uint32_t config_line(const struct config_section *section, uint32_t param_id);
void config_set_section_line(struct config_section *section, uint32_t line);
uint32_t config_section_line(const struct config_section *section);

/* Generation grows with each change; the cluster id is drawn once and never changes. 0: not yet
 * given. */
uint32_t config_generation(const struct cluster_config *config);
void config_set_generation(struct cluster_config *config, uint32_t generation);
uint64_t config_cluster_id(const struct cluster_config *config);
void config_set_cluster_id(struct cluster_config *config, uint64_t cluster_id);

/* Do both give every node and link the same values (names, generation and cluster id apart)?
 * The first difference is described in `what` (may be NULL). */
bool config_equal(const struct cluster_config *a, const struct cluster_config *b, char *what,
                  size_t size);

/* Digest of what all data nodes must have alike while they run: which there are, and what takes
 * effect only when all of them have been restarted. Never 0. A parameter of class S that a later
 * version adds has to be left out while it has its default, or nodes of both could not meet. */
uint32_t config_fixed_digest(const struct cluster_config *config);
/* What a change from `a` to `b` needs before it takes effect at this data node: "" (nothing), "N"
 * its restart, "IN" its initial one, "S" one of all nodes, "IS" an initial one of all. The most
 * demanding difference is described in `what`. */
const char *config_restart_needed(const struct cluster_config *a, const struct cluster_config *b,
                                  uint32_t node_id, char *what, size_t size);

/* Messages about a configuration: errors and warnings, each one line of text. */
struct config_line {
    char *text;
    uint32_t number; /* The line of the file that it is about, 0: none. */
    bool error;      /* It is an error, not a warning. */
};

struct config_report {
    struct config_line *lines; /* In the order of the file; what is about no line comes last. */
    uint32_t count;
    uint32_t errors;  /* Number of lines that are errors; the others are warnings. */
    uint32_t dropped; /* Lines beyond CONFIG_REPORT_MAX. */
};
#define CONFIG_REPORT_MAX 1000
void config_report_clear(struct config_report *report);
/* The first error, NULL: there is none. */
const char *config_report_error(const struct config_report *report);
void config_report_add(struct config_report *report, bool error, const char *file, uint32_t line,
                       const char *section, const char *name, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Applies the rules between parameters and nodes, and fills what follows from them (node groups,
 * directories). `file` is for messages. 0, or -1 when an error was added to the report. */
int config_check(struct cluster_config *config, const char *file, struct config_report *report);
/* Applies the rules of one section alone, also of a file with errors. */
void config_check_values(struct cluster_config *config, const char *file,
                         struct config_report *report);

/* Reads one value as written in a file. 0, or -1 with the reason (without range) in `why`.
 * config_value_range: the allowed values as people write them, "1M..16384G" or "true, false". */
int config_value_parse(const struct config_param *param, const char *text, uint64_t *value,
                       char *why, size_t why_size);
void config_value_range(const struct config_param *param, char *text, size_t size);
/* Reads "64M", "0x10", "017"; 0 or -1. */
int config_number_parse(const char *text, uint64_t *value);
/* Writes 65536 as "64K". */
void config_number_format(uint64_t value, char *text, size_t size);
/* Sets a value from text, checked. On error adds one line to the report and returns -1. */
int config_set_parsed(struct config_section *section, const struct config_param *param,
                      const char *text, const char *file, uint32_t line,
                      struct config_report *report);

#define CONFIG_FORMAT 1u /* The binary form has this number. */
/* Binary form: checksummed, versioned, little-endian. Encode returns malloc'ed bytes or NULL.
 * Decode accepts any bytes: NULL with a sentence in `why` when they are no configuration. */
uint8_t *config_encode(const struct cluster_config *config, size_t *size);
struct cluster_config *config_decode(const uint8_t *bytes, size_t size, char *why, size_t why_size);
/* XXH3 of the binary form: alike when content, generation and cluster id are. 0: no memory. */
uint64_t config_digest(const struct cluster_config *config);
/* The same in 32 bits, whatever the generation; not 0. 0: no memory. */
uint32_t config_content_digest(const struct cluster_config *config);

/* Base64, as used by the management protocol. Encode: malloc'ed text or NULL. Decode: malloc'ed
 * bytes, NULL for text that is no base64; white space between groups is skipped. */
char *config_base64_encode(const uint8_t *bytes, size_t size);
uint8_t *config_base64_decode(const char *text, size_t length, size_t *size);
