//! Arguments of statements, and the rows that they give, as plain data. A tape owns all values of its
//! rows; recordings keep it.

use canny_replay::{Answer, Reading};

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// The arguments of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameters {
    /// By their positions.
    Positional(Vec<Parameter>),
    /// By their names, which are without the `:`, `@` or `$` of the statement.
    Named(Vec<(String, Parameter)>),
}

/// A value of a row. Text and blobs are the next so many bytes of the tape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(usize),
    Blob(usize),
}

/// Rows, one behind the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    /// The values of all rows.
    pub cells: Vec<Cell>,
    /// The bytes of texts and blobs. Text is UTF-8 unless somebody has stored something else.
    pub bytes: Vec<u8>,
    /// Number of rows.
    pub rows: usize,
    /// Names of the columns, if they were asked for.
    pub columns: Vec<String>,
    /// Number of columns.
    pub width: usize,
}

impl Answer for Cell {
    fn write(&self, bytes: &mut Vec<u8>) {
        match *self {
            Cell::Null => 0u8.write(bytes),
            Cell::Integer(number) => (1u8, number).write(bytes),
            Cell::Real(number) => (2u8, number).write(bytes),
            Cell::Text(length) => (3u8, length).write(bytes),
            Cell::Blob(length) => (4u8, length).write(bytes),
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Cell> {
        Some(match u8::read(bytes)? {
            0 => Cell::Null,
            1 => Cell::Integer(Answer::read(bytes)?),
            2 => Cell::Real(Answer::read(bytes)?),
            3 => Cell::Text(Answer::read(bytes)?),
            4 => Cell::Blob(Answer::read(bytes)?),
            _ => return None,
        })
    }
}

impl Answer for Tape {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.cells.write(bytes);
        self.bytes.len().write(bytes);
        bytes.extend_from_slice(&self.bytes);
        self.rows.write(bytes);
        self.columns.write(bytes);
        self.width.write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Tape> {
        Some(Tape {
            cells: Vec::read(bytes)?,
            bytes: {
                let length = usize::read(bytes)?;
                bytes.take(length)?.to_vec()
            },
            rows: usize::read(bytes)?,
            columns: Vec::read(bytes)?,
            width: usize::read(bytes)?,
        })
    }
}
