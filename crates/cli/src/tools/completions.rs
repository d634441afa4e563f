//! `canny completions`: scripts for shells, from the table. The scripts run `canny` to get the
//! words that only it knows (codes, libraries).

use std::fmt::Write;

use canny_lib::evaluation::{Evaluation, EvaluationConfig};
use canny_syntax::messages;
use lexopt::{Arg, Parser};

use super::programs::RUN;
use super::table::{Argument, OptionShape};
use super::{TOOLS, Tool};
use crate::environment::Environment;
use crate::options::Options;

pub const TOOL: Tool = Tool {
    name: "completions",
    operands: "bash|zsh|fish|codes|libraries",
    summary: "Prints a script that teaches a shell to complete command lines of canny",
    options: &[],
    details: "bash: canny completions bash > ~/.local/share/bash-completion/completions/canny\n\
              zsh:  canny completions zsh > DIRECTORY/_canny, where DIRECTORY is in $fpath\n\
              fish: canny completions fish > ~/.config/fish/completions/canny.fish\n\
              'codes' lists the codes of messages and 'libraries' the libraries that can be imported here, \
              for those scripts.",
    run,
};

fn run(mut parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let mut wanted = None;
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Value(word) if wanted.is_none() => {
                wanted = Some(word.to_string_lossy().into_owned());
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    let text = match wanted.as_deref() {
        Some("bash") => bash(),
        Some("zsh") => zsh(),
        Some("fish") => fish(),
        Some("codes") => lines(messages::all().map(|row| row.code.to_owned())),
        Some("libraries") => return Ok(crate::on_large_stack(move || libraries(environment))),
        Some(other) => return Err(format!("'{other}' is none of bash, zsh and fish")),
        None => return Err("which shell? bash, zsh or fish".to_owned()),
    };
    crate::print_all(&text);
    Ok(0)
}

fn libraries(environment: &'static Environment) -> u8 {
    let evaluation = Evaluation::new(&EvaluationConfig {
        directories: crate::session::directories(&Options::new(environment), None),
        ..EvaluationConfig::default()
    });
    crate::print_all(&lines(evaluation.library_names().into_iter()));
    0
}

fn lines(words: impl Iterator<Item = String>) -> String {
    words.map(|word| word + "\n").collect()
}

/// A text in single quotes, for any of the three shells.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "'\\''"))
}

/// Calls of bash functions that add what an argument can be.
fn bash_values(arguments: &[Argument]) -> String {
    let calls = arguments.iter().map(|argument| match argument {
        Argument::Choice(words) => format!("_canny_words {}", quoted(&words.replace('|', " "))),
        Argument::File => "_canny_files -f".to_owned(),
        Argument::Directory => "_canny_files -d".to_owned(),
        Argument::Code => "_canny_lines codes".to_owned(),
        Argument::Library => "_canny_lines libraries".to_owned(),
        Argument::Other => ":".to_owned(),
    });
    calls.collect::<Vec<String>>().join("; ")
}

