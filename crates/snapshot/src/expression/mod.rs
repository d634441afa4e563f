//! Queries as Scheme expressions: `(and (type? 'entry) (retained > 1MB))`.
//!
//! An error message quotes the part of the expression that is wrong and says what was expected.
//! The reader knows symbols, numbers, strings, lists and quotes, nothing else of Scheme.

#[cfg(test)]
mod tests;

use crate::analysis::Predicate;

/// The deepest expression.
const DEPTH_MAX: usize = 90;
/// Characters of a part in a message.
const PART_MAX: usize = 60;

#[derive(Debug, PartialEq)]
enum Form<'a> {
    /// A symbol or number, as it is written.
    Word(&'a str),
    Text(String),
    List(Vec<Part<'a>>),
}

#[derive(Debug, PartialEq)]
struct Part<'a> {
    form: Form<'a>,
    source: &'a str,
}

impl Part<'_> {
    /// The part in a message.
    fn quoted(&self) -> String {
        match self.source.char_indices().nth(PART_MAX) {
            Some((end, _)) => format!("{}…", &self.source[..end]),
            None => self.source.to_owned(),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn part(&mut self, depth: usize) -> Result<Part<'a>, String> {
        if depth > DEPTH_MAX {
            return Err(format!(
                "the query is nested deeper than {DEPTH_MAX} levels"
            ));
        }
        self.skip_space();
        let start = self.at;
        let form = match self.peek() {
            None => return Err("the query ends too early; expected an expression".to_owned()),
            Some('(' | '[') => self.list(depth)?,
            Some(')' | ']') => {
                return Err("the query has a closing parenthesis too much".to_owned());
            }
            Some('"') => Form::Text(self.delimited('"')?),
            Some('|') => {
                self.delimited('|')?;
                Form::Word(&self.text[start + 1..self.at - 1])
            }
            Some('\'') => {
                self.at += 1;
                return self.part(depth + 1);
            }
            Some(_) => {
                let rest = &self.text[start..];
                let is_end = |c: char| c.is_whitespace() || "()[]\"';".contains(c);
                self.at += rest.find(is_end).unwrap_or(rest.len());
                if self.at == start {
                    return Err("the query has a comment; expected an expression".to_owned());
                }
                Form::Word(&self.text[start..self.at])
            }
        };
        let source = &self.text[start..self.at];
        // The long form of a quote.
        if let Form::List(mut parts) = form {
            if parts.len() == 2 && parts[0].form == Form::Word("quote") {
                return Ok(parts.remove(1));
            }
            return Ok(Part {
                form: Form::List(parts),
                source,
            });
        }
        Ok(Part { form, source })
    }

    fn list(&mut self, depth: usize) -> Result<Form<'a>, String> {
        let start = self.at;
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(')' | ']') => {
                    self.at += 1;
                    return Ok(Form::List(parts));
                }
                None => {
                    let source = self.text[start..].trim_end();
                    let open = Part {
                        form: Form::Word(""),
                        source,
                    };
                    return Err(format!(
                        "a closing parenthesis is missing in {}",
                        open.quoted()
                    ));
                }
                Some(_) => parts.push(self.part(depth + 1)?),
            }
        }
    }

    /// The text between two delimiters, with the escapes of Scheme.
    fn delimited(&mut self, end: char) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.text[self.at..].char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            if character == end {
                self.at += index + 1;
                return Ok(text);
            }
            if character != '\\' {
                text.push(character);
                continue;
            }
            match characters.next().map(|one| one.1) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('a') => text.push('\u{7}'),
                Some('x') => {
                    let digits: String = characters
                        .by_ref()
                        .map(|one| one.1)
                        .take_while(|digit| *digit != ';')
                        .collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    let character = code.and_then(char::from_u32);
                    text.push(character.ok_or_else(|| format!("\\x{digits}; is no character"))?);
                }
                Some(other) => text.push(other),
                None => break,
            }
        }
        Err(format!("{end} is missing at the end of the query"))
    }
}

