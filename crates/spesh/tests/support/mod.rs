//! The part of a filetest before its dashes: code, its profile, the goal of building, and a graph.

use std::collections::HashMap;
use std::sync::Arc;

use canny_compiler::assemble::assemble;
use canny_spesh::build::Options;
use canny_spesh::graph::{EntryPoint, Graph};
use canny_spesh::snapshot::{
    Callees, CellSnapshot, CodeSnapshot, CodeSource, CodeWord, KeywordParameters, LazyLiveness,
    PoolItem, Profile, RecordTypeSnapshot,
};
use canny_spesh::switches::turn_off;
use canny_spesh::types::Type;
use canny_tables::layout::code::VARIADIC;

/// Goal of building.
pub struct Goal {
    pub entry: EntryPoint,
    pub types: Vec<Type>,
    pub options: Options,
}

/// Profile of one instruction.
#[derive(Default)]
struct Known {
    result: Option<Type>,
    callee: Option<CodeWord>,
    callees: Callees,
    calls_per_run: Option<f64>,
    is_cold: bool,
    failed: Option<Type>,
    is_unstable: bool,
    fails_before_loop: bool,
    declines: bool,
}

#[derive(Default)]
pub struct World {
    codes: Vec<Arc<CodeSnapshot>>,
    known: HashMap<(CodeWord, usize), Known>,
    record_types: HashMap<u32, Arc<RecordTypeSnapshot>>,
    pub goal: Option<Goal>,
    graph: String,
    graph_line: usize,
}

/// A code whose lines are still being read.
struct Section {
    name: String,
    word: CodeWord,
    arity: u32,
    frame_words: u32,
    pool: Vec<(String, PoolItem)>,
    text: String,
}

type Parsed<T> = Result<T, String>;

impl World {
    /// Reads the lines before the dashes. Lines that begin with a semicolon are comments.
    pub fn read(text: &str) -> Parsed<World> {
        let mut world = World::default();
        // Names may be used before the code that has them.
        let names = names(text)?;
        let mut section: Option<Section> = None;
        for (index, line) in text.lines().enumerate() {
            if !world.graph.is_empty() {
                world.graph.push_str(line);
                world.graph.push('\n');
                continue;
            }
            let read = match line.split_whitespace().next() {
                None => Ok(()),
                Some(word) if word.starts_with(';') => Ok(()),
                Some("code") => world.finish(section.take()).and_then(|()| {
                    section = Some(Section::new(line, &names)?);
                    Ok(())
                }),
                Some("graph") => {
                    world.graph = format!("{line}\n");
                    world.graph_line = index;
                    world.finish(section.take())
                }
                Some("record-type") => world.add_record_type(line),
                Some("build") => world
                    .finish(section.take())
                    .and_then(|()| world.build(line)),
                _ => match &mut section {
                    Some(section) => world.line(section, line, &names),
                    None => Err("the line is in no code".to_owned()),
                },
            };
            read.map_err(|problem| format!("line {}: {problem}", index + 1))?;
        }
        world.finish(section)?;
        Ok(world)
    }

    /// The code that the file says first, which is the one that is compiled.
    pub fn first_code(&self) -> Parsed<Arc<CodeSnapshot>> {
        let code = self.codes.first();
        code.cloned().ok_or_else(|| "there is no code".to_owned())
    }

    /// The graph that the file says.
    pub fn graph(&self) -> Parsed<Graph> {
        Graph::parse(&self.graph, &self.codes)
    }

    fn finish(&mut self, section: Option<Section>) -> Parsed<()> {
        let Some(section) = section else {
            return Ok(());
        };
        let names = section.pool.iter().map(|(name, _)| name.clone()).collect();
        let words = assemble(&section.text, names, section.frame_words as usize)
            .map_err(|error| format!("{}: {}: {}", section.name, error.line, error.message))?;
        let instructions: Arc<[u32]> = words.instructions.into();
        let pool: Vec<PoolItem> = section.pool.into_iter().map(|(_, item)| item).collect();
        self.codes.push(Arc::new(CodeSnapshot {
            breaks: Default::default(),
            word: section.word,
            entry: section.word.0 + 59 + 8 * pool.len() as u64,
            name: section.name,
            liveness: LazyLiveness::new(instructions.clone(), section.frame_words as usize),
            instructions,
            pool,
            arity: section.arity,
            frame_words: section.frame_words,
        }));
        Ok(())
    }

