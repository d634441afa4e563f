//! The numeric tower on plain Rust values: reading, printing, arithmetic
