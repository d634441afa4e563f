//! Expressions of generated programs: code that leaves one value of a type.
//!
//! An expression may change variables on its way, and leave by a branch.

use std::fmt::Write;

use super::program::{Body, Label, Signature, Type};

const INTEGER_BINARY: &[&str] = &[
    "add", "sub", "shl", "and", "or", "xor", "mul", "shr_s", "shr_u", "rotl", "rotr", "div_s",
    "div_u", "rem_s", "rem_u",
];
const I32_UNARY: &[&str] = &["eqz", "clz", "ctz", "popcnt", "extend8_s", "extend16_s"];
const I64_UNARY: &[&str] = &[
    "clz",
    "ctz",
    "popcnt",
    "extend8_s",
    "extend16_s",
    "extend32_s",
];
const INTEGER_COMPARE: &[&str] = &[
    "eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u",
];
const FLOAT_BINARY: &[&str] = &["add", "sub", "mul", "div", "min", "max", "copysign"];
const FLOAT_UNARY: &[&str] = &["neg", "abs", "sqrt", "ceil", "floor", "trunc", "nearest"];
const FLOAT_COMPARE: &[&str] = &["eq", "ne", "lt", "gt", "le", "ge"];

/// Instructions that make a value of another one: name, operand, result.
const CONVERSIONS: &[(&str, Type, Type)] = &[
    ("i32.wrap_i64", Type::I64, Type::I32),
    ("i32.trunc_sat_f32_s", Type::F32, Type::I32),
    ("i32.trunc_sat_f64_u", Type::F64, Type::I32),
    ("i32.trunc_f64_s", Type::F64, Type::I32),
    ("i32.reinterpret_f32", Type::F32, Type::I32),
    ("i64.extend_i32_s", Type::I32, Type::I64),
    ("i64.extend_i32_u", Type::I32, Type::I64),
    ("i64.trunc_sat_f64_s", Type::F64, Type::I64),
    ("i64.trunc_sat_f32_u", Type::F32, Type::I64),
    ("i64.trunc_f32_u", Type::F32, Type::I64),
    ("i64.reinterpret_f64", Type::F64, Type::I64),
    ("f32.convert_i32_s", Type::I32, Type::F32),
    ("f32.convert_i64_u", Type::I64, Type::F32),
    ("f32.demote_f64", Type::F64, Type::F32),
    ("f32.reinterpret_i32", Type::I32, Type::F32),
    ("f64.convert_i32_u", Type::I32, Type::F64),
    ("f64.convert_i64_s", Type::I64, Type::F64),
    ("f64.promote_f32", Type::F32, Type::F64),
    ("f64.reinterpret_i64", Type::I64, Type::F64),
    ("i32x4.all_true", Type::V128, Type::I32),
    ("v128.any_true", Type::V128, Type::I32),
    ("i8x16.bitmask", Type::V128, Type::I32),
    ("i8x16.extract_lane_s 3", Type::V128, Type::I32),
    ("i16x8.extract_lane_u 6", Type::V128, Type::I32),
    ("i32x4.extract_lane 2", Type::V128, Type::I32),
    ("i64x2.extract_lane 1", Type::V128, Type::I64),
    ("f32x4.extract_lane 3", Type::V128, Type::F32),
    ("f64x2.extract_lane 0", Type::V128, Type::F64),
    ("i8x16.splat", Type::I32, Type::V128),
    ("i32x4.splat", Type::I32, Type::V128),
    ("i64x2.splat", Type::I64, Type::V128),
    ("f64x2.splat", Type::F64, Type::V128),
    ("f32x4.splat", Type::F32, Type::V128),
];

const LOADS: &[(&str, Type)] = &[
    ("i32.load", Type::I32),
    ("i32.load8_s", Type::I32),
    ("i32.load8_u", Type::I32),
    ("i32.load16_s", Type::I32),
    ("i32.load16_u", Type::I32),
    ("i64.load", Type::I64),
    ("i64.load8_s", Type::I64),
    ("i64.load16_u", Type::I64),
    ("i64.load32_s", Type::I64),
    ("i64.load32_u", Type::I64),
    ("f32.load", Type::F32),
    ("f64.load", Type::F64),
    ("v128.load", Type::V128),
    ("v128.load8x8_s", Type::V128),
    ("v128.load32_splat", Type::V128),
    ("v128.load64_zero", Type::V128),
];

