//! Where the prompt of the debugger reads lines and writes texts: the terminal of this process, or somebody
//! who is attached to it.

use super::replayed;

/// The end of the prompt that people see.
pub trait Screen: Send + Sync {
    /// Shows a text, which ends with a line.
    fn show(&self, text: &str);

    /// Asks for a line, and waits for it; none at the end.
    fn ask(&self) -> Option<String>;

    /// Asks again, because a text has come in between.
    fn ask_again(&self) {}

    /// Whether people who are asked for something else have waited for a stop, and give their turn away.
    fn gives_way(&self) -> bool {
        false
    }

    /// Nobody is asked any more.
    fn end(&self) {}
}

/// Standard input and standard error.
#[derive(Default)]
pub struct Standard {
    /// No more than a line is taken: another process reads on.
    pub is_shared: bool,
}

impl Screen for Standard {
    fn show(&self, text: &str) {
        eprintln!("{text}");
    }

    fn ask(&self) -> Option<String> {
        eprint!("(debug) ");
        if self.is_shared {
            return replayed::read_line();
        }
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    }
}
