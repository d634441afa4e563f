//! Primitive rows: the procedures that are not written in Scheme, one row each.
//!
//! The rows are grouped by topic in sibling modules, each topic a static slice; [`GROUPS`] lists
//! the slices. A row's position in the concatenation of all groups is its [`PrimitiveId`]; a name
//! occurs once. The pseudo-library `(canny primitives)` exports every row under its name.
//!
//! Conventions that the rows follow:
//!
//! - A row has the R7RS (or SRFI) name where the primitive *is* that procedure. Internal rows start
//!   with `%`. A condition of such a row blames the name without the `%` if users know it, so an
//!   internal row whose Scheme wrapper has the same name blames the procedure the user called; else the
//!   procedure that users know among the callers.
//! - A row with [`Flags::FRAME`] has no Rust function: the machine implements it as a
//!   frame-manipulating opcode or as a hand-assembled stub.
//! - Every other row is a Rust function. It never calls back into Scheme.
//! - Optional arguments come last. A port argument that is absent means the current port, which
//!   is found in the dynamic state of the thread (see `ports`).
//! - Where a row returns several values it returns one `values` object.
//!
//! Signatures: words separated by spaces are parameter types, `[type]` is optional, `type ...` is a
//! rest parameter, and the type behind `->` is the result. `any` fits everything, `unspecified` is
//! the unspecified value, `values(a b)` are two values, `never` does not return.

mod bytevectors;
mod characters;
mod control;
mod crypto;
mod databases;
mod equivalence;
mod errors;
mod file_system;
mod formats;
mod guests;
mod hash_tables;
mod http;
mod inspection;
mod lists;
mod numbers;
mod numeric_vectors;
mod pairs;
mod ports;
mod posix;
mod processes;
mod records;
mod signals;
mod sockets;
mod strings;
mod symbols;
mod syntax_objects;
mod system;
mod tasks;
mod vectors;

use std::sync::OnceLock;

/// Assumptions that the optimizer may make of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No assumption: may read and write anything, may raise.
    pub const NONE: Flags = Flags(0);
    /// The same arguments give the same result and no mutable storage is read or written; may be
    /// folded on constants, and two calls with the same arguments may be merged.
    pub const FOLDABLE: Flags = Flags(1);
    /// No effect when it does not raise: an unused call may be dropped if its arguments are certain
    /// to be right. It may read mutable storage.
    pub const PURE: Flags = Flags(2);
    /// Cannot raise, whatever its arguments (of the right number), short of exhausted memory.
    pub const NEVER_RAISES: Flags = Flags(4);
    /// The result is, or may be, a fresh object with an identity: two calls must not be merged.
    /// Numbers have no identity, so arithmetic does not carry this flag.
    pub const ALLOCATES: Flags = Flags(8);
    /// Implemented by the machine as an opcode or stub that manipulates frames.
    pub const FRAME: Flags = Flags(16);
    /// Never returns to its caller: it raises, exits or throws.
    pub const NEVER_RETURNS: Flags = Flags(32);

    /// The union of two flag sets.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether every flag of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Why calls of a primitive have no fast way: no opcode, no node of the specializer's graph and no leaf
/// function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// It waits for a device, another process, another thread or the clock, or asks the operating system.
    System,
    /// Its work grows with its arguments, and the call is a small part of it.
    Work,
    /// It makes an object that costs more than the call: a port, a table, a connection, a record type.
    Makes,
    /// It changes words of pairs or vectors, which leaf functions must not do, or the machine's own state.
    Changes,
    /// It raises, reports or describes an error, or looks at frames.
    Errors,
    /// It belongs to the machine's administration, and is called once for a program, a task, a
    /// connection or a library.
    Administration,
    /// It expands or compiles.
    Expansion,
    /// A short operation that programs hardly ever repeat.
    Rare,
}

/// The value of `(jiffies-per-second)`.
pub const JIFFIES_PER_SECOND: i64 = 1_000_000_000;

