//! Amounts for people: bytes, counts and times.
//!
//! Prefixes are decimal, and there are three digits or so, since people compare sizes.

/// Bytes with a prefix: `999 B`, `1.5 kB`.
pub fn bytes(count: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = count as f64;
    let mut index = 0;
    while value >= 999.5 && index + 1 < units.len() {
        value /= 1000.0;
        index += 1;
    }
    let digits = usize::from(index > 0 && value < 99.95);
    format!("{value:.digits$} {}", units[index])
}

/// A number with its digits in groups of three.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes by which something grew or shrank.
pub fn signed_bytes(change: i64) -> String {
    let sign = if change < 0 { "-" } else { "+" };
    format!("{sign}{}", bytes(change.unsigned_abs()))
}

/// Nanoseconds as milliseconds, with more digits where there are fewer of them.
pub fn milliseconds(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 1.0 => format!("{ms:.1} ms"),
        0.0 => "0 ms".to_owned(),
        ms => format!("{ms:.3} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits() {
        let check = |count: u64, expect: &str| assert_eq!(bytes(count), expect);
        check(0, "0 B");
        check(999, "999 B");
        check(1000, "1.0 kB");
        check(99_949, "99.9 kB");
        check(99_951, "100 kB");
        check(999_600, "1.0 MB");
        check(u64::MAX, "18.4 EB");
        assert_eq!(milliseconds(1_500), "0.002 ms");
        assert_eq!(milliseconds(1_500_000), "1.5 ms");
        assert_eq!(milliseconds(1_500_000_000), "1500 ms");
    }

    #[test]
    fn numbers_have_groups_of_three_digits() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(
            [-1500, 0, 20].map(signed_bytes),
            ["-1.5 kB", "+0 B", "+20 B"]
        );
        assert_eq!(signed_bytes(i64::MIN), "-9.2 EB");
    }
}
