/* member.h -- what a member of a row is in C or C++, found out by the compiler: the inside of the
 * macros of ndb.h that say where columns stand. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#if defined(__cplusplus) && __cplusplus >= 201103L
#include <type_traits>
#endif

/* What a member is in C. The macros NDB_FIELD and the like find it out, so that a member of the
   wrong type is refused when the record is made, and not found in the data later. */
enum ndb_member_kind {
    NDB_MEMBER_UNKNOWN = 0,  /* Not told: the member only has to be large enough. */
    NDB_MEMBER_SIGNED = 1,   /* An integer. */
    NDB_MEMBER_UNSIGNED = 2, /* In C also an enum without negative values. */
    NDB_MEMBER_REAL = 3,     /* float or double */
    NDB_MEMBER_BOOL = 4,
    NDB_MEMBER_TEXT = 5,  /* char, char[] */
    NDB_MEMBER_BYTES = 6, /* unsigned char[], uint8_t[] */
    NDB_MEMBER_OTHER = 7, /* A struct, or another array: taken for what it holds by its size. */
    /* Never right: a row holds its values themselves. C tells those to characters, bytes and void;
       others are OTHER. */
    NDB_MEMBER_POINTER = 8
};

/* What NDB_FIELD and the like of ndb.h are made of: C11 and C++11 tell what a member is; older ones
 * tell its size. */
#define NDB_FIELD_OF(type, member, column_name, null_offset, null_bit, flags)                      \
    {                                                                                              \
        (column_name), 0u, NDB_UINT32(offsetof(type, member)),                                     \
            NDB_UINT32(sizeof(NDB_MEMBER(type, member))), (null_offset), (null_bit), (flags),      \
            NDB_MEMBER_KIND(NDB_MEMBER(type, member))                                              \
    }
#if defined(__cplusplus)
#define NDB_UINT32(number)       static_cast<uint32_t>(number)
#define NDB_MEMBER(type, member) static_cast<type *>(NULL)->member
#else
#define NDB_UINT32(number)       ((uint32_t)(number))
#define NDB_MEMBER(type, member) ((type *)0)->member
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
template <typename Member> constexpr enum ndb_member_kind ndb_member_kind_of()
{
    typedef typename std::remove_cv<Member>::type type;
    typedef typename std::remove_cv<typename std::remove_extent<Member>::type>::type element;
    return std::is_pointer<type>::value         ? NDB_MEMBER_POINTER
           : std::is_same<element, char>::value ? NDB_MEMBER_TEXT
           : std::is_array<type>::value
               ? std::is_same<element, unsigned char>::value ? NDB_MEMBER_BYTES : NDB_MEMBER_OTHER
           : std::is_same<type, bool>::value     ? NDB_MEMBER_BOOL
           : std::is_floating_point<type>::value ? NDB_MEMBER_REAL
           : !std::is_integral<type>::value      ? NDB_MEMBER_OTHER
           : std::is_signed<type>::value         ? NDB_MEMBER_SIGNED
                                                 : NDB_MEMBER_UNSIGNED;
}
#define NDB_MEMBER_KIND(member) ndb_member_kind_of<decltype(member)>()
#elif !defined(__cplusplus) && __STDC_VERSION__ >= 201112L
/* The address tells a pointer from an array, which becomes one. */
#define NDB_MEMBER_KIND(member)                                                                    \
    _Generic(&(member),                                                                            \
        char **: NDB_MEMBER_POINTER,                                                               \
        const char **: NDB_MEMBER_POINTER,                                                         \
        unsigned char **: NDB_MEMBER_POINTER,                                                      \
        const unsigned char **: NDB_MEMBER_POINTER,                                                \
        void **: NDB_MEMBER_POINTER,                                                               \
        const void **: NDB_MEMBER_POINTER,                                                         \
        char *const *: NDB_MEMBER_POINTER,                                                         \
        const char *const *: NDB_MEMBER_POINTER,                                                   \
        unsigned char *const *: NDB_MEMBER_POINTER,                                                \
        const unsigned char *const *: NDB_MEMBER_POINTER,                                          \
        void *const *: NDB_MEMBER_POINTER,                                                         \
        const void *const *: NDB_MEMBER_POINTER,                                                   \
        default: _Generic((member),                                                                \
            signed char: NDB_MEMBER_SIGNED,                                                        \
            short: NDB_MEMBER_SIGNED,                                                              \
            int: NDB_MEMBER_SIGNED,                                                                \
            long: NDB_MEMBER_SIGNED,                                                               \
            long long: NDB_MEMBER_SIGNED,                                                          \
            unsigned char: NDB_MEMBER_UNSIGNED,                                                    \
            unsigned short: NDB_MEMBER_UNSIGNED,                                                   \
            unsigned: NDB_MEMBER_UNSIGNED,                                                         \
            unsigned long: NDB_MEMBER_UNSIGNED,                                                    \
            unsigned long long: NDB_MEMBER_UNSIGNED,                                               \
            float: NDB_MEMBER_REAL,                                                                \
            double: NDB_MEMBER_REAL,                                                               \
            long double: NDB_MEMBER_REAL,                                                          \
            _Bool: NDB_MEMBER_BOOL,                                                                \
            char: NDB_MEMBER_TEXT,                                                                 \
            char *: NDB_MEMBER_TEXT,                                                               \
            const char *: NDB_MEMBER_TEXT,                                                         \
            unsigned char *: NDB_MEMBER_BYTES,                                                     \
            const unsigned char *: NDB_MEMBER_BYTES,                                               \
            default: NDB_MEMBER_OTHER))
#else
#define NDB_MEMBER_KIND(member) NDB_MEMBER_UNKNOWN
#endif
