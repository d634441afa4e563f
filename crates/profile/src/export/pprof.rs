//! The format of pprof: a gzip-compressed `Profile` message of `profile.proto`.
//!
//! Processor time, waiting and allocation go into one file as different values of a sample; a
//! sample has zero for the values that it does not measure. Rows with the same stack and labels are
//! one sample. Labels are `task`, `thread` and those of the program; a label of the program with
//! such a name gets a quote (`task'`).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::protobuf::Message;
use super::{CUT, DEPTH_MAX, UNKNOWN};
use crate::file::gzip;
use crate::model::{
    FrameIndex, LabelSetIndex, Profile, StackIndex, StackKind, TaskIndex, ThreadIndex,
};

/// Numbers of fields in `profile.proto`.
mod profile_field {
    pub const SAMPLE_TYPE: u64 = 1;
    pub const SAMPLE: u64 = 2;
    pub const MAPPING: u64 = 3;
    pub const LOCATION: u64 = 4;
    pub const FUNCTION: u64 = 5;
    pub const STRING_TABLE: u64 = 6;
    pub const TIME_NANOS: u64 = 9;
    pub const DURATION_NANOS: u64 = 10;
    pub const PERIOD_TYPE: u64 = 11;
    pub const PERIOD: u64 = 12;
    pub const COMMENT: u64 = 13;
    pub const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// Values of a sample: pairs of a count and a weight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cpu,
    Allocated,
    Live,
    Waiting,
}

impl Kind {
    /// Type and unit of the count, then of the weight.
    fn types(self) -> [(&'static str, &'static str); 2] {
        match self {
            Kind::Cpu => [("samples", "count"), ("cpu", "nanoseconds")],
            Kind::Allocated => [("alloc_objects", "count"), ("alloc_space", "bytes")],
            Kind::Live => [("inuse_objects", "count"), ("inuse_space", "bytes")],
            Kind::Waiting => [("waits", "count"), ("waiting", "nanoseconds")],
        }
    }
}

type Key = (
    Option<StackIndex>,
    TaskIndex,
    Option<ThreadIndex>,
    LabelSetIndex,
);

/// The bytes of a pprof file. Stacks continue with those of the starter if `is_async`.
pub fn pprof(profile: &Profile, is_async: bool) -> Vec<u8> {
    let mut writer = Writer::new(profile, is_async);
    let kinds = kinds(profile);
    for (index, kind) in kinds.iter().enumerate() {
        for (position, (name, unit)) in kind.types().into_iter().enumerate() {
            let value_type = writer.value_type(name, unit);
            writer
                .message
                .message(profile_field::SAMPLE_TYPE, &value_type);
            if index + 1 == kinds.len() && position == 1 {
                let default = writer.string(name);
                writer
                    .message
                    .number(profile_field::DEFAULT_SAMPLE_TYPE, default);
            }
        }
    }
    for (key, values) in sums(profile, &kinds) {
        writer.sample(key, &values);
    }
    writer.finish()
}

/// The kinds that a profile has; always processor time if it has nothing else.
///
/// Processor time is the last one: tools that overlook the default show the last kind first.
fn kinds(profile: &Profile) -> Vec<Kind> {
    let rows = &profile.rows;
    let mut kinds = Vec::new();
    if !rows.allocations.is_empty() {
        kinds.extend([Kind::Allocated, Kind::Live]);
    }
    if !rows.waits.is_empty() {
        kinds.push(Kind::Waiting);
    }
    if !rows.samples.is_empty() || kinds.is_empty() {
        kinds.push(Kind::Cpu);
    }
    kinds
}

/// The values of all kinds, by stack and labels.
fn sums(profile: &Profile, kinds: &[Kind]) -> BTreeMap<Key, Vec<u64>> {
    let rows = &profile.rows;
    let mut sums: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
    let mut add = |key: Key, kind: Kind, count: u64, weight: u64| {
        let Some(index) = kinds.iter().position(|one| *one == kind) else {
            return;
        };
        let values = sums.entry(key).or_insert_with(|| vec![0; 2 * kinds.len()]);
        for (place, value) in [(2 * index, count), (2 * index + 1, weight)] {
            // Values are signed in the format.
            let sum = values[place].saturating_add(value);
            values[place] = sum.min(i64::MAX.unsigned_abs());
        }
    };
    for row in &rows.samples {
        let key = (row.stack, row.task, Some(row.thread), row.label);
        add(key, Kind::Cpu, 1, row.weight_ns);
    }
    let freed: HashSet<u64> = rows.freed.iter().copied().collect();
    for row in &rows.allocations {
        let key = (row.stack, row.task, Some(row.thread), row.label);
        // One sampled object stands for as many as have its weight together.
        let objects = match row.size_bytes {
            0 => 1,
            size => (row.weight_bytes / size).max(1),
        };
        add(key, Kind::Allocated, objects, row.weight_bytes);
        if !freed.contains(&row.id) {
            add(key, Kind::Live, objects, row.weight_bytes);
        }
    }
    for row in &rows.waits {
        let key = (row.stack, row.task, None, row.label);
        let waiting_ns = row.weighted(row.waiting_ns());
        add(key, Kind::Waiting, row.weight, waiting_ns);
    }
    sums
}

/// The tables of a message; identities of rows begin with 1.
struct Writer<'profile> {
    profile: &'profile Profile,
    is_async: bool,
    message: Message,
    strings: HashMap<String, u64>,
    texts: Vec<String>,
    functions: HashMap<(String, String, u64), u64>,
    locations: HashMap<(u64, u64, u64), u64>,
    by_frame: HashMap<FrameIndex, u64>,
    stacks: HashMap<Option<StackIndex>, Vec<u64>>,
}

