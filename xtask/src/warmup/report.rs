//! Prints warm-up measurements, as text with the missed goals, and as CSV.
//!
//! The goals are constants here: seconds until warm, the longest pause, and the cost for short
//! programs. Nothing is measured here.

use std::fmt::Write as _;
use std::time::Duration;

use super::cold::Cold;
use super::pauses::Pauses;
use super::samples::WarmUp;

/// The goals: time to 90 % of peak speed, the longest pause, and the slowdown of a short program.
const WARM_SECONDS: f64 = 0.5;
const PAUSE: Duration = Duration::from_millis(1);
const COLD_RATIO: f64 = 1.03;

/// A program, or why it was not measured.
#[derive(Clone, Debug)]
pub struct Row {
    pub group: &'static str,
    pub program: String,
    pub result: Result<Measured, String>,
}

#[derive(Clone, Debug)]
pub struct Measured {
    pub warm_up: WarmUp,
    pub pauses: Pauses,
    pub runs: usize,
}

impl Measured {
    /// The missed goals.
    fn misses(&self) -> Vec<&'static str> {
        let mut misses = Vec::new();
        if self.warm_up.wall_seconds > WARM_SECONDS {
            misses.push("slow to warm up");
        }
        if self.pauses.longest_processor > PAUSE {
            misses.push("pause");
        } else if self.pauses.longest > PAUSE {
            misses.push("pause (not by processor time)");
        }
        // An iteration is the least that can be told apart.
        if self.warm_up.peak_seconds > WARM_SECONDS / 10.0 {
            misses.push("long iterations");
        }
        misses
    }
}

pub fn text(rows: &[Row]) -> String {
    let mut out = format!(
        "warming up: an iteration at peak speed, the first as a multiple of it; milliseconds from the start \
         of the process\n\
         to the first iteration and to 90 % of peak speed (goal {:.0}), processor time of all threads until \
         then; the\n\
         longest pause for the specializer, wall and processor time (goal {:.0} ms)\n\n",
        WARM_SECONDS * 1e3,
        PAUSE.as_secs_f64() * 1e3
    );
    let _ = writeln!(
        out,
        "{:<16}{:>11}{:>8}{:>9}{:>9}{:>9}{:>11}{:>11}  misses",
        "program", "iteration", "first", "begins", "90 %", "cpu", "pause", "cpu"
    );
    for row in rows {
        match &row.result {
            Ok(measured) => {
                let (warm_up, pauses) = (&measured.warm_up, &measured.pauses);
                let milliseconds = |seconds: f64| format!("{:.0}", seconds * 1e3);
                let _ = writeln!(
                    out,
                    "{:<16}{:>11}{:>8.1}{:>9}{:>9}{:>9}{:>11}{:>11}  {}",
                    row.program,
                    time_text(warm_up.peak_seconds),
                    warm_up.first_ratio,
                    milliseconds(warm_up.begin_seconds),
                    milliseconds(warm_up.wall_seconds),
                    milliseconds(warm_up.processor_seconds),
                    time_text(pauses.longest.as_secs_f64()),
                    time_text(pauses.longest_processor.as_secs_f64()),
                    measured.misses().join(", ")
                );
            }
            Err(message) => {
                let _ = writeln!(out, "{:<16}  not measured: {message}", row.program);
            }
        }
    }
    out
}

pub fn cold_text(cold: &[Cold]) -> String {
    let mut out = format!(
        "\nshort programs: medians without the specializer, and with it as a multiple (goal {COLD_RATIO} of \
         wall time)\n\n"
    );
    let _ = writeln!(
        out,
        "{:<16}{:>11}{:>11}{:>9}{:>9}{:>8}  misses",
        "program", "wall", "cpu", "wall", "cpu", "rounds"
    );
    for program in cold {
        let misses = if program.wall_ratio > COLD_RATIO {
            "slowed"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "{:<16}{:>11}{:>11}{:>9.3}{:>9.3}{:>8}  {misses}",
            program.program,
            time_text(program.wall_seconds),
            time_text(program.processor_seconds),
            program.wall_ratio,
            program.processor_ratio,
            program.rounds,
        );
    }
    out
}

pub fn csv(rows: &[Row]) -> String {
    let mut out = String::from(
        "group,program,status,runs,iteration_seconds,first_ratio,begin_seconds,warm_seconds,warm_cpu_seconds,\
         pause_seconds,pause_cpu_seconds,pause_for\n",
    );
    for row in rows {
        let head = format!("{},{}", row.group, row.program);
        let _ = match &row.result {
            Ok(Measured {
                warm_up,
                pauses,
                runs,
            }) => writeln!(
                out,
                "{head},ok,{runs},{:.9},{:.3},{:.4},{:.4},{:.4},{:.7},{:.7},{}",
                warm_up.peak_seconds,
                warm_up.first_ratio,
                warm_up.begin_seconds,
                warm_up.wall_seconds,
                warm_up.processor_seconds,
                pauses.longest.as_secs_f64(),
                pauses.longest_processor.as_secs_f64(),
                pauses.cause,
            ),
            Err(message) => writeln!(out, "{head},\"{}\",0,,,,,,,,", message.replace('"', "'")),
        };
    }
    out
}

pub fn cold_csv(cold: &[Cold]) -> String {
    let mut out = String::from("program,rounds,wall_seconds,cpu_seconds,wall_ratio,cpu_ratio\n");
    for program in cold {
        let _ = writeln!(
            out,
            "{},{},{:.6},{:.6},{:.4},{:.4}",
            program.program,
            program.rounds,
            program.wall_seconds,
            program.processor_seconds,
            program.wall_ratio,
            program.processor_ratio,
        );
    }
    out
}

fn time_text(seconds: f64) -> String {
    match seconds {
        0.0 => "0".to_owned(),
        ..1e-6 => format!("{:.0} ns", seconds * 1e9),
        ..1e-3 => format!("{:.1} us", seconds * 1e6),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(warm_seconds: f64, pause_us: u64, processor_us: u64) -> Measured {
        Measured {
            warm_up: WarmUp {
                peak_seconds: 0.002,
                first_ratio: 7.0,
                begin_seconds: 0.01,
                wall_seconds: warm_seconds,
                processor_seconds: 0.3,
            },
            pauses: Pauses {
                longest: Duration::from_micros(pause_us),
                longest_processor: Duration::from_micros(processor_us),
                ..Pauses::default()
            },
            runs: 3,
        }
    }

    #[test]
    fn what_misses_a_goal_is_marked() {
        assert!(measured(0.4, 900, 20).misses().is_empty());
        assert_eq!(measured(0.6, 900, 20).misses(), ["slow to warm up"]);
        assert_eq!(
            measured(0.4, 1100, 20).misses(),
            ["pause (not by processor time)"]
        );
        assert_eq!(measured(0.4, 1300, 1200).misses(), ["pause"]);
    }

    #[test]
    fn every_line_of_the_csv_has_all_columns() {
        let row = |result| Row {
            group: "own",
            program: "fib".to_owned(),
            result,
        };
        let rows = [
            row(Ok(measured(0.4, 900, 20))),
            row(Err("exit code 70".to_owned())),
        ];
        for line in csv(&rows).lines() {
            assert_eq!(line.split(',').count(), 12, "{line}");
        }
        assert!(text(&rows).contains("not measured: exit code 70"));
    }

    #[test]
    fn times_have_units() {
        let texts = [5e-8, 2.5e-5, 0.0123, 2.0, 0.0].map(time_text);
        assert_eq!(texts, ["50 ns", "25.0 us", "12.30 ms", "2.00 s", "0"]);
    }
}
