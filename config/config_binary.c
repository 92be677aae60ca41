/* config_binary.c -- the configuration as checksummed bytes, for the wire and the cache file. */
/* SPDX-License-Identifier: MIT
 *
 * Layout, 32-bit little-endian words:
 *
 *   magic 2 | format | words | generation | cluster id 2 | sections | sections... | XXH3 2
 *   section:  kind | node | node2 | entries | entries...
 *   entry:    type << 28 + parameter id | value
 *   value:    INT, BOOL, ENUM 1 word; INT64 2 words, low first; STRING bytes, then padded to words
 *
 * All values stand in it, defaults too, so that two builds whose defaults differ read the same.
 * A reader skips parameters that it does not know: a newer server may serve an older node.
 */
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CONFIG_MAGIC_LOW  0x4342444eu /* "NDBC" */
#define CONFIG_MAGIC_HIGH 0x314e4946u /* "FIN1" */
#define HEADER_WORDS      8u
#define GENERATION_AT     16u /* Offset of the generation, in bytes. */
#define CHECKSUM_WORDS    2u
#define SECTION_WORDS     4u
#define WORDS_MAX         (CONFIG_ENCODED_MAX / 4u)
#define SECTIONS_MAX      (CONFIG_NODES_MAX + CONFIG_LINKS_MAX + 2u)
#define ENTRIES_MAX       1000u

struct writer {
    uint32_t *words;
    uint32_t count;
    uint32_t room;
    bool failed;
};

struct reader {
    const uint8_t *bytes;
    uint32_t at;    /* Word that is read next. */
    uint32_t words; /* End of the readable part, checksum excluded. */
    bool failed;
};

static uint32_t to_little(uint32_t word)
{
    uint8_t b[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                    (uint8_t)(word >> 24)};
    uint32_t out;

    memcpy(&out, b, sizeof(out));
    return out;
}

static uint32_t load_word(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put(struct writer *writer, uint32_t word)
{
    if (writer->failed) return;
    if (writer->count == writer->room) {
        uint32_t room = writer->room == 0 ? 4096 : 2 * writer->room;
        uint32_t *words = room > WORDS_MAX ? NULL : realloc(writer->words, room * sizeof(*words));
        if (words == NULL) {
            writer->failed = true;
            return;
        }
        writer->words = words;
        writer->room = room;
    }
    writer->words[writer->count++] = to_little(word);
}

static void put_text(struct writer *writer, const char *text)
{
    size_t length = strlen(text);

    put(writer, (uint32_t)length);
    for (size_t i = 0; i < length; i += 4) {
        uint8_t b[4] = {0};
        memcpy(b, text + i, length - i < 4 ? length - i : 4);
        put(writer, load_word(b));
    }
}

static void put_section(struct writer *writer, const struct config_section *section)
{
    enum config_kind kind = config_section_kind(section);
    uint32_t param_count;
    uint32_t entries = 0;
    const struct config_param *params = config_params(&param_count);

    for (uint32_t i = 0; i < param_count; i++)
        entries += params[i].kind == kind;
    put(writer, (uint32_t)kind);
    put(writer, config_section_node(section));
    put(writer, config_section_node2(section));
    put(writer, entries);
    for (uint32_t i = 0; i < param_count; i++) {
        const struct config_param *param = &params[i];
        if (param->kind != kind) continue;
        uint32_t given = config_is_set(section, param->id) ? 0x08000000u : 0;
        put(writer, (uint32_t)param->type << 28 | given | param->id);
        uint64_t value = config_get_u64(section, param->id);
        if (param->type == CONFIG_STRING) {
            put_text(writer, config_get_text(section, param->id));
            continue;
        }
        put(writer, (uint32_t)value);
        if (param->type == CONFIG_INT64) put(writer, (uint32_t)(value >> 32));
    }
}

uint8_t *config_encode(const struct cluster_config *config, size_t *size)
{
    struct writer writer = {.words = NULL};
    uint64_t cluster_id = config_cluster_id(config);
    uint32_t links = config_count(config, CONFIG_TCP);

    *size = 0;
    put(&writer, CONFIG_MAGIC_LOW);
    put(&writer, CONFIG_MAGIC_HIGH);
    put(&writer, CONFIG_FORMAT);
    put(&writer, 0); /* Number of words: set below. */
    put(&writer, config_generation(config));
    put(&writer, (uint32_t)cluster_id);
    put(&writer, (uint32_t)(cluster_id >> 32));
    put(&writer, 2 + config_count(config, CONFIG_NONE) + links);
    put_section(&writer, config_system(config));
    put_section(&writer, config_tcp_default(config));
    for (const struct config_section *node = config_next_node(config, 0, CONFIG_NONE); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_NONE)) {
        put_section(&writer, node);
    }
    for (uint32_t i = 0; i < links; i++)
        put_section(&writer, config_link_at(config, i));
    if (!writer.failed) {
        writer.words[3] = to_little(writer.count + CHECKSUM_WORDS);
        uint64_t sum = XXH3_64bits(writer.words, (size_t)writer.count * 4);
        put(&writer, (uint32_t)sum);
        put(&writer, (uint32_t)(sum >> 32));
    }
    if (writer.failed) {
        free(writer.words);
        return NULL;
    }
    *size = (size_t)writer.count * 4;
    return (uint8_t *)writer.words;
}

