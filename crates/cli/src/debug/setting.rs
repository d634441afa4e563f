//! How breakpoints are set at the prompt of the debugger: the meaning of the places that people
//! write. The prompt itself is in `console`.

use std::sync::Arc;

use canny_lib::debug::conditions::{self, HitCount, Wishes};
use canny_lib::debug::watching;
use canny_vm::Thread;
use canny_vm::debug::{Breakpoint, Location, Stop};

use super::commands::{self, Command, Wish};
use super::console::{Console, Terminal};
use super::texts;

impl Console {
    /// Sets a breakpoint; says where it is, or what is wrong.
    pub(super) fn set(
        &self,
        thread: &mut Thread,
        terminal: &mut Terminal,
        command: Command,
    ) -> Result<String, String> {
        let written = commands::written(&command);
        match command {
            Command::Watch(wish) if wish.place.contains(char::is_whitespace) => {
                Err("parts can be watched where the program stands still".to_owned())
            }
            Command::Watch(wish) => {
                let location = Location::Assignment(wish.place.clone());
                self.set_at(thread, terminal, &location, (&wish, written))
            }
            Command::Once(wish) => {
                let location = self.location(&wish.place);
                let text = self.set_at(thread, terminal, &location, (&wish, written))?;
                let last = terminal.breakpoints.last().map(|(id, _)| *id);
                terminal.once.extend(last);
                Ok(text)
            }
            Command::Break(wish) | Command::Log(wish) => {
                let location = self.location(&wish.place);
                self.set_at(thread, terminal, &location, (&wish, written))
            }
            Command::Catch(only_uncaught, kinds) => {
                let what = if only_uncaught {
                    "uncaught objects"
                } else {
                    "objects"
                };
                let (breakpoint, text) = match kinds.as_str() {
                    "task-start" => (
                        Breakpoint::new(Location::TaskBegin),
                        "where tasks begin".to_owned(),
                    ),
                    "task-end" => (
                        Breakpoint::new(Location::TaskEnd),
                        "where tasks have ended".to_owned(),
                    ),
                    kinds => {
                        let breakpoint = Breakpoint {
                            condition: Some(conditions::of_raised(only_uncaught, kinds)),
                            ..Breakpoint::new(Location::Raise)
                        };
                        (breakpoint, format!("where {what} are raised {kinds}"))
                    }
                };
                let id = thread.set_breakpoint(breakpoint);
                terminal.breakpoints.push((id, text.trim_end().to_owned()));
                terminal.commands.push(written);
                Ok(format!("Breakpoint {} {}.", id.0, text.trim_end()))
            }
            _ => Ok(String::new()),
        }
    }

    /// Watches what a name, or the way to a part, means in a frame.
    pub(super) fn watch(
        &self,
        stop: &mut Stop<'_>,
        terminal: &mut Terminal,
        frame: usize,
        wish: Wish,
    ) -> Result<String, String> {
        let location = watching::location(stop, frame, &wish.place)?;
        let thread = stop.thread();
        let Location::Part(object, _) = location else {
            return self.set(thread, terminal, Command::Watch(wish));
        };
        let text = if self.replay.is_some() {
            // Another run does not know the object.
            Err("a replay watches variables of the program only".to_owned())
        } else {
            self.set_at(thread, terminal, &location, (&wish, String::new()))
        };
        thread.debug_forget(object);
        text
    }

    /// Sets a breakpoint for a wish whose place was found.
    pub(super) fn set_at(
        &self,
        thread: &mut Thread,
        terminal: &mut Terminal,
        location: &Location,
        (wish, written): (&Wish, String),
    ) -> Result<String, String> {
        let hits = wish.hits.as_deref().map(HitCount::read).transpose()?;
        let wishes = Wishes {
            condition: wish.condition.clone(),
            hits,
            message: wish.message.clone(),
        };
        let screen = self.screen.clone();
        let sink = move |text: &str| screen.show(text.trim_end());
        let breakpoint = Breakpoint {
            condition: conditions::condition(&wishes, Arc::new(sink)),
            ..Breakpoint::new(location.clone())
        };
        let id = thread.set_breakpoint(breakpoint);
        terminal.breakpoints.push((id, texts::described_wish(wish)));
        terminal.commands.push(written);
        let state = thread.vm().debugger().breakpoint(id).unwrap_or_default();
        Ok(match (state.places, state.line) {
            (0, _) => format!("Breakpoint {} waits for code that is loaded later.", id.0),
            (_, Some(line)) => format!("Breakpoint {} at line {line}.", id.0),
            (_, None) => format!("Breakpoint {} at {}.", id.0, wish.place),
        })
    }

    /// `FILE:LINE`, a line of the program, or a procedure.
    pub(super) fn location(&self, place: &str) -> Location {
        let line_of = |text: &str| text.parse::<u32>().ok();
        match (place.rsplit_once(':'), line_of(place)) {
            (_, Some(line)) => Location::Line {
                file: self.program.clone(),
                line,
            },
            (Some((file, line)), None) if line_of(line).is_some() => Location::Line {
                file: file.to_owned(),
                line: line_of(line).unwrap_or(0),
            },
            _ => Location::Procedure(place.to_owned()),
        }
    }
}
