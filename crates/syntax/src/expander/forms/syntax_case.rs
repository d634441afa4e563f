//! `syntax-case`, `syntax` and `quasisyntax`: patterns and templates in transformer procedures.
//!
//! Patterns become constants that `match-syntax` of `(canny machine syntax-runtime)` interprets; what
//! it gives is a vector with the value of each variable, a list (of lists …) for one under ellipses.
//! Templates become code that builds the result. Syntax objects are pairs and vectors as in data; only
//! identifiers are objects of their own.

use crate::core::{Expr, ExprKind, GlobalName, Lambda, LibraryKey, LibraryName, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::expander::syntax_rules::{PatternVariable, compile_pattern, compile_template};
use crate::expander::transform::ScopeContext;
use crate::name::Name;
use crate::number::Number;
use crate::procedural::MacroIdentifier;
use crate::rules::{Element, ListPattern, Pattern, Template};
use crate::span::Span;
use crate::syntax::{Identifier, Syntax, SyntaxKind};

/// The library whose procedures the code made here calls.
const RUNTIME: [&str; 3] = ["canny", "machine", "syntax-runtime"];

/// A clause of `syntax-case`, taken apart.
struct Clause<'s> {
    pattern: &'s Syntax,
    fender: Option<&'s Syntax>,
    output: &'s Syntax,
}

/// The values that template variables have at a place in the code.
type Values = Vec<VarId>;

