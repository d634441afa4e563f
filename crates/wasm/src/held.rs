//! References that the embedder holds: roots of the search for what guests need.

/// Held words, by numbers that are used again.
#[derive(Default)]
pub(crate) struct Held {
    /// 0 in the place of one that was released.
    words: Vec<u64>,
    free: Vec<u32>,
}

impl Held {
    /// Adds a word; gives its number.
    pub fn add(&mut self, word: u64) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.words[number as usize] = word;
                number
            }
            None => {
                self.words.push(word);
                self.words.len() as u32 - 1
            }
        }
    }

    /// All words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The word with a number.
    pub fn word(&self, number: u32) -> Option<u64> {
        let word = self.words.get(number as usize).copied();
        word.filter(|word| *word != 0)
    }

    /// Frees a number.
    pub fn remove(&mut self, number: u32) {
        if self.word(number).is_some() {
            self.words[number as usize] = 0;
            self.free.push(number);
        }
    }
}
