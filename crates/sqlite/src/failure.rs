//! Failures of operations, as data: of SQLite itself, of arguments that do not fit a statement, of
//! connections and cursors that are closed. Recordings keep them.

use canny_replay::{Answer, Reading};

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// SQLite refused it.
    Sqlite {
        /// The extended result code.
        code: i32,
        /// SQLite's own words.
        message: String,
        /// The byte of the statement's text that it is about, if it is about one.
        offset: Option<usize>,
    },
    /// A statement wants another number of arguments.
    ArgumentCount { wanted: usize, given: usize },
    /// A named argument that no parameter of the statement has.
    UnknownName(String),
    /// A parameter, by its name or number, for which there is no argument.
    Unbound(String),
    /// The text continues behind the first statement, from this byte on.
    SeveralStatements(usize),
    /// The text has no statement.
    Empty,
    /// A character that SQLite takes for the end of the text.
    Nul(usize),
    /// The connection is closed.
    Closed,
    /// The cursor is closed or at its end.
    NoCursor,
    /// It was not run, or was abandoned, to be started anew elsewhere.
    Elsewhere,
    /// A range that a blob does not have.
    BlobRange { size: usize },
}

impl Failure {
    /// The message, without a capital at its beginning.
    pub fn message(&self) -> String {
        match self {
            Failure::Sqlite { message, .. } => message.clone(),
            Failure::ArgumentCount { wanted, given } => {
                let s = if *wanted == 1 { "" } else { "s" };
                format!("the statement has {wanted} parameter{s}, but {given} were given")
            }
            Failure::UnknownName(name) => format!("the statement has no parameter {name}"),
            Failure::Unbound(name) => format!("the parameter {name} was not given"),
            Failure::SeveralStatements(_) => {
                "there is more than one statement in the text".to_owned()
            }
            Failure::Empty => "there is no statement in the text".to_owned(),
            Failure::Nul(_) => "there is a NUL character in the text".to_owned(),
            Failure::Closed => "the database is closed".to_owned(),
            Failure::NoCursor => "the cursor is closed".to_owned(),
            Failure::Elsewhere => "the statement was cancelled".to_owned(),
            Failure::BlobRange { size } => {
                format!("the blob has {size} bytes, and its size cannot be changed so")
            }
        }
    }

    /// The extended result code of SQLite, if it has refused it.
    pub fn code(&self) -> Option<i32> {
        match self {
            Failure::Sqlite { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The byte of the statement's text that it is about.
    pub fn offset(&self) -> Option<usize> {
        match self {
            Failure::Sqlite { offset, .. } => *offset,
            Failure::SeveralStatements(offset) | Failure::Nul(offset) => Some(*offset),
            _ => None,
        }
    }
}

impl Answer for Failure {
    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Failure::Sqlite {
                code,
                message,
                offset,
            } => (0u8, *code, message.clone(), *offset).write(bytes),
            Failure::ArgumentCount { wanted, given } => (1u8, *wanted, *given).write(bytes),
            Failure::UnknownName(name) => (2u8, name.clone()).write(bytes),
            Failure::Unbound(name) => (3u8, name.clone()).write(bytes),
            Failure::SeveralStatements(at) => (4u8, *at).write(bytes),
            Failure::Empty => 5u8.write(bytes),
            Failure::Nul(at) => (6u8, *at).write(bytes),
            Failure::Closed => 7u8.write(bytes),
            Failure::NoCursor => 8u8.write(bytes),
            Failure::Elsewhere => 9u8.write(bytes),
            Failure::BlobRange { size } => (10u8, *size).write(bytes),
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Failure> {
        Some(match u8::read(bytes)? {
            0 => Failure::Sqlite {
                code: Answer::read(bytes)?,
                message: Answer::read(bytes)?,
                offset: Answer::read(bytes)?,
            },
            1 => Failure::ArgumentCount {
                wanted: Answer::read(bytes)?,
                given: Answer::read(bytes)?,
            },
            2 => Failure::UnknownName(Answer::read(bytes)?),
            3 => Failure::Unbound(Answer::read(bytes)?),
            4 => Failure::SeveralStatements(Answer::read(bytes)?),
            5 => Failure::Empty,
            6 => Failure::Nul(Answer::read(bytes)?),
            7 => Failure::Closed,
            8 => Failure::NoCursor,
            9 => Failure::Elsewhere,
            10 => Failure::BlobRange {
                size: Answer::read(bytes)?,
            },
            _ => return None,
        })
    }
}
