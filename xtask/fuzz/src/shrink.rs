//! Smaller inputs with the same kind of problem, for targets whose inputs are lists of choices.

use std::time::{Duration, Instant};

/// The time after which the smallest input so far is good enough.
const TIME: Duration = Duration::from_secs(20);

/// Leaves parts of an input out, and sets bytes to zero, as long as there is a problem.
pub fn smallest(
    mut input: Vec<u8>,
    mut problem: String,
    check: impl Fn(&[u8]) -> Option<String>,
) -> (Vec<u8>, String) {
    let end = Instant::now() + TIME;
    let mut step = input.len() / 2;
    while step > 0 {
        let before = input.clone();
        let mut at = 0;
        while at < input.len() && Instant::now() < end {
            let behind = (at + step).min(input.len());
            let without = [&input[..at], &input[behind..]].concat();
            let mut zero = input.clone();
            zero[at..behind].fill(0);
            let smaller = [without, zero].into_iter().find_map(|candidate| {
                let found = (candidate != input).then(|| check(&candidate))??;
                Some((candidate, found))
            });
            match smaller {
                Some((smaller, found)) => {
                    at += if smaller.len() < input.len() { 0 } else { step };
                    (input, problem) = (smaller, found);
                }
                None => at += step,
            }
        }
        if Instant::now() >= end {
            break;
        }
        if step > 1 || input == before {
            step /= 2;
        }
    }
    (input, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_problem_needs_is_left() {
        let input: Vec<u8> = (0..100).collect();
        let check = |input: &[u8]| {
            let is_wrong = input.contains(&17) && input.contains(&80);
            is_wrong.then(|| "both".to_owned())
        };
        let (small, problem) = smallest(input, "both".into(), check);
        assert_eq!((small, problem.as_str()), (vec![17, 80], "both"));
    }
}
