//! Generates the interpreter of guests for the target and links it in.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let target = env::var("TARGET")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let object = canny_llint_generator::emit_guest_object(&target)?;
    let archive = canny_llint_generator::archive("guest.o", &object);
    fs::write(out.join("libcanny_guest_handlers.a"), archive)?;
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=canny_guest_handlers");
    Ok(())
}
