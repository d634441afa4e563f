//! Explains why the planner has no plan for the start of a code object.
//!
//! It repeats the planner's tests in their order and changes nothing: a test that is added to the
//! planner needs a case here. `--spesh-report` shows the text.

use std::fmt;

use super::{Planner, RETRACTIONS_MAX, WORDS_MAX, accepts, threshold};
use crate::graph::EntryPoint;
use crate::snapshot::CodeSnapshot;
use crate::statistics::CodeStatistics;

/// Why there is no plan for the start of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is one.
    Planned,
    /// It is larger than anything that is compiled.
    TooLarge {
        /// Its words.
        words: usize,
    },
    /// It was compiled, and guesses failed, again and again.
    ExitedTooOften {
        /// So many times.
        times: u32,
    },
    /// Calls with this number of arguments end in an error.
    WrongArguments,
    /// It is hot, but compiling it would take longer than it has run so far.
    NotPaying {
        /// Its words.
        words: usize,
        /// Its log entries in a thousand.
        per_mille: u64,
    },
    /// It was not seen often enough.
    NotHot {
        /// Calls that were logged.
        calls: u32,
        /// Calls that would be enough.
        calls_wanted: u32,
        /// Iterations of its hottest loop.
        iterations: u32,
        /// Iterations that would be enough.
        iterations_wanted: u32,
        /// How often it was compiled and retired before, which doubles what is wanted.
        retractions: u32,
    },
}

impl Planner {
    /// Returns the obstacle between a code and a plan for its start.
    pub fn obstacle(&self, snapshot: &CodeSnapshot, statistics: &CodeStatistics) -> Obstacle {
        let words = snapshot.instructions.len();
        let Some(threshold) = threshold(words) else {
            return Obstacle::TooLarge { words };
        };
        let planned = self.planned.get(&snapshot.word);
        let retractions = self.retractions(snapshot.word, EntryPoint::Start);
        if retractions >= RETRACTIONS_MAX {
            return Obstacle::ExitedTooOften { times: retractions };
        }
        let specializations = planned.map_or(&[][..], |planned| &planned.specializations);
        let starts = |(entry, _): &&(EntryPoint, _)| *entry == EntryPoint::Start;
        if specializations.iter().any(|it| starts(&it)) {
            return Obstacle::Planned;
        }
        let callsites = statistics.callsites.iter();
        let accepted = callsites.filter(|callsite| accepts(snapshot, callsite));
        let calls = accepted.map(|callsite| callsite.hits).sum();
        let (wanted, iterations_wanted) = self.wanted(threshold, statistics, retractions);
        if calls < wanted && statistics.hits >= wanted {
            return Obstacle::WrongArguments;
        }
        if calls >= wanted {
            let events = self.budget.map_or(0, |budget| budget.events);
            return Obstacle::NotPaying {
                words,
                per_mille: 1000 * statistics.events / events.max(1),
            };
        }
        let loops = statistics.loops.values();
        Obstacle::NotHot {
            calls,
            calls_wanted: wanted,
            iterations: loops.map(|of_loop| of_loop.hits).max().unwrap_or(0),
            iterations_wanted,
            retractions,
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Planned => f.write_str("planned, not compiled yet"),
            Obstacle::TooLarge { words } => {
                write!(
                    f,
                    "too large: {words} words of bytecode, {WORDS_MAX} at most"
                )
            }
            Obstacle::ExitedTooOften { times } => {
                write!(f, "not compiled again: guards failed {times} times")
            }
            Obstacle::WrongArguments => f.write_str("called with a wrong number of arguments"),
            Obstacle::NotPaying { words, per_mille } => write!(
                f,
                "does not pay yet: {}.{} % of the log for {words} words of bytecode",
                per_mille / 10,
                per_mille % 10
            ),
            Obstacle::NotHot {
                calls,
                calls_wanted,
                iterations,
                iterations_wanted,
                retractions,
            } => {
                write!(f, "not hot enough: {calls} of {calls_wanted} calls")?;
                if *iterations > 0 {
                    write!(f, ", {iterations} of {iterations_wanted} iterations")?;
                }
                match retractions {
                    0 => Ok(()),
                    1 => f.write_str(" (more, since it was retired once)"),
                    times => write!(f, " (more, since it was retired {times} times)"),
                }
            }
        }
    }
}
