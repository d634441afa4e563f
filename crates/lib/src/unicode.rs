//! Unicode properties and case mappings that the standard library does not give as such.
//!
//! The standard library has the full mappings to upper and lower case. The simple mappings follow
//! from them, except for a few characters whose full mapping has several characters; folding follows
//! from upper and lower case, except for a few letters too. Unicode promises that the folding of
//! assigned characters is stable, so the exceptions are listed here; a test compares with listed
//! results.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The only character of an iterator.
fn single(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

fn offset(character: char, distance: u32) -> char {
    char::from_u32(character as u32 + distance).unwrap_or(character)
}

/// The simple upper-case mapping.
pub(crate) fn upcase(character: char) -> char {
    if let Some(upper) = single(character.to_uppercase()) {
        return upper;
    }
    match character {
        // Greek letters with an iota below: in full two letters, simply one title-case letter.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            offset(character, 8)
        }
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => offset(character, 9),
        _ => character,
    }
}

/// The simple lower-case mapping.
pub(crate) fn downcase(character: char) -> char {
    match character {
        // In full an i and a dot above.
        '\u{130}' => 'i',
        _ => single(character.to_lowercase()).unwrap_or(character),
    }
}

/// The simple title-case mapping.
pub(crate) fn titlecase(character: char) -> char {
    match character {
        // Croatian digraphs.
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has capitals for whole words only.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => character,
        _ => upcase(character),
    }
}

/// Whether case folding maps a letter to upper case: Cherokee, whose lower case came later.
fn folds_upwards(character: char) -> bool {
    matches!(character, '\u{13a0}'..='\u{13f5}' | '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}')
}

/// The simple case folding.
pub(crate) fn foldcase(character: char) -> char {
    match character {
        'A'..='Z' => character.to_ascii_lowercase(),
        '\0'..='\x7f' => character,
        // Turkic letters fold only in Turkic languages.
        '\u{130}' | '\u{131}' => character,
        // Letters that differ in the order of their marks only.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ if folds_upwards(character) => upcase(character),
        _ => downcase(upcase(character)),
    }
}

/// Gives the characters of the full case folding to `push`.
pub(crate) fn fold_fully(character: char, mut push: impl FnMut(char)) {
    match character {
        '\0'..='\x7f' => push(character.to_ascii_lowercase()),
        '\u{131}' => push(character),
        '\u{1e9e}' => ['s', 's'].into_iter().for_each(push),
        _ if folds_upwards(character) => push(upcase(character)),
        _ => character
            .to_uppercase()
            .flat_map(char::to_lowercase)
            .for_each(push),
    }
}

/// Whether a character is a decimal digit of any script.
pub(crate) fn is_decimal_digit(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    character.is_numeric() && get_general_category(character) == GeneralCategory::DecimalNumber
}

/// The value of a decimal digit. Digits are encoded in runs of ten, from zero on; runs may adjoin.
pub(crate) fn digit_value(character: char) -> Option<u8> {
    if !is_decimal_digit(character) {
        return None;
    }
    if character.is_ascii() {
        return Some(character as u8 - b'0');
    }
    let before = (0..character as u32)
        .rev()
        .map_while(char::from_u32)
        .take_while(|&earlier| is_decimal_digit(earlier))
        .count();
    Some((before % 10) as u8)
}

