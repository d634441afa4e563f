//! Leaf functions as expressions, for the tables of rows.

/// A leaf function as an expression.
macro_rules! leaf {
    (|$thread:pat_param, $x:pat_param, $y:pat_param, $z:pat_param| $body:expr) => {{
        extern "C" fn leaf($thread: &mut InPlace, $x: Word, $y: Word, $z: Word) -> Word {
            $body
        }
        leaf
    }};
}
