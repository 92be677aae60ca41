/* dict_image.c -- turns the dictionary into the words of a schema file and back; believes nothing
 * that it reads. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbdict/dict_state.h"

/* --- Words of the dictionary. --- */

/* The head of a table's record; false when the number has nothing to tell. */
static bool record_head(const struct dict *dict, const struct image_writer *writer,
                        uint32_t head[IMAGE_RECORD_WORDS])
{
    const struct dict_table *table = &dict->table[writer->id];
    bool used = table->state != TABLE_UNDEFINED && !dict_is_of(dict, writer->id, writer->without);
    bool altered = table->next.first_chunk != 0 && !writer->as_is;
    if (table->version == 0) return false;
    head[0] = writer->id;
    head[1] = altered ? table->next.version : table->version;
    head[2] = used ? TABLE_ONLINE : TABLE_UNDEFINED;
    head[3] = !used ? 0 : altered ? table->next.def_words : table->def_words;
    head[4] = !used ? 0 : altered ? table->next.distribution_words : table->distribution_words;
    return true;
}

/* Gives as many words as there is room for; a record may go on in the next piece. */
uint32_t image_fill(struct dict *dict, struct image_writer *writer, uint32_t *words, uint32_t room)
{
    uint32_t used = 0;
    while (writer->id < dict->table_count && used < room) {
        uint32_t head[IMAGE_RECORD_WORDS];
        if (!record_head(dict, writer, head)) {
            writer->id++;
            continue;
        }
        uint32_t total = IMAGE_RECORD_WORDS + head[3] + head[4];
        while (writer->at < IMAGE_RECORD_WORDS && used < room)
            words[used++] = head[writer->at++];
        uint32_t count = total - writer->at;
        if (count > room - used) count = room - used;
        if (count > 0) {
            struct section sections[2];
            if (writer->as_is)
                dict_store_read(dict, &dict->table[writer->id], sections);
            else
                dict_store_read_next(dict, &dict->table[writer->id], sections);
            memcpy(words + used, dict->scratch + (writer->at - IMAGE_RECORD_WORDS),
                   (size_t)count * 4u);
            writer->at += count;
            used += count;
        }
        if (writer->at < total) break;
        writer->at = 0;
        writer->id++;
        writer->records++;
    }
    return used;
}

uint64_t image_count(const struct dict *dict)
{
    struct image_writer writer = {.id = 1};
    uint64_t words = 0;
    for (; writer.id < dict->table_count; writer.id++) {
        uint32_t head[IMAGE_RECORD_WORDS];
        if (record_head(dict, &writer, head)) words += IMAGE_RECORD_WORDS + head[3] + head[4];
    }
    return words;
}

/* --- And back. --- */

/* The distribution is the master's, but a peer or a file is not trusted. */
static bool distribution_fits(const struct section *section)
{
    if (section->size < DISTRIBUTION_HEAD_WORDS) return false;
    uint32_t fragments = section->words[0];
    uint32_t replicas = section->words[1];
    uint32_t buckets = section->words[2];
    if (fragments == 0 || fragments > TABLE_FRAGMENTS_MAX || replicas == 0 ||
        replicas > REPLICAS_MAX)
        return false;
    if (buckets == 0 || buckets % 2 != 0 || buckets > 2u * TABLE_FRAGMENTS_MAX) return false;
    if (section->size != DISTRIBUTION_HEAD_WORDS + fragments * replicas + buckets / 2u)
        return false;
    const uint32_t *nodes = section->words + DISTRIBUTION_HEAD_WORDS;
    for (uint32_t i = 0; i < fragments * replicas; i++) {
        if (nodes[i] > DATA_NODE_ID_MAX || (nodes[i] == 0 && i % replicas == 0)) return false;
    }
    const uint16_t *map = (const uint16_t *)(nodes + (size_t)fragments * replicas);
    for (uint32_t i = 0; i < buckets; i++) {
        if (map[i] >= fragments) return false;
    }
    return fragments % distribution_partitions(map, buckets) == 0;
}

