//! Chrome's trace events, which Perfetto opens: what ran, waited and was collected, over time.
//!
//! Three processes stand for three views. In the first each thread has the functions on its stack
//! as nested slices: a sample covers the time of its weight before its moment, and a function lasts
//! as long as it is at the same depth of adjacent samples. The second has a track for each task,
//! with the times that it ran, waited and was runnable. The third has collections, compilations and
//! the like. Times that overlap get tracks of their own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use super::lanes::lanes;
use super::{CUT, DEPTH_MAX, UNKNOWN, json_string, samples_by_thread};
use crate::analysis::{Grain, Place};
use crate::model::{Event, Profile, Sample, StackIndex, StackKind, TaskIndex, ThreadIndex};

const THREADS: u64 = 1;
const TASKS: u64 = 2;
const MACHINE: u64 = 3;

/// Slices of functions in a trace; viewers have trouble with more.
const SLICES_MAX: usize = 2_000_000;

/// A JSON text of trace events. Stacks continue with those of the starter if `is_async`.
pub fn chrome(profile: &Profile, is_async: bool) -> String {
    let mut trace = Trace {
        text: String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"),
        has_before: false,
    };
    let program = &profile.header.program;
    trace.process(
        THREADS,
        &format!("{program} (process {})", profile.header.pid),
    );
    trace.process(TASKS, "tasks");
    trace.process(MACHINE, "machine");
    let ids = thread_ids(profile);
    for (row, id) in ids.iter().enumerate() {
        let name = profile.thread_name(ThreadIndex::new(row));
        trace.track(THREADS, *id, &name);
    }
    let threads = samples_by_thread(profile).into_iter();
    let mut functions: Vec<(u64, Vec<Ended>)> = threads
        .map(|(thread, samples)| {
            let id = ids.get(thread.row()).copied().unwrap_or(0);
            (id, Timeline::new(profile, is_async).run(&samples))
        })
        .collect();
    let shortest_ns = drop_shortest(&mut functions, SLICES_MAX);
    let header = &profile.header;
    let mut name = format!("{} (process {})", header.program, header.pid);
    if shortest_ns > 0 {
        let _ = write!(
            name,
            ", without calls up to {} µs",
            microseconds(shortest_ns)
        );
    }
    trace.process(THREADS, &name);
    for (track, ended) in functions {
        write_functions(profile, &mut trace, track, ended);
    }
    tasks(profile, &mut trace);
    machine(profile, &mut trace);
    trace.text.push_str("\n]}\n");
    trace.text
}

/// Drops the shortest slices until there are so many at most; answers the longest that was dropped.
///
/// A caller lasts at least as long as its callees, so the slices that stay are nested as before.
pub(super) fn drop_shortest(functions: &mut [(u64, Vec<Ended>)], slices_max: usize) -> u64 {
    let all = functions.iter().flat_map(|(_, ended)| ended);
    let mut durations: Vec<u64> = all.map(|one| one.to_ns - one.from_ns).collect();
    if durations.len() <= slices_max {
        return 0;
    }
    let place = durations.len() - slices_max - 1;
    let longest_ns = *durations.select_nth_unstable(place).1;
    for (_, ended) in functions {
        ended.retain(|one| one.to_ns - one.from_ns > longest_ns);
    }
    longest_ns
}

/// The numbers of threads in the trace: those of the system, if they are different ones.
fn thread_ids(profile: &Profile) -> Vec<u64> {
    let threads = &profile.rows.threads;
    let ids: Vec<u64> = threads.iter().map(|thread| thread.id).collect();
    let different: HashSet<u64> = ids.iter().copied().collect();
    // Numbers in JSON are exact up to 2^53, in Perfetto up to 2^32.
    let is_usable = ids.iter().all(|id| *id > 0 && u32::try_from(*id).is_ok());
    if is_usable && different.len() == ids.len() {
        return ids;
    }
    (1..=ids.len() as u64).collect()
}

/// The events as text.
struct Trace {
    text: String,
    has_before: bool,
}

/// A slice of a track.
struct Slice<'text> {
    process: u64,
    track: u64,
    category: &'text str,
    name: &'text str,
    from_ns: u64,
    to_ns: u64,
    /// Members of `args` as JSON without braces.
    arguments: &'text str,
}

impl Trace {
    fn event(&mut self, text: &str) {
        if self.has_before {
            self.text.push_str(",\n");
        }
        self.has_before = true;
        self.text.push_str(text);
    }

