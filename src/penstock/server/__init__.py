"""SOCKETS. The only asynchronous room: HTTP/1.1, listeners, limits, TLS, 500 and 503."""
