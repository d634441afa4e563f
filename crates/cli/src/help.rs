//! What `--help` and `-V` print.

use canny_lib::features::FEATURES;

/// The text of `--help`.
pub const TEXT: &str = "\
Canny, an R7RS Scheme.

Usage:
  canny [run] [OPTION…] FILE [ARGUMENT…]
                                     run a program
  canny [OPTION…] -e EXPR [ARGUMENT…]
                                     evaluate expressions and print their values
  canny [OPTION…] - [ARGUMENT…]      run a program from standard input
  canny [OPTION…]                    read, evaluate, print; a program when input is no terminal
  canny repl [--listen HOST:PORT] [OPTION…]
                                     the same in any case; with --listen also for editors
  canny expand FILE                  print the program fully expanded
  canny disasm FILE                  print the program's bytecode
  canny compile FILE [-o PROGRAM]    make one executable file; more by 'canny compile --help'
  canny fmt [FILE|DIRECTORY…]        lay out source files; more by 'canny fmt --help'
  canny explain [CODE]               tell what the code of a message means; without CODE list all

Options:
  -A DIR            search DIR for libraries after the other directories
  -I DIR            search DIR for libraries before the other directories
  -D FEATURE        let cond-expand know FEATURE
  -e EXPR           evaluate EXPR; may be given several times
  --heap-limit N    use at most N bytes of heap (suffixes K, M, G)
  --stack-limit N   use at most N bytes of frames; 1G unless given
  --no-jit          do not compile code that runs often; so does CANNY_JIT=0
  --spesh-report    tell at the end what was compiled to machine code, what was not, and why
  --no-cache        neither read nor write compiled libraries in the cache directory
  -W WORD           show a warning (its code), or not (no-CODE); all, none; error: refuse such programs
  --no-warnings     as -W none
  --message-format FORMAT
                    write messages as text or json
  -V, --version     print the version and what SRFI 176 asks for
  -h, --help        print this

A program is a file of R7RS Scheme; one that does not begin with an import gets the bindings of the
prompt. Libraries are .sld or .sls files: (my lib) is my/lib.sld in a directory searched. Directories are
searched in this order: those of -I, that of the program, those of CANNY_LIBRARY_PATH (separated by
colons), those of -A.

Environment:
  CANNY_LIBRARY_PATH   directories to search for libraries
  CANNY_CACHE_DIR      where compiled libraries are kept (default: the user's cache directory)
  CANNY_HISTORY        file of the prompt's history (default: in the user's state directory)
  NO_COLOR             do not colour messages and input
  CANNY_STATISTICS=FILE
                       write bytes allocated, collections and pauses to FILE at the end
  CANNY_GC_STRESS=N, CANNY_GC_VERIFY=1, CANNY_GC_POISON=1, CANNY_NURSERY=BYTES
                       test modes of the collector

Exit codes: what the program gives to (exit), else 0; 64 for a wrong command line, 65 for syntax errors, 66
for a file that cannot be read, 70 for an error that no handler took, 130 after Ctrl-C.
";

/// The text of `-V`: SRFI 176 data.
pub fn version() -> String {
    let mut text = format!("canny {}\n", env!("CARGO_PKG_VERSION"));
    text.push_str(&format!("(version \"{}\")\n", env!("CARGO_PKG_VERSION")));
    text.push_str(
        "(command \"canny\")\n(scheme.id canny)\n(languages scheme r5rs r7rs)\n(encodings utf-8)\n",
    );
    text.push_str(&format!(
        "(os.type {})\n(cpu.arch {})\n",
        std::env::consts::OS,
        std::env::consts::ARCH
    ));
    text.push_str(&format!("(scheme.features {})\n", FEATURES.join(" ")));
    let srfis: Vec<&str> = FEATURES
        .iter()
        .filter_map(|feature| feature.strip_prefix("srfi-"))
        .collect();
    text.push_str(&format!("(scheme.srfi {})\n", srfis.join(" ")));
    text.push_str("(scheme.path \"CANNY_LIBRARY_PATH\")\n");
    text
}
