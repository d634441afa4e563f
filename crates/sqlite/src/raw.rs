//! The functions of SQLite's C interface that are used, and why using them is sound.
//!
//! A connection is opened without SQLite's locks, so nothing of it may be used by two threads at once.
//! [`RawConnection`] and [`RawStatement`] are `Send`, and stay inside of `Connection`, whose methods
//! want it exclusively; a statement never leaves the `Connection` that has prepared it. The exception
//! is [`InterruptHandle`], for the one function that SQLite allows at any time before the connection is
//! closed; `Interrupter` forgets the handle before that.
//!
//! Text and blobs are copied on the way in and on the way out: no pointer of SQLite's outlives a call here.

use std::borrow::Cow;
use std::cell::Cell as Slot;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Once;
use std::time::{Duration, Instant};

use libsqlite3_sys as ffi;

use crate::failure::Failure;
use crate::tape::{Cell, Parameter, Tape};

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist and is not changed.
    Read,
    /// It must exist.
    Write,
    /// It is made unless it exists.
    Create,
    /// It is in memory, and the connection's own.
    Memory,
}

/// The watcher of a running statement.
pub trait Watch {
    /// It takes long. May be called several times.
    fn turns_long(&mut self);

    /// Whether it should be abandoned.
    fn shall_stop(&mut self) -> bool;

    /// Whether what takes long shall rather be begun anew elsewhere, with [`Failure::Elsewhere`]. It is
    /// asked before something is done that cannot be done twice.
    fn shall_leave(&mut self) -> bool {
        false
    }
}

/// So many instructions of SQLite's machine are run before the watch learns that it takes long, some 20
/// microseconds.
const INSTRUCTIONS: c_int = 1000;

/// The longest sleep between two looks at a lock.
const NAP_MAX: Duration = Duration::from_millis(20);

/// The state that SQLite's callbacks use. They run on the thread that runs the statement.
struct Hooks {
    /// Set while a statement runs, by [`Watched`].
    watch: Slot<Option<NonNull<dyn Watch>>>,
    busy_timeout: Slot<Duration>,
    busy_until: Slot<Option<Instant>>,
    /// Whether the statement may be begun anew.
    is_repeatable: Slot<bool>,
    /// Whether it was abandoned for that.
    has_left: Slot<bool>,
}

/// A connection.
pub(crate) struct RawConnection {
    database: NonNull<ffi::sqlite3>,
    hooks: Box<Hooks>,
}

// SAFETY: SQLite's connections are not bound to threads; the fields are used through `Connection`
// exclusively, see above. The watch is set only while a method runs.
unsafe impl Send for RawConnection {}

/// The version of SQLite.
pub fn version() -> &'static str {
    // SAFETY: a constant text of SQLite's.
    let version = unsafe { CStr::from_ptr(ffi::sqlite3_libversion()) };
    version.to_str().unwrap_or_default()
}

/// Counting all memory takes a lock of the whole process for each allocation.
fn configure_once() {
    static CONFIGURED: Once = Once::new();
    CONFIGURED.call_once(|| {
        // SAFETY: called once, before anything else of SQLite, with the argument that the option wants.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int) };
    });
}

fn c_text(text: &[u8]) -> Result<CString, Failure> {
    CString::new(text).map_err(|error| Failure::Nul(error.nul_position()))
}

/// The hooks that a callback is for.
///
/// # Safety
/// `data` is what `RawConnection::open` gave to SQLite.
unsafe fn hooks<'a>(data: *mut c_void) -> &'a Hooks {
    // SAFETY: the box of the connection that runs the statement, and so is borrowed.
    unsafe { &*data.cast::<Hooks>() }
}

impl Hooks {
    fn with_watch<R>(&self, work: impl FnOnce(&mut dyn Watch) -> R) -> Option<R> {
        // Taken out meanwhile, so that there is one reference.
        let mut watch = self.watch.take()?;
        // SAFETY: `Watched` set it and borrows it until the statement has run.
        let result = work(unsafe { watch.as_mut() });
        self.watch.set(Some(watch));
        Some(result)
    }

