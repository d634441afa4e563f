//! The documentation of the standard libraries, from their sources under `lib` and the pages under
//! `docs/reference`.
//!
//! It is made when Canny is built and carried in the binary. Names of files in it begin at the root of
//! the repository. Libraries without an export that people use are there too; see [`is_internal`].
#![forbid(unsafe_code)]

use std::sync::{Arc, OnceLock};

use canny_documentation::Document;
use canny_syntax::library_name::Family;

static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/documents"));

/// Every standard library, in the order of their names: `(srfi 9)` comes before `(srfi 13)`.
pub fn documents() -> &'static [Arc<Document>] {
    static DOCUMENTS: OnceLock<Vec<Arc<Document>>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| {
        // The bytes were made by this build.
        let documents: Vec<Document> = postcard::from_bytes(BYTES).unwrap_or_default();
        let mut documents: Vec<Arc<Document>> = documents.into_iter().map(Arc::new).collect();
        documents.sort_by_cached_key(|document| sorting_key(&document.name));
        documents
    })
}

/// The standard library of that name, as it is written: `(scheme base)`.
pub fn document(name: &str) -> Option<&'static Arc<Document>> {
    documents().iter().find(|document| document.name == name)
}

/// Whether a standard library is there for others only: people have no reason to import a `(canny …)`
/// library without a page.
pub fn is_internal(name: &str) -> bool {
    Family::of(name) == Family::Canny && !WITH_PAGE.contains(&name)
}

/// The libraries that have a page of their own below `docs/reference`.
const WITH_PAGE: &[&str] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Words and numbers in a name, so that numbers are in their order.
fn sorting_key(name: &str) -> Vec<(u64, String)> {
    name.trim_matches(['(', ')'])
        .split(' ')
        .map(|word| match word.parse::<u64>() {
            Ok(number) => (number, String::new()),
            Err(_) => (0, word.to_owned()),
        })
        .collect()
}
