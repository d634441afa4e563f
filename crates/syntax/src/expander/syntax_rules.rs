//! `syntax-rules`: from source to the patterns and templates of a [`RuleSet`].
//!
//! All errors of a form are reported, and bad rules are left out. The ellipsis depends on the place
//! of the rules, which a [`RuleContext`] knows.

use std::collections::HashMap;
use std::sync::Arc;

use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::rules::{
    Element, ListPattern, ListTemplate, Pattern, Repeated, Rule, RuleSet, Template,
};
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// The questions that the compiler of rules asks about the place where the rules stand.
pub(crate) trait RuleContext {
    /// Whether the identifier is the default ellipsis.
    fn is_ellipsis(&mut self, identifier: Identifier) -> bool;
    /// Whether the identifier is the wildcard `_`.
    fn is_underscore(&mut self, identifier: Identifier) -> bool;
    /// How many ellipses the identifier needs in a template, if a pattern outside of it bound it.
    fn outer_depth(&mut self, identifier: Identifier) -> Option<usize>;
}

/// Deepest nesting of a pattern or template.
const RULE_DEPTH_MAX: usize = 500;

/// Compiles `(syntax-rules [ellipsis] (literal …) (pattern template) …)`. All errors are added to
/// `errors`; bad rules are left out.
pub(crate) fn compile_rules(
    form: &Syntax,
    context: &mut dyn RuleContext,
    errors: &mut Vec<Diagnostic>,
) -> Option<RuleSet> {
    let error = |span, message: &str| {
        Diagnostic::error("bad-syntax-rules", span, format!("syntax-rules: {message}"))
    };
    let Some(mut elements) = form.elements() else {
        errors.push(error(form.span, "the form is not a proper list"));
        return None;
    };
    elements.remove(0);
    let ellipsis = match elements.first().and_then(Syntax::as_identifier) {
        Some(custom) => {
            elements.remove(0);
            Some(custom)
        }
        None => None,
    };
    if elements.is_empty() {
        errors.push(error(form.span, "a list of literals is missing"));
        return None;
    }
    let literals_syntax = elements.remove(0);
    let Some(literals) = literals_syntax.elements() else {
        errors.push(error(
            literals_syntax.span,
            "the literals must be a list of identifiers",
        ));
        return None;
    };
    let mut compiler = RuleCompiler::new("syntax-rules", context, errors);
    compiler.ellipsis = ellipsis;
    for literal in &literals {
        match literal.as_identifier() {
            Some(identifier) => compiler.literals.push(identifier),
            None => compiler.error(literal.span, "a literal must be an identifier"),
        }
    }
    let rules: Vec<Rule> = elements
        .iter()
        .filter_map(|rule| compiler.rule(rule))
        .collect();
    Some(RuleSet {
        rules: Arc::new(rules),
        literals: compiler.literals,
        inserted: compiler.inserted,
    })
}

/// Compiles a pattern of `syntax-case`, which includes the keyword. Gives the variables in their order too.
pub(crate) fn compile_pattern(
    form: &'static str,
    pattern: &Syntax,
    literals: &[Identifier],
    context: &mut dyn RuleContext,
    errors: &mut Vec<Diagnostic>,
) -> (Pattern, Vec<PatternVariable>) {
    let mut compiler = RuleCompiler::new(form, context, errors);
    compiler.literals = literals.to_vec();
    let pattern = compiler.pattern(pattern, 0);
    (pattern, compiler.variables)
}

/// A template of `(syntax template)`, whose variables were bound outside of it.
pub(crate) struct OpenTemplate {
    pub template: Template,
    /// The identifiers by [`Template::Identifier`].
    pub inserted: Vec<Identifier>,
    /// The variables by [`Template::Variable`].
    pub variables: Vec<PatternVariable>,
}

/// Compiles a template of `(syntax template)`.
pub(crate) fn compile_template(
    form: &'static str,
    template: &Syntax,
    context: &mut dyn RuleContext,
    errors: &mut Vec<Diagnostic>,
) -> OpenTemplate {
    let mut compiler = RuleCompiler::new(form, context, errors);
    compiler.open = true;
    let template = compiler.template(template, true, 0);
    OpenTemplate {
        template,
        inserted: compiler.inserted,
        variables: compiler.variables,
    }
}

/// A variable of a pattern, and how many ellipses follow it.
pub(crate) struct PatternVariable {
    pub identifier: Identifier,
    pub depth: usize,
}

struct RuleCompiler<'a> {
    /// The form, for messages.
    form: &'static str,
    /// Whether patterns outside of the template may have bound variables in it.
    open: bool,
    context: &'a mut dyn RuleContext,
    errors: &'a mut Vec<Diagnostic>,
    ellipsis: Option<Identifier>,
    literals: Vec<Identifier>,
    inserted: Vec<Identifier>,
    inserted_index: HashMap<Identifier, u32>,
    /// The variables of the current rule.
    variables: Vec<PatternVariable>,
    depth: usize,
}

