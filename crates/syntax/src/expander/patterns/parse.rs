//! Parses the patterns of `match` and related forms into the pattern tree.
//!
//! Owns the numbers of pattern variables: a variable's number is its place in `variables`. Syntax
//! errors become diagnostics at the wrong part. The modules beside this one decide how patterns
//! behave at run time.

use crate::core::Expr;
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::patterns::{Field, Pattern, PatternKind, Repeated};
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::number;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// Reads the patterns of one row.
pub(crate) struct Parser {
    form: CoreForm,
    scope: ScopeId,
    /// Whether expressions in patterns are expanded; a first look at a definition wants its variables only.
    expands: bool,
    /// Every variable so far; its number is its place.
    pub variables: Vec<(Identifier, Span)>,
    /// The variables that the patterns before this place bind.
    bound: Vec<usize>,
}

/// Numbers of repetitions are less than this.
const REPETITIONS_MAX: usize = 1 << 30;

/// The kind of the parts of a list or vector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pattern,
    /// Parts of a quasiquotation.
    Template,
}

/// How often a pattern is repeated.
struct Repetition {
    least: usize,
    exactly: bool,
    /// How many elements of the list say so.
    words: usize,
}

/// The parts of a list or vector pattern.
struct Sequence {
    before: Vec<Pattern>,
    repeated: Option<(Pattern, Vec<usize>, Repetition)>,
    after: Vec<Pattern>,
}

impl Parser {
    pub fn new(form: CoreForm, scope: ScopeId) -> Parser {
        Parser {
            form,
            scope,
            expands: true,
            variables: Vec::new(),
            bound: Vec::new(),
        }
    }

    /// A parser that only finds the variables.
    pub fn of_variables(form: CoreForm, scope: ScopeId) -> Parser {
        Parser {
            expands: false,
            ..Parser::new(form, scope)
        }
    }

    /// Reads a pattern. After an error it takes everything.
    pub fn pattern(&mut self, expander: &mut Expander<'_>, syntax: &Syntax) -> Pattern {
        if !expander.enter(1, syntax.span) {
            return Pattern::anything(syntax.span);
        }
        let kind = self.inside(expander, syntax);
        expander.leave(1);
        Pattern::new(syntax.span, kind)
    }

    fn inside(&mut self, expander: &mut Expander<'_>, syntax: &Syntax) -> PatternKind {
        if let Some(identifier) = syntax.as_identifier() {
            return self.variable(expander, syntax, identifier);
        }
        if let Some(datum) = syntax.as_atom() {
            return self.literal(expander, datum.clone(), syntax.span);
        }
        if let Some(elements) = syntax.as_vector() {
            let elements = elements.to_vec();
            return self.vector(expander, &elements, syntax.span, Mode::Pattern);
        }
        let operator = syntax
            .as_pair()
            .and_then(|pair| self.operator(expander, &pair.car));
        let Some(name) = operator else {
            return self.list(expander, syntax, Mode::Pattern);
        };
        let known = matches!(
            name.as_str(),
            "?" | "=" | "$" | "@" | "and" | "or" | "not" | "quote" | "quasiquote"
        );
        match syntax.elements() {
            Some(elements) if known => self.operation(expander, name, &elements[1..], syntax.span),
            None if known => self.wrong(
                expander,
                syntax.span,
                format!("a pattern that begins with `{name}` is a proper list"),
            ),
            _ => self.list(expander, syntax, Mode::Pattern),
        }
    }

    fn wrong(
        &self,
        expander: &mut Expander<'_>,
        span: Span,
        message: impl AsRef<str>,
    ) -> PatternKind {
        expander.bad_form(self.form, span, message);
        PatternKind::Anything
    }

    /// The name of an identifier that is no local variable.
    fn operator(&self, expander: &mut Expander<'_>, syntax: &Syntax) -> Option<Name> {
        let identifier = syntax.as_identifier()?;
        match expander.resolve(identifier, self.scope) {
            Denotation::Local(_) => None,
            _ => Some(identifier.name),
        }
    }

