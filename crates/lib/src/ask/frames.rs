//! Frames: a letter for the kind, the length in four bytes, the lowest first, and the content.
//!
//! A request is a frame whose content is the name of a command and its arguments. The module knows neither
//! sockets nor commands.

use std::io::{self, Read, Write};

/// Most bytes of a frame.
const BYTES_MAX: usize = 1 << 20;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A client asks.
    Request,
    /// A client wants no more.
    Stop,
    /// Part of an answer.
    Data,
    /// The answer is complete.
    End,
    /// The answer is a message that says why there is none, or no more of it.
    Failure,
}

const LETTERS: [(Kind, u8); 5] = [
    (Kind::Request, b'r'),
    (Kind::Stop, b's'),
    (Kind::Data, b'd'),
    (Kind::End, b'e'),
    (Kind::Failure, b'f'),
];

/// Writes a frame; content that is too long becomes several.
pub(super) fn write(output: &mut impl Write, kind: Kind, content: &[u8]) -> io::Result<()> {
    let letter = LETTERS
        .iter()
        .find(|row| row.0 == kind)
        .map_or(0, |row| row.1);
    let mut rest = content;
    loop {
        let (part, next) = rest.split_at(rest.len().min(BYTES_MAX));
        let mut frame = Vec::with_capacity(5 + part.len());
        frame.push(letter);
        frame.extend_from_slice(&(part.len() as u32).to_le_bytes());
        frame.extend_from_slice(part);
        output.write_all(&frame)?;
        rest = next;
        if rest.is_empty() {
            return Ok(());
        }
    }
}

/// Takes frames apart that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
}

/// The result of a look at the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Frame(Kind, Vec<u8>),
    /// Nothing came in the time that the input waits.
    Nothing,
    /// The other side is gone.
    Closed,
}

impl Reader {
    /// The next frame.
    pub(super) fn next(&mut self, input: &mut impl Read) -> io::Result<Next> {
        let mut buffer = [0; 1 << 14];
        loop {
            if let Some((kind, content)) = self.whole_frame()? {
                return Ok(Next::Frame(kind, content));
            }
            match input.read(&mut buffer) {
                Ok(0) => return Ok(Next::Closed),
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(error) => {
                    return match error.kind() {
                        io::ErrorKind::Interrupted => continue,
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(Next::Nothing),
                        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                            Ok(Next::Closed)
                        }
                        _ => Err(error),
                    };
                }
            }
        }
    }

    fn whole_frame(&mut self) -> io::Result<Option<(Kind, Vec<u8>)>> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the frame has a wrong head");
        let Some((head, rest)) = self.bytes.split_at_checked(5) else {
            return Ok(None);
        };
        let kind = LETTERS
            .iter()
            .find(|row| row.1 == head[0])
            .ok_or_else(wrong)?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > BYTES_MAX {
            return Err(wrong());
        }
        let Some(content) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = (kind.0, content.to_vec());
        self.bytes.drain(..5 + length);
        Ok(Some(frame))
    }
}

/// The name of a command, and its arguments with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub command: String,
    pub arguments: Vec<(String, String)>,
}

impl Request {
    pub fn new(command: &str) -> Request {
        Request {
            command: command.to_owned(),
            arguments: Vec::new(),
        }
    }

    /// With one more argument.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Request {
        self.arguments.push((name.to_owned(), value.to_string()));
        self
    }

    /// The value of an argument, or a default.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        match self.arguments.iter().find(|argument| argument.0 == name) {
            Some((_, text)) => {
                let number = text.parse();
                number.map_err(|_| format!("the argument {name} is no number: '{text}'"))
            }
            None => Ok(default),
        }
    }

    /// The content of its frame: texts that end with a zero byte.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let arguments = self.arguments.iter();
        let arguments = arguments.flat_map(|(name, value)| [name, value]);
        let texts = std::iter::once(&self.command).chain(arguments);
        // A zero byte inside of a text would end it.
        let texts = texts.map(|text| text.replace('\0', "") + "\0");
        texts.collect::<String>().into_bytes()
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Request> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut texts = text.strip_suffix('\0')?.split('\0').map(str::to_owned);
        let command = texts.next()?;
        let mut arguments = Vec::new();
        while let Some(name) = texts.next() {
            arguments.push((name, texts.next()?));
        }
        Some(Request { command, arguments })
    }
}
