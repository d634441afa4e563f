//! Counters of threads, for exact profiles and coverage.
//!
//! Each thread has a table of 64-bit words of its own, to which generated code adds without a lock; the
//! compiler's ledger says what each word counts. A table that its thread left is taken over by another
//! one with its counts in it, so that the sum over all tables is exact.
//!
//! A call site has pairs of words: code that it called on the thread, and a count. Calls of further code
//! at the site are counted in a map. All code that was called is kept alive, so that its address
//! stays its name.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use canny_compiler::counting::{
    COUNTERS_MAX, Callee, Counter, Counters, Counting, Function, FunctionId, Ledger,
};
use canny_compiler::unit::Parameters;
use canny_locks::Mutex;
use canny_profile::model::{Builder, Count, FunctionIndex, Group};
use canny_tables::layout::call_site;
use canny_tables::primitives::{PrimitiveId, by_id};
use canny_value::Value;

use crate::Vm;
use crate::code::{CodeRef, UnitMetadata};
use crate::leaf::InPlace;
use crate::thread::Thread;

/// Whether threads get counters.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether code is compiled to count its calls.
static COUNTS_CALLS: AtomicBool = AtomicBool::new(false);
/// The tables of all threads of the process, those that have ended included.
static TABLES: Mutex<Vec<Arc<Table>>> = Mutex::new(Vec::new());
/// The procedures whose code was called at a call site, by the code's address.
static CALLED: Mutex<Option<HashMap<u64, Called>>> = Mutex::new(None);

/// The counters of a thread.
#[derive(Debug)]
struct Table {
    words: Box<[AtomicU64]>,
    is_in_use: AtomicBool,
    /// Calls of code for which its site has no pair left: by site and code.
    others: Mutex<HashMap<(u32, u64), u64>>,
}

/// A thread's hold of its counters.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters(Option<Arc<Table>>);

impl Drop for ThreadCounters {
    fn drop(&mut self) {
        if let Some(table) = &self.0 {
            table.is_in_use.store(false, Ordering::Release);
        }
    }
}

impl ThreadCounters {
    /// The counters of a new thread, if anything is counted.
    pub(crate) fn new() -> ThreadCounters {
        if !IS_ON.load(Ordering::Relaxed) {
            return ThreadCounters(None);
        }
        let mut tables = TABLES.lock();
        let left = tables
            .iter()
            .find(|table| !table.is_in_use.swap(true, Ordering::Acquire));
        if let Some(table) = left {
            return ThreadCounters(Some(table.clone()));
        }
        // The system gives the zeros when they are first touched.
        let words = vec![0u64; COUNTERS_MAX].into_boxed_slice();
        let words = Box::into_raw(words) as *mut [AtomicU64];
        let table = Arc::new(Table {
            // SAFETY: an atomic word has the layout of a plain one, and the box is the only owner.
            words: unsafe { Box::from_raw(words) },
            is_in_use: AtomicBool::new(true),
            others: Mutex::new(HashMap::new()),
        });
        tables.push(table.clone());
        ThreadCounters(Some(table))
    }

    /// The address of the first counter for generated code, or null.
    pub(crate) fn address(&self) -> *const AtomicU64 {
        let table = self.0.as_ref();
        table.map_or(std::ptr::null(), |table| table.words.as_ptr())
    }
}

/// A procedure that was called at a call site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Called {
    Function(Function),
    Primitive(PrimitiveId),
}

impl Called {
    fn of(vm: &Vm, code: CodeRef) -> Called {
        let Some((unit, index)) = vm.metadata(code) else {
            return Called::Function(Function {
                name: "the machine's own code".to_owned(),
                file: None,
                line: 0,
                is_standard: true,
            });
        };
        match unit.codes[index].primitive {
            Some(number) if usize::from(number) < canny_tables::primitives::count() => {
                Called::Primitive(PrimitiveId(number))
            }
            _ => Called::Function(function_of(&unit, index)),
        }
    }

    /// Its name for people.
    pub fn name(&self) -> &str {
        match self {
            Called::Function(function) => &function.name,
            Called::Primitive(id) => by_id(*id).name,
        }
    }
}

/// Whether code takes so many arguments.
fn accepts(vm: &Vm, code: CodeRef, passed: usize) -> bool {
    let Some((unit, index)) = vm.metadata(code) else {
        return true;
    };
    let code = &unit.codes[index];
    if let Some(number) = code.primitive {
        return by_id(PrimitiveId(number)).accepts(passed);
    }
    let takes = |one: &Parameters| {
        let positional = one.required.len() + one.optional.len();
        let is_open = one.rest.is_some() || !one.keywords.is_empty() || one.allow_other_keys;
        passed >= one.required.len() && (is_open || passed <= positional)
    };
    code.clauses.is_empty() || code.clauses.iter().any(takes)
}

