//! Names of places in pages.

use std::collections::HashMap;

/// Anchors of one page, each different.
#[derive(Default)]
pub(crate) struct Anchors {
    used: HashMap<String, usize>,
}

impl Anchors {
    /// The anchor of a heading, as sites that show Markdown make it: small letters, hyphens for blanks, no
    /// punctuation; a number behind what was there before.
    pub(crate) fn heading(&mut self, text: &str) -> String {
        let mut anchor = String::new();
        for one in text.trim().chars() {
            if one.is_alphanumeric() || one == '-' || one == '_' {
                anchor.extend(one.to_lowercase());
            } else if one == ' ' {
                anchor.push('-');
            }
        }
        if anchor.is_empty() {
            anchor.push_str("section");
        }
        self.unique(anchor)
    }

    fn unique(&mut self, anchor: String) -> String {
        let count = self.used.entry(anchor.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => anchor,
            count => format!("{anchor}-{}", count - 1),
        }
    }

    /// The anchor of a name that the page documents; nothing if the page has it already.
    pub(crate) fn name(&mut self, name: &str) -> Option<String> {
        let anchor = name_anchor(name);
        let count = self.used.entry(anchor.clone()).or_insert(0);
        *count += 1;
        (*count == 1).then_some(anchor)
    }
}

/// The anchor of a documented name: `name-vector-map`, other characters by their numbers.
pub(crate) fn name_anchor(name: &str) -> String {
    let mut anchor = String::from("name-");
    for one in name.chars() {
        if one.is_ascii_alphanumeric() || one == '-' || one == '_' {
            anchor.push(one);
        } else {
            anchor.push_str(&format!(".{:x}", one as u32));
        }
    }
    anchor
}
