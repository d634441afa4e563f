//! Tests of tables for a terminal.
