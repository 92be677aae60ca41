/* ndb_filter.c -- filters: nested conditions, compiled to programs. */
/* SPDX-License-Identifier: MIT */
/*
 * NOT goes down to the comparisons, as De Morgan says. What is left are ANDs and ORs, in which
 * unknown may be taken for false: so each comparison is one branch, to where the whole is decided
 * or to the next one that matters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_program.h"
#include "api/ndb/record_member.h"

#define DEPTH_MAX   64u
#define LABEL_YES   0u
#define LABEL_NO    1u
#define LABEL_FIRST 2u
#define LABEL_NONE  UINT32_MAX

enum node_kind { NODE_GROUP, NODE_END, NODE_VALUE, NODE_COLUMNS, NODE_IN, NODE_NULL };

struct node {
    enum node_kind kind;
    uint32_t column;
    uint32_t condition; /* VALUE, COLUMNS: enum ndb_condition. */
    /* COLUMNS: the second column. VALUE: bytes. IN: how many values. GROUP: place of its end. */
    uint32_t other;
    uint32_t at;  /* VALUE, IN: where the values begin in filter->words. */
    bool is_and;  /* GROUP: its members are joined by AND. */
    bool negated; /* GROUP, IN: the opposite. NULL: is not NULL. */
};

struct ndb_filter {
    struct api_table *table; /* Held. */
    struct error_slot error;
    struct node *node;
    uint32_t nodes;
    uint32_t node_room;
    uint32_t *words; /* Values that comparisons have. */
    uint32_t word_count;
    uint32_t word_room;
    uint32_t open[DEPTH_MAX]; /* Groups that have not ended. */
    uint32_t depth;
    struct ndb_program *program; /* The filter as a program, once it is compiled. */
};

/* ---- Life. ---- */

struct ndb_filter *ndb_filter_create(ndb_t *ndb, struct ndb_table *table)
{
    if (ndb == NULL) return NULL;
    if (table == NULL) {
        error_set(&ndb->error, ERR_PARAMETER, "no table");
        return NULL;
    }
    struct ndb_filter *f = calloc(1, sizeof *f);
    if (f == NULL) {
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    f->table = api_table_hold(table_core(table));
    return f;
}

void ndb_filter_free(struct ndb_filter *f)
{
    if (f == NULL) return;
    ndb_program_free(f->program);
    api_table_release(f->table);
    free(f->node);
    free(f->words);
    free(f);
}

const ndb_error_t *ndb_filter_error(const struct ndb_filter *f)
{
    return f == NULL ? ndb_error(NULL) : &f->error.error;
}

struct api_table *filter_table(const struct ndb_filter *f)
{
    return f->table;
}

struct error_slot *filter_error(struct ndb_filter *f)
{
    return &f->error;
}

static int fail(struct ndb_filter *f, uint32_t code, const char *detail)
{
    if (f->error.error.code == 0) error_set(&f->error, code, "%s", detail);
    return -1;
}

static int no_column(struct ndb_filter *f, uint32_t column)
{
    char text[NDB_DETAIL_SIZE];
    char detail[NDB_DETAIL_SIZE];
    sql_column_text(api_table_def(f->table), NULL, text, sizeof text);
    snprintf(detail, sizeof detail, "%.200s, column number %u", text, column);
    return fail(f, ERR_NO_SUCH_COLUMN, detail);
}

/* ---- Building. ---- */

/* A new node, or NULL after an error. */
static struct node *add(struct ndb_filter *f, enum node_kind kind, uint32_t column)
{
    if (f == NULL || f->error.error.code != 0) return NULL;
    if (f->program != NULL) {
        fail(f, ERR_INTERPRETER_4231, "the filter is in use");
        return NULL;
    }
    if (kind > NODE_END && column >= api_table_def(f->table)->column_count) {
        no_column(f, column);
        return NULL;
    }
    if (f->nodes == f->node_room) {
        uint32_t room = f->node_room == 0 ? 16 : 2 * f->node_room;
        struct node *grown = realloc(f->node, room * sizeof *grown);
        if (grown == NULL) {
            fail(f, ERR_API_MEMORY, "");
            return NULL;
        }
        f->node = grown;
        f->node_room = room;
    }
    struct node *node = &f->node[f->nodes++];
    *node = (struct node){.kind = kind, .column = column};
    return node;
}

int ndb_filter_begin(struct ndb_filter *f, enum ndb_group group)
{
    if (f == NULL) return -1;
    if ((uint32_t)group < NDB_AND || (uint32_t)group > NDB_NOR)
        return fail(f, ERR_FILTER_4262, "no such group");
    if (f->depth == DEPTH_MAX) return fail(f, ERR_FILTER_4262, "nested too deep");
    struct node *node = add(f, NODE_GROUP, 0);
    if (node == NULL) return -1;
    node->is_and = group == NDB_AND || group == NDB_NAND;
    node->negated = group == NDB_NAND || group == NDB_NOR;
    f->open[f->depth++] = f->nodes - 1u;
    return 0;
}

int ndb_filter_end(struct ndb_filter *f)
{
    if (f == NULL) return -1;
    if (f->depth == 0) return fail(f, ERR_FILTER_4260, "");
    if (add(f, NODE_END, 0) == NULL) return -1;
    f->node[f->open[--f->depth]].other = f->nodes - 1u;
    return 0;
}

/* Keeps a value. */
static bool keep(struct ndb_filter *f, const void *value, uint32_t size)
{
    uint32_t words = words_of(size);
    if (f->word_count + words > f->word_room) {
        uint32_t room = 2 * (f->word_count + words) + 16;
        uint32_t *grown = realloc(f->words, room * 4u);
        if (grown == NULL) {
            fail(f, ERR_API_MEMORY, "");
            return false;
        }
        f->words = grown;
        f->word_room = room;
    }
    if (words > 0) {
        f->words[f->word_count + words - 1u] = 0;
        memcpy(f->words + f->word_count, value, size);
    }
    f->word_count += words;
    return true;
}

int ndb_filter_compare(struct ndb_filter *f, uint32_t column, enum ndb_condition condition,
                       const void *value, uint32_t size)
{
    struct node *node = add(f, NODE_VALUE, column);
    if (node == NULL) return -1;
    if (value == NULL || size > COLUMN_BYTES_MAX)
        return fail(f, ERR_PARAMETER, "no value, or too long");
    node->condition = (uint32_t)condition;
    node->other = size;
    node->at = f->word_count;
    return keep(f, value, size) ? 0 : -1;
}

int ndb_filter_columns(struct ndb_filter *f, uint32_t a, enum ndb_condition condition, uint32_t b)
{
    struct node *node = add(f, NODE_COLUMNS, a);
    if (node == NULL) return -1;
    node->condition = (uint32_t)condition;
    node->other = b;
    return 0;
}

int ndb_filter_in(struct ndb_filter *f, uint32_t column, bool negate, const void *values,
                  uint32_t stride, uint32_t count)
{
    struct node *node = add(f, NODE_IN, column);
    if (node == NULL) return -1;
    if (values == NULL && count > 0) return fail(f, ERR_PARAMETER, "no values");
    if (count > PROGRAM_WORDS_MAX) return fail(f, ERR_FILTER_TOO_BIG, "");
    node->negated = negate;
    node->other = count;
    node->at = f->word_count;
    const struct column_format *format = &api_table_def(f->table)->columns[column].format;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *value = (const uint8_t *)values + (size_t)i * stride;
        uint32_t size = column_value_size(format, value, stride);
        if (size == 0) return fail(f, ERR_VALUE_LENGTH, "");
        if (!keep(f, &size, sizeof size) || !keep(f, value, size)) return -1;
    }
    return 0;
}

