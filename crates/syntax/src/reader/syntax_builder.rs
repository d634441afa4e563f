//! Builds syntax objects for programs.
//!
//! Labels are renumbered, because a file may use `#0=` again in every datum while the expander may
//! bring any two data together. A reference to a finished label becomes the labelled object itself.

use std::collections::HashMap;
use std::sync::Arc;

use canny_number::elements::ElementType;

use crate::datum::Datum;
use crate::name::Name;
use crate::number::Number;
use crate::reader::builder::{Builder, Quotation, Special};
use crate::span::Span;
use crate::syntax::Syntax;

/// The stack of finished syntax objects.
#[derive(Debug, Default)]
pub struct SyntaxBuilder {
    stack: Vec<Syntax>,
    labels: HashMap<u64, (u32, Option<Syntax>)>,
    labels_used: u32,
}

impl SyntaxBuilder {
    /// An empty stack.
    pub fn new() -> SyntaxBuilder {
        SyntaxBuilder::default()
    }

    /// Takes the datum that was read last. The labels of that datum are forgotten.
    pub fn take(&mut self) -> Option<Syntax> {
        self.labels.clear();
        self.stack.pop()
    }

    /// Pushes an object of the running machine.
    pub fn object(&mut self, number: u32) {
        self.atom(Datum::Object(number), Span::NONE);
    }

    fn pop_many(&mut self, count: usize) -> Vec<Syntax> {
        self.stack.split_off(self.stack.len() - count)
    }

    fn atom(&mut self, datum: Datum, span: Span) {
        self.stack.push(Syntax::atom(span, datum));
    }
}

impl Builder for SyntaxBuilder {
    fn boolean(&mut self, value: bool, span: Span) {
        self.atom(Datum::Boolean(value), span);
    }

    fn number(&mut self, value: Number, span: Span) {
        self.atom(Datum::Number(Arc::new(value)), span);
    }

    fn character(&mut self, value: char, span: Span) {
        self.atom(Datum::Character(value), span);
    }

    fn string(&mut self, text: &str, span: Span) {
        self.atom(Datum::String(text.into()), span);
    }

    fn symbol(&mut self, text: &str, span: Span) {
        self.stack.push(Syntax::symbol(span, text));
    }

    fn keyword(&mut self, text: &str, span: Span) {
        self.atom(Datum::Keyword(Name::new(text)), span);
    }

    fn special(&mut self, value: Special, span: Span) {
        let datum = match value {
            Special::Eof => Datum::Eof,
            Special::Unspecified => Datum::Unspecified,
            Special::DefaultObject => Datum::DefaultObject,
        };
        self.atom(datum, span);
    }

    fn bytevector(&mut self, bytes: &[u8], span: Span) {
        self.atom(Datum::Bytevector(bytes.into()), span);
    }

    fn numeric_vector(&mut self, element: ElementType, bytes: &[u8], span: Span) {
        self.atom(Datum::NumericVector(element, bytes.into()), span);
    }

    fn list(&mut self, count: usize, dotted: bool, span: Span) {
        let end = Span {
            start: span.end.saturating_sub(1).max(span.start),
            ..span
        };
        let tail = if dotted { self.stack.pop() } else { None };
        let elements = self.pop_many(count);
        let tail = tail.unwrap_or_else(|| Syntax::nil(if count == 0 { span } else { end }));
        self.stack
            .push(Syntax::list_with_tail(span, elements, tail));
    }

    fn vector(&mut self, count: usize, span: Span) {
        let elements = self.pop_many(count);
        self.stack.push(Syntax::vector(span, elements));
    }

    fn quotation(&mut self, kind: Quotation, prefix: Span, span: Span) {
        let content = self.pop_many(1);
        let mut elements = vec![Syntax::symbol(prefix, kind.symbol())];
        elements.extend(content);
        self.stack.push(Syntax::list(span, elements));
    }

    fn discard(&mut self) {
        self.stack.pop();
    }

    fn begin_label(&mut self, label: u64) {
        self.labels.insert(label, (self.labels_used, None));
        self.labels_used += 1;
    }

    fn finish_label(&mut self, label: u64, span: Span) {
        if let (Some(content), Some((number, finished))) =
            (self.stack.pop(), self.labels.get_mut(&label))
        {
            let labelled = Syntax::labelled(span, *number, content);
            *finished = Some(labelled.clone());
            self.stack.push(labelled);
        }
    }

    fn label_reference(&mut self, label: u64, _finished: bool, span: Span) {
        let syntax = match self.labels.get(&label) {
            Some((_, Some(labelled))) => labelled.clone(),
            Some((number, None)) => Syntax::atom(span, Datum::LabelRef(*number)),
            None => Syntax::atom(span, Datum::Unspecified),
        };
        self.stack.push(syntax);
    }

    fn mark(&self) -> usize {
        self.stack.len()
    }

    fn reset(&mut self, mark: usize) {
        self.stack.truncate(mark);
        self.labels.clear();
    }
}
