//! The shapes of lines as serde reads them: one structure with every member that a line may have.
//!
//! A member or kind of line that is not here is skipped, as the format demands. Columns have the
//! widths of the model, so that a number that is too large is an error of its line.

use serde::Deserialize;

macro_rules! tables {
    ($($table:ident {
        $($(#[$attribute:meta])* $column:ident: $kind:ty,)*
        $(; $($late:ident: $late_kind:ty,)*)?
    })*) => {$(
        #[derive(Debug, Deserialize)]
        pub struct $table {
            $($(#[$attribute])* pub $column: Vec<$kind>,)*
            $($(#[serde(default)] pub $late: Vec<$late_kind>,)*)?
        }

        impl $table {
            /// The number of rows, unless the columns differ.
            pub fn rows(&self) -> Option<usize> {
                let lengths = [$(self.$column.len(),)*];
                // A profile of before has no such columns.
                let late: &[usize] = &[$($(self.$late.len(),)*)?];
                let is_even = lengths.iter().all(|length| *length == lengths[0])
                    && late.iter().all(|length| [0, lengths[0]].contains(length));
                is_even.then_some(lengths[0])
            }
        }
    )*};
}

tables! {
    Functions {
        name: u32,
        file: Option<u32>,
        line: u32,
        group: u64,
    }
    Frames {
        function: u32,
        line: u32,
        column: u32,
        tier: u64,
        tail: u64,
    }
    Stacks {
        parent: Option<u32>,
        frame: u32,
        kind: u64,
    }
    Threads {
        id: u64,
        name: u32,
    }
    Tasks {
        number: u64,
        name: Option<u32>,
        starter: Option<u32>,
        started: u64,
    }
    Samples {
        at: i64,
        thread: u32,
        task: u32,
        label: u32,
        stack: Option<u32>,
        weight: u64,
    }
    Waits {
        task: u32,
        label: u32,
        stack: Option<u32>,
        from: u64,
        ready: u64,
        resumed: u64,
        kind: u32,
        on: Option<u32>,
        ;
        holder: Option<u32>,
        holder_stack: Option<u32>,
        weight: u64,
    }
    Allocations {
        at: u64,
        thread: u32,
        task: u32,
        label: u32,
        stack: Option<u32>,
        #[serde(rename = "type")]
        type_name: u32,
        size: u64,
        weight: u64,
        reason: Option<u32>,
        id: u64,
    }
    Events {
        at: u64,
        duration: u64,
        thread: Option<u32>,
        kind: u32,
        text: u32,
        stack: Option<u32>,
    }
    Counts {
        caller: Option<u32>,
        callee: u32,
        calls: u64,
        inclusive: u64,
        exclusive: u64,
        interpreted: u64,
        compiled: u64,
        inlined: u64,
    }
    Notes {
        function: Option<u32>,
        line: u32,
        text: u32,
    }
}

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line {
    pub profile: Option<u64>,
    pub program: Option<String>,
    pub arguments: Option<Vec<String>>,
    pub canny: Option<String>,
    pub pid: Option<u64>,
    pub started: Option<u64>,
    pub interval: Option<u64>,
    pub allocation_interval: Option<u64>,
    pub modes: Option<Vec<String>>,
    pub strings: Option<Vec<String>>,
    pub functions: Option<Functions>,
    pub frames: Option<Frames>,
    pub stacks: Option<Stacks>,
    pub threads: Option<Threads>,
    pub tasks: Option<Tasks>,
    pub labels: Option<Vec<Vec<(u32, u32)>>>,
    pub samples: Option<Samples>,
    pub waits: Option<Waits>,
    pub allocations: Option<Allocations>,
    pub freed: Option<Vec<u64>>,
    pub events: Option<Events>,
    pub counts: Option<Counts>,
    pub notes: Option<Notes>,
    pub lost: Option<u64>,
    pub end: Option<u64>,
}