    fn variable(
        &mut self,
        expander: &mut Expander<'_>,
        syntax: &Syntax,
        identifier: Identifier,
    ) -> PatternKind {
        if expander.is_auxiliary(syntax, CoreForm::Underscore, self.scope) {
            return PatternKind::Anything;
        }
        if self
            .repetition(expander, std::slice::from_ref(syntax))
            .is_some()
            || identifier.name.as_str() == "=.."
        {
            let message = format!(
                "`{}` says how often the pattern before it is repeated, but there is none",
                identifier.name
            );
            return self.wrong(expander, syntax.span, message);
        }
        let known = self
            .variables
            .iter()
            .position(|(own, _)| *own == identifier);
        if let Some(number) = known.filter(|number| self.bound.contains(number)) {
            let message = format!(
                "{}: `{}` is bound twice in one pattern",
                self.form.name(),
                identifier.name
            );
            let diagnostic = Diagnostic::error("duplicate-binding", syntax.span, message)
                .label(self.variables[number].1, "it is also bound here")
                .note("to ask for equal parts, give them two names and compare these in (where …)");
            expander.report(diagnostic);
            return PatternKind::Anything;
        }
        let number = known.unwrap_or_else(|| {
            self.variables.push((identifier, syntax.span));
            self.variables.len() - 1
        });
        self.bound.push(number);
        PatternKind::Variable(number)
    }

    fn literal(&self, expander: &mut Expander<'_>, datum: Datum, span: Span) -> PatternKind {
        match datum {
            Datum::LabelRef(_) => self.wrong(expander, span, "a label cannot stand in a pattern"),
            datum => PatternKind::Literal(datum),
        }
    }

    fn expression(&self, expander: &mut Expander<'_>, syntax: &Syntax) -> Expr {
        if self.expands {
            expander.expand(syntax, self.scope)
        } else {
            Expr::unspecified(syntax.span)
        }
    }

    fn operation(
        &mut self,
        expander: &mut Expander<'_>,
        name: Name,
        operands: &[Syntax],
        span: Span,
    ) -> PatternKind {
        match (name.as_str(), operands) {
            ("quote", [datum]) => self.quoted(expander, datum).kind,
            ("quasiquote", [template]) => self.template(expander, template).kind,
            ("?", [predicate, rest @ ..]) => {
                let predicate = self.expression(expander, predicate);
                let rest = self.all(expander, rest, span);
                PatternKind::Predicate(predicate, Box::new(Pattern::new(span, rest)))
            }
            ("=", [procedure, pattern]) => {
                let procedure = self.expression(expander, procedure);
                PatternKind::Applied(procedure, Box::new(self.pattern(expander, pattern)))
            }
            ("and", patterns) => self.all(expander, patterns, span),
            ("or", [_, ..]) => self.any(expander, operands),
            ("not", [pattern]) => self.not(expander, pattern),
            ("$", [record_type, patterns @ ..]) => self.record(expander, record_type, patterns),
            ("@", [record_type, fields @ ..]) => {
                self.record_by_names(expander, record_type, fields)
            }
            _ => {
                let shape = match name.as_str() {
                    "quote" => "(quote datum)",
                    "quasiquote" => "(quasiquote template)",
                    "?" => "(? predicate pattern …)",
                    "=" => "(= procedure pattern)",
                    "or" => "(or pattern pattern …)",
                    "not" => "(not pattern)",
                    "$" => "($ type pattern …)",
                    _ => "(@ type (field pattern) …)",
                };
                self.wrong(expander, span, format!("expected the pattern {shape}"))
            }
        }
    }

    fn all(&mut self, expander: &mut Expander<'_>, patterns: &[Syntax], span: Span) -> PatternKind {
        let mut patterns: Vec<Pattern> = patterns
            .iter()
            .map(|pattern| self.pattern(expander, pattern))
            .collect();
        match patterns.len() {
            0 => PatternKind::Anything,
            1 => patterns.remove(0).kind,
            _ if expander.enter(patterns.len(), span) => {
                expander.leave(patterns.len());
                PatternKind::All(patterns)
            }
            _ => PatternKind::Anything,
        }
    }

    fn any(&mut self, expander: &mut Expander<'_>, syntaxes: &[Syntax]) -> PatternKind {
        let outside = self.bound.len();
        let mut first: Option<Vec<usize>> = None;
        let mut patterns = Vec::with_capacity(syntaxes.len());
        for syntax in syntaxes {
            self.bound.truncate(outside);
            patterns.push(self.pattern(expander, syntax));
            let mut own = self.bound[outside..].to_vec();
            own.sort_unstable();
            match &first {
                None => first = Some(own),
                Some(first) if *first != own => {
                    let differing = first
                        .iter()
                        .chain(&own)
                        .find(|number| !(first.contains(number) && own.contains(number)));
                    let name =
                        differing.map_or(Name::new("_"), |number| self.variables[*number].0.name);
                    let message = format!(
                        "the patterns of `or` must bind the same variables, but `{name}` is not bound by all \
                         of them"
                    );
                    self.wrong(expander, syntax.span, message);
                }
                Some(_) => {}
            }
        }
        if patterns.len() == 1 {
            return patterns.remove(0).kind;
        }
        PatternKind::Any(patterns)
    }

