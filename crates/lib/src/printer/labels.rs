//! Finds the parts of a datum that need labels.
//!
//! The search walks the datum once, depth first. It marks what it meets in a bitmap over the addresses,
//! two bits for each granule, so that the marks of a large datum take a fraction of its own size. A list
//! is one entry of the search's stack however long it is: the entry counts the pairs that it opened,
//! and walks over them again to close them.
//!
//! Nothing is allocated in the Scheme heap meanwhile, so addresses are identities.

use std::collections::HashMap;

use canny_tables::kinds::Kind;
use canny_tables::layout::GRANULE_BYTES;
use canny_value::{ObjectRef, Value};

use super::{Style, atoms};
use crate::hash_table::Table;

/// Parts that a search for cycles looks at before it begins to mark them.
const QUICK_PARTS: usize = 4096;
/// Nesting that it follows until then.
const QUICK_DEPTH: usize = 64;

/// The parts that need labels, by their bits, with the labels that were printed so far.
#[derive(Default)]
pub(crate) struct Labels {
    parts: HashMap<u64, Option<usize>>,
    next: usize,
}

/// Whether an object is written with other objects inside of it; see [`Style::has_parts`].
#[inline]
pub(crate) fn has_parts(value: Value) -> bool {
    value.is_pair()
        || value.as_object().is_some_and(|object| match object.kind() {
            Kind::Vector | Kind::Values => true,
            Kind::Record => !atoms::is_opaque_record(object.field(0)),
            _ => false,
        })
}

impl Labels {
    /// Labels for the parts that contain themselves.
    pub(crate) fn of_cycles(value: Value) -> Labels {
        Labels::of_cycles_in(value, Style::Write)
    }

    /// The same where hash tables are shown with what they hold.
    pub(crate) fn of_shown_cycles(value: Value) -> Labels {
        Labels::of_cycles_in(value, Style::Show)
    }

    fn of_cycles_in(value: Value, style: Style) -> Labels {
        let mut quick_parts = QUICK_PARTS;
        if !style.has_parts(value) || is_finite(value, style, &mut quick_parts, QUICK_DEPTH) {
            return Labels::default();
        }
        Search::new(false, style).run(value)
    }

    /// Labels for the parts that occur more than once.
    pub(crate) fn of_shared(value: Value) -> Labels {
        if !has_parts(value) {
            return Labels::default();
        }
        Search::new(true, Style::Write).run(value)
    }

    /// There are no labels.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a part has a label.
    #[inline]
    pub(crate) fn has(&self, value: Value) -> bool {
        !self.parts.is_empty() && self.parts.contains_key(&value.bits())
    }

    /// Tells the label of a part, and whether this is the first time.
    #[inline]
    pub(crate) fn visit(&mut self, value: Value) -> Visit {
        if self.parts.is_empty() {
            return Visit::Plain;
        }
        match self.parts.get_mut(&value.bits()) {
            None => Visit::Plain,
            Some(Some(label)) => Visit::Again(*label),
            Some(label @ None) => {
                let number = self.next;
                *label = Some(number);
                self.next += 1;
                Visit::First(number)
            }
        }
    }
}

/// The state of a part's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// It has none.
    Plain,
    /// It gets this one.
    First(usize),
    /// It has this one: the part was met before.
    Again(usize),
}

/// The numbers of the parts of an object that is no pair.
fn part_range(value: Value) -> (usize, usize) {
    let Some(object) = value.as_object() else {
        return (0, 0);
    };
    if let Some(table) = Table::of(value) {
        return (0, 2 * table.used());
    }
    let first = usize::from(object.kind() == Kind::Record);
    (first, object.length())
}

/// A part of an object by its number. A removed entry of a hash table has no part; a constant
/// stands for it.
fn part(object: ObjectRef, index: usize) -> Value {
    match Table::of(object.value()) {
        None => object.field(index),
        Some(table) => match table.association(index / 2) {
            None => Value::FALSE,
            Some((key, _)) if index.is_multiple_of(2) => key,
            Some((_, associated)) => associated,
        },
    }
}

