//! Sorting by the standard orders, without calls of a procedure.
//!
//! Only vectors whose elements are all of one kind are sorted here; what is mixed, and numbers that are
//! not a number, are left to the sort in Scheme, and so are long vectors, so that nobody waits long for
//! a safepoint.

use canny_tables::kinds::Kind;
use canny_tables::protocols::SortOrder;
use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::text::{Units, compare_text, with_both, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%sort-vector!" => sort_vector;
};

/// Most elements that are sorted at once.
const LENGTH_MAX: usize = 1 << 20;
/// Runs up to this length are sorted by insertion.
const RUN_LENGTH: usize = 12;

/// The type of the elements, and so their order.
#[derive(Clone, Copy)]
enum Order {
    Numbers,
    Strings,
    Characters,
}

fn sort_vector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.vector(thread, 0)?;
    let (start, end) = (call.index(thread, 1)?, call.index(thread, 2)?);
    let is_range = start <= end && end <= vector.length();
    if !is_range || end - start > LENGTH_MAX || vector.is_immutable() {
        return Ok(Value::FALSE);
    }
    let (order, descends) = match call.case::<SortOrder>(thread, 3)? {
        SortOrder::Numbers => (Order::Numbers, false),
        SortOrder::NumbersDescending => (Order::Numbers, true),
        SortOrder::Strings => (Order::Strings, false),
        SortOrder::StringsDescending => (Order::Strings, true),
        SortOrder::Characters => (Order::Characters, false),
        SortOrder::CharactersDescending => (Order::Characters, true),
    };
    // Nothing is allocated in the heap from here on, so that values may be in a vector of Rust's.
    let values: Vec<Value> = (start..end).map(|index| vector.field(index)).collect();
    let sorted = match order {
        Order::Numbers => sorted_fixnums(&values, descends)
            .or_else(|| sorted_by(&values, descends, Value::as_flonum, float_key)),
        Order::Characters => sorted_by(&values, descends, Value::as_character, |x| {
            Some(i64::from(u32::from(x)))
        }),
        Order::Strings => sorted_strings(&values, descends),
    };
    let Some(sorted) = sorted else {
        return Ok(Value::FALSE);
    };
    for (index, value) in (start..end).zip(sorted) {
        thread.store(vector.value(), index, value);
    }
    Ok(Value::TRUE)
}

/// Equal fixnums are the same, so that no order among them is to be kept.
fn sorted_fixnums(values: &[Value], descends: bool) -> Option<Vec<Value>> {
    let numbers: Option<Vec<i64>> = values.iter().map(|value| value.as_fixnum()).collect();
    let mut numbers = numbers?;
    numbers.sort_unstable();
    if descends {
        numbers.reverse();
    }
    Some(numbers.into_iter().map(Value::fixnum).collect())
}

/// A number in the order of floats, in which zeros are equal; none for what is not a number.
fn float_key(x: f64) -> Option<i64> {
    let bits = (x + 0.0).to_bits() as i64;
    let key = bits ^ ((bits >> 63) as u64 >> 1) as i64;
    (!x.is_nan()).then_some(key)
}

/// Sorts by a key that each element has, keeping the order of those with the same.
fn sorted_by<T>(
    values: &[Value],
    descends: bool,
    content: impl Fn(Value) -> Option<T>,
    key: impl Fn(T) -> Option<i64>,
) -> Option<Vec<Value>> {
    let keyed: Option<Vec<(i64, Value)>> = values
        .iter()
        .map(|value| Some((key(content(*value)?)?, *value)))
        .collect();
    let mut keyed = keyed?;
    if descends {
        keyed.sort_by_key(|(key, _)| !*key);
    } else {
        keyed.sort_by_key(|(key, _)| *key);
    }
    Some(keyed.into_iter().map(|(_, value)| value).collect())
}

/// A string with what tells most strings apart.
#[derive(Clone, Copy)]
struct KeyedString {
    prefix: u64,
    string: ObjectRef,
}

impl KeyedString {
    fn of(value: Value) -> Option<KeyedString> {
        let string = value.as_kind(Kind::String)?;
        let prefix = with_units(string, prefix);
        Some(KeyedString { prefix, string })
    }

    fn is_less(self, other: KeyedString) -> bool {
        if self.prefix != other.prefix {
            return self.prefix < other.prefix;
        }
        with_both(self.string, other.string, compare_text).is_lt()
    }
}

/// The first characters, one in each byte. From the first one on that does not fit, all bytes have
/// their greatest value: such strings come last among those that agree up to there.
fn prefix(units: Units<'_>) -> u64 {
    if let Units::Narrow(bytes) = units
        && let Some(first) = bytes.first_chunk()
    {
        return u64::from_be_bytes(*first);
    }
    let mut bytes = [0; 8];
    let mut is_wide = false;
    for (byte, unit) in bytes.iter_mut().zip(units.iter()) {
        is_wide |= unit > 0xff;
        *byte = if is_wide { 0xff } else { unit as u8 };
    }
    if is_wide {
        let length = units.length().min(8);
        bytes[length..].fill(0xff);
    }
    u64::from_be_bytes(bytes)
}

