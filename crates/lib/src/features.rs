//! What `(features)` and `cond-expand` know.

/// The feature identifiers, R7RS's own and those of the SRFIs that are built in.
pub const FEATURES: &[&str] = &[
    "canny",
    "canny-0.1",
    "r7rs",
    "exact-closed",
    "exact-complex",
    "ieee-float",
    "full-unicode",
    "ratios",
    "posix",
    #[cfg(target_os = "linux")]
    "linux",
    #[cfg(target_os = "macos")]
    "darwin",
    #[cfg(unix)]
    "unix",
    #[cfg(target_arch = "x86_64")]
    "x86-64",
    #[cfg(target_arch = "aarch64")]
    "aarch64",
    #[cfg(target_endian = "little")]
    "little-endian",
    "srfi-0",
    "srfi-1",
    "srfi-2",
    "srfi-6",
    "srfi-8",
    "srfi-9",
    "srfi-11",
    "srfi-16",
    "srfi-23",
    "srfi-26",
    "srfi-30",
    "srfi-34",
    "srfi-39",
    "srfi-62",
    "srfi-69",
    "srfi-87",
    "srfi-124",
    "srfi-139",
];
