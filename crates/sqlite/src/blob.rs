//! Incremental reads and writes of blobs, and copies of whole databases (backup).
//!
//! A blob's size never changes here. A backup copies some pages at a time and lets others use the
//! database in between; it ends with the state of one moment.

use std::path::Path;
use std::time::Duration;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::raw::{OpenMode, RawBackup, RawBlob, RawConnection, Watch};

/// Where a blob is.
#[derive(Clone, Debug)]
pub struct BlobPlace {
    pub table: String,
    pub column: String,
    /// The row's number.
    pub row: i64,
}

/// Pages that are copied before others get their turn.
const PAGES: i32 = 256;

impl Connection {
    /// Number of bytes of a blob.
    pub fn blob_size(&mut self, place: &BlobPlace) -> Result<usize, Failure> {
        let blob = self.open_blob(place, false)?;
        Ok(blob.size())
    }

    /// A part of a blob; `count` is lowered to what there is.
    pub fn read_blob(
        &mut self,
        place: &BlobPlace,
        offset: usize,
        count: usize,
    ) -> Result<Vec<u8>, Failure> {
        let mut blob = self.open_blob(place, false)?;
        let count = count.min(blob.size().saturating_sub(offset));
        let mut bytes = vec![0; count];
        if count > 0 {
            blob.read(offset, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Replaces a part of a blob, whose size stays.
    pub fn write_blob(
        &mut self,
        place: &BlobPlace,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        self.open_blob(place, true)?.write(offset, bytes)
    }

    fn open_blob(&mut self, place: &BlobPlace, writes: bool) -> Result<RawBlob<'_>, Failure> {
        RawBlob::open(
            &mut self.raw,
            &place.table,
            &place.column,
            place.row,
            writes,
        )
    }

    /// Copies the whole database to a file, which becomes what the database was at one moment.
    pub fn back_up(&mut self, path: &Path, watch: &mut dyn Watch) -> Result<(), Failure> {
        watch.turns_long();
        let mut target = RawConnection::open(path, OpenMode::Create)?;
        let mut backup = RawBackup::begin(&mut self.raw, &mut target)?;
        loop {
            match backup.step(PAGES)? {
                Some(false) => return Ok(()),
                Some(true) => {}
                None => std::thread::sleep(Duration::from_millis(5)),
            }
            if watch.shall_stop() {
                return Err(Failure::Sqlite {
                    code: libsqlite3_sys::SQLITE_INTERRUPT,
                    message: "interrupted".to_owned(),
                    offset: None,
                });
            }
        }
    }
}
