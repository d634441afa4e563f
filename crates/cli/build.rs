//! Links the command at a fixed address where the system allows it, and release builds with the
//! functions that run side by side.
//!
//! At an address chosen when it is started, some forty thousand words of tables have to be relocated
//! before `main`, which writes to 190 pages and reads a megabyte of relocations. See
//! `docs/decisions/fixed-address.md` and `docs/decisions/layout.md`.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=layout.ld");
    println!("cargo:rerun-if-env-changed=CANNY_LAYOUT");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    let wants_layout = match env::var("CANNY_LAYOUT").as_deref() {
        Ok("0") => false,
        Ok("1") => true,
        Ok("") | Err(env::VarError::NotPresent) => is_release() && has_usual_linker(),
        other => panic!("CANNY_LAYOUT wants 0 or 1, not {other:?}"),
    };
    if wants_layout && let Ok(directory) = env::var("CARGO_MANIFEST_DIR") {
        let script = Path::new(&directory).join("layout.ld");
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

/// Whether the profile is the one for users: matching names takes the linker ten seconds.
fn is_release() -> bool {
    // `TARGET/PROFILE/build/PACKAGE/out`
    env::var("OUT_DIR").is_ok_and(|out| {
        let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
        profile.is_some_and(|profile| profile == "release")
    })
}

/// Whether the linker is LLVM's, which comes with the compiler and understands the script.
fn has_usual_linker() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && !flags.contains("linker")
        && !flags.contains("fuse-ld")
}
