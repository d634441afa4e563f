//! Arguments of statements, and the rows that they give.

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