/// The function of a code, as profiles name it.
pub(super) fn function_of(unit: &UnitMetadata, index: usize) -> Function {
    let definition = unit.definition_line(Some(index), None);
    let name = match &unit.codes[index].name {
        Some(name) => name,
        None if index == unit.entry => "body of the program",
        None => "lambda",
    };
    let (file, line) = definition.map_or((None, 0), |(file, line)| (Some(file), line));
    Function {
        name: name.to_owned(),
        file: file.or_else(|| unit.is_library.then(|| unit.name.clone())),
        line,
        is_standard: unit.is_library,
    }
}

/// Counts what is compiled for it from now on: threads of machines that are made later have counters. It
/// cannot be turned off.
pub fn turn_on(counting: Counting) {
    IS_ON.store(true, Ordering::Relaxed);
    COUNTS_CALLS.fetch_or(counting.calls, Ordering::Relaxed);
}

/// Whether calls are counted.
pub fn counts_calls() -> bool {
    COUNTS_CALLS.load(Ordering::Relaxed)
}

impl Thread {
    /// Counts a call at a site that is not the one that generated code counts itself.
    pub(crate) fn count_call(&mut self, callee: Value, site: u32, passed: usize) {
        let Some(table) = self.counters.0.clone() else {
            return;
        };
        // A call of anything else is an error.
        let Some(code) = CodeRef::of_closure(callee) else {
            return;
        };
        let start = site as usize;
        let Some(words) = table.words.get(start..start + call_site::WORDS) else {
            return;
        };
        // Only this thread writes them.
        let mut free = None;
        for pair in words.chunks_exact(2) {
            let known = pair[0].load(Ordering::Relaxed);
            if known == code.word() {
                pair[1].store(pair[1].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                return;
            }
            if known == 0 {
                free = Some(pair);
                break;
            }
        }
        // A call that the procedure does not accept enters nothing. The number is that of the site, so
        // code which was counted here accepts it.
        if !accepts(&self.vm, code, passed) {
            return;
        }
        let is_new = match free {
            Some(pair) => {
                pair[0].store(code.word(), Ordering::Relaxed);
                pair[1].store(1, Ordering::Relaxed);
                true
            }
            None => {
                let mut others = table.others.lock();
                let count = others.entry((site, code.word())).or_insert(0);
                *count += 1;
                *count == 1
            }
        };
        if is_new {
            let mut called = CALLED.lock();
            let called = called.get_or_insert_default();
            called.entry(code.word()).or_insert_with(|| {
                self.vm.shared_roots.keep_code(code.value());
                Called::of(&self.vm, code)
            });
        }
    }
}

impl InPlace {
    /// Counts a call at a site, for compiled code.
    pub fn count_call(&mut self, callee: Value, site: u32, passed: usize) {
        self.0.count_call(callee, site, passed);
    }
}

/// Counts of one procedure's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    pub interpreted: u64,
    pub compiled: u64,
    pub inlined: u64,
}

impl Entries {
    pub fn sum(&self) -> u64 {
        self.interpreted + self.compiled + self.inlined
    }
}

/// All counts, summed up over the threads.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The counters that the compiler put into the code.
    pub ledger: Counters,
    words: Vec<u64>,
    /// By site and called code.
    sites: Vec<(u32, u64, u64)>,
    called: HashMap<u64, Called>,
}

/// Takes all counts as they are now. Threads that are at work count on meanwhile.
pub fn take() -> Counts {
    let ledger = Ledger::get().counters();
    let mut counts = Counts {
        words: vec![0; ledger.words],
        ledger,
        ..Counts::default()
    };
    let mut sites: HashMap<(u32, u64), u64> = HashMap::new();
    for table in TABLES.lock().iter() {
        for (word, sum) in table.words.iter().zip(&mut counts.words) {
            *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
        }
        for (first, counter) in &counts.ledger.rows {
            if let Counter::Site(_) = counter {
                let start = *first as usize;
                for pair in table.words[start..start + call_site::WORDS].chunks_exact(2) {
                    let code = pair[0].load(Ordering::Relaxed);
                    if code != 0 {
                        let count = pair[1].load(Ordering::Relaxed);
                        *sites.entry((*first, code)).or_insert(0) += count;
                    }
                }
            }
        }
        for (place, count) in table.others.lock().iter() {
            *sites.entry(*place).or_insert(0) += count;
        }
    }
    counts.sites = sites
        .into_iter()
        .map(|((site, code), count)| (site, code, count))
        .collect();
    counts.sites.sort_unstable();
    if let Some(called) = CALLED.lock().as_ref() {
        counts.called = called.clone();
    }
    counts
}

impl Counts {
    /// The count of a counter of one word.
    pub fn word(&self, first: u32) -> u64 {
        self.words.get(first as usize).copied().unwrap_or(0)
    }

    /// The counts of a procedure's entries.
    pub fn entries(&self, first: u32) -> Entries {
        Entries {
            interpreted: self.word(first),
            compiled: self.word(first + 1),
            inlined: self.word(first + 2),
        }
    }

    /// Calls at all sites: the site, what was called, how often.
    pub fn sites(&self) -> impl Iterator<Item = (u32, Option<&Called>, u64)> {
        let sites = self.sites.iter();
        sites.map(|(site, code, count)| (*site, self.called.get(code), *count))
    }
}

