//! Tests of text measurement.

use super::*;
use proptest::prelude::*;

#[test]
fn widths() {
    let width = |text| Text::measure(text).width();
    assert_eq!(width(""), Width::Ascii);
    assert_eq!(width("a\u{7F}"), Width::Ascii);
    assert_eq!(width("a\u{80}"), Width::Latin1);
    assert_eq!(width("\u{FF}"), Width::Latin1);
    assert_eq!(width("\u{FF}\u{100}"), Width::Wide);
    assert_eq!(width("\u{10FFFF}"), Width::Wide);
}

proptest! {
    #[test]
    fn copies_agree_with_the_characters(string in any::<String>(), narrow in "[\u{0}-\u{FF}]*") {
        for string in [string, narrow] {
            let text = Text::measure(&string);
            let numbers: Vec<u32> = string.chars().map(u32::from).collect();
            prop_assert_eq!(text.length(), numbers.len());
            let mut wide = vec![0; numbers.len()];
            text.copy_utf32(&mut wide);
            prop_assert_eq!(&wide, &numbers);
            let largest = numbers.iter().copied().max().unwrap_or(0);
            prop_assert_eq!(text.width() == Width::Wide, largest > 0xFF);
            prop_assert_eq!(text.width() == Width::Ascii, largest < 0x80);
            if text.width() != Width::Wide {
                let mut narrow = vec![0; numbers.len()];
                text.copy_latin1(&mut narrow);
                prop_assert!(narrow.iter().map(|byte| u32::from(*byte)).eq(numbers));
            }
        }
    }

    #[test]
    fn ascii_prefix(ascii in "[a-z]{0,200}", rest in any::<String>()) {
        let string = format!("{ascii}é{rest}");
        prop_assert_eq!(ascii_prefix_length(string.as_bytes()), ascii.len());
        prop_assert_eq!(ascii_prefix_length(ascii.as_bytes()), ascii.len());
    }
}
