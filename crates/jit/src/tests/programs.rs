//! Random structured programs, with loops, branches, calls and instructions in the runtime that move
//! objects, against an evaluator.
//!
//! Variables 0 to 3 are tagged (fixnums, or words that look like pairs and that collections move), 4
//! and 5 are floats; each has the register of its number. Every state names all variables, so whatever
//! a program does, leaving at its end shows everything.

use canny_spesh::graph::{
    BlockId, Callee, Comparison, Condition, FixnumOperation, FloatOperation, Op, Representation,
    StateId, Terminator, Test,
};
use canny_spesh::types::Type;
use canny_tables::opcodes::{Opcode, encode_abc};
use proptest::prelude::*;

use super::machine::{Builder, FakeCode, LEFT_RESULT, MOVE, Machine, double, edge, fixnum, flonum};
use canny_spesh::graph::NodeId;

const TAGGED: usize = 4;
const VARIABLES: usize = 6;
/// Register of loop counters, by depth.
const COUNTERS: u32 = 6;
/// Where the code has its call, its primitive, its branch and its end.
const CALL: usize = 1;
const PRIMITIVE: usize = 3;
const BRANCH: usize = 5;
const END: usize = 7;

#[derive(Clone, Debug)]
enum Statement {
    Copy(usize, usize),
    Constant(usize, i64),
    /// Adds if both are fixnums.
    Add(usize, usize, usize),
    Float(usize, usize, usize),
    FloatConstant(usize, i8),
    ToFloat(usize, usize),
    /// Result of a call of the identity; collects.
    Call(usize, usize),
    /// Result of the primitive, which adds one to fixnums; collects.
    Runtime,
    If(usize, Vec<Statement>, Vec<Statement>),
    /// A branch in the runtime on variables 0 and 1; collects.
    RuntimeIf(Vec<Statement>, Vec<Statement>),
    Repeat(u8, Vec<Statement>),
    /// Leaves if the variable is no fixnum.
    Guard(usize),
}

#[derive(Clone, Debug, PartialEq)]
struct Variables {
    tagged: [u64; TAGGED],
    floats: [f64; VARIABLES - TAGGED],
}

impl Variables {
    fn collect(&mut self) {
        for word in &mut self.tagged {
            if *word & 7 == 1 {
                *word += MOVE;
            }
        }
    }