impl Expander<'_> {
    /// A procedure of the runtime library.
    fn runtime(&mut self, name: &str, span: Span) -> Expr {
        let library = LibraryName::from_words(&RUNTIME);
        let mut diagnostics = Vec::new();
        self.libraries.load(&library, span, &mut diagnostics);
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
        let global = GlobalName {
            library: library.key(),
            name: Name::new(name),
        };
        Expr::new(span, ExprKind::GlobalRef(global))
    }

    fn runtime_call(&mut self, name: &str, operands: Vec<Expr>, span: Span) -> Expr {
        let operator = self.runtime(name, span);
        Expr::call(span, operator, operands)
    }

    /// `(syntax-case expression (literal …) clause …)`
    pub(crate) fn syntax_case(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::SyntaxCase;
        let [subject, literals, clauses @ ..] = operands else {
            let message = "expected an expression, a list of literals and clauses";
            return self.bad_expression(form, span, message);
        };
        let literals = literals.elements().and_then(|elements| {
            let identifiers = elements.iter().map(Syntax::as_identifier);
            identifiers.collect::<Option<Vec<Identifier>>>()
        });
        let Some(literals) = literals else {
            let message = "the literals must be a list of identifiers";
            return self.bad_expression(form, operands[1].span, message);
        };
        let value = self.expand(subject, scope);
        let input = self.locals.add(Name::new("form"), subject.span);
        let body = self.clauses(clauses, &literals, input, scope, span);
        Expr::new(
            span,
            ExprKind::Let {
                bindings: vec![(input, value)],
                body: Box::new(body),
            },
        )
    }

    fn clauses(
        &mut self,
        clauses: &[Syntax],
        literals: &[Identifier],
        input: VarId,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        // From the last to the first: each one contains what happens when it does not match.
        let mut otherwise = {
            let form = reference(input, span);
            self.runtime_call("no-matching-clause", vec![form], span)
        };
        for clause in clauses.iter().rev() {
            let parts = clause.elements().unwrap_or_default();
            let clause = match parts.as_slice() {
                [pattern, output] => Clause {
                    pattern,
                    fender: None,
                    output,
                },
                [pattern, fender, output] => Clause {
                    pattern,
                    fender: Some(fender),
                    output,
                },
                _ => {
                    let message = "a clause must be (pattern output) or (pattern fender output)";
                    self.bad_form(CoreForm::SyntaxCase, clause.span, message);
                    continue;
                }
            };
            otherwise = self.clause(&clause, literals, input, otherwise, scope);
        }
        otherwise
    }

    fn clause(
        &mut self,
        clause: &Clause<'_>,
        literals: &[Identifier],
        input: VarId,
        otherwise: Expr,
        scope: ScopeId,
    ) -> Expr {
        let span = clause.pattern.span;
        let mut errors = Vec::new();
        let mut context = ScopeContext {
            expander: self,
            scope,
        };
        let form = CoreForm::SyntaxCase.name();
        let (pattern, variables) =
            compile_pattern(form, clause.pattern, literals, &mut context, &mut errors);
        for error in errors {
            self.report(error);
        }
        let inner = self.scopes.add_local(scope);
        let values: Vec<VarId> = variables
            .iter()
            .map(|variable| self.bind_pattern_variable(variable, span, inner))
            .collect();
        self.note_case_pattern(clause.pattern, inner);
        // With a fender, the code for the following clauses occurs twice, so it becomes a
        // procedure.
        let shared = clause
            .fender
            .map(|fender| (fender, self.locals.add(Name::new("next"), fender.span)));
        let go_on = |span: Span, otherwise: Expr| match shared {
            Some((_, next)) => Expr::call(span, reference(next, span), Vec::new()),
            None => otherwise,
        };
        let mut body = self.expand(clause.output, inner);
        let mut otherwise = otherwise;
        let mut after_fender = None;
        if let Some((fender, next)) = shared {
            let test = self.expand(fender, inner);
            let thunk = lambda(
                std::mem::replace(&mut otherwise, Expr::unspecified(span)),
                span,
            );
            body = Expr::conditional(
                fender.span,
                test,
                body,
                Expr::call(span, reference(next, span), Vec::new()),
            );
            after_fender = Some((next, thunk));
        }
        let result = match pattern {
            Pattern::Anything => body,
            Pattern::Variable(_) => bind(vec![(values[0], reference(input, span))], body, span),
            pattern => {
                let found = self.locals.add(Name::new("match"), span);
                let bindings = values
                    .iter()
                    .enumerate()
                    .map(|(index, value)| {
                        let index = Expr::constant(span, integer(index as u32));
                        let operands = vec![reference(found, span), index];
                        (*value, self.primitive_call("vector-ref", operands, span))
                    })
                    .collect();
                let body = bind(bindings, body, span);
                let test = self.match_call(&pattern, values.len(), literals, input, span);
                let otherwise = go_on(span, otherwise);
                let choice = Expr::conditional(span, reference(found, span), body, otherwise);
                bind(vec![(found, test)], choice, span)
            }
        };
        match after_fender {
            Some((next, thunk)) => bind(vec![(next, thunk)], result, span),
            None => result,
        }
    }

    fn bind_pattern_variable(
        &mut self,
        variable: &PatternVariable,
        span: Span,
        scope: ScopeId,
    ) -> VarId {
        let value = self.locals.add(variable.identifier.name, span);
        let meaning = Denotation::Pattern {
            variable: value,
            depth: variable.depth as u32,
        };
        self.scopes.bind(scope, variable.identifier, meaning);
        value
    }

    fn match_call(
        &mut self,
        pattern: &Pattern,
        variables: usize,
        literals: &[Identifier],
        input: VarId,
        span: Span,
    ) -> Expr {
        let literals: Vec<Expr> = literals
            .iter()
            .map(|literal| self.inserted_identifier(*literal, span))
            .collect();
        let operands = vec![
            Expr::constant(span, pattern_datum(pattern)),
            Expr::constant(span, integer(variables as u32)),
            self.primitive_call("vector", literals, span),
            reference(input, span),
        ];
        self.runtime_call("match-syntax", operands, span)
    }

    /// Code that makes an identifier of a template.
    fn inserted_identifier(&mut self, identifier: Identifier, span: Span) -> Expr {
        let symbol = |name: Name| Expr::constant(span, Datum::Symbol(name));
        let operands = match self.template_identifier(identifier) {
            MacroIdentifier::Closed(closed) => vec![
                symbol(closed.name),
                symbol(closed.lookup),
                Expr::constant(span, Datum::String(library_text(&closed.library))),
            ],
            MacroIdentifier::Live {
                epoch,
                name,
                number,
            } => vec![
                symbol(name),
                Expr::constant(span, integer(number)),
                Expr::constant(span, Datum::Number(Number::from(epoch as i64).into())),
            ],
            other => vec![symbol(other.name())],
        };
        self.primitive_call("%template-identifier", operands, span)
    }

    /// `(syntax template)` and `(quasisyntax template)`
    pub(crate) fn syntax_template(
        &mut self,
        form: CoreForm,
        operands: &[Syntax],
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let [template] = operands else {
            return self.bad_expression(form, span, "expected one template");
        };
        let mut holes = Holes::default();
        let (template, scope) = if form == CoreForm::Quasisyntax {
            let inner = self.scopes.add_local(scope);
            (self.dig(template, 0, scope, inner, &mut holes), inner)
        } else {
            (template.clone(), scope)
        };
        self.note_template(&template, scope);
        let mut errors = Vec::new();
        let mut context = ScopeContext {
            expander: self,
            scope,
        };
        let compiled = compile_template(form.name(), &template, &mut context, &mut errors);
        let failed = !errors.is_empty();
        for error in errors {
            self.report(error);
        }
        if failed {
            return Expr::unspecified(span);
        }
        let values: Values = compiled
            .variables
            .iter()
            .filter_map(|variable| match self.resolve(variable.identifier, scope) {
                Denotation::Pattern { variable, .. } => Some(variable),
                _ => None,
            })
            .collect();
        for value in &values {
            if value.0 < self.first_local {
                self.error(
                    "wrong-phase",
                    span,
                    "a pattern variable of an earlier phase has no value here",
                );
                return Expr::unspecified(span);
            }
        }
        let result = self.fill(&compiled.template, &compiled.inserted, &values, span);
        bind(holes.bindings, result, span)
    }

    /// Replaces what `unsyntax` marks by pattern variables that are bound to its values.
    fn dig(
        &mut self,
        template: &Syntax,
        level: u32,
        outer: ScopeId,
        inner: ScopeId,
        holes: &mut Holes,
    ) -> Syntax {
        if !self.enter(1, template.span) {
            return template.clone();
        }
        let result = self.dig_inside(template, level, outer, inner, holes);
        self.leave(1);
        result
    }

    fn dig_inside(
        &mut self,
        template: &Syntax,
        level: u32,
        outer: ScopeId,
        inner: ScopeId,
        holes: &mut Holes,
    ) -> Syntax {
        let span = template.span;
        if let Some(elements) = template.as_vector() {
            let list = Syntax::list(span, elements.to_vec());
            let list = self.dig(&list, level, outer, inner, holes);
            return Syntax::vector(span, list.elements().unwrap_or_default());
        }
        let SyntaxKind::Pair(_) = &template.kind else {
            return template.clone();
        };
        let parts = template.parts();
        let mut elements = Vec::with_capacity(parts.elements.len());
        let mut rest = parts.elements.as_slice();
        while let Some((first, behind)) = rest.split_first() {
            // `(a . (unsyntax b))` has been read as `(a unsyntax b)`.
            let head = self.template_keyword(first, outer);
            if let (Some(CoreForm::Unsyntax), [expression], true) =
                (head, behind, parts.tail.is_nil())
            {
                let tail = if level == 0 {
                    self.hole(expression, 0, outer, inner, holes)
                } else {
                    let operand = self.dig(expression, level - 1, outer, inner, holes);
                    Syntax::list(span, vec![first.clone(), operand])
                };
                return Syntax::list_with_tail(span, elements, tail);
            }
            if elements.is_empty() && head == Some(CoreForm::Quasisyntax) && behind.len() == 1 {
                let operand = self.dig(&behind[0], level + 1, outer, inner, holes);
                return Syntax::list(span, vec![first.clone(), operand]);
            }
            if level == 0
                && let Some((keyword, expressions)) = self.unsyntax_form(first, outer)
            {
                for expression in &expressions {
                    let depth = u32::from(keyword == CoreForm::UnsyntaxSplicing);
                    elements.push(self.hole(expression, depth, outer, inner, holes));
                    if depth > 0 {
                        elements.push(self.ellipsis(span));
                    }
                }
            } else {
                let inner_level = match self.unsyntax_form(first, outer) {
                    Some(_) => level - 1,
                    None => level,
                };
                elements.push(self.dig(first, inner_level, outer, inner, holes));
            }
            rest = behind;
        }
        let tail = self.dig(&parts.tail, level, outer, inner, holes);
        Syntax::list_with_tail(span, elements, tail)
    }

    fn template_keyword(&mut self, syntax: &Syntax, scope: ScopeId) -> Option<CoreForm> {
        match self.resolve(syntax.as_identifier()?, scope) {
            Denotation::Core(form) => Some(form),
            _ => None,
        }
    }

    /// `(unsyntax expression …)` or `(unsyntax-splicing expression …)`
    fn unsyntax_form(
        &mut self,
        syntax: &Syntax,
        scope: ScopeId,
    ) -> Option<(CoreForm, Vec<Syntax>)> {
        let head = self.template_keyword(&syntax.as_pair()?.car, scope)?;
        if !matches!(head, CoreForm::Unsyntax | CoreForm::UnsyntaxSplicing) {
            return None;
        }
        let mut elements = syntax.elements()?;
        elements.remove(0);
        Some((head, elements))
    }

    fn hole(
        &mut self,
        expression: &Syntax,
        depth: u32,
        outer: ScopeId,
        inner: ScopeId,
        holes: &mut Holes,
    ) -> Syntax {
        let span = expression.span;
        let value = self.expand(expression, outer);
        let identifier = self
            .scopes
            .add_alias(Identifier::plain(Name::new("unsyntax")), outer);
        let variable = PatternVariable {
            identifier,
            depth: depth as usize,
        };
        let place = self.bind_pattern_variable(&variable, span, inner);
        holes.bindings.push((place, value));
        Syntax::identifier(span, identifier)
    }

    fn ellipsis(&mut self, span: Span) -> Syntax {
        let core = self.scopes.foreign(&LibraryKey::new("(canny syntax)"));
        let plain = Identifier::plain(Name::new(CoreForm::Ellipsis.name()));
        Syntax::identifier(span, self.scopes.add_alias(plain, core))
    }

    /// Code that builds a template's form. `values` holds the template's variables at this place.
    fn fill(
        &mut self,
        template: &Template,
        inserted: &[Identifier],
        values: &Values,
        span: Span,
    ) -> Expr {
        match template {
            Template::Variable(index) => match values.get(*index as usize) {
                Some(value) => reference(*value, span),
                None => Expr::unspecified(span),
            },
            Template::Identifier(index) => {
                self.inserted_identifier(inserted[*index as usize], span)
            }
            Template::Datum(datum) => Expr::constant(span, datum.clone()),
            Template::Vector(elements) => {
                let list = self.fill_list(elements, None, inserted, values, span);
                self.primitive_call("list->vector", vec![list], span)
            }
            Template::List(list) => {
                self.fill_list(&list.elements, list.tail.as_ref(), inserted, values, span)
            }
        }
    }

    fn fill_list(
        &mut self,
        elements: &[Element],
        tail: Option<&Template>,
        inserted: &[Identifier],
        values: &Values,
        span: Span,
    ) -> Expr {
        let mut result = match tail {
            Some(tail) => self.fill(tail, inserted, values, span),
            None => Expr::constant(span, Datum::Nil),
        };
        for element in elements.iter().rev() {
            let (template, repeats) = (&element.template, element.repeats.as_slice());
            result = if repeats.is_empty() {
                let first = self.fill(template, inserted, values, span);
                self.primitive_call("cons", vec![first, result], span)
            } else {
                let list = self.repeat(template, repeats, inserted, values, span);
                self.runtime_call("append-syntax", vec![list, result], span)
            };
        }
        result
    }

    /// The list of what a template with ellipses behind it stands for.
    fn repeat(
        &mut self,
        template: &Template,
        repeats: &[Vec<u32>],
        inserted: &[Identifier],
        values: &Values,
        span: Span,
    ) -> Expr {
        let Some((driving, inner)) = repeats.split_first() else {
            return self.fill(template, inserted, values, span);
        };
        let lists: Vec<Expr> = driving
            .iter()
            .map(|index| reference(values[*index as usize], span))
            .collect();
        let mut within = values.clone();
        let mut parameters = Vec::with_capacity(driving.len());
        for index in driving {
            let place = &mut within[*index as usize];
            let parameter = self.locals.add(self.locals[*place].name, span);
            *place = parameter;
            parameters.push(parameter);
        }
        let body = self.repeat(template, inner, inserted, &within, span);
        let procedure = procedure(parameters, body, span);
        let name = if inner.is_empty() {
            "map-syntax"
        } else {
            "append-map-syntax"
        };
        let mut operands = vec![procedure];
        operands.extend(lists);
        self.runtime_call(name, operands, span)
    }
}

