//! Filetests: `tests/filetests/WHAT/*.txt` say bytecode, what a profile knows of it and perhaps a
//! graph, and behind a line of dashes the text that comes out. `CANNY_BLESS=1` writes that part; review
//! the difference.
//!
//! The directory says what is done: `build` builds a graph of the first code, `states` shows the slots
//! that each state of such a graph fills, and each other one runs the pass of its name on the graph
//! that the file says. See `tests/filetests/README.md`.

mod support;

use std::path::{Path, PathBuf};

use canny_spesh::build::build;
use canny_spesh::graph::{Graph, SlotContent, StateId, check_text};
use canny_spesh::verify::verify;
use canny_spesh::{hoist, passes, results, sink, unboxed};

use support::World;

const DASHES: &str = "-----";

/// The graph that the file asks to build.
fn built(world: &World) -> Result<Graph, String> {
    let goal = world.goal.as_ref().ok_or("the file builds nothing")?;
    let graph = build(
        world.first_code()?,
        goal.entry,
        &goal.types,
        world,
        world,
        &goal.options,
    )
    .map_err(|error| error.to_string())?;
    verify(&graph).map_err(|problem| format!("{problem}\n{graph}"))?;
    check_text(&graph).map_err(|problem| format!("{problem}\n{graph}"))?;
    Ok(graph)
}

/// The slots of each state that the graph's text names, in the order of the states.
fn states(graph: &Graph) -> String {
    let mut text = graph.to_string();
    for index in 0..graph.states.len() as u32 {
        let state = graph.state(StateId(index));
        let name = &graph.code_of(state.frame).name;
        text.push_str(&format!("state {index} at {name} {}:", state.pc));
        for (slot, content) in graph.slots(StateId(index)) {
            match content {
                SlotContent::Node(id) => text.push_str(&format!(" {slot}=n{}", id.0)),
                SlotContent::Address(address) => text.push_str(&format!(" {slot}={address:#x}")),
            }
        }
        text.push('\n');
    }
    text
}

/// Runs a pass on the graph in the file and returns the text of the result.
fn passed(world: &World, pass: impl FnOnce(&mut Graph)) -> Result<String, String> {
    let mut graph = world.graph()?;
    pass(&mut graph);
    verify(&graph).map_err(|problem| format!("{problem}\n{graph}"))?;
    check_text(&graph).map_err(|problem| format!("{problem}\n{graph}"))?;
    Ok(graph.to_string())
}

fn run(what: &str, input: &str) -> Result<String, String> {
    let world = World::read(input)?;
    match what {
        "build" => Ok(built(&world)?.to_string()),
        "states" => Ok(states(&built(&world)?)),
        "settle" => passed(&world, passes::settle),
        "clean" => passed(&world, passes::clean),
        "hoist" => passed(&world, hoist::hoist),
        "sink" => passed(&world, sink::sink),
        "unboxed" => passed(&world, unboxed::keep_words),
        "results" => passed(&world, |graph| results::ask_early(graph, &world)),
        "verify" => Ok(match verify(&world.graph()?) {
            Ok(()) => "right\n".to_owned(),
            Err(problem) => format!("{problem}\n"),
        }),
        // A text that is no graph: the message.
        "parse" => match world.graph() {
            Ok(_) => Err("the text is read as a graph".to_owned()),
            Err(problem) => Ok(format!("{problem}\n")),
        },
        _ => Err(format!("nobody knows what to do with files in {what}")),
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn check(what: &str, path: &Path, failures: &mut Vec<String>) {
    let text = std::fs::read_to_string(path).unwrap();
    let (input, expected) = text
        .split_once(&format!("\n{DASHES}\n"))
        .unwrap_or((&text, ""));
    let input = input.trim_end();
    let actual = match run(what, input) {
        Ok(actual) if actual == expected => return,
        Ok(actual) => actual,
        Err(problem) => {
            failures.push(format!("{}: {problem}", path.display()));
            return;
        }
    };
    if std::env::var_os("CANNY_BLESS").is_some() {
        std::fs::write(path, format!("{input}\n{DASHES}\n{actual}")).unwrap();
    } else {
        let path = path.display();
        failures.push(format!("{path}: expected\n{expected}\nbut got\n{actual}"));
    }
}

#[test]
fn files_give_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut failures = Vec::new();
    let mut count = 0;
    for directory in files(&root).iter().filter(|path| path.is_dir()) {
        let what = directory.file_name().unwrap().to_string_lossy();
        for path in files(directory) {
            check(&what, &path, &mut failures);
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 0);
}

/// A text with one place changed, by a number.
fn mutated(text: &str, number: usize) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = number.wrapping_mul(2_654_435_761) % characters.len();
    match number % 4 {
        0 => drop(characters.remove(at)),
        1 => characters.insert(at, characters[(at * 7 + number) % characters.len()]),
        2 => characters[at] = ['9', '(', ')', 'n', ' ', '[', '\n', 'f'][number / 4 % 8],
        _ => characters.truncate(at),
    }
    characters.into_iter().collect()
}

#[test]
fn texts_with_mistakes_are_refused_or_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut refused = 0;
    for what in ["hoist", "clean", "sink", "parse"] {
        for path in files(&root.join(what)) {
            let text = std::fs::read_to_string(path).unwrap();
            let input = text.split(DASHES).next().unwrap();
            for number in 0..300 {
                let graph = World::read(&mutated(input, number)).and_then(|world| world.graph());
                match graph {
                    Ok(graph) => drop(graph.to_string()),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 0);
}
