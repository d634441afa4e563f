//! The rules of a `syntax-rules` form as data: patterns and templates.
//!
//! A [`RuleSet`] is plain data. The identifiers that matter for hygiene, namely the literals of
//! the patterns and the symbols of the templates, are kept in two tables beside the trees, so that
//! a macro is moved between an expansion and its lasting form by rewriting two vectors.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::datum::Datum;
use crate::syntax::Identifier;

/// The rules of one `syntax-rules` form.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuleSet {
    /// The trees.
    pub(crate) rules: Arc<Vec<Rule>>,
    /// The identifiers that patterns compare with, by [`Pattern::Literal`].
    pub(crate) literals: Vec<Identifier>,
    /// The identifiers that templates insert, by [`Template::Identifier`].
    pub(crate) inserted: Vec<Identifier>,
}

/// One pattern with its template.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// Matches the use without its keyword.
    pub pattern: Pattern,
    pub template: Template,
    /// How many pattern variables there are.
    pub variables: u32,
}

/// A pattern.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// `_`
    Anything,
    Variable(u32),
    Literal(u32),
    Datum(Datum),
    List(Box<ListPattern>),
    Vector(Box<ListPattern>),
}

/// `(before … repeated ... after … . tail)`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ListPattern {
    pub before: Vec<Pattern>,
    pub repeated: Option<Repeated>,
    pub after: Vec<Pattern>,
    /// `None` for a proper list.
    pub tail: Option<Pattern>,
}

/// A pattern before an ellipsis, with the variables in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Repeated {
    pub pattern: Pattern,
    /// The variables `first..end` occur in it.
    pub first: u32,
    pub end: u32,
}

/// A template.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Template {
    Variable(u32),
    Identifier(u32),
    Datum(Datum),
    List(Box<ListTemplate>),
    Vector(Vec<Element>),
}

/// `(element … . tail)`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ListTemplate {
    pub elements: Vec<Element>,
    /// `None` for a proper list.
    pub tail: Option<Template>,
}

/// A template with the ellipses that follow it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Element {
    pub template: Template,
    /// One entry per ellipsis, outermost first: the variables that are taken apart there.
    pub repeats: Vec<Vec<u32>>,
}

impl RuleSet {
    /// Every identifier that matters for hygiene.
    pub(crate) fn identifiers(&self) -> impl Iterator<Item = &Identifier> {
        self.literals.iter().chain(self.inserted.iter())
    }

    /// The inserted identifiers (by index) that some template assigns directly, as in
    /// `(set! counter …)` where the head (by index) satisfies `is_set`.
    pub(crate) fn assigned(&self, is_set: &mut dyn FnMut(u32) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        let mut pending: Vec<&Template> = self.rules.iter().map(|rule| &rule.template).collect();
        while let Some(template) = pending.pop() {
            match template {
                Template::List(list) => {
                    if let [first, second, ..] = list.elements.as_slice()
                        && let (Template::Identifier(head), Template::Identifier(target)) =
                            (&first.template, &second.template)
                        && is_set(*head)
                    {
                        found.push(*target);
                    }
                    pending.extend(list.elements.iter().map(|element| &element.template));
                    pending.extend(list.tail.iter());
                }
                Template::Vector(elements) => {
                    pending.extend(elements.iter().map(|element| &element.template))
                }
                _ => {}
            }
        }
        found
    }
}
