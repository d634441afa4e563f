//! `%interpolate`: a string literal with expressions in it.
//!
//! ```text
//! (%interpolate procedure "text ~name text ~(operator operand …) text ~{expression} text ~~")
//! ```
//!
//! The value is `string-append` of the texts and of what the procedure makes of the values. A name
//! behind a tilde consists of letters, digits and inner hyphens. Names mean what they mean at the place
//! of the form. Positions of the expressions are those inside of the literal, if the source text can be
//! found and has it.

use crate::core::Expr;
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::expander::scope::ScopeId;
use crate::expander::{Expander, NESTING_LIMIT};
use crate::reader::{CharSource, Parser, Read, ReadError, SyntaxBuilder, TextSource};
use crate::span::Span;
use crate::syntax::{Syntax, SyntaxKind};

const FORM: CoreForm = CoreForm::Interpolate;

/// The text of a literal, and the place of each of its bytes in the source.
struct Literal<'a> {
    text: &'a str,
    span: Span,
    offsets: Option<Vec<u32>>,
}

impl Literal<'_> {
    /// The place of a part of the text.
    fn place(&self, start: usize, end: usize) -> Span {
        match &self.offsets {
            Some(offsets) => Span {
                start: offsets[start.min(offsets.len() - 1)],
                end: offsets[end.min(offsets.len() - 1)],
                ..self.span
            },
            None => self.span,
        }
    }

    /// Syntax read from the text, with the places in the source.
    fn placed(&self, syntax: &Syntax, depth: usize) -> Syntax {
        if depth > NESTING_LIMIT {
            // The expander will say that it is nested too deeply.
            return syntax.clone();
        }
        let span = self.place(syntax.span.start as usize, syntax.span.end as usize);
        match &syntax.kind {
            SyntaxKind::Pair(_) => {
                let parts = syntax.parts();
                let elements = parts
                    .elements
                    .iter()
                    .map(|part| self.placed(part, depth + 1));
                Syntax::list_with_tail(
                    span,
                    elements.collect(),
                    self.placed(&parts.tail, depth + 1),
                )
            }
            SyntaxKind::Vector(elements) => {
                let elements = elements
                    .as_slice()
                    .iter()
                    .map(|part| self.placed(part, depth + 1));
                Syntax::vector(span, elements.collect())
            }
            kind => Syntax::new(span, kind.clone()),
        }
    }
}

/// Where each byte of a string's value, and its end, stands in the source, whose text of the literal is
/// `raw`.
fn offsets_of(raw: &str, value: &str, start: u32) -> Option<Vec<u32>> {
    let mut offsets = Vec::with_capacity(value.len() + 1);
    let mut rest = value.chars();
    let mut raw = raw.char_indices().peekable();
    raw.next().filter(|(_, first)| *first == '"')?;
    while let Some((at, next)) = raw.next() {
        let place = start + at as u32;
        if next == '"' {
            offsets.push(place);
            return rest.next().is_none().then_some(offsets);
        }
        if next == '\\' {
            let (_, escape) = raw.next()?;
            match escape {
                'x' | 'X' => while raw.next()?.1 != ';' {},
                ' ' | '\t' | '\n' | '\r' => {
                    while raw.peek().is_some_and(|(_, blank)| blank.is_whitespace()) {
                        raw.next();
                    }
                    continue;
                }
                _ => {}
            }
        }
        let character = rest.next()?;
        if next != '\\' && character != next {
            return None;
        }
        offsets.extend(std::iter::repeat_n(place, character.len_utf8()));
    }
    None
}