/// One primitive.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    /// Scheme name.
    pub name: &'static str,
    /// Least number of arguments.
    pub arity_min: u8,
    /// Greatest number of arguments; `None` for any number.
    pub arity_max: Option<u8>,
    /// Assumptions that the optimizer may make.
    pub flags: Flags,
    /// Parameter and result types, for error messages and documentation: `"string k -> char"`.
    pub signature: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// Why it is slow, if it is: see [`Slow`].
    pub slow: Option<Slow>,
}

impl Primitive {
    /// The name to show to a user: without the `%` of an internal row.
    pub fn user_name(&self) -> &'static str {
        match self.name.strip_prefix('%') {
            Some(rest) if !rest.is_empty() => rest,
            _ => self.name,
        }
    }

    /// How it is called, its parameters called by their types: `(list-tail list k)`.
    pub fn call_text(&self) -> String {
        let parameters = self.signature.split("->").next().unwrap_or_default();
        let parameters = parameters.trim_end();
        let gap = if parameters.is_empty() { "" } else { " " };
        format!("({}{gap}{parameters})", self.user_name())
    }

    /// Whether a call with `count` arguments has the right number of them.
    pub const fn accepts(&self, count: usize) -> bool {
        count >= self.arity_min as usize
            && match self.arity_max {
                Some(max) => count <= max as usize,
                None => true,
            }
    }
}

/// A row's position in the concatenation of [`GROUPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrimitiveId(pub u16);

impl PrimitiveId {
    /// The row of this primitive.
    pub fn row(self) -> &'static Primitive {
        by_id(self)
    }
}