fn bash() -> String {
    let mut out = String::from(
        "# Completion of canny for bash.\n\
        _canny_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\")); }\n\
        _canny_files() {\n    local found\n    mapfile -t found < <(compgen \"$1\" -- \"$cur\")\n    \
        COMPREPLY+=(\"${found[@]}\")\n    compopt -o filenames 2>/dev/null\n}\n\
        _canny_lines() {\n    local line start=${cur//[\\\\\\'\\\"]/}\n    while IFS= read -r line; \
        do\n        \
        [[ $line == \"$start\"* ]] && COMPREPLY+=(\"$(printf %q \"$line\")\")\n    \
        done < <(\"${COMP_WORDS[0]}\" completions \"$1\" 2>/dev/null)\n}\n",
    );
    for tool in TOOLS {
        let shapes = tool.option_shapes();
        let _ = writeln!(out, "_canny_{}() {{\n    case $prev in", identifier(tool));
        for shape in &shapes {
            if let Some(argument) = shape.argument {
                let names = shape.names.join("|");
                let _ = writeln!(
                    out,
                    "        {names}) {}; return ;;",
                    bash_values(&[argument])
                );
            }
        }
        let names: Vec<&str> = shapes.iter().flat_map(|one| one.names.clone()).collect();
        let operands = match bash_values(&tool.operand_arguments()) {
            calls if calls.is_empty() => ":".to_owned(),
            calls => calls,
        };
        let _ = writeln!(
            out,
            "    esac\n    case $cur in\n        -*) _canny_words {} ;;\n        *) {operands} ;;\n    \
             esac\n}}",
            quoted(&names.join(" "))
        );
    }
    let with_value: Vec<&str> = RUN
        .option_shapes()
        .iter()
        .filter(|shape| shape.argument.is_some())
        .flat_map(|shape| shape.names.clone())
        .collect();
    let commands: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let _ = write!(
        out,
        "_canny() {{\n    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= \
         i\n    COMPREPLY=()\n    \
        for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${{COMP_WORDS[i]}} in\n            {}) ((i++)) \
        ;;\n            \
        -*) ;;\n            *) command=${{COMP_WORDS[i]}}; break ;;\n        esac\n    done\n    case \
        $command in\n",
        with_value.join("|")
    );
    for tool in TOOLS {
        let _ = writeln!(out, "        {}) _canny_{} ;;", tool.name, identifier(tool));
    }
    let _ = write!(
        out,
        "        '')\n            _canny_run\n            if [[ $cur != -* && $prev != -* ]]; then \
         _canny_words {}; fi ;;\n        \
        *) _canny_files -f ;;\n    esac\n}}\ncomplete -F _canny canny\n",
        quoted(&commands.join(" "))
    );
    out
}

/// The name of a command as part of a function's name.
fn identifier(tool: &Tool) -> String {
    tool.name.replace('-', "_")
}

/// The action of zsh for an argument.
fn zsh_action(argument: Argument) -> String {
    match argument {
        Argument::Choice(words) => format!("({})", words.replace('|', " ")),
        Argument::File => "_files".to_owned(),
        Argument::Directory => "_files -/".to_owned(),
        Argument::Code => "{_canny_lines codes}".to_owned(),
        Argument::Library => "{_canny_lines libraries}".to_owned(),
        Argument::Other => " ".to_owned(),
    }
}

