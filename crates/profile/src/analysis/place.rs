//! The things that costs are added up for: functions or lines.
//!
//! Samples without a stack and stacks that were cut have places of their own, so that no cost is
//! lost.

use crate::model::{Frame, FunctionIndex, Group, Profile, StackIndex};

/// How finely places are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    #[default]
    Function,
    Line,
}

/// A function, a line of one, or the want of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    Function(FunctionIndex),
    Line(FunctionIndex, u32),
    /// There was no stack.
    Unknown,
    /// Frames are missing here, since the stack was cut.
    Cut,
}

impl Place {
    pub fn of(frame: Frame, grain: Grain) -> Place {
        match grain {
            Grain::Function => Place::Function(frame.function),
            Grain::Line => Place::Line(frame.function, frame.line),
        }
    }

    pub fn function(self) -> Option<FunctionIndex> {
        match self {
            Place::Function(function) | Place::Line(function, _) => Some(function),
            Place::Unknown | Place::Cut => None,
        }
    }

    /// The name of the function.
    pub fn name(self, profile: &Profile) -> &str {
        match self {
            Place::Function(function) | Place::Line(function, _) => profile.function_name(function),
            Place::Unknown => "(no stack)",
            Place::Cut => "(frames are missing)",
        }
    }

    /// The file and the line; that of the definition for a whole function. Empty for unknown.
    pub fn location(self, profile: &Profile) -> String {
        let (function, line) = match self {
            Place::Function(function) => (function, profile.function(function).line),
            Place::Line(function, line) => (function, line),
            Place::Unknown | Place::Cut => return String::new(),
        };
        match (profile.function_file(function), line) {
            (Some(file), 0) => file.to_owned(),
            (Some(file), line) => format!("{file}:{line}"),
            (None, _) => String::new(),
        }
    }

    /// The newest place of a stack in Scheme code, or its newest place.
    ///
    /// Objects are allocated in the machine; people look for the line that caused it.
    pub(crate) fn in_scheme(profile: &Profile, stack: Option<StackIndex>, grain: Grain) -> Place {
        let is_scheme = |frame: &Frame| profile.function(frame.function).group.is_scheme();
        let mut frames = profile.walk(stack, true).map(|step| step.frame);
        let newest = profile.walk(stack, true).next().map(|step| step.frame);
        match frames.find(is_scheme).or(newest) {
            Some(frame) => Place::of(frame, grain),
            None => Place::Unknown,
        }
    }

    /// The newest place of a stack in the program itself, or in Scheme code, or its newest place.
    ///
    /// Tasks wait in the standard library.
    pub(crate) fn in_program(profile: &Profile, stack: Option<StackIndex>, grain: Grain) -> Place {
        let is_program = |frame: &Frame| profile.function(frame.function).group == Group::Program;
        let mut frames = profile.walk(stack, true).map(|step| step.frame);
        match frames.find(is_program) {
            Some(frame) => Place::of(frame, grain),
            None => Place::in_scheme(profile, stack, grain),
        }
    }
}
