//! A table of facts about single characters: classes, simple mappings of case, values of digits.
//!
//! Rules and searches of [`unicode`](crate::unicode) and the standard library take 5 to 40 ns beyond
//! ASCII. The table is made of pages of 256 characters, each when a character of it is first asked for,
//! from those rules. So programs that never leave ASCII and Latin-1 make one page at most. Characters
//! above the second plane have no page.

use std::sync::OnceLock;

use crate::unicode;

/// Characters of a page.
const PAGE_CHARACTERS: u32 = 256;
/// Pages of the first two planes.
const PAGES: usize = 512;

/// The facts about a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) upper: char,
    pub(crate) lower: char,
    /// By the simple case folding.
    pub(crate) folded: char,
    /// The value of a decimal digit, or [`NO_DIGIT`].
    digit: u8,
    classes: u8,
}

const NO_DIGIT: u8 = 255;

const ALPHABETIC: u8 = 1;
const WHITESPACE: u8 = 2;
const UPPER_CASE: u8 = 4;
const LOWER_CASE: u8 = 8;
/// A full mapping is not the simple one, or depends on the characters around.
const UPPER_DIFFERS: u8 = 16;
const LOWER_DIFFERS: u8 = 32;
const FOLDING_DIFFERS: u8 = 64;

/// A mapping of case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Upper,
    Lower,
    Folded,
}

/// Whether characters are one and the same character.
fn is_only(mut characters: impl Iterator<Item = char>, character: char) -> bool {
    characters.next() == Some(character) && characters.next().is_none()
}

impl Facts {
    /// The facts of a character.
    #[inline]
    pub(crate) fn of(character: char) -> Facts {
        static TABLE: [OnceLock<Box<[Facts]>>; PAGES] = [const { OnceLock::new() }; PAGES];
        let code = u32::from(character);
        let page = TABLE.get((code / PAGE_CHARACTERS) as usize);
        let page = page.map(|page| page.get_or_init(|| make_page(code & !(PAGE_CHARACTERS - 1))));
        match page.and_then(|page| page.get((code % PAGE_CHARACTERS) as usize)) {
            Some(facts) => *facts,
            None => Facts::by_rules(character),
        }
    }

    #[cold]
    fn by_rules(character: char) -> Facts {
        let upper = unicode::upcase(character);
        let lower = unicode::downcase(character);
        let folded = unicode::foldcase(character);
        let mut is_folded_simply = true;
        let mut folded_to = 0;
        unicode::fold_fully(character, |to| {
            folded_to += 1;
            is_folded_simply &= folded_to == 1 && to == folded;
        });
        let has_context = character == 'Σ';
        let classes = [
            (ALPHABETIC, character.is_alphabetic()),
            (WHITESPACE, character.is_whitespace()),
            (UPPER_CASE, character.is_uppercase()),
            (LOWER_CASE, character.is_lowercase()),
            (UPPER_DIFFERS, !is_only(character.to_uppercase(), upper)),
            (
                LOWER_DIFFERS,
                has_context || !is_only(character.to_lowercase(), lower),
            ),
            (FOLDING_DIFFERS, !is_folded_simply),
        ];
        let classes = classes.into_iter().filter(|(_, holds)| *holds);
        Facts {
            upper,
            lower,
            folded,
            digit: unicode::digit_value(character).unwrap_or(NO_DIGIT),
            classes: classes.fold(0, |classes, (class, _)| classes | class),
        }
    }

    pub(crate) fn is_alphabetic(self) -> bool {
        self.classes & ALPHABETIC != 0
    }

    pub(crate) fn is_whitespace(self) -> bool {
        self.classes & WHITESPACE != 0
    }

    pub(crate) fn is_upper_case(self) -> bool {
        self.classes & UPPER_CASE != 0
    }

    pub(crate) fn is_lower_case(self) -> bool {
        self.classes & LOWER_CASE != 0
    }

    /// The result of the full mapping, where that is one character that does not depend on others.
    #[inline]
    pub(crate) fn mapped(self, case: Case) -> Option<char> {
        let (mapped, differs) = match case {
            Case::Upper => (self.upper, UPPER_DIFFERS),
            Case::Lower => (self.lower, LOWER_DIFFERS),
            Case::Folded => (self.folded, FOLDING_DIFFERS),
        };
        (self.classes & differs == 0).then_some(mapped)
    }

    /// Whether it is a decimal digit of any script.
    pub(crate) fn is_digit(self) -> bool {
        self.digit != NO_DIGIT
    }

    /// The value of a decimal digit.
    pub(crate) fn digit(self) -> Option<u8> {
        self.is_digit().then_some(self.digit)
    }
}

/// The facts of 256 characters. A surrogate is no character: nobody asks for it.
#[cold]
#[inline(never)]
fn make_page(first: u32) -> Box<[Facts]> {
    (first..first + PAGE_CHARACTERS)
        .map(|code| Facts::by_rules(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_the_rules_say() {
        for character in '\0'..=char::MAX {
            assert_eq!(
                Facts::of(character),
                Facts::by_rules(character),
                "{character:?}"
            );
        }
    }

    #[test]
    fn mappings_are_the_full_ones() {
        for character in '\0'..=char::MAX {
            let facts = Facts::of(character);
            let text = character.to_string();
            if let Some(upper) = facts.mapped(Case::Upper) {
                assert_eq!(upper.to_string(), text.to_uppercase());
            }
            if let Some(lower) = facts.mapped(Case::Lower) {
                assert_eq!(lower.to_string(), text.to_lowercase());
            }
            if let Some(folded) = facts.mapped(Case::Folded) {
                let mut all = String::new();
                unicode::fold_fully(character, |to| all.push(to));
                assert_eq!(folded.to_string(), all);
            }
        }
        for special in ['ß', 'ŉ', 'Σ', 'İ', 'ﬀ'] {
            let facts = Facts::of(special);
            let cases = [Case::Upper, Case::Lower, Case::Folded];
            assert!(cases.iter().any(|case| facts.mapped(*case).is_none()));
        }
    }

    #[test]
    fn classes_are_those_of_the_standard_library() {
        for character in [
            'a',
            'Z',
            '5',
            ' ',
            'é',
            'λ',
            'Σ',
            '٤',
            '\u{a0}',
            'ǅ',
            '中',
            '😀',
            '\u{20000}',
        ] {
            let facts = Facts::of(character);
            assert_eq!(facts.is_alphabetic(), character.is_alphabetic());
            assert_eq!(facts.is_whitespace(), character.is_whitespace());
            assert_eq!(facts.is_upper_case(), character.is_uppercase());
            assert_eq!(facts.is_lower_case(), character.is_lowercase());
            assert_eq!(facts.digit(), unicode::digit_value(character));
        }
    }
}
