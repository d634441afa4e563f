//! SQLite databases: the machine's side of `(canny sqlite)`.
//!
//! The operands of a statement are copied out of the Scheme heap. The statement runs outside of it,
//! and its rows are made into objects afterwards. Scheme code makes sure that one task at a time
//! uses a connection. A cursor that the collector found dead is kept for the next user of the
//! connection.
//!
//! Nothing here raises but for a wrong database or cursor: the caller holds a lock of Scheme's, gives
//! it up and raises what it was given.

mod offload;
mod rows;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use canny_locks::Mutex;
use canny_replay::{Answer, Kind as Question};
use canny_sqlite::{BlobPlace, Connection, Failure, Interrupter, OpenMode, Request, Rows};
use canny_sqlite::{CursorNumber, Tape, Watch};
use canny_tables::kinds::Kind;
use canny_tables::protocols::{DatabaseMode, DatabaseState, RowShape};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use self::offload::Offloaded;
use super::file_names::path;
use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table, sweep_dead, take};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%sqlite-version" => |thread, _| Ok(thread.string(canny_sqlite::version()));
    "%sqlite-open" => |thread, call| caught(thread, call, open);
    "%sqlite-close" => close;
    "%sqlite-open?" => |thread, call| {
        let database = database(thread, call, 0)?;
        let is_open = !matches!(database.connection.try_lock().as_deref(), Some(None));
        Ok(Value::boolean(is_open))
    };
    "%sqlite-run" => |thread, call| caught(thread, call, run);
    "%sqlite-script" => |thread, call| caught(thread, call, script);
    "%sqlite-columns" => |thread, call| caught(thread, call, columns);
    "%sqlite-cursor" => |thread, call| caught(thread, call, open_cursor);
    "%sqlite-fetch" => |thread, call| caught(thread, call, fetch);
    "%sqlite-cursor-close" => close_cursor;
    "%sqlite-state" => |thread, call| caught(thread, call, state);
    "%sqlite-interrupt!" => |thread, call: Call| {
        let database = database(thread, call, 0)?;
        let token = call.at(1).as_index().map(|token| token as u64);
        Ok(Value::boolean(database.interrupter.interrupt(token)))
    };
    "%sqlite-ticket" => |thread, call| {
        let database = database(thread, call, 0)?;
        Ok(Value::fixnum(database.offloaded.ticket() as i64))
    };
    "%sqlite-abandon!" => |thread, call| {
        let database = database(thread, call, 0)?;
        database.offloaded.abandon();
        database.interrupter.interrupt(None);
        Ok(Value::UNSPECIFIED)
    };
    "%sqlite-finish" => |thread, call| caught(thread, call, finish);
    "%sqlite-backup" => |thread, call| caught(thread, call, back_up);
    "%sqlite-blob-size" => |thread, call| caught(thread, call, blob_size);
    "%sqlite-blob-read" => |thread, call| caught(thread, call, read_blob);
    "%sqlite-blob-write" => |thread, call| caught(thread, call, write_blob);
};

/// A connection as objects of Scheme have it.
pub(crate) struct Database {
    connection: Mutex<Option<Connection>>,
    interrupter: Interrupter,
    offloaded: Offloaded,
    /// Cursors that are to be ended, since nobody has them any more.
    dead_cursors: Mutex<Vec<CursorNumber>>,
}

/// A cursor as objects of Scheme have it.
pub(crate) struct Cursor {
    database: Arc<Database>,
    number: CursorNumber,
    sql: String,
}

kept_in_table!(Database, |database| {
    let connection = database.connection.try_lock()?;
    Some(connection.as_ref()?.memory_bytes())
});
kept_in_table!(Cursor);

impl Drop for Cursor {
    fn drop(&mut self) {
        self.database.dead_cursors.lock().push(self.number);
    }
}

impl Database {
    /// Uses the connection, whom nobody else should use now.
    fn with<R>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let Some(mut guard) = self.connection.try_lock() else {
            return Err(Failure::Sqlite {
                code: BUSY,
                message: "another task uses the database".to_owned(),
                offset: None,
            });
        };
        let connection = guard.as_mut().ok_or(Failure::Closed)?;
        let dead = std::mem::take(&mut *self.dead_cursors.lock());
        for number in dead {
            connection.close_cursor(number);
        }
        work(connection)
    }
}

/// SQLite's code for what is locked.
const BUSY: i32 = 5;

