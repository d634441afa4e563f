//! Looking a symbol, a character or a small fixnum up in a hash table of the machine: where one of the
//! first two slots of its hash leads to its entry, or to none, no function is called.
//!
//! This does what `Table::locate` of the library does with its first slots; both have their constants
//! from `canny_tables::hashing` and `layout::hash_table`. Such keys are the same only if they are the
//! same word, whatever the table's equivalence, and their hashes do not change. A table of strings has
//! none of them.

use canny_spesh::graph::NodeId;
use canny_spesh::types::Type;
use canny_tables::hashing::{MIX_FACTOR, MIX_OFFSET, process_seed};
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, FIXNUM_SHIFT, hash_table, symbol, thread};
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::segment::Segment;
use crate::JitError;

/// Action on the entry of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TableUse {
    /// Gives its value.
    Value,
    /// Gives `#t`.
    Known,
    /// Changes its value.
    Change,
}

impl TableUse {
    pub(super) fn of(primitive: &str) -> Option<TableUse> {
        Some(match primitive {
            "%hash-table-ref" => TableUse::Value,
            "%hash-table-contains?" => TableUse::Known,
            "%hash-table-set!" => TableUse::Change,
            _ => return None,
        })
    }
}

/// Values that a look-up works with.
struct Parts {
    index: Value,
    /// Bytes of the index but for the last slot.
    mask: Value,
    entries: Value,
    /// The number of entries.
    room: Value,
    hash: Value,
    key: Value,
}

impl Segment<'_, '_> {
    /// Uses the entry of a key and continues with what that gives, or goes to `slow` without having
    /// done anything.
    pub(super) fn use_entry(&mut self, action: TableUse, words: &[NodeId], slow: Block) -> Value {
        let (table_node, key_node) = (words[0], words[1]);
        // Others may change the table meanwhile: then its lock has to be taken.
        let others = self.load(I64, self.thread, thread::HAS_OTHERS);
        let is_alone = self.new_block();
        self.builder.ins().brif(others, slow, &[], is_alone, &[]);
        self.begin(is_alone);
        let (table, key) = (self.tagged(table_node), self.tagged(key_node));
        let is_table = self.new_block();
        self.kind_test(Kind::HashTable, table_node, table, is_table, slow);
        self.begin(is_table);
        let hash = self.hash_of_key(key_node, key, slow);

        let field = |index: usize| FIELD0 + 8 * index as i32;
        let index = self.load(I64, table, field(hash_table::INDEX));
        let bytes = self.length(index);
        // The number of slots is a power of two.
        let mask = self.builder.ins().iadd_imm_s(bytes, -8);
        let entries = self.load(I64, table, field(hash_table::ENTRIES));
        let room = self.length(entries);
        let room = self.builder.ins().ushr_imm_u(room, 1);
        let first = self.builder.ins().ishl_imm_u(hash, 3);
        let (found, again, empty) = (self.new_block(), self.new_block(), self.cold_block());
        let place = self.builder.append_block_param(found, I64);
        let parts = Parts {
            index,
            mask,
            entries,
            room,
            hash,
            key,
        };
        self.try_slot(&parts, first, found, again, empty);
        self.begin(again);
        let second = self.builder.ins().iadd_imm_s(first, 8);
        self.try_slot(&parts, second, found, slow, empty);
        let done = self.new_block();
        let result = self.builder.append_block_param(done, I64);
        self.begin(empty);
        let default = match action {
            TableUse::Value => Some(self.tagged(words[2])),
            TableUse::Known => Some(self.word(layout::FALSE)),
            TableUse::Change => None,
        };
        match default {
            // A table of strings refuses the key.
            Some(default) => {
                let equivalence = self.load(I64, table, field(hash_table::EQUIVALENCE));
                let strings = (hash_table::STRINGS << FIXNUM_SHIFT) as i64;
                let is_refused = self
                    .builder
                    .ins()
                    .icmp_imm_s(IntCC::Equal, equivalence, strings);
                self.builder
                    .ins()
                    .brif(is_refused, slow, &[], done, &[default.into()]);
            }
            None => {
                self.builder.ins().jump(slow, &[]);
            }
        }
        self.begin(found);
        let found = match action {
            TableUse::Value => self.load(I64, place, FIELD0 + 8),
            TableUse::Known => self.word(layout::TRUE),
            TableUse::Change => {
                self.store_with_barrier(words[2], place, FIELD0 + 8);
                self.word(layout::UNSPECIFIED)
            }
        };
        self.builder.ins().jump(done, &[found.into()]);
        self.begin(done);
        result
    }

