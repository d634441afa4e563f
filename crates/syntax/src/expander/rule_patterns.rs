//! The patterns of a macro as its definition has them, for messages about uses that none of them takes.
//!
//! The expander keeps patterns without the names of their variables, so the definition is read again.

use crate::binding::Binding;
use crate::environment::{Entry, Origin};
use crate::expander::Expander;
use crate::name::Name;
use crate::reader::read_text;
use crate::span::Span;
use crate::syntax::Syntax;

/// Bytes of a definition that are looked at.
const DEFINITION_BYTES_MAX: usize = 4000;

/// Patterns that are shown.
const PATTERNS_MAX: usize = 6;

impl Expander<'_> {
    /// Where a macro of this unit's top level is defined, and how its rules want it to be used.
    pub(crate) fn rule_patterns(&self, name: Name) -> Option<(Span, String)> {
        let Some(Entry {
            binding: Binding::Macro(_),
            origin: Origin::Defined(span),
        }) = self.environment.entry(name)
        else {
            return None;
        };
        let source = self.libraries.sources().get(span.source)?;
        let text = &source.text;
        let start = text.get(..span.start as usize)?.rfind(['(', '['])?;
        let end = text.floor_char_boundary(text.len().min(start + DEFINITION_BYTES_MAX));
        let forms = read_text(text.get(start..end)?, span.source, false).forms;
        let definition = forms.first()?.elements()?;
        let rules = definition.get(2)?.elements()?;
        let is_word = |form: &Syntax, word: &str| {
            form.as_identifier()
                .is_some_and(|identifier| identifier.name.as_str() == word)
        };
        if !is_word(definition.first()?, "define-syntax")
            || !is_word(rules.first()?, "syntax-rules")
        {
            return None;
        }
        // Behind the literals, before which an ellipsis of one's own may stand.
        let behind = if rules.get(1)?.as_identifier().is_some() {
            3
        } else {
            2
        };
        let patterns = rules.get(behind..)?.iter().filter_map(|rule| {
            let pattern = rule.elements()?.into_iter().next()?;
            let rest = pattern.as_pair()?.cdr.to_string();
            Some(match rest.strip_prefix('(') {
                Some(")") => format!("({name})"),
                Some(rest) => format!("({name} {rest}"),
                None => format!("({name} . {rest})"),
            })
        });
        let patterns: Vec<String> = patterns.collect();
        let shown = patterns.get(..PATTERNS_MAX).unwrap_or(&patterns);
        let more = if patterns.len() > shown.len() {
            " or …"
        } else {
            ""
        };
        (!shown.is_empty()).then(|| (*span, format!("{}{more}", shown.join(" or "))))
    }
}