/// Tells the pool of statements that take long, and gives them up for an interrupt.
struct Interruptible<'a> {
    turns_long: &'a mut dyn FnMut(),
    interrupt: &'a AtomicBool,
    is_guest: bool,
}

impl Watch for Interruptible<'_> {
    fn turns_long(&mut self) {
        (self.turns_long)();
    }

    fn shall_stop(&mut self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn shall_leave(&mut self) -> bool {
        self.is_guest
    }
}

/// Uses a connection outside of the heap. Its answers are kept in recordings.
fn outside<R: Answer>(
    thread: &mut Thread,
    database: &Database,
    work: impl FnOnce(&mut Connection, &mut dyn Watch) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let interrupts = thread.interrupts();
    let interrupt = interrupts.interrupt_waiting();
    let is_guest = thread.is_guest_of_main();
    thread.perhaps_block_outside_heap(|turns_long| {
        let mut watch = Interruptible {
            turns_long,
            interrupt,
            is_guest,
        };
        canny_replay::ask(Question::Database, || {
            database.with(|connection| work(connection, &mut watch))
        })
    })
}

/// Why an operation has no result.
enum Refusal {
    /// The database refused it.
    Failure { failure: Failure, sql: String },
    /// Something was raised, by checks of arguments or since memory is used up.
    Raised(Raise),
}

impl From<Raise> for Refusal {
    fn from(raise: Raise) -> Refusal {
        Refusal::Raised(raise)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let sql = String::new();
        Refusal::Failure { failure, sql }
    }
}

/// Adds the text of the statement to a failure.
fn in_text(sql: &str) -> impl FnOnce(Failure) -> Refusal {
    move |failure| Refusal::Failure {
        failure,
        sql: sql.to_owned(),
    }
}

/// Runs an operation, which blames its first argument; gives a condition in place of raising it.
fn caught(
    thread: &mut Thread,
    call: Call,
    operation: fn(&mut Thread, Call) -> Result<Value, Refusal>,
) -> Result<Value, Raise> {
    let base = thread.protect(Value::NIL);
    let outcome = operation(thread, call);
    thread.release(base);
    Ok(match outcome {
        Ok(value) => value,
        Err(Refusal::Raised(raise)) => thread.take_raised(raise),
        Err(Refusal::Failure { failure, sql }) => condition(thread, call, &failure, &sql),
    })
}

fn who(call: Call) -> String {
    call.at(0)
        .as_kind(Kind::Symbol)
        .and_then(|symbol| symbol_name(symbol.value()))
        .map_or_else(|| call.who.to_owned(), |name| name.to_string())
}

/// The condition for a failure. The irritants are names and values in turn.
fn condition(thread: &mut Thread, call: Call, failure: &Failure, sql: &str) -> Value {
    let base = thread.protect(Value::NIL);
    let mut places = Vec::new();
    let mut add = |thread: &mut Thread, name: &str, value: Value| {
        let value = thread.protect(value);
        let name = thread.symbol(name);
        places.push(thread.protect(name));
        places.push(value);
    };
    if let Some(code) = failure.code() {
        add(thread, "code", Value::fixnum(i64::from(code)));
    }
    if let Some(offset) = failure.offset() {
        let characters = sql.char_indices().take_while(|(at, _)| *at < offset);
        let offset = characters.count() as i64;
        add(thread, "offset", Value::fixnum(offset));
    }
    if !sql.is_empty() {
        let sql = thread.string(sql);
        add(thread, "sql", sql);
    }
    let irritants: Vec<Value> = places
        .iter()
        .map(|&place| thread.protected(place))
        .collect();
    let condition = thread.condition("sqlite", &failure.message(), &irritants, Some(&who(call)));
    thread.release(base);
    condition
}

fn database(thread: &mut Thread, call: Call, position: usize) -> Result<Arc<Database>, Raise> {
    find(thread, call.at(position)).ok_or_else(|| call.type_error(thread, position, "database"))
}

/// A copy of a text.
fn text(thread: &mut Thread, call: Call, position: usize) -> Result<String, Raise> {
    let string = call.string(thread, position)?;
    Ok(with_units(string, |units| units.to_text()))
}

