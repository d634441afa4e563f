//! Core language to optimized core to bytecode; disassembler and verifier
