/* mc_auth.c -- who may use the server: the file of users and passwords. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_server.h"

#define LINE_MAX_BYTES 512u

struct mc_user {
    char *name;
    char *password;
};

bool mc_auth_needed(const struct mc_server *server)
{
    return server->options.sasl || server->options.auth_file != NULL;
}

static int add_user(struct mc_server *server, char *line)
{
    char *colon = strchr(line, ':');
    struct mc_user *grown = realloc(server->users, (server->user_count + 1) * sizeof *grown);
    if (grown != NULL) server->users = grown;
    if (colon == NULL || grown == NULL) return -1;
    *colon = 0;
    struct mc_user user = {.name = strdup(line), .password = strdup(colon + 1)};
    grown[server->user_count++] = user;
    return user.name != NULL && user.password != NULL ? 0 : -1;
}

int mc_auth_load(struct mc_server *server)
{
    const char *path = server->options.auth_file;
    char line[LINE_MAX_BYTES];
    uint32_t number = 0;
    int result = 0;
    if (!mc_auth_needed(server)) return 0;
    if (path == NULL) {
        mc_log("-S needs -Y, the file with a line \"user:password\" for each user");
        return -1;
    }
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        mc_log("%s: %s", path, strerror(errno));
        return -1;
    }
    while (result == 0 && fgets(line, sizeof line, file) != NULL) {
        number++;
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] == 0) continue;
        result = add_user(server, line);
        if (result != 0) mc_log("%s:%u: not \"user:password\"", path, number);
    }
    fclose(file);
    if (result == 0 && server->user_count == 0) {
        mc_log("%s names no user", path);
        result = -1;
    }
    return result;
}

/* Takes as long for each wrong password of one length. */
static bool same(const char *is, const char *bytes, size_t size)
{
    return strlen(is) == size && CRYPTO_memcmp(is, bytes, size) == 0;
}

static bool known(const struct mc_server *server, const char *name, size_t name_size,
                  const char *password, size_t password_size)
{
    bool found = false;
    for (uint32_t i = 0; i < server->user_count; i++)
        found |= same(server->users[i].name, name, name_size) &&
                 same(server->users[i].password, password, password_size);
    return found;
}

/* authorization NUL user NUL password */
bool mc_auth_plain(const struct mc_server *server, const struct mc_value *value)
{
    if (value == NULL) return false;
    const char *end = value->bytes + value->size;
    const char *name = memchr(value->bytes, 0, value->size);
    if (name == NULL) return false;
    name++;
    const char *password = memchr(name, 0, (size_t)(end - name));
    if (password == NULL) return false;
    password++;
    return known(server, name, (size_t)(password - 1 - name), password, (size_t)(end - password));
}

bool mc_auth_text(const struct mc_server *server, const struct mc_value *value)
{
    if (value == NULL) return false;
    const char *end = value->bytes + value->size;
    const char *blank = memchr(value->bytes, ' ', value->size);
    if (blank == NULL) return false;
    return known(server, value->bytes, (size_t)(blank - value->bytes), blank + 1,
                 (size_t)(end - blank - 1));
}