    fn not(&mut self, expander: &mut Expander<'_>, syntax: &Syntax) -> PatternKind {
        let outside = self.bound.len();
        let pattern = self.pattern(expander, syntax);
        if let Some(number) = self.bound.get(outside) {
            let (identifier, span) = self.variables[*number];
            let message = format!(
                "`{}` stands in a `not` pattern and would have no value; write _ there",
                identifier.name
            );
            return self.wrong(expander, span, message);
        }
        PatternKind::Not(Box::new(pattern))
    }

    /// A record type and the names of its fields, if they are known.
    fn record_type(
        &mut self,
        expander: &mut Expander<'_>,
        syntax: &Syntax,
    ) -> Option<(Expr, Option<Vec<Name>>)> {
        if syntax.as_identifier().is_none() {
            let message = format!("`{syntax}` is not the name of a record type");
            self.wrong(expander, syntax.span, message);
            return None;
        }
        let fields = expander.known_fields(syntax, self.scope);
        Some((self.expression(expander, syntax), fields))
    }

    fn record(
        &mut self,
        expander: &mut Expander<'_>,
        record_type: &Syntax,
        syntaxes: &[Syntax],
    ) -> PatternKind {
        let Some((type_expression, known)) = self.record_type(expander, record_type) else {
            return PatternKind::Anything;
        };
        if let Some(names) = known.as_ref().filter(|names| names.len() != syntaxes.len()) {
            let list = names
                .iter()
                .fold(String::new(), |text, name| text + " " + name.as_str());
            let message = format!(
                "`{record_type}` has {} fields ({}), but there are {} patterns",
                names.len(),
                list.trim_start(),
                syntaxes.len()
            );
            let at = syntaxes.get(names.len()).unwrap_or(record_type).span;
            return self.wrong(expander, at, message);
        }
        let mut fields = Vec::with_capacity(syntaxes.len());
        for (index, syntax) in syntaxes.iter().enumerate() {
            fields.push(Field {
                index,
                name: known.as_ref().map_or(Name::new("$"), |names| names[index]),
                pattern: self.pattern(expander, syntax),
            });
        }
        PatternKind::Record(type_expression, fields)
    }

    fn record_by_names(
        &mut self,
        expander: &mut Expander<'_>,
        record_type: &Syntax,
        syntaxes: &[Syntax],
    ) -> PatternKind {
        let Some((type_expression, known)) = self.record_type(expander, record_type) else {
            return PatternKind::Anything;
        };
        let Some(names) = known else {
            let message =
                format!("the fields of `{record_type}` are not known here; use ($ type pattern …)");
            return self.wrong(expander, record_type.span, message);
        };
        let mut fields = Vec::with_capacity(syntaxes.len());
        for syntax in syntaxes {
            let parts = syntax.elements().filter(|parts| parts.len() == 2);
            let name = parts.as_ref().and_then(|parts| parts[0].as_identifier());
            let (Some(parts), Some(name)) = (parts, name) else {
                let message = format!("a field must be (field pattern), not `{syntax}`");
                self.wrong(expander, syntax.span, message);
                continue;
            };
            let Some(index) = names.iter().rposition(|own| *own == name.name) else {
                let mut diagnostic = Diagnostic::error(
                    "bad-syntax",
                    parts[0].span,
                    format!(
                        "{}: `{record_type}` has no field `{}`",
                        self.form.name(),
                        name.name
                    ),
                );
                if let Some(similar) =
                    crate::spelling::similar_name(name.name, names.iter().copied())
                {
                    diagnostic = diagnostic.note(format!("did you mean `{similar}`?"));
                }
                expander.report(diagnostic);
                continue;
            };
            fields.push(Field {
                index,
                name: name.name,
                pattern: self.pattern(expander, &parts[1]),
            });
        }
        PatternKind::Record(type_expression, fields)
    }