/// Builds a static slice of rows. A row is
/// `"name" arity [FLAG …] "signature" "documentation" slow REASON;` where arity is `(n)`,
/// `(least, greatest)` or `(least ..)`. A row without a fast way has a reason, its own or that of its
/// table, which stands behind the table's name.
macro_rules! rows {
    ($(#[$attribute:meta])* $table:ident $(slow $all:ident)?: $($rows:tt)*) => {
        $crate::primitives::rows!(@table [$(#[$attribute])*] $table [$(slow $all)?] $($rows)*);
    };
    (@table [$(#[$attribute:meta])*] $table:ident $all:tt $(
        $name:literal $arity:tt [$($flag:ident)*] $signature:literal
            $doc:literal $(slow $slow:ident)?;
    )*) => {
        $(#[$attribute])*
        pub static $table: &[$crate::primitives::Primitive] = &[
            $($crate::primitives::Primitive {
                name: $name,
                arity_min: $crate::primitives::rows!(@least $arity),
                arity_max: $crate::primitives::rows!(@greatest $arity),
                flags: $crate::primitives::Flags(0 $(| $crate::primitives::Flags::$flag.0)*),
                signature: $signature,
                doc: $doc,
                slow: $crate::primitives::rows!(@slow $all $(slow $slow)?),
            },)*
        ];
    };
    (@slow [$(slow $all:ident)?] slow $slow:ident) => { Some($crate::primitives::Slow::$slow) };
    (@slow [slow $all:ident]) => { Some($crate::primitives::Slow::$all) };
    (@slow []) => { None };
    (@least ($least:literal)) => { $least };
    (@least ($least:literal, $greatest:literal)) => { $least };
    (@least ($least:literal ..)) => { $least };
    (@greatest ($count:literal)) => { Some($count) };
    (@greatest ($least:literal, $greatest:literal)) => { Some($greatest) };
    (@greatest ($least:literal ..)) => { None };
}
use rows;

/// Every group of rows, in the order that numbers the primitives.
pub static GROUPS: &[&[Primitive]] = &[
    pairs::ROWS,
    lists::ROWS,
    equivalence::ROWS,
    numbers::ARITHMETIC,
    numbers::FUNCTIONS,
    numbers::BITWISE,
    symbols::ROWS,
    syntax_objects::ROWS,
    characters::ROWS,
    strings::ROWS,
    vectors::ROWS,
    bytevectors::ROWS,
    control::ROWS,
    control::DYNAMIC_STATE,
    records::ROWS,
    signals::ROWS,
    sockets::ROWS,
    databases::ROWS,
    guests::ROWS,
    crypto::ROWS,
    errors::ROWS,
    inspection::ROWS,
    hash_tables::ROWS,
    http::ROWS,
    numeric_vectors::ROWS,
    ports::ROWS,
    system::ROWS,
    system::MEMORY,
    posix::ROWS,
    file_system::ROWS,
    processes::ROWS,
    formats::ROWS,
    tasks::ROWS,
];

struct Index {
    rows: Vec<&'static Primitive>,
    by_name: Vec<PrimitiveId>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let rows: Vec<&'static Primitive> = GROUPS.iter().flat_map(|group| group.iter()).collect();
        let last = u16::try_from(rows.len()).expect("primitive numbers fit in 16 bits");
        let mut by_name: Vec<PrimitiveId> = (0..last).map(PrimitiveId).collect();
        by_name.sort_by_key(|id| rows[id.0 as usize].name);
        Index { rows, by_name }
    })
}

/// The number of primitives.
pub fn count() -> usize {
    index().rows.len()
}

/// Every row, in the order of the numbers.
pub fn all() -> &'static [&'static Primitive] {
    &index().rows
}

/// The row with number `id`. Panics when no row has it.
pub fn by_id(id: PrimitiveId) -> &'static Primitive {
    index().rows[id.0 as usize]
}

/// The number of the primitive called `name`.
pub fn lookup(name: &str) -> Option<PrimitiveId> {
    let index = index();
    index
        .by_name
        .binary_search_by_key(&name, |id| index.rows[id.0 as usize].name)
        .ok()
        .map(|position| index.by_name[position])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let index = index();
        for pair in index.by_name.windows(2) {
            let (left, right) = (by_id(pair[0]).name, by_id(pair[1]).name);
            assert_ne!(left, right, "two rows are called {left}");
        }
    }

    #[test]
    fn lookup_finds_every_row() {
        for (position, row) in all().iter().enumerate() {
            assert_eq!(
                lookup(row.name),
                Some(PrimitiveId(position as u16)),
                "{}",
                row.name
            );
        }
        assert_eq!(lookup("no such primitive"), None);
    }

    #[test]
    fn rows_are_well_formed() {
        for row in all() {
            let name = row.name;
            assert!(
                row.arity_max.is_none_or(|max| max >= row.arity_min),
                "{name}: arity"
            );
            assert!(
                row.signature.contains("->"),
                "{name}: signature without a result"
            );
            assert!(
                row.doc.ends_with('.'),
                "{name}: documentation is not a sentence"
            );
            if row.flags.has(Flags::FOLDABLE) {
                assert!(row.flags.has(Flags::PURE), "{name}: foldable but not pure");
                assert!(
                    !row.flags.has(Flags::ALLOCATES),
                    "{name}: foldable but fresh"
                );
            }
            if row.flags.has(Flags::NEVER_RETURNS) {
                assert!(
                    !row.flags.has(Flags::PURE),
                    "{name}: pure but never returns"
                );
            }
        }
    }

    /// The signature names as many parameters as the arity allows.
    #[test]
    fn signatures_agree_with_arities() {
        for row in all() {
            let (parameters, _) = row.signature.split_once("->").expect("checked above");
            let words: Vec<&str> = parameters.split_whitespace().collect();
            let has_rest = words.contains(&"...");
            let optional = words.iter().filter(|word| word.starts_with('[')).count();
            let required = words.iter().filter(|word| **word != "...").count()
                - optional
                - usize::from(has_rest);
            assert_eq!(row.arity_max.is_none(), has_rest, "{}: rest", row.name);
            assert_eq!(row.arity_min as usize, required, "{}: required", row.name);
            if let Some(max) = row.arity_max {
                assert_eq!(max as usize, required + optional, "{}: optional", row.name);
            }
        }
    }

    #[test]
    fn user_names_drop_the_internal_mark() {
        assert_eq!(
            lookup("%member").expect("exists").row().user_name(),
            "member"
        );
        assert_eq!(lookup("car").expect("exists").row().user_name(), "car");
    }
}
