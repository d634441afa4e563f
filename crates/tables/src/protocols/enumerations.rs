//! Numbers that primitives take, and some that they give.
//!
//! One row for each enumeration makes the Rust type, whose cases primitives read, and the names of
//! `lib/canny/machine/protocols.sld`. A number stays what it is, or Scheme code that was compiled
//! before means something else by it.

use super::{Enumerated, Enumeration};

/// Makes a Rust enumeration of each row, and the list of all rows.
macro_rules! enumerations {
    ($($(#[doc = $doc:literal])+ $type:ident $name:literal {
        $($(#[doc = $case_doc:literal])* $case:ident $case_name:literal = $number:literal,)+
    })+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[repr(i64)]
            pub enum $type {
                $($(#[doc = $case_doc])* $case = $number,)+
            }

            impl $type {
                /// The number that stands for it in Scheme.
                pub const fn number(self) -> i64 {
                    self as i64
                }
            }

            impl Enumerated for $type {
                const ROW: Enumeration = Enumeration {
                    name: $name,
                    doc: concat!($($doc),+).trim_ascii_start(),
                    values: &[$(($case_name, $number),)+],
                };

                fn from_number(number: i64) -> Option<$type> {
                    match number {
                        $($number => Some($type::$case),)+
                        _ => None,
                    }
                }
            }
        )+

        /// Every enumeration.
        pub static ENUMERATIONS: &[Enumeration] = &[$($type::ROW,)+];
    };
}

/// Lets the cases of an enumeration be bits of one number.
macro_rules! flags {
    ($($type:ident)+) => {$(
        impl $type {
            /// Whether its bit is set.
            pub const fn is_in(self, bits: i64) -> bool {
                bits & self as i64 != 0
            }
        }
    )+};
}

flags! { OpenFlag FileAccess RequestFlag ResponseFlag }

/// Enumerations that are no arguments of primitives: they are in results, records and vectors.
pub const RESULTS: &[&str] = &[
    "ticket",
    "service",
    "exchange",
    "stream",
    "log-format",
    "proxy-field",
    "request-flag",
    "response-flag",
    "body-length",
    "websocket-event",
    "transformer-kind",
    "guest-item",
];

enumerations! {
    /// The result of a ticket.
    TicketOutcome "ticket" {
        /// Something is ready.
        Ready "ready" = 0,
        /// The time is over.
        TimedOut "timed-out" = 1,
        /// The wait was interrupted.
        Interrupted "interrupted" = 2,
    }

    /// The type of the elements of a numeric vector.
    ElementCode "element-type" {
        U8 "u8" = 0,
        S8 "s8" = 1,
        U16 "u16" = 2,
        S16 "s16" = 3,
        U32 "u32" = 4,
        S32 "s32" = 5,
        U64 "u64" = 6,
        S64 "s64" = 7,
        F32 "f32" = 8,
        F64 "f64" = 9,
        C64 "c64" = 10,
        C128 "c128" = 11,
    }

    /// A function of one flonum, of those that no primitive is named after.
    FlonumFunction "flonum-function" {
        /// `e` to the power, less one.
        ExpMinusOne "exp-1" = 0,
        /// Two to the power.
        ExpOfTwo "exp2" = 1,
        /// The logarithm of one and the flonum.
        LogOfOneAnd "log1+" = 2,
        LogToTwo "log2" = 3,
        LogToTen "log10" = 4,
        CubeRoot "cbrt" = 5,
        HyperbolicSine "sinh" = 6,
        HyperbolicCosine "cosh" = 7,
        HyperbolicTangent "tanh" = 8,
        InverseHyperbolicSine "asinh" = 9,
        InverseHyperbolicCosine "acosh" = 10,
        InverseHyperbolicTangent "atanh" = 11,
        Gamma "gamma" = 12,
        LogGamma "loggamma" = 13,
        Error "erf" = 14,
        ComplementOfError "erfc" = 15,
    }

    /// A function of two flonums, of those that no primitive is named after.
    FlonumOperation "flonum-operation" {
        /// The distance of a point from the origin.
        Hypotenuse "hypot" = 0,
        /// The first with the sign of the second.
        CopySign "copysign" = 1,
        /// The flonum beside the first in the direction of the second.
        Adjacent "adjacent" = 2,
        /// The first times two to the power of the second.
        Scale "scale" = 3,
        /// The remainder of the quotient rounded to the nearest integer.
        Remainder "remainder" = 4,
        /// The low bits of that quotient.
        QuotientBits "quotient-bits" = 5,
        /// The order comes first.
        FirstBessel "first-bessel" = 6,
        SecondBessel "second-bessel" = 7,
    }

    /// A clock.
    Clock "clock" {
        /// Since 1970 in UTC.
        Realtime "realtime" = 0,
        /// Since some point in the past; never set.
        Monotonic "monotonic" = 1,
        /// Processor time of the process.
        Process "process" = 2,
        /// Processor time of the thread.
        Thread "thread" = 3,
    }

    /// The key of a current port in the parameters register.
    PortKey "port-key" {
        Input "input" = 0,
        Output "output" = 1,
        Error "error" = 2,
    }

    /// The treatment of an existing file that is opened for output.
    OutputMode "output-mode" {
        Truncate "truncate" = 0,
        Append "append" = 1,
        Overwrite "overwrite" = 2,
        /// The file must not exist.
        CreateNew "create-new" = 3,
    }

    /// The kind of a port over a descriptor.
    PortKind "port-kind" {
        BinaryInput "binary-input" = 0,
        TextualInput "textual-input" = 1,
        BinaryOutput "binary-output" = 2,
        TextualOutput "textual-output" = 3,
        /// Binary, in both directions.
        Both "both" = 4,
    }

    /// How a file is opened: a sum of flags.
    OpenFlag "open-flag" {
        Append "append" = 1,
        Create "create" = 2,
        Exclusive "exclusive" = 4,
        /// A symbolic link is an error.
        NoFollow "no-follow" = 8,
        Truncate "truncate" = 16,
    }

    /// How a file may be used: a sum of flags.
    FileAccess "file-access" {
        Execute "execute" = 1,
        Write "write" = 2,
        Read "read" = 4,
    }

    /// A read that does not wait.
    TryRead "try-read" {
        Character "character" = 0,
        /// A character that stays.
        Peek "peek" = 1,
        /// A line without its end.
        Line "line" = 2,
        /// A line with its end.
        WholeLine "whole-line" = 3,
        /// A number of characters.
        Characters "characters" = 4,
        /// The text that has arrived.
        Available "available" = 5,
    }

    /// A request to the service of a port.
    Service "service" {
        /// Make bytes, or say that there are none.
        Fill "fill" = 0,
        /// Take the bytes that were written.
        Drain "drain" = 1,
        /// Take them and pass them on.
        Flush "flush" = 2,
        /// Release what the port stands for.
        Close "close" = 3,
        /// Give the procedure for the position, or the position.
        Position "position" = 4,
        /// Give the procedure that changes the position.
        SetPosition "set-position" = 5,
        /// Give the name of the encoding.
        Encoding "encoding" = 6,
        /// Give the procedure that takes the port in the place of this one.
        Succeed "succeed" = 7,
        /// Prepare for reading: the direction changes.
        TurnToRead "turn-to-read" = 8,
        /// Prepare for writing.
        TurnToWrite "turn-to-write" = 9,
    }

    /// A version of the Internet protocol.
    Family "family" {
        Any "any" = 0,
        Inet "inet" = 4,
        Inet6 "inet6" = 6,
    }

    /// The direction in which a socket is shut down.
    Shutdown "shutdown" {
        Read "read" = 0,
        Write "write" = 1,
        Both "both" = 2,
    }

    /// The parts that a text is divided into.
    Division "division" {
        Graphemes "graphemes" = 0,
        /// Everything between two boundaries of words.
        Segments "segments" = 1,
        /// Segments with letters or digits.
        Words "words" = 2,
        Sentences "sentences" = 3,
    }

    /// A normalization form of Unicode.
    NormalForm "normal-form" {
        Nfc "nfc" = 0,
        Nfd "nfd" = 1,
        Nfkc "nfkc" = 2,
        Nfkd "nfkd" = 3,
    }

    /// The representation of JSON objects.
    JsonObjects "json-objects" {
        /// Association lists whose keys are symbols.
        Symbols "symbols" = 0,
        /// Association lists whose keys are strings.
        Strings "strings" = 1,
        /// Hash tables whose keys are strings.
        Tables "tables" = 2,
    }

    /// Padding at the end of base 64.
    Padding "padding" {
        Required "required" = 0,
        Optional "optional" = 1,
        Refused "refused" = 2,
    }

    /// How a database is opened.
    DatabaseMode "database-mode" {
        Read "read" = 0,
        Write "write" = 1,
        Create "create" = 2,
        Memory "memory" = 3,
    }

    /// The result of a statement.
    RowShape "row-shape" {
        /// The number of rows that it has changed.
        Changes "changes" = 0,
        /// A list of vectors.
        Vectors "vectors" = 1,
        /// A list of association lists.
        Alists "alists" = 2,
        /// The first row, a vector, or #f.
        Vector "vector" = 3,
        /// The first row, an association list, or #f.
        Alist "alist" = 4,
        /// The first value of the first row, or #f.
        Value "value" = 5,
        /// Nothing.
        Nothing "nothing" = 6,
    }

    /// A kind of items that guests export and import.
    GuestItem "guest-item" {
        Function "function" = 0,
        Table "table" = 1,
        Memory "memory" = 2,
        Global "global" = 3,
        Tag "tag" = 4,
    }

    /// A number in a memory of a guest.
    GuestNumber "guest-number" {
        U8 "u8" = 0,
        S8 "s8" = 1,
        U16 "u16" = 2,
        S16 "s16" = 3,
        U32 "u32" = 4,
        S32 "s32" = 5,
        U64 "u64" = 6,
        S64 "s64" = 7,
        F32 "f32" = 8,
        F64 "f64" = 9,
    }

    /// A property of a database connection.
    DatabaseState "database-state" {
        LastInsertId "last-insert-id" = 0,
        InTransaction "in-transaction" = 1,
        Statements "statements" = 2,
        Cursors "cursors" = 3,
    }

    /// A stream of a new process, if it is no port.
    Stream "stream" {
        Inherit "inherit" = 0,
        Null "null" = 1,
        /// A pipe whose end here is a binary port.
        BinaryPipe "binary-pipe" = 2,
        /// A pipe whose end here is a textual port.
        TextualPipe "textual-pipe" = 3,
        /// The destination of output.
        Output "output" = 4,
    }

    /// The progress of an exchange with a process.
    Exchange "exchange" {
        /// Written to its input.
        Input "input" = 0,
        /// Read from its output.
        Output "output" = 1,
        /// Read from its error output.
        Error "error" = 2,
    }

    /// The format of an access log.
    LogFormat "log-format" {
        Common "common" = 0,
        Combined "combined" = 1,
        Json "json" = 2,
    }

    /// The header in which proxies name their client.
    ProxyField "proxy-field" {
        XForwardedFor "x-forwarded-for" = 0,
        Forwarded "forwarded" = 1,
    }

    /// Properties of a request: a sum of flags.
    RequestFlag "request-flag" {
        /// The connection persists after the response.
        KeepsAlive "keeps-alive" = 1,
        /// HTTP/1.1.
        IsNew "new" = 2,
        /// The method is HEAD.
        IsHead "head" = 4,
        /// The client asks for another protocol.
        Upgrades "upgrades" = 8,
        /// It came over TLS.
        IsSecure "secure" = 16,
        IsHttp2 "http2" = 32,
    }

    /// Properties of a response: a sum of flags.
    ResponseFlag "response-flag" {
        /// The connection persists after it.
        KeepsAlive "keeps-alive" = 1,
        /// HTTP/1.1.
        IsNew "new" = 2,
    }

    /// The length of a body that is not known beforehand.
    BodyLength "body-length" {
        /// Its chunks say it.
        Chunked "chunked" = -1,
        /// The end of the connection does.
        UntilEnd "until-end" = -2,
    }

    /// The kind of a frame of a WebSocket.
    Frame "frame" {
        Continuation "continuation" = 0,
        Text "text" = 1,
        Binary "binary" = 2,
        Close "close" = 8,
        Ping "ping" = 9,
        Pong "pong" = 10,
    }

    /// An event of a WebSocket beside messages and pongs.
    WebSocketEvent "websocket-event" {
        /// Something that has to end the connection.
        Fault "fault" = 0,
        Close "close" = 8,
        Ping "ping" = 9,
    }

    /// An order by which a primitive sorts.
    SortOrder "sort-order" {
        /// By `<`.
        Numbers "numbers" = 0,
        /// By `>`.
        NumbersDescending "numbers-descending" = 1,
        /// By `string<?`.
        Strings "strings" = 2,
        /// By `string>?`.
        StringsDescending "strings-descending" = 3,
        /// By `char<?`.
        Characters "characters" = 4,
        /// By `char>?`.
        CharactersDescending "characters-descending" = 5,
    }

    /// The kind of a macro's transformer, which says what symbols in its result mean.
    TransformerKind "transformer-kind" {
        /// A procedure from syntax to syntax. Its result has no symbols.
        Procedure "procedure" = 0,
        /// Symbols mean what they mean where the macro is used.
        Explicit "explicit" = 1,
        /// The form has identifiers; symbols mean what they mean at the definition.
        Implicit "implicit" = 2,
        /// The form has symbols; symbols of the result mean what they mean at the definition.
        Closing "closing" = 3,
        /// Like `Procedure`, and it takes assignments too.
        Variable "variable" = 4,
    }
}
