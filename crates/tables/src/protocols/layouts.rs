//! Records whose first fields the machine knows, vectors of options, and lists that primitives give.
//!
//! Fields are counted in words. Word 0 of a record is its type, so that fields begin with 1; vectors
//! and lists begin with 0. The build of the standard library checks that each record type begins with
//! the fields of its row.

use super::{PositionLayout, RecordLayout};

/// Makes a module of constants for each record type: words of the record, which begins with its
/// type. [`RECORDS`] has the rows.
macro_rules! records {
    ($($(#[doc = $doc:literal])+ $module:ident $name:literal of ($($word:literal)+) {
        $($(#[doc = $field_doc:literal])* $constant:ident $field:literal,)+
    })+) => {
        $(
            $(#[doc = $doc])+
            pub mod $module {
                #[allow(
                    clippy::upper_case_acronyms,
                    non_camel_case_types,
                    reason = "named as the constants"
                )]
                enum Position { $($constant,)+ }
                $($(#[doc = $field_doc])* pub const $constant: usize = 1 + Position::$constant as usize;)+
                /// Words at least.
                pub const WORDS: usize = 1 + [$($field),+].len();
            }
        )+

        /// Every record type.
        pub static RECORDS: &[RecordLayout] = &[$(RecordLayout {
            library: &[$($word),+],
            name: $name,
            fields: &[$($field),+],
        },)+];
    };
}

/// Makes a module of indexes for each vector or list. The static has the rows.
macro_rules! positions {
    ($rows:ident: $($(#[doc = $doc:literal])+ $module:ident $name:literal {
        $($(#[doc = $field_doc:literal])* $constant:ident $field:literal,)+
    })+) => {
        $(
            $(#[doc = $doc])+
            pub mod $module {
                #[allow(
                    clippy::upper_case_acronyms,
                    non_camel_case_types,
                    reason = "named as the constants"
                )]
                enum Position { $($constant,)+ }
                $($(#[doc = $field_doc])* pub const $constant: usize = Position::$constant as usize;)+
                /// Elements.
                pub const COUNT: usize = [$($field),+].len();
            }
        )+

        /// Every row.
        pub static $rows: &[PositionLayout] = &[$(PositionLayout {
            name: $name,
            fields: &[$($field),+],
        },)+];
    };
}

records! {
    /// Words of a waiter, which stands for one wait of a task.
    waiter "waiter" of ("canny" "tasks") {
        /// `#f`, then `#t` once something has claimed it to wake the task.
        STATE "%state",
        /// The task that waits.
        TASK "task",
        /// The result of the wait.
        VALUE "value",
    }

    /// Words of a task.
    task "task" of ("canny" "tasks") {
        /// `#t` while it is locked.
        LOCK "%lock",
        /// While it waits: its continuation, or at first the procedure that it is to call; else `#f`.
        CONTINUATION "continuation",
        /// Parameters to begin with.
        PARAMETERS "parameters",
        /// Where it waits for a worker: `#f` for any, a fixnum for the worker with that number, `#t`
        /// for that of timers.
        LANE "lane",
        /// The number of the account of what it allocates.
        ACCOUNT "account",
        /// The waiter of its wait, or `#f`.
        WAITER "waiter",
        /// `forced` if it is to end wherever it is.
        CANCELLED "cancelled",
        /// A pair if its computation is to end.
        INTERRUPTIONS "interruptions",
        /// The future of its result.
        FUTURE "future",
        /// A number that no other task has.
        NUMBER "number",
        /// `#f`, or a symbol or string.
        NAME "name",
        /// The thing that it waits for: a symbol, or an object whose type says it.
        WAITS_FOR "waits-for",
    }

    /// Words of a request of a web server.
    request "request" of ("canny" "web" "message") {
        /// The server.
        SERVER "server",
        /// The number of its connection.
        ID "id",
        /// The number of the request on the connection.
        SERIAL "serial",
        /// A symbol.
        METHOD "method",
        /// A sum of [`RequestFlag`](super::RequestFlag)s.
        FLAGS "flags",
        /// A bytevector, for `%http-field`.
        HEAD "head",
        /// Bytes of the body, or a [`BodyLength`](super::BodyLength).
        BODY "length",
    }

    /// Words of the record that says what a serving task is doing.
    present "present" of ("canny" "web" "server") {
        /// The request, or `#f`.
        REQUEST "request",
        /// The number of the step that began with it; `#f` while there is none.
        STEP "step",
    }

    /// Words of the record of information on a file, whose numbers `%file-info` lists.
    file_info "file-info-record" of ("canny" "machine" "posix") {
        DEVICE "device",
        INODE "inode",
        /// The kind and the permissions.
        MODE "mode",
        LINKS "nlinks",
        USER "uid",
        GROUP "gid",
        /// The device that the file is.
        SPECIAL_DEVICE "rdev",
        SIZE "size",
        BLOCK_SIZE "blksize",
        BLOCKS "blocks",
        /// Nanoseconds since 1970, like the two that follow.
        ACCESSED "accessed",
        MODIFIED "modified",
        /// When the status changed.
        CHANGED "changed",
    }
}

positions! {
    VECTORS:

    /// Options of a web server, for `%http-server`.
    server_option "server-option" {
        HEAD_BYTES_MAX "max-header-bytes",
        FIELDS_MAX "max-headers",
        TARGET_BYTES_MAX "max-target-bytes",
        /// `#f` for no limit.
        BODY_BYTES_MAX "max-body-bytes",
        CONNECTIONS_MAX "max-connections",
        /// `#f` for no limit.
        CONNECTIONS_PER_CLIENT_MAX "max-connections-per-client",
        /// Seconds, like the two that follow.
        IDLE_TIMEOUT "idle-timeout",
        HEAD_TIMEOUT "header-timeout",
        BODY_TIMEOUT "body-timeout",
        /// A [`LogFormat`](super::LogFormat), or `#f`.
        LOG_FORMAT "log-format",
        /// Whether requests are measured.
        MEASURES "metrics",
        STREAMS_MAX "max-streams",
        /// A list of what `%http-proxy?` takes.
        TRUSTED_PROXIES "trusted-proxies",
        /// A [`ProxyField`](super::ProxyField).
        PROXY_FIELD "proxy-field",
        UNSENT_BYTES_MAX "max-unsent-bytes",
        UNSENT_BYTES_PER_CONNECTION_MAX "max-unsent-bytes-per-connection",
    }

    /// A row of what tasks wait for, for `%set-kinds-of-waits!`.
    wait_row "wait-row" {
        /// A record type, or a symbol that is waited for itself.
        KEY "key",
        /// A symbol: the kind of the wait in profiles.
        KIND "kind",
        /// The words for it in messages.
        WORDS "words",
        /// The index of the field with the name of the object, `#f` if there is none.
        NAME "name",
        /// The same for the field with the task that has the object.
        OWNER "owner",
    }

    /// The result of `%heap-snapshot`.
    snapshot_report "snapshot-report" {
        /// Objects and their bytes.
        OBJECTS "objects",
        BYTES "bytes",
        /// Bytes by which the file grew.
        WRITTEN "written",
        /// Microseconds for which the program stood still, and until all was written.
        STOPPED "stopped",
        TAKEN "taken",
        /// Whether the process wrote it itself.
        IN_PLACE "in-place",
    }

    /// The result of `%end-heap-watch`: numbers of snapshots.
    heap_watch_report "heap-watch-report" {
        WRITTEN "written",
        FAILED "failed",
        /// Another one was being written.
        LEFT_OUT "left-out",
    }

    /// The objects of a type, in the answer of `%heap-summary`.
    type_sum "type-sum" {
        /// The sort of objects: a symbol.
        FAMILY "family",
        /// The record type or procedure: a string or `#f`.
        NAME "name",
        /// Where a procedure stands: a string and a line, or `#f`.
        FILE "file",
        LINE "line",
        /// Whether it belongs to the standard library.
        LIBRARY "library",
        OBJECTS "objects",
        BYTES "bytes",
    }

    /// Settings of a new process, for `%spawn`.
    spawn_setting "spawn-setting" {
        PROGRAM "program",
        ARGUMENTS "arguments",
        /// A list of pairs of names and values, or `#f` for the variables of this process.
        ENVIRONMENT "environment",
        /// A name, or `#f`.
        DIRECTORY "directory",
        /// A port, or a [`Stream`](super::Stream), like the two that follow.
        INPUT "input",
        OUTPUT "output",
        ERROR "error",
        /// `#f` for this process's group, `#t` for a new one, or the number of one.
        GROUP "group",
        /// `#f`, or a pair of rows and columns.
        TERMINAL "terminal",
    }

    /// A dialect of CSV, for `%csv-read` and `%csv-write`. Characters are of ASCII.
    csv_dialect "csv-dialect" {
        DELIMITER "delimiter",
        /// `#f` for none, like the two that follow.
        QUOTE "quote",
        ESCAPE "escape",
        COMMENT "comment",
        /// Whether blanks around fields are no part of them.
        TRIMS "trims",
        /// Whether empty rows are passed over.
        SKIPS_EMPTY "skips-empty",
        /// Whether lines end with CR LF and not with LF.
        ENDS_WITH_RETURN "ends-with-return",
    }

    /// Compression settings that both sides of a WebSocket agreed on, as one of them sees them.
    websocket_agreement "websocket-agreement" {
        /// The logarithm of the window's bytes.
        READ_BITS "read-bits",
        /// Whether the window is kept from message to message.
        READ_KEEPS_CONTEXT "read-keeps-context",
        WRITTEN_BITS "written-bits",
        WRITTEN_KEEPS_CONTEXT "written-keeps-context",
    }
}

positions! {
    LISTS:

    /// Result of `%system-names`: strings.
    system_name "system-name" {
        OPERATING_SYSTEM "operating-system",
        /// The machine's name in the network.
        NODE "node",
        RELEASE "release",
        VERSION "version",
        HARDWARE "hardware",
    }

    /// Result of `%user-ids`: numbers.
    user_id "user-id" {
        USER "user",
        GROUP "group",
        EFFECTIVE_USER "effective-user",
        EFFECTIVE_GROUP "effective-group",
    }

    /// Result of `%spawn`.
    spawned "spawned" {
        PROCESS "process",
        /// A port or `#f`, like the two that follow.
        INPUT "input",
        OUTPUT "output",
        ERROR "error",
    }

    /// Result of `%name-information`.
    name_information "name-information" {
        /// A symbol.
        KIND "kind",
        /// A string or `#f`, like the two that follow.
        LIBRARY "library",
        SIGNATURE "signature",
        DESCRIPTION "description",
    }

    /// The parameters of one clause of a procedure, of which `%procedure-parameters` gives a list.
    parameter_list "parameter-list" {
        /// A list of symbols, like the two that follow.
        REQUIRED "required",
        OPTIONAL "optional",
        KEYWORDS "keywords",
        /// A symbol or `#f`.
        REST "rest",
    }

    /// Where a definition is, as `%definition-position` gives it.
    definition_position "definition-position" {
        FILE "file",
        LINE "line",
        /// Counted from 1.
        COLUMN "column",
    }

    /// Result of `%socket-receive`.
    datagram "datagram" {
        /// A bytevector.
        BYTES "bytes",
        /// An address or `#f`.
        SENDER "sender",
        /// Whether the datagram had more bytes.
        IS_CUT "cut",
    }

    /// Result of `%socket-secure`.
    secured "secured" {
        /// A pair of an input and an output port.
        PORTS "ports",
        /// A string.
        VERSION "version",
        /// A string or `#f`.
        PROTOCOL "protocol",
        /// A bytevector or `#f`.
        CERTIFICATE "certificate",
    }

    /// Result of `%http-read-response`.
    response_head "response-head" {
        /// Bytes of the head.
        LENGTH "length",
        STATUS "status",
        /// A string.
        REASON "reason",
        /// A sum of [`ResponseFlag`](super::ResponseFlag)s.
        FLAGS "flags",
        /// Bytes of the body, or a [`BodyLength`](super::BodyLength).
        BODY "body",
        /// An association list.
        FIELDS "fields",
    }

    /// Result of `%http-measured`.
    measured "measured" {
        /// A number of requests.
        IN_FLIGHT "in-flight",
        /// Lists of a method and of its numbers of requests by class of status.
        COUNTS "counts",
        /// Upper bounds of durations in microseconds.
        BOUNDS "bounds",
        /// Numbers of durations below each bound, and above all.
        DURATIONS "durations",
        /// The sum of the durations in nanoseconds.
        NANOSECONDS "nanoseconds",
    }
}
