//! The prompt of somebody who is attached to a process. The prompt itself runs in that process; lines go
//! there, and texts come back. An adapter on another machine passes them on.
//!
//! These are no messages of the Debug Adapter Protocol, but have its headers, so that the adapter can tell
//! a prompt from an editor by the first request.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use canny_messages::{Incoming, MessageReader, write_message};
use serde_json::{Value as Json, json};

use crate::connection::Connection;
use crate::output::{Answer, Output, Request};
use crate::surroundings::{Service, Surroundings};

/// The request by which a prompt asks an adapter for a process.
const PROMPT: &str = "canny.prompt";

/// A message of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromPeople {
    Line(String),
    /// There are no more lines.
    End,
    /// They want to leave at once.
    Leave,
    /// Ctrl-C.
    Interrupt,
}

/// A message of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromProcess {
    Text(String),
    /// A line is wanted.
    Ask,
    /// The process goes on alone.
    Left,
    /// It has ended.
    Ended,
}

impl FromPeople {
    fn of(message: &Json) -> Option<FromPeople> {
        match (message["people"].as_str()?, &message["line"]) {
            ("line", Json::String(line)) => Some(FromPeople::Line(line.clone())),
            ("end", _) => Some(FromPeople::End),
            ("leave", _) => Some(FromPeople::Leave),
            ("interrupt", _) => Some(FromPeople::Interrupt),
            _ => None,
        }
    }

    fn message(&self) -> Json {
        match self {
            FromPeople::Line(line) => json!({"people": "line", "line": line}),
            FromPeople::End => json!({"people": "end"}),
            FromPeople::Leave => json!({"people": "leave"}),
            FromPeople::Interrupt => json!({"people": "interrupt"}),
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// The stream fails.
    pub fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        write_message(stream, &self.message())
    }
}

impl FromProcess {
    fn of(message: &Json) -> Option<FromProcess> {
        match (message["process"].as_str()?, &message["text"]) {
            ("text", Json::String(text)) => Some(FromProcess::Text(text.clone())),
            ("ask", _) => Some(FromProcess::Ask),
            ("left", _) => Some(FromProcess::Left),
            ("ended", _) => Some(FromProcess::Ended),
            _ => None,
        }
    }

    fn message(&self) -> Json {
        match self {
            FromProcess::Text(text) => json!({"process": "text", "text": text}),
            FromProcess::Ask => json!({"process": "ask"}),
            FromProcess::Left => json!({"process": "left"}),
            FromProcess::Ended => json!({"process": "ended"}),
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// The stream fails.
    pub fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        write_message(stream, &self.message())
    }
}

/// Reads the messages of one of both ends. Messages of another kind are skipped.
pub struct Reader {
    messages: MessageReader<BufReader<Connection>>,
}

impl Reader {
    pub fn new(stream: Connection) -> Reader {
        Reader {
            messages: MessageReader::new(BufReader::new(stream)),
        }
    }