const VECTOR_BINARY: &[&str] = &[
    "i8x16.add",
    "i16x8.sub",
    "i32x4.mul",
    "i64x2.add",
    "i64x2.mul",
    "i8x16.swizzle",
    "i8x16.narrow_i16x8_s",
    "i32x4.dot_i16x8_s",
    "i16x8.lt_u",
    "i32x4.gt_s",
    "i64x2.ge_s",
    "v128.and",
    "v128.andnot",
    "v128.xor",
    "i16x8.extmul_low_i8x16_u",
    "i8x16.avgr_u",
    "i16x8.q15mulr_sat_s",
    "i8x16.shuffle 31 0 17 5 16 15 2 30 29 1 8 24 19 3 7 20",
];
const VECTOR_FLOAT: &[(&str, &str)] = &[
    ("f32x4.add", "f32x4"),
    ("f32x4.sub", "f32x4"),
    ("f32x4.div", "f32x4"),
    ("f32x4.min", "f32x4"),
    ("f64x2.mul", "f64x2"),
    ("f64x2.pmax", "f64x2"),
    ("f64x2.lt", "f64x2"),
];
const VECTOR_UNARY: &[&str] = &[
    "v128.not",
    "i8x16.popcnt",
    "i16x8.neg",
    "i32x4.abs",
    "i64x2.extend_high_i32x4_s",
    "f32x4.neg",
    "i32x4.trunc_sat_f32x4_u",
];
const VECTOR_SHIFT: &[&str] = &["i8x16.shl", "i16x8.shr_s", "i32x4.shr_u", "i64x2.shl"];

const OFFSETS: &[u64] = &[
    0,
    0,
    1,
    4,
    8,
    64,
    100,
    65_520,
    65_536,
    0x7fff_fff0,
    0xffff_fff8,
];

impl Body<'_, '_> {
    /// Code that leaves one value.
    pub fn expression(&mut self, of: Type, depth: usize) {
        if depth == 0 || self.budget == 0 || self.choices.is_empty() {
            return self.leaf(of);
        }
        self.budget -= 1;
        match self.choices.below(24) {
            0..4 => self.leaf(of),
            4 | 5 => self.tee(of, depth),
            6 | 7 => self.select(of, depth),
            8 => self.choice(of, depth),
            9 | 10 => self.block(of, depth),
            11 => self.call_for(of, depth),
            12 | 13 => self.load(of, depth),
            14 => {
                self.statement(depth - 1);
                self.expression(of, depth - 1);
            }
            15 => self.branch_through(of, depth),
            16 | 17 => self.conversion(of, depth),
            _ => self.operation(of, depth),
        }
    }

    fn leaf(&mut self, of: Type) {
        match self.choices.below(8) {
            0 | 1 => self.constant(of),
            2 => match self
                .shape
                .globals
                .iter()
                .skip(1)
                .position(|global| *global == of)
            {
                Some(index) => self.put(&format!("global.get {}", index + 1)),
                None => self.constant(of),
            },
            _ => match self.local(of) {
                Some(local) => self.put(&format!("local.get {local}")),
                None => self.constant(of),
            },
        }
    }

