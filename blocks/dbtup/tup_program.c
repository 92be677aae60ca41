/* tup_program.c -- runs interpreted programs on rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check (values/program.c) has been made: registers, columns, lengths and branch targets are
 * not looked at again. Branches go forward, so the loop ends. Nothing is changed here: what the
 * program stores are pairs for tup_update().
 */
#include "blocks/dbtup/tup_state.h"
#include "values/errors.h"
#include "values/program.h"

__extension__ typedef __int128 wide; /* Holds every number of a column, and sums and products. */

#define NUMBER_MIN (-((wide)1 << 63))
#define NUMBER_MAX (((wide)1 << 64) - 1)

/* What a running program has. It is not zeroed: most programs on many rows use no register. */
struct machine {
    const struct tup_frag *frag;
    const uint8_t *image;
    struct tup_program *program;
    uint32_t budget; /* Steps that are left. */
    uint32_t at;     /* Word of the next instruction. */
    uint32_t known;  /* Registers that are not NULL, a bit each; the others' values mean nothing. */
    wide reg[PROGRAM_REGISTERS];
};

static inline bool is_null(const struct machine *machine, uint32_t reg)
{
    return (machine->known >> reg & 1u) == 0;
}

static inline void set(struct machine *machine, uint32_t reg, wide value)
{
    machine->reg[reg] = value;
    machine->known |= 1u << reg;
}

/* --- Columns. --- */

/* The column's value in the row; NULL: it is NULL. */
static inline const uint8_t *column_bytes(const struct machine *machine,
                                          const struct tup_column *column, uint32_t *size)
{
    const struct tup_table *table = machine->frag->table;
    const uint8_t *image = machine->image;
    if (column->nullable && (image[column->null_byte] & column->null_mask) != 0) return NULL;
    if (column->kind != COLUMN_KIND_VAR) {
        *size = column->size;
        return image + column->offset;
    }
    uint32_t part_size = 0;
    uint32_t ref = image_var(table, image);
    const uint8_t *part = ref != 0 ? tup_var_get(machine->frag, ref, &part_size) : NULL;
    return tup_var_value(part, part_size, column->var_index, size);
}

static inline const struct tup_column *column_of(const struct machine *machine, uint32_t id)
{
    return &machine->frag->table->columns[id];
}

static inline uint64_t load_bits(const uint8_t *bytes, uint32_t size)
{
    uint64_t bits = 0;
    switch (size) { /* Little endian, as the machine is; constant sizes are one instruction. */
    case 4:
        memcpy(&bits, bytes, 4);
        return bits;
    case 8:
        memcpy(&bits, bytes, 8);
        return bits;
    default:
        memcpy(&bits, bytes, size);
        return bits;
    }
}

static inline wide load_number(const struct tup_column *column, const uint8_t *bytes)
{
    uint64_t bits = load_bits(bytes, column->size);
    if (!column->sign) return (wide)bits;
    uint32_t unused = 64u - 8u * column->size;
    return (wide)((int64_t)(bits << unused) >> unused);
}

/* A number of the same order for values of one integer type. */
static inline uint64_t order_key(const struct tup_column *column, const uint8_t *bytes)
{
    uint64_t bits = load_bits(bytes, column->size);
    return column->sign ? bits ^ 1ull << (8u * column->size - 1u) : bits;
}

/* Long values cost more than a step. */
static inline void charge(struct machine *machine, uint32_t bytes)
{
    uint32_t steps = bytes / PROGRAM_STEP_BYTES;
    machine->budget = machine->budget > steps ? machine->budget - steps : 0;
}

/* --- Storing. --- */

static uint32_t put_pair(struct machine *machine, uint32_t column, const void *value, uint32_t size)
{
    struct tup_program *program = machine->program;
    uint32_t words = 1u + words_of(size);
    if (words > program->out_max - program->stored) return ERR_TUP_TOO_MUCH_DATA;
    uint32_t *out = program->out + program->stored;
    out[words - 1u] = 0; /* Padding. */
    out[0] = attr_header(column, size);
    if (size > 0) memcpy(out + 1, value, size);
    program->stored += words;
    return 0;
}

static uint32_t store_register(struct machine *machine, uint32_t id, uint32_t reg)
{
    const struct tup_column *column = column_of(machine, id);
    if (is_null(machine, reg))
        return column->nullable ? put_pair(machine, id, NULL, 0) : ERR_NULL_FOR_NOT_NULL_UPDATE;
    uint32_t bits = 8u * column->size;
    bool sign = column->sign != 0;
    wide least = sign ? -((wide)1 << (bits - 1u)) : 0;
    wide most = sign ? ((wide)1 << (bits - 1u)) - 1 : ((wide)1 << bits) - 1;
    wide value = machine->reg[reg];
    if (value < least || value > most) return ERR_VALUE_OUT_OF_RANGE;
    uint64_t stored = (uint64_t)value;
    return put_pair(machine, id, &stored, column->size);
}

/* --- Computing. --- */

