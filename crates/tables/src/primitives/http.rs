//! HTTP: a server's connections, requests and responses. `(canny web server)` is made of these.
//!
//! A request is a record whose first fields are those of the row
//! [`request`](crate::protocols::request); further fields are the library's.

use super::rows;

rows! {
    /// HTTP.
    ROWS slow Administration:
    "%http-server" (1) [] "vector -> any" "A server with a vector of `server-option`.";
    "%http-listen!" (3) [] "any any any -> unspecified"
        "Accepts connections from a socket that listens, over TLS with a context or not for #f.";
    "%http-next!" (3) [] "any any any -> any"
        "The next request, a record of a type, as soon as there is one, which is put in the first field of a \
         record of whoever will answer it; #t if somebody else looks for requests and this task had better \
         stand by, #f when the server has stopped.";
    "%http-field" (2) [] "bytevector symbol -> any"
        "The value of a field of a head, #f if there is none; several are joined.";
    "%http-fields" (1) [] "bytevector -> list" "All fields: names, which are symbols, and values.";
    "%http-target" (1) [] "bytevector -> string" "The target of a request.";
    "%http-respond!" (4) [] "any index any any -> any"
        "Sends a response with a status, fields and a body (a string, a bytevector or #f): #t, or #f if \
         nobody waits for it any more, or the field that it cannot write.";
    "%http-respond-in-parts!" (5) [] "any index any any boolean -> any"
        "The same with a body of a length, or of #f, that is written to the port that this gives.";
    "%http-end-response!" (2) [] "any any -> any"
        "Completes such a response, with trailers or #f; whether that was possible, or the field that it \
         cannot write.";
    "%http-trailers" (1) [] "any -> list" "The trailers of a request whose body was read to its end.";
    "%http-body" (1) [] "any -> port" "The port from which a request's body is read.";
    "%http-detach!" (1) [] "any -> any"
        "The two ports of a request's connection, which is no more the server's; #f if it has ended.";
    "%http-abort!" (1) [] "any -> unspecified" "Ends the connection of a request.";
    "%http-gone?" (1) [] "any -> boolean" "Whether the client of a request has gone, or the request is over.";
    "%http-fault" (1) [] "any -> any" "The status to answer with because of the body, or #f.";
    "%http-begun?" (1) [] "any -> boolean" "Whether a response was begun, or is of no use any more.";
    "%http-peer" (1) [] "any -> any" "The address of who made a request, or #f.";
    "%http-client" (1) [] "any -> any"
        "The address, without a port, of the client for whom trusted proxies ask, or who made a request; #f \
         if it is not known.";
    "%http-proxy?" (1) [] "any -> boolean"
        "Whether something stands for proxies: an address, a network or \"unix\".";
    "%http-sweep!" (1) [] "any -> index" "Ends what has taken too long; how many connections there are.";
    "%http-deserted?" (1) [] "any -> boolean"
        "Whether something waits and nobody has looked for requests since this was asked last.";
    "%http-stop!" (2) [] "any boolean -> unspecified"
        "Stops accepting; connections end when they are answered, or at once.";
    "%http-wake!" (1) [] "any -> unspecified" "Has those who look for requests look again.";
    "%http-statistics" (1) [] "any -> list" "Numbers about a server.";
    "%http-stopping?" (1) [] "any -> boolean" "Whether a server was asked to stop.";
    "%http-take-log!" (1) [] "any -> any"
        "The lines of a server's log that nobody took yet, a bytevector, as soon as there are some; #f when \
         there will be no more.";
    "%http-close-log!" (1) [] "any -> unspecified" "Nothing is logged any more.";
    "%http-log-dropped!" (1) [] "any -> integer"
        "The number of lines dropped since the last call because the queue was full.";
    "%http-trouble!" (1) [] "any -> any"
        "The reason why a server could not accept connections, a string, once; else #f.";
    "%http-measured" (1) [] "any -> any"
        "Numbers about requests, a list of `measured`, or #f if they are not measured.";
    "%http-read-response" (4) [] "bytevector index index string -> any"
        "The head of a response at the start of some bytes, to a request with a method: a list of \
         `response-head`, or #f if it is not whole.";
    "%websocket-accept" (2) [] "string boolean -> any"
        "The server's answer to the extensions that a client offers, a string before a vector of \
         `websocket-agreement`, or #f: whether contexts of compression are kept.";
    "%websocket-offer" (1) [] "boolean -> string" "The extension that a client offers.";
    "%websocket-agreed" (2) [] "string boolean -> any"
        "The agreement in a server's answer to that, a vector of `websocket-agreement`, or #f.";
    "%websocket-codec" (3) [] "boolean index any -> external"
        "The reader and writer of a WebSocket's frames: whether as a client, greatest bytes of a message, \
         a vector of `websocket-agreement` or #f.";
    "%websocket-next!" (2) [] "external port -> any"
        "The next event: a message, a string or a bytevector; a pair of a `websocket-event` and bytes for \
         a ping, `(code . reason)` for what has to end the connection or for a close frame, or #f for one \
         without a code; #t for a pong; its end.";
    "%websocket-frame" (3) [] "external frame any -> bytevector"
        "The frame of a kind with a string or bytevector, masked if it is a client's.";
    "%websocket-release!" (1) [] "external -> unspecified"
        "Lets go of what is kept for a WebSocket that has ended.";
    "%http-reason" (1) [] "index -> string" "The usual reason phrase of a status.";
    "%http-date" (1) [] "integer -> string" "The date of so many seconds since 1970.";
}