uint32_t config_content_digest(const struct cluster_config *config)
{
    size_t size;
    uint8_t *bytes = config_encode(config, &size);
    uint64_t digest;

    if (bytes == NULL) return 0;
    memset(bytes + GENERATION_AT, 0, 4);
    digest = XXH3_64bits(bytes, size - 4 * (size_t)CHECKSUM_WORDS);
    free(bytes);
    return (uint32_t)digest == 0 ? 1 : (uint32_t)digest;
}

uint64_t config_digest(const struct cluster_config *config)
{
    size_t size;
    uint8_t *bytes = config_encode(config, &size);
    uint64_t digest = bytes == NULL ? 0 : XXH3_64bits(bytes, size);

    free(bytes);
    return digest;
}

static uint32_t get(struct reader *reader)
{
    if (reader->at >= reader->words) {
        reader->failed = true;
        return 0;
    }
    return load_word(reader->bytes + 4 * (size_t)reader->at++);
}

/* Reads a string value into `text` of 1024 bytes; one with a NUL inside or too long is refused. */
static bool get_text(struct reader *reader, char *text)
{
    uint32_t length = get(reader);
    uint32_t words = length / 4 + (length % 4 != 0);

    if (reader->failed || length > 1023 || words > reader->words - reader->at) {
        reader->failed = true;
        return false;
    }
    memcpy(text, reader->bytes + 4 * (size_t)reader->at, length);
    text[length] = '\0';
    reader->at += words;
    return strlen(text) == length;
}

static bool get_entry(struct reader *reader, struct config_section *section, char *why, size_t size)
{
    char text[1024];
    uint32_t key = get(reader);
    uint32_t type = key >> 28;
    uint32_t id = key & 0x07ffffffu;
    bool given = (key & 0x08000000u) != 0;
    const struct config_param *param = config_param(config_section_kind(section), id);
    uint64_t value = 0;

    if (type == CONFIG_STRING) {
        if (!get_text(reader, text)) {
            (void)snprintf(why, size, "a string value is cut off or too long");
            return false;
        }
    } else {
        value = get(reader);
        if (type == CONFIG_INT64) value |= (uint64_t)get(reader) << 32;
    }
    if (reader->failed) return false;
    if (param == NULL) return true; /* It is a parameter of a newer release. */
    if (type != (uint32_t)param->type) {
        (void)snprintf(why, size, "%s has another type", param->name);
        return false;
    }
    bool is_default =
        type == CONFIG_STRING ? strcmp(text, param->def_text) == 0 : value == param->def;
    if (!given && is_default) return true;
    int rc = type == CONFIG_STRING ? config_set_text(section, id, text)
                                   : config_set_u64(section, id, value);
    if (rc != 0) (void)snprintf(why, size, "%s has a value out of range", param->name);
    return rc == 0;
}