impl<'a> RuleCompiler<'a> {
    fn new(
        form: &'static str,
        context: &'a mut dyn RuleContext,
        errors: &'a mut Vec<Diagnostic>,
    ) -> RuleCompiler<'a> {
        RuleCompiler {
            form,
            open: false,
            context,
            errors,
            ellipsis: None,
            literals: Vec::new(),
            inserted: Vec::new(),
            inserted_index: HashMap::new(),
            variables: Vec::new(),
            depth: 0,
        }
    }

    fn error(&mut self, span: Span, message: &str) {
        self.errors.push(Diagnostic::error(
            "bad-syntax-rules",
            span,
            format!("{}: {message}", self.form),
        ));
    }

    fn is_ellipsis(&mut self, syntax: &Syntax) -> bool {
        let Some(identifier) = syntax.as_identifier() else {
            return false;
        };
        if self.literals.contains(&identifier) {
            return false;
        }
        match self.ellipsis {
            Some(custom) => custom == identifier,
            None => self.context.is_ellipsis(identifier),
        }
    }

    fn rule(&mut self, rule: &Syntax) -> Option<Rule> {
        let parts = rule.elements().filter(|parts| parts.len() == 2);
        let Some(parts) = parts else {
            self.error(rule.span, "a rule must be (pattern template)");
            return None;
        };
        self.variables.clear();
        let errors_before = self.errors.len();
        let pattern = match parts[0].as_pair() {
            Some(pair) => self.pattern(&pair.cdr, 0),
            None => {
                self.error(
                    parts[0].span,
                    "a pattern must be a list that begins with the keyword",
                );
                return None;
            }
        };
        let template = self.template(&parts[1], true, 0);
        (self.errors.len() == errors_before).then(|| Rule {
            pattern,
            template,
            variables: self.variables.len() as u32,
        })
    }

    fn too_deep(&mut self, span: Span) -> bool {
        if self.depth >= RULE_DEPTH_MAX {
            self.error(span, "the rule is nested too deeply");
            return true;
        }
        false
    }

    fn pattern(&mut self, syntax: &Syntax, ellipses: usize) -> Pattern {
        if self.too_deep(syntax.span) {
            return Pattern::Anything;
        }
        self.depth += 1;
        let pattern = self.pattern_inside(syntax, ellipses);
        self.depth -= 1;
        pattern
    }

    fn pattern_inside(&mut self, syntax: &Syntax, ellipses: usize) -> Pattern {
        if let Some(identifier) = syntax.as_identifier() {
            if let Some(index) = self
                .literals
                .iter()
                .position(|literal| *literal == identifier)
            {
                return Pattern::Literal(index as u32);
            }
            if self.is_ellipsis(syntax) {
                self.error(
                    syntax.span,
                    "the ellipsis must follow a pattern in a list or vector",
                );
                return Pattern::Anything;
            }
            if self.context.is_underscore(identifier) {
                return Pattern::Anything;
            }
            if self
                .variables
                .iter()
                .any(|variable| variable.identifier == identifier)
            {
                let message = format!("the pattern variable `{}` occurs twice", identifier.name);
                self.error(syntax.span, &message);
            }
            self.variables.push(PatternVariable {
                identifier,
                depth: ellipses,
            });
            return Pattern::Variable(self.variables.len() as u32 - 1);
        }
        if let Some(elements) = syntax.as_vector() {
            let elements = elements.to_vec();
            return Pattern::Vector(Box::new(self.list_pattern(&elements, None, ellipses)));
        }
        if syntax.as_pair().is_some() || syntax.is_nil() {
            let parts = syntax.parts();
            let tail = (!parts.tail.is_nil()).then_some(&parts.tail);
            return Pattern::List(Box::new(self.list_pattern(&parts.elements, tail, ellipses)));
        }
        Pattern::Datum(syntax.to_datum())
    }

    fn list_pattern(
        &mut self,
        elements: &[Syntax],
        tail: Option<&Syntax>,
        ellipses: usize,
    ) -> ListPattern {
        let mut list = ListPattern {
            before: Vec::new(),
            repeated: None,
            after: Vec::new(),
            tail: None,
        };
        let mut index = 0;
        while index < elements.len() {
            let element = &elements[index];
            let followed = elements
                .get(index + 1)
                .is_some_and(|next| self.is_ellipsis(next));
            if followed {
                if list.repeated.is_some() {
                    self.error(element.span, "a list pattern has one ellipsis at most");
                }
                let first = self.variables.len() as u32;
                let pattern = self.pattern(element, ellipses + 1);
                list.repeated = Some(Repeated {
                    pattern,
                    first,
                    end: self.variables.len() as u32,
                });
                index += 2;
                continue;
            }
            let pattern = self.pattern(element, ellipses);
            if list.repeated.is_some() {
                list.after.push(pattern)
            } else {
                list.before.push(pattern)
            }
            index += 1;
        }
        list.tail = tail.map(|tail| self.pattern(tail, ellipses));
        list
    }

    /// `escapes` tells whether ellipses mean repetition here, not themselves.
    fn template(&mut self, syntax: &Syntax, escapes: bool, ellipses: usize) -> Template {
        if self.too_deep(syntax.span) {
            return Template::Datum(Datum::Nil);
        }
        self.depth += 1;
        let template = self.template_inside(syntax, escapes, ellipses);
        self.depth -= 1;
        template
    }

    fn template_inside(&mut self, syntax: &Syntax, escapes: bool, ellipses: usize) -> Template {
        if let Some(identifier) = syntax.as_identifier() {
            return self.template_identifier(syntax, identifier, escapes, ellipses);
        }
        if let Some(elements) = syntax.as_vector() {
            let elements = elements.to_vec();
            return Template::Vector(self.template_elements(&elements, escapes, ellipses));
        }
        if let Some(pair) = syntax.as_pair() {
            // (... template) switches ellipses off inside.
            if escapes && self.is_ellipsis(&pair.car) {
                let Some(parts) = syntax.elements().filter(|parts| parts.len() == 2) else {
                    self.error(syntax.span, "an escaped template must be (... template)");
                    return Template::Datum(Datum::Nil);
                };
                return self.template(&parts[1], false, ellipses);
            }
            let mut parts = syntax.parts();
            // `(a . (... b))` has been read as `(a ... b)`; only a literal ellipsis after the
            // first element means repetition, so nothing needs to be done about it here.
            let tail = std::mem::replace(&mut parts.tail, Syntax::nil(syntax.span));
            let elements = self.template_elements(&parts.elements, escapes, ellipses);
            let tail = (!tail.is_nil()).then(|| self.template(&tail, escapes, ellipses));
            return Template::List(Box::new(ListTemplate { elements, tail }));
        }
        Template::Datum(syntax.to_datum())
    }

    fn template_identifier(
        &mut self,
        syntax: &Syntax,
        identifier: Identifier,
        escapes: bool,
        ellipses: usize,
    ) -> Template {
        let known = |variable: &PatternVariable| variable.identifier == identifier;
        let mut found = self.variables.iter().position(known);
        if found.is_none()
            && self.open
            && let Some(depth) = self.context.outer_depth(identifier)
        {
            found = Some(self.variables.len());
            self.variables.push(PatternVariable { identifier, depth });
        }
        if let Some(index) = found {
            let depth = self.variables[index].depth;
            if depth > ellipses {
                let message = format!(
                    "the variable `{}` needs {}",
                    identifier.name,
                    count_ellipses(depth)
                );
                self.error(syntax.span, &message);
            }
            return Template::Variable(index as u32);
        }
        if escapes && self.is_ellipsis(syntax) {
            self.error(
                syntax.span,
                "the ellipsis must follow a template in a list or vector",
            );
            return Template::Datum(Datum::Nil);
        }
        let next = self.inserted.len() as u32;
        let index = *self.inserted_index.entry(identifier).or_insert(next);
        if index == next {
            self.inserted.push(identifier);
        }
        Template::Identifier(index)
    }

    fn template_elements(
        &mut self,
        elements: &[Syntax],
        escapes: bool,
        ellipses: usize,
    ) -> Vec<Element> {
        let mut result = Vec::new();
        let mut index = 0;
        while index < elements.len() {
            let element = &elements[index];
            index += 1;
            let mut count = 0;
            while escapes
                && elements
                    .get(index)
                    .is_some_and(|next| self.is_ellipsis(next))
            {
                count += 1;
                index += 1;
            }
            let template = self.template(element, escapes, ellipses + count);
            let mut repeats = Vec::new();
            if count > 0 {
                let mut variables = Vec::new();
                collect_variables(&template, &mut variables);
                for level in 0..count {
                    // The variables that are deeper than the levels around this ellipsis.
                    let outside = ellipses + level;
                    let driving: Vec<u32> = variables
                        .iter()
                        .copied()
                        .filter(|&variable| self.variables[variable as usize].depth > outside)
                        .collect();
                    if driving.is_empty() {
                        self.error(
                            element.span,
                            "no variable before this ellipsis is repeated that often",
                        );
                        break;
                    }
                    repeats.push(driving);
                }
            }
            result.push(Element { template, repeats });
        }
        result
    }
}

fn count_ellipses(depth: usize) -> String {
    if depth == 1 {
        "an ellipsis".to_owned()
    } else {
        format!("{depth} ellipses")
    }
}

/// All variables of a template, each once. Recursion is bounded by [`RULE_DEPTH_MAX`].
fn collect_variables(template: &Template, variables: &mut Vec<u32>) {
    match template {
        Template::Variable(index) => {
            if !variables.contains(index) {
                variables.push(*index);
            }
        }
        Template::Identifier(_) | Template::Datum(_) => {}
        Template::List(list) => {
            list.elements
                .iter()
                .for_each(|element| collect_variables(&element.template, variables));
            list.tail
                .iter()
                .for_each(|tail| collect_variables(tail, variables));
        }
        Template::Vector(elements) => {
            elements
                .iter()
                .for_each(|element| collect_variables(&element.template, variables));
        }
    }
}
