//! Keys that are typed, and the texts that are entered by them.

use super::*;

/// Counts the bytes that it looks at to know whether a text is whole.
#[derive(Default)]
struct Counting(std::cell::Cell<usize>);

impl Assistant for Counting {
    fn is_complete(&self, text: &str, known: &mut Known) -> bool {
        let new = &text[known.length..];
        self.0.set(self.0.get() + new.len());
        known.scanner.scan(new, |_| {});
        known.length = text.len();
        known.scanner.is_complete()
    }

    fn indentation(&self, text: &str) -> usize {
        assert!(
            text.len() <= LONG_BYTES,
            "nobody sees where the line begins"
        );
        0
    }

    fn styles(&self, _: &str, _: usize) -> Vec<Styled> {
        Vec::new()
    }

    fn completions(&self, _: &str, _: usize) -> Completions {
        Completions::default()
    }

    fn about(&self, _: What, _: &str) -> Option<(String, String)> {
        None
    }

    fn end_line_of_program(&self) -> bool {
        false
    }
}

/// The texts that are entered when these bytes come at once, and the bytes that were looked at.
fn entered(bytes: &[u8]) -> (Vec<String>, usize) {
    let (mut editor, history) = (Editor::new(false), History::default());
    let assistant = Counting::default();
    let mut texts = Vec::new();
    editor.decoder.push(bytes);
    while let Some(key) = editor.decoder.next(true) {
        if let Step::Done(Input::Text(_)) = editor.key(key, &history, &assistant) {
            texts.push(editor.buffer.take());
        }
    }
    (texts, assistant.0.get())
}

#[test]
fn long_texts_end_where_they_are_whole_and_are_looked_at_once() {
    let long = format!("(list {})", "1 ".repeat(100_000));
    let lines = format!("(list {})", "1\n".repeat(100_000));
    for text in [&long, &lines] {
        let (texts, looked_at) = entered(format!("{text}\n(exit)\n").as_bytes());
        assert_eq!(texts, [text.as_str(), "(exit)"]);
        // Up to the length at which lines are not indented any more each line adds to it.
        assert!(looked_at <= text.len() + 10, "{looked_at}");
    }
}

#[test]
fn what_was_known_is_forgotten_when_the_text_changes_before_it() {
    // The paren that was open is deleted, and the text is entered.
    assert_eq!(entered(b"(a\x7f\x7f\n").0, [""]);
    assert_eq!(entered(b"(\n\x7f\x7fb\n").0, ["b"]);
    assert_eq!(entered(b"(\n\x01\x08\x08(b\n)\n)\n").0, ["(b\n)", ")"]);
}

#[test]
fn enter_takes_what_is_whole_wherever_the_cursor_stands() {
    // Ctrl-A, then Ctrl-B into the first line of two.
    assert_eq!(entered(b"(f 1)\x01\n").0, ["(f 1)"]);
    assert_eq!(entered(b"(f\n1)\x10\x02\n").0, ["(f\n1)"]);
    // An incomplete form is broken at the cursor.
    assert_eq!(entered(b"(f 1\x02\n\x05)\n").0, ["(f \n1)"]);
}

#[test]
fn a_suggestion_is_taken_as_far_as_the_key_says() {
    let assistant = Counting::default();
    let mut history = History::default();
    for input in ["(list 1 2)", "(list 3 4)\n", "(other)", "(define (f)\n  1)"] {
        assert_eq!(history.add(input), None);
    }
    let taken = |typed: &str, keys: &[Key]| {
        let mut editor = Editor::new(true);
        for character in typed.chars() {
            editor.key(Key::Char(character), &history, &assistant);
        }
        for key in keys {
            editor.suggest(&history);
            editor.key(*key, &history, &assistant);
        }
        editor.buffer.take()
    };
    assert_eq!(taken("(l", &[Key::Right]), "(list 3 4)");
    assert_eq!(taken("(l", &[Key::Control('e')]), "(list 3 4)");
    assert_eq!(taken("(l", &[Key::WordRight]), "(list");
    assert_eq!(taken("(l", &[Key::WordRight, Key::Meta('f')]), "(list 3");
    assert_eq!(taken("(define", &[Key::End]), "(define (f)\n  1)");
    // Nothing that begins so, nothing typed, a cursor inside of the text.
    assert_eq!(taken("(x", &[Key::Right]), "(x");
    assert_eq!(taken("", &[Key::Right]), "");
    assert_eq!(taken("(l", &[Key::Left, Key::Right]), "(l");
    // A suggestion that was not shown is not taken.
    let mut editor = Editor::new(true);
    editor.key(Key::Char('('), &history, &assistant);
    editor.key(Key::Right, &history, &assistant);
    assert_eq!(editor.buffer.text(), "(");
    // Nor is anything shown without colours.
    let mut editor = Editor::new(false);
    editor.key(Key::Char('('), &history, &assistant);
    editor.suggest(&history);
    assert_eq!(editor.suggestion, "");
}