/// Bytes as a person writes them: `1000`, `64kB`, `1.5MB`, `3GiB`.
pub fn size(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: f64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    if let (Ok(number), true) = (number.parse::<u64>(), factor == 1.0) {
        return Some(number);
    }
    let bytes = number.parse::<f64>().ok()? * factor;
    (bytes < u64::MAX as f64).then_some(bytes.round() as u64)
}

/// The predicate that an expression describes, or a sentence about the part that is wrong.
pub fn predicate(text: &str) -> Result<Predicate, String> {
    let mut reader = Reader { text, at: 0 };
    let part = reader.part(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        let rest = Part {
            form: Form::Word(""),
            source: &text[reader.at..],
        };
        return Err(format!(
            "the query is followed by {}; expected one expression, such as (and … …)",
            rest.quoted()
        ));
    }
    meaning(&part)
}

const KNOWN: &str = "and, or, not, type?, family?, field?, file?, library?, program?, size, \
                     retained, outside, text?, text-prefix?, allocated-at?, label?, new-since?, \
                     held-by?, holds?, dominated-by? or virtual?";

fn meaning(part: &Part<'_>) -> Result<Predicate, String> {
    let (head, rest): (&str, &[Part<'_>]) = match &part.form {
        Form::Word("#t" | "#true") => return Ok(Predicate::All(Vec::new())),
        Form::Word(word) => (word, &[]),
        Form::List(parts) => match parts.split_first() {
            Some((
                Part {
                    form: Form::Word(word),
                    ..
                },
                rest,
            )) => (word, rest),
            _ => return Err(unknown(part)),
        },
        Form::Text(_) => return Err(unknown(part)),
    };
    match head {
        "and" | "or" => {
            let parts: Result<Vec<Predicate>, String> = rest.iter().map(meaning).collect();
            let parts = parts?;
            Ok(match head {
                "and" => Predicate::All(parts),
                _ => Predicate::Any(parts),
            })
        }
        "not" => Ok(Predicate::Not(Box::new(meaning(only(
            part, rest, "a query",
        )?)?))),
        "held-by?" => Ok(Predicate::HeldBy(Box::new(meaning(only(
            part, rest, "a query",
        )?)?))),
        "holds?" => Ok(Predicate::Holds(Box::new(meaning(only(
            part, rest, "a query",
        )?)?))),
        "type?" => Ok(Predicate::Type(name(part, rest)?)),
        "family?" => Ok(Predicate::Family(name(part, rest)?)),
        "field?" => Ok(Predicate::HasField(name(part, rest)?)),
        "file?" => Ok(Predicate::File(name(part, rest)?)),
        "text?" => Ok(Predicate::TextContains(string(part, rest)?)),
        "allocated-at?" => Ok(Predicate::AllocatedAt(string(part, rest)?)),
        "label?" => Ok(Predicate::AllocatedWith(string(part, rest)?)),
        "text-prefix?" => Ok(Predicate::TextBegins(string(part, rest)?)),
        "library?" | "program?" | "virtual?" => {
            if !rest.is_empty() {
                return Err(format!("in {}: {head} takes no arguments", part.quoted()));
            }
            Ok(match head {
                "virtual?" => Predicate::IsVirtual,
                head => Predicate::IsLibrary(head == "library?"),
            })
        }
        "new-since?" => {
            let number = number(part, rest, "the number of a snapshot, from 1")?;
            match number.checked_sub(1) {
                Some(index) => Ok(Predicate::NewSince(index as usize)),
                None => Err(format!(
                    "in {}: snapshots are counted from 1",
                    part.quoted()
                )),
            }
        }
        "dominated-by?" => {
            let number = number(part, rest, "the number of an object")?;
            match u32::try_from(number) {
                Ok(node) => Ok(Predicate::DominatedBy(node)),
                Err(_) => Err(format!(
                    "in {}: no object has the number {number}",
                    part.quoted()
                )),
            }
        }
        "size" | "retained" | "outside" => comparison(part, head, rest),
        ">" | ">=" | "<" | "<=" | "=" => match rest {
            [
                Part {
                    form: Form::Word(what @ ("size" | "retained" | "outside")),
                    ..
                },
                amount,
            ] => compare(part, what, head, amount),
            _ => Err(format!(
                "in {}: expected ({head} size BYTES), or retained or outside in place of size",
                part.quoted()
            )),
        },
        _ => Err(unknown(part)),
    }
}

fn unknown(part: &Part<'_>) -> String {
    format!("{} is no query; expected {KNOWN}", part.quoted())
}

fn only<'a, 'b>(
    part: &Part<'_>,
    rest: &'a [Part<'b>],
    expected: &str,
) -> Result<&'a Part<'b>, String> {
    match rest {
        [one] => Ok(one),
        _ => Err(format!(
            "in {}: expected {expected}, got {} arguments",
            part.quoted(),
            rest.len()
        )),
    }
}

