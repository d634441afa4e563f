//! Records whose first fields the machine knows, and vectors of options.
//!
//! Fields are counted in words. Word 0 of a record is its type, so that fields begin with 1; vectors
//! begin with 0. The build of the standard library checks that each record type begins with the fields
//! of its row.

use super::{RecordLayout, VectorLayout};

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

/// Makes a module of indexes for each vector. [`VECTORS`] has the rows.
macro_rules! vectors {
    ($($(#[doc = $doc:literal])+ $module:ident $name:literal {
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

        /// Every vector.
        pub static VECTORS: &[VectorLayout] = &[$(VectorLayout {
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
        /// A pair if what it computes is to end.
        INTERRUPTIONS "interruptions",
        /// The future of its result.
        FUTURE "future",
        /// A number that no other task has.
        NUMBER "number",
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
}

vectors! {
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
}
