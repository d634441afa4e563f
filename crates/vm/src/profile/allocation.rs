//! Sampled objects: where the program was when they were allocated, and their types.
//!
//! The heap asks for a note in the middle of an allocation ([`AllocationObserver`]). The thread notes what
//! the signal handler would note of the machine's own code: where it returns to, the frames that it
//! may belong to, and the newest words of the stack. The thread reads it at a safepoint, like samples of
//! processor time. Objects that one place allocates before the thread comes to a safepoint share a note.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use canny_heap::{AllocationObserver, AllocationSample};
use canny_profile::model::{Allocation, LabelSetIndex, ThreadIndex};
use canny_tables::kinds::Kind;
use canny_tables::layout::record_type;
use canny_value::Value;

use super::Recording;
use super::capture::{Sample, Sampler};
use super::tasks::text_of;
use super::walk::Walk;
use crate::thread::Thread;

/// Places that a thread may note before it comes to a safepoint.
const NOTES_MAX: usize = 64;
/// Places for which it is asked to come there.
const NOTES_WANTED: usize = 16;
/// Objects for which it is asked.
const OBJECTS_WANTED: usize = 64;
/// Objects of one place share a note if they are made in this time.
const TOGETHER_NS: u64 = 1_000_000;

/// A sampled object.
struct Made {
    id: u64,
    /// Its offset in memory that was taken for several objects.
    offset_bytes: usize,
    bytes: usize,
    weight_bytes: f64,
    type_name: TypeName,
}

/// The type of an object.
enum TypeName {
    Kind(&'static str),
    Record(String),
}

/// A place, and the objects that were made there.
struct Noted {
    sample: Box<Sample>,
    objects: Vec<Made>,
}

/// The notes of a thread since it has read them.
#[derive(Default)]
pub(super) struct Notes {
    list: Vec<Noted>,
    spare: Vec<Noted>,
    /// Objects that were asked about since.
    objects: usize,
    lost: u64,
}

/// Notes that the observer and the thread share.
pub(super) type SharedNotes = Rc<RefCell<Notes>>;

/// Hears of the samples of a thread.
pub(super) struct Observer {
    /// The thread's; it outlives the observer, which is dropped first.
    sampler: *const Sampler,
    notes: SharedNotes,
}

impl Observer {
    /// An observer for the thread that the sampler belongs to. The sampler outlives it.
    pub(super) fn new(sampler: &Sampler, notes: SharedNotes) -> Observer {
        Observer { sampler, notes }
    }
}

impl AllocationObserver for Observer {
    fn allocating(&mut self) -> usize {
        let notes = &mut *self.notes.borrow_mut();
        let index = notes.list.len();
        notes.objects += 1;
        let mut noted = notes.spare.pop().unwrap_or_else(|| Noted {
            sample: Sample::empty(),
            objects: Vec::new(),
        });
        // SAFETY: the sampler is that of this thread, which is in the machine's own code.
        unsafe { (*self.sampler).note_here(&mut noted.sample) };
        let is_full = index == NOTES_MAX;
        let is_known = notes.list.last().is_some_and(|last| {
            let since_ns = noted.sample.at_ns.saturating_sub(last.sample.at_ns);
            last.sample.is_same_place(&noted.sample) && (is_full || since_ns < TOGETHER_NS)
        });
        let is_urgent =
            noted.sample.sealed.0 > 0 || index >= NOTES_WANTED || notes.objects >= OBJECTS_WANTED;
        let index = match (is_known, is_full) {
            (true, _) => {
                notes.spare.push(noted);
                index - 1
            }
            (false, false) => {
                notes.list.push(noted);
                index
            }
            (false, true) => {
                notes.spare.push(noted);
                notes.lost += 1;
                return index;
            }
        };
        // SAFETY: as above.
        unsafe { (*self.sampler).want_reader(is_urgent) };
        index
    }

    fn made(&mut self, noted: usize, sample: AllocationSample) {
        if let Some(noted) = self.notes.borrow_mut().list.get_mut(noted) {
            noted.objects.push(Made {
                id: sample.id,
                offset_bytes: sample.offset_bytes,
                bytes: sample.bytes,
                weight_bytes: sample.weight_bytes,
                type_name: type_name(sample.object),
            });
        }
    }
}

/// The name of an object's type.
fn type_name(object: Value) -> TypeName {
    let Some(object) = object.as_object() else {
        return TypeName::Kind("pair");
    };
    let kind = object.header().kind();
    let of_record = || {
        let its_type = object.value().as_kind(Kind::Record)?.field(0);
        let its_type = its_type.as_kind(Kind::RecordType)?;
        text_of(its_type.field(record_type::NAME))
    };
    match of_record() {
        Some(name) => TypeName::Record(name),
        None => TypeName::Kind(kind.row().name),
    }
}

impl Notes {
    /// Hands the notes to the recording; gives the number of samples that could not be kept.
    pub(super) fn read(
        &mut self,
        recording: &mut Recording,
        thread: &Thread,
        (index, labels, label): (ThreadIndex, LabelSetIndex, &Arc<str>),
    ) -> u64 {
        let mut walk = Walk::new(thread, std::mem::take(&mut recording.returns));
        for mut noted in self.list.drain(..) {
            noted.objects.sort_by_key(|made| made.offset_bytes);
            for objects in noted
                .objects
                .chunk_by(|a, b| a.offset_bytes == b.offset_bytes)
            {
                walk.offset_bytes = objects[0].offset_bytes;
                walk.read(&noted.sample);
                recording.add_allocations(&walk, &noted.sample, (index, labels), objects);
                recording.follow(&walk, label, objects);
            }
            noted.objects.clear();
            self.spare.push(noted);
        }
        recording.returns = walk.into_return_places();
        self.objects = 0;
        std::mem::take(&mut self.lost)
    }

    /// Whether there is anything to read.
    pub(super) fn has_any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Drops the notes.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.objects = 0;
        self.lost = 0;
    }
}

impl Recording {
    /// Adds the rows of objects that one place allocated.
    fn add_allocations(
        &mut self,
        walk: &Walk,
        sample: &Sample,
        (thread, label): (ThreadIndex, LabelSetIndex),
        objects: &[Made],
    ) {
        let task = self.tasks.row(sample.task, &mut self.rows);
        let base = self.tasks.starter_stack(task);
        let stack = self.stack(walk.thread, base, &walk.links);
        let reason = walk.escape.map(|escape| self.rows.string(escape.text()));
        for made in objects {
            let name = match &made.type_name {
                TypeName::Kind(name) => name,
                TypeName::Record(name) => name.as_str(),
            };
            let type_name = self.rows.string(name);
            self.rows.allocation(Allocation {
                at_ns: sample.at_ns.saturating_sub(self.start_ns),
                thread,
                task,
                label,
                stack,
                type_name,
                size_bytes: made.bytes as u64,
                weight_bytes: made.weight_bytes.round() as u64,
                reason,
                id: made.id,
            });
        }
    }

    /// Notes where objects were allocated as long as they live.
    fn follow(&mut self, walk: &Walk, label: &Arc<str>, objects: &[Made]) {
        if let Some(place) = self.live.place(walk.thread, &walk.links, label) {
            for made in objects {
                let weight = made.weight_bytes.round() as u64;
                self.live.add(made.id, place, weight);
            }
        }
    }
}