/// A symbol or string.
fn name(part: &Part<'_>, rest: &[Part<'_>]) -> Result<String, String> {
    let one = only(part, rest, "a name")?;
    match &one.form {
        Form::Word(word) => Ok((*word).to_owned()),
        Form::Text(text) => Ok(text.clone()),
        Form::List(_) => Err(format!(
            "in {}: expected a name such as 'entry, got {}",
            part.quoted(),
            one.quoted()
        )),
    }
}

fn string(part: &Part<'_>, rest: &[Part<'_>]) -> Result<String, String> {
    let one = only(part, rest, "a string")?;
    match &one.form {
        Form::Text(text) => Ok(text.clone()),
        _ => Err(format!(
            "in {}: expected a string, got {}",
            part.quoted(),
            one.quoted()
        )),
    }
}

fn number(part: &Part<'_>, rest: &[Part<'_>], expected: &str) -> Result<u64, String> {
    let one = only(part, rest, expected)?;
    let number = match &one.form {
        Form::Word(word) => word.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        format!(
            "in {}: expected {expected}, got {}",
            part.quoted(),
            one.quoted()
        )
    })
}

fn comparison(part: &Part<'_>, what: &str, rest: &[Part<'_>]) -> Result<Predicate, String> {
    match rest {
        [
            Part {
                form: Form::Word(relation),
                ..
            },
            amount,
        ] => compare(part, what, relation, amount),
        _ => Err(format!(
            "in {}: expected ({what} > BYTES) or another of < <= = >= >",
            part.quoted()
        )),
    }
}

fn compare(
    part: &Part<'_>,
    what: &str,
    relation: &str,
    amount: &Part<'_>,
) -> Result<Predicate, String> {
    let bytes = match &amount.form {
        Form::Word(word) => size(word),
        _ => None,
    };
    let Some(bytes) = bytes else {
        return Err(format!(
            "in {}: {} is no size; expected bytes such as 1000, 64kB, 1.5MB or 3GiB",
            part.quoted(),
            amount.quoted()
        ));
    };
    let at_least = |bytes| match what {
        "size" => Predicate::SizeAtLeast(bytes),
        "outside" => Predicate::OutsideAtLeast(bytes),
        _ => Predicate::RetainedAtLeast(bytes),
    };
    let at_most = |bytes| match what {
        "size" => Predicate::SizeAtMost(bytes),
        "outside" => Predicate::OutsideAtMost(bytes),
        _ => Predicate::RetainedAtMost(bytes),
    };
    match relation {
        ">" => Ok(at_least(bytes.saturating_add(1))),
        ">=" => Ok(at_least(bytes)),
        "<=" => Ok(at_most(bytes)),
        "<" if bytes == 0 => Ok(Predicate::Any(Vec::new())),
        "<" => Ok(at_most(bytes - 1)),
        "=" => Ok(Predicate::All(vec![at_least(bytes), at_most(bytes)])),
        _ => Err(format!(
            "in {}: {relation} is no comparison; expected <, <=, =, >= or >",
            part.quoted()
        )),
    }
}
