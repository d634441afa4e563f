//! Profiles of programs: where processor time, waiting and memory went.
//!
//! The crate is data and formats. It knows nothing of the virtual machine that fills a profile, of
//! threads, signals, clocks and files, and nothing of the command line that shows one.
//!
//! A profile is a set of tables whose rows refer to each other by number ([`model`]). A machine
//! fills a [`model::Builder`] and hands its new rows to a [`file::Writer`]; a tool reads them with
//! [`file::read`]. [`analysis`] sums up, [`text`] prints for a terminal, [`export`] writes the
//! formats of other profilers, [`page`] makes one HTML page. [`coverage`] has counts of lines and
//! branches. `docs/profile-format.md` describes the
//! file.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod coverage;
pub mod export;
pub mod file;
pub mod model;
pub mod page;
pub mod sum;
pub mod text;
