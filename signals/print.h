/* print.h -- signals as text, with the names of their fields: for traces, logs and the simulator.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

struct signal_field {
    const char *name;
    uint16_t word;  /* First word in the payload. */
    uint16_t words; /* More than one: an array or a node mask. */
};

/* What gsn.def and the payload's struct say about a signal. */
struct signal_shape {
    const char *name;
    uint32_t gsn;
    uint32_t words; /* Words of the struct. */
    uint32_t sections_min;
    uint32_t sections_max;
    uint32_t senders; /* enum sender_class, or'ed. */
    const struct signal_field *fields;
    uint32_t field_count;
};

/* The shape of a signal, or NULL for a number that is not in gsn.def. Thread-safe, as all here. */
const struct signal_shape *signal_shape(uint32_t gsn);

/* All shapes in the order of gsn.def; NULL from the last one on. For tests and tools. */
const struct signal_shape *signal_shape_at(uint32_t index);

/*
 * Writes the payload as "name=value ..." and the section lengths into `text` (NUL terminated, cut
 * at `size`). Only the words that are there are printed, so a shortened payload from a trace is
 * fine. Returns the length written.
 */
uint32_t signal_describe(const struct signal *sig, char *text, uint32_t size);