/// A call edge; calls from outside of counted code have no caller.
type Edge = (Option<Called>, Called);

/// The sums of a profile: calls by edge, and the entries of each procedure.
#[derive(Clone, Debug, Default)]
struct Sums {
    calls: HashMap<Edge, u64>,
    entries: HashMap<Called, Entries>,
}

impl Sums {
    fn of(counts: &Counts) -> Sums {
        let mut sums = Sums::default();
        let function =
            |id: FunctionId| Called::Function(counts.ledger.functions[id.0 as usize].clone());
        let mut callers: HashMap<u32, FunctionId> = HashMap::new();
        for (first, counter) in &counts.ledger.rows {
            match counter {
                Counter::Entries(id) => {
                    let sum = sums.entries.entry(function(*id)).or_default();
                    sum.add(counts.entries(*first));
                }
                Counter::Edge(caller, callee) => {
                    let callee = match callee {
                        Callee::Function(id) => function(*id),
                        Callee::Primitive(id) => Called::Primitive(*id),
                    };
                    let edge = (Some(function(*caller)), callee);
                    *sums.calls.entry(edge).or_default() += counts.word(*first);
                }
                Counter::Site(caller) => {
                    callers.insert(*first, *caller);
                }
                Counter::Point(_) => {}
            }
        }
        for (site, called, count) in counts.sites() {
            if let (Some(caller), Some(called)) = (callers.get(&site), called) {
                let edge = (Some(function(*caller)), called.clone());
                *sums.calls.entry(edge).or_default() += count;
            }
        }
        // A procedure that was entered more often than it was called was called by code that does not
        // count: a primitive, the machine, or a library.
        let mut known: HashMap<&Called, u64> = HashMap::new();
        for ((_, callee), calls) in &sums.calls {
            *known.entry(callee).or_default() += calls;
        }
        let mut others = Vec::new();
        for (callee, entries) in &sums.entries {
            let known = known.get(callee).copied().unwrap_or(0);
            if let Some(calls @ 1..) = entries.sum().checked_sub(known) {
                others.push(((None, callee.clone()), calls));
            }
        }
        sums.calls.extend(others);
        sums
    }

    /// Takes away what was counted before.
    fn subtract(&mut self, before: &Sums) {
        for (edge, calls) in &mut self.calls {
            *calls = calls.saturating_sub(before.calls.get(edge).copied().unwrap_or(0));
        }
        for (callee, entries) in &mut self.entries {
            if let Some(before) = before.entries.get(callee) {
                entries.subtract(*before);
            }
        }
    }
}

impl Entries {
    fn add(&mut self, more: Entries) {
        self.interpreted += more.interpreted;
        self.compiled += more.compiled;
        self.inlined += more.inlined;
    }

    fn subtract(&mut self, before: Entries) {
        self.interpreted = self.interpreted.saturating_sub(before.interpreted);
        self.compiled = self.compiled.saturating_sub(before.compiled);
        self.inlined = self.inlined.saturating_sub(before.inlined);
    }
}

/// The counts before a profile began.
#[derive(Debug)]
pub(super) struct Baseline(Sums);

impl Baseline {
    pub(super) fn now() -> Baseline {
        Baseline(Sums::of(&take()))
    }

    /// Adds what was counted since to the rows of a profile. How the calls of a procedure ran is known
    /// for all of them together, and stands in the row of its first caller.
    pub(super) fn rows_since(&self, rows: &mut Builder) {
        let counts = take();
        if counts.ledger.is_full {
            rows.note(None, 0, "there was too much code to count all of it");
        }
        let mut sums = Sums::of(&counts);
        sums.subtract(&self.0);
        let mut edges: Vec<(Edge, u64)> = sums.calls.into_iter().collect();
        edges.retain(|(_, calls)| *calls > 0);
        edges.sort_by(
            |((caller, callee), calls), ((other_caller, other), other_calls)| {
                let key = |called: &Called| (called.name().to_owned(), called.clone());
                let by_callee = key(callee).cmp(&key(other));
                by_callee
                    .then(other_calls.cmp(calls))
                    .then_with(|| caller.cmp(other_caller))
            },
        );
        for ((caller, callee), calls) in edges {
            let entries = sums.entries.remove(&callee).unwrap_or_default();
            let row = Count {
                caller: caller.map(|caller| caller.row(rows)),
                callee: callee.row(rows),
                calls,
                interpreted: entries.interpreted,
                compiled: entries.compiled,
                inlined: entries.inlined,
                ..Count::default()
            };
            rows.count(row);
        }
    }
}

impl Called {
    fn row(&self, rows: &mut Builder) -> FunctionIndex {
        match self {
            Called::Function(function) => {
                let group = if function.is_standard {
                    Group::Library
                } else {
                    Group::Program
                };
                let file = function.file.as_deref();
                rows.function(&function.name, file, function.line, group)
            }
            Called::Primitive(id) => rows.function(by_id(*id).name, None, 0, Group::Machine),
        }
    }
}
