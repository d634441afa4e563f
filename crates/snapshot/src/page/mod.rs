//! The page on which a person looks at snapshots; `page/README.md` of this crate describes it.

/// The page, one file with script and style inside.
pub fn page() -> &'static str {
    include_str!("page.html")
}
