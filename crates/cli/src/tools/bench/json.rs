//! Results as JSON, one object on each line: `--json`. `docs/cli.md` has the table of its members.
//! Numbers have all their digits; rounding is for people.

use super::Measured;
use super::measure::{Failure, Series};
use super::statistics::Estimate;
use super::summary::{Kind, Summary, Verdict};
use crate::json::{Object, string};

/// A number; `null` for one that JSON does not have.
fn number(number: f64) -> String {
    if number.is_finite() {
        format!("{number}")
    } else {
        "null".to_owned()
    }
}

fn interval(estimate: &Estimate) -> String {
    format!("[{},{}]", number(estimate.low), number(estimate.high))
}

fn failure(failure: &Failure) -> String {
    let mut object = Object::new();
    object.string("reason", &failure.reason);
    object.string("output", &failure.output);
    object.finish()
}

/// The members of a side.
fn side(object: &mut Object, summary: Option<&Summary>, series: &Series, kind: Kind) {
    if let Some(found) = &series.failure {
        object.json("failure", &failure(found));
    }
    let Some(summary) = summary else { return };
    object.json("mean_ns", &number(summary.mean.value));
    object.json("interval_ns", &interval(&summary.mean));
    object.json("median_ns", &number(summary.median_ns));
    if kind == Kind::Benchmark {
        object.json("first_ns", &number(summary.first_ns));
        object.json("warm_up_ns", &number(summary.warm_up_ns));
        object.json("steady_processes", &summary.steady_processes.to_string());
    }
    object.json("processes", &summary.processes.to_string());
    object.json("samples", &summary.samples.to_string());
    object.json("iterations", &number(summary.iterations));
    object.json("bytes_per_iteration", &number(summary.bytes_per_iteration));
    object.json("collections", &number(summary.collections));
    for (name, value) in [
        (
            "pause_part",
            (kind == Kind::Benchmark).then_some(summary.pause_part),
        ),
        ("bytes_per_second", summary.bytes_per_second),
        ("items_per_second", summary.items_per_second),
        ("waited_part", summary.waited_part),
        ("involuntary_switches", summary.switches),
        ("processor_ns", summary.processor_ns),
    ] {
        if let Some(value) = value {
            object.json(name, &number(value));
        }
    }
}

/// The line of a benchmark.
pub fn line(result: &Measured) -> String {
    let mut object = Object::new();
    object.string("file", &result.file.display().to_string());
    object.string("name", &result.name);
    object.string(
        "kind",
        match result.kind {
            Kind::Benchmark => "benchmark",
            Kind::Program => "program",
        },
    );
    side(
        &mut object,
        result.summary.as_ref(),
        &result.own,
        result.kind,
    );
    if let Some(baseline) = &result.baseline {
        let mut other = Object::new();
        side(
            &mut other,
            baseline.summary.as_ref(),
            &baseline.series,
            result.kind,
        );
        object.json("other", &other.finish());
        if let Some((ratio, verdict)) = &baseline.ratio {
            object.json("ratio", &number(ratio.value));
            object.json("ratio_interval", &interval(ratio));
            let verdict = match verdict {
                Verdict::Slower => "slower",
                Verdict::Faster => "faster",
                Verdict::NoDifference => "no-difference",
            };
            object.json("verdict", &string(verdict));
        }
    }
    object.finish() + "\n"
}
