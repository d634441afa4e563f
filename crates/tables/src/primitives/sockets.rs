//! Sockets. `(canny net)` and `(srfi 106)` are made of these.
//!
//! An address is a string: `127.0.0.1:80`, `[::1]:80`, `unix:/run/name`, `unix:@name` for a name that
//! no file has, `unix:` for none. A timeout is a number of seconds, or #f for none.

use super::rows;

rows! {
    /// Sockets.
    ROWS slow System:
    "%socket?" (1) [PURE NEVER_RAISES] "any -> boolean" "Whether the object is a socket.";
    "%address?" (1) [PURE NEVER_RAISES] "any -> boolean" "Whether the object is the address of a socket.";
    "%resolve-host" (4) [] "string index family any -> list" "The addresses of a host with a port.";
    "%socket-connect" (3) [] "list any any -> any"
        "A connection to the first of some addresses that takes one, from a local address or #f.";
    "%socket-listen" (5) [] "string index any any any -> any"
        "A socket that listens at an address; backlog; whether the address may be used again, may be shared, \
         is of IPv6 only.";
    "%inherited-listener" (1) [] "any -> any"
        "The socket at a place among those that the program was started with, which listens and which nobody \
         has taken before; or the standard input for #f.";
    "%socket-copy" (1) [] "any -> any" "Another object over the same socket, to be closed by itself.";
    "%socket-stream" (1) [] "any -> port" "A port over the same socket, for a process to be started with.";
    "%send-notice" (2) [] "string bytevector -> boolean"
        "Sends a notice to a socket of this machine, by its name; whether that was possible.";
    "%socket-accept" (2) [] "any any -> any" "The next connection.";
    "%socket-ports" (1) [] "any -> pair"
        "The binary input port and the binary output port of a connection, which take it over.";
    "%socket-shut-down" (2) [] "any shutdown -> unspecified" "Ends input, output or both.";
    "%datagram-socket" (2) [] "any family -> any"
        "A socket for datagrams at an address, or at any for #f with a family.";
    "%datagrams-connect" (2) [] "any string -> unspecified" "Fixes where datagrams go to and come from.";
    "%socket-send" (6) [] "any bytevector index index any any -> index"
        "Sends a datagram, to an address or, for #f, to where the socket is connected.";
    "%socket-receive" (3) [] "any index any -> list"
        "The next datagram, with at most so many of its bytes: a list of `datagram`.";
    "%socket-address" (1) [] "any -> any" "The address of the socket.";
    "%socket-peer-address" (1) [] "any -> any" "The address of the other side, or #f.";
    "%socket-option" (2) [] "any symbol -> any" "The value of an option.";
    "%set-socket-option!" (3) [] "any symbol any -> unspecified" "Sets an option.";
    "%set-socket-membership!" (3) [] "any string any -> unspecified"
        "Joins a group of receivers, or leaves it.";
    "%tls-client-context" (4) [] "any any any list -> any"
        "The settings of clients of TLS: whom to trust (#t those of the system, #f anybody, a file), \
         files of a certificate and a key, protocols.";
    "%tls-server-context" (4) [] "string string any list -> any"
        "The settings of servers of TLS: files of a certificate and a key, a file of who vouches for \
         clients, protocols.";
    "%socket-release" (3) [] "any port port -> unspecified"
        "Takes an open connection from its ports, which must have nothing unread.";
    "%socket-secure" (4) [] "any any any any -> list"
        "Makes a connection one over TLS, for a client with the name of the server: a list of `secured`.";
    "%close-socket" (1) [] "any -> unspecified"
        "Closes the socket; the ports of a connection are closed by themselves.";
    "%socket-open?" (1) [] "any -> boolean" "Whether the socket, or one of its ports, is open.";
}
