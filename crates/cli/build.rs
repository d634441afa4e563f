//! Links the command at a fixed address where the system allows it.
//!
//! At an address chosen when it is started, some forty thousand words of tables have to be relocated before `main`, which
//! writes to 190 pages and reads a megabyte of relocations. See `docs/decisions/fixed-address.md`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