impl Expander<'_> {
    pub(crate) fn interpolate(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let [procedure, literal] = operands else {
            return self.bad_expression(FORM, span, "expected a string literal");
        };
        let Some(Datum::String(text)) = literal.as_atom() else {
            let message = format!("`{literal}` is not a string literal");
            return self.bad_expression(FORM, literal.span, message);
        };
        let source = self.libraries.sources().get(literal.span.source);
        let raw = source.as_ref().and_then(|source| {
            source
                .text
                .get(literal.span.start as usize..literal.span.end as usize)
        });
        let literal = Literal {
            text,
            span: literal.span,
            offsets: raw.and_then(|raw| offsets_of(raw, text, literal.span.start)),
        };
        let parts = match self.interpolated(&literal, scope, procedure) {
            Ok(parts) => parts,
            Err(diagnostic) => {
                self.report(*diagnostic);
                return Expr::unspecified(span);
            }
        };
        self.primitive_call("string-append", parts, span)
    }

    fn interpolated(
        &mut self,
        literal: &Literal<'_>,
        scope: ScopeId,
        procedure: &Syntax,
    ) -> Result<Vec<Expr>, Box<Diagnostic>> {
        let text = literal.text;
        let error = |start, end, message: &str| {
            let message = format!("string-interpolate: {message}");
            Box::new(Diagnostic::error(
                "bad-syntax",
                literal.place(start, end),
                message,
            ))
        };
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(tilde) = text[at..].find('~').map(|found| at + found) {
            plain.push_str(&text[at..tilde]);
            let start = tilde + 1;
            let name = name_length(&text[start..]);
            let (expression, end) = match text[start..].chars().next() {
                Some('~') => {
                    plain.push('~');
                    at = start + 1;
                    continue;
                }
                Some('(') => read_one(text, start, literal)?,
                Some('{') => {
                    let Some(close) = text[start..].find('}').map(|found| start + found) else {
                        return Err(error(tilde, text.len(), "a `}` is missing"));
                    };
                    let (expression, end) = read_one(&text[..close], start + 1, literal)?;
                    if !text[end..close].trim().is_empty() {
                        return Err(error(end, close, "there is more than one expression"));
                    }
                    (expression, close + 1)
                }
                _ if name > 0 => read_one(&text[..start + name], start, literal)?,
                _ => {
                    let message = "a name, `(`, `{` or a second `~` must follow a `~`";
                    return Err(error(tilde, start, message));
                }
            };
            let span = expression.span;
            if !plain.is_empty() {
                let constant = Datum::String(std::mem::take(&mut plain).into());
                parts.push(Expr::constant(literal.span, constant));
            }
            let procedure = self.expand(procedure, scope);
            let value = self.expand(&expression, scope);
            parts.push(Expr::call(span, procedure, vec![value]));
            at = end;
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Expr::constant(literal.span, Datum::String(plain.into())));
        }
        Ok(parts)
    }
}

/// Bytes of the name that a text begins with: letters, digits and, between them, hyphens.
fn name_length(text: &str) -> usize {
    let end = text
        .find(|next: char| !(next.is_alphanumeric() || next == '-'))
        .unwrap_or(text.len());
    text[..end].trim_end_matches('-').len()
}

/// Reads a datum at an offset of the text; gives where it ends too.
fn read_one(
    text: &str,
    start: usize,
    literal: &Literal<'_>,
) -> Result<(Syntax, usize), Box<Diagnostic>> {
    let mut parser = Parser::new(literal.span.source);
    let mut builder = SyntaxBuilder::new();
    let mut source = TextSource::starting_at(text, start as u32);
    let missing = || {
        let message = "string-interpolate: an expression is missing";
        Box::new(Diagnostic::error(
            "bad-syntax",
            literal.place(start, start + 1),
            message,
        ))
    };
    match parser.read(&mut source, &mut builder) {
        Ok(Read::Datum(_)) => {
            let syntax = builder.take().ok_or_else(missing)?;
            Ok((literal.placed(&syntax, 0), source.offset() as usize))
        }
        Ok(Read::End) => Err(missing()),
        Err(ReadError::Syntax(mut diagnostic)) => {
            diagnostic.span =
                literal.place(diagnostic.span.start as usize, diagnostic.span.end as usize);
            diagnostic.incomplete = false;
            Err(diagnostic)
        }
    }
}
