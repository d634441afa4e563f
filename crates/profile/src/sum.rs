//! Several profiles as one: those of a ring, of which a range of time is wanted.
//!
//! The times of the result count from the beginning of the range. Tasks of the same process and number
//! are one task, since their waits may go on from one file to the next.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::model::{
    Allocation, Builder, Count, Event, Profile, Sample, TaskIndex, Translation, Wait,
};

/// When a profile was taken, in Unix time in nanoseconds.
pub fn time_of(profile: &Profile) -> Range<u64> {
    let start = profile.header.started_ns;
    start..start.saturating_add(profile.duration_ns())
}

/// The measurements of some profiles in a range of Unix time in nanoseconds; `None` without a profile.
pub fn sum(profiles: &[Profile], range: Range<u64>) -> Option<Profile> {
    let first = profiles.first()?;
    let mut adder = Adder {
        to: Builder::new(),
        range: range.clone(),
        tasks: HashMap::new(),
        notes: HashSet::new(),
        next_id: 0,
    };
    adder.to.task(0, Some("main"), None, 0);
    let mut header = first.header.clone();
    header.started_ns = range.start;
    for profile in profiles {
        adder.add(profile);
        header.interval_ns = header.interval_ns.max(profile.header.interval_ns);
        for mode in &profile.header.modes {
            if !header.modes.contains(mode) {
                header.modes.push(*mode);
            }
        }
    }
    let mut result = Profile::new(header, &mut adder.to, range.end - range.start);
    result.lost = profiles.iter().map(|profile| profile.lost).sum();
    Some(result)
}

struct Adder {
    to: Builder,
    range: Range<u64>,
    /// By process and number.
    tasks: HashMap<(u64, u64), TaskIndex>,
    notes: HashSet<(String, u32, String)>,
    /// The number that no sampled object has.
    next_id: u64,
}

impl Adder {
    /// A time of a profile that began at a time, if it is in the range.
    fn at(&self, started_ns: u64, at_ns: u64) -> Option<u64> {
        let at_ns = started_ns.saturating_add(at_ns);
        let is_inside = self.range.contains(&at_ns);
        is_inside.then(|| at_ns - self.range.start)
    }

    /// The same, moved into the range if it is not there.
    fn moved(&self, started_ns: u64, at_ns: u64) -> u64 {
        let at_ns = started_ns.saturating_add(at_ns);
        at_ns.clamp(self.range.start, self.range.end) - self.range.start
    }

    /// The rows of the tasks of a profile.
    fn tasks(&mut self, profile: &Profile) -> Vec<TaskIndex> {
        let started_ns = profile.header.started_ns;
        let mut known: Vec<TaskIndex> = Vec::with_capacity(profile.rows.tasks.len());
        for (row, task) in profile.rows.tasks.iter().enumerate() {
            let key = (profile.header.pid, task.number);
            let index = match self.tasks.get(&key) {
                _ if row == 0 => TaskIndex::new(0),
                Some(index) => *index,
                None => {
                    let name = task.name.map(|name| profile.string(name));
                    let starter = task.starter.and_then(|starter| known.get(starter.row()));
                    let at_ns = self.moved(started_ns, task.started_ns);
                    let index = self.to.task(task.number, name, starter.copied(), at_ns);
                    self.tasks.insert(key, index);
                    index
                }
            };
            known.push(index);
        }
        known
    }

    fn add(&mut self, profile: &Profile) {
        let tasks = self.tasks(profile);
        let task = |index: TaskIndex| tasks.get(index.row()).copied().unwrap_or_default();
        let started_ns = profile.header.started_ns;
        let rows = &profile.rows;
        let mut translation = Translation::new(rows);
        for sample in &rows.samples {
            let Some(at_ns) = self.at(started_ns, sample.at_ns) else {
                continue;
            };
            let stack = sample.stack.map(|one| translation.stack(one, &mut self.to));
            let sample = Sample {
                at_ns,
                thread: translation.thread(sample.thread, &mut self.to),
                task: task(sample.task),
                label: translation.label_set(sample.label, &mut self.to),
                stack,
                weight_ns: sample.weight_ns,
            };
            self.to.sample(sample);
        }
        for wait in &rows.waits {
            let moved = |at_ns| self.moved(started_ns, at_ns);
            let (from_ns, resumed_ns) = (moved(wait.from_ns), moved(wait.resumed_ns));
            let ready_ns = moved(wait.ready_ns);
            if from_ns == resumed_ns && wait.from_ns != wait.resumed_ns {
                continue;
            }
            let wait = Wait {
                task: task(wait.task),
                label: translation.label_set(wait.label, &mut self.to),
                stack: wait.stack.map(|one| translation.stack(one, &mut self.to)),
                from_ns,
                ready_ns,
                resumed_ns,
                kind: wait.kind,
                on: wait.on.map(|on| translation.string(on, &mut self.to)),
                holder: wait.holder.map(&task),
                holder_stack: wait
                    .holder_stack
                    .map(|one| translation.stack(one, &mut self.to)),
                weight: wait.weight,
            };
            self.to.wait(wait);
        }
        self.add_allocations(profile, &mut translation, &task);
        self.add_others(profile, &mut translation);
    }