int ndb_filter_null(struct ndb_filter *f, uint32_t column, bool null)
{
    struct node *node = add(f, NODE_NULL, column);
    if (node == NULL) return -1;
    node->negated = !null;
    return 0;
}

int ndb_filter_text(struct ndb_filter *f, uint32_t column, enum ndb_condition condition,
                    const char *text, uint32_t size)
{
    if (f == NULL) return -1;
    if (text == NULL) return fail(f, ERR_PARAMETER, "no text");
    if ((uint32_t)condition >= NDB_LIKE)
        return ndb_filter_compare(f, column, condition, text, size);
    const struct table_def *def = api_table_def(f->table);
    if (column >= def->column_count) return no_column(f, column);
    const struct table_column *of = &def->columns[column];
    uint8_t *value = malloc(of->size_max);
    uint32_t value_size = 0;
    if (value == NULL) return fail(f, ERR_API_MEMORY, "");
    uint32_t error = column_parse(&of->format, text, size, value, of->size_max, &value_size);
    char type[SQL_TYPE_TEXT_SIZE];
    char detail[NDB_DETAIL_SIZE];
    sql_type_text(&of->format, type);
    snprintf(detail, sizeof detail, "column %.64s is %s", table_column_name(def, of), type);
    int result = error != 0 ? fail(f, error, detail)
                            : ndb_filter_compare(f, column, condition, value, value_size);
    free(value);
    return result;
}

/* ---- Compiling. ---- */

/* Where a condition goes. One of the two is the next instruction, `fall`. */
struct targets {
    uint32_t yes;
    uint32_t no;
    uint32_t fall;
};

/* A group being compiled. */
struct frame {
    struct targets to;
    bool is_and;
    bool negated;
    uint32_t end;   /* Place of the group's end. */
    uint32_t after; /* Label behind the member that is being compiled. */
};

static uint32_t opposite(uint32_t condition)
{
    static const uint8_t other[] = {PROGRAM_NE, PROGRAM_EQ, PROGRAM_GE,       PROGRAM_GT,
                                    PROGRAM_LE, PROGRAM_LT, PROGRAM_NOT_LIKE, PROGRAM_LIKE};
    return condition < sizeof other ? other[condition] : condition;
}

static void jump(struct ndb_program *p, uint32_t label, const struct targets *to)
{
    if (label != to->fall) ndb_program_branch(p, label);
}

