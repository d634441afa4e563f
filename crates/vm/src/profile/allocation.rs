//! Sampled objects: where the program was when they were allocated, and their types.
//!
//! The heap asks for a note in the middle of an allocation ([`AllocationObserver`]). What is noted then is
//! what the signal handler would note of the machine's own code: where it returns to, the frames that it
//! may belong to, and the newest words of the stack. The thread reads it at a safepoint, like samples of
//! processor time. Objects that one place allocates before the thread comes to a safepoint share a note.

use std::cell::RefCell;
use std::rc::Rc;

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
    lost: u64,
}

/// Notes that the observer and the thread share.
pub(super) type SharedNotes = Rc<RefCell<Notes>>;

/// What the heap tells about a thread's samples.
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
        if index == NOTES_MAX {
            notes.lost += 1;
            return index;
        }
        let mut noted = notes.spare.pop().unwrap_or_else(|| Noted {
            sample: Sample::empty(),
            objects: Vec::new(),
        });
        // SAFETY: the sampler is that of this thread, which is in the machine's own code.
        unsafe { (*self.sampler).note_allocation(&mut noted.sample) };
        if let Some(last) = notes.list.last()
            && last.sample.is_same_place(&noted.sample)
        {
            notes.spare.push(noted);
            return index - 1;
        }
        let is_urgent = noted.sample.sealed.0 > 0 || index + 1 >= NOTES_WANTED;
        notes.list.push(noted);
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
        (index, labels): (ThreadIndex, LabelSetIndex),
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
            }
            noted.objects.clear();
            self.spare.push(noted);
        }
        recording.returns = walk.into_return_places();
        std::mem::take(&mut self.lost)
    }

    /// Drops the notes.
    pub(super) fn clear(&mut self) {
        self.list.clear();
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
}
