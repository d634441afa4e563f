//! The walk from a stack's newest frame to its oldest.

use super::{Frame, FrameIndex, Rows, StackIndex, StackKind};

/// A frame that a walk came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub stack: StackIndex,
    pub frame_index: FrameIndex,
    pub frame: Frame,
    pub kind: StackKind,
}

/// The frames of a stack, newest first.
#[derive(Clone, Debug)]
pub struct Walk<'rows> {
    rows: &'rows Rows,
    next: Option<StackIndex>,
    is_async: bool,
}

impl<'rows> Walk<'rows> {
    pub(super) fn new(rows: &'rows Rows, stack: Option<StackIndex>, is_async: bool) -> Self {
        Walk {
            rows,
            next: stack,
            is_async,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let index = self.next.take()?;
        let stack = *self.rows.stacks.get(index.row())?;
        let frame = self.rows.frames.get(stack.frame.row());
        let is_last = match stack.kind {
            StackKind::Started => !self.is_async,
            StackKind::Plain | StackKind::Cut => false,
        };
        if !is_last {
            // A parent with a larger number would be a circle; no reader lets one in.
            self.next = stack.parent.filter(|parent| *parent < index);
        }
        Some(Step {
            stack: index,
            frame_index: stack.frame,
            frame: frame.copied().unwrap_or_default(),
            kind: stack.kind,
        })
    }
}
