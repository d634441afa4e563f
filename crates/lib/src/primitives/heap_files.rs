//! Primitives of `(canny heap analysis)`: files of heap snapshots, questions about them, answers.
//!
//! Questions and answers are JSON. Everything that reads a file or computes runs on another thread.

use std::path::PathBuf;
use std::sync::Arc;

use canny_snapshot::answers::{Session, difference_answer};
use canny_snapshot::page;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%heap-file-open" => open;
    "%heap-file-ask" => ask;
    "%heap-file-compare" => compare;
    "%heap-file-page" => |thread, _| Ok(thread.string(page::page()));
};

/// A file of snapshots as objects of Scheme have it.
pub(crate) struct HeapFile(Arc<Session>);

kept_in_table!(HeapFile);

fn open(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = PathBuf::from(string_text(call.string(thread, 0)?.value()).unwrap_or_default());
    let work = move || Session::open(&path).map_err(|error| format!("{}: {error}", path.display()));
    match call.compute_offloaded(thread, work)? {
        Ok(session) => keep(thread, HeapFile(Arc::new(session)), "heap-file"),
        Err(message) => Ok(thread.string(&message)),
    }
}

fn file(thread: &mut Thread, call: Call, position: usize) -> Result<Arc<HeapFile>, Raise> {
    let found = find::<HeapFile>(thread, call.at(position));
    found.ok_or_else(|| call.type_error(thread, position, "heap file"))
}

/// The answer as a string, or a list with a message.
fn answered(thread: &mut Thread, answer: Result<String, String>) -> Result<Value, Raise> {
    match answer {
        Ok(text) => Ok(thread.string(&text)),
        Err(message) => {
            let message = thread.string(&message);
            Ok(thread.cons(message, Value::NIL))
        }
    }
}

fn ask(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let session = file(thread, call, 0)?.0.clone();
    let question = string_text(call.string(thread, 1)?.value()).unwrap_or_default();
    let answer = call.compute_offloaded(thread, move || session.answer_text(&question))?;
    answered(thread, answer)
}

fn compare(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let session = file(thread, call, 0)?.0.clone();
    let number = call.index(thread, 1)?;
    let other = file(thread, call, 2)?.0.clone();
    let other_number = call.index(thread, 3)?;
    let (first, count) = (call.index(thread, 4)?, call.index(thread, 5)?);
    let work = move || {
        let found = session.difference_to(number, &other, other_number)?;
        let types = session.series().types();
        Ok(difference_answer(&found, types, first, count).to_string())
    };
    let answer = call.compute_offloaded(thread, work)?;
    answered(thread, answer)
}
