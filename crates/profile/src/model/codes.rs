//! The words and numbers by which a profile classifies its rows.
//!
//! A reader meets words of later versions. Each enumeration has a member that stands for them, so
//! that a profile of a later version loses a distinction, and nothing else.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, otherwise $other:ident;
     $($(#[$member_doc:meta])* $member:ident = $word:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$member_doc])* $member,)* }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$member,)*];

            /// The word in files.
            pub fn word(self) -> &'static str {
                match self { $($name::$member => $word,)* }
            }

            /// The member of a word.
            pub fn of_word(word: &str) -> $name {
                match word { $($word => $name::$member,)* _ => $name::$other }
            }
        }
    };
}

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident, otherwise $other:ident;
     $($(#[$member_doc:meta])* $member:ident = $number:literal, $text:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { #[default] $($(#[$member_doc])* $member = $number,)* }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$member,)*];

            /// The number in files.
            pub fn number(self) -> u8 {
                self as u8
            }

            /// The member of a number.
            pub fn of_number(number: u64) -> $name {
                match number { $($number => $name::$member,)* _ => $name::$other }
            }

            /// A name for people.
            pub fn text(self) -> &'static str {
                match self { $($name::$member => $text,)* }
            }
        }
    };
}

words! {
    /// A thing that a profile measures.
    Mode, otherwise Other;
    Cpu = "cpu",
    Wait = "wait",
    Allocation = "allocation",
    Counts = "counts",
    Other = "other",
}

words! {
    /// The kind of thing that a task waited for.
    WaitKind, otherwise Other;
    /// Mutexes, semaphores, read-write locks, an action that is done once, locks of files.
    Lock = "lock",
    /// The signal of a condition variable.
    Condition = "condition",
    /// Barriers and latches.
    Barrier = "barrier",
    /// Channels, and the values of supplies.
    Channel = "channel",
    /// Sockets, pipes and terminals.
    Socket = "socket",
    /// The address of a name.
    Dns = "dns",
    /// A statement of a database.
    Database = "database",
    Timer = "timer",
    Process = "process",
    /// Futures and tasks.
    Future = "future",
    /// A thread of the pool for blocking calls.
    Pool = "pool",
    Other = "other",
}

words! {
    /// A kind of work of the machine, at a moment or during a time.
    EventKind, otherwise Other;
    Collection = "collection",
    Compilation = "compilation",
    Deoptimization = "deoptimization",
    Osr = "osr",
    Other = "other",
}

numbers! {
    /// The part of program or machine that a function belongs to.
    Group, otherwise Foreign;
    Program = 0, "program";
    Library = 1, "standard library";
    Machine = 2, "machine";
    Collector = 3, "collector";
    Compiler = 4, "compiler";
    InputOutput = 5, "input and output";
    Text = 6, "text";
    Numbers = 7, "numbers";
    Network = 8, "network and TLS";
    Database = 9, "database";
    Scheduler = 10, "scheduler";
    Kernel = 11, "kernel";
    Foreign = 12, "foreign code";
}

numbers! {
    /// How the code of a frame ran.
    Tier, otherwise Unknown;
    Interpreted = 0, "interpreted";
    Compiled = 1, "compiled";
    Inlined = 2, "inlined";
    Native = 3, "native";
    Unknown = 4, "unknown";
}

numbers! {
    /// How a stack continues below its newest frame.
    StackKind, otherwise Plain;
    Plain = 0, "call";
    /// The older frames belong to the task that started this one.
    Started = 1, "started by";
    /// Frames below this one are missing, since the stack was cut.
    Cut = 2, "cut";
}

impl Group {
    /// Whether the function is written in Scheme.
    pub fn is_scheme(self) -> bool {
        matches!(self, Group::Program | Group::Library)
    }
}