    fn next<T>(&mut self, of: impl Fn(&Json) -> Option<T>) -> Option<T> {
        loop {
            match self.messages.read() {
                Ok(Some(Incoming::Message(message))) => {
                    if let Some(found) = of(&message) {
                        return Some(found);
                    }
                }
                Ok(Some(Incoming::Malformed(_))) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next of people; none if they are gone.
    pub fn of_people(&mut self) -> Option<FromPeople> {
        self.next(FromPeople::of)
    }

    /// The next of a process.
    pub fn of_process(&mut self) -> FromProcess {
        self.next(FromProcess::of).unwrap_or(FromProcess::Ended)
    }

    /// Asks an adapter at an address for a process, the only one if none is named; gives its number.
    ///
    /// # Errors
    /// A sentence.
    pub fn of_adapter(
        address: &str,
        token: &str,
        process: Option<u32>,
    ) -> Result<(Connection, Reader, u32), String> {
        let stream = Connection::to_adapter(address, token)?;
        let clone = |stream: &Connection| stream.try_clone().map_err(|error| error.to_string());
        let mut output = clone(&stream)?;
        let request = json!({
            "seq": 1,
            "type": "request",
            "command": PROMPT,
            "arguments": {"pid": process},
        });
        write_message(&mut output, &request).map_err(|error| error.to_string())?;
        let mut reader = Reader::new(stream);
        let answer = reader.next(|message| (message["request_seq"] == 1).then(|| message.clone()));
        let answer = answer.ok_or_else(|| {
            format!("{address} has closed the connection: the token may be wrong")
        })?;
        let number = answer["body"]["pid"].as_u64();
        match number.and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Ok((output, reader, number)),
            None => {
                let message = answer["message"].as_str();
                Err(message.unwrap_or("the adapter knows no prompts").to_owned())
            }
        }
    }
}

/// The request of a prompt, if it is one.
pub(crate) fn request_of(message: &Json) -> Option<Request> {
    Request::of(message).filter(|request| request.command == PROMPT)
}

/// Passes on what a prompt and a process say, until one of them is gone.
pub(crate) fn relay(
    surroundings: &Surroundings,
    output: &Arc<Output>,
    request: &Request,
    input: &mut MessageReader<impl BufRead>,
) -> io::Result<()> {
    let answer = Answer::to(output, request);
    let found = process_of(surroundings, request).and_then(|process| {
        let stream = (surroundings.attach)(process, Service::Prompt)?;
        Ok((process, stream))
    });
    let (process, stream) = match found {
        Ok(found) => found,
        Err(message) => {
            answer.give(Err(message));
            return Ok(());
        }
    };
    answer.give(Ok(json!({"pid": process})));
    let texts = stream.try_clone()?;
    let output = output.clone();
    let back = thread::spawn(move || pass_texts(texts, &output));
    let mut stream = stream;
    while let Ok(Some(incoming)) = input.read() {
        if let Incoming::Message(message) = incoming
            && write_message(&mut stream, &message).is_err()
        {
            break;
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
    let _ = back.join();
    Ok(())
}

fn pass_texts(stream: UnixStream, output: &Output) {
    let mut reader = Reader::new(Connection::Local(stream));
    loop {
        let next = reader.of_process();
        let is_last = next == FromProcess::Ended;
        output.send(next.message());
        if is_last {
            return;
        }
    }
}

/// The process that a prompt wants, or the only one there is.
fn process_of(surroundings: &Surroundings, request: &Request) -> Result<u32, String> {
    if let Some(number) = request.arguments["pid"].as_u64() {
        let wrong = |_| format!("there is no process {number}");
        return u32::try_from(number).map_err(wrong);
    }
    let all = (surroundings.processes)();
    match all.as_slice() {
        [] => Err("there is no process of Canny that can be attached to".to_owned()),
        [(only, _)] => Ok(*only),
        _ => {
            let rows = all.iter();
            let rows = rows.map(|(process, program)| format!("{process} ({program})"));
            let rows = rows.collect::<Vec<_>>().join(", ");
            Err(format!("there are several processes, name one: {rows}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_sent() {
        for one in [
            FromPeople::Line("break 5".to_owned()),
            FromPeople::End,
            FromPeople::Leave,
            FromPeople::Interrupt,
        ] {
            assert_eq!(FromPeople::of(&one.message()), Some(one));
        }
        for one in [
            FromProcess::Text("a line".to_owned()),
            FromProcess::Ask,
            FromProcess::Left,
            FromProcess::Ended,
        ] {
            assert_eq!(FromProcess::of(&one.message()), Some(one));
        }
        for other in [json!({}), json!({"people": "line"}), json!([1])] {
            assert_eq!(FromPeople::of(&other), None, "{other}");
            assert_eq!(FromProcess::of(&other), None, "{other}");
        }
    }
}