    /// A pattern that takes what is equal to a datum.
    fn quoted(&mut self, expander: &mut Expander<'_>, datum: &Syntax) -> Pattern {
        if !expander.enter(1, datum.span) {
            return Pattern::anything(datum.span);
        }
        let kind = if let Some(identifier) = datum.as_identifier() {
            PatternKind::Literal(Datum::Symbol(identifier.name))
        } else if let Some(atom) = datum.as_atom() {
            self.literal(expander, atom.clone(), datum.span)
        } else if let Some(elements) = datum.as_vector() {
            let elements = elements.to_vec();
            let patterns = elements
                .iter()
                .map(|element| self.quoted(expander, element));
            PatternKind::Vector(patterns.collect())
        } else {
            let parts = datum.parts();
            let elements: Vec<Pattern> = parts
                .elements
                .iter()
                .map(|element| self.quoted(expander, element))
                .collect();
            let tail = self.quoted(expander, &parts.tail);
            self.chain(expander, elements, tail).kind
        };
        expander.leave(1);
        Pattern::new(datum.span, kind)
    }

    /// The template of a quasiquotation: data, and patterns behind commas.
    fn template(&mut self, expander: &mut Expander<'_>, syntax: &Syntax) -> Pattern {
        if !expander.enter(1, syntax.span) {
            return Pattern::anything(syntax.span);
        }
        let kind = self.template_inside(expander, syntax);
        expander.leave(1);
        Pattern::new(syntax.span, kind)
    }

    fn template_inside(&mut self, expander: &mut Expander<'_>, syntax: &Syntax) -> PatternKind {
        if let Some(elements) = syntax.as_vector() {
            let elements = elements.to_vec();
            return self.vector(expander, &elements, syntax.span, Mode::Template);
        }
        let Some(pair) = syntax.as_pair() else {
            return self.quoted(expander, syntax).kind;
        };
        if expander.is_auxiliary(&pair.car, CoreForm::Unquote, self.scope) {
            return match syntax.elements().as_deref() {
                Some([_, pattern]) => self.pattern(expander, pattern).kind,
                _ => self.wrong(
                    expander,
                    syntax.span,
                    "expected one pattern behind the comma",
                ),
            };
        }
        if expander.is_auxiliary(&pair.car, CoreForm::UnquoteSplicing, self.scope)
            || expander.is_auxiliary(&pair.car, CoreForm::Quasiquote, self.scope)
        {
            let message = "here a pattern takes one value; `,@` stands at the end of a list, and \
                quasiquotations are not nested";
            return self.wrong(expander, syntax.span, message);
        }
        self.list(expander, syntax, Mode::Template)
    }

    /// The pattern for the rest of a list that is a form of its own in a template: `(a . ,b)` and `(a ,@b)`.
    fn template_tail(
        &mut self,
        expander: &mut Expander<'_>,
        rest: &Syntax,
        is_first: bool,
    ) -> Option<Pattern> {
        let pair = rest.as_pair()?;
        if !is_first && expander.is_auxiliary(&pair.car, CoreForm::Unquote, self.scope) {
            return Some(self.template(expander, rest));
        }
        let inner = pair.car.elements().filter(|parts| parts.len() == 2)?;
        if !expander.is_auxiliary(&inner[0], CoreForm::UnquoteSplicing, self.scope) {
            return None;
        }
        if !pair.cdr.is_nil() {
            let message = "`,@` stands at the end of a list only; use ... for a part in the middle";
            let kind = self.wrong(expander, pair.car.span, message);
            return Some(Pattern::new(rest.span, kind));
        }
        Some(self.pattern(expander, &inner[1]))
    }

    fn part(&mut self, expander: &mut Expander<'_>, syntax: &Syntax, mode: Mode) -> Pattern {
        match mode {
            Mode::Pattern => self.pattern(expander, syntax),
            Mode::Template => self.template(expander, syntax),
        }
    }

    fn list(&mut self, expander: &mut Expander<'_>, syntax: &Syntax, mode: Mode) -> PatternKind {
        let mut elements = Vec::new();
        let mut rest = syntax;
        let mut special = None;
        while let Some(pair) = rest.as_pair() {
            if mode == Mode::Template {
                special = self.template_tail(expander, rest, elements.is_empty());
                if special.is_some() {
                    break;
                }
            }
            elements.push(pair.car.clone());
            rest = &pair.cdr;
        }
        let sequence = self.sequence(expander, &elements, mode);
        let tail = match special {
            Some(tail) => tail,
            None => self.part(expander, rest, mode),
        };
        let Some((element, variables, repetition)) = sequence.repeated else {
            return self.chain(expander, sequence.before, tail).kind;
        };
        let repeated = Repeated {
            element,
            variables,
            least: repetition.least,
            exactly: repetition.exactly,
            after: sequence.after,
            tail,
        };
        let repeated = Pattern::new(syntax.span, PatternKind::Repeated(Box::new(repeated)));
        self.chain(expander, sequence.before, repeated).kind
    }

