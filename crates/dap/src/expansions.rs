//! Expansions of macros: steps into them, steps inside of them, and the frames that stand for them.
//!
//! A task that the client has stepped into an expansion has a frame for it above that of the procedure.
//! Both have the same variables. A step goes by the text of the expansion; a step out leaves it.

use std::sync::Arc;

use canny_vm::debug::{Expanded, ExpansionId, ExpansionView, Granularity, Resume, StepKind, Stop};
use serde_json::{Value as Json, json};

use crate::numbers::{Place, Target};
use crate::output::Answer;
use crate::queues::Next;
use crate::shared::Shared;

impl Shared {
    /// The newest frame in the expansion that was opened. It is closed if the task has left it.
    fn view_of_expansion(&self, stop: &Stop<'_>) -> Option<(ExpansionId, ExpansionView)> {
        let task = stop.task();
        let id = self.opened.lock().get(&task).copied()?;
        let view = stop.expansion_view(0, id);
        if view.places.is_empty() && !view.is_part {
            self.opened.lock().remove(&task);
            return None;
        }
        Some((id, view))
    }

    /// Rows for the expansions that the newest frame is shown in, innermost first.
    pub fn frames_of_expansions(&self, stop: &Stop<'_>) -> Vec<Json> {
        let view = self.view_of_expansion(stop);
        let places = view.map(|(_, view)| view.places).unwrap_or_default();
        let rows = places.iter().map(|place| {
            let frame = Place::Stopped(0);
            let number = self.numbers.lock().of_frame(stop.task(), frame);
            let name = format!("the expansion of {}", place.name);
            let mut row = json!({"id": number, "name": name, "canRestart": false});
            self.place(&mut row, &place.position);
            row["source"] = self.source_of_expansion(place);
            row
        });
        rows.collect()
    }

    fn source_of_expansion(&self, place: &Expanded) -> Json {
        let name = &place.position.file;
        json!({
            "name": name,
            "origin": "the expansion of a macro",
            "sourceReference": self.number_of_source(name),
        })
    }

    /// Targets of a step into one of the expansions at hand.
    pub fn targets_in_expansions(&self, stop: &Stop<'_>) -> Vec<Json> {
        let opened = self.view_of_expansion(stop).map(|(id, _)| id);
        let ahead = stop.expansions_ahead(opened);
        let rows = ahead.iter().map(|one| {
            let target = Target::Expansion(one.id);
            let number = self.numbers.lock().of_target(stop.task(), target);
            let label = format!("expansion of {}", one.name);
            let mut row = json!({"id": number, "label": label});
            self.place(&mut row, &one.position);
            if let Some(row) = row.as_object_mut() {
                row.remove("source");
            }
            row
        });
        rows.collect()
    }

    /// Steps into an expansion. A task that stands there already is shown there.
    pub fn enter_expansion(&self, stop: &mut Stop<'_>, id: ExpansionId, answer: Answer) -> Next {
        self.opened.lock().insert(stop.task(), id);
        answer.give(Ok(Json::Null));
        if stop.is_in_expansion(id) || stop.expansion_view(0, id).is_part {
            let task = stop.task();
            self.forget_values(stop.thread(), task);
            self.announce_step(stop);
            return Next::Stay;
        }
        Next::Resume(Resume::EnterExpansion(id))
    }

    /// How a task resumes that may stand in an opened expansion.
    pub fn in_expansion(self: &Arc<Shared>, stop: &Stop<'_>, resume: Resume) -> Resume {
        let Some((id, view)) = self.view_of_expansion(stop) else {
            return resume;
        };
        let mut opened = self.opened.lock();
        match resume {
            Resume::Step(StepKind::Out, Granularity::Line) => {
                // The innermost one is left.
                let inner = view.places.first().map_or(id, |place| place.id);
                match view.places.get(1) {
                    Some(outer) => opened.insert(stop.task(), outer.id),
                    None => opened.remove(&stop.task()),
                };
                Resume::LeaveExpansion(inner)
            }
            Resume::Step(kind, granularity) => Resume::StepExpanded(kind, granularity, id),
            other => {
                opened.remove(&stop.task());
                other
            }
        }
    }
}