uint32_t dict_table_check(struct dict *dict, uint32_t table_id, uint32_t version,
                          const struct section sections[2], struct table_def **def)
{
    if (!distribution_fits(&sections[1])) return ERR_TABLE_FORMAT;
    if (sections[0].size > DICT_WORDS_MAX - DICT_HEAD_WORDS - sections[1].size)
        return ERR_DEFINITION_TOO_BIG;
    uint32_t error = table_def_decode(sections[0].words, sections[0].size, dict->local.def_memory,
                                      table_def_size_max(), def);
    if (error != 0) return error;
    if ((*def)->table_id != table_id || (*def)->version != version ||
        (*def)->fragment_count != sections[1].words[0] || version == 0)
        return ERR_TABLE_FORMAT;
    if (table_id == 0 || table_id >= dict->table_count) return ERR_TABLE_RECORDS;
    return 0;
}

uint32_t dict_table_take(struct dict *dict, const uint32_t head[IMAGE_RECORD_WORDS],
                         const struct section sections[2])
{
    char name[DICT_NAME_BYTES];
    struct table_def *def = NULL;
    if (head[0] == 0 || head[1] == 0) return ERR_TABLE_FORMAT;
    if (head[0] >= dict->table_count) return ERR_TABLE_RECORDS;
    if (dict->table[head[0]].state != TABLE_UNDEFINED) return ERR_TABLE_EXISTS;
    if (head[2] == TABLE_UNDEFINED) {
        jam();
        dict->table[head[0]].version = head[1];
        return sections[0].size + sections[1].size == 0 ? 0 : ERR_TABLE_FORMAT;
    }
    if (head[2] != TABLE_ONLINE) return ERR_TABLE_FORMAT;
    uint32_t error = dict_table_check(dict, head[0], head[1], sections, &def);
    if (error != 0) return error;
    table_def_internal_name(def, name, sizeof(name));
    if (dict_table_by_name(dict, name, (uint32_t)strlen(name)) != 0) return ERR_TABLE_EXISTS;
    jam();
    return dict_store_put(dict, def, &sections[0], &sections[1]);
}

static uint32_t record_words(const uint32_t head[IMAGE_RECORD_WORDS])
{
    return IMAGE_RECORD_WORDS + head[3] + head[4];
}

/* 0, or why the head of a record cannot be. */
static uint32_t head_refused(const struct image_reader *reader)
{
    const uint32_t *head = reader->head;
    uint32_t room = DICT_WORDS_MAX - DICT_HEAD_WORDS;
    if (head[0] <= reader->last_id) return ERR_TABLE_FORMAT;
    if (head[3] > room || head[4] > room - head[3]) return ERR_DEFINITION_TOO_BIG;
    return 0;
}

static uint32_t record_done(struct dict *dict, struct image_reader *reader)
{
    const uint32_t *head = reader->head;
    const struct section sections[2] = {{.words = dict->scratch, .size = head[3]},
                                        {.words = dict->scratch + head[3], .size = head[4]}};
    reader->have = 0;
    reader->last_id = head[0];
    reader->records++;
    return dict_table_take(dict, head, sections);
}

bool image_feed(struct dict *dict, struct image_reader *reader, const uint32_t *words,
                uint32_t count)
{
    uint32_t done = 0;
    while (done < count && reader->refused == 0) {
        if (reader->have < IMAGE_RECORD_WORDS) {
            reader->head[reader->have++] = words[done++];
            if (reader->have < IMAGE_RECORD_WORDS) continue;
            reader->refused = head_refused(reader);
        } else {
            uint32_t part = record_words(reader->head) - reader->have;
            if (part > count - done) part = count - done;
            memcpy(dict->scratch + (reader->have - IMAGE_RECORD_WORDS), words + done,
                   (size_t)part * 4u);
            reader->have += part;
            done += part;
        }
        if (reader->refused == 0 && reader->have == record_words(reader->head))
            reader->refused = record_done(dict, reader);
    }
    if (reader->refused != 0) reader->refused_id = reader->head[0];
    return reader->refused == 0;
}

bool image_whole(const struct image_reader *reader, const struct image_head *head)
{
    return reader->have == 0 && reader->records == head->records;
}
