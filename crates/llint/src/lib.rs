//! The low-level interpreter, generated to machine code at build time
