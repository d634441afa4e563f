//! Puts the sources of the standard library into the binary, so that editors can show them.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../lib");
    println!("cargo:rerun-if-changed={}", root.display());
    println!("cargo:rerun-if-changed=build.rs");
    let root = fs::canonicalize(root)?;
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut text = "&[\n".to_owned();
    for file in &files {
        let relative = file.strip_prefix(&root)?.display().to_string();
        let absolute = file.display().to_string();
        writeln!(text, "    ({relative:?}, include_str!({absolute:?})),")?;
    }
    text.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("sources.rs"), text)?;
    Ok(())
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "sld") {
            files.push(path);
        }
    }
    Ok(())
}
