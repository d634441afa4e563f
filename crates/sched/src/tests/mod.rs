mod modelled;
mod partners;
mod policy;
mod pool;
mod scenarios;
mod serving;
mod stress;

use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::*;

fn soon(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

#[test]
fn a_wait_for_nothing_ends_at_its_deadline_or_by_the_flag() {
    assert_eq!(wait(&[], Some(Instant::now()), None), Wake::TimedOut);
    assert_eq!(sleep_until(soon(20), None), Wake::TimedOut);
    let flag = AtomicBool::new(true);
    assert_eq!(sleep_until(soon(1_000_000), Some(&flag)), Wake::Interrupted);
}

#[test]
fn descriptors_become_ready() {
    let (reader, writer) = std::io::pipe().unwrap();
    let readable = Interest::Readable(reader.as_fd());
    let writable = Interest::Writable(writer.as_fd());
    assert!(!is_ready(readable));
    assert!(is_ready(writable));
    assert_eq!(wait(&[readable, writable], None, None), Wake::Ready(1));
    assert_eq!(wait(&[readable], Some(soon(10)), None), Wake::TimedOut);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        rustix::io::write(&writer, b"x").unwrap();
    });
    assert_eq!(wait(&[readable], None, None), Wake::Ready(0));
    thread.join().unwrap();
    // The end counts as ready, and what is ready counts before a deadline and a flag.
    let flag = AtomicBool::new(true);
    assert_eq!(
        wait(&[readable], Some(Instant::now()), Some(&flag)),
        Wake::Ready(0)
    );
}

#[test]
fn the_flag_ends_a_wait_for_a_descriptor() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&flag);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        setter.store(true, Ordering::Release);
    });
    let wake = wait(&[Interest::Readable(reader.as_fd())], None, Some(&flag));
    assert_eq!(wake, Wake::Interrupted);
    thread.join().unwrap();
}

#[test]
fn notices_wake_those_who_wait_and_are_not_lost() {
    let notice = Arc::new(Notice::new());
    let seen = notice.look();
    let giver = Arc::clone(&notice);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        giver.give();
    });
    assert_eq!(
        wait(&[Interest::Notice(&notice, seen)], None, None),
        Wake::Ready(0)
    );
    thread.join().unwrap();
    // Given before the wait began.
    assert_eq!(
        wait(&[Interest::Notice(&notice, seen)], None, None),
        Wake::Ready(0)
    );
    let seen = notice.look();
    let (reader, _writer) = std::io::pipe().unwrap();
    let both = [
        Interest::Readable(reader.as_fd()),
        Interest::Notice(&notice, seen),
    ];
    assert_eq!(wait(&both, Some(soon(10)), None), Wake::TimedOut);
    notice.give();
    assert_eq!(wait(&both, None, None), Wake::Ready(1));
}

#[test]
fn many_notices_reach_everybody() {
    const TURNS: usize = 2000;
    let turn = Arc::new((Notice::new(), std::sync::atomic::AtomicUsize::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|me| {
            let turn = Arc::clone(&turn);
            thread::spawn(move || {
                let (notice, number) = &*turn;
                loop {
                    let seen = notice.look();
                    match number.load(Ordering::SeqCst) {
                        TURNS.. => return,
                        mine if mine % 2 == me => {
                            number.store(mine + 1, Ordering::SeqCst);
                            notice.give();
                        }
                        _ => {
                            wait(&[Interest::Notice(notice, seen)], None, None);
                        }
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn the_end_of_a_child_is_noticed_and_its_status_kept() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    let ended = Interest::ChildEnded(pid);
    assert!(!is_ready(ended));
    assert_eq!(wait(&[ended], Some(soon(20)), None), Wake::TimedOut);
    let input = child.stdin.take();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        drop(input);
    });
    assert_eq!(wait(&[ended], None, None), Wake::Ready(0));
    thread.join().unwrap();
    assert!(is_ready(ended));
    assert!(child.wait().unwrap().success());
}