fn open(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    sweep_dead(thread);
    let path = path(thread, call, 1)?;
    let mode = match call.case(thread, 2)? {
        DatabaseMode::Read => OpenMode::Read,
        DatabaseMode::Write => OpenMode::Write,
        DatabaseMode::Create => OpenMode::Create,
        DatabaseMode::Memory => OpenMode::Memory,
    };
    let timeout = Duration::from_millis(call.index(thread, 3)? as u64);
    let statements_max = call.index(thread, 4)?;
    let opened = thread.block_outside_heap(|| {
        let mut opened = None;
        canny_replay::ask(Question::Database, || {
            let mut connection = Connection::open(&path, mode, statements_max)?;
            connection.set_busy_timeout(timeout);
            opened = Some(connection);
            Ok(())
        })?;
        match opened {
            Some(connection) => Ok(connection),
            // A replay has its answers from the recording.
            None => Connection::open(&path, OpenMode::Memory, statements_max),
        }
    });
    let connection = opened.map_err(|failure: Failure| Refusal::from(named(failure, &path)))?;
    let interrupter = connection.interrupter();
    let database = Database {
        connection: Mutex::new(Some(connection)),
        interrupter,
        offloaded: Offloaded::default(),
        dead_cursors: Mutex::default(),
    };
    Ok(keep(thread, database, "database")?)
}

/// A failure to open a file, with its name.
fn named(failure: Failure, path: &Path) -> Failure {
    match failure {
        Failure::Sqlite {
            code,
            message,
            offset,
        } => Failure::Sqlite {
            code,
            message: format!("{message}: {}", path.display()),
            offset,
        },
        other => other,
    }
}

fn close(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let database = database(thread, call, 0)?;
    // Closing the last connection to a file writes what is left in its log.
    thread.block_outside_heap(|| {
        let mut guard = database.connection.lock();
        *guard = None;
    });
    Ok(Value::UNSPECIFIED)
}

fn run(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let sql = text(thread, call, 2)?;
    let parameters = rows::parameters(thread, call, 3)?;
    let shape = call.case(thread, 4)?;
    let token = call.index(thread, 5)? as u64;
    let request = Request {
        rows: match shape {
            RowShape::Changes | RowShape::Nothing => Rows::None,
            RowShape::Vectors | RowShape::Alists => Rows::All,
            RowShape::Vector | RowShape::Alist | RowShape::Value => Rows::Up(1),
        },
        wants_names: matches!(shape, RowShape::Alists | RowShape::Alist),
        token,
    };
    let outcome = outside(thread, &database, |connection, watch| {
        let mut tape = Tape::default();
        let changes = connection.run(&sql, &parameters, request, watch, &mut tape)?;
        Ok((changes, tape))
    });
    if matches!(outcome, Err(Failure::Elsewhere)) {
        let text = sql.clone();
        return offload::begin(thread, &database, sql, move |connection, watch, tape| {
            connection.run(&text, &parameters, request, watch, tape)
        });
    }
    let (changes, tape) = outcome.map_err(in_text(&sql))?;
    rows::shaped(thread, shape, changes, &tape)
}

/// The result of the offloaded operation.
fn finish(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let shape = call.case(thread, 2)?;
    let done = thread.block_outside_heap(|| database.offloaded.wait());
    let (changes, tape) = done.outcome.map_err(in_text(&done.sql))?;
    rows::shaped(thread, shape, changes, &tape)
}

fn script(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let sql = text(thread, call, 2)?;
    let token = call.index(thread, 3)? as u64;
    if thread.is_guest_of_main() {
        let text = sql.clone();
        return offload::begin(thread, &database, sql, move |connection, watch, _| {
            connection.run_script(&text, token, watch).map(|()| 0)
        });
    }
    outside(thread, &database, |connection, watch| {
        connection.run_script(&sql, token, watch)
    })
    .map_err(in_text(&sql))?;
    Ok(Value::UNSPECIFIED)
}

fn columns(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let sql = text(thread, call, 2)?;
    let columns = outside(thread, &database, |connection, _| connection.columns(&sql))
        .map_err(in_text(&sql))?;
    Ok(rows::symbols(thread, &columns))
}

fn open_cursor(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    sweep_dead(thread);
    let database = database(thread, call, 1)?;
    let sql = text(thread, call, 2)?;
    let parameters = rows::parameters(thread, call, 3)?;
    let number = outside(thread, &database, |connection, _| {
        connection.open_cursor(&sql, &parameters)
    })
    .map_err(in_text(&sql))?;
    let cursor = Cursor {
        database,
        number,
        sql,
    };
    Ok(keep(thread, cursor, "cursor")?)
}

