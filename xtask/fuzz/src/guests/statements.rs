//! Statements of generated programs: code that leaves the operand stack as it was.
//!
//! Each branch back to a loop takes one off its counter.

use std::fmt::Write;

use super::program::{Body, Label, Signature, Type};

const STORES: &[(&str, Type)] = &[
    ("i32.store", Type::I32),
    ("i32.store8", Type::I32),
    ("i32.store16", Type::I32),
    ("i64.store", Type::I64),
    ("i64.store8", Type::I64),
    ("i64.store16", Type::I64),
    ("i64.store32", Type::I64),
    ("f32.store", Type::F32),
    ("f64.store", Type::F64),
    ("v128.store", Type::V128),
];

impl Body<'_, '_> {
    pub fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            self.statement(depth);
            self.text.push('\n');
        }
    }

    pub fn statements_at_most(&mut self, most: usize, depth: usize) {
        let count = self.choices.below(most + 1);
        self.statements(count, depth);
    }

    pub fn statement(&mut self, depth: usize) {
        if depth == 0 || self.budget == 0 || self.choices.is_empty() {
            return self.permute();
        }
        self.budget -= 1;
        match self.choices.below(20) {
            0..4 => self.set(depth),
            4..7 => self.store(depth),
            7 => self.conditional(depth),
            8 | 9 => self.repeat(depth),
            10 => self.void_block(depth),
            11 | 12 => self.branch(depth),
            13 => self.branch_table(depth),
            14 => self.set_global(depth),
            15 => {
                let index = self.choices.below(self.shape.callable().max(1));
                if index < self.shape.callable() {
                    let results = self.call(index, depth - 1);
                    self.take(&results);
                }
            }
            16 => self.permute(),
            17 => self.bulk(depth),
            18 => self.leave(depth),
            _ => {
                let of = self.pick_type();
                self.expression(of, depth - 1);
                self.put("drop");
            }
        }
    }

    fn set(&mut self, depth: usize) {
        let of = self.pick_type();
        if let Some(local) = self.settable_local(of) {
            self.expression(of, depth);
            self.put(&format!("local.set {local}"));
        }
    }

    fn set_global(&mut self, depth: usize) {
        let index = 1 + self.choices.below(self.shape.globals.len() - 1);
        self.expression(self.shape.globals[index], depth);
        self.put(&format!("global.set {index}"));
    }

    fn store(&mut self, depth: usize) {
        let count = STORES.len() - usize::from(!self.shape.has_vectors);
        let (store, of) = self.choices.choose(&STORES[..count]);
        let memory = self.address(depth - 1);
        match of {
            Type::F32 | Type::F64 => self.canonical_expression(of, depth - 1),
            _ => self.expression(of, depth),
        }
        self.put(&format!("{store} {memory}"));
    }

    /// Variables that get each other's values.
    fn permute(&mut self) {
        let of = self.pick_type();
        let count = 1 + self.choices.below(3);
        let locals: Vec<usize> = (0..2 * count)
            .filter_map(|_| self.settable_local(of))
            .collect();
        let (from, to) = locals.split_at(locals.len() / 2);
        for local in from {
            self.put(&format!("local.get {local}"));
        }
        for local in to {
            self.put(&format!("local.set {local}"));
        }
    }

    fn conditional(&mut self, depth: usize) {
        self.condition(depth - 1);
        let has_else = self.choices.once_in(2);
        self.put("if");
        self.open(Vec::new());
        self.statements_at_most(3, depth - 1);
        if has_else {
            self.put("else");
            self.statements_at_most(3, depth - 1);
        }
        self.close();
    }

    fn open(&mut self, types: Vec<Type>) {
        self.labels.push(Label {
            types,
            counter: None,
        });
    }

    fn close(&mut self) {
        self.labels.pop();
        self.put("end");
    }

    fn void_block(&mut self, depth: usize) {
        let results = self.pick_types(3);
        let _ = write!(
            self.text,
            "block {} ",
            Signature {
                parameters: Vec::new(),
                results: results.clone(),
            }
            .text()
        );
        self.open(results.clone());
        self.statements_at_most(4, depth - 1);
        for of in &results {
            self.expression(*of, depth - 1);
        }
        self.close();
        self.take(&results);
    }

    /// A loop that counts down, perhaps with values that its turns pass on.
    fn repeat(&mut self, depth: usize) {
        let signature = Signature {
            parameters: self.pick_types(2),
            results: self.pick_types(2),
        };
        for of in &signature.parameters {
            self.expression(*of, depth - 1);
        }
        let counter = self.own_local(Type::I32);
        let turns = 1 + self.choices.below(6);
        let _ = write!(
            self.text,
            "i32.const {turns} local.set {counter} loop {} ",
            signature.text()
        );
        self.labels.push(Label {
            types: signature.parameters.clone(),
            counter: Some(counter),
        });
        let own = self.labels.len() - 1;
        self.take(&signature.parameters);
        self.statements_at_most(4, depth - 1);
        for of in &signature.parameters {
            self.expression(*of, depth - 1);
        }
        match self.choices.below(3) {
            0 => {
                self.put("i32.const 1");
                self.guard(&[own]);
            }
            _ => {
                self.condition(depth - 1);
                self.guard(&[own]);
            }
        }
        self.branch_if(own);
        self.take(&signature.parameters);
        for of in &signature.results {
            self.expression(*of, depth - 1);
        }
        self.close();
        self.take(&signature.results);
    }

    /// Counts a turn of the labels that are loops: the condition stays true while there are some left.
    pub fn guard(&mut self, labels: &[usize]) {
        for label in labels {
            let Some(counter) = self.labels[*label].counter else {
                continue;
            };
            let _ = write!(
                self.text,
                "local.get {counter} i32.const 1 i32.sub local.tee {counter} "
            );
            let test = self.choices.choose(&[
                "i32.const 0 i32.gt_s i32.and",
                "i32.const 0 i32.le_s i32.eqz i32.and",
                "i32.const 1 i32.lt_s i32.const 0 i32.eq i32.and",
                "i32.const 0 i32.gt_s i32.and i32.const 0 i32.ne",
            ]);
            self.put(test);
        }
    }

    pub fn branch_if(&mut self, label: usize) {
        let depth = self.labels.len() - 1 - label;
        self.put(&format!("br_if {depth}"));
    }

    fn branch(&mut self, depth: usize) {
        let label = self.choices.below(self.labels.len());
        let types = self.labels[label].types.clone();
        for of in &types {
            self.expression(*of, depth - 1);
        }
        let is_loop = self.labels[label].counter.is_some();
        if !is_loop && self.choices.once_in(8) {
            let distance = self.labels.len() - 1 - label;
            return self.put(&format!("br {distance}"));
        }
        self.condition(depth - 1);
        self.guard(&[label]);
        self.branch_if(label);
        self.take(&types);
    }

    fn branch_table(&mut self, depth: usize) {
        let first = self.choices.below(self.labels.len());
        let types = self.labels[first].types.clone();
        let fitting: Vec<usize> = (0..self.labels.len())
            .filter(|label| self.labels[*label].types == types)
            .collect();
        let count = 1 + self.choices.below(4);
        let targets: Vec<usize> = (0..count).map(|_| self.choices.choose(&fitting)).collect();
        self.put("i32.const 1");
        self.guard(&targets);
        self.put("if");
        self.open(Vec::new());
        for of in &types {
            self.expression(*of, depth - 1);
        }
        self.expression(Type::I32, depth - 1);
        if self.choices.once_in(2) {
            self.put("i32.const 3 i32.and");
        }
        self.put("br_table");
        for target in &targets {
            let distance = self.labels.len() - 1 - target;
            self.put(&distance.to_string());
        }
        self.close();
    }

    /// Operations on many bytes.
    fn bulk(&mut self, depth: usize) {
        let memory = self.choices.below(self.shape.memories.len());
        let word = if self.shape.memories[memory] {
            Type::I64
        } else {
            Type::I32
        };
        let name = word.name();
        let small = |body: &mut Self, mask: u32, of: Type| {
            body.expression(of, depth - 1);
            body.put(&format!("{0}.const {mask} {0}.and", of.name()));
        };
        match self.choices.below(4) {
            0 => {
                small(self, 4095, word);
                small(self, 4095, word);
                small(self, 255, word);
                self.put(&format!("memory.copy {memory} {memory}"));
            }
            1 => {
                small(self, 4095, word);
                self.expression(Type::I32, depth - 1);
                small(self, 255, word);
                self.put(&format!("memory.fill {memory}"));
            }
            2 => {
                small(self, 1, word);
                self.put(&format!("memory.grow {memory}"));
                self.take(&[word]);
            }
            _ => {
                self.put(&format!("memory.size {memory} {name}.const 2 {name}.shl"));
                self.take(&[word]);
            }
        }
    }

    /// Returns, or calls in place of returning, if a condition holds.
    fn leave(&mut self, depth: usize) {
        let results = self.labels[0].types.clone();
        let functions = &self.shape.functions[..self.shape.callable()];
        let fitting: Vec<usize> = (0..functions.len())
            .filter(|index| functions[*index].results == results)
            .collect();
        self.condition(depth - 1);
        self.put("if");
        self.open(Vec::new());
        if fitting.is_empty() || self.choices.once_in(2) {
            for of in &results {
                self.expression(*of, depth - 1);
            }
            self.put("return");
        } else {
            let index = self.choices.choose(&fitting);
            let signature = self.shape.functions[index].clone();
            self.arguments(&signature, depth - 1);
            if self.choices.once_in(3) {
                self.table_index(index, depth - 1);
                self.put(&format!("return_call_indirect {}", signature.text()));
            } else {
                self.put(&format!("return_call {index}"));
            }
        }
        self.close();
    }
}
