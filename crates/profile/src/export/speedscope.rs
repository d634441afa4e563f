//! The file format of speedscope: for each thread a profile of samples in the order of time.
//!
//! Samples that follow each other with the same stack become one, so that a file has only as many
//! lists of frames as the program changed its stack.

use std::collections::HashMap;
use std::fmt::Write;

use super::{CUT, DEPTH_MAX, UNKNOWN, json_string, samples_by_thread};
use crate::model::{FrameIndex, Profile, Sample, StackIndex, StackKind, ThreadIndex};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// A JSON text for speedscope. Stacks continue with those of the starter if `is_async`.
pub fn speedscope(profile: &Profile, is_async: bool) -> String {
    let mut frames = Frames::new(profile);
    let mut profiles = Vec::new();
    for (thread, samples) in samples_by_thread(profile) {
        profiles.push(thread_profile(
            profile,
            thread,
            &samples,
            is_async,
            &mut frames,
        ));
    }
    format!(
        "{{\"$schema\":\"{SCHEMA}\",\"name\":{},\"exporter\":{},\"activeProfileIndex\":0,\
         \"shared\":{{\"frames\":[{}]}},\"profiles\":[{}]}}\n",
        json_string(&profile.header.program),
        json_string(&format!("canny {}", profile.header.canny)),
        frames.texts.join(","),
        profiles.join(","),
    )
}

/// Numbers of frames in the file, by function and line.
struct Frames<'profile> {
    profile: &'profile Profile,
    numbers: HashMap<String, usize>,
    by_frame: HashMap<FrameIndex, usize>,
    texts: Vec<String>,
}

impl<'profile> Frames<'profile> {
    fn new(profile: &'profile Profile) -> Frames<'profile> {
        Frames {
            profile,
            numbers: HashMap::new(),
            by_frame: HashMap::new(),
            texts: Vec::new(),
        }
    }

    fn number_of_text(&mut self, text: String) -> usize {
        let next = self.texts.len();
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }

    fn named(&mut self, name: &str) -> usize {
        self.number_of_text(format!("{{\"name\":{}}}", json_string(name)))
    }

    fn number(&mut self, index: FrameIndex) -> usize {
        if let Some(number) = self.by_frame.get(&index) {
            return *number;
        }
        let frame = self.profile.frame(index);
        let name = json_string(self.profile.function_name(frame.function));
        let mut text = format!("{{\"name\":{name}");
        if let Some(file) = self.profile.function_file(frame.function) {
            let _ = write!(text, ",\"file\":{}", json_string(file));
        }
        if frame.line > 0 {
            let _ = write!(text, ",\"line\":{}", frame.line);
        }
        if frame.column > 0 {
            let _ = write!(text, ",\"col\":{}", frame.column);
        }
        text.push('}');
        let number = self.number_of_text(text);
        self.by_frame.insert(index, number);
        number
    }

    /// The list of a stack, oldest frame first.
    fn list(&mut self, stack: Option<StackIndex>, is_async: bool) -> String {
        let profile = self.profile;
        let mut numbers = Vec::new();
        for step in profile.walk(stack, is_async) {
            if numbers.len() >= DEPTH_MAX {
                numbers.push(self.named(CUT));
                break;
            }
            numbers.push(self.number(step.frame_index));
            if step.kind == StackKind::Cut {
                numbers.push(self.named(CUT));
            }
        }
        if numbers.is_empty() {
            numbers.push(self.named(UNKNOWN));
        }
        let numbers: Vec<String> = numbers.iter().rev().map(usize::to_string).collect();
        format!("[{}]", numbers.join(","))
    }
}

fn thread_profile(
    profile: &Profile,
    thread: ThreadIndex,
    samples: &[Sample],
    is_async: bool,
    frames: &mut Frames,
) -> String {
    let mut runs: Vec<(Option<StackIndex>, u64)> = Vec::new();
    for sample in samples {
        match runs.last_mut() {
            Some((stack, weight)) if *stack == sample.stack => {
                *weight = weight.saturating_add(sample.weight_ns);
            }
            _ => runs.push((sample.stack, sample.weight_ns)),
        }
    }
    let total = runs
        .iter()
        .fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
    let mut lists: HashMap<Option<StackIndex>, String> = HashMap::new();
    let mut stacks = String::new();
    let mut weights = String::new();
    for (index, (stack, weight)) in runs.iter().enumerate() {
        let list = lists
            .entry(*stack)
            .or_insert_with(|| frames.list(*stack, is_async));
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(stacks, "{comma}{list}");
        let _ = write!(weights, "{comma}{weight}");
    }
    format!(
        "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":0,\
         \"endValue\":{total},\"samples\":[{stacks}],\"weights\":[{weights}]}}",
        json_string(&profile.thread_name(thread)),
    )
}