    /// A variable of a type.
    fn local(&mut self, of: Type) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.locals.len())
            .filter(|local| self.locals[*local] == of && !self.hidden.contains(local))
            .collect();
        if fitting.is_empty() {
            None
        } else {
            Some(self.choices.choose(&fitting))
        }
    }

    /// A variable of a type that may be changed.
    pub fn settable_local(&mut self, of: Type) -> Option<usize> {
        let fitting = self.settable.iter().copied();
        let fitting: Vec<usize> = fitting.filter(|local| self.locals[*local] == of).collect();
        if fitting.is_empty() {
            None
        } else {
            Some(self.choices.choose(&fitting))
        }
    }

    fn constant(&mut self, of: Type) {
        let text = match of {
            Type::I32 => {
                let edges = [0, 1, -1, 2, 7, 31, 32, 33, 100, i32::MIN, i32::MAX];
                format!("i32.const {}", self.choices.choose(&edges))
            }
            Type::I64 => {
                let edges = [0, 1, -1, 3, 63, 64, 1 << 31, 1 << 32, i64::MIN, i64::MAX];
                let value = if self.choices.once_in(4) {
                    self.choices.word() as i64
                } else {
                    self.choices.choose(&edges)
                };
                format!("i64.const {value}")
            }
            Type::F32 | Type::F64 => {
                let edges = [
                    "0", "1", "-0", "-1.5", "inf", "-inf", "nan", "1e9", "0x1p-126",
                ];
                format!("{}.const {}", of.name(), self.choices.choose(&edges))
            }
            Type::V128 => {
                let (low, high) = (self.choices.byte(), self.choices.byte());
                format!("v128.const i64x2 {low} -{high}")
            }
        };
        self.put(&text);
    }

    fn tee(&mut self, of: Type, depth: usize) {
        self.expression(of, depth - 1);
        if let Some(local) = self.settable_local(of) {
            self.put(&format!("local.tee {local}"));
        }
    }

    fn select(&mut self, of: Type, depth: usize) {
        self.expression(of, depth - 1);
        self.between(depth);
        self.expression(of, depth - 1);
        self.condition(depth - 1);
        self.put("select");
    }

    /// A statement between two operands, now and then.
    fn between(&mut self, depth: usize) {
        if self.choices.once_in(6) {
            self.statement(depth - 1);
        }
    }

    /// A condition: most often a comparison.
    pub fn condition(&mut self, depth: usize) {
        match self.choices.below(8) {
            0 => self.expression(Type::I32, depth),
            1 => {
                self.comparison(depth);
                self.put("i32.eqz");
            }
            2 => {
                self.expression(Type::I64, depth);
                self.put("i64.eqz");
            }
            3 => {
                self.expression(Type::I32, depth);
                self.put("i32.const 8 i32.and");
            }
            _ => self.comparison(depth),
        }
    }

    fn comparison(&mut self, depth: usize) {
        let depth = depth.saturating_sub(1);
        let of = self
            .choices
            .choose(&[Type::I32, Type::I32, Type::I64, Type::F32, Type::F64]);
        self.expression(of, depth);
        self.expression(of, depth);
        let op = match of {
            Type::F32 | Type::F64 => self.choices.choose(FLOAT_COMPARE),
            _ => self.choices.choose(INTEGER_COMPARE),
        };
        self.put(&format!("{}.{op}", of.name()));
    }

    fn choice(&mut self, of: Type, depth: usize) {
        self.condition(depth - 1);
        let _ = write!(self.text, "if (result {}) ", of.name());
        for part in ["else", "end"] {
            self.labels.push(Label {
                types: vec![of],
                counter: None,
            });
            self.statements_at_most(2, depth - 1);
            self.expression(of, depth - 1);
            self.labels.pop();
            self.put(part);
        }
    }

    /// A block with its value, or with parameters too.
    fn block(&mut self, of: Type, depth: usize) {
        let parameters = self.pick_types(2);
        for of in &parameters {
            self.expression(*of, depth - 1);
        }
        let signature = Signature {
            parameters,
            results: vec![of],
        };
        let _ = write!(self.text, "block {} ", signature.text());
        self.labels.push(Label {
            types: vec![of],
            counter: None,
        });
        self.take(&signature.parameters);
        self.statements_at_most(3, depth - 1);
        self.expression(of, depth - 1);
        self.labels.pop();
        self.put("end");
    }

    /// Assigns or drops the newest values.
    pub fn take(&mut self, types: &[Type]) {
        for of in types.iter().rev() {
            match self.settable_local(*of) {
                Some(local) if !self.choices.once_in(4) => self.put(&format!("local.set {local}")),
                _ => self.put("drop"),
            }
        }
    }

    fn call_for(&mut self, of: Type, depth: usize) {
        let fits = |signature: &Signature| signature.results.first() == Some(&of);
        let functions = &self.shape.functions[..self.shape.callable()];
        let fitting: Vec<usize> = (0..functions.len())
            .filter(|index| fits(&functions[*index]))
            .collect();
        if fitting.is_empty() {
            return self.operation(of, depth);
        }
        let index = self.choices.choose(&fitting);
        let results = self.call(index, depth - 1);
        self.take(&results[1..]);
    }

    /// Calls a function, directly or by the table; gives the types of its results.
    pub fn call(&mut self, index: usize, depth: usize) -> Vec<Type> {
        let signature = self.shape.functions[index].clone();
        self.arguments(&signature, depth);
        if self.choices.once_in(4) {
            self.table_index(index, depth);
            self.put(&format!("call_indirect {}", signature.text()));
        } else {
            self.put(&format!("call {index}"));
        }
        signature.results
    }

    pub fn arguments(&mut self, signature: &Signature, depth: usize) {
        // Many arguments would use all of the budget.
        let depth = match signature.parameters.len() {
            0..4 => depth,
            _ => depth.min(1),
        };
        for of in &signature.parameters {
            self.expression(*of, depth);
        }
    }

    /// The index of a function in the table, or now and then any.
    pub fn table_index(&mut self, index: usize, depth: usize) {
        if self.choices.once_in(5) {
            self.expression(Type::I32, depth)
        } else {
            self.put(&format!("i32.const {index}"))
        }
    }

    fn load(&mut self, of: Type, depth: usize) {
        let loads: Vec<&str> = LOADS
            .iter()
            .filter(|(_, result)| *result == of)
            .map(|(load, _)| *load)
            .collect();
        let load = self.choices.choose(&loads);
        let memory = self.address(depth - 1);
        self.put(&format!("{load} {memory}"));
    }

    /// An address; gives the memory and the offset of the access.
    pub fn address(&mut self, depth: usize) -> String {
        let memory = self.choices.below(self.shape.memories.len());
        let is_wide = self.shape.memories[memory];
        let form = self.choices.below(8);
        match form {
            0 => self.leaf(Type::I32),
            1 => {
                let address = self.choices.byte();
                self.put(&format!("i32.const {address}"));
            }
            2 => {
                self.expression(Type::I32, depth);
                self.put("i32.const 255 i32.and i32.const 2 i32.shl");
                self.expression(Type::I32, depth);
                self.put("i32.const 1023 i32.and i32.add");
            }
            3 => {
                self.expression(Type::I32, depth);
                self.put("i32.const 1023 i32.and i32.const 16 i32.add");
            }
            4 => {
                self.expression(Type::I32, depth);
                self.put("i32.const 127 i32.and i32.const 8 i32.mul");
            }
            _ => {
                self.expression(Type::I32, depth);
                self.put("i32.const 4095 i32.and");
            }
        }
        if is_wide {
            self.put("i64.extend_i32_u");
        }
        let offset = if self.choices.once_in(3) {
            self.choices.choose(OFFSETS)
        } else {
            u64::from(self.choices.byte())
        };
        format!("{memory} offset={offset}")
    }

    /// A value that a branch takes along if it is taken.
    fn branch_through(&mut self, of: Type, depth: usize) {
        let fitting: Vec<usize> = (0..self.labels.len())
            .filter(|label| self.labels[*label].types == [of])
            .collect();
        self.expression(of, depth - 1);
        if fitting.is_empty() {
            return;
        }
        let label = self.choices.choose(&fitting);
        self.condition(depth - 1);
        self.guard(&[label]);
        self.branch_if(label);
    }

    fn conversion(&mut self, of: Type, depth: usize) {
        let has_vectors = self.shape.has_vectors;
        let fitting: Vec<(&str, Type)> = CONVERSIONS
            .iter()
            .filter(|(_, from, to)| *to == of && (has_vectors || *from != Type::V128))
            .map(|(name, from, _)| (*name, *from))
            .collect();
        let (name, from) = self.choices.choose(&fitting);
        let shows_bits = name.contains("reinterpret") || name.ends_with("splat");
        if shows_bits && matches!(from, Type::F32 | Type::F64) {
            self.canonical_expression(from, depth - 1);
        } else {
            self.expression(from, depth - 1);
        }
        self.put(name);
    }

    fn operation(&mut self, of: Type, depth: usize) {
        match of {
            Type::I32 | Type::I64 => self.integer_operation(of, depth),
            Type::F32 | Type::F64 => self.float_operation(of, depth),
            Type::V128 => self.vector_operation(depth),
        }
    }

    fn integer_operation(&mut self, of: Type, depth: usize) {
        let name = of.name();
        match self.choices.below(8) {
            0 => {
                self.expression(of, depth - 1);
                let op = match of {
                    Type::I32 => self.choices.choose(I32_UNARY),
                    _ => self.choices.choose(I64_UNARY),
                };
                self.put(&format!("{name}.{op}"));
            }
            1 if of == Type::I32 => self.condition(depth),
            _ => {
                self.expression(of, depth - 1);
                self.between(depth);
                self.expression(of, depth - 1);
                let op = self.choices.choose(INTEGER_BINARY);
                if (op.starts_with("div") || op.starts_with("rem")) && !self.choices.once_in(4) {
                    self.put(&format!("{name}.const 1 {name}.or"));
                }
                self.put(&format!("{name}.{op}"));
            }
        }
    }

    fn float_operation(&mut self, of: Type, depth: usize) {
        let name = of.name();
        if self.choices.once_in(4) {
            self.expression(of, depth - 1);
            let op = self.choices.choose(FLOAT_UNARY);
            return self.put(&format!("{name}.{op}"));
        }
        self.expression(of, depth - 1);
        self.between(depth);
        let op = self.choices.choose(FLOAT_BINARY);
        // The sign of what is no number can be seen.
        if op == "copysign" {
            self.canonical_expression(of, depth - 1);
        } else {
            self.expression(of, depth - 1);
        }
        self.put(&format!("{name}.{op}"));
    }

    /// A float whose bits may be seen.
    pub fn canonical_expression(&mut self, of: Type, depth: usize) {
        let name = of.name();
        match self.choices.below(4) {
            // These are always numbers.
            0 => {
                self.expression(Type::I32, depth);
                self.put(&format!("{name}.convert_i32_s"));
                self.expression(Type::I64, depth);
                self.put(&format!("{name}.convert_i64_u"));
                let op = self.choices.choose(&["add", "sub", "mul", "min", "max"]);
                self.put(&format!("{name}.{op}"));
            }
            1 => {
                let memory = self.address(depth);
                self.put(&format!("{name}.load {memory}"));
            }
            _ => {
                self.expression(of, depth);
                let value = self.hidden_local(of);
                let get = format!("local.get {value}");
                self.put(&format!(
                    "local.tee {value} {name}.const nan {get} {get} {name}.eq select"
                ));
            }
        }
    }

    fn vector_operation(&mut self, depth: usize) {
        let vector = Type::V128;
        match self.choices.below(8) {
            0 => {
                self.expression(vector, depth - 1);
                let op = self.choices.choose(VECTOR_UNARY);
                self.put(op);
            }
            1 => {
                self.expression(vector, depth - 1);
                self.expression(Type::I32, depth - 1);
                let op = self.choices.choose(VECTOR_SHIFT);
                self.put(op);
            }
            2 => {
                for _ in 0..3 {
                    self.expression(vector, depth - 1);
                }
                self.put("v128.bitselect");
            }
            3 => {
                self.expression(vector, depth - 1);
                let (op, of) = self.choices.choose(&[
                    ("i8x16.replace_lane 5", Type::I32),
                    ("i32x4.replace_lane 3", Type::I32),
                    ("i64x2.replace_lane 1", Type::I64),
                ]);
                self.expression(of, depth - 1);
                self.put(op);
            }
            4 => {
                let (op, lanes) = self.choices.choose(VECTOR_FLOAT);
                self.expression(vector, depth - 1);
                self.expression(vector, depth - 1);
                let value = self.hidden_local(vector);
                let get = format!("local.get {value}");
                let nan = "v128.const i64x2 0x7ff8000000000000 0x7ff8000000000000";
                self.put(&format!(
                    "{op} local.tee {value} {nan} {get} {get} {lanes}.eq v128.bitselect"
                ));
            }
            5 => {
                let memory = self.address(depth - 1);
                self.expression(vector, depth - 1);
                let lane = self
                    .choices
                    .choose(&["8_lane", "16_lane", "32_lane", "64_lane"]);
                self.put(&format!("v128.load{lane} {memory} 1"));
            }
            _ => {
                self.expression(vector, depth - 1);
                self.between(depth);
                self.expression(vector, depth - 1);
                let op = self.choices.choose(VECTOR_BINARY);
                self.put(op);
            }
        }
    }
}
