//! Other work of the machine: sentences about it, for people.

use std::fs;

use super::summary::Summary;
use super::units;

/// A load of this part of the processors is worth a sentence.
const LOAD_PART: f64 = 0.5;

/// So is this part of the time without a processor.
const WAITED_PART: f64 = 0.02;

/// The mean number of ready threads in the last minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub load: f64,
    pub processors: usize,
}

impl Load {
    /// The load now; `None` where the system does not say.
    pub fn now() -> Option<Load> {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        let load = text.split_whitespace().next()?.parse().ok()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Some(Load { load, processors })
    }

    /// A sentence about a busy machine.
    pub fn note(self) -> Option<String> {
        let Load { load, processors } = self;
        (load > LOAD_PART * processors as f64).then(|| {
            let ending = if processors == 1 { "" } else { "s" };
            format!(
                "the machine was busy when this began: load {load:.1} on {processors} \
                processor{ending}"
            )
        })
    }
}

/// A sentence about a benchmark that had to wait for a processor.
pub fn note(summary: &Summary) -> Option<String> {
    let waited = summary.waited_part.filter(|part| *part > WAITED_PART)?;
    let switches = match summary.switches {
        Some(switches) => format!(", and lost it {switches:.0} times"),
        None => String::new(),
    };
    Some(format!(
        "had no processor for {} of the time{switches}",
        units::percent(waited)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_named() {
        let load = |load| Load {
            load,
            processors: 2,
        };
        assert_eq!(load(0.9).note(), None);
        assert_eq!(
            load(3.25).note().unwrap(),
            "the machine was busy when this began: load 3.2 on 2 processors"
        );
    }
}
