/* mc_binary_private.h -- numbers of the binary protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdint.h>

#define MC_BINARY_REQUEST 0x80u /* The first byte. */
#define MC_BINARY_REPLY   0x81u
#define MC_BINARY_HEADER  24u

/*
 *  0      1      2        4        5     6        8        12       16    24
 *  magic  opcode key size extras's zero  vbucket, body     opaque   CAS   extras, key, value
 *                         size           status   size                    are the body
 *
 * All numbers are big-endian.
 */
enum {
    MC_AT_OPCODE = 1,
    MC_AT_KEY_SIZE = 2,
    MC_AT_EXTRAS_SIZE = 4,
    MC_AT_STATUS = 6,
    MC_AT_BODY_SIZE = 8,
    MC_AT_OPAQUE = 12,
    MC_AT_CAS = 16
};

enum mc_opcode {
    MC_OP_GET = 0x00,
    MC_OP_SET = 0x01,
    MC_OP_ADD = 0x02,
    MC_OP_REPLACE = 0x03,
    MC_OP_DELETE = 0x04,
    MC_OP_INCREMENT = 0x05,
    MC_OP_DECREMENT = 0x06,
    MC_OP_QUIT = 0x07,
    MC_OP_FLUSH = 0x08,
    MC_OP_GETQ = 0x09,
    MC_OP_NOOP = 0x0a,
    MC_OP_VERSION = 0x0b,
    MC_OP_GETK = 0x0c,
    MC_OP_GETKQ = 0x0d,
    MC_OP_APPEND = 0x0e,
    MC_OP_PREPEND = 0x0f,
    MC_OP_STAT = 0x10,
    MC_OP_SETQ = 0x11,
    MC_OP_ADDQ = 0x12,
    MC_OP_REPLACEQ = 0x13,
    MC_OP_DELETEQ = 0x14,
    MC_OP_INCREMENTQ = 0x15,
    MC_OP_DECREMENTQ = 0x16,
    MC_OP_QUITQ = 0x17,
    MC_OP_FLUSHQ = 0x18,
    MC_OP_APPENDQ = 0x19,
    MC_OP_PREPENDQ = 0x1a,
    MC_OP_TOUCH = 0x1c,
    MC_OP_GAT = 0x1d,
    MC_OP_GATQ = 0x1e,
    MC_OP_SASL_LIST = 0x20,
    MC_OP_SASL_AUTH = 0x21,
    MC_OP_SASL_STEP = 0x22,
    MC_OP_GATK = 0x23,
    MC_OP_GATKQ = 0x24,
    MC_OPCODES
};
