//! Writes and reads a profile of a million samples, sums it up and exports it, and says how long
//! each step took: `cargo run --profile quick -p canny-profile --example million_samples`.

use std::time::Instant;

use canny_profile::analysis::{Filter, Grain, Measure, Weights, bottom_up, top_down, totals};
use canny_profile::file::{Writer, gunzip, gzip, read};
use canny_profile::model::{Builder, FrameIndex, Group, Header, Sample, StackKind, Tier};
use canny_profile::{export, page};

const SAMPLES: u64 = 1_000_000;
const FUNCTIONS: u64 = 2000;
/// Samples between two flushes.
const FLUSH: u64 = 1000;

/// Prints the time of a step and answers its result.
fn measured<T>(step: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{:8.1} ms  {step}", start.elapsed().as_secs_f64() * 1000.0);
    result
}

/// A number that looks like chance.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The frames of a machine that looks each place up once.
fn frames(builder: &mut Builder) -> Vec<FrameIndex> {
    let frames = (0..FUNCTIONS).map(|name| {
        let name = format!("procedure-{name}");
        let function = builder.function(&name, Some("program.scm"), 1, Group::Program);
        builder.frame(function, 1, 1, Tier::Compiled, false)
    });
    frames.collect()
}

fn written() -> Vec<u8> {
    let mut builder = Builder::new();
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    let threads = [builder.thread(1, "one"), builder.thread(2, "two")];
    let task = builder.task(0, None, None, 0);
    let frames = frames(&mut builder);
    let mut state = 88_172_645_463_325_252;
    let mut stack = None;
    for number in 0..SAMPLES {
        // A third of the samples has another stack than the one before; all are thirty deep.
        if number % 3 == 0 {
            stack = None;
            for depth in 0..30 {
                let spread = if depth < 20 { 1 } else { 3 };
                let place = (depth * 60 + next(&mut state) % spread) % FUNCTIONS;
                let frame = frames[place as usize];
                stack = Some(builder.stack(stack, frame, StackKind::Plain));
            }
        }
        builder.sample(Sample {
            at_ns: number * 1_000_000 + next(&mut state) % 100_000,
            thread: threads[(number % 2) as usize],
            task,
            label: 0.into(),
            stack,
            weight_ns: 900_000 + next(&mut state) % 200_000,
        });
        if number % FLUSH == 0 {
            writer.flush(&mut builder).unwrap();
        }
    }
    writer.flush(&mut builder).unwrap();
    writer.finish(SAMPLES * 1_000_000).unwrap()
}

fn main() {
    let bytes = measured("build and write", written);
    let packed = measured("compress", || gzip(&bytes));
    println!("{} bytes, {} compressed", bytes.len(), packed.len());
    measured("decompress", || gunzip(&packed).unwrap());
    let profile = measured("read", || read(&bytes).unwrap());
    measured("read compressed", || read(&packed).unwrap());
    println!(
        "{} samples, {} stacks",
        profile.rows.samples.len(),
        profile.rows.stacks.len()
    );
    measured("write again", || {
        canny_profile::file::write(Vec::new(), &profile).unwrap()
    });
    let weights = measured("weights", || {
        Weights::new(&profile, Measure::Cpu, &Filter::default())
    });
    measured("totals", || totals(&weights, Grain::Line));
    measured("top-down tree", || top_down(&weights, Grain::Function));
    measured("bottom-up tree", || {
        bottom_up(&weights, Grain::Function, 64)
    });
    let size = |text: String| println!("{:8.1} MB", text.len() as f64 / 1e6);
    size(measured("collapsed", || export::collapsed(&weights)));
    size(measured("callgrind", || export::callgrind(&weights)));
    size(measured("speedscope", || {
        export::speedscope(&profile, false)
    }));
    size(measured("chrome", || export::chrome(&profile, false)));
    size(measured("firefox", || export::firefox(&profile, false)));
    measured("pprof", || export::pprof(&profile, false));
    size(measured("page", || page::page(&packed)));
}
