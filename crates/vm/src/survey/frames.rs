//! The frames of a thread as roots, with their procedures and variables.
//!
//! Names come from the metadata of units. Those of registers are known where variables are named.

use std::collections::HashMap;

use canny_compiler::unit::VariablePlace;
use canny_heap::{RootLabel, RootListing};

use crate::code::CodeRef;
use crate::frames::{FrameDescription, FrameWalk, Step};
use crate::thread::Thread;

/// Frames of a thread that are described one by one. A description takes some microseconds, for which
/// the program stands still.
const DESCRIBED_MAX: usize = 1000;

impl Thread {
    /// Adds a node for each frame on the stack, the newest first; older ones share one.
    pub(crate) fn list_frames(&self, listing: &mut RootListing, thread: usize) {
        let mut walk = FrameWalk::new(self);
        let mut count = 0;
        let mut rest = None;
        while let Some(step) = walk.next() {
            count += 1;
            let node = if count <= DESCRIBED_MAX {
                let label = self.label_of(&step);
                listing.group_in(thread, label)
            } else {
                *rest.get_or_insert_with(|| {
                    listing.group_in(thread, RootLabel::of_family("older frames"))
                })
            };
            // SAFETY: the walk gives live frames, whose closures and live registers hold values.
            unsafe {
                listing.add(node, Thread::closure_of(step.fp));
                step.live
                    .each(|register| listing.add(node, *step.fp.add(register)));
            }
        }
    }

    fn label_of(&self, step: &Step) -> RootLabel {
        // SAFETY: the frame is live.
        let closure = unsafe { Thread::closure_of(step.fp) };
        let mut label = RootLabel::of_family("frame");
        let Some(code) = CodeRef::of_closure(closure) else {
            return label;
        };
        let mut frames: Vec<FrameDescription> = Vec::new();
        let name = self.vm.procedure_name(closure);
        self.describe_code(code, step.pc, name, &mut frames);
        if let Some(frame) = frames.pop() {
            label.name = match frame.name {
                Some(name) => Some(name),
                None => frame.is_program.then(|| "the program".to_owned()),
            };
            label.is_library = frame.is_library;
            if let Some(position) = frame.position {
                label.file = Some(position.file);
                label.line = position.line;
            }
        }
        let names = self.names_of_registers(code, step);
        label.fields.push("procedure".to_owned());
        step.live.each(|register| {
            let name = names.get(&register).cloned();
            label
                .fields
                .push(name.unwrap_or_else(|| format!("register {register}")));
        });
        label
    }

    /// Names of the variables that are in registers where a frame stands.
    fn names_of_registers(&self, code: CodeRef, step: &Step) -> HashMap<usize, String> {
        let mut names = HashMap::new();
        if let Some((unit, index)) = self.vm.metadata(code) {
            let word = ((step.pc as usize).wrapping_sub(code.start() as usize) / 4).wrapping_sub(1);
            for scope in &unit.codes[index].variables {
                if let VariablePlace::Register(register) = scope.place
                    && (scope.start as usize..scope.end as usize).contains(&word)
                {
                    names.insert(usize::from(register), scope.name.as_str().to_owned());
                }
            }
        }
        names
    }
}
