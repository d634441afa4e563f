//! Macro uses as heap objects, and what transformers return as syntax.
//!
//! A use becomes pairs and vectors whose atoms are data and whose symbols are identifiers. Positions do
//! not travel: when the result comes back, the use and its objects are walked side by side, so that
//! every object of the use that is part of the result gets its position again. No heap allocation
//! happens during that walk.

use std::collections::HashMap;

use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::procedural::MacroIdentifier;
use canny_syntax::span::Span;
use canny_syntax::syntax::{AliasId, Identifier, Leaf, Syntax, SyntaxKind};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{Raise, Thread};

use super::RESULT_NODES_MAX;
use super::identifiers::{identifier_object, identifier_of};
use crate::primitives::evaluation::datum_of_atom;

/// The role of symbols in a use or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbols {
    /// Identifiers are objects; a bare symbol in a result is an error.
    Refused,
    /// The use's own identifiers are symbols, and so in results.
    Plain,
    /// As `Plain`, but symbols of a result mean what they mean at the macro's definition.
    Renamed,
    /// Identifiers are objects, and symbols of a result mean what they mean at the macro's definition.
    Inserted,
}

/// A result, whose identifiers with an alias `n` other than zero are `identifiers[n - 1]`.
#[derive(Debug)]
pub(super) struct RawResult {
    pub syntax: Syntax,
    pub identifiers: Vec<MacroIdentifier>,
}

/// The use as a heap object.
pub(super) fn heap_object(
    thread: &mut Thread,
    form: &Syntax,
    epoch: u64,
    symbols: Symbols,
) -> Result<Value, Raise> {
    let plain = matches!(symbols, Symbols::Plain | Symbols::Renamed);
    let mut embedded: HashMap<Identifier, u32> = HashMap::new();
    let mut failure = None;
    let datum = form.to_datum_with(&mut |leaf| match leaf {
        Leaf::Identifier(identifier) if plain && identifier.alias == AliasId::NONE => {
            Datum::Symbol(identifier.name)
        }
        Leaf::Identifier(identifier) => {
            // With explicit renaming equal identifiers are `eq?`; otherwise each has a position of its own.
            if let Some(number) = embedded.get(&identifier).filter(|_| plain) {
                return Datum::Object(*number);
            }
            let known = MacroIdentifier::Known { epoch, identifier };
            match identifier_object(thread, &known) {
                Ok(object) => {
                    let number = thread.embed(object);
                    embedded.insert(identifier, number);
                    Datum::Object(number)
                }
                Err(raise) => {
                    failure = Some(raise);
                    Datum::Nil
                }
            }
        }
        // An object of the machine that the program runs in cannot come here.
        Leaf::Atom(Datum::Object(_)) => Datum::Unspecified,
        Leaf::Atom(atom) => atom.clone(),
    });
    if let Some(raise) = failure {
        return Err(raise);
    }
    let result = thread.constant(&datum);
    thread.forget_embedded();
    result
}

/// Where the objects of a use stood.
pub(super) struct Places<'s> {
    by_object: HashMap<u64, &'s Syntax>,
}

impl<'s> Places<'s> {
    /// Walks a use and its object side by side.
    pub(super) fn of(form: &'s Syntax, object: Value) -> Places<'s> {
        let mut by_object = HashMap::new();
        let mut pending = vec![(form, object)];
        while let Some((syntax, value)) = pending.pop() {
            let syntax = syntax.unlabelled();
            if !is_heap_object(value) {
                continue;
            }
            match &syntax.kind {
                SyntaxKind::Pair(pair) => {
                    if by_object.insert(value.bits(), syntax).is_none()
                        && let Some(cell) = value.as_pair()
                    {
                        pending.push((&pair.cdr, cell.cdr()));
                        pending.push((&pair.car, cell.car()));
                    }
                }
                SyntaxKind::Vector(elements) => {
                    by_object.insert(value.bits(), syntax);
                    if let Some(vector) = value.as_kind(Kind::Vector) {
                        let parts = elements.as_slice().iter().enumerate();
                        pending.extend(
                            parts
                                .take(vector.length())
                                .map(|(index, part)| (part, vector.field(index))),
                        );
                    }
                }
                SyntaxKind::Identifier(_) => {
                    if value.is_kind(Kind::Identifier) {
                        by_object.insert(value.bits(), syntax);
                    }
                }
                SyntaxKind::Atom(_) | SyntaxKind::Labelled(..) => {
                    by_object.insert(value.bits(), syntax);
                }
            }
        }
        Places { by_object }
    }

    fn syntax(&self, object: Value) -> Option<&'s Syntax> {
        if !is_heap_object(object) {
            return None;
        }
        self.by_object.get(&object.bits()).copied()
    }

    /// Where an object stood, if it is part of the use.
    pub(super) fn span(&self, object: Value) -> Option<Span> {
        self.syntax(object)
            .map(|syntax| syntax.span)
            .filter(|span| span.is_some())
    }
}

fn is_heap_object(value: Value) -> bool {
    value.is_pair() || value.as_object().is_some()
}