    /// `record-type CLASS NAME`, then the class keys of its ancestors, the outermost first.
    fn add_record_type(&mut self, line: &str) -> Parsed<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["record-type", class, name, ref ancestors @ ..] = words[..] else {
            return Err("`record-type CLASS NAME` is expected".to_owned());
        };
        let ancestors = ancestors.iter().map(|class| number(class));
        let record_type = RecordTypeSnapshot {
            name: name.to_owned(),
            ancestors: ancestors.collect::<Parsed<_>>()?,
        };
        let known = &mut self.record_types;
        known.insert(number(class)?, Arc::new(record_type));
        Ok(())
    }

    /// A line of a code: a slot of its pool, what is known of an instruction, or an instruction.
    fn line(
        &mut self,
        section: &mut Section,
        line: &str,
        names: &HashMap<String, CodeWord>,
    ) -> Parsed<()> {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("pool") => {
                let name = words.next().ok_or("a slot needs a name")?;
                let item = pool_item(&words.collect::<Vec<_>>(), names)?;
                section.pool.push((name.to_owned(), item));
            }
            Some("at") => {
                let pc = words.next().and_then(|word| word.parse().ok());
                let pc = pc.ok_or("`at` needs the index of a word")?;
                let known = self.known.entry((section.word, pc)).or_default();
                known.add(&words.collect::<Vec<_>>(), names)?;
            }
            _ => {
                section.text.push_str(line);
                section.text.push('\n');
            }
        }
        Ok(())
    }

    /// `build`, `loop PC` to enter there, `without` passes by name, and the types of the parameters.
    fn build(&mut self, line: &str) -> Parsed<()> {
        let mut goal = Goal {
            entry: EntryPoint::Start,
            types: Vec::new(),
            options: Options::default(),
        };
        let mut words = line.split_whitespace().skip(1);
        while let Some(word) = words.next() {
            match word {
                "loop" => {
                    let pc = words.next().and_then(|word| word.parse().ok());
                    goal.entry = EntryPoint::Loop(pc.ok_or("`loop` needs the index of a word")?);
                }
                "without" => turn_off(&mut goal.options, words.next().unwrap_or_default())?,
                _ => goal.types.push(ty(word)?),
            }
        }
        self.goal = Some(goal);
        Ok(())
    }
}

impl Section {
    /// `code NAME ARITY frame WORDS`
    fn new(line: &str, names: &HashMap<String, CodeWord>) -> Parsed<Section> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["code", name, arity, "frame", frame_words] = words[..] else {
            return Err("`code NAME ARITY frame WORDS` is expected".to_owned());
        };
        let arity = match arity {
            "variadic" => VARIADIC,
            _ => number(arity)?,
        };
        Ok(Section {
            name: name.to_owned(),
            word: code(name, names)?,
            arity,
            frame_words: number(frame_words)?,
            pool: Vec::new(),
            text: String::new(),
        })
    }
}

impl Known {
    fn add(&mut self, words: &[&str], names: &HashMap<String, CodeWord>) -> Parsed<()> {
        match words {
            ["result", text] => self.result = Some(ty(text)?),
            ["failed", text] => self.failed = Some(ty(text)?),
            ["callee", name] => self.callee = Some(code(name, names)?),
            ["calls-per-run", calls] => self.calls_per_run = Some(number(calls)?),
            ["cold"] => self.is_cold = true,
            ["unstable"] => self.is_unstable = true,
            ["declines"] => self.declines = true,
            ["fails-before-loop"] => self.fails_before_loop = true,
            // All calls, then names and numbers in turn.
            ["callees", calls, seen @ ..] => {
                let seen = seen.chunks(2).map(|pair| match pair {
                    [name, count] => Ok((code(name, names)?, number(count)?)),
                    _ => Err("a callee needs a number of calls".to_owned()),
                });
                self.callees = Callees {
                    seen: seen.collect::<Parsed<_>>()?,
                    calls: number(calls)?,
                };
            }
            _ => return Err(format!("{} says nothing", words.join(" "))),
        }
        Ok(())
    }
}

/// The words of all codes that a text says, by name.
fn names(text: &str) -> Parsed<HashMap<String, CodeWord>> {
    let mut names = HashMap::new();
    for line in text.lines().filter(|line| line.starts_with("code ")) {
        let name = line.split_whitespace().nth(1).unwrap_or_default();
        let word = CodeWord(0x1005 + 0x1000 * names.len() as u64);
        if names.insert(name.to_owned(), word).is_some() {
            return Err(format!("two codes are called {name}"));
        }
    }
    Ok(names)
}

