/* mgm_connectstring.c -- reads "[nodeid=N,][bind-address=H,]host[:port][,host[:port]...]". */
/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/mgm_handle.h"

#define MGM_CONNECTSTRING_WHY 200 /* Any reason that the parser gives. */

static int parse_port(const char *text, const char *rest, uint16_t *port, char *why, size_t size)
{
    int64_t number;

    if (rest[0] == '\0') return 0;
    if (rest[0] != ':' || mgm_parse_number(rest + 1, &number) != 0 || number < 1 ||
        number > 65535) {
        (void)snprintf(why, size, "\"%.64s\": port \"%.32s\" is wrong (allowed range 1..65535)",
                       text, rest[0] == ':' ? rest + 1 : rest);
        return -1;
    }
    *port = (uint16_t)number;
    return 0;
}

/* An IPv6 address, perhaps with the name of an interface: "fe80::1%eth0". */
static bool is_ipv6(const char *host)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr unused;
    size_t length = strcspn(host, "%");

    if (length >= sizeof(address)) return false;
    memcpy(address, host, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, &unused) == 1;
}

/* The host's characters; with a colon among them it can only be an IPv6 address. */
static int check_host(const char *text, const char *host, char *why, size_t size)
{
    for (const char *c = host; *c != '\0'; c++) {
        if (isalnum((unsigned char)*c) || strchr(".-_:%", *c) != NULL) continue;
        (void)snprintf(why, size, "\"%.64s\" is no host name", host);
        return -1;
    }
    if (strchr(host, ':') == NULL || is_ipv6(host)) return 0;
    (void)snprintf(why, size, "\"%.64s\" is neither host[:port] nor an IPv6 address", text);
    return -1;
}

/* host, host:port, [address], [address]:port, or an IPv6 address alone. */
static int parse_address(const char *text, char *host, size_t host_size, uint16_t *port, char *why,
                         size_t size)
{
    const char *start = text;
    const char *rest;
    size_t length;

    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (close == NULL) {
            (void)snprintf(why, size, "\"%.64s\" has no closing bracket", text);
            return -1;
        }
        start++;
        length = (size_t)(close - start);
        rest = close + 1;
    } else {
        const char *colon = strchr(text, ':');
        if (colon != NULL && strchr(colon + 1, ':') != NULL) colon = NULL;
        length = colon == NULL ? strlen(text) : (size_t)(colon - text);
        rest = text + length;
    }
    if (length == 0 || length >= host_size) {
        (void)snprintf(why, size,
                       "\"%.64s\": the host name is missing or too long (allowed range 1..%zu "
                       "characters)",
                       text, host_size - 1);
        return -1;
    }
    memcpy(host, start, length);
    host[length] = '\0';
    if (check_host(text, host, why, size) != 0) return -1;
    return parse_port(text, rest, port, why, size);
}

static int parse_part(const char *part, struct mgm_connectstring *out, char *why, size_t size)
{
    int64_t number;

    if (strncasecmp(part, "nodeid=", 7) == 0) {
        if (mgm_parse_number(part + 7, &number) == 0 && number >= 1 &&
            number <= NDB_MGM_NODES_MAX) {
            out->node_id = (uint32_t)number;
            return 0;
        }
        (void)snprintf(why, size, "nodeid=%.32s is wrong (allowed range 1..255)", part + 7);
        return -1;
    }
    if (strncasecmp(part, "bind-address=", 13) == 0) {
        return parse_address(part + 13, out->bind_host, sizeof(out->bind_host), &out->bind_port,
                             why, size);
    }
    if (strncasecmp(part, "host=", 5) == 0) part += 5;
    if (strchr(part, '=') != NULL) {
        (void)snprintf(why, size, "\"%.64s\" is unknown (allowed: nodeid=, bind-address=, host)",
                       part);
        return -1;
    }
    if (out->count == MGM_ADDRESSES_MAX) {
        (void)snprintf(why, size, "more than %u hosts", MGM_ADDRESSES_MAX);
        return -1;
    }
    struct mgm_address *address = &out->addresses[out->count];
    address->port = NDB_MGM_DEFAULT_PORT;
    if (parse_address(part, address->host, sizeof(address->host), &address->port, why, size) != 0)
        return -1;
    out->count++;
    return 0;
}

int mgm_connectstring_parse(const char *text, struct mgm_connectstring *out, char *why,
                            size_t why_size)
{
    *out = (struct mgm_connectstring){.count = 0};
    if (text == NULL || text[0] == '\0') text = getenv("NDB_CONNECTSTRING");
    if (text == NULL) text = "";
    for (;;) {
        char part[300];
        text += strspn(text, ",; \t");
        size_t length = strcspn(text, ",; \t");
        if (length == 0) break;
        if (length >= sizeof(part)) {
            (void)snprintf(why, why_size, "a part is too long (allowed range 1..299 characters)");
            return -1;
        }
        memcpy(part, text, length);
        part[length] = '\0';
        text += length;
        if (parse_part(part, out, why, why_size) != 0) return -1;
    }
    if (out->count == 0) {
        (void)snprintf(out->addresses[0].host, sizeof(out->addresses[0].host), "localhost");
        out->addresses[0].port = NDB_MGM_DEFAULT_PORT;
        out->count = 1;
    }
    return 0;
}

int ndb_mgm_check_connectstring(const char *connectstring, const char *option, char *why,
                                size_t why_size)
{
    bool given = connectstring != NULL && connectstring[0] != '\0';
    struct mgm_connectstring unused;
    char wrong[MGM_CONNECTSTRING_WHY];

    if (mgm_connectstring_parse(connectstring, &unused, wrong, sizeof(wrong)) == 0) return 0;
    if (option == NULL) option = "the text";
    if (why != NULL && why_size > 0)
        (void)snprintf(why, why_size, "%s: Illegal connect string: %s",
                       given ? option : "NDB_CONNECTSTRING", wrong);
    return -1;
}
