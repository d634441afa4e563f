//! Going backwards in a replay: the program is run anew, up to an earlier place.
//!
//! The process replaces itself by one that replays the same recording and gets a [`Resumption`]: the
//! breakpoints, how much output people have seen, and a goal. A place is named by the places that were
//! passed since a point that each run finds again ([`Base`]). To go one step back, a run begins to count
//! some answers of the recording before the present place and notes the last place of the wanted kind
//! up to there. If there is none, the next run begins to count earlier. Then a further run goes to the
//! place that was found.

use std::fmt::Write;
use std::str::FromStr;

use canny_vm::debug::{Back, TaskKey};

/// A point from which places are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The beginning of the program.
    Start,
    /// Its end.
    End,
    /// The first safepoint after so many answers of the recording.
    Answers(u64),
    /// The stop at a breakpoint, by its place in the list, which was met so many times since there
    /// were so many answers.
    Hit {
        answers: u64,
        breakpoint: usize,
        hits: u64,
    },
}

/// A place in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub base: Base,
    /// Places that were passed since then, this one included.
    pub count: u64,
}

/// The kind of place that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Where another line begins.
    Line(Back),
    /// Where a breakpoint was met.
    Breakpoint,
}

/// The aim of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A place to stop at.
    At(Position),
    /// The last place of a kind before a place; places are counted from a base on. So many runs have
    /// looked for it without success.
    Before {
        from: Base,
        end: Position,
        wanted: Wanted,
        tries: u32,
    },
}

/// How the next run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumption {
    pub goal: Goal,
    /// Commands or the like that set the breakpoints, in order.
    pub breakpoints: Vec<String>,
    /// Bytes on standard output and standard error that were shown.
    pub shown: [u64; 2],
    /// Something to say at the goal.
    pub note: Option<String>,
}

impl Goal {
    /// The first goal: the first place of the program.
    pub const BEGINNING: Goal = Goal::At(Position {
        base: Base::Start,
        count: 1,
    });

    /// The goal of looking for a place before one.
    pub fn before(end: Position, wanted: Wanted) -> Goal {
        let from = match end.base {
            Base::Hit { answers: 0, .. } => Base::Start,
            // One answer before, which is soon enough for what ends with output.
            Base::End => Base::Answers(canny_replay::answers().saturating_sub(1).max(1)),
            Base::Hit { answers, .. } => Base::Answers(answers),
            base => base,
        };
        Goal::Before {
            from,
            end,
            wanted,
            tries: 0,
        }
    }

    /// The next goal after a search in which a place was found or not.
    pub fn after_search(self, found: Option<u64>) -> Option<Goal> {
        let Goal::Before {
            from,
            end,
            wanted,
            tries,
        } = self
        else {
            return None;
        };
        if let Some(count) = found {
            return Some(Goal::At(Position { base: from, count }));
        }
        let Base::Answers(answers) = from else {
            return None;
        };
        // Further back each time, so that a search over many answers takes few runs.
        let earlier = answers.saturating_sub(1 << (2 * tries.min(20)));
        Some(Goal::Before {
            from: if earlier == 0 {
                Base::Start
            } else {
                Base::Answers(earlier)
            },
            end,
            wanted,
            tries: tries + 1,
        })
    }
}

impl Resumption {
    /// The first run: to the first place of the program.
    pub fn beginning(breakpoints: Vec<String>) -> Resumption {
        Resumption {
            goal: Goal::BEGINNING,
            breakpoints,
            shown: [0; 2],
            note: None,
        }
    }

    /// As one argument of a command line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = match &self.goal {
            Goal::At(position) => write!(text, "at {}", position_text(*position)),
            Goal::Before {
                from,
                end,
                wanted,
                tries,
            } => write!(
                text,
                "before {} {} {} {tries}",
                base_text(*from),
                position_text(*end),
                wanted_text(*wanted),
            ),
        };
        let [output, error] = self.shown;
        let _ = write!(text, "\nshown {output} {error}");
        for breakpoint in &self.breakpoints {
            let _ = write!(text, "\nbreakpoint {breakpoint}");
        }
        if let Some(note) = &self.note {
            let _ = write!(text, "\nnote {note}");
        }
        text
    }

    /// Reads what `text` has written.
    pub fn read(text: &str) -> Option<Resumption> {
        let mut lines = text.lines();
        let mut words = lines.next()?.split(' ');
        let goal = match words.next()? {
            "at" => Goal::At(read_position(&mut words)?),
            "before" => Goal::Before {
                from: read_base(&mut words)?,
                end: read_position(&mut words)?,
                wanted: read_wanted(&mut words)?,
                tries: read_number(&mut words)?,
            },
            _ => return None,
        };
        let mut resumption = Resumption {
            goal,
            breakpoints: Vec::new(),
            shown: [0; 2],
            note: None,
        };
        for line in lines {
            let (word, rest) = line.split_once(' ')?;
            match word {
                "shown" => {
                    let mut words = rest.split(' ');
                    resumption.shown = [read_number(&mut words)?, read_number(&mut words)?];
                }
                "breakpoint" => resumption.breakpoints.push(rest.to_owned()),
                "note" => resumption.note = Some(rest.to_owned()),
                _ => return None,
            }
        }
        Some(resumption)
    }
}