/// The work that remains to convert a result.
enum Work<'s> {
    /// A value, and the syntax that stood at its place in the use.
    Visit(Value, Option<&'s Syntax>),
    Pair(Span),
    Vector(Span, usize),
}

/// A transformer's result as syntax, or why it is none.
pub(super) fn result_syntax(
    thread: &Thread,
    result: Value,
    places: &Places<'_>,
    whole: Span,
    symbols: Symbols,
) -> Result<RawResult, String> {
    let mut atoms = Atoms {
        thread,
        symbols,
        identifiers: Vec::new(),
        numbers: HashMap::new(),
    };
    let mut finished: Vec<Syntax> = Vec::new();
    let mut pending = vec![Work::Visit(result, None)];
    let mut nodes = 0_usize;
    while let Some(work) = pending.pop() {
        let (value, at_place) = match work {
            Work::Visit(value, at_place) => (value, at_place),
            Work::Pair(span) => {
                let cdr = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                let car = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                finished.push(Syntax::cons(span, car, cdr));
                continue;
            }
            Work::Vector(span, count) => {
                let elements = finished.split_off(finished.len() - count);
                finished.push(Syntax::vector(span, elements));
                continue;
            }
        };
        nodes += 1;
        if nodes > RESULT_NODES_MAX {
            return Err("the expansion is too large, or contains itself".to_owned());
        }
        let known = places.syntax(value);
        let span = known
            .map(|syntax| syntax.span)
            .filter(|span| span.is_some())
            .unwrap_or(whole);
        if let Some(pair) = value.as_pair() {
            let parts = known.and_then(Syntax::as_pair);
            pending.push(Work::Pair(span));
            pending.push(Work::Visit(pair.cdr(), parts.map(|parts| &parts.cdr)));
            pending.push(Work::Visit(pair.car(), parts.map(|parts| &parts.car)));
        } else if let Some(vector) = value.as_kind(Kind::Vector) {
            let parts = known.and_then(Syntax::as_vector).unwrap_or_default();
            let elements = (0..vector.length()).rev();
            pending.push(Work::Vector(span, vector.length()));
            pending
                .extend(elements.map(|index| Work::Visit(vector.field(index), parts.get(index))));
        } else {
            finished.push(atoms.atom(value, span, at_place)?);
        }
    }
    Ok(RawResult {
        syntax: finished.pop().unwrap_or_else(|| Syntax::nil(whole)),
        identifiers: atoms.identifiers,
    })
}

/// Converts what is neither pair nor vector.
struct Atoms<'t> {
    thread: &'t Thread,
    symbols: Symbols,
    identifiers: Vec<MacroIdentifier>,
    numbers: HashMap<MacroIdentifier, u32>,
}

impl Atoms<'_> {
    /// The alias under which the result refers to an identifier.
    fn alias(&mut self, identifier: MacroIdentifier) -> AliasId {
        let identifiers = &mut self.identifiers;
        let number = self
            .numbers
            .entry(identifier)
            .or_insert_with_key(|identifier| {
                identifiers.push(identifier.clone());
                identifiers.len() as u32
            });
        AliasId(*number)
    }

    fn atom(
        &mut self,
        value: Value,
        span: Span,
        at_place: Option<&Syntax>,
    ) -> Result<Syntax, String> {
        if let Some(identifier) = identifier_of(self.thread, value) {
            let name = identifier.name();
            let alias = self.alias(identifier);
            return Ok(Syntax::identifier(span, Identifier { name, alias }));
        }
        if let Some(name) = symbol_name(value) {
            return self.symbol(Name::new(&name), span, at_place);
        }
        match datum_of_atom(value) {
            Some(datum) => {
                let unmoved = at_place.filter(|syntax| syntax.as_atom() == Some(&datum));
                Ok(Syntax::atom(
                    unmoved.map_or(span, |syntax| syntax.span),
                    datum,
                ))
            }
            None => {
                let kind = value
                    .as_object()
                    .map_or("object", |object| object.kind().row().name);
                Err(format!(
                    "the expansion contains a {kind}, which no program text can denote"
                ))
            }
        }
    }

    /// A bare symbol; it has a position when the same symbol stood at its place in the use.
    fn symbol(
        &mut self,
        name: Name,
        span: Span,
        at_place: Option<&Syntax>,
    ) -> Result<Syntax, String> {
        let plain = Identifier::plain(name);
        let identifier = match self.symbols {
            Symbols::Plain => plain,
            Symbols::Renamed | Symbols::Inserted => Identifier {
                name,
                alias: self.alias(MacroIdentifier::Renamed(name)),
            },
            Symbols::Refused => {
                return Err(format!(
                    "the expansion contains the bare symbol {name}, which belongs nowhere: identifiers come \
                     from templates or from datum->syntax"
                ));
            }
        };
        let unmoved = at_place.filter(|syntax| syntax.as_identifier() == Some(plain));
        let span = unmoved.map_or(span, |syntax| syntax.span);
        Ok(Syntax::identifier(span, identifier))
    }
}