    fn add_allocations(
        &mut self,
        profile: &Profile,
        translation: &mut Translation,
        task: &dyn Fn(TaskIndex) -> TaskIndex,
    ) {
        // Objects of different files have different numbers.
        let ids_before = self.next_id;
        let id_of = |id: u64| ids_before.saturating_add(id);
        let mut kept = HashSet::new();
        for one in &profile.rows.allocations {
            self.next_id = self.next_id.max(id_of(one.id).saturating_add(1));
            let Some(at_ns) = self.at(profile.header.started_ns, one.at_ns) else {
                continue;
            };
            kept.insert(one.id);
            let to = &mut self.to;
            let allocation = Allocation {
                at_ns,
                thread: translation.thread(one.thread, to),
                task: task(one.task),
                label: translation.label_set(one.label, to),
                stack: one.stack.map(|stack| translation.stack(stack, to)),
                type_name: translation.string(one.type_name, to),
                size_bytes: one.size_bytes,
                weight_bytes: one.weight_bytes,
                reason: one.reason.map(|reason| translation.string(reason, to)),
                id: id_of(one.id),
            };
            to.allocation(allocation);
        }
        for id in profile.rows.freed.iter().filter(|id| kept.contains(id)) {
            self.to.freed(id_of(*id));
        }
    }

    /// Events, counts and notes.
    fn add_others(&mut self, profile: &Profile, translation: &mut Translation) {
        for event in &profile.rows.events {
            let Some(at_ns) = self.at(profile.header.started_ns, event.at_ns) else {
                continue;
            };
            let to = &mut self.to;
            let event = Event {
                at_ns,
                duration_ns: event.duration_ns,
                thread: event.thread.map(|thread| translation.thread(thread, to)),
                kind: event.kind,
                text: translation.string(event.text, to),
                stack: event.stack.map(|stack| translation.stack(stack, to)),
            };
            to.event(event);
        }
        for count in &profile.rows.counts {
            let to = &mut self.to;
            let count = Count {
                caller: count.caller.map(|one| translation.function(one, to)),
                callee: translation.function(count.callee, to),
                ..*count
            };
            to.count(count);
        }
        for note in &profile.rows.notes {
            let name = note.function.map(|one| profile.function_name(one));
            let text = translation.text(note.text);
            let key = (
                name.unwrap_or_default().to_owned(),
                note.line,
                text.to_owned(),
            );
            if self.notes.insert(key) {
                let function = note
                    .function
                    .map(|one| translation.function(one, &mut self.to));
                self.to.note(function, note.line, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::full;
    use crate::model::Header;

    fn profile(started_ns: u64) -> Profile {
        let (header, mut builder) = full();
        let header = Header {
            started_ns,
            ..header
        };
        Profile::new(header, &mut builder, 1_000)
    }

    fn weight(profile: &Profile) -> u64 {
        profile.rows.samples.iter().map(|one| one.weight_ns).sum()
    }

    #[test]
    fn a_sum_of_one_profile_has_what_it_has() {
        let one = profile(500);
        let sum = sum(std::slice::from_ref(&one), time_of(&one)).unwrap();
        assert_eq!(weight(&sum), weight(&one));
        assert_eq!(sum.rows.waits.len(), one.rows.waits.len());
        assert_eq!(sum.rows.allocations.len(), one.rows.allocations.len());
        assert_eq!(sum.rows.freed.len(), one.rows.freed.len());
        assert_eq!(sum.rows.events.len(), one.rows.events.len());
        assert_eq!(sum.rows.notes.len(), one.rows.notes.len());
        let names = |profile: &Profile| {
            let stacks = profile.rows.samples.iter().map(|sample| sample.stack);
            let names = |stack| {
                let walk = profile.walk(stack, true);
                let names = walk.map(|step| profile.function_name(step.frame.function).to_owned());
                names.collect::<Vec<_>>()
            };
            stacks.map(names).collect::<Vec<_>>()
        };
        assert_eq!(names(&sum), names(&one));
        // The written bytes can be read again.
        let bytes = crate::file::write(Vec::new(), &sum).unwrap();
        assert_eq!(weight(&crate::file::read(&bytes).unwrap()), weight(&sum));
    }

    #[test]
    fn profiles_add_up() {
        let duration_ns = profile(0).duration_ns();
        let both = [profile(0), profile(duration_ns)];
        let sum = sum(&both, 0..2 * duration_ns + 1).unwrap();
        assert_eq!(weight(&sum), 2 * weight(&both[0]));
        assert_eq!(sum.rows.functions.len(), both[0].rows.functions.len());
        assert_eq!(sum.rows.tasks.len(), both[0].rows.tasks.len());
        let ids: HashSet<u64> = sum.rows.allocations.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), 2 * both[0].rows.allocations.len());
    }

    #[test]
    fn a_range_cuts() {
        let one = profile(1000);
        let sum = sum(std::slice::from_ref(&one), 0..1000).unwrap();
        assert_eq!((weight(&sum), sum.rows.waits.len()), (0, 0));
    }

    #[test]
    fn nothing_has_no_sum() {
        assert_eq!(sum(&[], 0..1), None);
    }
}
