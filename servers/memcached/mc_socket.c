/* mc_socket.c -- bytes from and to a client, with TLS or without. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>
#include "servers/memcached/mc_server.h"

/* OpenSSL's answer as errno would say it. A handshake may want to write when we read. */
static ssize_t tls_result(struct mc_connection *connection, int result)
{
    switch (SSL_get_error(connection->tls, result)) {
    case SSL_ERROR_WANT_READ:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_WANT_WRITE:
        connection->tls_wants_write = true;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        ERR_clear_error();
        errno = ECONNRESET;
        return -1;
    }
}

ssize_t mc_socket_read(struct mc_connection *connection, char *bytes, uint32_t size)
{
    if (connection->tls == NULL) return recv(connection->fd, bytes, size, 0);
    connection->tls_wants_write = false;
    ERR_clear_error();
    int result = SSL_read(connection->tls, bytes, size > INT32_MAX ? INT32_MAX : (int)size);
    return result > 0 ? result : tls_result(connection, result);
}

ssize_t mc_socket_write(struct mc_connection *connection, const char *bytes, uint32_t size)
{
    if (connection->tls == NULL) return send(connection->fd, bytes, size, MSG_NOSIGNAL);
    connection->tls_wants_write = false;
    ERR_clear_error();
    int result = SSL_write(connection->tls, bytes, size > INT32_MAX ? INT32_MAX : (int)size);
    return result > 0 ? result : tls_result(connection, result);
}

int mc_tls_open(struct mc_server *server)
{
    const struct mc_options *options = &server->options;
    if (!options->tls) return 0;
    server->tls = SSL_CTX_new(TLS_server_method());
    if (server->tls == NULL || SSL_CTX_set_min_proto_version(server->tls, TLS1_2_VERSION) != 1) {
        mc_log("TLS cannot be used: %s", ERR_reason_error_string(ERR_get_error()));
        return -1;
    }
    /* Writes are tried again from a buffer that may have moved, and may be done in parts. */
    SSL_CTX_set_mode(server->tls,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_use_certificate_chain_file(server->tls, options->tls_chain) != 1) {
        mc_log("TLS: certificate chain %s: %s", options->tls_chain,
               ERR_reason_error_string(ERR_get_error()));
        return -1;
    }
    if (SSL_CTX_use_PrivateKey_file(server->tls, options->tls_key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(server->tls) != 1) {
        mc_log("TLS: key %s: %s", options->tls_key, ERR_reason_error_string(ERR_get_error()));
        return -1;
    }
    return 0;
}
