//! Collects what all procedures of a unit share: constants, source files and rows of inlined calls.
//!
//! Equal constants may share one object if their identity cannot be observed. Numbers of the
//! compiler (sources, inlinings) become indices of the unit here, and only those that are used are
//! in it. It also knows which procedures capture nothing, so that one closure serves all.

use std::collections::HashMap;
use std::sync::Arc;

use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::{EXPANDED, SourceId, SourceMap, Span};

use crate::assembler::Gap;
use crate::counting::FunctionId;
use crate::ir::{ProcedureId, Program};
use crate::optimize::inlinings::Inlinings;
use crate::shadowing::{Shadowing, Visibility};
use crate::unit::{CodeBlock, ExpandedUse, InlinedCall, SourceFile, UnitSpan, inlined_calls};

/// Identity of a constant: equal keys may share one object.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ConstantKey {
    Atom(u8, u32),
    Number(String),
    Name(bool, Name),
    /// Address of a shared part; the unit keeps it alive.
    Shared(usize),
}

/// Tables of the unit under construction.
pub(crate) struct UnitBuilder {
    pub constants: Vec<Datum>,
    index: HashMap<ConstantKey, u32>,
    pub sources: Vec<SourceFile>,
    source_index: HashMap<SourceId, u32>,
    pub inlined: Vec<InlinedCall>,
    /// By procedure: numbers of places in expansions, from a word on.
    pub expanded: Vec<Vec<(u32, Option<u32>)>>,
    inlinings: Option<Inlinings>,
    /// The unit's number of a row by the compiler's.
    inlined_index: HashMap<u32, u32>,
    closed: Vec<bool>,
    /// Where variables are hidden.
    pub shadowing: Shadowing,
    /// Whether to keep where variables are, and to keep them live.
    pub keeps_variables: bool,
    /// Whether to keep where they are.
    pub names_variables: bool,
    /// Whether marks become counters.
    pub is_counting: bool,
    /// By procedure, if calls are counted: what counts name it.
    pub counted_functions: Option<Vec<FunctionId>>,
}

impl UnitBuilder {
    pub fn new(program: &Program, inlinings: Option<Inlinings>) -> UnitBuilder {
        UnitBuilder {
            constants: Vec::new(),
            index: HashMap::new(),
            sources: Vec::new(),
            source_index: HashMap::new(),
            inlined: Vec::new(),
            expanded: Vec::new(),
            inlinings,
            inlined_index: HashMap::new(),
            closed: find_closed(program),
            shadowing: Shadowing::default(),
            keeps_variables: false,
            names_variables: false,
            is_counting: false,
            counted_functions: None,
        }
    }

    /// Whether closures over this procedure capture nothing, so that there is one for all.
    pub fn is_closed(&self, id: ProcedureId) -> bool {
        self.closed[id.0 as usize]
    }

    /// Index of the constant that stands for this literal.
    pub fn constant(&mut self, datum: &Datum) -> u32 {
        let key = constant_key(datum);
        if let Some(index) = self.index.get(&key) {
            return *index;
        }
        let index = self.constants.len() as u32;
        self.constants.push(datum.clone());
        self.index.insert(key, index);
        index
    }

    /// The span with its source as an index into the unit's sources.
    pub fn unit_span(&mut self, span: Span) -> Option<UnitSpan> {
        if !span.is_some() {
            return None;
        }
        let next = self.sources.len() as u32;
        let source = *self.source_index.entry(span.source).or_insert(next);
        if source == next {
            self.sources.push(SourceFile {
                name: String::new(),
                line_starts: Vec::new(),
                continuations: Vec::new(),
                id: span.source,
                expansion: None,
            });
        }
        Some(UnitSpan {
            source,
            start: span.start,
            end: span.end.max(span.start),
            inlining: self.inlining(span.inlining),
        })
    }

    /// The same for the position of an instruction, which keeps the number of its place in an expansion.
    pub fn position(&mut self, span: Span) -> Option<UnitSpan> {
        let mut position = self.unit_span(span)?;
        if span.inlining >= EXPANDED {
            position.inlining = span.inlining;
        }
        Some(position)
    }

    /// Gives the codes their places in expansions.
    pub fn place_expansions(&mut self, map: &SourceMap, codes: &mut [CodeBlock]) {
        let expanded = std::mem::take(&mut self.expanded);
        for (code, numbers) in codes.iter_mut().zip(expanded) {
            let places = numbers.into_iter().map(|(pc, number)| {
                let place = number.and_then(|number| self.expanded_place(map, number));
                (pc, place)
            });
            code.expanded = places.collect();
        }
    }

    fn expanded_place(&mut self, map: &SourceMap, number: u32) -> Option<UnitSpan> {
        let place = map.expanded(number)?;
        let known = self.sources.len();
        let span = self.unit_span(place)?;
        if span.source as usize == known {
            // Uses in expansions are parts of older ones.
            let expansion = map.get(place.source)?.expansion.clone()?;
            let used = self.unit_span(expansion.used)?;
            let inside = self.expanded_place(map, expansion.used.inlining);
            let keyword = expansion.keyword;
            let parts = map.parts(place.source);
            let parts = parts.iter().filter_map(|(from, to)| {
                let written = self.unit_span(*from);
                let from = self.expanded_place(map, from.inlining).or(written)?;
                Some((from, self.unit_span(*to)?))
            });
            let parts = parts.collect();
            self.sources[known].expansion = Some(Box::new(ExpandedUse {
                keyword,
                used,
                inside,
                parts,
            }));
        }
        Some(span)
    }