/// The two-letter name of the general category.
pub(crate) fn general_category(character: char) -> &'static str {
    use GeneralCategory as Category;
    match get_general_category(character) {
        Category::UppercaseLetter => "Lu",
        Category::LowercaseLetter => "Ll",
        Category::TitlecaseLetter => "Lt",
        Category::ModifierLetter => "Lm",
        Category::OtherLetter => "Lo",
        Category::NonspacingMark => "Mn",
        Category::SpacingMark => "Mc",
        Category::EnclosingMark => "Me",
        Category::DecimalNumber => "Nd",
        Category::LetterNumber => "Nl",
        Category::OtherNumber => "No",
        Category::ConnectorPunctuation => "Pc",
        Category::DashPunctuation => "Pd",
        Category::OpenPunctuation => "Ps",
        Category::ClosePunctuation => "Pe",
        Category::InitialPunctuation => "Pi",
        Category::FinalPunctuation => "Pf",
        Category::OtherPunctuation => "Po",
        Category::MathSymbol => "Sm",
        Category::CurrencySymbol => "Sc",
        Category::ModifierSymbol => "Sk",
        Category::OtherSymbol => "So",
        Category::SpaceSeparator => "Zs",
        Category::LineSeparator => "Zl",
        Category::ParagraphSeparator => "Zp",
        Category::Control => "Cc",
        Category::Format => "Cf",
        Category::Surrogate => "Cs",
        Category::PrivateUse => "Co",
        _ => "Cn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut result = String::new();
        text.chars()
            .for_each(|character| fold_fully(character, |folded| result.push(folded)));
        result
    }

    #[test]
    fn simple_mappings() {
        for (character, upper, lower, title, fold) in [
            ('a', 'A', 'a', 'A', 'a'),
            ('Σ', 'Σ', 'σ', 'Σ', 'σ'),
            ('ς', 'Σ', 'ς', 'Σ', 'σ'),
            ('ß', 'ß', 'ß', 'ß', 'ß'),
            ('ẞ', 'ẞ', 'ß', 'ẞ', 'ß'),
            ('İ', 'İ', 'i', 'İ', 'İ'),
            ('ı', 'I', 'ı', 'I', 'ı'),
            ('ǆ', 'Ǆ', 'ǆ', 'ǅ', 'ǆ'),
            ('ǅ', 'Ǆ', 'ǆ', 'ǅ', 'ǆ'),
            ('ᾀ', 'ᾈ', 'ᾀ', 'ᾈ', 'ᾀ'),
            ('ᾳ', 'ᾼ', 'ᾳ', 'ᾼ', 'ᾳ'),
            ('ა', 'Ა', 'ა', 'ა', 'ა'),
            ('Ꭰ', 'Ꭰ', 'ꭰ', 'Ꭰ', 'Ꭰ'),
            ('ꭰ', 'Ꭰ', 'ꭰ', 'Ꭰ', 'Ꭰ'),
            ('ﬀ', 'ﬀ', 'ﬀ', 'ﬀ', 'ﬀ'),
            ('ŉ', 'ŉ', 'ŉ', 'ŉ', 'ŉ'),
            ('\u{212a}', '\u{212a}', 'k', '\u{212a}', 'k'),
        ] {
            assert_eq!(
                (
                    upcase(character),
                    downcase(character),
                    titlecase(character),
                    foldcase(character)
                ),
                (upper, lower, title, fold),
                "{character}"
            );
        }
    }

    #[test]
    fn full_folding() {
        for (text, expected) in [
            ("Straße", "strasse"),
            ("STRAẞE", "strasse"),
            ("ΑΣ ας", "ασ ασ"),
            ("İ", "i\u{307}"),
            ("ﬃ", "ffi"),
            ("ᾀ", "ἀι"),
            ("Ꭰꭰ", "ᎠᎠ"),
            ("ŉ", "ʼn"),
            ("և", "եւ"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    /// Folding is idempotent, and maps upper and lower case to the same.
    #[test]
    fn folding_laws() {
        for character in '\0'..=char::MAX {
            let once = folded(&character.to_string());
            assert_eq!(folded(&once), once, "{character:?}");
            let simple = foldcase(character);
            assert_eq!(foldcase(simple), simple, "{character:?}");
            if !matches!(character, 'ı' | 'İ') {
                assert_eq!(foldcase(upcase(character)), simple, "{character:?}");
                assert_eq!(foldcase(downcase(character)), simple, "{character:?}");
            }
        }
    }

    #[test]
    fn digits() {
        for (character, expected) in [
            ('0', Some(0)),
            ('7', Some(7)),
            ('a', None),
            ('²', None),
            ('Ⅷ', None),
            ('٤', Some(4)),
            ('९', Some(9)),
            ('\u{1d7ce}', Some(0)),
            ('\u{1d7d9}', Some(1)),
            ('\u{1d7ff}', Some(9)),
            ('\u{1fbf5}', Some(5)),
        ] {
            assert_eq!(digit_value(character), expected, "{character}");
        }
    }
}
