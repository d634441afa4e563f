//! Fixnums in decimal digits.

/// Characters of a fixnum at most.
pub(crate) const DIGITS_MAX: usize = 20;

/// A number as it is written.
pub(crate) fn digits(number: i64, text: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut start = DIGITS_MAX;
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        text[start] = b'-';
    }
    &text[start..]
}
