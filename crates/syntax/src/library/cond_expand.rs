//! Selects the clause of `cond-expand`, in libraries and programs.
//!
//! A requirement `(library …)` asks the loader whether the library exists and does not load it.
//! Nesting is limited, so that no input exhausts the native stack.

use crate::diagnostic::Diagnostic;
use crate::library::Libraries;
use crate::library::written_name::library_name;
use crate::syntax::Syntax;

/// Deepest nesting of a requirement.
const REQUIREMENT_DEPTH_MAX: usize = 500;

impl Libraries {
    /// The forms of the first clause whose requirement holds; none if no clause applies.
    pub(crate) fn cond_expand(
        &mut self,
        clauses: &[Syntax],
    ) -> Result<Vec<Syntax>, Box<Diagnostic>> {
        let bad = |clause: &Syntax, message: &str| {
            Box::new(Diagnostic::error(
                "bad-syntax",
                clause.span,
                format!("cond-expand: {message}"),
            ))
        };
        let mut result = None;
        for (index, clause) in clauses.iter().enumerate() {
            let mut parts = clause
                .elements()
                .filter(|parts| !parts.is_empty())
                .ok_or_else(|| bad(clause, "a clause must be (requirement form …)"))?;
            let requirement = parts.remove(0);
            let is_else = requirement
                .as_identifier()
                .is_some_and(|name| name.name.as_str() == "else");
            if is_else && index + 1 != clauses.len() {
                return Err(bad(clause, "the else clause must be the last one"));
            }
            if result.is_none() && (is_else || self.holds(&requirement, 0)?) {
                result = Some(parts);
            }
        }
        Ok(result.unwrap_or_default())
    }

    fn holds(&mut self, requirement: &Syntax, depth: usize) -> Result<bool, Box<Diagnostic>> {
        let bad = |message: String| {
            Box::new(Diagnostic::error(
                "bad-syntax",
                requirement.span,
                format!("cond-expand: {message}"),
            ))
        };
        if depth > REQUIREMENT_DEPTH_MAX {
            return Err(bad("the requirement is nested too deeply".to_owned()));
        }
        if let Some(feature) = requirement.as_identifier() {
            return Ok(self.features.contains(&feature.name));
        }
        let elements = requirement
            .elements()
            .filter(|elements| !elements.is_empty());
        let Some(elements) = elements else {
            return Err(bad(format!("`{requirement}` is not a requirement")));
        };
        let operands = &elements[1..];
        match elements[0].as_identifier().map(|word| word.name.as_str()) {
            Some("and") => {
                for operand in operands {
                    if !self.holds(operand, depth + 1)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Some("or") => {
                for operand in operands {
                    if self.holds(operand, depth + 1)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Some("not") => match operands {
                [operand] => Ok(!self.holds(operand, depth + 1)?),
                _ => Err(bad("`not` takes one requirement".to_owned())),
            },
            Some("library") => match operands {
                [name] => {
                    let source = name.span.source;
                    let name = self.located(library_name(name)?, source);
                    Ok(self.exists(&name))
                }
                _ => Err(bad("`library` takes one library name".to_owned())),
            },
            _ => Err(bad(format!("`{requirement}` is not a requirement"))),
        }
    }
}