static uint32_t compute(struct machine *machine, uint32_t head)
{
    uint32_t opcode = program_opcode_of(head);
    wide result = 0;
    bool over = false;
    if (is_null(machine, program_b(head)) || is_null(machine, program_high(head)))
        return ERR_TUP_REQUEST_879;
    wide x = machine->reg[program_b(head)];
    wide y = machine->reg[program_high(head)];
    if (opcode == PROGRAM_ADD) {
        result = x + y;
    } else if (opcode == PROGRAM_SUBTRACT) {
        result = x - y;
    } else if (opcode == PROGRAM_MULTIPLY) {
        over = __builtin_mul_overflow(x, y, &result);
    } else if (y == 0) {
        return ERR_TUP_REQUEST_879;
    } else {
        result = opcode == PROGRAM_DIVIDE ? x / y : x % y;
    }
    if (over || result < NUMBER_MIN || result > NUMBER_MAX) return ERR_VALUE_OUT_OF_RANGE;
    set(machine, program_a(head), result);
    return 0;
}

static void load_column(struct machine *machine, uint32_t head)
{
    const struct tup_column *column = column_of(machine, program_high(head));
    uint32_t size;
    const uint8_t *bytes = column_bytes(machine, column, &size);
    if (bytes == NULL)
        machine->known &= ~(1u << program_a(head));
    else
        set(machine, program_a(head), load_number(column, bytes));
}

static void load(struct machine *machine, const uint32_t *words)
{
    uint32_t to = program_a(words[0]);
    switch (program_opcode_of(words[0])) {
    case PROGRAM_LOAD_COLUMN:
        load_column(machine, words[0]);
        return;
    case PROGRAM_LOAD_16:
        set(machine, to, program_high(words[0]));
        return;
    case PROGRAM_LOAD_32:
        set(machine, to, words[1]);
        return;
    case PROGRAM_LOAD_64:
        set(machine, to, (wide)((uint64_t)words[2] << 32 | words[1]));
        return;
    case PROGRAM_LOAD_SIGNED:
        set(machine, to, (int64_t)((uint64_t)words[2] << 32 | words[1]));
        return;
    default: /* PROGRAM_LOAD_NULL */
        machine->known &= ~(1u << to);
        return;
    }
}

/* --- Conditions: true, or else false or unknown. --- */

static inline bool column_holds(struct machine *machine, const uint32_t *words)
{
    const struct tup_column *column = column_of(machine, program_high(words[0]));
    uint32_t condition = program_condition_of(words[1]);
    uint32_t size;
    const uint8_t *bytes = column_bytes(machine, column, &size);
    const uint8_t *value = (const uint8_t *)(words + 3);
    if (bytes == NULL) return false;
    if (column->integer) {
        uint64_t a = order_key(column, bytes);
        uint64_t b = order_key(column, value);
        return program_holds(condition, a == b ? 0 : a < b ? -1 : 1);
    }
    if (condition >= PROGRAM_LIKE) {
        return column_like(&column->format, bytes, size, value, words[2], &machine->budget) ==
               (condition == PROGRAM_LIKE);
    }
    charge(machine, size < words[2] ? words[2] : size);
    return program_holds(condition, column_compare(&column->format, bytes, size, value, words[2]));
}

static bool columns_hold(struct machine *machine, const uint32_t *words)
{
    const struct tup_column *a = column_of(machine, program_high(words[0]));
    const struct tup_column *b = column_of(machine, words[2]);
    uint32_t condition = program_condition_of(words[1]);
    uint32_t a_size;
    uint32_t b_size;
    const uint8_t *a_bytes = column_bytes(machine, a, &a_size);
    const uint8_t *b_bytes = column_bytes(machine, b, &b_size);
    if (a_bytes == NULL || b_bytes == NULL) return false;
    if (a->integer) {
        wide x = load_number(a, a_bytes);
        wide y = load_number(b, b_bytes);
        return program_holds(condition, x == y ? 0 : x < y ? -1 : 1);
    }
    /* Types differ in length at most; the longer one admits both values. */
    const struct column_format *format =
        a->format.length < b->format.length ? &b->format : &a->format;
    charge(machine, a_size < b_size ? b_size : a_size);
    return program_holds(condition, column_compare(format, a_bytes, a_size, b_bytes, b_size));
}

static bool registers_hold(const struct machine *machine, uint32_t head)
{
    if (is_null(machine, program_a(head)) || is_null(machine, program_b(head))) return false;
    wide a = machine->reg[program_a(head)];
    wide b = machine->reg[program_b(head)];
    int order = a == b ? 0 : a < b ? -1 : 1;
    return program_holds(program_opcode_of(head) - PROGRAM_BRANCH_EQ, order);
}

static bool condition_holds(struct machine *machine, const uint32_t *words)
{
    uint32_t size;
    switch (program_opcode_of(words[0])) {
    case PROGRAM_BRANCH:
        return true;
    case PROGRAM_BRANCH_NULL:
        return is_null(machine, program_a(words[0]));
    case PROGRAM_BRANCH_COLUMN_NULL:
        return column_bytes(machine, column_of(machine, program_high(words[0])), &size) == NULL;
    case PROGRAM_BRANCH_COLUMNS:
        return columns_hold(machine, words);
    default:
        return registers_hold(machine, words[0]);
    }
}

