//! Orders the moves of a loop's new values into its variables.

/// One step of a sequentialised parallel move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Register written.
    pub to: u8,
    /// Register read.
    pub from: u8,
}

/// Steps that have the effect of making all `moves` at once, using `scratch` to break cycles. The
/// targets are distinct; `scratch` is neither a source nor a target.
pub fn sequentialise(moves: &[Move], scratch: u8) -> Vec<Move> {
    let mut pending: Vec<Move> = moves
        .iter()
        .copied()
        .filter(|step| step.to != step.from)
        .collect();
    let mut steps = Vec::with_capacity(pending.len());
    while !pending.is_empty() {
        let free = pending
            .iter()
            .position(|step| pending.iter().all(|other| other.from != step.to));
        match free {
            Some(index) => steps.push(pending.swap_remove(index)),
            None => {
                // Only cycles are left: park one source, which frees the target that held it.
                let from = pending[0].from;
                steps.push(Move { to: scratch, from });
                pending
                    .iter_mut()
                    .filter(|step| step.from == from)
                    .for_each(|s| s.from = scratch);
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_do_what_the_parallel_move_does(
            targets in proptest::sample::subsequence((0u8..12).collect::<Vec<_>>(), 0..12),
            sources in proptest::collection::vec(0u8..12, 12),
        ) {
            let moves: Vec<Move> = targets
                .iter()
                .zip(&sources)
                .map(|(to, from)| Move { to: *to, from: *from })
                .collect();
            let before: Vec<u32> = (100..113).collect();
            let mut expected = before.clone();
            for step in &moves {
                expected[usize::from(step.to)] = before[usize::from(step.from)];
            }
            let mut actual = before;
            for step in sequentialise(&moves, 12) {
                actual[usize::from(step.to)] = actual[usize::from(step.from)];
            }
            prop_assert_eq!(&actual[..12], &expected[..12]);
        }
    }
}