    /// The call that a copy replaced.
    pub fn call_of_copy(&self, number: u32) -> Option<Span> {
        let rows = self.inlinings.as_ref()?;
        rows.row(number).map(|row| row.call)
    }

    /// Whether the code came with an imported procedure.
    pub fn is_imported(&self, span: Span) -> bool {
        let rows = self.inlinings.as_ref();
        rows.is_some_and(|rows| rows.is_imported(span))
    }

    /// The unit's number of a copy, parents first. Chains are short, see [`Inlinings`].
    fn inlining(&mut self, number: u32) -> u32 {
        let rows = self.inlinings.as_ref();
        let Some(row) = rows.and_then(|rows| rows.row(number)).copied() else {
            return 0;
        };
        if let Some(known) = self.inlined_index.get(&number) {
            return *known;
        }
        let Some(call) = self.unit_span(row.call) else {
            return 0;
        };
        self.inlined.push(InlinedCall {
            procedure: row.procedure,
            call,
            is_imported: row.is_imported,
        });
        let own = self.inlined.len() as u32;
        self.inlined_index.insert(number, own);
        own
    }

    /// The unit's number of the copy that a span lies in.
    pub fn copy_number(&mut self, span: Span) -> u32 {
        self.inlining(span.inlining)
    }

    /// Where a variable is in force, if that is not all of the code in which its binding form puts it.
    pub fn visibility(&self, name: Name, bound: Span) -> Option<&Visibility> {
        self.shadowing.of_variable(name, bound)
    }

    /// Whether a variable is not in force in code with a position, or in code whose copy has it.
    pub fn gap(&self, visibility: &Visibility, at: UnitSpan) -> Option<Gap> {
        let contains = |span: &Span| {
            let source = self.source_index.get(&span.source);
            let is_inside = |at: UnitSpan| {
                source == Some(&at.source) && span.start <= at.start && at.end <= span.end
            };
            let mut calls = inlined_calls(&self.inlined, at).map(|row| row.call);
            is_inside(at) || calls.any(is_inside)
        };
        if visibility
            .limit
            .as_ref()
            .is_some_and(|limit| !contains(limit))
        {
            return Some(Gap::Elsewhere);
        }
        let is_hidden = visibility.hidden.iter().any(contains);
        is_hidden.then_some(Gap::Unknown)
    }

    /// Gives the sources their names and lines.
    pub fn name_sources(&mut self, map: &SourceMap) {
        for file in &mut self.sources {
            if let Some(source) = map.get(file.id) {
                file.name = source.name.clone();
                file.line_starts = line_starts(&source.text);
                file.continuations = continuations(&source.text);
            }
        }
    }
}

fn continuations(text: &str) -> Vec<u32> {
    if text.is_ascii() {
        return Vec::new();
    }
    let bytes = text.bytes().enumerate();
    bytes
        .filter(|(_, byte)| byte & 0xC0 == 0x80)
        .map(|(at, _)| at as u32)
        .collect()
}

fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let ends = (0..bytes.len()).filter(|&at| {
        bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
    });
    std::iter::once(0)
        .chain(ends.map(|at| at as u32 + 1))
        .collect()
}

fn constant_key(datum: &Datum) -> ConstantKey {
    match datum {
        Datum::Nil => ConstantKey::Atom(0, 0),
        Datum::Boolean(value) => ConstantKey::Atom(1, u32::from(*value)),
        Datum::Character(character) => ConstantKey::Atom(2, u32::from(*character)),
        Datum::Eof => ConstantKey::Atom(3, 0),
        Datum::Unspecified => ConstantKey::Atom(4, 0),
        Datum::DefaultObject => ConstantKey::Atom(5, 0),
        Datum::LabelRef(label) => ConstantKey::Atom(6, *label),
        Datum::Object(number) => ConstantKey::Atom(7, *number),
        Datum::Number(number) => ConstantKey::Number(format!("{number:?}")),
        Datum::Symbol(name) => ConstantKey::Name(false, *name),
        Datum::Keyword(name) => ConstantKey::Name(true, *name),
        Datum::String(text) => ConstantKey::Shared(address(text)),
        Datum::Pair(pair) => ConstantKey::Shared(address(pair)),
        Datum::Vector(elements) => ConstantKey::Shared(address(elements)),
        Datum::Bytevector(bytes) | Datum::NumericVector(_, bytes) => {
            ConstantKey::Shared(address(bytes))
        }
        Datum::Labelled(_, labelled) => ConstantKey::Shared(address(labelled)),
    }
}

fn address<T: ?Sized>(shared: &Arc<T>) -> usize {
    Arc::as_ptr(shared).cast::<()>().addr()
}

/// The procedures whose free variables, if any, are all bound to such procedures themselves.
fn find_closed(program: &Program) -> Vec<bool> {
    let mut closed = vec![true; program.procedures.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, procedure) in program.procedures.iter().enumerate() {
            let is_open = procedure.free.iter().any(|var| {
                program.known[var.0 as usize].is_none_or(|known| !closed[known.0 as usize])
            });
            if closed[index] && is_open {
                closed[index] = false;
                changed = true;
            }
        }
    }
    closed
}
