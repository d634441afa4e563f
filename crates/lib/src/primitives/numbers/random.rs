//! Random numbers: one generator for each machine, seeded by the system unless the program seeds it.
//!
//! The generator is xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64. It is no source
//! of secrets.

use std::hash::{BuildHasher, RandomState};

use canny_locks::{Mutex, MutexGuard};
use canny_number::{self as number, Number};
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use super::number_at;
use crate::arguments::{Call, implementations};
use crate::host;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "random-integer" => random_integer;
    "random-real" => random_real;
    "random-seed!" => random_seed;
};

/// The state of a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Generator {
    words: [u64; 4],
}

/// The generator of a machine.
pub(crate) struct RandomSource(Mutex<Generator>);

impl Default for RandomSource {
    fn default() -> RandomSource {
        RandomSource(Mutex::new(Generator::new()))
    }
}

/// The generator of the thread's machine. Not to be held across an allocation.
fn generator(thread: &Thread) -> MutexGuard<'_, Generator> {
    let source: &RandomSource = host::state(thread.vm());
    source.0.lock()
}

impl Generator {
    /// A generator that nobody can foresee.
    fn new() -> Generator {
        let seed = canny_replay::ask(canny_replay::Kind::Random, || {
            RandomState::new().hash_one(std::process::id())
        });
        Generator::seeded(seed)
    }

    fn seeded(seed: u64) -> Generator {
        let mut state = seed;
        let words = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        });
        Generator { words }
    }

    fn next(&mut self) -> u64 {
        let words = &mut self.words;
        let result = words[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = words[1] << 17;
        words[2] ^= words[0];
        words[3] ^= words[1];
        words[1] ^= words[2];
        words[0] ^= words[3];
        words[2] ^= shifted;
        words[3] = words[3].rotate_left(45);
        result
    }

    /// A number from 0 to below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        // Multiplication maps the words onto the range; the products that would make some results
        // likelier than others are refused (Lemire 2019).
        let refused_below = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            if product as u64 >= refused_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// A magnitude of so many bits, in limbs.
    fn bits(&mut self, bits: u64) -> Vec<u64> {
        let limbs = bits.div_ceil(64) as usize;
        let mut words: Vec<u64> = (0..limbs).map(|_| self.next()).collect();
        if let (Some(last), rest) = (words.last_mut(), bits % 64)
            && rest != 0
        {
            *last &= (1 << rest) - 1;
        }
        words
    }

    /// A number strictly between 0 and 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

fn random_integer(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bound = number_at(thread, call, 0)?;
    if !number::is_exact_integer(&bound) {
        return Err(call.type_error(thread, 0, "exact integer"));
    }
    if number::less(&bound, &Number::ONE).unwrap_or(true) {
        return Err(call.range_error(thread, 0, "the bound is above zero"));
    }
    let result = {
        let mut generator = generator(thread);
        match bound.to_i64() {
            Some(bound) => Number::from(generator.below(bound as u64)),
            None => below_big(&mut generator, &bound),
        }
    };
    thread.number(&result)
}

fn below_big(generator: &mut Generator, bound: &Number) -> Number {
    let bits = number::integer_length(bound)
        .ok()
        .and_then(|length| length.to_i64())
        .unwrap_or(64);
    loop {
        let candidate = Number::from_limbs(false, &generator.bits(bits as u64));
        if number::less(&candidate, bound).unwrap_or(true) {
            return candidate;
        }
    }
}

fn random_real(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let real = generator(thread).unit();
    Ok(thread.flonum(real))
}

fn random_seed(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let seed = number_at(thread, call, 0)?;
    if !number::is_exact_integer(&seed) {
        return Err(call.type_error(thread, 0, "exact integer"));
    }
    let seed = number::hash_by_eqv(&seed);
    *generator(thread) = Generator::seeded(seed);
    Ok(Value::UNSPECIFIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_repeat_and_ranges_hold() {
        let mut first = Generator::seeded(42);
        let mut second = first.clone();
        for bound in [1, 2, 3, 10, 1 << 40, u64::MAX] {
            let number = first.below(bound);
            assert!(number < bound);
            assert_eq!(number, second.below(bound));
        }
        for _ in 0..1000 {
            let real = first.unit();
            assert!(real > 0.0 && real < 1.0);
        }
    }

    #[test]
    fn small_ranges_are_even() {
        let mut generator = Generator::seeded(7);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[generator.below(5) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (9_000..11_000).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn big_bounds_are_respected() {
        let mut generator = Generator::seeded(1);
        let bound = number::expt(&Number::from(10i64), &Number::from(40i64)).expect("small");
        for _ in 0..100 {
            let result = below_big(&mut generator, &bound);
            assert!(number::less(&result, &bound).expect("real"));
        }
    }
}