/// The text of a description in a specification of zsh.
fn zsh_text(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if matches!(character, '[' | ']' | ':' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.replace('\'', "'\\''")
}

fn zsh_options(shapes: &[OptionShape]) -> String {
    let mut out = String::new();
    for shape in shapes {
        for name in &shape.names {
            let value = match shape.argument {
                Some(argument) => format!(":value:{}", zsh_action(argument)),
                None => String::new(),
            };
            let sign = match shape.argument {
                Some(_) if name.starts_with("--") => "=",
                Some(_) => "+",
                None => "",
            };
            let _ = write!(
                out,
                " \\\n        '*{name}{sign}[{}]{value}'",
                zsh_text(shape.meaning)
            );
        }
    }
    out
}

fn zsh() -> String {
    let mut out = String::from(
        "#compdef canny\n# Completion of canny for zsh.\n\
        _canny_lines() {\n    local -a found\n    found=(\"${(@f)$(canny completions $1 \
        2>/dev/null)}\")\n    compadd -a found\n}\n\
        _canny_commands() {\n    local -a commands\n    commands=(\n",
    );
    for tool in TOOLS {
        let _ = writeln!(out, "        '{}:{}'", tool.name, zsh_text(tool.summary));
    }
    out.push_str("    )\n    _describe command commands\n    _files\n}\n");
    for tool in TOOLS {
        let _ = write!(
            out,
            "_canny_{}() {{\n    _arguments -s{}",
            identifier(tool),
            zsh_options(&tool.option_shapes())
        );
        // One specification stands for all operands.
        if let Some(argument) = tool.operand_arguments().first() {
            let _ = write!(out, " \\\n        '*:operand:{}'", zsh_action(*argument));
        }
        out.push_str("\n}\n");
    }
    let _ = write!(
        out,
        "_canny() {{\n    local state line\n    typeset -A opt_args\n    _arguments -C -s{} \\\n        \
        '1: :_canny_commands' \\\n        '*:: :->rest'\n    [[ $state == rest ]] || return\n    case \
        $line[1] in\n",
        zsh_options(&RUN.option_shapes())
    );
    for tool in TOOLS {
        let _ = writeln!(out, "        {}) _canny_{} ;;", tool.name, identifier(tool));
    }
    out.push_str("        *) _files ;;\n    esac\n}\n_canny \"$@\"\n");
    out
}

/// The options of fish's `complete` that offer values for an argument.
fn fish_values(argument: Argument) -> String {
    match argument {
        Argument::Choice(words) => format!("-x -a {}", quoted(&words.replace('|', " "))),
        Argument::File => "-r -F".to_owned(),
        Argument::Directory => "-x -a '(__fish_complete_directories)'".to_owned(),
        Argument::Code => "-x -a '(canny completions codes)'".to_owned(),
        Argument::Library => "-x -a '(canny completions libraries)'".to_owned(),
        Argument::Other => "-x".to_owned(),
    }
}

fn fish_options(condition: &str, shapes: &[OptionShape]) -> String {
    let mut out = String::new();
    for shape in shapes {
        let _ = write!(out, "complete -c canny -n {}", quoted(condition));
        for name in &shape.names {
            match name.strip_prefix("--") {
                Some(word) => {
                    let _ = write!(out, " -l {word}");
                }
                None => {
                    let _ = write!(out, " -s {}", &name[1..]);
                }
            }
        }
        if let Some(argument) = shape.argument {
            let _ = write!(out, " {}", fish_values(argument));
        }
        let _ = writeln!(out, " -d {}", quoted(shape.meaning));
    }
    out
}

fn fish() -> String {
    let mut out = String::from("# Completion of canny for fish.\n");
    for tool in TOOLS {
        let _ = writeln!(
            out,
            "complete -c canny -n __fish_use_subcommand -a {} -d {}",
            tool.name,
            quoted(tool.summary)
        );
    }
    out.push_str(&fish_options("__fish_use_subcommand", &RUN.option_shapes()));
    for tool in TOOLS {
        let condition = format!("__fish_seen_subcommand_from {}", tool.name);
        out.push_str(&fish_options(&condition, &tool.option_shapes()));
        let arguments = tool.operand_arguments();
        let takes_files = arguments
            .iter()
            .any(|one| matches!(one, Argument::File | Argument::Directory));
        if !takes_files {
            let _ = writeln!(out, "complete -c canny -n {} -f", quoted(&condition));
        }
        for argument in arguments {
            if !matches!(argument, Argument::File | Argument::Directory) {
                let values = fish_values(argument);
                let values = values.trim_start_matches("-x ");
                let _ = writeln!(out, "complete -c canny -n {} {values}", quoted(&condition));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_command_and_option() {
        for (script, shows) in [
            (bash(), (|name| name) as fn(&str) -> &str),
            (zsh(), |name| name),
            (fish(), |name| name.trim_start_matches('-')),
        ] {
            for tool in TOOLS {
                assert!(script.contains(tool.name), "{}", tool.name);
                for name in tool
                    .option_shapes()
                    .iter()
                    .flat_map(|one| one.names.clone())
                {
                    assert!(script.contains(shows(name)), "{name} in\n{script}");
                }
            }
        }
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("it's \\"), "'it'\\''s \\\\'");
        assert_eq!(zsh_text("a [b]: c"), "a \\[b\\]\\: c");
    }
}