    /// The statement takes long. Whether it is to be abandoned.
    fn shall_stop(&self) -> bool {
        let stops = self.with_watch(|watch| {
            if self.is_repeatable.get() && watch.shall_leave() {
                self.has_left.set(true);
                return true;
            }
            watch.turns_long();
            watch.shall_stop()
        });
        stops.unwrap_or(false)
    }
}

/// After so many instructions: tells the watch, and asks it whether to continue.
unsafe extern "C" fn on_progress(data: *mut c_void) -> c_int {
    // SAFETY: called with what `open` gave.
    let hooks = unsafe { hooks(data) };
    c_int::from(hooks.shall_stop())
}

/// Somebody else has locked the database: sleeps a while, unless the time is over.
unsafe extern "C" fn on_busy(data: *mut c_void, attempts: c_int) -> c_int {
    // SAFETY: called with what `open` gave.
    let hooks = unsafe { hooks(data) };
    let now = Instant::now();
    if attempts == 0 || hooks.busy_until.get().is_none() {
        hooks
            .busy_until
            .set(now.checked_add(hooks.busy_timeout.get()));
    }
    let left = hooks
        .busy_until
        .get()
        .map_or(NAP_MAX, |until| until.saturating_duration_since(now));
    if hooks.shall_stop() || left.is_zero() {
        return 0;
    }
    let nap = Duration::from_micros(100) * (attempts.clamp(0, 20) + 1).pow(2) as u32;
    std::thread::sleep(nap.min(NAP_MAX).min(left));
    1
}

impl RawConnection {
    pub(crate) fn memory_bytes(&self) -> u64 {
        let kinds = [
            ffi::SQLITE_DBSTATUS_CACHE_USED,
            ffi::SQLITE_DBSTATUS_SCHEMA_USED,
            ffi::SQLITE_DBSTATUS_STMT_USED,
        ];
        let used = kinds.map(|kind| {
            let (mut now, mut most) = (0, 0);
            let database = self.database.as_ptr();
            // SAFETY: an open connection, which nobody else uses, and places for two numbers.
            unsafe { ffi::sqlite3_db_status(database, kind, &raw mut now, &raw mut most, 0) };
            u64::try_from(now).unwrap_or(0)
        });
        used.iter().sum()
    }