    /// Goes to `found` with the address of the entry that a slot leads to, if the key is there, and to
    /// `empty` if it leads nowhere.
    fn try_slot(&mut self, parts: &Parts, offset: Value, found: Block, other: Block, empty: Block) {
        let place = self.builder.ins().band(offset, parts.mask);
        let place = self.builder.ins().iadd(parts.index, place);
        let slot = self.load(I64, place, FIELD0);
        // The hash is above the number of the entry, which counts from one.
        let above = self.builder.ins().ishl_imm_u(parts.hash, 32);
        let number = self.builder.ins().isub(slot, above);
        let entry = self.builder.ins().iadd_imm_s(number, -1);
        let below = IntCC::UnsignedLessThan;
        let is_slot = self.builder.ins().icmp(below, entry, parts.room);
        let (has_slot, none) = (self.new_block(), self.cold_block());
        self.builder.ins().brif(is_slot, has_slot, &[], none, &[]);
        self.begin(none);
        self.builder.ins().brif(slot, other, &[], empty, &[]);
        self.begin(has_slot);
        let offset = self.builder.ins().ishl_imm_u(entry, 4);
        let place = self.builder.ins().iadd(parts.entries, offset);
        let there = self.load(I64, place, FIELD0);
        let same = self.builder.ins().icmp(IntCC::Equal, there, parts.key);
        self.builder
            .ins()
            .brif(same, found, &[place.into()], other, &[]);
    }

    /// The number of associations of a table that keeps all of them alive; false if the leaf function is
    /// another one.
    pub(super) fn count_of_table(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        operand: NodeId,
    ) -> Result<bool, JitError> {
        if leaf.row().primitive != "%hash-table-count" {
            return Ok(false);
        }
        let function = self.leaf_function(leaf)?;
        let table = self.tagged(operand);
        let (is_table, strong) = (self.new_block(), self.new_block());
        let (slow, done) = (self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        self.kind_test(Kind::HashTable, operand, table, is_table, slow);
        self.begin(is_table);
        let field = |index: usize| FIELD0 + 8 * index as i32;
        let weakness = self.load(I64, table, field(hash_table::WEAKNESS));
        self.builder.ins().brif(weakness, slow, &[], strong, &[]);
        self.begin(strong);
        let count = self.load(I64, table, field(hash_table::COUNT));
        self.builder.ins().jump(done, &[count.into()]);
        self.begin(slow);
        let answer = self.call_leaf(id, function, &[operand])?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(true)
    }

    fn hash_of_key(&mut self, node: NodeId, key: Value, slow: Block) -> Value {
        let ty = self.procedure.graph.node(node).ty;
        let (number, other, done) = (self.new_block(), self.new_block(), self.new_block());
        let hash = self.builder.append_block_param(done, I64);
        if !ty.may_be(Type::FIXNUM) {
            self.builder.ins().jump(other, &[]);
        } else {
            self.masked_branch(key, 3, 0, number, other);
        }
        self.begin(number);
        let shift = i64::from(FIXNUM_SHIFT);
        let bits = self.builder.ins().ushr_imm_u(key, shift);
        let high = self.builder.ins().ushr_imm_u(key, 32 + shift);
        let is_small = self.builder.ins().icmp_imm_s(IntCC::Equal, high, 0);
        self.builder
            .ins()
            .brif(is_small, done, &[bits.into()], slow, &[]);

        self.begin(other);
        let (is_symbol, mixed) = (self.new_block(), self.new_block());
        let own = self.builder.append_block_param(mixed, I64);
        let no_symbol = if ty.may_be(Type::CHARACTER) {
            self.cold_block()
        } else {
            slow
        };
        self.kind_test(Kind::Symbol, node, key, is_symbol, no_symbol);
        if no_symbol != slow {
            // A character is hashed as the word that it is.
            self.begin(no_symbol);
            let is_character = self.new_block();
            self.masked_branch(key, 0xff, layout::CHARACTER_LOW_BYTE, is_character, slow);
            self.begin(is_character);
            self.builder.ins().jump(mixed, &[key.into()]);
        }
        self.begin(is_symbol);
        let known = self.load(I64, key, FIELD0 + 8 * symbol::HASH as i32);
        self.builder.ins().jump(mixed, &[known.into()]);
        self.begin(mixed);
        let seed = self.word(process_seed() ^ MIX_OFFSET);
        let state = self.builder.ins().bxor(own, seed);
        let factor = self.word(MIX_FACTOR);
        let low = self.builder.ins().imul(state, factor);
        let high = self.builder.ins().umulhi(state, factor);
        let mixed = self.builder.ins().bxor(low, high);
        let folded = self.builder.ins().ushr_imm_u(mixed, 32);
        let folded = self.builder.ins().bxor(mixed, folded);
        let folded = self.builder.ins().band_imm_s(folded, 0xffff_ffff);
        self.builder.ins().jump(done, &[folded.into()]);
        self.begin(done);
        hash
    }
}