fn cursor(thread: &mut Thread, call: Call, position: usize) -> Result<Arc<Cursor>, Refusal> {
    find(thread, call.at(position)).ok_or_else(|| Failure::NoCursor.into())
}

fn fetch(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let cursor = cursor(thread, call, 1)?;
    let wants_names = call.at(3).is_true();
    let request = Request {
        rows: Rows::Up(call.index(thread, 2)?.max(1)),
        wants_names,
        token: call.index(thread, 4)? as u64,
    };
    let number = cursor.number;
    let fetch = move |connection: &mut Connection, watch: &mut dyn Watch, tape: &mut Tape| {
        match connection.fetch(number, request, watch, tape) {
            // It has ended with the rows before.
            Ok(_) | Err(Failure::NoCursor) => Ok(0),
            Err(failure) => Err(failure),
        }
    };
    // Half of a statement cannot be begun anew.
    if thread.is_guest_of_main() {
        return offload::begin(thread, &cursor.database, cursor.sql.clone(), fetch);
    }
    let tape = outside(thread, &cursor.database, |connection, watch| {
        let mut tape = Tape::default();
        fetch(connection, watch, &mut tape)?;
        Ok(tape)
    })
    .map_err(in_text(&cursor.sql))?;
    Ok(rows::list(thread, &tape, wants_names)?)
}

/// The cursor's statement is released when the connection is used next: somebody may use it now.
fn close_cursor(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if let Some(cursor) = take::<Cursor>(thread, call.at(0)) {
        let database = Arc::clone(&cursor.database);
        drop(cursor);
        // At once, if nobody does.
        let _ = outside(thread, &database, |_, _| Ok(()));
    }
    Ok(Value::UNSPECIFIED)
}

fn state(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let what = call.case(thread, 2)?;
    let number = canny_replay::ask(Question::Database, || {
        database.with(|connection| {
            let (statements, cursors) = connection.statement_counts();
            Ok(match what {
                DatabaseState::LastInsertId => connection.last_insert_rowid(),
                DatabaseState::InTransaction => i64::from(connection.is_in_transaction()),
                DatabaseState::Statements => statements as i64,
                DatabaseState::Cursors => cursors as i64,
            })
        })
    })?;
    Ok(match what {
        DatabaseState::InTransaction => Value::boolean(number != 0),
        _ => thread.integer(number),
    })
}

fn back_up(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let path = path(thread, call, 2)?;
    call.index(thread, 3)?;
    if thread.is_guest_of_main() {
        return offload::begin(
            thread,
            &database,
            String::new(),
            move |connection, watch, _| {
                let done = connection.back_up(&path, watch).map(|()| 0);
                done.map_err(|failure| named(failure, &path))
            },
        );
    }
    outside(thread, &database, |connection, watch| {
        connection.back_up(&path, watch)
    })
    .map_err(|failure| Refusal::from(named(failure, &path)))?;
    Ok(Value::UNSPECIFIED)
}

fn blob_place(thread: &mut Thread, call: Call) -> Result<BlobPlace, Refusal> {
    Ok(BlobPlace {
        table: text(thread, call, 2)?,
        column: text(thread, call, 3)?,
        row: rows::row_number(thread, call, 4)?,
    })
}

fn blob_size(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let place = blob_place(thread, call)?;
    let size = outside(thread, &database, |connection, _| {
        connection.blob_size(&place)
    })?;
    Ok(Value::fixnum(size as i64))
}

fn read_blob(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let place = blob_place(thread, call)?;
    let (offset, count) = (call.index(thread, 5)?, call.index(thread, 6)?);
    let bytes = outside(thread, &database, |connection, _| {
        connection.read_blob(&place, offset, count)
    })?;
    Ok(thread.bytevector(&bytes)?)
}

fn write_blob(thread: &mut Thread, call: Call) -> Result<Value, Refusal> {
    let database = database(thread, call, 1)?;
    let place = blob_place(thread, call)?;
    let offset = call.index(thread, 5)?;
    let bytes = call.bytevector(thread, 6)?.with_bytes(<[u8]>::to_vec);
    outside(thread, &database, |connection, watch| {
        watch.turns_long();
        connection.write_blob(&place, offset, &bytes)
    })?;
    Ok(Value::UNSPECIFIED)
}