    /// Runs statements; an error means left.
    fn run(&mut self, statements: &[Statement]) -> Result<(), ()> {
        for statement in statements {
            match statement {
                Statement::Copy(to, from) => self.tagged[*to] = self.tagged[*from],
                Statement::Constant(to, n) => self.tagged[*to] = fixnum(*n),
                Statement::Add(to, x, y) => {
                    let (x, y) = (self.tagged[*x], self.tagged[*y]);
                    if x & 3 != 0 || y & 3 != 0 {
                        return Err(());
                    }
                    self.tagged[*to] = (x as i64).checked_add(y as i64).ok_or(())? as u64;
                }
                Statement::Float(to, x, y) => self.floats[*to] = self.floats[*x] + self.floats[*y],
                Statement::FloatConstant(to, n) => self.floats[*to] = f64::from(*n) / 2.0,
                Statement::ToFloat(to, x) => {
                    if self.tagged[*x] & 3 != 0 {
                        return Err(());
                    }
                    self.floats[*to] = (self.tagged[*x] as i64 >> 2) as f64;
                }
                Statement::Call(to, x) => {
                    let operand = self.tagged[*x];
                    self.collect();
                    // The argument's slot is the callee's, which the collector does not see.
                    self.tagged[*to] = operand;
                }
                Statement::Runtime => {
                    self.collect();
                    let x = self.tagged[0];
                    self.tagged[1] = if x & 3 == 0 { x.wrapping_add(4) } else { x };
                }
                Statement::If(x, then, otherwise) => {
                    if self.tagged[*x] & 3 == 0 {
                        self.run(then)?;
                    } else {
                        self.run(otherwise)?;
                    }
                }
                Statement::RuntimeIf(then, otherwise) => {
                    self.collect();
                    if (self.tagged[0] as i64) < self.tagged[1] as i64 {
                        self.run(then)?;
                    } else {
                        self.run(otherwise)?;
                    }
                }
                Statement::Repeat(times, body) => {
                    for _ in 0..*times {
                        self.run(body)?;
                    }
                }
                Statement::Guard(x) => {
                    if self.tagged[*x] & 3 != 0 {
                        return Err(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Builds the graph of a program; variables are renamed as it goes.
struct Writer {
    b: Builder,
    variables: Vec<NodeId>,
    counters: Vec<NodeId>,
    identity: NodeId,
}

impl Writer {
    fn state(&mut self, pc: usize) -> StateId {
        let mut registers: Vec<(u32, NodeId)> = (0..).zip(self.variables.clone()).collect();
        registers.extend((COUNTERS..).zip(self.counters.clone()));
        self.b.state(pc, &registers)
    }

    fn block(&mut self) -> BlockId {
        let mut kinds = vec![Representation::Tagged; TAGGED];
        kinds.extend([Representation::Float; VARIABLES - TAGGED]);
        kinds.extend(vec![Representation::Tagged; self.counters.len()]);
        self.b.new_block(&kinds).0
    }

    fn arguments(&self) -> Vec<NodeId> {
        let counters = self.counters.iter();
        self.variables.iter().chain(counters).copied().collect()
    }

    fn enter(&mut self, block: BlockId) {
        self.b.block = block;
        let parameters = self.b.graph.blocks[block.index()].parameters.clone();
        self.variables = parameters[..VARIABLES].to_vec();
        self.counters = parameters[VARIABLES..].to_vec();
    }

    fn split(
        &mut self,
        end: impl FnOnce(&mut Writer, BlockId, BlockId),
        then: &[Statement],
        otherwise: &[Statement],
    ) {
        let (yes, no, join) = (self.block(), self.block(), self.block());
        end(self, yes, no);
        for (block, body) in [(yes, then), (no, otherwise)] {
            self.enter(block);
            self.write(body);
            let arguments = self.arguments();
            self.b.jump(join, &arguments);
        }
        self.enter(join);
    }

    fn write(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Copy(to, from) => self.variables[*to] = self.variables[*from],
            Statement::Constant(to, n) => self.variables[*to] = self.b.fixnum(*n),
            Statement::Add(to, x, y) => {
                let state = self.state(0);
                let (x, y) = (self.variables[*x], self.variables[*y]);
                let x = self.b.guard_fixnum(x, state);
                let y = self.b.guard_fixnum(y, state);
                let sum = Op::Fixnum(FixnumOperation::Add, x, y, state);
                self.variables[*to] = self.b.push(sum);
            }
            Statement::Float(to, x, y) => {
                let (x, y) = (self.variables[TAGGED + x], self.variables[TAGGED + y]);
                let sum = Op::FloatArithmetic(FloatOperation::Add, x, y);
                self.variables[TAGGED + to] = self.b.push(sum);
            }
            Statement::FloatConstant(to, n) => {
                let number = Op::Float(f64::from(*n) / 2.0);
                self.variables[TAGGED + to] = self.b.push(number);
            }
            Statement::ToFloat(to, x) => {
                let state = self.state(0);
                let x = self.b.guard_fixnum(self.variables[*x], state);
                self.variables[TAGGED + to] = self.b.push(Op::FixnumToFloat(x));
            }
            Statement::Call(to, x) => {
                let state = self.state(CALL);
                let callee = Callee::Unknown(self.identity);
                let result = self.b.call(callee, &[self.variables[*x]], state);
                self.variables[*to] = result;
            }
            Statement::Runtime => {
                let state = self.state(PRIMITIVE);
                self.variables[1] = self.b.push(Op::Runtime(state));
            }
            Statement::If(x, then, otherwise) => {
                let condition = Condition::Test(Test::Fixnum, self.variables[*x]);
                let end = |w: &mut Writer, yes, no| {
                    let arguments = w.arguments();
                    w.b.branch(condition, edge(yes, &arguments), edge(no, &arguments));
                };
                self.split(end, then, otherwise);
            }
            Statement::RuntimeIf(then, otherwise) => {
                let state = self.state(BRANCH);
                let end = |w: &mut Writer, yes, no| {
                    let arguments = w.arguments();
                    w.b.end(Terminator::RuntimeBranch {
                        state,
                        taken: edge(yes, &arguments),
                        fall: edge(no, &arguments),
                    });
                };
                self.split(end, then, otherwise);
            }
            Statement::Repeat(times, body) => self.repeat(*times, body),
            Statement::Guard(x) => {
                let state = self.state(0);
                let refined = self.b.guard_fixnum(self.variables[*x], state);
                self.variables[*x] = refined;
            }
        }
    }

    fn repeat(&mut self, times: u8, body: &[Statement]) {
        let start = self.b.fixnum(i64::from(times));
        self.counters.push(start);
        let (head, inside, done) = (self.block(), self.block(), self.block());
        let arguments = self.arguments();
        self.b.jump(head, &arguments);
        self.enter(head);
        let zero = self.b.fixnum(0);
        let counter = self.counters[self.counters.len() - 1];
        let arguments = self.arguments();
        self.b.branch(
            Condition::Fixnums(Comparison::Greater, counter, zero),
            edge(inside, &arguments),
            edge(done, &arguments),
        );
        self.enter(inside);
        self.write(body);
        let state = self.state(0);
        let one = self.b.fixnum(1);
        let last = self.counters.len() - 1;
        let less = Op::Fixnum(FixnumOperation::Subtract, self.counters[last], one, state);
        self.counters[last] = self.b.typed(less, Type::FIXNUM);
        let arguments = self.arguments();
        self.b.jump(head, &arguments);
        self.enter(done);
        self.counters.pop();
    }
}

fn code() -> FakeCode {
    FakeCode::new(
        "program",
        6,
        24,
        vec![
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::Call, 10, 1, 0),
            0x3ff,
            encode_abc(Opcode::CallPrimitive1, 1, 0, 0),
            // The number of a primitive without a leaf function.
            0,
            encode_abc(Opcode::JumpLess, 0, 1, 0),
            1,
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    )
}

fn statement() -> impl Strategy<Value = Statement> {
    let variable = 0..TAGGED;
    let float = 0..VARIABLES - TAGGED;
    let leaf = prop_oneof![
        (variable.clone(), variable.clone()).prop_map(|(x, y)| Statement::Copy(x, y)),
        (variable.clone(), -9i64..9).prop_map(|(x, n)| Statement::Constant(x, n)),
        (variable.clone(), variable.clone(), variable.clone())
            .prop_map(|(x, y, z)| Statement::Add(x, y, z)),
        (float.clone(), float.clone(), float.clone())
            .prop_map(|(x, y, z)| Statement::Float(x, y, z)),
        (float.clone(), any::<i8>()).prop_map(|(x, n)| Statement::FloatConstant(x, n)),
        (float, variable.clone()).prop_map(|(x, y)| Statement::ToFloat(x, y)),
        (variable.clone(), variable.clone()).prop_map(|(x, y)| Statement::Call(x, y)),
        Just(Statement::Runtime),
        variable.clone().prop_map(Statement::Guard),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        let body = prop::collection::vec(inner, 0..5);
        prop_oneof![
            (variable.clone(), body.clone(), body.clone())
                .prop_map(|(x, y, z)| Statement::If(x, y, z)),
            (body.clone(), body.clone()).prop_map(|(x, y)| Statement::RuntimeIf(x, y)),
            (0u8..4, body).prop_map(|(n, x)| Statement::Repeat(n, x)),
        ]
    })
}

fn check(statements: &[Statement], tagged: [u64; TAGGED], floats: [f64; 2]) {
    let mut machine = Machine::new();
    let code = code();
    // The callee collects as the runtime does, in its caller's frame: the primitive of a frame 12 words
    // below.
    let collector = FakeCode::new(
        "collector",
        1,
        8,
        vec![
            encode_abc(Opcode::CallPrimitive2, 0, 0, 0),
            0,
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let identity = machine.closure(&collector, &[]);
    let mut b = Builder::new(&code);
    let mut variables: Vec<NodeId> = (0..TAGGED as u32).map(|r| b.slot(r)).collect();
    for register in TAGGED..VARIABLES {
        let slot = b.slot(register as u32);
        variables.push(b.push(Op::Unbox(slot)));
    }
    let identity = b.word(identity);
    let mut writer = Writer {
        b,
        variables,
        counters: Vec::new(),
        identity,
    };
    writer.write(statements);
    let state = writer.state(END);
    writer.b.end(Terminator::Exit(state));
    machine.install(&writer.b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let mut arguments = tagged.to_vec();
    arguments.extend(floats.map(flonum));
    assert_eq!(machine.call(closure, &arguments), LEFT_RESULT);
    let left = machine.left().unwrap();
    let mut expected = Variables { tagged, floats };
    let is_end = expected.run(statements).is_ok();
    let pc = if is_end { END } else { 0 };
    assert_eq!(left.bytecode, code.snapshot.address(pc));
    let found = Variables {
        tagged: std::array::from_fn(|register| machine.register(register as i32)),
        floats: std::array::from_fn(|index| double(machine.register((TAGGED + index) as i32))),
    };
    assert_eq!(found, expected);
    assert_eq!(machine.register(-2), closure);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn programs_leave_the_frame_as_an_evaluator_says(
        statements in prop::collection::vec(statement(), 1..10),
        pairs in prop::array::uniform4(any::<bool>()),
        numbers in prop::array::uniform4(-50i64..50),
        floats in prop::array::uniform2(-50i32..50),
    ) {
        let tagged = std::array::from_fn(|index| {
            if pairs[index] {
                0x8001 + 16 * index as u64
            } else {
                fixnum(numbers[index])
            }
        });
        check(&statements, tagged, floats.map(f64::from));
    }
}