    pub(crate) fn open(path: &Path, mode: OpenMode) -> Result<RawConnection, Failure> {
        configure_once();
        let flags = match mode {
            OpenMode::Read => ffi::SQLITE_OPEN_READONLY,
            OpenMode::Write => ffi::SQLITE_OPEN_READWRITE,
            OpenMode::Create => ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE,
            OpenMode::Memory => {
                ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_MEMORY
            }
        };
        let flags = flags | ffi::SQLITE_OPEN_NOMUTEX | ffi::SQLITE_OPEN_EXRESCODE;
        let path = match mode {
            OpenMode::Memory => Cow::Borrowed(path),
            // SQLite takes some names for something else than files: `:memory:`, `file:…`, nothing.
            _ if path.is_relative() => Cow::Owned(Path::new(".").join(path)),
            _ => Cow::Borrowed(path),
        };
        let path = c_text(path.as_os_str().as_bytes())?;
        let mut database = ptr::null_mut();
        // SAFETY: the text ends with a zero, and the pointer is written before the function returns.
        let code =
            unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &raw mut database, flags, ptr::null()) };
        let Some(database) = NonNull::new(database) else {
            let message = "out of memory".to_owned();
            let offset = None;
            return Err(Failure::Sqlite {
                code,
                message,
                offset,
            });
        };
        let connection = RawConnection {
            database,
            hooks: Box::new(Hooks {
                watch: Slot::new(None),
                busy_timeout: Slot::new(Duration::ZERO),
                busy_until: Slot::new(None),
                is_repeatable: Slot::new(false),
                has_left: Slot::new(false),
            }),
        };
        if code != ffi::SQLITE_OK {
            return Err(connection.failure(code));
        }
        connection.install_hooks();
        Ok(connection)
    }

    fn install_hooks(&self) {
        let data = ptr::from_ref::<Hooks>(&self.hooks)
            .cast_mut()
            .cast::<c_void>();
        let database = self.database.as_ptr();
        // SAFETY: the box stays where it is until the connection is closed, after which SQLite calls
        // nothing; the options take an int and a pointer to one that may be null.
        unsafe {
            ffi::sqlite3_progress_handler(database, INSTRUCTIONS, Some(on_progress), data);
            ffi::sqlite3_busy_handler(database, Some(on_busy), data);
            // A text in double quotes is a name, never a string.
            let off: c_int = 0;
            let nowhere = ptr::null_mut::<c_int>();
            for option in [ffi::SQLITE_DBCONFIG_DQS_DML, ffi::SQLITE_DBCONFIG_DQS_DDL] {
                ffi::sqlite3_db_config(database, option as c_int, off, nowhere);
            }
        }
    }

    pub(crate) fn set_busy_timeout(&mut self, timeout: Duration) {
        self.hooks.busy_timeout.set(timeout);
    }

    /// Runs `work` while callbacks go to `watch`.
    pub(crate) fn watched<R>(
        &mut self,
        watch: &mut dyn Watch,
        is_repeatable: bool,
        work: impl FnOnce() -> R,
    ) -> R {
        struct Watched<'a>(&'a Hooks);
        impl Drop for Watched<'_> {
            fn drop(&mut self) {
                self.0.watch.set(None);
            }
        }
        let watch: *mut (dyn Watch + '_) = watch;
        // SAFETY: only the lifetime changes. The hooks forget it before this function returns or unwinds.
        let watch = unsafe {
            std::mem::transmute::<*mut (dyn Watch + '_), *mut (dyn Watch + 'static)>(watch)
        };
        let watched = Watched(&self.hooks);
        watched.0.busy_until.set(None);
        watched.0.is_repeatable.set(is_repeatable);
        watched.0.has_left.set(false);
        watched.0.watch.set(NonNull::new(watch));
        work()
    }

    /// Why the statement that was run last has failed.
    pub(crate) fn failure_of_run(&self, code: c_int) -> Failure {
        if self.hooks.has_left.get() {
            Failure::Elsewhere
        } else {
            self.failure(code)
        }
    }

    /// SQLite's report of the last failure.
    pub(crate) fn failure(&self, code: c_int) -> Failure {
        let database = self.database.as_ptr();
        // SAFETY: the connection is open; the text is SQLite's until its next call.
        let (message, offset) = unsafe {
            let message = CStr::from_ptr(ffi::sqlite3_errmsg(database));
            let message = message.to_string_lossy().into_owned();
            (message, ffi::sqlite3_error_offset(database))
        };
        Failure::Sqlite {
            code,
            message,
            offset: usize::try_from(offset).ok(),
        }
    }

    /// The first statement of a text, and the byte behind it.
    pub(crate) fn prepare(
        &mut self,
        sql: &str,
        is_kept: bool,
    ) -> Result<(Option<RawStatement>, usize), Failure> {
        if let Some(offset) = sql.find('\0') {
            return Err(Failure::Nul(offset));
        }
        let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        let flags = if is_kept {
            ffi::SQLITE_PREPARE_PERSISTENT
        } else {
            0
        };
        let mut statement = ptr::null_mut();
        let mut tail: *const c_char = ptr::null();
        // SAFETY: the text has at least `length` bytes, and both pointers are written before the
        // function returns.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                self.database.as_ptr(),
                sql.as_ptr().cast(),
                length,
                flags as _,
                &raw mut statement,
                &raw mut tail,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(self.failure(code));
        }
        let used = if tail.is_null() {
            sql.len()
        } else {
            (tail as usize)
                .saturating_sub(sql.as_ptr() as usize)
                .min(sql.len())
        };
        Ok((NonNull::new(statement).map(RawStatement), used))
    }

    pub(crate) fn changes(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_changes64(self.database.as_ptr()) }
    }

    pub(crate) fn total_changes(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_total_changes64(self.database.as_ptr()) }
    }

    pub(crate) fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_last_insert_rowid(self.database.as_ptr()) }
    }

    /// Whether no transaction is open.
    pub(crate) fn is_autocommit(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.database.as_ptr()) != 0 }
    }

    pub(crate) fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.database)
    }
}