/// The variables that stand for the expressions in a `quasisyntax`.
#[derive(Default)]
struct Holes {
    bindings: Vec<(VarId, Expr)>,
}

fn reference(variable: VarId, span: Span) -> Expr {
    Expr::new(span, ExprKind::LocalRef(variable))
}

fn bind(bindings: Vec<(VarId, Expr)>, body: Expr, span: Span) -> Expr {
    if bindings.is_empty() {
        return body;
    }
    Expr::new(
        span,
        ExprKind::Let {
            bindings,
            body: Box::new(body),
        },
    )
}

fn procedure(required: Vec<VarId>, body: Expr, span: Span) -> Expr {
    let lambda = Lambda {
        name: None,
        required,
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        body,
        span,
    };
    Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
}

fn lambda(body: Expr, span: Span) -> Expr {
    procedure(Vec::new(), body, span)
}

fn integer(value: u32) -> Datum {
    Datum::Number(Number::from(i64::from(value)).into())
}

fn library_text(library: &LibraryKey) -> std::sync::Arc<str> {
    library.as_str().into()
}

/// A pattern as `match-syntax` reads it: `#f` matches anything and an integer is a variable; the rest are
/// vectors that begin with a symbol.
fn pattern_datum(pattern: &Pattern) -> Datum {
    let tagged = |tag: &str, rest: Vec<Datum>| {
        let mut elements = vec![Datum::Symbol(Name::new(tag))];
        elements.extend(rest);
        Datum::vector(elements)
    };
    match pattern {
        Pattern::Anything => Datum::Boolean(false),
        Pattern::Variable(index) => integer(*index),
        Pattern::Literal(index) => tagged("literal", vec![integer(*index)]),
        Pattern::Datum(datum) => tagged("datum", vec![datum.clone()]),
        Pattern::Vector(list) => tagged("vector", vec![list_datum(list)]),
        Pattern::List(list) => list_datum(list),
    }
}

/// `#(list before repeated after tail)`: lists of patterns, `#f` or `#(pattern first end)`, and `#f` or
/// a list of the pattern for the tail.
fn list_datum(list: &ListPattern) -> Datum {
    let patterns = |patterns: &[Pattern]| datum_list(patterns.iter().map(pattern_datum).collect());
    let repeated = match &list.repeated {
        Some(repeated) => Datum::vector(vec![
            pattern_datum(&repeated.pattern),
            integer(repeated.first),
            integer(repeated.end),
        ]),
        None => Datum::Boolean(false),
    };
    let tail = match &list.tail {
        Some(tail) => datum_list(vec![pattern_datum(tail)]),
        None => Datum::Boolean(false),
    };
    Datum::vector(vec![
        Datum::Symbol(Name::new("list")),
        patterns(&list.before),
        repeated,
        patterns(&list.after),
        tail,
    ])
}

fn datum_list(elements: Vec<Datum>) -> Datum {
    elements
        .into_iter()
        .rev()
        .fold(Datum::Nil, |tail, element| Datum::cons(element, tail))
}
