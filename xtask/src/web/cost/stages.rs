//! Processor time of a request by stage, from a sampling profile: which frame stands for which stage.
//!
//! [`STAGES`] is the only place that knows names. A sample belongs to the stage of the newest frame
//! that a row names, so a stage includes what it calls unless a row says otherwise.

use std::collections::HashMap;

use canny_profile::model::{Profile, Sample};

use super::table::{self, Column};

/// A stage, and the beginnings of the names of frames that belong to it.
type Stage = (&'static str, &'static [&'static str]);

/// Stages, for the procedures and primitives of the server and the functions of the machine that a
/// profile names with `--native`. The first row that fits a frame counts.
const STAGES: &[Stage] = &[
    (
        "read (system call)",
        &["canny_http::server::stream::Stream::receive"],
    ),
    (
        "write (system call)",
        &["canny_http::server::stream::Stream::send"],
    ),
    (
        "parse: head and framing",
        &[
            "canny_http::head",
            "canny_http::framing",
            "canny_http::server::connection::Connection::take_head",
        ],
    ),
    (
        "close and wait again",
        &[
            "canny_http::server::Server::close",
            "canny_http::server::connection::Connection::rest",
            "canny_http::server::connection::Connection::shut_down",
        ],
    ),
    (
        "poll and accept",
        &[
            "canny_http::server::Server::next",
            "canny_http::server::Server::poll",
            "canny_http::server::Server::accept",
            "canny_http::server::Server::admit",
            "canny_http::server::slots",
            "canny_http::server::connection::Connection::has_event",
        ],
    ),
    (
        "make the request object",
        &[
            "canny_lib::primitives::http::make_request",
            "canny_lib::primitives::http::heads",
        ],
    ),
    (
        "headers of the response",
        &[
            "canny_lib::primitives::http::responses",
            "canny_http::response",
            "canny_http::date",
            "as-texts",
        ],
    ),
    (
        "collector",
        &[
            "canny_heap::collector",
            "canny_heap::tracer",
            "canny_heap::sweep",
            "canny_heap::nursery",
            "canny_heap::block_pool",
            "canny_heap::area",
        ],
    ),
    (
        "the profiler itself",
        &["canny_vm::profile", "writing the profile"],
    ),
    (
        "specializer and compiler",
        &[
            "canny_spesh",
            "canny_jit",
            "cranelift",
            "regalloc2",
            "specializing code that runs often",
        ],
    ),
    (
        "body: HTML of SXML",
        &["respond-with-markup", "sxml->html-bytes", "%sxml"],
    ),
    (
        "headers, body and write: rest of `%http-respond!`",
        &["%http-respond!", "respond-with", "respond"],
    ),
    (
        "poll, read and parse: rest of `%http-next!`",
        &["%http-next!"],
    ),
    (
        "wait: standby tasks and the scheduler",
        &[
            "stand-by",
            "wait-for-operation",
            "call-standby!",
            "call-spare!",
            "canny_sched",
            "%serve",
            "%park",
        ],
    ),
    (
        "account and state of a request",
        &[
            "%begin-account!",
            "%end-account!",
            "%compare-and-swap!",
            "leave!",
            "check-mine",
        ],
    ),
    (
        "handler and route",
        &["handler", "canny/web/router", "request-path"],
    ),
    (
        "other parts of the server's loop",
        &["serve-requests", "serve", "handle", "answer"],
    ),
];

const OTHERS: &str = "others";

fn stage_of_name(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('<');
    let is_stage = |(_, frames): &&Stage| frames.iter().any(|frame| is_frame(name, frame));
    let stage = STAGES.iter().find(is_stage);
    stage.map(|(stage, _)| *stage)
}

/// Whether a name is that of a frame in [`STAGES`]: functions of the machine by the beginning of their
/// path, procedures and primitives in full.
fn is_frame(name: &str, frame: &str) -> bool {
    if frame.starts_with("canny_") {
        name.starts_with(frame)
    } else {
        let rest = name.strip_prefix(frame);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

/// The stage of a sample.
fn stage_of(profile: &Profile, sample: &Sample) -> &'static str {
    let mut frames = profile.walk(sample.stack, false);
    let stage = frames.find_map(|step| stage_of_name(profile.function_name(step.frame.function)));
    stage.unwrap_or(OTHERS)
}

/// The table of the samples of so many requests.
pub fn table(profile: &Profile, requests: f64) -> String {
    let mut stages: HashMap<&str, f64> = HashMap::new();
    for sample in &profile.rows.samples {
        let micros = sample.weight_ns as f64 / 1000.0;
        *stages.entry(stage_of(profile, sample)).or_default() += micros / requests;
    }
    let rows = stages
        .into_iter()
        .map(|(stage, micros)| (stage.to_owned(), micros));
    let column = Column {
        what: "stage",
        unit: "µs",
        digits: 2,
    };
    table::shares(column, rows.collect())
}

#[cfg(test)]
mod tests {
    use canny_profile::model::{Builder, Group, Header, StackKind, Tier};

    use super::*;

    fn profile(stacks: &[(&[&str], u64)]) -> Profile {
        let mut builder = Builder::new();
        for (names, weight_ns) in stacks {
            let mut stack = None;
            for name in *names {
                let function = builder.function(name, None, 0, Group::Machine);
                let frame = builder.frame(function, 0, 0, Tier::Native, false);
                stack = Some(builder.stack(stack, frame, StackKind::Plain));
            }
            builder.sample(Sample {
                stack,
                weight_ns: *weight_ns,
                ..Sample::default()
            });
        }
        Profile::new(Header::default(), &mut builder, 1)
    }

    #[test]
    fn the_newest_named_frame_is_the_stage() {
        let send = "canny_http::server::stream::Stream::send";
        let profile = profile(&[
            (
                &["serve-requests", "%http-respond!", send, "operating system"],
                6000,
            ),
            (&["serve-requests", "handler", "string-append"], 3000),
            (&["mystery"], 1000),
        ]);
        let table = table(&profile, 2.0);
        assert!(
            table.contains("| write (system call) | 3.00 | 60.0 |"),
            "{table}"
        );
        assert!(
            table.contains("| handler and route | 1.50 | 30.0 |"),
            "{table}"
        );
        assert!(table.contains("| others | 0.50 | 10.0 |"), "{table}");
        assert!(table.contains("| in all | 5.00 | 100.0 |"), "{table}");
    }

    #[test]
    fn procedures_are_named_in_full() {
        assert_eq!(
            stage_of_name("serve"),
            Some("other parts of the server's loop")
        );
        assert_eq!(stage_of_name("serve-pie"), None);
    }
}