impl Drop for RawConnection {
    fn drop(&mut self) {
        // SAFETY: the last use of the pointer: `Connection` drops its statements first, and blobs and
        // copies borrow this. Were something left, SQLite would refuse and the connection stay open,
        // without the hooks.
        unsafe {
            let database = self.database.as_ptr();
            ffi::sqlite3_progress_handler(database, 0, None, ptr::null_mut());
            ffi::sqlite3_busy_handler(database, None, ptr::null_mut());
            ffi::sqlite3_close(database);
        }
    }
}

/// For [`ffi::sqlite3_interrupt`].
#[derive(Debug)]
pub(crate) struct InterruptHandle(NonNull<ffi::sqlite3>);

// SAFETY: the one function that it is used for may be called on any thread.
unsafe impl Send for InterruptHandle {}

impl InterruptHandle {
    pub(crate) fn interrupt(&self) {
        // SAFETY: `Interrupter` has forgotten the handle before the connection is closed.
        unsafe { ffi::sqlite3_interrupt(self.0.as_ptr()) };
    }
}

/// A prepared statement.
pub(crate) struct RawStatement(NonNull<ffi::sqlite3_stmt>);

// SAFETY: as for `RawConnection`, in whose `Connection` it stays.
unsafe impl Send for RawStatement {}

impl RawStatement {
    fn pointer(&self) -> *mut ffi::sqlite3_stmt {
        self.0.as_ptr()
    }

    /// Number of the greatest parameter.
    pub(crate) fn parameter_count(&self) -> usize {
        // SAFETY: the statement is not finalized before it is dropped.
        let count = unsafe { ffi::sqlite3_bind_parameter_count(self.pointer()) };
        usize::try_from(count).unwrap_or(0)
    }

