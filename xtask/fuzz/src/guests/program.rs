//! Texts of modules with much of what the translator has rules for: variables that change while old
//! values wait, results that only the next instruction uses, comparisons that decide branches,
//! branches with values, addresses that are computed, calls with many parameters.
//!
//! Functions that others call take fuel, and loops have counters, so that all calls end. Floats are
//! canonical where their bits can be seen.

use std::fmt::Write;

use super::choices::Choices;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    I32,
    I64,
    F32,
    F64,
    V128,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::V128 => "v128",
        }
    }
}

/// With integers more often than the others.
const TYPES: [Type; 8] = [
    Type::I32,
    Type::I32,
    Type::I64,
    Type::I32,
    Type::F64,
    Type::I64,
    Type::F32,
    Type::V128,
];

#[derive(Clone)]
pub struct Signature {
    pub parameters: Vec<Type>,
    pub results: Vec<Type>,
}

impl Signature {
    pub fn text(&self) -> String {
        format!(
            "{} {}",
            list("param", &self.parameters),
            list("result", &self.results)
        )
    }
}

pub fn list(word: &str, types: &[Type]) -> String {
    let names: Vec<&str> = types.iter().map(|of| of.name()).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("({word} {})", names.join(" "))
    }
}

/// The things that functions of a module can use.
pub struct Shape {
    /// Whether addresses have 64 bits.
    pub memories: Vec<bool>,
    /// The first one is the fuel.
    pub globals: Vec<Type>,
    /// The first ones are imported, and the last ones exported.
    pub functions: Vec<Signature>,
    pub imported: usize,
    pub exported: usize,
    pub has_vectors: bool,
}

impl Shape {
    /// Functions that others may call.
    pub fn callable(&self) -> usize {
        self.functions.len() - self.exported
    }
}

/// Calls within one call of an exported function.
const FUEL: u32 = 80;

/// Where a branch can go.
pub struct Label {
    /// The values that it takes.
    pub types: Vec<Type>,
    /// The variable that counts the turns of a loop.
    pub counter: Option<usize>,
}

/// A function that is being written.
pub struct Body<'a, 'b> {
    pub choices: &'a mut Choices<'b>,
    pub shape: &'a Shape,
    pub text: String,
    pub locals: Vec<Type>,
    /// Variables that statements may change.
    pub settable: Vec<usize>,
    /// Variables with floats that are not canonical.
    pub hidden: Vec<usize>,
    pub labels: Vec<Label>,
    /// Nodes that may still be written.
    pub budget: usize,
}

impl Body<'_, '_> {
    pub fn put(&mut self, word: &str) {
        self.text.push_str(word);
        self.text.push(' ');
    }

    /// A new variable that only its maker changes.
    pub fn own_local(&mut self, of: Type) -> usize {
        self.locals.push(of);
        self.locals.len() - 1
    }

    /// The same, and nobody else reads it.
    pub fn hidden_local(&mut self, of: Type) -> usize {
        let local = self.own_local(of);
        self.hidden.push(local);
        local
    }

    pub fn pick_type(&mut self) -> Type {
        pick_type(self.choices, self.shape.has_vectors)
    }

    pub fn pick_types(&mut self, most: usize) -> Vec<Type> {
        pick_types(self.choices, self.shape.has_vectors, most)
    }
}

fn pick_type(choices: &mut Choices, has_vectors: bool) -> Type {
    choices.choose(&TYPES[..if has_vectors { 8 } else { 7 }])
}

fn pick_types(choices: &mut Choices, has_vectors: bool, most: usize) -> Vec<Type> {
    let count = choices.below(most + 1);
    (0..count)
        .map(|_| pick_type(choices, has_vectors))
        .collect()
}

/// The text that the bytes stand for.
pub fn text(bytes: &[u8]) -> String {
    let mut choices = Choices::new(bytes);
    let shape = shape(&mut choices);
    let mut text = String::from("(module\n");
    for (index, signature) in shape.functions[..shape.imported].iter().enumerate() {
        let signature = signature.text();
        let _ = writeln!(text, "(import \"host\" \"{index}\" (func {signature}))");
    }
    for (index, is_wide) in shape.memories.iter().enumerate() {
        let wide = if *is_wide { "i64" } else { "" };
        let _ = writeln!(text, "(memory (export \"m{index}\") {wide} 1 2)");
        let origin = if *is_wide { "i64" } else { "i32" };
        let data: String = (0..128u32)
            .map(|byte| format!("\\{:02x}", byte.wrapping_mul(73) % 251))
            .collect();
        let _ = writeln!(
            text,
            "(data (memory {index}) ({origin}.const 64) \"{data}\")"
        );
    }
    for (index, of) in shape.globals.iter().enumerate() {
        let zero = match of {
            Type::V128 => "v128.const i64x2 5 7".to_owned(),
            of => format!("{}.const {}", of.name(), 3 * index),
        };
        let name = of.name();
        let _ = writeln!(text, "(global (export \"g{index}\") (mut {name}) ({zero}))");
    }
    let callable: Vec<String> = (0..shape.callable())
        .map(|index| index.to_string())
        .collect();
    let _ = writeln!(text, "(table {} funcref)", callable.len() + 1);
    let _ = writeln!(text, "(elem (i32.const 0) func {})", callable.join(" "));
    for index in shape.imported..shape.functions.len() {
        function(&mut text, &mut choices, &shape, index);
    }
    text.push_str(")\n");
    text
}

