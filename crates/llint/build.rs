//! Generates the interpreter for the target and links it in.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let target = env::var("TARGET")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let object = canny_llint_generator::emit_object(&target)?;
    let object_path = out.join("llint.o");
    fs::write(&object_path, object)?;
    // The archive is written by hand-off to the linker: rustc accepts a bare object as an argument
    // of a static library only through an archive, so make one.
    let archive = out.join("libcanny_llint_handlers.a");
    fs::write(
        &archive,
        canny_llint_generator::archive("llint.o", &fs::read(&object_path)?),
    )?;
    let stencils = canny_llint_generator::stencils(&target)?;
    fs::write(
        out.join("stencils.rs"),
        canny_llint_generator::stencil_source(&stencils),
    )?;
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=canny_llint_handlers");
    Ok(())
}