    fn process(&mut self, process: u64, name: &str) {
        let name = json_string(name);
        self.event(&format!(
            "{{\"ph\":\"M\",\"pid\":{process},\"tid\":0,\"name\":\"process_name\",\
             \"args\":{{\"name\":{name}}}}}"
        ));
        self.event(&format!(
            "{{\"ph\":\"M\",\"pid\":{process},\"tid\":0,\"name\":\"process_sort_index\",\
             \"args\":{{\"sort_index\":{process}}}}}"
        ));
    }

    fn track(&mut self, process: u64, track: u64, name: &str) {
        let name = json_string(name);
        self.event(&format!(
            "{{\"ph\":\"M\",\"pid\":{process},\"tid\":{track},\"name\":\"thread_name\",\
             \"args\":{{\"name\":{name}}}}}"
        ));
    }

    fn slice(&mut self, slice: &Slice) {
        let text = format!(
            "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"{}\",\"name\":{},\
             \"args\":{{{}}}}}",
            slice.process,
            slice.track,
            microseconds(slice.from_ns),
            microseconds(slice.to_ns.saturating_sub(slice.from_ns)),
            slice.category,
            json_string(slice.name),
            slice.arguments,
        );
        self.event(&text);
    }
}

/// Nanoseconds as the format has them, without rounding.
fn microseconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// A call that is over.
pub(super) struct Ended {
    pub from_ns: u64,
    pub to_ns: u64,
    pub depth: u32,
    pub place: Place,
}

/// The functions of one thread's samples as slices.
struct Timeline<'profile> {
    profile: &'profile Profile,
    is_async: bool,
    /// The functions that last, oldest first, with their beginnings.
    open: Vec<(Place, u64)>,
    ended: Vec<Ended>,
}

