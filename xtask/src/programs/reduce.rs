//! Minimizes a program while a property of it holds.
//!
//! It drops forms and replaces lists by their parts, as data: it knows no meaning of Scheme except
//! where a body stands. The caller decides about the property; the number of tries is bounded.

/// A datum as text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Datum {
    Atom(String),
    /// The text before the parenthesis (`'`, `#`, `#u8`), and the elements.
    List(String, Vec<Datum>),
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix(';') {
                Some(comment) => self.rest = comment.find('\n').map_or("", |end| &comment[end..]),
                None => return,
            }
        }
    }

    /// The next datum; none at the end of the text or of a list.
    fn datum(&mut self) -> Option<Datum> {
        self.skip_blanks();
        let end = self.end_of_prefix();
        let (prefix, after) = self.rest.split_at(end);
        if let Some(after) = after.strip_prefix('(') {
            let prefix = prefix.to_owned();
            self.rest = after;
            let mut elements = Vec::new();
            while let Some(element) = self.datum() {
                elements.push(element);
            }
            self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
            return Some(Datum::List(prefix, elements));
        }
        let end = self.end_of_atom();
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!atom.is_empty()).then(|| Datum::Atom(atom.to_owned()))
    }

    fn end_of_prefix(&self) -> usize {
        ["'#u8", "'#", "'", "#u8", "#"]
            .iter()
            .find(|prefix| {
                self.rest
                    .strip_prefix(**prefix)
                    .is_some_and(|rest| rest.starts_with('('))
            })
            .map_or(0, |prefix| prefix.len())
    }

    fn end_of_atom(&self) -> usize {
        let mut characters = self.rest.char_indices().peekable();
        let mut in_text = false;
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => {
                    characters.next();
                }
                '"' if in_text => return at + 1,
                '"' => in_text = true,
                _ if in_text => {}
                '(' | ')' | ';' => return at,
                _ if character.is_whitespace() => return at,
                _ => {}
            }
        }
        self.rest.len()
    }
}

fn read(text: &str) -> Vec<Datum> {
    let mut reader = Reader { rest: text };
    std::iter::from_fn(|| reader.datum()).collect()
}

fn write(datum: &Datum, text: &mut String) {
    match datum {
        Datum::Atom(atom) => text.push_str(atom),
        Datum::List(prefix, elements) => {
            text.push_str(prefix);
            text.push('(');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                write(element, text);
            }
            text.push(')');
        }
    }
}

fn write_all(forms: &[Datum]) -> String {
    let mut text = String::new();
    for form in forms {
        write(form, &mut text);
        text.push('\n');
    }
    text
}

/// Lists of a datum, itself first.
fn lists(datum: &Datum) -> usize {
    match datum {
        Datum::Atom(_) => 0,
        Datum::List(_, elements) => 1 + elements.iter().map(lists).sum::<usize>(),
    }
}

/// The list of this number among those of [`lists`].
fn list_mut<'d>(datum: &'d mut Datum, number: &mut usize) -> Option<&'d mut Datum> {
    if matches!(datum, Datum::Atom(_)) {
        return None;
    }
    if *number == 0 {
        return Some(datum);
    }
    *number -= 1;
    let Datum::List(_, elements) = datum else {
        return None;
    };
    elements
        .iter_mut()
        .find_map(|element| list_mut(element, number))
}

/// Candidates for the place of a list, the smallest first.
fn replacements(list: &Datum) -> Vec<Datum> {
    let Datum::List(prefix, elements) = list else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if prefix.is_empty() {
        all.push(Datum::Atom("1".to_owned()));
        all.extend(elements.iter().skip(1).cloned());
        // The body of a `let`, the values of its bindings.
        for element in elements {
            if let Datum::List(_, inner) = element {
                all.extend(
                    inner
                        .iter()
                        .filter(|datum| matches!(datum, Datum::List(..)))
                        .cloned(),
                );
            }
        }
    }
    for index in 0..elements.len() {
        let mut fewer = elements.clone();
        fewer.remove(index);
        all.push(Datum::List(prefix.clone(), fewer));
    }
    all.retain(|datum| datum != list);
    all
}

/// The smallest program found by dropping forms and parts of forms of which `holds` is true; it is asked
/// so many times at most.
pub fn reduce(text: &str, mut tries: usize, mut holds: impl FnMut(&str) -> bool) -> String {
    let mut forms = read(text);
    let mut ask = |forms: &[Datum]| {
        if tries == 0 {
            return None;
        }
        tries -= 1;
        Some(holds(&write_all(forms)))
    };
    let Some(true) = ask(&forms) else {
        return text.to_owned();
    };
    loop {
        let before = forms.clone();
        drop_forms(&mut forms, &mut ask);
        simplify(&mut forms, &mut ask);
        if forms == before {
            return write_all(&forms);
        }
    }
}

fn drop_forms(forms: &mut Vec<Datum>, ask: &mut impl FnMut(&[Datum]) -> Option<bool>) {
    let mut size = forms.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < forms.len() {
            let mut fewer = forms.clone();
            fewer.drain(at..(at + size).min(forms.len()));
            match ask(&fewer) {
                Some(true) => *forms = fewer,
                Some(false) => at += size,
                None => return,
            }
        }
        size /= 2;
    }
}

fn simplify(forms: &mut Vec<Datum>, ask: &mut impl FnMut(&[Datum]) -> Option<bool>) {
    // The last forms first: procedures without callers are dropped later.
    for form in (0..forms.len()).rev() {
        let mut number = 0;
        while number < lists(&forms[form]) {
            let mut at = number;
            let Some(list) = list_mut(&mut forms[form], &mut at).map(|list| list.clone()) else {
                break;
            };
            let mut changed = false;
            for smaller in replacements(&list) {
                let mut tried = forms.clone();
                let mut at = number;
                if let Some(place) = list_mut(&mut tried[form], &mut at) {
                    *place = smaller;
                }
                match ask(&tried) {
                    Some(true) => {
                        *forms = tried;
                        changed = true;
                        break;
                    }
                    Some(false) => {}
                    None => return,
                }
            }
            if !changed {
                number += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        let text = "(a \"b (\\\" c\" #\\( '(1 . 2) '#(3) #u8(4) #:key |x| 'q) ; comment\n#\\x\n";
        assert_eq!(
            write_all(&read(text)),
            "(a \"b (\\\" c\" #\\( '(1 . 2) '#(3) #u8(4) #:key |x| 'q)\n#\\x\n"
        );
    }

    #[test]
    fn a_program_becomes_as_small_as_it_can() {
        let text =
            "(define a 1)\n(define (f x) (if x (let ((y (bad x 2))) y) 3))\n(display (f a))\n";
        let reduced = reduce(text, 1000, |text| text.contains("(bad"));
        assert_eq!(reduced, "(bad)\n");
    }

    #[test]
    fn it_stops_when_it_was_asked_often_enough() {
        let mut asked = 0;
        reduce("(a b c d e f)", 3, |_| {
            asked += 1;
            asked == 1
        });
        assert_eq!(asked, 3);
    }
}