/* `length` of the branch instruction, in words. */
static inline void branch(struct machine *machine, const uint32_t *words, uint32_t length,
                          bool holds)
{
    bool taken = holds == ((words[1] & PROGRAM_UNLESS) == 0);
    machine->at = taken ? program_target(words[1]) : machine->at + length;
}

/* --- Running. --- */

enum { GOES_ON = 0, HAS_ENDED = 1 }; /* Result of an instruction; errors are larger. */

static uint32_t end(struct machine *machine, enum tup_program_end how, uint32_t code)
{
    machine->program->end = how;
    machine->program->code = code;
    return HAS_ENDED;
}

static uint32_t step(struct machine *machine, const uint32_t *words)
{
    uint32_t head = words[0];
    switch (program_opcode_of(head)) {
    case PROGRAM_BRANCH_COLUMN:
        branch(machine, words, 3u + words_of(words[2]), column_holds(machine, words));
        return GOES_ON;
    case PROGRAM_EXIT_OK:
        return end(machine, TUP_PROGRAM_OK, 0);
    case PROGRAM_EXIT_STORED:
        return end(machine, TUP_PROGRAM_STORED, 0);
    case PROGRAM_EXIT_REFUSE:
        return end(machine, TUP_PROGRAM_REFUSED, program_high(head));
    case PROGRAM_LOAD_COLUMN:
    case PROGRAM_LOAD_NULL:
    case PROGRAM_LOAD_16:
        load(machine, words);
        machine->at += 1;
        return GOES_ON;
    case PROGRAM_LOAD_32:
        load(machine, words);
        machine->at += 2;
        return GOES_ON;
    case PROGRAM_LOAD_64:
    case PROGRAM_LOAD_SIGNED:
        load(machine, words);
        machine->at += 3;
        return GOES_ON;
    case PROGRAM_STORE_COLUMN:
        machine->at += 1;
        return store_register(machine, program_high(head), program_a(head));
    case PROGRAM_STORE_VALUE:
        machine->at += 2u + words_of(words[1]);
        return put_pair(machine, program_high(head), words + 2, words[1]);
    case PROGRAM_ADD:
    case PROGRAM_SUBTRACT:
    case PROGRAM_MULTIPLY:
    case PROGRAM_DIVIDE:
    case PROGRAM_REMAINDER:
        machine->at += 1;
        return compute(machine, head);
    default:
        branch(machine, words, program_opcode_of(head) == PROGRAM_BRANCH_COLUMNS ? 3 : 2,
               condition_holds(machine, words));
        return GOES_ON;
    }
}

uint32_t tup_program_run(struct tup *tup, struct tup_program *program)
{
    struct machine machine;
    machine.frag = program->frag;
    machine.program = program;
    machine.budget = PROGRAM_STEPS_MAX;
    machine.at = 1;
    machine.known = 0;
    machine.image = tup_version(tup, program->frag, row_at(program->frag, program->row),
                                program->transid1, program->transid2);
    program->stored = 0;
    program->steps = 0;
    if (machine.image == NULL) return ERR_ROW_NOT_FOUND;
    uint32_t result = GOES_ON;
    while (result == GOES_ON && machine.budget > 0) {
        machine.budget--;
        result = step(&machine, program->words + machine.at);
    }
    program->steps = PROGRAM_STEPS_MAX - machine.budget;
    /* A comparison that has used up the budget was false for that reason. */
    if (machine.budget == 0 && result <= HAS_ENDED) return ERR_INSTRUCTION_LIMIT;
    return result == HAS_ENDED ? 0 : result;
}

/* --- Checking. --- */

static void column_get(const void *of, uint32_t id, struct program_column *column)
{
    const struct tup_column *from = &((const struct tup_table *)of)->columns[id];
    *column = (struct program_column){
        .format = from->format, .nullable = from->nullable != 0, .in_key = from->in_key != 0};
}

uint32_t tup_program_check(const struct tup_frag *frag, const uint32_t *words, uint32_t count,
                           bool stores)
{
    const struct program_table table = {
        .of = frag->table, .column_count = frag->table->column_count, .column = column_get};
    return program_check(&table, stores ? PROGRAM_CHANGES : PROGRAM_FILTERS, words, count);
}

uint32_t tup_read_check(const struct tup_frag *frag, const uint32_t *attr, uint32_t words)
{
    uint64_t seen[SEEN_WORDS] = {0};
    if (words == 1 && attr[0] == attr_header(ATTR_READ_ALL, 0)) return 0;
    if (words > ATTR_READ_MAX) return ERR_READS_TOO_MANY;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t id = attr_column(attr[i]);
        if (id >= frag->table->column_count || attr_size(attr[i]) != 0 ||
            (seen[id / 64u] >> id % 64u & 1u) != 0)
            return ERR_DATA_CORRUPT;
        seen[id / 64u] |= 1ull << id % 64u;
    }
    return 0;
}
