//! The codes of errors of files, and the errors of the system that they stand for.
//!
//! An error without a code of its own is an error of input or output.

use canny_component::Value;
use rustix::io::Errno;

use super::call::Stop;
use super::call::failure_with;

/// A number of `wasi:filesystem/types.error-code`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileCode(pub u32);

impl FileCode {
    pub const ILLEGAL_BYTES: FileCode = FileCode(9);
    pub const IO: FileCode = FileCode(13);
}

const FILES: &[(Errno, u32)] = &[
    (Errno::ACCESS, 0),
    (Errno::AGAIN, 1),
    (Errno::ALREADY, 2),
    (Errno::BADF, 3),
    (Errno::BUSY, 4),
    (Errno::DEADLK, 5),
    (Errno::DQUOT, 6),
    (Errno::EXIST, 7),
    (Errno::FBIG, 8),
    (Errno::ILSEQ, 9),
    (Errno::INPROGRESS, 10),
    (Errno::INTR, 11),
    (Errno::INVAL, 12),
    (Errno::IO, 13),
    (Errno::ISDIR, 14),
    (Errno::LOOP, 15),
    (Errno::MLINK, 16),
    (Errno::MSGSIZE, 17),
    (Errno::NAMETOOLONG, 18),
    (Errno::NODEV, 19),
    (Errno::NOENT, 20),
    (Errno::NOLCK, 21),
    (Errno::NOMEM, 22),
    // There is no code for too many descriptors.
    (Errno::MFILE, 22),
    (Errno::NFILE, 22),
    (Errno::NOSPC, 23),
    (Errno::NOTDIR, 24),
    (Errno::NOTEMPTY, 25),
    (Errno::NOTRECOVERABLE, 26),
    (Errno::NOTSUP, 27),
    (Errno::NOSYS, 27),
    (Errno::NOTTY, 28),
    (Errno::NXIO, 29),
    (Errno::OVERFLOW, 30),
    (Errno::PERM, 31),
    (Errno::PIPE, 32),
    (Errno::ROFS, 33),
    (Errno::SPIPE, 34),
    (Errno::TXTBSY, 35),
    (Errno::XDEV, 36),
];

fn numbered(numbers: &[(Errno, u32)], error: Errno) -> Option<u32> {
    let found = numbers.iter().find(|(known, _)| *known == error);
    found.map(|(_, number)| *number)
}

impl From<Errno> for FileCode {
    fn from(error: Errno) -> FileCode {
        numbered(FILES, error).map_or(FileCode::IO, FileCode)
    }
}

impl From<FileCode> for Value {
    fn from(code: FileCode) -> Value {
        Value::Enum(code.0)
    }
}

/// An error of the system as the error of a function on files.
pub fn file_error(error: Errno) -> Stop {
    failure_with(FileCode::from(error).into())
}
