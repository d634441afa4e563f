//! A connection to a database: its prepared statements and its cursors.
//!
//! A connection is used by one thread at a time; callers see to that. Field order matters:
//! statements are finalized before the connection is closed. A request carries a token by which
//! another thread can interrupt it. Cursors are named by numbers that are never used again.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use crate::cache::StatementCache;
use crate::failure::Failure;
use crate::interrupter::Interrupter;
use crate::raw::{OpenMode, RawConnection, RawStatement, Watch};
use crate::tape::{Parameters, Tape};

/// The rows of a statement that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// None: only what it does.
    None,
    /// So many at most.
    Up(usize),
    /// All.
    All,
}

/// A request to run a statement.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub rows: Rows,
    /// The names of the columns are wanted as well.
    pub wants_names: bool,
    /// By this it can be interrupted.
    pub token: u64,
}

/// Names a cursor of a connection.
pub type CursorNumber = u64;

struct Cursor {
    sql: String,
    statement: RawStatement,
}

/// A connection. The order of the fields is that of their ends: statements before the connection.
pub struct Connection {
    cache: StatementCache,
    cursors: HashMap<CursorNumber, Cursor>,
    next_cursor: CursorNumber,
    interrupter: Interrupter,
    pub(crate) raw: RawConnection,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.interrupter.disconnect();
    }
}

impl Connection {
    /// Opens a database. `statements_max` prepared statements are kept.
    pub fn open(path: &Path, mode: OpenMode, statements_max: usize) -> Result<Connection, Failure> {
        let raw = RawConnection::open(path, mode)?;
        Ok(Connection {
            cache: StatementCache::new(statements_max),
            cursors: HashMap::new(),
            next_cursor: 0,
            interrupter: Interrupter::new(raw.interrupt_handle()),
            raw,
        })
    }

    /// How long to wait for others that have locked the database.
    pub fn set_busy_timeout(&mut self, timeout: Duration) {
        self.raw.set_busy_timeout(timeout);
    }

    /// The handle that ends this connection's statements from any thread.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// Bytes of memory for pages, the schema and statements.
    pub fn memory_bytes(&self) -> u64 {
        self.raw.memory_bytes()
    }

    /// The number of the row that was inserted last.
    pub fn last_insert_rowid(&self) -> i64 {
        self.raw.last_insert_rowid()
    }

    /// Whether a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        !self.raw.is_autocommit()
    }

    /// Number of prepared statements that are kept, and of open cursors.
    pub fn statement_counts(&self) -> (usize, usize) {
        (self.cache.length(), self.cursors.len())
    }

    /// Runs the only statement of a text; gives the number of rows that it has changed. Its rows are
    /// added to the tape.
    pub fn run(
        &mut self,
        sql: &str,
        parameters: &Parameters,
        request: Request,
        watch: &mut dyn Watch,
        tape: &mut Tape,
    ) -> Result<i64, Failure> {
        if self.cache.get(sql).is_none() {
            let statement = self.prepare_only(sql)?;
            self.cache.put(sql, statement);
        }
        let Connection {
            cache,
            raw,
            interrupter,
            ..
        } = self;
        // It is there unless the cache has no room at all.
        let mut uncached = None;
        let statement = match cache.get(sql) {
            Some(statement) => statement,
            None => uncached.insert(prepare_only(raw, sql)?),
        };
        bind(raw, statement, parameters)?;
        let changed_before = raw.total_changes();
        if may_be_long(raw, statement) {
            if watch.shall_leave() {
                statement.reset();
                return Err(Failure::Elsewhere);
            }
            watch.turns_long();
        }
        interrupter.begin(request.token);
        let writes = !statement.is_read_only();
        let is_repeatable = !writes && statement.column_count() > 0;
        let outcome = raw.watched(watch, is_repeatable, || {
            let has_more = fetch(statement, request.rows, tape)?;
            // A statement that changes something runs to its end, where the change is made lasting.
            if has_more && writes {
                fetch(statement, Rows::None, tape)?;
            }
            Ok(())
        });
        interrupter.end();
        let outcome = outcome.map_err(|code| raw.failure_of_run(code));
        // Names are those of a statement that has been run: it may have been prepared anew.
        if request.wants_names {
            tape.columns = statement.column_names();
        }
        tape.width = statement.column_count();
        statement.reset();
        outcome?;
        Ok(if raw.total_changes() == changed_before {
            0
        } else {
            raw.changes()
        })
    }

    /// Runs all statements of a text, which have no parameters.
    pub fn run_script(
        &mut self,
        sql: &str,
        token: u64,
        watch: &mut dyn Watch,
    ) -> Result<(), Failure> {
        let mut start = 0;
        while start < sql.len() {
            let shifted = |failure| shift(failure, start);
            let (statement, used) = self.raw.prepare(&sql[start..], false).map_err(shifted)?;
            if let Some(mut statement) = statement {
                let nothing = Parameters::Positional(Vec::new());
                bind(&self.raw, &mut statement, &nothing)?;
                watch.turns_long();
                self.interrupter.begin(token);
                let mut tape = Tape::default();
                let outcome = self.raw.watched(watch, false, || {
                    fetch(&mut statement, Rows::None, &mut tape)
                });
                self.interrupter.end();
                outcome
                    .map_err(|code| self.raw.failure(code))
                    .map_err(shifted)?;
            }
            // Text that is no statement, such as a comment at the end, is used up as well.
            start += used.max(1);
        }
        Ok(())
    }

    /// Begins a statement whose rows are fetched by and by.
    pub fn open_cursor(
        &mut self,
        sql: &str,
        parameters: &Parameters,
    ) -> Result<CursorNumber, Failure> {
        let mut statement = match self.cache.take(sql) {
            Some(statement) => statement,
            None => self.prepare_only(sql)?,
        };
        bind(&self.raw, &mut statement, parameters)?;
        self.next_cursor += 1;
        let sql = sql.to_owned();
        self.cursors
            .insert(self.next_cursor, Cursor { sql, statement });
        Ok(self.next_cursor)
    }

    /// The next rows of a cursor, at most as many as requested; fewer if they are large or there are no
    /// more. At the end, and when it fails, the cursor is closed. Whether there may be more.
    pub fn fetch(
        &mut self,
        number: CursorNumber,
        request: Request,
        watch: &mut dyn Watch,
        tape: &mut Tape,
    ) -> Result<bool, Failure> {
        let Connection {
            raw,
            cursors,
            interrupter,
            ..
        } = self;
        let cursor = cursors.get_mut(&number).ok_or(Failure::NoCursor)?;
        let statement = &mut cursor.statement;
        interrupter.begin(request.token);
        let outcome = raw.watched(watch, false, || fetch(statement, request.rows, tape));
        interrupter.end();
        tape.width = statement.column_count();
        if request.wants_names {
            tape.columns = statement.column_names();
        }
        match outcome {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.close_cursor(number);
                Ok(false)
            }
            Err(code) => {
                let failure = raw.failure(code);
                self.close_cursor(number);
                Err(failure)
            }
        }
    }

    /// Ends a cursor; its statement is kept for others.
    pub fn close_cursor(&mut self, number: CursorNumber) {
        if let Some(Cursor { sql, mut statement }) = self.cursors.remove(&number) {
            statement.reset();
            self.cache.put(&sql, statement);
        }
    }

    /// Ends all statements.
    pub fn forget_statements(&mut self) {
        self.cache.clear();
        self.cursors.clear();
    }

    /// The names of the columns that a statement gives.
    pub fn columns(&mut self, sql: &str) -> Result<Vec<String>, Failure> {
        Ok(self.prepare_only(sql)?.column_names())
    }

    fn prepare_only(&mut self, sql: &str) -> Result<RawStatement, Failure> {
        prepare_only(&mut self.raw, sql)
    }
}

