//! Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT`.

use std::cell::Cell;

/// Bytes of a date.
pub const DATE_BYTES: usize = 29;

const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The date of a point in time, in seconds since 1970; from the year 0 to 9999, else the nearest of these.
pub fn date(seconds: i64) -> [u8; DATE_BYTES] {
    const FIRST: i64 = -62_167_219_200;
    const LAST: i64 = 253_402_300_799;
    let seconds = seconds.clamp(FIRST, LAST);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March, of eras of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    let mut text = *b"Thu, 00 Jan 0000 00:00:00 GMT";
    let mut two = |at: usize, number: i64| {
        text[at] = b'0' + (number / 10) as u8;
        text[at + 1] = b'0' + (number % 10) as u8;
    };
    two(5, day_of_month);
    two(12, year / 100);
    two(14, year % 100);
    two(17, second / 3600);
    two(20, second / 60 % 60);
    two(23, second % 60);
    text[..3].copy_from_slice(DAYS[days.rem_euclid(7) as usize]);
    text[8..11].copy_from_slice(MONTHS[month as usize]);
    text
}

/// The present date, which a thread computes once in a second.
pub fn now() -> [u8; DATE_BYTES] {
    thread_local! {
        static LAST: Cell<(i64, [u8; DATE_BYTES])> = const { Cell::new((i64::MIN, [0; DATE_BYTES])) };
    }
    let seconds = canny_replay::ask(canny_replay::Kind::Time, || {
        rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse).tv_sec
    });
    let (last, text) = LAST.get();
    if seconds == last {
        return text;
    }
    let text = date(seconds);
    LAST.set((seconds, text));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_several_centuries() {
        let cases: [(i64, &str); 7] = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (i64::MIN, "Sat, 01 Jan 0000 00:00:00 GMT"),
        ];
        for (seconds, text) in cases {
            assert_eq!(str::from_utf8(&date(seconds)).unwrap(), text);
        }
    }
}
