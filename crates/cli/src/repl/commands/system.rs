//! Commands about time, memory and settings: `,time`, `,gc`, `,heap`, `,statistics` and `,option`.
//!
//! Times of collections are those of the whole machine, other threads included. Settings belong to
//! the session and end with it.

use std::time::{Duration, Instant};

use super::{Reply, form_of, reply};
use crate::repl::prompt::{Prompt, evaluate_form};
use crate::repl::results::{self, Printing};

/// Processor time of the process.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.max(0) as u64,
        time.tv_nsec.clamp(0, 999_999_999) as u32,
    )
}

/// `,time EXPR`
pub(super) fn time(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).and_then(|form| {
        let before = prompt.session.vm.heap().statistics();
        let (start, processor) = (Instant::now(), processor_time());
        let value = prompt.value_of(&form).map_err(Reply::Leave)?;
        let (elapsed, processor) = (start.elapsed(), processor_time() - processor);
        let after = prompt.session.vm.heap().statistics();
        prompt.show(value);
        let pauses = after.pause_wall_ns_total - before.pause_wall_ns_total;
        let collections = after.collections - before.collections;
        results::print(&format!(
            "; {} elapsed, {} of processors, {} in {collections} collections\n",
            seconds(elapsed),
            seconds(processor),
            seconds(Duration::from_nanos(pauses)),
        ));
        Ok(Reply::Done)
    }))
}

/// `,profile EXPR`
pub(super) fn profile(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).and_then(|form| {
        let environment = prompt.environment();
        let profiled = crate::profile::profiled(&mut prompt.session, "prompt", |session| {
            evaluate_form(session, environment, &form)
        });
        let (result, text) = match profiled {
            Ok(profiled) => profiled,
            Err(message) => return Ok(Reply::Text(format!("; {message}\n"))),
        };
        let value = prompt.settled(result).map_err(Reply::Leave)?;
        prompt.show(value);
        results::print(&text);
        Ok(Reply::Done)
    }))
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.001 {
        format!("{:.1} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// `,gc`
pub(super) fn collect(prompt: &mut Prompt, _rest: &str) -> Reply {
    prompt.session.thread.collect_garbage(true);
    let live = prompt.session.vm.heap().statistics().bytes_live;
    Reply::Text(format!("; {} are in use\n", bytes(live as u64)))
}

/// `,statistics`
pub(super) fn statistics(prompt: &mut Prompt, _rest: &str) -> Reply {
    let heap = prompt.session.vm.heap().statistics();
    let pause = |nanoseconds| seconds(Duration::from_nanos(nanoseconds));
    Reply::Text(format!(
        "memory in use     {}\nmost so far       {}\ncollections       {}, full {}\npauses            {}, \
         longest {}\n",
        bytes(heap.bytes_in_use as u64),
        bytes(heap.bytes_in_use_max as u64),
        heap.collections,
        heap.full_collections,
        pause(heap.pause_wall_ns_total),
        pause(heap.pause_wall_ns_max),
    ))
}

/// `,heap [FILE]`
pub(super) fn heap(prompt: &mut Prompt, rest: &str) -> Reply {
    let written = crate::heap::at_prompt(&mut prompt.session, &super::file_name(rest));
    let sentence = written.unwrap_or_else(|problem| problem);
    Reply::Text(format!("; {sentence}\n"))
}

fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", count / 1000),
        _ => format!("{} MB", count / 1_000_000),
    }
}

/// `,option [NAME [VALUE]]`
pub(super) fn option(prompt: &mut Prompt, rest: &str) -> Reply {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let Printing { width, length_max } = prompt.printing;
    let width = width.map_or("window".to_owned(), |width| width.to_string());
    match words[..] {
        [] => Reply::Text(format!("width   {width}\nlength  {length_max}\n")),
        ["width"] => Reply::Text(format!("{width}\n")),
        ["length"] => Reply::Text(format!("{length_max}\n")),
        ["width", "window"] => {
            prompt.printing.width = None;
            Reply::Done
        }
        [name @ ("width" | "length"), value] => match value.parse::<usize>() {
            Ok(number) if number > 0 => {
                if name == "width" {
                    prompt.printing.width = Some(number);
                } else {
                    prompt.printing.length_max = number;
                }
                Reply::Done
            }
            _ => Reply::Text(format!(
                "{name} wants a number greater than 0, not {value}\n"
            )),
        },
        _ => Reply::Usage,
    }
}
