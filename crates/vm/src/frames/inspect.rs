//! Keeping what was in the frames of a thread: their descriptions and the values of their variables,
//! for people who look into a failure after its frames are gone.
//!
//! A variable has a value as long as its register is live. Code that was compiled for people to look
//! into (`keeps_variables` of the compiler's options) keeps the variables in scope live, as long as it
//! is interpreted. Other code of users knows the variables that happen to be live (`names_variables`),
//! which backtraces show.

use canny_compiler::unit::{VariablePlace, VariableScope};
use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::code::CodeRef;
use crate::frames::guests::ShownRun;
use crate::frames::{FrameDescription, FrameWalk, Newer, Step, hide_stand_ins};
use crate::primitive::Raise;
use crate::thread::Thread;

/// A variable of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameVariable {
    /// Its name.
    pub name: String,
    /// Index of its value among those that were kept; none when the code had let go of it.
    pub index: Option<usize>,
    /// Its register, unless the closure has captured it. Those of inner scopes have higher numbers.
    pub register: Option<u8>,
}

/// A frame that was kept.
#[derive(Clone, Debug)]
pub struct KeptFrame {
    /// Its description for backtraces.
    pub description: FrameDescription,
    /// Its variables, innermost first.
    pub variables: Vec<FrameVariable>,
}

/// Frames while they are read.
#[derive(Default)]
struct Kept {
    frames: Vec<FrameDescription>,
    /// By frame; shorter where the last ones have none.
    variables: Vec<Vec<FrameVariable>>,
    with_tail_calls: bool,
    /// Runs of guests whose frames are among them.
    shown: Vec<ShownRun>,
}

impl Thread {
    /// A list of all live records of a type, after a full collection.
    pub fn instances_of(&mut self, record_type: Value) -> Value {
        // The argument stands on the native stack, so the collection leaves the type where it is.
        let record_type = std::hint::black_box(record_type);
        let mut found = Vec::new();
        self.mutator().walk(|object| {
            let value = object.value();
            if object.kind() == Some(Kind::Record)
                && value
                    .as_object()
                    .is_some_and(|object| object.field(0) == record_type)
            {
                found.push(value);
            }
        });
        // No safepoint was passed since the walk.
        let first = self.protect(Value::FALSE);
        self.scratch.extend(found);
        self.scratch.remove(first.index());
        let list = self.list_of_protected(first, Value::NIL);
        self.release(first);
        list
    }

    /// Keeps the newest `count_max` frames, newest first, and a vector with the values of their variables.
    pub fn keep_frames(&mut self, count_max: usize) -> Result<(Vec<KeptFrame>, Value), Raise> {
        let mut count = 0;
        let frames = self.read_frames(count_max, true, &mut |_| {
            count += 1;
            count - 1
        });
        let vector = self.make_vector(count, Value::FALSE)?;
        let mut next = 0;
        let thread: &Thread = self;
        let mut values = Vec::with_capacity(count);
        // Making the vector may have moved the objects. From here on nothing does.
        thread.read_frames(count_max, false, &mut |value| {
            values.push(value);
            next += 1;
            next - 1
        });
        debug_assert_eq!(next, count);
        for (index, value) in values.into_iter().enumerate().take(count) {
            self.store(vector, index, value);
        }
        Ok((frames, vector))
    }

    /// Describes the newest `count_max` frames, newest first, with the tail calls between them. The
    /// first `shown_max` that are the program's have the values of their variables as `show` writes
    /// them.
    pub fn describe_frames_and_values(
        &self,
        count_max: usize,
        shown_max: usize,
        show: &dyn Fn(Value) -> String,
    ) -> Vec<FrameDescription> {
        // Nothing is allocated meanwhile, so the values stay where they are.
        let mut values: Vec<Value> = Vec::new();
        let frames = self.read_frames(count_max, true, &mut |value| {
            values.push(value);
            values.len() - 1
        });
        let mut shown = 0;
        let described = frames.into_iter().take(count_max).map(|mut frame| {
            let is_shown = !frame.description.is_library && shown < shown_max;
            shown += usize::from(is_shown);
            if is_shown && frame.description.listing.is_none() {
                frame
                    .variables
                    .sort_by_key(|one| (one.register.is_none(), one.register));
                let live = frame.variables.iter();
                let live =
                    live.filter_map(|one| Some((one.name.clone(), *values.get(one.index?)?)));
                frame.description.values = live.map(|(name, value)| (name, show(value))).collect();
            }
            frame.description
        });
        described.collect()
    }