impl<'profile> Timeline<'profile> {
    fn new(profile: &'profile Profile, is_async: bool) -> Timeline<'profile> {
        Timeline {
            profile,
            is_async,
            open: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn run(mut self, samples: &[Sample]) -> Vec<Ended> {
        let mut end_ns = 0;
        for sample in samples {
            let from_ns = sample.at_ns.saturating_sub(sample.weight_ns).max(end_ns);
            if from_ns > end_ns {
                self.close(0, end_ns);
            }
            let places = self.places(sample.stack);
            let same = self.open.iter().zip(&places);
            let depth = same.take_while(|((open, _), place)| open == *place).count();
            self.close(depth, from_ns);
            self.open
                .extend(places[depth..].iter().map(|place| (*place, from_ns)));
            end_ns = sample.at_ns.max(end_ns);
        }
        self.close(0, end_ns);
        self.ended
    }

    /// The functions of a stack, oldest first.
    fn places(&self, stack: Option<StackIndex>) -> Vec<Place> {
        let mut places = Vec::new();
        for step in self.profile.walk(stack, self.is_async) {
            if places.len() >= DEPTH_MAX {
                places.push(Place::Cut);
                break;
            }
            places.push(Place::of(step.frame, Grain::Function));
            if step.kind == StackKind::Cut {
                places.push(Place::Cut);
            }
        }
        if places.is_empty() {
            places.push(Place::Unknown);
        }
        places.reverse();
        places
    }

    /// Ends all functions from a depth on.
    fn close(&mut self, depth: usize, at_ns: u64) {
        let open = self.open.drain(depth..).zip(depth as u32..);
        let ended = open.map(|((place, from_ns), depth)| Ended {
            from_ns,
            to_ns: at_ns.max(from_ns),
            depth,
            place,
        });
        self.ended.extend(ended);
    }
}

/// Writes callers before the callees that begin at the same moment.
fn write_functions(profile: &Profile, trace: &mut Trace, track: u64, mut ended: Vec<Ended>) {
    ended.sort_unstable_by_key(|one| (one.from_ns, one.depth));
    let mut texts: HashMap<Place, String> = HashMap::new();
    for one in ended {
        let arguments = texts.entry(one.place).or_insert_with(|| {
            let location = one.place.location(profile);
            if location.is_empty() {
                return String::new();
            }
            format!("\"location\":{}", json_string(&location))
        });
        trace.slice(&Slice {
            process: THREADS,
            track,
            category: "cpu",
            name: match one.place {
                Place::Cut => CUT,
                Place::Unknown => UNKNOWN,
                place => place.name(profile),
            },
            from_ns: one.from_ns,
            to_ns: one.to_ns,
            arguments,
        });
    }
}

/// A time with what it shows.
struct Span {
    from_ns: u64,
    to_ns: u64,
    category: &'static str,
    name: String,
    arguments: String,
}

/// Writes spans to as many tracks as they need; answers the next unused track.
fn write_spans(trace: &mut Trace, process: u64, first: u64, name: &str, spans: &[Span]) -> u64 {
    let times: Vec<(u64, u64)> = spans
        .iter()
        .map(|span| (span.from_ns, span.to_ns))
        .collect();
    let lanes = lanes(&times);
    let count = lanes.iter().max().map_or(0, |lane| lane + 1) as u64;
    for lane in 0..count {
        let name = match lane {
            0 => name.to_owned(),
            _ => format!("{name}, {}", lane + 1),
        };
        trace.track(process, first + lane, &name);
    }
    for (span, lane) in spans.iter().zip(lanes) {
        trace.slice(&Slice {
            process,
            track: first + lane as u64,
            category: span.category,
            name: &span.name,
            from_ns: span.from_ns,
            to_ns: span.to_ns,
            arguments: &span.arguments,
        });
    }
    first + count
}

fn tasks(profile: &Profile, trace: &mut Trace) {
    let mut tasks: BTreeMap<TaskIndex, Vec<Span>> = BTreeMap::new();
    for (thread, samples) in samples_by_thread(profile) {
        for (task, from_ns, to_ns) in runs(&samples) {
            tasks.entry(task).or_default().push(Span {
                from_ns,
                to_ns,
                category: "cpu",
                name: "running".to_owned(),
                arguments: format!("\"thread\":{}", json_string(&profile.thread_name(thread))),
            });
        }
    }
    for wait in &profile.rows.waits {
        let spans = tasks.entry(wait.task).or_default();
        let place = Place::in_program(profile, wait.stack, Grain::Line);
        let arguments = format!(
            "\"at\":{},\"location\":{},\"waits\":{}",
            json_string(place.name(profile)),
            json_string(&place.location(profile)),
            wait.weight
        );
        let kind = wait.kind.word();
        spans.push(Span {
            from_ns: wait.from_ns,
            to_ns: wait.ready_ns.max(wait.from_ns),
            category: "wait",
            name: match wait.on {
                Some(on) => format!("{kind}: {}", profile.string(on)),
                None => kind.to_owned(),
            },
            arguments,
        });
        if wait.runnable_ns() > 0 {
            spans.push(Span {
                from_ns: wait.ready_ns,
                to_ns: wait.resumed_ns,
                category: "wait",
                name: "runnable".to_owned(),
                arguments: String::new(),
            });
        }
    }
    let mut track = 1;
    for (task, spans) in tasks {
        track = write_spans(trace, TASKS, track, &profile.task_name(task), &spans);
    }
}

/// The times that tasks ran on one thread: adjacent samples of the same task are one.
fn runs(samples: &[Sample]) -> Vec<(TaskIndex, u64, u64)> {
    let mut runs: Vec<(TaskIndex, u64, u64)> = Vec::new();
    let mut end_ns = 0;
    for sample in samples {
        let from_ns = sample.at_ns.saturating_sub(sample.weight_ns).max(end_ns);
        match runs.last_mut() {
            Some((task, _, to_ns)) if *task == sample.task && *to_ns == from_ns => {
                *to_ns = sample.at_ns;
            }
            _ => runs.push((sample.task, from_ns, sample.at_ns)),
        }
        end_ns = sample.at_ns.max(end_ns);
    }
    runs
}

fn machine(profile: &Profile, trace: &mut Trace) {
    let mut kinds: BTreeMap<&'static str, Vec<Span>> = BTreeMap::new();
    for event in &profile.rows.events {
        kinds
            .entry(event.kind.word())
            .or_default()
            .push(span_of(profile, event));
    }
    let mut track = 1;
    for (kind, spans) in kinds {
        track = write_spans(trace, MACHINE, track, kind, &spans);
    }
}

fn span_of(profile: &Profile, event: &Event) -> Span {
    let mut arguments = format!("\"text\":{}", json_string(profile.string(event.text)));
    if let Some(thread) = event.thread {
        let _ = write!(
            arguments,
            ",\"thread\":{}",
            json_string(&profile.thread_name(thread))
        );
    }
    if event.stack.is_some() {
        let place = Place::in_program(profile, event.stack, Grain::Line);
        let _ = write!(arguments, ",\"at\":{}", json_string(place.name(profile)));
        let _ = write!(
            arguments,
            ",\"location\":{}",
            json_string(&place.location(profile))
        );
    }
    Span {
        from_ns: event.at_ns,
        to_ns: event.end_ns(),
        category: event.kind.word(),
        name: match profile.string(event.text) {
            "" => event.kind.word().to_owned(),
            text => text.to_owned(),
        },
        arguments,
    }
}
