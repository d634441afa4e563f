//! The processed profile of the Firefox Profiler, as its version 70 has it.
//!
//! Each thread has its samples, its sampled objects and markers for what the machine did. Waits
//! belong to tasks, so they are the markers of one more thread, `tasks`. Groups of functions are
//! categories, tiers of frames their subcategories. Times are milliseconds.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Value, json};

use super::{CUT, UNKNOWN, samples_by_thread};
use crate::analysis::{Grain, Place};
use crate::model::{
    Allocation, EventKind, FunctionIndex, Group, Profile, Sample, StackIndex, StackKind,
    ThreadIndex, Tier,
};

const PROCESSED_VERSION: u32 = 70;
/// The version of the format before processing, which nothing here uses.
const GECKO_VERSION: u32 = 36;

/// Markers with a beginning and an end.
const INTERVAL: u8 = 1;

/// A JSON text for the Firefox Profiler. Stacks continue with those of the starter if `is_async`.
pub fn firefox(profile: &Profile, is_async: bool) -> String {
    let mut shared = Shared::default();
    let stacks = shared.tables(profile, is_async);
    let mut threads: Vec<Value> = Vec::new();
    let mut all_samples = samples_by_thread(profile);
    let mut all_allocations: BTreeMap<ThreadIndex, Vec<&Allocation>> = BTreeMap::new();
    for allocation in &profile.rows.allocations {
        all_allocations
            .entry(allocation.thread)
            .or_default()
            .push(allocation);
    }
    let mut all_markers = event_markers(profile, &stacks, &mut shared);
    for row in 0..profile.rows.threads.len() {
        let index = ThreadIndex::new(row);
        let samples = samples(&all_samples.remove(&index).unwrap_or_default(), &stacks);
        let markers = all_markers.remove(&index).unwrap_or_default();
        let mut thread = thread(profile, &profile.thread_name(index), row == 0);
        thread["tid"] = json!(profile.rows.threads[row].id);
        thread["samples"] = json!(samples);
        thread["markers"] = json!(markers);
        if let Some(rows) = all_allocations.remove(&index) {
            thread["jsAllocations"] = allocations(profile, rows, &stacks);
        }
        threads.push(thread);
    }
    let waits = wait_markers(profile, &stacks, &mut shared);
    if waits.length > 0 || threads.is_empty() {
        let mut thread = thread(profile, "tasks", threads.is_empty());
        thread["tid"] = json!("tasks");
        thread["samples"] = json!(Samples::default());
        thread["markers"] = json!(waits);
        threads.push(thread);
    }
    let whole = json!({
        "meta": meta(profile),
        "libs": [],
        "shared": shared.value(),
        "threads": threads,
    });
    format!("{whole}\n")
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn meta(profile: &Profile) -> Value {
    let header = &profile.header;
    let colors = |group: Group| match group {
        Group::Program => "yellow",
        Group::Library => "orange",
        Group::Collector => "purple",
        Group::Compiler => "magenta",
        Group::InputOutput | Group::Network | Group::Database => "blue",
        Group::Text | Group::Numbers => "green",
        Group::Scheduler => "lightblue",
        Group::Kernel => "brown",
        // One grey category is the default.
        Group::Machine | Group::Foreign => "grey",
    };
    let tiers: Vec<&str> = ["Other"]
        .into_iter()
        .chain(Tier::ALL.iter().map(|tier| tier.text()))
        .collect();
    let categories = Group::ALL.iter().map(
        |group| json!({"name": group.text(), "color": colors(*group), "subcategories": tiers}),
    );
    let schema = |name: &str, label: &str, fields: Value| {
        json!({
            "name": name,
            "tooltipLabel": label,
            "tableLabel": label,
            "chartLabel": label,
            "display": ["marker-chart", "marker-table", "timeline-overview"],
            "fields": fields,
        })
    };
    json!({
        "interval": milliseconds(header.interval_ns.max(1)),
        "startTime": milliseconds(header.started_ns),
        "endTime": milliseconds(header.started_ns.saturating_add(profile.duration_ns())),
        "processType": 0,
        "categories": categories.collect::<Vec<_>>(),
        "product": header.program,
        "arguments": header.arguments.join(" "),
        "stackwalk": 1,
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": PROCESSED_VERSION,
        "symbolicated": true,
        "symbolicationNotSupported": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "keepProfileThreadOrder": true,
        "importedFrom": format!("canny {}", header.canny),
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "markerSchema": [
            schema("Wait", "{marker.data.kind} {marker.data.on}", json!([
                {"key": "kind", "label": "Kind", "format": "string"},
                {"key": "on", "label": "On", "format": "string"},
                {"key": "task", "label": "Task", "format": "string"},
                {"key": "place", "label": "Place", "format": "string"},
                {"key": "runnable", "label": "Runnable before it ran", "format": "nanoseconds"},
            ])),
            schema("MachineEvent", "{marker.name} {marker.data.text}", json!([
                {"key": "text", "label": "Text", "format": "string"},
            ])),
        ],
    })
}

fn thread(profile: &Profile, name: &str, is_main: bool) -> Value {
    json!({
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "showMarkersInTimeline": true,
        "name": name,
        "isMainThread": is_main,
        "processName": profile.header.program,
        "pid": profile.header.pid.to_string(),
    })
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Functions {
    name: Vec<usize>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    resource: Vec<i32>,
    source: Vec<Option<usize>>,
    line_number: Vec<Option<u32>>,
    column_number: Vec<Option<u32>>,
    original_location: Vec<Option<u32>>,
    length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Frames {
    address: Vec<i32>,
    lib: Vec<i32>,
    inline_depth: Vec<u8>,
    category: Vec<u8>,
    subcategory: Vec<u8>,
    func: Vec<usize>,
    native_symbol: Vec<Option<u32>>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Vec<Option<u32>>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
    original_location: Vec<Option<u32>>,
    length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stacks {
    frame: Vec<usize>,
    /// The distance to the parent, 0 for none.
    prefix_offset: Vec<usize>,
    length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sources {
    length: usize,
    id: Vec<Option<String>>,
    filename: Vec<usize>,
    start_line: Vec<u32>,
    start_column: Vec<u32>,
    #[serde(rename = "sourceMapURL")]
    source_map_url: Vec<Option<usize>>,
    content: Vec<Option<String>>,
}

/// The tables of all threads.
#[derive(Default)]
struct Shared {
    strings: Vec<String>,
    string_numbers: HashMap<String, usize>,
    functions: Functions,
    frames: Frames,
    stacks: Stacks,
    sources: Sources,
    source_numbers: HashMap<String, usize>,
}

impl Shared {
    fn string(&mut self, text: &str) -> usize {
        if let Some(number) = self.string_numbers.get(text) {
            return *number;
        }
        let number = self.strings.len();
        self.strings.push(text.to_owned());
        self.string_numbers.insert(text.to_owned(), number);
        number
    }

    fn source(&mut self, file: &str) -> usize {
        if let Some(number) = self.source_numbers.get(file) {
            return *number;
        }
        let number = self.sources.length;
        let filename = self.string(file);
        self.sources.filename.push(filename);
        self.sources.id.push(None);
        self.sources.start_line.push(1);
        self.sources.start_column.push(1);
        self.sources.source_map_url.push(None);
        self.sources.content.push(None);
        self.sources.length += 1;
        self.source_numbers.insert(file.to_owned(), number);
        number
    }

    fn function(&mut self, name: &str, is_scheme: bool, file: Option<&str>, line: u32) -> usize {
        let name = self.string(name);
        let source = file.map(|file| self.source(file));
        let table = &mut self.functions;
        table.name.push(name);
        table.is_js.push(is_scheme);
        table.relevant_for_js.push(false);
        table.resource.push(-1);
        table.source.push(source);
        table.line_number.push(known(line));
        table.column_number.push(None);
        table.original_location.push(None);
        table.length += 1;
        table.length - 1
    }

    fn frame(&mut self, function: usize, group: Group, tier: Tier, at: (u32, u32)) -> usize {
        let table = &mut self.frames;
        table.address.push(-1);
        table.lib.push(-1);
        table.inline_depth.push(0);
        table.category.push(group.number());
        table.subcategory.push(tier.number() + 1);
        table.func.push(function);
        table.native_symbol.push(None);
        table.inner_window_id.push(None);
        table.line.push(known(at.0));
        table.column.push(known(at.1));
        table.original_location.push(None);
        table.length += 1;
        table.length - 1
    }

    fn stack(&mut self, frame: usize, parent: Option<usize>) -> usize {
        let table = &mut self.stacks;
        table.frame.push(frame);
        table
            .prefix_offset
            .push(parent.map_or(0, |parent| table.length - parent));
        table.length += 1;
        table.length - 1
    }

    /// Fills functions, frames and stacks; answers the number of each stack of the profile, and at
    /// the end that of the stack which stands for none, since samples without a stack are not
    /// shown.
    fn tables(&mut self, profile: &Profile, is_async: bool) -> Vec<usize> {
        let rows = &profile.rows;
        for row in 0..rows.functions.len() {
            let index = FunctionIndex::new(row);
            let function = profile.function(index);
            self.function(
                profile.function_name(index),
                function.group.is_scheme(),
                profile.function_file(index),
                function.line,
            );
        }
        for frame in &rows.frames {
            let group = profile.function(frame.function).group;
            self.frame(
                frame.function.row(),
                group,
                frame.tier,
                (frame.line, frame.column),
            );
        }
        let missing = self.function(CUT, false, None, 0);
        let missing = self.frame(missing, Group::Machine, Tier::Unknown, (0, 0));
        let mut numbers: Vec<usize> = Vec::with_capacity(rows.stacks.len());
        for stack in &rows.stacks {
            let parent = match stack.kind {
                StackKind::Started if !is_async => None,
                _ => stack
                    .parent
                    .and_then(|parent| numbers.get(parent.row()).copied()),
            };
            let parent = match stack.kind {
                StackKind::Cut => Some(self.stack(missing, parent)),
                _ => parent,
            };
            let number = self.stack(stack.frame.row(), parent);
            numbers.push(number);
        }
        let unknown = self.function(UNKNOWN, false, None, 0);
        let unknown = self.frame(unknown, Group::Foreign, Tier::Unknown, (0, 0));
        numbers.push(self.stack(unknown, None));
        numbers
    }

    fn value(self) -> Value {
        json!({
            "stringArray": self.strings,
            "funcTable": self.functions,
            "frameTable": self.frames,
            "stackTable": self.stacks,
            "sources": self.sources,
            "resourceTable": {"length": 0, "name": [], "host": [], "type": []},
            "nativeSymbols":
                {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []},
            "sourceLocationTable": {"length": 0, "source": [], "line": [], "column": []},
        })
    }
}

fn known(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

fn number_of(stacks: &[usize], stack: Option<StackIndex>) -> Option<usize> {
    stacks.get(stack?.row()).copied()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    stack: Vec<Option<usize>>,
    time: Vec<f64>,
    weight: Vec<f64>,
    weight_type: &'static str,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: Vec<u64>,
    length: usize,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            stack: Vec::new(),
            time: Vec::new(),
            weight: Vec::new(),
            weight_type: "tracing-ms",
            thread_cpu_delta: Vec::new(),
            length: 0,
        }
    }
}

fn samples(rows: &[Sample], stacks: &[usize]) -> Samples {
    let mut samples = Samples::default();
    for row in rows {
        let stack = number_of(stacks, row.stack).or(stacks.last().copied());
        samples.stack.push(stack);
        samples.time.push(milliseconds(row.at_ns));
        samples.weight.push(milliseconds(row.weight_ns));
        samples.thread_cpu_delta.push(row.weight_ns);
        samples.length += 1;
    }
    samples
}

fn allocations(profile: &Profile, mut rows: Vec<&Allocation>, stacks: &[usize]) -> Value {
    rows.sort_by_key(|row| row.at_ns);
    let count = rows.len();
    let types: Vec<&str> = rows
        .iter()
        .map(|row| profile.string(row.type_name))
        .collect();
    let stack_numbers = rows.iter().map(|row| number_of(stacks, row.stack));
    json!({
        "time": rows.iter().map(|row| milliseconds(row.at_ns)).collect::<Vec<_>>(),
        "className": types,
        "typeName": vec!["SchemeObject"; count],
        "coarseType": vec!["Object"; count],
        "weight": rows.iter().map(|row| row.weight_bytes).collect::<Vec<_>>(),
        "weightType": "bytes",
        "inNursery": vec![true; count],
        "stack": stack_numbers.collect::<Vec<_>>(),
        "length": count,
    })
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Markers {
    data: Vec<Value>,
    name: Vec<usize>,
    start_time: Vec<f64>,
    end_time: Vec<f64>,
    phase: Vec<u8>,
    category: Vec<u8>,
    length: usize,
}

impl Markers {
    fn push(&mut self, name: usize, from_ns: u64, to_ns: u64, group: Group, data: Value) {
        self.data.push(data);
        self.name.push(name);
        self.start_time.push(milliseconds(from_ns));
        self.end_time.push(milliseconds(to_ns.max(from_ns)));
        self.phase.push(INTERVAL);
        self.category.push(group.number());
        self.length += 1;
    }
}

fn cause(data: &mut Value, stacks: &[usize], stack: Option<StackIndex>, at_ns: u64) {
    if let Some(stack) = number_of(stacks, stack) {
        data["cause"] = json!({"time": milliseconds(at_ns), "stack": stack});
    }
}

/// Markers for events of each thread; the first thread has those of no thread too.
fn event_markers(
    profile: &Profile,
    stacks: &[usize],
    shared: &mut Shared,
) -> BTreeMap<ThreadIndex, Markers> {
    let mut threads: BTreeMap<ThreadIndex, Markers> = BTreeMap::new();
    for event in &profile.rows.events {
        let markers = threads.entry(event.thread.unwrap_or_default()).or_default();
        let text = profile.string(event.text);
        let mut data = json!({"type": "MachineEvent", "text": text});
        cause(&mut data, stacks, event.stack, event.at_ns);
        let name = shared.string(event.kind.word());
        let group = match event.kind {
            EventKind::Collection => Group::Collector,
            EventKind::Other => Group::Machine,
            _ => Group::Compiler,
        };
        markers.push(name, event.at_ns, event.end_ns(), group, data);
    }
    threads
}

fn wait_markers(profile: &Profile, stacks: &[usize], shared: &mut Shared) -> Markers {
    let mut markers = Markers::default();
    for wait in &profile.rows.waits {
        let place = Place::in_program(profile, wait.stack, Grain::Line);
        let mut data = json!({
            "type": "Wait",
            "kind": wait.kind.word(),
            "on": wait.on.map_or("", |on| profile.string(on)),
            "task": profile.task_name(wait.task),
            "place": format!("{} {}", place.name(profile), place.location(profile)),
            "runnable": wait.runnable_ns(),
            "waits": wait.weight,
        });
        cause(&mut data, stacks, wait.stack, wait.from_ns);
        let name = shared.string(&format!("wait for {}", wait.kind.word()));
        markers.push(name, wait.from_ns, wait.ready_ns, Group::Scheduler, data);
    }
    markers
}
