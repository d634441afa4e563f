//! Parses the arguments of a verb: flags, options with a value, positional words.
//!
//! A verb takes the options that it knows and then calls [`Arguments::finish`], which refuses what
//! is left. So a misspelt option is an error for every verb.

use std::path::PathBuf;

/// Words not yet taken. A verb takes what it knows and then calls [`Arguments::finish`].
pub struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    pub fn new(words: Vec<String>) -> Arguments {
        Arguments { words }
    }

    /// Whether `--name` was given.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// The value of `--name VALUE` or `--name=VALUE`, the last one if repeated.
    pub fn option(&mut self, name: &str) -> Result<Option<String>, String> {
        let mut value = None;
        let mut index = 0;
        while index < self.words.len() {
            if self.words[index] == name {
                if index + 1 == self.words.len() {
                    return Err(format!("{name} needs a value"));
                }
                self.words.remove(index);
                value = Some(self.words.remove(index));
            } else if let Some(rest) = self.words[index]
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('='))
            {
                value = Some(rest.to_owned());
                self.words.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(value)
    }

    pub fn number(&mut self, name: &str, default: u64) -> Result<u64, String> {
        match self.option(name)? {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("{name} needs a number, not `{text}`")),
        }
    }

    /// A path that exists, made absolute.
    pub fn path(&mut self, name: &str) -> Result<Option<PathBuf>, String> {
        match self.option(name)? {
            None => Ok(None),
            Some(text) => std::fs::canonicalize(&text)
                .map(Some)
                .map_err(|error| format!("{name} {text}: {error}")),
        }
    }

    /// Takes the first `--name PATH`, for an option that may be repeated.
    pub fn first_path(&mut self, name: &str) -> Result<Option<PathBuf>, String> {
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        let rest = self.words.split_off(at);
        let mut one = Arguments::new(rest.iter().take(2).cloned().collect());
        let path = one.path(name)?;
        self.words.extend(rest.into_iter().skip(2));
        Ok(path)
    }

    /// Takes the first `--name VALUE`, for an option that may be repeated.
    pub fn first_option(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        if at + 1 == self.words.len() {
            return Err(format!("{name} needs a value"));
        }
        self.words.remove(at);
        Ok(Some(self.words.remove(at)))
    }

    /// All words not yet taken, for a program that reads them itself.
    pub fn rest(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words)
    }

    /// Takes the positional words; a word that looks like an option is an error.
    pub fn finish(&mut self) -> Result<Vec<String>, String> {
        match self.words.iter().find(|word| word.starts_with('-')) {
            Some(unknown) => Err(format!("unknown option {unknown}")),
            None => Ok(std::mem::take(&mut self.words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn options_flags_and_words_are_told_apart() {
        let words = ["--rounds", "5", "a", "--all", "--only=x,y", "b"];
        let mut arguments = Arguments::new(words.map(str::to_owned).to_vec());
        assert_eq!(arguments.number("--rounds", 3), Ok(5));
        assert_eq!(arguments.option("--only"), Ok(Some("x,y".to_owned())));
        assert!(arguments.flag("--all"));
        assert!(!arguments.flag("--all"));
        assert_eq!(arguments.finish(), Ok(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn an_unknown_option_is_refused() {
        let mut arguments = Arguments::new(vec!["--what".to_owned()]);
        assert!(arguments.finish().is_err());
    }
}