/// The same program with an empty block before every instruction, and branches in place of tables.
pub fn plain_form(text: &str) -> String {
    let is_instruction = |word: &str| {
        let named = [
            "select", "drop", "call", "return", "br_if", "br_table", "if",
        ];
        let begins = word.starts_with(|first: char| first.is_ascii_lowercase());
        named.contains(&word) || begins && word.contains('.')
    };
    let mut changed = String::new();
    let mut is_new = false;
    for line in text.lines() {
        // These lines have declarations.
        if line.trim_start().starts_with(['(', ')']) {
            is_new |= line.trim_start().starts_with("(func");
            changed.push_str(line);
            changed.push('\n');
            continue;
        }
        if std::mem::take(&mut is_new) {
            changed.push_str("(local $index i32)\n");
        }
        let mut words = line.split(' ').peekable();
        while let Some(word) = words.next() {
            if is_instruction(word) {
                changed.push_str("block end ");
            }
            if word == "br_table" {
                let mut targets: Vec<&str> = Vec::new();
                let is_target =
                    |word: &&str| word.parse::<usize>().is_ok() || word.starts_with("(;");
                while let Some(target) = words.next_if(is_target) {
                    targets.push(target);
                }
                targets.retain(|target| !target.starts_with("(;"));
                branches(&mut changed, &targets);
            } else {
                changed.push_str(word);
                changed.push(' ');
            }
        }
        changed.push('\n');
    }
    changed
}

fn branches(text: &mut String, targets: &[&str]) {
    let Some((default, others)) = targets.split_last() else {
        return;
    };
    text.push_str("local.set $index ");
    for (index, target) in others.iter().enumerate() {
        let _ = write!(
            text,
            "local.get $index i32.const {index} i32.eq br_if {target} "
        );
    }
    let _ = write!(text, "br {default} ");
}

fn shape(choices: &mut Choices) -> Shape {
    let has_vectors = choices.once_in(3);
    let memories = match choices.below(6) {
        0..3 => vec![false],
        3 => vec![true],
        4 => vec![false, true],
        _ => vec![true, false],
    };
    let mut globals = vec![Type::I32];
    globals.extend((0..1 + choices.below(4)).map(|_| pick_type(choices, has_vectors)));
    let imported = choices.below(3);
    let exported = 1 + choices.below(3);
    let count = imported + choices.below(4) + exported;
    let mut functions: Vec<Signature> = Vec::new();
    for _ in 0..count {
        let parameters = if choices.once_in(4) { 14 } else { 5 };
        let mut signature = Signature {
            parameters: pick_types(choices, has_vectors, parameters),
            results: pick_types(choices, has_vectors, 3),
        };
        // Tail calls need functions with the same results.
        if let (Some(other), true) = (functions.last(), choices.once_in(3)) {
            signature.results = other.results.clone();
        }
        functions.push(signature);
    }
    // So that another instance can import them.
    for index in 0..imported {
        if !choices.once_in(3) {
            let other = count - 1 - choices.below(exported);
            functions[index] = functions[other].clone();
        }
    }
    Shape {
        memories,
        globals,
        functions,
        imported,
        exported,
        has_vectors,
    }
}

/// Nodes of a function.
const BUDGET: usize = 160;

fn function(text: &mut String, choices: &mut Choices, shape: &Shape, index: usize) {
    let signature = &shape.functions[index];
    let mut locals = signature.parameters.clone();
    for _ in 0..2 + choices.below(6) {
        locals.push(pick_type(choices, shape.has_vectors));
    }
    let count = locals.len();
    let mut body = Body {
        choices,
        shape,
        text: String::new(),
        locals,
        settable: (0..count).collect(),
        hidden: Vec::new(),
        labels: vec![Label {
            types: signature.results.clone(),
            counter: None,
        }],
        budget: BUDGET,
    };
    let is_exported = index >= shape.callable();
    if is_exported {
        let _ = writeln!(body.text, "i32.const {FUEL} global.set 0");
    } else {
        body.text.push_str(
            "global.get 0 i32.eqz if unreachable end \
             global.get 0 i32.const 1 i32.sub global.set 0\n",
        );
    }
    let statements = 2 + body.choices.below(8);
    body.statements(statements, 3);
    for of in &signature.results {
        body.expression(*of, 3);
    }
    let own = &body.locals[signature.parameters.len()..];
    let locals = list("local", own);
    let export = if is_exported {
        format!("(export \"f{index}\")")
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "(func {export} {}\n{locals}\n{})",
        signature.text(),
        body.text
    );
}
