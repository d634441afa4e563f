//! Conditions of breakpoints in hot loops: what they read, and breakpoints that come and go meanwhile.

use super::*;

#[test]
fn conditions_read_variables_anew_at_each_hit() {
    const LOOPS: &str = "\
(import (scheme base))
(define (sum n offset)
  (let ((total 0))
    (let loop ((i 0))
      (if (< i n)
          (begin
            (set! total (+ total i offset))
            (loop (+ i 1)))
          (+ total 0)))))
(define (both n)
  (+ (sum n 1) (sum n 2)))
(both 3000)
";
    // In a register, in a box, captured or not, and nowhere.
    let names = ["i", "total", "offset", "n", "nowhere"];
    for mode in &MODES[..4] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let asked = seen.clone();
        let mut breakpoint = at_line(7);
        breakpoint.condition = Some(Arc::new(move |stop: &mut Stop<'_>| {
            let values = names.map(|name| stop.value(0, name).and_then(Value::as_fixnum));
            asked.lock().unwrap().push(values);
            Verdict::Pass
        }));
        // Another one at the same place stops twice; it was not asked for the first hits.
        let mut other = at_line(7);
        other.passes = 10;
        other.condition = Some(Arc::new(|stop: &mut Stop<'_>| {
            let is_it = [2, 2000].map(|i| Some(Value::fixnum(i)));
            let is_it = is_it.contains(&stop.value(0, "i"));
            if is_it { Verdict::Stop } else { Verdict::Pass }
        }));
        let (stops, value) = debug(*mode, LOOPS, &[breakpoint, other], &[], &["i", "total"]);
        assert_eq!(value, "9006000", "{mode:?}");
        let mut expected = Vec::new();
        for offset in [1, 2] {
            let totals = (0..3000).scan(0, |total, i| {
                let before = *total;
                *total += i + offset;
                Some((i, before))
            });
            let of_call =
                totals.map(|(i, total)| [Some(i), Some(total), Some(offset), Some(3000), None]);
            expected.extend(of_call);
        }
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(seen.len(), expected.len(), "{mode:?}");
        let wrong = seen
            .iter()
            .zip(&expected)
            .find(|(seen, expected)| seen != expected);
        assert_eq!(wrong, None, "{mode:?}");
        let expected = [
            "break sum:7 i=2000 total=2001000",
            "break sum:7 i=2 total=5",
            "break sum:7 i=2000 total=2003000",
        ];
        assert_eq!(stops, expected, "{mode:?}");
    }
}

#[test]
fn breakpoints_come_and_go_while_a_loop_runs() {
    const LOOP: &str = "\
(import (scheme base))
(define (spin n)
  (let loop ((i 0) (s 0))
    (if (< i n)
        (loop (+ i 1)
              (+ s i))
        s)))
(spin 300000)
";
    for mode in &MODES[..4] {
        let (vm, mut thread) = machine(*mode);
        vm.debugger().set_client(Some(Arc::new(Ender)));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let note = |asked: &Mutex<Vec<i64>>, stop: &mut Stop<'_>| {
            let i = stop.value(0, "i").and_then(Value::as_fixnum);
            let i = i.expect("a number");
            asked.lock().unwrap().push(i);
            i
        };
        let remove = |stop: &mut Stop<'_>| {
            let Reason::Breakpoints(met) = stop.reason() else {
                panic!("another reason");
            };
            assert!(stop.thread().remove_breakpoint(met[0]));
        };
        let mut second = at_line(4);
        second.passes = 200_000;
        let shared = asked.clone();
        second.condition = Some(Arc::new(move |stop: &mut Stop<'_>| {
            note(&shared, stop);
            remove(stop);
            Verdict::Pass
        }));
        let mut first = at_line(5);
        let shared = asked.clone();
        first.condition = Some(Arc::new(move |stop: &mut Stop<'_>| {
            if note(&shared, stop) == 5 {
                // It goes, and a later one comes.
                remove(stop);
                stop.thread().set_breakpoint(second.clone());
            }
            Verdict::Pass
        }));
        thread.set_breakpoint(first);
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", LOOP.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        assert_eq!(written(&mut thread, value), "44999850000", "{mode:?}");
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        assert_eq!(asked, [0, 1, 2, 3, 4, 5, 200_006], "{mode:?}");
    }
}