    /// The name of a parameter, with the character before it. Numbers count from 1.
    pub(crate) fn parameter_name(&self, number: usize) -> Option<String> {
        // SAFETY: as above; the text is copied before anything else happens to the statement.
        unsafe {
            let name = ffi::sqlite3_bind_parameter_name(self.pointer(), number as c_int);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// The result code.
    pub(crate) fn bind(&mut self, number: usize, value: &Parameter) -> c_int {
        let number = number as c_int;
        let statement = self.pointer();
        // SAFETY: the pointers and lengths are those of slices; SQLite copies what they point to.
        unsafe {
            match value {
                Parameter::Null => ffi::sqlite3_bind_null(statement, number),
                Parameter::Integer(value) => ffi::sqlite3_bind_int64(statement, number, *value),
                Parameter::Real(value) => ffi::sqlite3_bind_double(statement, number, *value),
                Parameter::Text(text) => ffi::sqlite3_bind_text64(
                    statement,
                    number,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                    ffi::SQLITE_UTF8 as _,
                ),
                Parameter::Blob(bytes) if bytes.is_empty() => {
                    ffi::sqlite3_bind_zeroblob(statement, number, 0)
                }
                Parameter::Blob(bytes) => ffi::sqlite3_bind_blob64(
                    statement,
                    number,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                ),
            }
        }
    }

    /// Whether there is a row.
    pub(crate) fn step(&mut self) -> Result<bool, c_int> {
        // SAFETY: as above.
        match unsafe { ffi::sqlite3_step(self.pointer()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(code),
        }
    }

    pub(crate) fn reset(&mut self) {
        // SAFETY: as above. The result repeats that of the last step.
        unsafe {
            ffi::sqlite3_reset(self.pointer());
            ffi::sqlite3_clear_bindings(self.pointer());
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::sqlite3_stmt_readonly(self.pointer()) != 0 }
    }

    pub(crate) fn column_count(&self) -> usize {
        // SAFETY: as above.
        let count = unsafe { ffi::sqlite3_column_count(self.pointer()) };
        usize::try_from(count).unwrap_or(0)
    }

    pub(crate) fn column_names(&self) -> Vec<String> {
        (0..self.column_count())
            .map(|column| {
                // SAFETY: as above; the column exists, and the text is copied at once.
                unsafe {
                    let name = ffi::sqlite3_column_name(self.pointer(), column as c_int);
                    if name.is_null() {
                        String::new()
                    } else {
                        CStr::from_ptr(name).to_string_lossy().into_owned()
                    }
                }
            })
            .collect()
    }

    /// Copies the row that the last step gave.
    pub(crate) fn copy_row(&mut self, tape: &mut Tape) {
        let width = self.column_count();
        for column in 0..width {
            let cell = self.copy_cell(column as c_int, &mut tape.bytes);
            tape.cells.push(cell);
        }
        tape.rows += 1;
    }

    fn copy_cell(&mut self, column: c_int, bytes: &mut Vec<u8>) -> Cell {
        let statement = self.pointer();
        // SAFETY: the last step gave a row, which has the column. The bytes are valid until the next
        // call for this column, and their number is asked for after the pointer, as the interface wants
        // it.
        unsafe {
            match ffi::sqlite3_column_type(statement, column) {
                ffi::SQLITE_INTEGER => Cell::Integer(ffi::sqlite3_column_int64(statement, column)),
                ffi::SQLITE_FLOAT => Cell::Real(ffi::sqlite3_column_double(statement, column)),
                ffi::SQLITE_TEXT => {
                    let first = ffi::sqlite3_column_text(statement, column);
                    let length = ffi::sqlite3_column_bytes(statement, column);
                    Cell::Text(copy_bytes(first, length, bytes))
                }
                ffi::SQLITE_BLOB => {
                    let first = ffi::sqlite3_column_blob(statement, column);
                    let length = ffi::sqlite3_column_bytes(statement, column);
                    Cell::Blob(copy_bytes(first.cast(), length, bytes))
                }
                _ => Cell::Null,
            }
        }
    }
}

impl Drop for RawStatement {
    fn drop(&mut self) {
        // SAFETY: the last use of the pointer.
        unsafe { ffi::sqlite3_finalize(self.pointer()) };
    }
}

/// # Safety
/// Unless it is null, `first` points to `length` bytes.
unsafe fn copy_bytes(first: *const u8, length: c_int, bytes: &mut Vec<u8>) -> usize {
    let length = usize::try_from(length).unwrap_or(0);
    if first.is_null() || length == 0 {
        return 0;
    }
    // SAFETY: the caller's contract.
    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(first, length) });
    length
}

/// A copy of a whole database that is under way.
pub(crate) struct RawBackup<'a> {
    backup: NonNull<ffi::sqlite3_backup>,
    target: &'a mut RawConnection,
}