static struct config_section *section_for(struct cluster_config *config, uint32_t kind,
                                          uint32_t node, uint32_t node2)
{
    switch (kind) {
    case CONFIG_SYSTEM:
        return config_system(config);
    case CONFIG_NDBD:
        return config_add_node(config, CONFIG_NDBD, node);
    case CONFIG_API:
        return config_add_node(config, CONFIG_API, node);
    case CONFIG_MGMD:
        return config_add_node(config, CONFIG_MGMD, node);
    case CONFIG_TCP:
        if (node == 0 && node2 == 0) return config_tcp_default(config);
        return config_add_link(config, node, node2);
    default:
        return NULL;
    }
}

static bool get_section(struct reader *reader, struct cluster_config *config, char *why,
                        size_t size)
{
    uint32_t kind = get(reader);
    uint32_t node = get(reader);
    uint32_t node2 = get(reader);
    uint32_t entries = get(reader);

    if (reader->failed || entries > ENTRIES_MAX) {
        (void)snprintf(why, size, "a section is cut off");
        return false;
    }
    struct config_section *section = section_for(config, kind, node, node2);
    if (section == NULL) {
        (void)snprintf(why, size, "section of kind %u for node %u is impossible", kind, node);
        return false;
    }
    for (uint32_t i = 0; i < entries; i++) {
        if (!get_entry(reader, section, why, size)) return false;
    }
    if (config_section_node(section) != 0 && kind != CONFIG_TCP &&
        config_get_u64(section, CFG_NDBD_NodeId) != node) {
        (void)snprintf(why, size, "node %u says that it has another id", node);
        return false;
    }
    return true;
}

static bool header_fits(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
    const char *reason = NULL;

    if (size < 4 * (HEADER_WORDS + CHECKSUM_WORDS) || size % 4 != 0 || size > CONFIG_ENCODED_MAX) {
        reason = "its size is impossible";
    } else if (load_word(bytes) != CONFIG_MAGIC_LOW || load_word(bytes + 4) != CONFIG_MAGIC_HIGH) {
        reason = "it does not begin like a configuration";
    } else if (load_word(bytes + 8) != CONFIG_FORMAT) {
        reason = "its format is of another release";
    } else if ((size_t)load_word(bytes + 12) * 4 != size) {
        reason = "it is cut off";
    } else if (load_word(bytes + 28) > SECTIONS_MAX) {
        reason = "it has too many sections";
    } else {
        uint64_t sum = load_word(bytes + size - 8) | (uint64_t)load_word(bytes + size - 4) << 32;
        if (sum != XXH3_64bits(bytes, size - 8)) reason = "its checksum is wrong";
    }
    if (reason != NULL) (void)snprintf(why, why_size, "%s", reason);
    return reason == NULL;
}

struct cluster_config *config_decode(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
    (void)snprintf(why, why_size, "it is cut off");
    if (!header_fits(bytes, size, why, why_size)) return NULL;

    struct reader reader = {
        .bytes = bytes, .at = HEADER_WORDS, .words = (uint32_t)(size / 4) - CHECKSUM_WORDS};
    struct cluster_config *config = config_new();
    uint32_t sections = load_word(bytes + 28);

    if (config == NULL) {
        (void)snprintf(why, why_size, "memory is out");
        return NULL;
    }
    config_set_generation(config, load_word(bytes + 16));
    config_set_cluster_id(config, load_word(bytes + 20) | (uint64_t)load_word(bytes + 24) << 32);
    for (uint32_t i = 0; i < sections; i++) {
        if (get_section(&reader, config, why, why_size)) continue;
        config_free(config);
        return NULL;
    }
    if (reader.at != reader.words) {
        (void)snprintf(why, why_size, "bytes follow its last section");
        config_free(config);
        return NULL;
    }
    return config;
}
