//! The feature identifiers that do not name a SRFI. The build script uses this file too.

/// The feature identifiers of R7RS and our own.
pub const PLATFORM_FEATURES: &[&str] = &[
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
];