    fn vector(
        &mut self,
        expander: &mut Expander<'_>,
        elements: &[Syntax],
        span: Span,
        mode: Mode,
    ) -> PatternKind {
        let sequence = self.sequence(expander, elements, mode);
        let Some((element, variables, repetition)) = sequence.repeated else {
            return PatternKind::Vector(sequence.before);
        };
        let repeated = Repeated {
            element,
            variables,
            least: repetition.least,
            exactly: repetition.exactly,
            after: sequence.after,
            tail: Pattern::new(span, PatternKind::Literal(Datum::Nil)),
        };
        PatternKind::VectorRepeated(sequence.before, Box::new(repeated))
    }

    /// Pairs with these cars, then `tail`.
    fn chain(
        &mut self,
        expander: &mut Expander<'_>,
        elements: Vec<Pattern>,
        tail: Pattern,
    ) -> Pattern {
        let count = elements.len();
        if !expander.enter(count, tail.span) {
            return tail;
        }
        expander.leave(count);
        elements.into_iter().rev().fold(tail, |cdr, car| {
            Pattern::new(car.span, PatternKind::Pair(Box::new([car, cdr])))
        })
    }

    /// The elements of a list or vector, one of which may be repeated.
    fn sequence(
        &mut self,
        expander: &mut Expander<'_>,
        elements: &[Syntax],
        mode: Mode,
    ) -> Sequence {
        let mut sequence = Sequence {
            before: Vec::new(),
            repeated: None,
            after: Vec::new(),
        };
        let mut index = 0;
        while let Some(syntax) = elements.get(index) {
            let bound = self.bound.len();
            let pattern = self.part(expander, syntax, mode);
            index += 1;
            let Some(repetition) = self.repetition(expander, &elements[index..]) else {
                match sequence.repeated {
                    None => sequence.before.push(pattern),
                    Some(_) => sequence.after.push(pattern),
                }
                continue;
            };
            let words = &elements[index..index + repetition.words];
            index += repetition.words;
            if sequence.repeated.is_some() {
                let message = "only one pattern of a list or vector can be repeated";
                self.wrong(expander, words[0].span, message);
                continue;
            }
            let variables = self.bound[bound..].to_vec();
            sequence.repeated = Some((pattern, variables, repetition));
        }
        sequence
    }

    /// The number of repetitions that the elements behind a pattern ask for: `...`, `___`, `..N`,
    /// `=.. N`.
    fn repetition(
        &mut self,
        expander: &mut Expander<'_>,
        elements: &[Syntax],
    ) -> Option<Repetition> {
        let syntax = elements.first()?;
        if expander.is_auxiliary(syntax, CoreForm::Ellipsis, self.scope) {
            return Some(Repetition {
                least: 0,
                exactly: false,
                words: 1,
            });
        }
        let name = self.operator(expander, syntax)?;
        let repetition = |least, exactly, words| Repetition {
            least,
            exactly,
            words,
        };
        match name.as_str() {
            "___" => Some(repetition(0, false, 1)),
            "=.." => {
                let count =
                    elements
                        .get(1)
                        .and_then(Syntax::as_atom)
                        .and_then(|datum| match datum {
                            Datum::Number(number) => number::as_integer(number),
                            _ => None,
                        });
                let count = count.and_then(|count| usize::try_from(count).ok());
                let count = count.filter(|count| *count < REPETITIONS_MAX);
                Some(match count {
                    Some(count) => repetition(count, true, 2),
                    None => {
                        let message =
                            "a small number must follow `=..`: how often the pattern is repeated";
                        self.wrong(expander, syntax.span, message);
                        repetition(0, false, 1)
                    }
                })
            }
            text => {
                let digits = text.strip_prefix("..").filter(|digits| {
                    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
                })?;
                let least = digits
                    .parse()
                    .ok()
                    .filter(|least| *least < REPETITIONS_MAX)?;
                Some(repetition(least, false, 1))
            }
        }
    }
}
