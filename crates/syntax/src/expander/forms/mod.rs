//! The core forms, one topic per file. All are methods of the expander; each checks the shape of
//! its form and reports what is wrong with it under the form's name.

mod assertions;
mod binding_forms;
mod case;
mod conditionals;
mod definitions;
mod inclusion;
mod interpolation;
mod lambda;
mod loops;
pub(crate) mod matching_forms;
mod parameterization;
mod quotation;
pub(crate) mod records;
mod syntax_case;
pub(crate) mod values;