    /// Describes frames with their variables; `keep` gets each value and gives its index.
    fn read_frames(
        &self,
        count_max: usize,
        with_tail_calls: bool,
        keep: &mut dyn FnMut(Value) -> usize,
    ) -> Vec<KeptFrame> {
        let mut kept = Kept {
            with_tail_calls,
            ..Kept::default()
        };
        let mut newer = None;
        let mut walk = FrameWalk::new(self);
        while let Some(step) = walk.next() {
            if kept.frames.len() >= count_max {
                break;
            }
            if step.is_trap {
                newer = None;
                continue;
            }
            self.read_frame(&step, &mut newer, &mut kept, keep);
        }
        self.each_sealed_frame(self.sealed, &mut |closure, pc, _| {
            if kept.frames.len() < count_max {
                self.describe_frame(closure, pc, with_tail_calls, &mut newer, &mut kept.frames);
            }
            kept.frames.len() < count_max
        });
        hide_stand_ins(&mut kept.frames);
        let variables = kept
            .variables
            .into_iter()
            .chain(std::iter::repeat(Vec::new()));
        let frames = kept.frames.into_iter().zip(variables);
        let frames = frames.map(|(description, variables)| KeptFrame {
            description,
            variables,
        });
        frames.collect()
    }

    fn read_frame(
        &self,
        step: &Step,
        newer: &mut Option<Newer>,
        kept: &mut Kept,
        keep: &mut dyn FnMut(Value) -> usize,
    ) {
        // SAFETY: the frame is live.
        let closure = unsafe { Thread::closure_of(step.fp) };
        let values = || {
            let mut values = Vec::new();
            step.live.each(|register| {
                // SAFETY: a live register of a live frame.
                values.push(unsafe { *step.fp.add(register) });
            });
            values
        };
        self.describe_guests(closure, values, &mut kept.shown, &mut kept.frames);
        let first = kept.frames.len();
        let with_tail_calls = kept.with_tail_calls;
        self.describe_frame(closure, step.pc, with_tail_calls, newer, &mut kept.frames);
        kept.variables.resize(kept.frames.len(), Vec::new());
        let code = CodeRef::of_closure(closure);
        let Some((unit, index)) = code.and_then(|code| self.vm.metadata(code)) else {
            return;
        };
        let (Some(code), Some(last)) = (code, kept.frames.len().checked_sub(1)) else {
            return;
        };
        let word = ((step.pc as usize).wrapping_sub(code.start() as usize) / 4).wrapping_sub(1);
        let mut live = vec![false; code.frame_words() + 1];
        step.live.each(|register| {
            if let Some(place) = live.get_mut(register) {
                *place = true;
            }
        });
        for scope in unit.codes[index].variables.iter() {
            let is_inside = (scope.start as usize..scope.end as usize).contains(&word);
            if !is_inside || first > last {
                continue;
            }
            let owner = (first..=last)
                .find(|at| kept.frames[*at].copy == Some(scope.inlining))
                .unwrap_or(last);
            let value = value_of(scope, step, closure, &live);
            let variables = &mut kept.variables[owner];
            let name = scope.name.as_str();
            if variables.iter().any(|variable| variable.name == name) {
                // A variable of the same name further in hides it.
                continue;
            }
            variables.push(FrameVariable {
                name: name.to_owned(),
                index: value.map(&mut *keep),
                register: match scope.place {
                    VariablePlace::Register(register) => Some(register),
                    VariablePlace::Captured(_) | VariablePlace::Nowhere => None,
                },
            });
        }
    }
}

/// The value of a variable in a frame, if it is still there.
fn value_of(scope: &VariableScope, step: &Step, closure: Value, live: &[bool]) -> Option<Value> {
    let value = match scope.place {
        VariablePlace::Register(register) => {
            let register = usize::from(register);
            if !live.get(register).copied().unwrap_or(false) {
                return None;
            }
            // SAFETY: a live register of a live frame.
            unsafe { *step.fp.add(register) }
        }
        VariablePlace::Captured(slot) => {
            let object = closure.as_kind(Kind::Closure)?;
            let field = 1 + usize::from(slot);
            if field >= object.length() {
                return None;
            }
            object.field(field)
        }
        VariablePlace::Nowhere => return None,
    };
    let value = match value.as_kind(Kind::Box) {
        Some(holder) if scope.is_boxed => holder.field(0),
        _ => value,
    };
    (value != Value::UNBOUND && value != Value::ABSENT).then_some(value)
}

impl Thread {
    /// Names and values of the variables that a procedure has captured, as far as its code knows them.
    pub fn captured_variables(&self, closure: Value) -> Vec<(String, Value)> {
        let code = CodeRef::of_closure(closure);
        let Some((unit, index)) = code.and_then(|code| self.vm.metadata(code)) else {
            return Vec::new();
        };
        let Some(object) = closure.as_kind(Kind::Closure) else {
            return Vec::new();
        };
        let mut found: Vec<(String, Value)> = Vec::new();
        for scope in &unit.codes[index].variables {
            let VariablePlace::Captured(slot) = scope.place else {
                continue;
            };
            let field = 1 + usize::from(slot);
            let name = scope.name.as_str();
            if field < object.length() && found.iter().all(|(known, _)| known != name) {
                let held = object.field(field);
                let value = match held.as_kind(Kind::Box) {
                    Some(holder) if scope.is_boxed => holder.field(0),
                    _ => held,
                };
                found.push((name.to_owned(), value));
            }
        }
        found
    }
}
