//! The format of callgrind, for KCachegrind, QCachegrind and `callgrind_annotate`.
//!
//! A function has a cost for each of its lines, and for each line that calls another function the
//! number of calls and their inclusive cost. Tools add a function's total up from the costs of
//! calls to it. So a call to a function that is on the stack already costs nothing here, and a
//! function `(root)` calls those that have no caller. Calls are exact where the profile
//! has counts, else they are numbers of samples.
//!
//! A name ends with its line, so a control character becomes a space. Tools take functions with the
//! same name and file for one; the others of such a group get their line behind the name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use crate::analysis::{Cost, Edge, Grain, Place, Unit, Weights, call_edges, totals};
use crate::model::{FunctionIndex, Profile};

/// The text of a callgrind file.
pub fn callgrind(weights: &Weights) -> String {
    let profile = weights.profile;
    let (event, title) = match weights.measure.unit() {
        Unit::Nanoseconds => ("ns", "Nanoseconds"),
        Unit::Bytes => ("bytes", "Bytes"),
    };
    let header = &profile.header;
    let mut text = String::from("# callgrind format\nversion: 1\n");
    let _ = write!(
        text,
        "creator: canny {}\npid: {}\ncmd: {}\npart: 1\n\npositions: line\n\
         event: {event} : {title}\nevents: {event}\nsummary: {}\n",
        one_line(&header.canny),
        header.pid,
        one_line(&header.program),
        weights.total.weight
    );
    let mut names = Names::new(profile);
    for (caller, block) in blocks(weights) {
        let _ = write!(
            text,
            "\n{}\n{}\n",
            names.file("fl", caller),
            names.function("fn", caller)
        );
        for (line, cost) in block.lines {
            let _ = writeln!(text, "{line} {}", cost.weight);
        }
        for (edge, cost, calls) in block.calls {
            let line = edge.caller.map_or(0, |(_, line)| line);
            let callee = Some(edge.callee);
            let target = profile.function(edge.callee).line;
            let _ = write!(
                text,
                "{}\n{}\ncalls={calls} {target}\n{line} {}\n",
                names.file("cfl", callee),
                names.function("cfn", callee),
                cost.weight
            );
        }
    }
    text
}

/// The costs and calls of one function.
#[derive(Default)]
struct Block {
    lines: BTreeMap<u32, Cost>,
    calls: Vec<(Edge, Cost, u64)>,
}

fn blocks(weights: &Weights) -> BTreeMap<Option<FunctionIndex>, Block> {
    let mut blocks: BTreeMap<Option<FunctionIndex>, Block> = BTreeMap::new();
    for one in totals(weights, Grain::Line) {
        let (function, line) = match one.place {
            Place::Line(function, line) => (Some(function), line),
            _ => (None, 0),
        };
        *blocks
            .entry(function)
            .or_default()
            .lines
            .entry(line)
            .or_default() += one.own;
    }
    let mut counts: HashMap<(Option<FunctionIndex>, FunctionIndex), u64> = HashMap::new();
    for count in &weights.profile.rows.counts {
        let calls = counts.entry((count.caller, count.callee)).or_default();
        *calls = calls.saturating_add(count.calls);
    }
    let is_exact = !counts.is_empty();
    for (edge, cost) in call_edges(weights) {
        let caller = edge.caller.map(|(function, _)| function);
        // The counts do not tell lines apart: the first line of a caller takes them all.
        let exact = counts.get_mut(&(caller, edge.callee)).map(std::mem::take);
        // A number of samples among exact counts would say nothing.
        let sampled = if is_exact { 1 } else { cost.count };
        let calls = exact.unwrap_or(sampled).max(1);
        blocks
            .entry(caller)
            .or_default()
            .calls
            .push((edge, cost, calls));
    }
    // Calls that no sample saw.
    let mut unseen: Vec<_> = counts.into_iter().filter(|(_, calls)| *calls > 0).collect();
    unseen.sort_unstable();
    for ((caller, callee), calls) in unseen {
        let line_of = |function| weights.profile.function(function).line;
        let edge = Edge {
            caller: caller.map(|caller| (caller, line_of(caller))),
            callee,
        };
        let block = blocks.entry(caller).or_default();
        block.calls.push((edge, Cost::default(), calls));
    }
    blocks
}

/// Names in the file: the first time with a number and the name, then with the number alone.
struct Names<'profile> {
    profile: &'profile Profile,
    functions: HashMap<Option<FunctionIndex>, (usize, String)>,
    files: HashMap<String, usize>,
    /// Names with their files that are taken.
    taken: HashSet<(String, String)>,
    written: HashSet<usize>,
}

impl<'profile> Names<'profile> {
    fn new(profile: &'profile Profile) -> Names<'profile> {
        Names {
            profile,
            functions: HashMap::new(),
            files: HashMap::new(),
            taken: HashSet::new(),
            written: HashSet::new(),
        }
    }

    fn file_name(&self, function: Option<FunctionIndex>) -> String {
        let file = function.and_then(|function| self.profile.function_file(function));
        match file.map(one_line) {
            Some(file) if !file.trim().is_empty() => file,
            _ => "???".to_owned(),
        }
    }

    fn file(&mut self, key: &str, function: Option<FunctionIndex>) -> String {
        let file = self.file_name(function);
        let next = self.files.len() + 1;
        if let Some(number) = self.files.get(&file) {
            return format!("{key}=({number})");
        }
        let line = format!("{key}=({next}) {file}");
        self.files.insert(file, next);
        line
    }

    fn function(&mut self, key: &str, function: Option<FunctionIndex>) -> String {
        let next = self.functions.len() + 1;
        let (number, name) = match self.functions.get(&function) {
            Some((number, name)) => (*number, name.clone()),
            None => {
                let name = self.unused_name(function);
                self.functions.insert(function, (next, name.clone()));
                (next, name)
            }
        };
        if self.written.insert(number) {
            return format!("{key}=({number}) {name}");
        }
        format!("{key}=({number})")
    }

    /// The name of a function, made different from those before.
    fn unused_name(&mut self, function: Option<FunctionIndex>) -> String {
        let file = self.file_name(function);
        let plain = function.map_or("(root)", |function| self.profile.function_name(function));
        let plain = match one_line(plain).trim() {
            "" => "(anonymous)".to_owned(),
            name => name.to_owned(),
        };
        let line = function.map_or(0, |function| self.profile.function(function).line);
        let mut name = plain.clone();
        let mut suffix = None;
        while !self.taken.insert((file.clone(), name.clone())) {
            name = match suffix {
                None => format!("{plain} at {line}"),
                Some(number) => format!("{plain} at {line} #{number}"),
            };
            // Different for each function, so that the next attempt mostly succeeds.
            let row = function.map_or(0, |function| u64::from(function.number()));
            suffix = Some(suffix.map_or(row, |number| number + 1));
        }
        name
    }
}

/// A text without control characters, which end lines in formats of text.
pub(crate) fn one_line(text: &str) -> String {
    let replace = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    text.chars().map(replace).collect()
}
