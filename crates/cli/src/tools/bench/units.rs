//! Numbers with units, as people read them: three digits that count, and the unit that fits. Units
//! are decimal, for bytes too.

const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const BYTES: [(&str, f64); 4] = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
const COUNTS: [(&str, f64); 4] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)];

/// The largest unit that leaves 1 or more.
fn unit_for(number: f64, units: &[(&'static str, f64)]) -> (&'static str, f64) {
    // A number that rounds to 1000 of a unit is 1 of the next.
    let fitting = units.iter().rev().find(|(_, size)| number >= 0.9995 * size);
    *fitting.unwrap_or(&units[0])
}

/// Three digits that count, or more of a large number.
pub fn digits(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.01 => format!("{number:.4}"),
        size if size < 0.9995 => format!("{number:.3}"),
        size if size < 9.995 => format!("{number:.2}"),
        size if size < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn with_unit(number: f64, units: &[(&'static str, f64)]) -> String {
    let (unit, size) = unit_for(number, units);
    format!("{} {unit}", digits(number / size))
}

pub fn time(nanoseconds: f64) -> String {
    with_unit(nanoseconds, &TIMES)
}

pub fn bytes(bytes: f64) -> String {
    if bytes < 999.5 {
        let whole = if bytes < 9.95 && bytes.fract() > 0.05 {
            format!("{bytes:.1}")
        } else {
            format!("{bytes:.0}")
        };
        return format!("{whole} B");
    }
    with_unit(bytes, &BYTES)
}

pub fn bytes_per_second(rate: f64) -> String {
    format!("{}/s", with_unit(rate, &BYTES))
}

pub fn items_per_second(rate: f64) -> String {
    format!("{}/s", with_unit(rate, &COUNTS).trim_end())
}

/// The two ends of an interval of times, in the unit of the greater.
pub fn times(low: f64, high: f64) -> String {
    let (unit, size) = unit_for(high, &TIMES);
    format!("{} … {} {unit}", digits(low / size), digits(high / size))
}

/// A part of 1 as hundredths.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(time(0.31), "0.310 ns");
        assert_eq!(time(4.257), "4.26 ns");
        assert_eq!(time(999.4), "999 ns");
        assert_eq!(time(999.7), "1.00 µs");
        assert_eq!(time(41_234.0), "41.2 µs");
        assert_eq!(time(2.5e9), "2.50 s");
        assert_eq!(time(1.234e12), "1234 s");
        assert_eq!(times(990.0, 1010.0), "0.990 … 1.01 µs");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(2.5), "2.5 B");
        assert_eq!(bytes(48.2), "48 B");
        assert_eq!(bytes(32_768.0), "32.8 kB");
        assert_eq!(bytes_per_second(3.1e8), "310 MB/s");
        assert_eq!(items_per_second(1.5e6), "1.50 M/s");
        assert_eq!(items_per_second(12.0), "12.0/s");
        assert_eq!(percent(0.0314), "3.1 %");
    }
}
