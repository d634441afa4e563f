//! WebAssembly guests. `(canny wasm)` is made of these.
//!
//! `store` is the record of a store of `(canny wasm)`, whose first field is the host object and whose
//! second and third ones are the vectors of objects that guests refer to and of tags. The fourth one has
//! weak pairs with objects of guests, and the fifth one the type of their records. Functions,
//! memories, tables, global variables, tags and instances are numbers in a store. A call that is left
//! before it returns gives the host object of its store; `%wasm-event` says why.

use super::rows;

rows! {
    /// WebAssembly guests.
    ROWS slow System:
    "%wasm-module" (2) [] "bytevector any -> external"
        "The module with these bytes, which is validated, and the path of its file or #f.";
    "%wasm-module-imports" (1) [] "external -> list"
        "Vectors of module, name, kind of item and type, in order.";
    "%wasm-module-exports" (1) [] "external -> list" "Vectors of name, kind of item and type, in order.";
    "%wasm-module-section" (2) [] "external string -> any" "The bytes of a custom section, or #f.";
    "%wasm-store" (3) [] "any any index -> external"
        "A store: limit of fuel and of bytes of memories and tables, or #f, and bytes of frames.";
    "%wasm-release!" (1) [] "record -> unspecified" "Frees a store at once.";
    "%wasm-import-function" (4) [] "record external index index -> index"
        "A function that the program does, of the type of an import: module, index, the program's number.";
    "%wasm-make-function" (4) [] "record list list index -> index"
        "The same of a type that is given by the types of parameters and results.";
    "%wasm-instantiate" (3) [] "record external vector -> pair"
        "An instance, by its number, and the function that starts it or #f: numbers of imports, or #f.";
    "%wasm-exports" (2) [] "record index -> list" "Vectors of name, kind of item, number and type.";
    "%wasm-function-type" (2) [] "record index -> pair" "The lists of types of parameters and results.";
    "%wasm-function-name" (2) [] "record index -> any" "The name that a module gives a function, or #f.";
    "%wasm-call" (2 ..) [] "record index any ... -> any" "Calls a function.";
    "%wasm-event" (1) [] "record -> any"
        "A vector of the number of the call that was left just now, and number and arguments of the \
         procedure to be called. #f if another task uses the store.";
    "%wasm-resume" (3) [] "record index any -> any"
        "Goes on with a call: results of the called function as one object.";
    "%wasm-raise" (4) [] "record index index list -> any"
        "The same with an exception of a tag and values in place of results.";
    "%wasm-outside?" (2) [] "record index -> boolean"
        "Whether a call waits for the procedure that it has called, and is the newest of its store.";
    "%wasm-runner" (1) [] "record -> any"
        "The task whose call of the store is in progress: the symbol own or other, or #f.";
    "%wasm-abandon!" (2) [] "record index -> unspecified" "Ends a call and those that it has led to.";
    "%wasm-fuel" (1) [] "record -> any" "The fuel that is left, or #f.";
    "%wasm-set-fuel!" (2) [] "record any -> unspecified" "Sets the fuel, or #f.";
    "%wasm-memory" (5) [] "record index any boolean boolean -> index"
        "A memory: pages, greatest number or #f, whether addresses have 64 bits, whether it is shared.";
    "%wasm-memory-shared?" (2) [] "record index -> boolean" "Whether stores may share a memory.";
    "%wasm-share-memory" (3) [] "record index record -> index"
        "The number of a shared memory in another store, which gets it if need be.";
    "%wasm-memory-notify" (4) [] "record index index any -> index"
        "Wakes calls that wait for an address, so many at most or all for #f; how many.";
    "%wasm-memory-pages" (2) [] "record index -> index" "The number of pages of a memory.";
    "%wasm-memory-grow!" (3) [] "record index index -> any" "Adds pages; how many there were, or #f.";
    "%wasm-memory-ref" (4) [] "record index index guest-number -> any" "A number in a memory.";
    "%wasm-memory-set!" (5) [] "record index index guest-number any -> unspecified" "Changes it.";
    "%wasm-memory-bytes" (4) [] "record index index index -> bytevector" "A copy: from where, how many.";
    "%wasm-memory-copy!" (6) [] "record index index bytevector index index -> unspecified"
        "Copies a part of a bytevector to an address.";
    "%wasm-memory-copy-out!" (6) [] "record index index bytevector index index -> unspecified"
        "Copies bytes from an address into a part of a bytevector.";
    "%wasm-memory-string" (4) [] "record index index index -> string"
        "The text in UTF-8: from where, how many bytes.";
    "%wasm-memory-string-set!" (4) [] "record index index string -> index"
        "Writes a text in UTF-8; the number of bytes.";
    "%wasm-memory-find" (4) [] "record index index byte -> any"
        "The first address from one on at which a byte is, or #f.";
    "%wasm-tag" (2) [] "record list -> index" "A tag of exceptions with values of these types.";
    "%wasm-tag-types" (2) [] "record index -> list" "The types of a tag's values.";
    "%wasm-tag-count" (1) [] "record -> index" "The number of tags.";
    "%wasm-table" (4) [] "record symbol index any -> index"
        "A table: type of elements, how many, how many at most or #f.";
    "%wasm-table-type" (2) [] "record index -> symbol" "The type of a table's elements.";
    "%wasm-table-size" (2) [] "record index -> index" "The number of elements of a table.";
    "%wasm-table-ref" (3) [] "record index index -> any" "An element; a function is a number.";
    "%wasm-table-set!" (4) [] "record index index any -> unspecified" "Changes an element.";
    "%wasm-table-grow!" (4) [] "record index index any -> any"
        "Adds elements; how many there were, or #f.";
    "%wasm-field-count" (2) [] "record record -> index"
        "The number of fields or elements of an object of a guest.";
    "%wasm-field-type" (3) [] "record record index -> symbol" "The type of a field or element.";
    "%wasm-field" (3) [] "record record index -> any" "A field or element; a function is a number.";
    "%wasm-set-field!" (4) [] "record record index any -> unspecified" "Changes it.";
    "%wasm-global" (4) [] "record symbol boolean any -> index"
        "A global variable: type, whether it can be assigned, value.";
    "%wasm-global-type" (2) [] "record index -> pair" "Type and whether it can be assigned.";
    "%wasm-global-value" (2) [] "record index -> any" "The value of a global variable.";
    "%wasm-set-global-value!" (3) [] "record index any -> unspecified" "Changes it.";
    "%component" (1) [] "bytevector -> external"
        "The component with these bytes, a binary or a text in UTF-8, which is validated.";
    "%component-bytes?" (1) [] "bytevector -> boolean"
        "Whether bytes are those of a component rather than of a module.";
    "%component-imports" (1) [] "external -> list" "Vectors of interface, name and type.";
    "%component-exports" (1) [] "external -> list" "Vectors of interface, name and type.";
    "%component-instantiate" (5) [] "record external any list index -> external"
        "An instance in a store: component, WASI or #f, vectors of interface, name and whether it is a \
         type of resources for what the program gives, and the first number of its procedures.";
    "%component-functions" (1) [] "record -> list"
        "Vectors of name, names of parameters, type and whether it returns a result, in order.";
    "%component-sites" (1) [] "record -> list"
        "Vectors of interface, name and whether it returns a result, for numbers of procedures in order.";
    "%component-begin" (2 ..) [] "record index any ... -> any"
        "Begins a call; the number of the module's function, or #f if another task uses the store.";
    "%component-begin-request" (3) [] "record index external -> any"
        "The same of a handler's function, with a request of `%wasi-receive`, which is given once.";
    "%component-finish" (4) [] "record index index any -> any"
        "The result of a function, for the number and the result of the module's function.";
    "%component-lift" (3) [] "record index list -> list"
        "The arguments for a procedure with a number, which a guest has called with these.";
    "%component-lower" (4) [] "record index list any -> any"
        "The result for the guest, for the arguments that it has given and the procedure's result.";
    "%component-resource-type" (1) [] "any -> any" "The name of a resource's type; #f for anything else.";
    "%component-drop-resource!" (2) [] "record external -> boolean" "Ends a resource, if it is owned.";
    "%wasi" (9) [] "list list list any any any boolean boolean list -> external"
        "WASI: arguments, environment, directories as vectors of path, name and whether they are read only, \
         streams, whether there is a network, whether the program makes requests of HTTP for guests, and \
         listening sockets. \
         A stream is #t for the process's, #f for none, a port, bytes or the symbol `memory`.";
    "%wasi-function" (3) [] "record external string -> any" "The function of that name, or #f.";
    "%wasi-bind!" (3) [] "record external index -> unspecified" "Has WASI use an instance's memory.";
    "%wasi-finish" (1) [] "external -> boolean"
        "Sends what components have written; whether nothing is left.";
    "%wasi-output" (1) [] "external -> bytevector" "Takes the output that is in memory.";
    "%wasi-error-output" (1) [] "external -> bytevector" "Takes the error output that is in memory.";
    "%wasi-release!" (1) [] "external -> unspecified"
        "Closes what components have, whose stores were freed.";
    "%wasi-receive" (6) [] "external string any any any list -> external"
        "A request of HTTP for a component: method, scheme, authority and path or #f, fields. A field is a \
         pair of a symbol and a string.";
    "%guest-response" (1) [] "external -> any"
        "Waits for the response to such a request: a vector of status, fields and body, or the name of an \
         error's code. #f the second time.";
    "%guest-exchange-close!" (1) [] "external -> unspecified"
        "Ends the wait for the response and its body, which the guest has not ended.";
    "%guest-request-body" (1) [] "external -> any"
        "The body of such a request, to be written; #f the second time.";
    "%wasi-requests?" (1) [] "external -> boolean" "Whether components may make requests of HTTP.";
    "%wasi-next-request" (1) [] "external -> any"
        "Waits for a request that a component makes: a vector of the request, method, scheme, authority, \
         path, fields, body, and limits of the times for the connection, the first byte and between bytes \
         in nanoseconds or #f. #f when the component has ended.";
    "%guest-request-answer!" (3) [] "external index list -> any"
        "Answers such a request with status and fields; the body to be written, or #f the second time.";
    "%guest-request-fail!" (3) [] "external string string -> unspecified"
        "Has it fail with the code of that name, or the text if there is none.";
    "%guest-request-abandoned?" (1) [] "external -> boolean" "Whether the component waits for it no more.";
    "%guest-body-output" (1) [] "external -> port" "A binary port that writes a body for a component.";
    "%guest-body-end!" (3) [] "external any list -> unspecified"
        "Ends such a body: with the name of an error's code, or #f and trailers.";
    "%guest-body-input" (1) [] "external -> port" "A binary port that reads a body of a component.";
    "%guest-body-whole" (1) [] "external -> any"
        "Takes a body that has ended, with nothing read before: a pair of bytes and trailers, or #f.";
    "%guest-body-await" (1) [] "external -> boolean" "Waits for the end of a body to come.";
    "%guest-body-trailers" (1) [] "external -> any"
        "Waits for the end of a body that was read: its trailers, or the name of an error's code.";
    "%guest-body-close!" (1) [] "external -> unspecified" "Reads no more of it.";
}