/// Whether a walk over the datum as if it were a tree ends soon.
fn is_finite(mut value: Value, style: Style, parts_left: &mut usize, depth_left: usize) -> bool {
    loop {
        if *parts_left == 0 {
            return false;
        }
        *parts_left -= 1;
        let Some(pair) = value.as_pair() else { break };
        let car = pair.car();
        if style.has_parts(car)
            && (depth_left == 0 || !is_finite(car, style, parts_left, depth_left - 1))
        {
            return false;
        }
        value = pair.cdr();
    }
    if !style.has_parts(value) {
        return true;
    }
    let (first, end) = part_range(value);
    if depth_left == 0 || end - first > *parts_left {
        return false;
    }
    let Some(object) = value.as_object() else {
        return true;
    };
    (first..end).all(|index| {
        let part = part(object, index);
        !style.has_parts(part) || is_finite(part, style, parts_left, depth_left - 1)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New = 0,
    /// On the path from the root to the current part.
    Open = 1,
    Done = 2,
}

/// An entry of the search's stack.
enum Frame {
    /// A list: its first pair, what comes next, and how many pairs were opened.
    List {
        head: Value,
        rest: Value,
        opened: usize,
    },
    /// Another object and the index of its next part.
    Object { object: Value, next: usize },
}

struct Search {
    wants_shared: bool,
    style: Style,
    marks: Marks,
    stack: Vec<Frame>,
    labels: Labels,
}

impl Search {
    fn new(wants_shared: bool, style: Style) -> Search {
        let (marks, stack, labels) = (Marks::default(), Vec::new(), Labels::default());
        Search {
            wants_shared,
            style,
            marks,
            stack,
            labels,
        }
    }

    fn run(mut self, root: Value) -> Labels {
        self.enter(root);
        while let Some(frame) = self.stack.last_mut() {
            match frame {
                Frame::Object { object, next } => {
                    let (value, index) = (*object, *next);
                    *next += 1;
                    match value.as_object() {
                        Some(object) if index < part_range(value).1 => {
                            self.enter(part(object, index));
                        }
                        _ => {
                            self.marks.set(value, Mark::Done);
                            self.stack.pop();
                        }
                    }
                }
                Frame::List { head, rest, opened } => {
                    let current = *rest;
                    let Some(pair) = current.as_pair() else {
                        if self.style.has_parts(current) {
                            *rest = Value::NIL;
                            self.enter(current);
                        } else {
                            let (head, opened) = (*head, *opened);
                            self.close_list(head, opened);
                        }
                        continue;
                    };
                    if self.marks.get(current) == Mark::New {
                        self.marks.set(current, Mark::Open);
                        *rest = pair.cdr();
                        *opened += 1;
                        self.enter(pair.car());
                    } else {
                        let (head, opened) = (*head, *opened);
                        self.meet_again(current);
                        self.close_list(head, opened);
                    }
                }
            }
        }
        self.labels
    }

    fn enter(&mut self, value: Value) {
        if !self.style.has_parts(value) {
            return;
        }
        if value.is_pair() {
            self.stack.push(Frame::List {
                head: value,
                rest: value,
                opened: 0,
            });
        } else if self.marks.get(value) == Mark::New {
            self.marks.set(value, Mark::Open);
            self.stack.push(Frame::Object {
                object: value,
                next: part_range(value).0,
            });
        } else {
            self.meet_again(value);
        }
    }

    fn meet_again(&mut self, value: Value) {
        if self.wants_shared || self.marks.get(value) == Mark::Open {
            self.labels.parts.insert(value.bits(), None);
        }
    }

    fn close_list(&mut self, head: Value, opened: usize) {
        let mut current = head;
        for _ in 0..opened {
            self.marks.set(current, Mark::Done);
            let Some(next) = current.cdr() else { break };
            current = next;
        }
        self.stack.pop();
    }
}

/// Address bits inside of a page of the bitmap.
const PAGE_SHIFT: u32 = 16;
const MARKS_PER_WORD: usize = 32;
const PAGE_WORDS: usize = (1 << PAGE_SHIFT) / GRANULE_BYTES / MARKS_PER_WORD;

/// Two bits for each granule of those parts of the heap that were visited.
#[derive(Default)]
struct Marks {
    pages: Vec<[u64; PAGE_WORDS]>,
    index: HashMap<usize, usize>,
    /// The page that was used last: its number, its place in `pages`.
    last: Option<(usize, usize)>,
}

impl Marks {
    fn get(&mut self, value: Value) -> Mark {
        let (word, shift) = self.place(value);
        match *word >> shift & 3 {
            0 => Mark::New,
            1 => Mark::Open,
            _ => Mark::Done,
        }
    }

    fn set(&mut self, value: Value, mark: Mark) {
        let (word, shift) = self.place(value);
        *word = *word & !(3 << shift) | (mark as u64) << shift;
    }

    fn place(&mut self, value: Value) -> (&mut u64, usize) {
        let address = value.address();
        let number = address >> PAGE_SHIFT;
        let page = match self.last {
            Some((last, page)) if last == number => page,
            _ => {
                let pages = &mut self.pages;
                let page = *self.index.entry(number).or_insert_with(|| {
                    pages.push([0; PAGE_WORDS]);
                    pages.len() - 1
                });
                self.last = Some((number, page));
                page
            }
        };
        let granule = (address & ((1 << PAGE_SHIFT) - 1)) / GRANULE_BYTES;
        (
            &mut self.pages[page][granule / MARKS_PER_WORD],
            2 * (granule % MARKS_PER_WORD),
        )
    }
}