fn sorted_strings(values: &[Value], descends: bool) -> Option<Vec<Value>> {
    let keyed: Option<Vec<KeyedString>> = values.iter().map(|x| KeyedString::of(*x)).collect();
    let mut keyed = keyed?;
    let mut spare = keyed.clone();
    // Strings may be changed meanwhile by another thread. The standard library's sorts may panic when
    // an order is not kept.
    if descends {
        merge_sort(&mut keyed, &mut spare, &|x, y| y.is_less(x));
    } else {
        merge_sort(&mut keyed, &mut spare, &|x, y| x.is_less(y));
    }
    Some(keyed.iter().map(|keyed| keyed.string.value()).collect())
}

/// A stable sort that ends whatever `is_less` says. `spare` has the same length.
fn merge_sort<T: Copy>(items: &mut [T], spare: &mut [T], is_less: &impl Fn(T, T) -> bool) {
    if items.len() <= RUN_LENGTH {
        for next in 1..items.len() {
            let item = items[next];
            let mut hole = next;
            while hole > 0 && is_less(item, items[hole - 1]) {
                items[hole] = items[hole - 1];
                hole -= 1;
            }
            items[hole] = item;
        }
        return;
    }
    let middle = items.len() / 2;
    merge_sort(&mut items[..middle], &mut spare[..middle], is_less);
    merge_sort(&mut items[middle..], &mut spare[middle..], is_less);
    if !is_less(items[middle], items[middle - 1]) {
        return;
    }
    spare[..middle].copy_from_slice(&items[..middle]);
    let (mut left, mut right) = (0, middle);
    for to in 0..items.len() {
        if left == middle {
            break;
        }
        let takes_right = right < items.len() && is_less(items[right], spare[left]);
        if takes_right {
            items[to] = items[right];
            right += 1;
        } else {
            items[to] = spare[left];
            left += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, failure, machine, read, written};

    #[track_caller]
    fn check(order: SortOrder, before: &str, after: &str) {
        let mut thread = machine();
        let vector = read(&mut thread, &format!("({before})"));
        let vector = call(&mut thread, "list->vector", [vector]);
        let end = call(&mut thread, "vector-length", [vector]);
        let arguments = [vector, Value::ZERO, end, Value::fixnum(order.number())];
        let done = call(&mut thread, "%sort-vector!", arguments);
        let shown = written(&mut thread, vector);
        let expected = match after {
            "left alone" => before,
            _ => after,
        };
        assert_eq!(shown, format!("#({expected})"));
        assert_eq!(done.is_true(), after != "left alone");
    }

    #[test]
    fn elements_of_one_kind_are_sorted() {
        check(SortOrder::Numbers, "3 -1 2 100 -50", "-50 -1 2 3 100");
        check(
            SortOrder::NumbersDescending,
            "3 -1 2 100 -50",
            "100 3 2 -1 -50",
        );
        check(
            SortOrder::Numbers,
            "1.5 -0.0 -2.5 0.0 300.25 -300.25",
            "-300.25 -2.5 -0.0 0.0 1.5 300.25",
        );
        check(
            SortOrder::NumbersDescending,
            "1.5 0.0 -inf.0 -0.0 +inf.0",
            "+inf.0 1.5 0.0 -0.0 -inf.0",
        );
        check(
            SortOrder::Characters,
            "#\\b #\\\u{3bb} #\\a",
            "#\\a #\\b #\\\u{3bb}",
        );
        check(
            SortOrder::CharactersDescending,
            "#\\b #\\\u{3bb} #\\a",
            "#\\\u{3bb} #\\b #\\a",
        );
    }

    #[test]
    fn other_vectors_are_left_alone() {
        check(SortOrder::Numbers, "2 1.5", "left alone");
        check(SortOrder::Numbers, "2 a 1", "left alone");
        check(SortOrder::Numbers, "2.5 +nan.0 1.5", "left alone");
        check(SortOrder::Strings, "\"b\" a", "left alone");
    }

    #[test]
    fn an_unknown_order_is_an_error() {
        let mut thread = machine();
        let list = read(&mut thread, "(2 1)");
        let vector = call(&mut thread, "list->vector", [list]);
        let arguments = [vector, Value::ZERO, Value::ZERO, Value::fixnum(9)];
        let failure = failure(&mut thread, "%sort-vector!", arguments);
        assert!(failure.starts_with("range sort-vector!"), "{failure}");
    }

    #[test]
    fn strings_of_all_widths_are_sorted() {
        let sorted = "\"\" \"a\" \"ab\" \"abcdefgh\" \"abcdefgha\" \"abcdefghb\" \"b\" \"\u{ff}z\" \
            \"\u{ff}\u{101}\" \"\u{100}\" \"\u{100}a\" \"\u{100}b\" \"\u{1f600}\"";
        let mut shuffled: Vec<&str> = sorted.split(' ').collect();
        shuffled.reverse();
        shuffled.swap(2, 7);
        check(SortOrder::Strings, &shuffled.join(" "), sorted);
        let mut reversed: Vec<&str> = sorted.split(' ').collect();
        reversed.reverse();
        check(SortOrder::StringsDescending, sorted, &reversed.join(" "));
    }

    #[test]
    fn the_order_of_equal_elements_is_kept_and_a_wrong_one_ends() {
        let mut items: Vec<(u32, u32)> = (0..500).map(|index| (index * 7 % 10, index)).collect();
        let mut spare = items.clone();
        merge_sort(&mut items, &mut spare, &|x, y| x.0 < y.0);
        assert!(items.is_sorted());
        merge_sort(&mut items, &mut spare, &|_, _| true);
        items.sort_unstable();
        assert_eq!(items.len(), 500);
        items.dedup();
        assert_eq!(items.len(), 500);
    }
}