impl<'profile> Writer<'profile> {
    fn new(profile: &'profile Profile, is_async: bool) -> Writer<'profile> {
        let mut writer = Writer {
            profile,
            is_async,
            message: Message::default(),
            strings: HashMap::new(),
            texts: Vec::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            by_frame: HashMap::new(),
            stacks: HashMap::new(),
        };
        // The first string must be empty.
        writer.string("");
        writer
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(index) = self.strings.get(text) {
            return *index;
        }
        let index = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn value_type(&mut self, name: &str, unit: &str) -> Message {
        let mut message = Message::default();
        message.number(1, self.string(name));
        message.number(2, self.string(unit));
        message
    }

    fn function(&mut self, name: &str, file: &str, line: u64) -> u64 {
        let key = (name.to_owned(), file.to_owned(), line);
        let next = self.functions.len() as u64 + 1;
        if let Some(id) = self.functions.get(&key) {
            return *id;
        }
        let mut message = Message::default();
        message.number(1, next);
        let name = self.string(name);
        message.number(2, name);
        // A system name that is the same would make pprof cut the name as one of C++, at `<` and
        // `(`.
        message.number(4, self.string(file));
        message.number(5, line);
        self.message.message(profile_field::FUNCTION, &message);
        self.functions.insert(key, next);
        next
    }

    fn location(&mut self, function: u64, line: u64, column: u64) -> u64 {
        let next = self.locations.len() as u64 + 1;
        if let Some(id) = self.locations.get(&(function, line, column)) {
            return *id;
        }
        let mut place = Message::default();
        place.number(1, function);
        place.number(2, line);
        place.number(3, column);
        let mut message = Message::default();
        message.number(1, next);
        message.number(2, 1);
        // Tools that tell locations apart by address get one of each.
        message.number(3, next);
        message.message(4, &place);
        self.message.message(profile_field::LOCATION, &message);
        self.locations.insert((function, line, column), next);
        next
    }

    fn location_of_frame(&mut self, index: FrameIndex) -> u64 {
        if let Some(id) = self.by_frame.get(&index) {
            return *id;
        }
        let profile = self.profile;
        let frame = profile.frame(index);
        let name = profile.function_name(frame.function);
        let file = profile.function_file(frame.function).unwrap_or("");
        let defined = profile.function(frame.function).line;
        let function = self.function(name, file, u64::from(defined));
        let id = self.location(function, frame.line.into(), frame.column.into());
        self.by_frame.insert(index, id);
        id
    }

    fn location_of_name(&mut self, name: &str) -> u64 {
        let function = self.function(name, "", 0);
        self.location(function, 0, 0)
    }

    /// The locations of a stack, newest first.
    fn stack(&mut self, stack: Option<StackIndex>) -> Vec<u64> {
        if let Some(list) = self.stacks.get(&stack) {
            return list.clone();
        }
        let profile = self.profile;
        let mut list = Vec::new();
        for step in profile.walk(stack, self.is_async) {
            if list.len() >= DEPTH_MAX {
                list.push(self.location_of_name(CUT));
                break;
            }
            list.push(self.location_of_frame(step.frame_index));
            if step.kind == StackKind::Cut {
                list.push(self.location_of_name(CUT));
            }
        }
        if list.is_empty() {
            list.push(self.location_of_name(UNKNOWN));
        }
        self.stacks.insert(stack, list.clone());
        list
    }

    fn sample(&mut self, key: Key, values: &[u64]) {
        let (stack, task, thread, label) = key;
        let mut message = Message::default();
        message.packed(1, &self.stack(stack));
        message.packed(2, values);
        let profile = self.profile;
        let mut labels: Vec<(String, String)> = Vec::new();
        labels.push(("task".to_owned(), profile.task_name(task)));
        if let Some(thread) = thread {
            labels.push(("thread".to_owned(), profile.thread_name(thread)));
        }
        for (key, value) in profile.label_set(label) {
            let key = match key {
                "" => "label".to_owned(),
                "task" | "thread" => format!("{key}'"),
                key => key.to_owned(),
            };
            labels.push((key, value.to_owned()));
        }
        for (key, value) in labels {
            let mut label = Message::default();
            label.number(1, self.string(&key));
            label.number(2, self.string(&value));
            message.message(3, &label);
        }
        self.message.message(profile_field::SAMPLE, &message);
    }

    fn finish(mut self) -> Vec<u8> {
        let header = &self.profile.header;
        let mut mapping = Message::default();
        mapping.number(1, 1);
        // The addresses of the locations, which begin with 1.
        mapping.number(2, 1);
        mapping.number(3, self.locations.len() as u64 + 1);
        mapping.number(5, self.string(&header.program));
        for has_functions_files_lines_and_inlined_frames in 7..=10 {
            mapping.number(has_functions_files_lines_and_inlined_frames, 1);
        }
        self.message.message(profile_field::MAPPING, &mapping);
        self.message
            .number(profile_field::TIME_NANOS, header.started_ns);
        let duration = self.profile.duration_ns();
        self.message.number(profile_field::DURATION_NANOS, duration);
        let period = self.value_type("cpu", "nanoseconds");
        self.message.message(profile_field::PERIOD_TYPE, &period);
        self.message
            .number(profile_field::PERIOD, header.interval_ns);
        let comment = self.string(&format!("canny {}", header.canny));
        self.message.packed(profile_field::COMMENT, &[comment]);
        for text in std::mem::take(&mut self.texts) {
            self.message.text(profile_field::STRING_TABLE, &text);
        }
        gzip(self.message.bytes())
    }
}
