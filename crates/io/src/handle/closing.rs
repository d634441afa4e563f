//! Closing a descriptor with an error that can be seen: file systems on networks and quotas tell some
//! failures of writing only then. Written data that is lost cannot be written again; the loss can only
//! be reported.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

use canny_replay::Kind;
use rustix::io::Errno;

/// Closes a descriptor, which is gone afterwards whatever the outcome is.
pub(super) fn close(descriptor: OwnedFd) -> io::Result<()> {
    if canny_replay::is_replaying() {
        drop(descriptor);
        return canny_replay::ask(Kind::Close, || Ok(()));
    }
    canny_replay::ask(Kind::Close, || close_now(descriptor))
}

fn close_now(descriptor: OwnedFd) -> io::Result<()> {
    let number = descriptor.into_raw_fd();
    // SAFETY: `try_close` wants a number that is valid now, and that is not used later. It was that of an
    // owner, who has just given it up without closing it; it is not known elsewhere.
    let outcome = unsafe { rustix::io::try_close(number) };
    #[cfg(test)]
    let outcome = tests::fault().map_or(outcome, Err);
    match outcome {
        // The systems that we run on have closed it all the same; to try again could meet another one's.
        Err(Errno::INTR) => Ok(()),
        outcome => Ok(outcome?),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The error with which the next closing on this thread fails.
        pub(in crate::handle) static FAULT: Cell<Option<Errno>> = const { Cell::new(None) };
    }

    pub(super) fn fault() -> Option<Errno> {
        FAULT.take()
    }

    #[test]
    fn closing_tells_what_the_system_says() {
        let (reader, writer) = std::io::pipe().unwrap();
        close(reader.into()).unwrap();
        FAULT.set(Some(Errno::INTR));
        close(OwnedFd::from(writer.try_clone().unwrap())).unwrap();
        FAULT.set(Some(Errno::DQUOT));
        let error = close(writer.into()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::DQUOT.raw_os_error()));
    }
}