impl<'a> RawBackup<'a> {
    pub(crate) fn begin(
        source: &'a mut RawConnection,
        target: &'a mut RawConnection,
    ) -> Result<RawBackup<'a>, Failure> {
        let main = c"main".as_ptr();
        // SAFETY: both connections are open and borrowed until the end of the copy.
        let backup = unsafe {
            ffi::sqlite3_backup_init(
                target.database.as_ptr(),
                main,
                source.database.as_ptr(),
                main,
            )
        };
        match NonNull::new(backup) {
            Some(backup) => Ok(RawBackup { backup, target }),
            None => {
                // SAFETY: the connection is open.
                let code = unsafe { ffi::sqlite3_extended_errcode(target.database.as_ptr()) };
                Err(target.failure(code))
            }
        }
    }

    /// Copies so many pages; whether there are more. `None` if somebody has locked one of the databases.
    pub(crate) fn step(&mut self, pages: i32) -> Result<Option<bool>, Failure> {
        // SAFETY: the copy was begun and not finished.
        match unsafe { ffi::sqlite3_backup_step(self.backup.as_ptr(), pages) } {
            ffi::SQLITE_DONE => Ok(Some(false)),
            ffi::SQLITE_OK => Ok(Some(true)),
            code if matches!(code & 0xff, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => Ok(None),
            code => Err(self.described(code)),
        }
    }

    fn described(&self, code: c_int) -> Failure {
        // SAFETY: a constant text of SQLite's.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
        match self.target.failure(code) {
            Failure::Sqlite {
                message, offset, ..
            } if message != "not an error" => Failure::Sqlite {
                code,
                message,
                offset,
            },
            _ => Failure::Sqlite {
                code,
                message: message.to_string_lossy().into_owned(),
                offset: None,
            },
        }
    }
}

impl Drop for RawBackup<'_> {
    fn drop(&mut self) {
        // SAFETY: the last use of the pointer.
        unsafe { ffi::sqlite3_backup_finish(self.backup.as_ptr()) };
    }
}

/// An open blob.
pub(crate) struct RawBlob<'a> {
    blob: NonNull<ffi::sqlite3_blob>,
    connection: &'a mut RawConnection,
}

impl<'a> RawBlob<'a> {
    pub(crate) fn open(
        connection: &'a mut RawConnection,
        table: &str,
        column: &str,
        row: i64,
        writes: bool,
    ) -> Result<RawBlob<'a>, Failure> {
        let (table, column) = (c_text(table.as_bytes())?, c_text(column.as_bytes())?);
        let mut blob = ptr::null_mut();
        // SAFETY: the texts end with zeros, and the pointer is written before the function returns.
        let code = unsafe {
            ffi::sqlite3_blob_open(
                connection.database.as_ptr(),
                c"main".as_ptr(),
                table.as_ptr(),
                column.as_ptr(),
                row,
                c_int::from(writes),
                &raw mut blob,
            )
        };
        match NonNull::new(blob) {
            Some(blob) if code == ffi::SQLITE_OK => Ok(RawBlob { blob, connection }),
            _ => Err(connection.failure(code)),
        }
    }

    pub(crate) fn size(&self) -> usize {
        // SAFETY: the blob is open.
        usize::try_from(unsafe { ffi::sqlite3_blob_bytes(self.blob.as_ptr()) }).unwrap_or(0)
    }

    pub(crate) fn read(&mut self, offset: usize, bytes: &mut [u8]) -> Result<(), Failure> {
        let (offset, length) = self.range(offset, bytes.len())?;
        // SAFETY: the slice has so many bytes.
        let code = unsafe {
            ffi::sqlite3_blob_read(
                self.blob.as_ptr(),
                bytes.as_mut_ptr().cast(),
                length,
                offset,
            )
        };
        self.checked(code)
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let (offset, length) = self.range(offset, bytes.len())?;
        // SAFETY: the slice has so many bytes.
        let code = unsafe {
            ffi::sqlite3_blob_write(self.blob.as_ptr(), bytes.as_ptr().cast(), length, offset)
        };
        self.checked(code)
    }

    fn range(&self, offset: usize, length: usize) -> Result<(c_int, c_int), Failure> {
        let size = self.size();
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= size);
        match (c_int::try_from(offset), c_int::try_from(length)) {
            (Ok(offset), Ok(length)) if is_inside => Ok((offset, length)),
            _ => Err(Failure::BlobRange { size }),
        }
    }

    fn checked(&self, code: c_int) -> Result<(), Failure> {
        match code {
            ffi::SQLITE_OK => Ok(()),
            code => Err(self.connection.failure(code)),
        }
    }
}

impl Drop for RawBlob<'_> {
    fn drop(&mut self) {
        // SAFETY: the last use of the pointer.
        unsafe { ffi::sqlite3_blob_close(self.blob.as_ptr()) };
    }
}