/// The only statement of a text.
fn prepare_only(raw: &mut RawConnection, sql: &str) -> Result<RawStatement, Failure> {
    let (statement, used) = raw.prepare(sql, true)?;
    let statement = statement.ok_or(Failure::Empty)?;
    // Behind it there may be comments.
    let mut start = used;
    while start < sql.len() {
        match raw.prepare(&sql[start..], false) {
            Ok((None, used)) => start += used.max(1),
            _ => return Err(Failure::SeveralStatements(start)),
        }
    }
    Ok(statement)
}

/// Whether a statement may write to a file or wait for others: committing does, reading only now and then.
fn may_be_long(raw: &RawConnection, statement: &RawStatement) -> bool {
    if statement.is_read_only() {
        // Those without columns begin or end transactions.
        statement.column_count() == 0
    } else {
        raw.is_autocommit()
    }
}

/// So many bytes of rows are made at once for a cursor.
const BATCH_BYTES: usize = 1 << 18;

/// Steps through a statement; whether there may be more rows.
fn fetch(statement: &mut RawStatement, rows: Rows, tape: &mut Tape) -> Result<bool, i32> {
    let wanted = match rows {
        Rows::None => 0,
        Rows::Up(count) => count,
        Rows::All => usize::MAX,
    };
    let is_whole = rows == Rows::All || rows == Rows::None;
    let mut count = 0;
    while is_whole || count < wanted && (count == 0 || tape.bytes.len() < BATCH_BYTES) {
        if !statement.step()? {
            return Ok(false);
        }
        if wanted > 0 {
            statement.copy_row(tape);
        }
        count += 1;
    }
    Ok(true)
}

fn bind(
    raw: &RawConnection,
    statement: &mut RawStatement,
    parameters: &Parameters,
) -> Result<(), Failure> {
    let bound = match parameters {
        Parameters::Positional(values) => {
            let (wanted, given) = (statement.parameter_count(), values.len());
            if wanted != given {
                return Err(Failure::ArgumentCount { wanted, given });
            }
            values
                .iter()
                .enumerate()
                .map(|(index, value)| statement.bind(index + 1, value))
                .find(|&code| code != 0)
        }
        Parameters::Named(values) => {
            let mut failed = None;
            let mut used = vec![false; values.len()];
            for number in 1..=statement.parameter_count() {
                let name = statement.parameter_name(number);
                let bare = name.as_deref().map(|name| &name[1..]);
                let found = values
                    .iter()
                    .position(|(given, _)| Some(given.as_str()) == bare);
                let Some(index) = found else {
                    let name = name.unwrap_or_else(|| format!("number {number}"));
                    return Err(Failure::Unbound(name));
                };
                used[index] = true;
                let code = statement.bind(number, &values[index].1);
                failed = failed.or((code != 0).then_some(code));
            }
            if let Some(index) = used.iter().position(|is_used| !is_used) {
                return Err(Failure::UnknownName(values[index].0.clone()));
            }
            failed
        }
    };
    match bound {
        None => Ok(()),
        Some(code) => Err(raw.failure(code)),
    }
}

/// A failure of a statement that begins at byte `start` of its text.
fn shift(failure: Failure, start: usize) -> Failure {
    match failure {
        Failure::Sqlite {
            code,
            message,
            offset,
        } => Failure::Sqlite {
            code,
            message,
            offset: offset.map(|offset| offset + start),
        },
        Failure::Nul(offset) => Failure::Nul(offset + start),
        other => other,
    }
}
