//! Instantiating a template with what its pattern matched.
//!
//! Everything inserted gets the span of the macro use; what was matched is shared, not copied.

use crate::expander::matching::Matched;
use crate::rules::{Element, Template};
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// Why a template could not be instantiated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TranscribeError {
    /// Two variables under one ellipsis matched different numbers of forms.
    Lengths(usize, usize),
    /// The result would be larger than the budget allows.
    TooLarge,
}

/// The state of one instantiation.
pub(crate) struct Transcriber<'a> {
    /// The span of the macro use.
    pub span: Span,
    /// Gives the fresh alias of an inserted identifier, by its index.
    pub rename: &'a mut dyn FnMut(u32) -> Identifier,
    /// How many nodes may still be made.
    pub budget: &'a mut usize,
}

impl Transcriber<'_> {
    /// The template with the variables' values.
    pub fn transcribe(
        &mut self,
        template: &Template,
        variables: &mut [Matched],
    ) -> Result<Syntax, TranscribeError> {
        self.spend(1)?;
        Ok(match template {
            Template::Variable(index) => match &variables[*index as usize] {
                Matched::One(syntax) => syntax.clone(),
                // Only after an error in the rule, which is never used then.
                Matched::None | Matched::Many(_) => Syntax::nil(self.span),
            },
            Template::Identifier(index) => Syntax::identifier(self.span, (self.rename)(*index)),
            Template::Datum(datum) => Syntax::from_datum(self.span, datum),
            Template::Vector(elements) => {
                let elements = self.elements(elements, variables)?;
                Syntax::vector(self.span, elements)
            }
            Template::List(list) => {
                let elements = self.elements(&list.elements, variables)?;
                let tail = match &list.tail {
                    Some(tail) => self.transcribe(tail, variables)?,
                    None => Syntax::nil(self.span),
                };
                Syntax::list_with_tail(self.span, elements, tail)
            }
        })
    }

    fn spend(&mut self, count: usize) -> Result<(), TranscribeError> {
        *self.budget = self
            .budget
            .checked_sub(count)
            .ok_or(TranscribeError::TooLarge)?;
        Ok(())
    }

    fn elements(
        &mut self,
        elements: &[Element],
        variables: &mut [Matched],
    ) -> Result<Vec<Syntax>, TranscribeError> {
        let mut result = Vec::with_capacity(elements.len());
        for element in elements {
            self.element(&element.template, &element.repeats, variables, &mut result)?;
        }
        Ok(result)
    }

    fn element(
        &mut self,
        template: &Template,
        repeats: &[Vec<u32>],
        variables: &mut [Matched],
        result: &mut Vec<Syntax>,
    ) -> Result<(), TranscribeError> {
        let Some((driving, inner)) = repeats.split_first() else {
            result.push(self.transcribe(template, variables)?);
            return Ok(());
        };
        // Take the repeated values out, put one of each at a time in, and put all back at the end.
        let mut taken: Vec<(usize, Matched)> = Vec::with_capacity(driving.len());
        let mut length: Option<usize> = None;
        for &variable in driving {
            let index = variable as usize;
            let Matched::Many(values) = &variables[index] else {
                continue;
            };
            let count = values.len();
            if let Some(expected) = length.filter(|&expected| expected != count) {
                for (index, values) in taken {
                    variables[index] = values;
                }
                return Err(TranscribeError::Lengths(expected, count));
            }
            length = Some(count);
            taken.push((
                index,
                std::mem::replace(&mut variables[index], Matched::None),
            ));
        }
        let mut outcome = Ok(());
        for position in 0..length.unwrap_or(0) {
            for (index, values) in &taken {
                if let Matched::Many(values) = values {
                    variables[*index] = values[position].clone();
                }
            }
            outcome = self.element(template, inner, variables, result);
            if outcome.is_err() {
                break;
            }
        }
        for (index, values) in taken {
            variables[index] = values;
        }
        outcome
    }
}