static void compile_in(const struct ndb_filter *f, const struct node *node, bool negated,
                       const struct targets *to)
{
    const uint32_t *at = f->words + node->at;
    bool out = node->negated != negated;
    for (uint32_t i = 0; i < node->other; i++) {
        uint32_t size = at[0];
        if (out) /* Also when it is NULL. */
            program_value(f->program, node->column, PROGRAM_NE, at + 1, size, PROGRAM_UNLESS,
                          to->no);
        else
            program_value(f->program, node->column, PROGRAM_EQ, at + 1, size, 0, to->yes);
        at += 1u + words_of(size);
    }
    jump(f->program, out ? to->yes : to->no, to);
}

static void compile_leaf(const struct ndb_filter *f, const struct node *node, bool negated,
                         const struct targets *to)
{
    struct ndb_program *p = f->program;
    uint32_t condition = negated ? opposite(node->condition) : node->condition;
    /* To where the whole is not decided by falling through. */
    uint32_t unless = to->fall == to->yes ? PROGRAM_UNLESS : 0;
    uint32_t label = unless != 0 ? to->no : to->yes;
    switch (node->kind) {
    case NODE_VALUE: { /* An empty pattern is a value too. */
        const void *value = node->other > 0 ? (const void *)(f->words + node->at) : "";
        program_value(p, node->column, condition, value, node->other, unless, label);
        return;
    }
    case NODE_COLUMNS:
        program_columns(p, node->column, condition, node->other, unless, label);
        return;
    case NODE_NULL:
        ndb_program_branch_null(p, node->column, (node->negated == negated) == (unless == 0),
                                label);
        return;
    case NODE_IN:
        compile_in(f, node, negated, to);
        return;
    case NODE_GROUP:
    case NODE_END:
        return;
    }
}

static struct frame group_frame(const struct node *node, const struct frame *outer,
                                const struct targets *to)
{
    bool negated = outer->negated != node->negated;
    return (struct frame){.to = *to,
                          .is_and = node->is_and != negated,
                          .negated = negated,
                          .end = node->other,
                          .after = LABEL_NONE};
}

/* Where the next member of the group goes, and which label comes behind it. */
static struct targets member_targets(struct frame *frame, bool last, uint32_t *label_next)
{
    struct targets to = frame->to;
    frame->after = LABEL_NONE;
    if (last) return to;
    frame->after = (*label_next)++;
    to.fall = frame->after;
    if (frame->is_and)
        to.yes = frame->after;
    else
        to.no = frame->after;
    return to;
}

static void member_done(const struct ndb_filter *f, const struct frame *frame)
{
    if (frame->after != LABEL_NONE) ndb_program_label(f->program, frame->after);
}

static void compile(const struct ndb_filter *f)
{
    struct frame stack[DEPTH_MAX + 1u];
    uint32_t depth = 0;
    uint32_t label_next = LABEL_FIRST;
    stack[0] = (struct frame){.to = {LABEL_YES, LABEL_NO, LABEL_YES},
                              .is_and = true,
                              .end = f->nodes,
                              .after = LABEL_NONE};
    for (uint32_t at = 0; depth > 0 || at < f->nodes; at++) {
        struct frame *frame = &stack[depth];
        if (at == frame->end) { /* An empty AND is true, an empty OR false. */
            if (f->node[at - 1u].kind == NODE_GROUP)
                jump(f->program, frame->is_and ? frame->to.yes : frame->to.no, &frame->to);
            member_done(f, &stack[--depth]);
            continue;
        }
        const struct node *node = &f->node[at];
        bool group = node->kind == NODE_GROUP;
        bool last = (group ? node->other : at) + 1u == frame->end;
        struct targets to = member_targets(frame, last, &label_next);
        if (group) {
            stack[depth + 1u] = group_frame(node, frame, &to);
            depth++;
        } else {
            compile_leaf(f, node, frame->negated, &to);
            member_done(f, frame);
        }
    }
    ndb_program_label(f->program, LABEL_YES);
    ndb_program_exit_ok(f->program);
    ndb_program_label(f->program, LABEL_NO);
    ndb_program_refuse(f->program, ERR_ROW_NOT_FOUND);
    ndb_program_finish(f->program);
}

const struct ndb_program *ndb_filter_program(struct ndb_filter *f)
{
    if (f == NULL || f->error.error.code != 0) return NULL;
    if (f->program != NULL) return f->program;
    if (f->depth > 0) {
        fail(f, ERR_FILTER_4261, "");
        return NULL;
    }
    f->program = program_create(f->table);
    if (f->program == NULL) {
        fail(f, ERR_API_MEMORY, "");
        return NULL;
    }
    compile(f);
    int32_t code = f->program->error.error.code;
    if (code == 0) return f->program;
    fail(f,
         code == ERR_PROGRAM_TOO_LONG || code == ERR_LABEL_4223 ? ERR_FILTER_TOO_BIG
                                                                : (uint32_t)code,
         f->program->error.detail);
    return NULL;
}
