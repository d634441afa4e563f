//! Lays out the files named on the command line, to standard output.

fn main() {
    for path in std::env::args().skip(1) {
        match std::fs::read_to_string(&path) {
            Ok(text) => match canny_format::format(&text) {
                Ok(text) => print!("{text}"),
                Err(error) => eprintln!("{path}:{error}"),
            },
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}
