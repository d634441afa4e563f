//! Open files, directories, streams and sockets of a guest, by their descriptors.
//!
//! A new one has the smallest number that is free.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_io::Handle;
use canny_io::socket::Socket;
use rustix::fs::{Mode, OFlags};

use super::errno::Errno;
use crate::Directory;

/// Something open.
pub struct Entry {
    pub what: What,
    /// The flags of the descriptor that the guest has set.
    pub flags: u16,
    /// Its purposes, in WASI's bits.
    pub rights: u64,
    /// Whether nothing may be changed through it.
    pub read_only: bool,
}

pub enum What {
    File(Arc<OwnedFd>),
    Folder {
        descriptor: Arc<OwnedFd>,
        /// Its name for the guest, if it was given to the guest.
        given_as: Option<String>,
    },
    Stream(Arc<Handle>),
    /// A stream that is always at its end and takes everything.
    Nothing,
    Listener(Arc<Socket>),
    /// Both directions of a connection.
    Connection {
        input: Arc<Handle>,
        output: Arc<Handle>,
        socket: Arc<Socket>,
    },
}

/// Most descriptors of a guest.
const ENTRIES_MAX: usize = 4096;

/// All that a guest may do, but for what only sockets can.
pub const ALL_RIGHTS: u64 = (1 << 30) - 1;

/// A flag of a descriptor: reads and writes do not wait.
pub const NON_BLOCKING: u16 = 4;

pub struct Entries(Vec<Option<Entry>>);

impl Entries {
    pub fn new(
        streams: [Option<Arc<Handle>>; 3],
        directories: Vec<Directory>,
        listeners: Vec<Socket>,
    ) -> Result<Entries, String> {
        let mut entries = Entries(Vec::new());
        let whole = |what, read_only| Entry {
            what,
            flags: 0,
            rights: ALL_RIGHTS,
            read_only,
        };
        for stream in streams {
            let what = stream.map_or(What::Nothing, What::Stream);
            entries.0.push(Some(whole(what, false)));
        }
        for directory in directories {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let descriptor = rustix::fs::open(&directory.path, flags, Mode::empty());
            let descriptor = descriptor.map_err(|error| {
                let path = directory.path.display();
                format!("cannot open the directory {path}: {error}")
            })?;
            let what = What::Folder {
                descriptor: Arc::new(descriptor),
                given_as: Some(directory.name),
            };
            entries.0.push(Some(whole(what, directory.read_only)));
        }
        for listener in listeners {
            let what = What::Listener(Arc::new(listener));
            entries.0.push(Some(whole(what, false)));
        }
        Ok(entries)
    }

    pub fn get(&mut self, number: u32) -> Result<&mut Entry, Errno> {
        let entry = self.0.get_mut(number as usize).and_then(Option::as_mut);
        entry.ok_or(Errno::BAD_DESCRIPTOR)
    }

    /// The directory that a descriptor stands for, and whether it is read only.
    pub fn folder(&mut self, number: u32) -> Result<(Arc<OwnedFd>, bool), Errno> {
        let entry = self.get(number)?;
        match &entry.what {
            What::Folder { descriptor, .. } => Ok((Arc::clone(descriptor), entry.read_only)),
            _ => Err(Errno::NOT_DIRECTORY),
        }
    }

    /// The file or directory that a descriptor stands for.
    pub fn descriptor(&mut self, number: u32) -> Result<Arc<OwnedFd>, Errno> {
        match &self.get(number)?.what {
            What::File(descriptor) | What::Folder { descriptor, .. } => Ok(Arc::clone(descriptor)),
            _ => Err(Errno::SEEK),
        }
    }

    pub fn add(&mut self, entry: Entry) -> Result<u32, Errno> {
        let free = self.0.iter().position(Option::is_none);
        let number = free.unwrap_or(self.0.len());
        if number >= ENTRIES_MAX {
            return Err(Errno::TOO_MANY_FILES);
        }
        if number == self.0.len() {
            self.0.push(None);
        }
        self.0[number] = Some(entry);
        Ok(number as u32)
    }

    pub fn remove(&mut self, number: u32) -> Result<Entry, Errno> {
        let entry = self.0.get_mut(number as usize).and_then(Option::take);
        entry.ok_or(Errno::BAD_DESCRIPTOR)
    }

    /// Closes the second descriptor and gives its number to what the first one stands for.
    pub fn renumber(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        self.get(from)?;
        self.get(to)?;
        if from != to {
            self.0[to as usize] = self.0[from as usize].take();
        }
        Ok(())
    }
}
