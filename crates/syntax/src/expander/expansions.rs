//! Expansions that are kept for people who step into them.
//!
//! The result of a macro step becomes a text of its own. Each form that the macro inserted gets the number of
//! its place in that text, beside the span of the use, which stays its position. Parts of the use keep
//! what they have. So nothing else depends on whether expansions are kept.

use std::collections::HashSet;

use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::macros::Macro;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::pretty::pretty;
use crate::reader::read_text;
use crate::span::{Expansion, SourceMap, Span};
use crate::syntax::{Identifier, Leaf, Syntax, SyntaxKind};

/// Parts of one expansion that is kept.
const PARTS_MAX: usize = 4000;
/// The deepest nesting of one that is kept.
const DEPTH_MAX: usize = 200;
/// Columns of its text.
const WIDTH: usize = 40;

/// Tells what a macro inserted from parts of its use.
#[derive(Clone, Copy)]
struct Inserted {
    used: Span,
}

impl Inserted {
    fn is_form(self, syntax: &Syntax) -> bool {
        syntax.span == self.used
    }
}

impl Expander<'_> {
    /// Keeps the result of a macro step, if that was asked for and it is not too large.
    pub(super) fn keep_expansion(
        &mut self,
        used: &Macro,
        form: &Syntax,
        scope: ScopeId,
        result: Syntax,
    ) -> Syntax {
        let left = self.libraries.expansions_left;
        let inserted = Inserted { used: form.span };
        if left == 0 || self.phase > 0 || !form.span.is_some() || !inserted.is_form(&result) {
            return result;
        }
        let Some(parts) = count_parts(&result, left.min(PARTS_MAX)) else {
            return result;
        };
        if result.as_pair().is_none() {
            return result;
        }
        self.libraries.expansions_left = left - parts;
        let text = self.text_of_expansion(&result, form, scope);
        let sources = self.libraries.sources().clone();
        let expansion = Expansion {
            keyword: used.name.as_str().to_owned(),
            used: form.span,
        };
        let source = sources.add_expansion(expansion, text.as_str());
        let read = read_text(&text, source, false);
        match (read.forms.as_slice(), read.diagnostics.is_empty()) {
            ([read], true) => {
                let mut places = Places {
                    sources: &sources,
                    inserted,
                    parts: Vec::new(),
                };
                let placed = places.form(&result, read, 0);
                sources.set_parts(source, places.parts);
                placed
            }
            // A datum that no text denotes is in it.
            _ => {
                sources.release(source);
                result
            }
        }
    }

    /// The text. A name that the macro may bind has a number if the use has the same name.
    fn text_of_expansion(&mut self, result: &Syntax, form: &Syntax, scope: ScopeId) -> String {
        let mut own = HashSet::new();
        form.to_datum_with(&mut |leaf| {
            if let Leaf::Identifier(identifier) = leaf {
                own.insert(identifier);
            }
            Datum::Nil
        });
        let names: HashSet<Name> = own.iter().map(|identifier| identifier.name).collect();
        let mut name_of = |identifier: Identifier| {
            let is_new = names.contains(&identifier.name) && !own.contains(&identifier);
            if is_new && matches!(self.resolve(identifier, scope), Denotation::Unbound(_)) {
                return Name::new(&format!("{}.1", identifier.name));
            }
            identifier.name
        };
        let datum = result.to_datum_with(&mut |leaf| match leaf {
            Leaf::Identifier(identifier) => Datum::Symbol(name_of(identifier)),
            Leaf::Atom(datum) => datum.clone(),
        });
        pretty(&datum, WIDTH)
    }
}

/// How many parts there are; none if there are too many, or if they are nested too deeply.
fn count_parts(syntax: &Syntax, max: usize) -> Option<usize> {
    let mut count = 0;
    let mut pending = vec![(syntax, 0)];
    while let Some((syntax, depth)) = pending.pop() {
        count += 1;
        if count > max || depth > DEPTH_MAX {
            return None;
        }
        match &syntax.kind {
            SyntaxKind::Pair(pair) => pending.extend([(&pair.cdr, depth), (&pair.car, depth + 1)]),
            SyntaxKind::Vector(elements) => {
                pending.extend(elements.as_slice().iter().map(|part| (part, depth + 1)));
            }
            // Its text would need the label's other places.
            SyntaxKind::Labelled(..) => return None,
            SyntaxKind::Identifier(_) | SyntaxKind::Atom(_) => {}
        }
    }
    Some(count)
}

/// Gives inserted forms the numbers of their places.
struct Places<'a> {
    sources: &'a SourceMap,
    inserted: Inserted,
    /// Parts of the use, and where they are.
    parts: Vec<(Span, Span)>,
}

impl Places<'_> {
    /// A form, and what its text was read as.
    fn form(&mut self, syntax: &Syntax, read: &Syntax, depth: usize) -> Syntax {
        if !self.inserted.is_form(syntax) {
            self.parts.push((syntax.span, read.span));
            return syntax.clone();
        }
        let inlining = self.sources.add_expanded(read.span);
        let span = Span {
            inlining,
            ..syntax.span
        };
        match (&syntax.kind, &read.kind) {
            (SyntaxKind::Pair(_), SyntaxKind::Pair(_)) => self.list(syntax, read, inlining, depth),
            (SyntaxKind::Vector(parts), SyntaxKind::Vector(read)) => {
                let parts = parts.as_slice().iter().zip(read.as_slice());
                let parts = parts.map(|(part, read)| self.form(part, read, depth + 1));
                Syntax::vector(span, parts.collect())
            }
            (kind, _) => Syntax::new(span, kind.clone()),
        }
    }

    fn list(&mut self, syntax: &Syntax, read: &Syntax, inlining: u32, depth: usize) -> Syntax {
        let mut elements = Vec::new();
        let (mut rest, mut rest_read) = (syntax, read);
        while let (SyntaxKind::Pair(pair), SyntaxKind::Pair(pair_read)) =
            (&rest.kind, &rest_read.kind)
        {
            let element = self.form(&pair.car, &pair_read.car, depth + 1);
            elements.push((rest.span, element));
            (rest, rest_read) = (&pair.cdr, &pair_read.cdr);
        }
        let tail = self.form(rest, rest_read, depth + 1);
        let whole = elements.into_iter().rev();
        let used = self.inserted.used;
        let start = used.start;
        whole.fold(tail, |rest, (span, element)| {
            // The rest may be one of a list of the use.
            let is_inserted = Span { start, ..span } == used;
            let inlining = if is_inserted { inlining } else { span.inlining };
            Syntax::cons(Span { inlining, ..span }, element, rest)
        })
    }
}
