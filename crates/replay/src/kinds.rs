//! The kinds of questions that a program asks the system: one row for each.

/// Rows: variant, number in the file, words for messages.
macro_rules! kinds {
    ($($variant:ident = $number:literal, $name:literal;)*) => {
        /// A kind of questions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = $name] $variant = $number,)*
        }

        impl Kind {
            /// The kind with a number in a file.
            pub(crate) fn of_number(number: u8) -> Option<Kind> {
                match number {
                    $($number => Some(Kind::$variant),)*
                    _ => None,
                }
            }

            /// Words for messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    Clock = 1, "the time since the start";
    Time = 2, "the time";
    Random = 3, "random bytes";
    Environment = 4, "environment variables";
    Process = 5, "a property of the process";
    Open = 6, "opening a file";
    Descriptor = 7, "the kind of an open file";
    Read = 8, "reading";
    Write = 9, "writing";
    Seek = 10, "a position";
    File = 11, "an operation on an open file";
    Close = 12, "closing";
    Ready = 13, "whether something is ready";
    Events = 14, "events";
    Watch = 15, "watching a descriptor";
    Socket = 16, "an operation on a socket";
    Connection = 17, "a connection";
    Primitive = 18, "an operation of the system";
    Resolve = 19, "the address of a host";
    Database = 20, "an operation on a database";
}