fn base_text(base: Base) -> String {
    match base {
        Base::Start => "start".to_owned(),
        Base::End => "end".to_owned(),
        Base::Answers(answers) => format!("answers {answers}"),
        Base::Hit {
            answers,
            breakpoint,
            hits,
        } => format!("hit {answers} {breakpoint} {hits}"),
    }
}

fn position_text(position: Position) -> String {
    format!("{} {}", base_text(position.base), position.count)
}

fn wanted_text(wanted: Wanted) -> String {
    let of_task = |word: &str, task: TaskKey, depth: usize| {
        format!("{word} {} {depth}", task.0.unwrap_or(-1))
    };
    match wanted {
        Wanted::Breakpoint => "breakpoint".to_owned(),
        Wanted::Line(Back::In(task)) => of_task("in", task, 0),
        Wanted::Line(Back::Over(task, depth)) => of_task("over", task, depth),
        Wanted::Line(Back::Out(task, depth)) => of_task("out", task, depth),
    }
}

fn read_number<'a, N: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Option<N> {
    words.next()?.parse().ok()
}

fn read_base<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Base> {
    Some(match words.next()? {
        "start" => Base::Start,
        "end" => Base::End,
        "answers" => Base::Answers(read_number(words)?),
        "hit" => Base::Hit {
            answers: read_number(words)?,
            breakpoint: read_number(words)?,
            hits: read_number(words)?,
        },
        _ => return None,
    })
}

fn read_position<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Position> {
    Some(Position {
        base: read_base(words)?,
        count: read_number(words)?,
    })
}

fn read_wanted<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Wanted> {
    let word = words.next()?;
    let mut of_task = || {
        let task: i64 = read_number(words)?;
        let task = TaskKey(Some(task).filter(|task| *task >= 0));
        Some((task, read_number(words)?))
    };
    Some(match word {
        "breakpoint" => Wanted::Breakpoint,
        "in" => Wanted::Line(Back::In(of_task()?.0)),
        "over" => {
            let (task, depth) = of_task()?;
            Wanted::Line(Back::Over(task, depth))
        }
        "out" => {
            let (task, depth) = of_task()?;
            Wanted::Line(Back::Out(task, depth))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIT: Position = Position {
        base: Base::Hit {
            answers: 20,
            breakpoint: 1,
            hits: 3,
        },
        count: 4,
    };

    #[test]
    fn resumptions_are_read_as_they_were_written() {
        let wanted = [
            Wanted::Breakpoint,
            Wanted::Line(Back::In(TaskKey(Some(0)))),
            Wanted::Line(Back::Over(TaskKey(Some(7)), 1232)),
            Wanted::Line(Back::Out(TaskKey(None), 0)),
        ];
        let goals = wanted.map(|wanted| Goal::before(HIT, wanted));
        for goal in goals.into_iter().chain([Goal::BEGINNING]) {
            let resumption = Resumption {
                goal,
                breakpoints: vec![
                    "break 12 if (> x 1)".to_owned(),
                    "catch uncaught".to_owned(),
                ],
                shown: [100, 0],
                note: Some("This is the beginning.".to_owned()),
            };
            assert_eq!(Resumption::read(&resumption.text()), Some(resumption));
        }
        assert_eq!(Resumption::read("at nowhere 1"), None);
    }

    #[test]
    fn a_search_begins_ever_earlier_and_ends_at_the_start() {
        let mut goal = Goal::before(HIT, Wanted::Breakpoint);
        let mut from = Vec::new();
        while let Goal::Before { from: base, .. } = goal {
            from.push(base);
            match goal.after_search(None) {
                Some(next) => goal = next,
                None => break,
            }
        }
        assert_eq!(
            from,
            [
                Base::Answers(20),
                Base::Answers(19),
                Base::Answers(15),
                Base::Start
            ]
        );
        let found = goal.after_search(Some(8));
        let place = Position {
            base: Base::Start,
            count: 8,
        };
        assert_eq!(found, Some(Goal::At(place)));
    }
}