fn code(name: &str, names: &HashMap<String, CodeWord>) -> Parsed<CodeWord> {
    let code = names.get(name).copied();
    code.ok_or_else(|| format!("there is no code {name}"))
}

fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.parse()
        .map_err(|_| format!("{text} is no number here"))
}

fn ty(text: &str) -> Parsed<Type> {
    match Type::parse(text) {
        Some((ty, length)) if length == text.len() => Ok(ty),
        _ => Err(format!("{text} is no type")),
    }
}

/// `word 0x1f`, `object TYPE [of CODE]`, `code CODE`, `keyword NAME`, `other`,
/// `cell NUMBER TYPE [watched] [of CODE] [word 0x1f] [class-key N] [fields N]` or
/// `keywords OPTIONAL [allow-other-keys] NAME …`.
fn pool_item(words: &[&str], names: &HashMap<String, CodeWord>) -> Parsed<PoolItem> {
    Ok(match words {
        ["word", text] => PoolItem::Word(word(text)?),
        ["object", text] => PoolItem::Object {
            ty: ty(text)?,
            code: None,
        },
        ["object", text, "of", name] => PoolItem::Object {
            ty: ty(text)?,
            code: Some(code(name, names)?),
        },
        ["code", name] => PoolItem::Code(code(name, names)?),
        ["keyword", name] => PoolItem::Keyword((*name).into()),
        ["keywords", optional, rest @ ..] => {
            let allow_other_keys = rest.first() == Some(&"allow-other-keys");
            let keywords = rest.iter().skip(usize::from(allow_other_keys));
            PoolItem::Keywords(KeywordParameters {
                optional: number(optional)?,
                allow_other_keys,
                names: keywords.map(|name| (*name).into()).collect(),
            })
        }
        ["cell", text, of, rest @ ..] => {
            let mut cell = CellSnapshot {
                ty: ty(of)?,
                code: None,
                is_watched: false,
                word: None,
                class_key: None,
                field_count: 0,
                number: number(text)?,
            };
            let mut rest = rest.iter();
            while let Some(name) = rest.next() {
                let mut value = || rest.next().ok_or_else(|| format!("{name} needs a value"));
                match *name {
                    "watched" => cell.is_watched = true,
                    "of" => cell.code = Some(code(value()?, names)?),
                    "word" => cell.word = Some(word(value()?)?),
                    "class-key" => cell.class_key = Some(number(value()?)?),
                    "fields" => cell.field_count = number(value()?)?,
                    _ => return Err(format!("{name} says nothing of a cell")),
                }
            }
            PoolItem::Cell(cell)
        }
        ["other"] => PoolItem::Other,
        _ => return Err(format!("{} is nothing that a pool holds", words.join(" "))),
    })
}

fn word(text: &str) -> Parsed<u64> {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    u64::from_str_radix(digits, 16).map_err(|_| format!("{text} is no word"))
}

impl CodeSource for World {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        self.codes.iter().find(|known| known.word == code).cloned()
    }

    fn record_type(&self, class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        self.record_types.get(&class).cloned()
    }
}

impl World {
    fn of<T>(&self, code: CodeWord, pc: usize, ask: impl Fn(&Known) -> T) -> Option<T> {
        self.known.get(&(code, pc)).map(ask)
    }
}

impl Profile for World {
    fn result_type(&self, code: CodeWord, pc: usize) -> Option<Type> {
        self.of(code, pc, |known| known.result).flatten()
    }

    fn callee(&self, code: CodeWord, pc: usize) -> Option<CodeWord> {
        self.of(code, pc, |known| known.callee).flatten()
    }

    fn callees(&self, code: CodeWord, pc: usize) -> Callees {
        let callees = self.of(code, pc, |known| known.callees.clone());
        callees.unwrap_or_default()
    }

    fn calls_per_run(&self, code: CodeWord, pc: usize) -> Option<f64> {
        self.of(code, pc, |known| known.calls_per_run).flatten()
    }

    fn is_cold(&self, code: CodeWord, pc: usize) -> bool {
        self.of(code, pc, |known| known.is_cold) == Some(true)
    }

    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        let failed = self.of(code, pc, |known| known.failed).flatten();
        failed.unwrap_or(Type::NONE)
    }

    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        self.of(code, pc, |known| known.is_unstable) == Some(true)
    }

    fn declines(&self, code: CodeWord, pc: usize) -> bool {
        self.of(code, pc, |known| known.declines) == Some(true)
    }

    fn fails_before_loop(&self, code: CodeWord, pc: usize) -> bool {
        self.of(code, pc, |known| known.fails_before_loop) == Some(true)
    }
}
