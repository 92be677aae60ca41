/* acc_overflow.c -- overflow buckets: pages shared by all fragments of the instance, given back
 * when empty. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbacc/acc_state.h"

#define OVERFLOW_PAGES_MAX (UINT32_MAX / BUCKETS_PER_PAGE)

static struct overflow_head *head_at(const struct acc *acc, uint32_t number)
{
    return page_dir_at(&acc->overflow, number);
}

static void list_add(struct acc *acc, struct overflow_head *head)
{
    head->next = acc->overflow_page;
    head->prev = 0;
    if (head->next != 0) head_at(acc, head->next - 1)->prev = head->number + 1;
    acc->overflow_page = head->number + 1;
}

static void list_remove(struct acc *acc, const struct overflow_head *head)
{
    if (head->next != 0) head_at(acc, head->next - 1)->prev = head->prev;
    if (head->prev != 0)
        head_at(acc, head->prev - 1)->next = head->next;
    else
        acc->overflow_page = head->next;
}

static bool has_free(const struct overflow_head *head)
{
    return head->free != 0 || head->carved < BUCKETS_PER_PAGE;
}

uint32_t acc_overflow_seize(struct acc *acc)
{
    if (acc->overflow_page == 0) {
        jam();
        uint32_t number;
        struct overflow_head *page = page_dir_add(&acc->overflow, OVERFLOW_PAGES_MAX, &number);
        if (page == NULL) return 0;
        *page = (struct overflow_head){.number = number, .carved = 1};
        list_add(acc, page);
    }
    struct overflow_head *head = head_at(acc, acc->overflow_page - 1);
    uint32_t place = head->free;
    struct acc_bucket *bucket =
        (struct acc_bucket *)(void *)head + (place != 0 ? place : head->carved);
    if (place != 0) {
        head->free = bucket->overflow;
    } else {
        place = head->carved++;
    }
    head->in_use++;
    acc->overflow_used++;
    if (!has_free(head)) list_remove(acc, head);
    bucket->count = 0;
    bucket->overflow = 0;
    return head->number * BUCKETS_PER_PAGE + place;
}

void acc_overflow_release(struct acc *acc, uint32_t ref)
{
    struct overflow_head *head = head_at(acc, ref / BUCKETS_PER_PAGE);
    struct acc_bucket *bucket = acc_overflow_at(acc, ref);
    if (!has_free(head)) list_add(acc, head);
    bucket->overflow = head->free;
    bucket->count = 0;
    head->free = ref % BUCKETS_PER_PAGE;
    head->in_use--;
    acc->overflow_used--;
    if (head->in_use > 0) return;
    jam();
    list_remove(acc, head);
    page_dir_remove(&acc->overflow, head->number);
}

void acc_overflow_check(const struct acc *acc)
{
    uint32_t used = 0;
    uint32_t with_free = 0;
    for (uint32_t number = 0; number < acc->overflow.count; number++) {
        const struct overflow_head *head = page_dir_find(&acc->overflow, number);
        if (head == NULL) continue;
        ndbrequire(head->number == number);
        ndbrequire(head->in_use > 0);
        used += head->in_use;
        with_free += has_free(head);
    }
    ndbrequire(used == acc->overflow_used);
    for (uint32_t at = acc->overflow_page; at != 0; at = head_at(acc, at - 1)->next) {
        ndbrequire(with_free > 0);
        with_free--;
    }
    ndbrequire(with_free == 0);
}
