//! Counting how often code runs: the ledger of all counters of the process, and the marks in code.
//!
//! Exact profiles and coverage need code that was compiled for it. Before the optimizer runs,
//! [`instrument`] puts marks into the core: calls of a primitive with the number of a [`Mark`].
//! So copies of a procedure that the optimizer makes count as calls, and what it removes never runs.
//! The code generator makes an instruction of each mark, and adds one to each call.
//!
//! A counter is a place in a table of 64-bit words that each thread has. The numbers of the ledger
//! mean something in this process only, so such code is never stored.

pub mod instrument;
pub mod rewrite;

use std::collections::HashMap;

use canny_locks::Mutex;
use canny_syntax::name::Name;
use canny_syntax::span::{SourceMap, Span};
use canny_tables::layout::call_site;
use canny_tables::primitives::PrimitiveId;

/// Counters that there may be: a thread's table has so many words.
pub const COUNTERS_MAX: usize = 1 << 22;

/// The primitive whose calls are marks.
pub const MARK: &str = "%count!";

/// The kinds of counters that code has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counting {
    /// Calls, by caller and callee.
    pub calls: bool,
    /// Lines and branches.
    pub coverage: bool,
}

impl Counting {
    /// Whether anything is counted.
    pub fn is_on(self) -> bool {
        self.calls || self.coverage
    }
}

/// The number of a function of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A procedure as profiles name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its name, or a description.
    pub name: String,
    /// The file, or the library where no file is known.
    pub file: Option<String>,
    /// The line of the definition, 0 for unknown.
    pub line: u32,
    /// Part of the standard library.
    pub is_standard: bool,
}

/// A procedure that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    Function(FunctionId),
    Primitive(PrimitiveId),
}

/// A place of coverage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    pub file: String,
    /// From one.
    pub line: u32,
    pub kind: PointKind,
}

/// The meaning of a point's count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PointKind {
    /// Control came to the line.
    Line,
    /// A branch of the decision was taken. A number tells decisions with the same position apart.
    Branch { column: u32, number: u32, arm: u32 },
    /// The procedure was entered.
    Function(String),
}

/// A counter, by the number of its first word.
#[derive(Clone, Debug)]
pub enum Counter {
    /// Entries of a procedure, in three words: interpreted, compiled, inlined.
    Entries(FunctionId),
    /// Calls of one procedure by another that is known when the code is compiled.
    Edge(FunctionId, Callee),
    /// A call site, see [`call_site`].
    Site(FunctionId),
    /// A place of coverage.
    Point(Point),
}

/// The meaning of a mark in the core.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// The beginning of a procedure, and the counter of its entries.
    Entry(FunctionId, u32),
    /// A counter.
    Point(u32),
}

/// All counters of the process.
#[derive(Debug)]
pub struct Ledger(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    functions: Vec<Function>,
    function_numbers: Option<HashMap<Function, FunctionId>>,
    edges: Option<HashMap<(FunctionId, Callee), u32>>,
    marks: Vec<Mark>,
    counters: Vec<(u32, Counter)>,
    words: u32,
    is_full: bool,
}

impl Rows {
    const NEW: Rows = Rows {
        functions: Vec::new(),
        function_numbers: None,
        edges: None,
        marks: Vec::new(),
        counters: Vec::new(),
        words: 0,
        is_full: false,
    };

    fn allot(&mut self, words: u32, counter: Counter) -> Option<u32> {
        if (self.words + words) as usize > COUNTERS_MAX {
            self.is_full = true;
            return None;
        }
        let first = self.words;
        self.words += words;
        self.counters.push((first, counter));
        Some(first)
    }

    fn mark(&mut self, mark: Mark) -> u32 {
        self.marks.push(mark);
        self.marks.len() as u32 - 1
    }
}

/// The content of the ledger, for a report.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub functions: Vec<Function>,
    /// Counters by their first words.
    pub rows: Vec<(u32, Counter)>,
    /// Words of all counters.
    pub words: usize,
    /// There was no room for the counters of some code.
    pub is_full: bool,
}

static LEDGER: Ledger = Ledger(Mutex::new(Rows::NEW));

impl Ledger {
    /// The ledger of this process.
    pub fn get() -> &'static Ledger {
        &LEDGER
    }

    /// Everything in it so far.
    pub fn counters(&self) -> Counters {
        let rows = self.0.lock();
        Counters {
            functions: rows.functions.clone(),
            rows: rows.counters.clone(),
            words: rows.words as usize,
            is_full: rows.is_full,
        }
    }

    /// The number of a function.
    pub fn function(&self, function: Function) -> FunctionId {
        let rows = &mut *self.0.lock();
        let numbers = rows.function_numbers.get_or_insert_default();
        if let Some(known) = numbers.get(&function) {
            return *known;
        }
        let id = FunctionId(rows.functions.len() as u32);
        numbers.insert(function.clone(), id);
        rows.functions.push(function);
        id
    }

    /// The counter of a procedure's entries.
    fn entry(&self, function: FunctionId) -> Option<u32> {
        self.0.lock().allot(3, Counter::Entries(function))
    }

    /// A mark for the beginning of a procedure.
    fn mark_entry(&self, function: FunctionId) -> Option<u32> {
        let mut rows = self.0.lock();
        let counter = rows.allot(3, Counter::Entries(function))?;
        Some(rows.mark(Mark::Entry(function, counter)))
    }

    /// A mark for a place of coverage.
    fn mark_point(&self, point: Point) -> Option<u32> {
        let mut rows = self.0.lock();
        let counter = rows.allot(1, Counter::Point(point))?;
        Some(rows.mark(Mark::Point(counter)))
    }

    /// The mark of a number.
    pub(crate) fn mark(&self, number: u32) -> Option<Mark> {
        self.0.lock().marks.get(number as usize).copied()
    }

    /// The counter of calls of one procedure by another.
    pub(crate) fn edge(&self, caller: FunctionId, callee: Callee) -> Option<u32> {
        let rows = &mut *self.0.lock();
        if let Some(known) = rows.edges.get_or_insert_default().get(&(caller, callee)) {
            return Some(*known);
        }
        let counter = rows.allot(1, Counter::Edge(caller, callee))?;
        let edges = rows.edges.get_or_insert_default();
        edges.insert((caller, callee), counter);
        Some(counter)
    }

    /// The counter of a call site.
    pub(crate) fn site(&self, caller: FunctionId) -> Option<u32> {
        self.0
            .lock()
            .allot(call_site::WORDS as u32, Counter::Site(caller))
    }
}

/// The function of a procedure.
pub(crate) fn function_at(
    name: Option<Name>,
    span: Span,
    sources: Option<&SourceMap>,
    is_standard: bool,
) -> Function {
    let source = sources.and_then(|map| map.get(span.source));
    let line = source
        .as_ref()
        .map_or(0, |one| one.line_and_column(span.start).0);
    Function {
        name: name.map_or("lambda", |name| name.as_str()).to_owned(),
        file: source.map(|source| source.name.clone()),
        line,
        is_standard,
    }
}
