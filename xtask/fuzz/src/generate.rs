//! Generators of fuzz input: bytes that look more or less like what a target parses.
//!
//! An input depends only on the seed and the corpus, so that a failure can be reproduced.
//! Half-valid input goes deeper than noise: generators mutate real sources and join tokens that
//! matter.

use crate::corpus::Corpus;
use crate::random::Random;

/// Pieces that matter to the reader.
const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "'",
    "`",
    ",",
    ",@",
    "#(",
    "#u8(",
    " . ",
    " ",
    "\n",
    "\"",
    "|",
    ";",
    "#|",
    "|#",
    "#;",
    "#\\",
    "#\\x41",
    "#\\space",
    "#t",
    "#f",
    "#true",
    "#!fold-case",
    "#!eof",
    "#0=",
    "#0#",
    "#:key",
    "\\x41;",
    "\\",
    "\\n",
    "1",
    "-1.5e10",
    "1/2",
    "+i",
    "-nan.0",
    "#xff",
    "#e1.5",
    "abc",
    "...",
    "λ",
    "\u{1F600}",
    "\r\n",
    "\t",
];

/// Pieces that matter to the expander.
const FORMS: &[&str] = &[
    "(define x 1)",
    "(lambda (x . y) x)",
    "(let loop ((i 0)) (if (< i 3) (loop (+ i 1)) i))",
    "(define-syntax m (syntax-rules () ((_ a ...) (list a ...))))",
    "(m 1 2 3)",
    "(define-record-type p (mp a) p? (a pa))",
    "(let-values (((a b) (values 1 2))) a)",
    "(do ((i 0 (+ i 1))) ((= i 3)) i)",
    "(case 1 ((1) => list) (else 2))",
    "(guard (e (#t e)) (raise 1))",
    "`(1 ,x ,@y)",
    "(define-values (a . b) (values 1 2))",
    "(cond (1 => list) (else 2))",
    "(let-syntax ((f (syntax-rules () ((_ x) x)))) (f 1))",
    "(set! x 2)",
    "(parameterize () 1)",
    "(define* (f a #:optional (b 1) #:key c) (list a b c))",
    "(begin)",
    "(cond-expand (r7rs 1) (else 2))",
    "(syntax-rules () ((_ (a ...) ...) '((a ...) ...)))",
    "(... ...)",
    "(import (scheme base))",
];

/// Text for the reader: mutated sources, or tokens at random.
pub fn text(random: &mut Random, corpus: &Corpus) -> Vec<u8> {
    if random.once_in(2) {
        let piece = piece(random, corpus);
        return mutated(random, piece, TOKENS);
    }
    let length = 1 + random.below(60);
    let mut out = Vec::new();
    for _ in 0..length {
        out.extend_from_slice(random.choose(TOKENS).as_bytes());
    }
    if random.once_in(8) {
        let at = random.below(out.len());
        out[at] = random.next() as u8;
    }
    out
}

/// A program: mutated sources, forms at random, or both.
pub fn program(random: &mut Random, corpus: &Corpus) -> Vec<u8> {
    if random.once_in(3) {
        let piece = piece(random, corpus);
        return mutated(random, piece, FORMS);
    }
    let mut out = Vec::new();
    for _ in 0..1 + random.below(8) {
        let form = random.choose(FORMS).as_bytes().to_vec();
        out.extend(nested(random, form));
        out.push(b'\n');
    }
    if random.once_in(2) {
        mutated(random, out, FORMS)
    } else {
        out
    }
}

/// A form inside of others.
fn nested(random: &mut Random, form: Vec<u8>) -> Vec<u8> {
    let wrappers: &[(&str, &str)] = &[
        ("(let () ", " 1)"),
        ("(define (g) ", ")"),
        ("(begin ", ")"),
        ("(if #t ", " 2)"),
        ("(define-syntax q (syntax-rules () ((_) ", ")))"),
    ];
    let mut form = form;
    for _ in 0..random.below(3) {
        let (before, after) = random.choose(wrappers);
        form = [before.as_bytes(), &form, after.as_bytes()].concat();
    }
    form
}

/// The bytes of a compiled unit with a few changes.
pub fn unit(random: &mut Random, corpus: &Corpus) -> Vec<u8> {
    let mut bytes = random.choose(&corpus.units).clone();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = bytes[at].wrapping_add(1),
            3 => {
                // One word of code in the place of another.
                let from = random.below(bytes.len());
                let length = random.below(6).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
            _ => bytes[at] = *random.choose(&[0, 1, 127, 128, 255]),
        }
    }
    bytes
}

/// Something like a number, with its radix in the first byte.
pub fn number(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let radix = *random.choose(&[2u8, 8, 10, 10, 10, 10, 16, 3, 36]);
    let mut out = vec![radix];
    for _ in 0..random.below(2) {
        out.extend_from_slice(
            random
                .choose(&["#e", "#i", "#x", "#b", "#o", "#d", "#E", "#X"])
                .as_bytes(),
        );
    }
    real(random, &mut out);
    if random.once_in(3) {
        out.extend_from_slice(
            random
                .choose(&["+", "-", "@", "@-", "+i", "-i", "i"])
                .as_bytes(),
        );
        real(random, &mut out);
        if random.once_in(2) {
            out.push(b'i');
        }
    }
    if random.once_in(10) {
        out = [
            &out[..1],
            &mutated(random, out[1..].to_vec(), &["e", ".", "/", "+", "i", "#"]),
        ]
        .concat();
    }
    out
}

fn real(random: &mut Random, out: &mut Vec<u8>) {
    out.extend_from_slice(random.choose(&["", "+", "-"]).as_bytes());
    if random.once_in(12) {
        out.extend_from_slice(
            random
                .choose(&["inf.0", "nan.0", "INF.0", "inf", "nan.1"])
                .as_bytes(),
        );
        return;
    }
    digits(random, out);
    match random.below(5) {
        0 => {
            out.push(b'/');
            digits(random, out);
        }
        1 | 2 => {
            out.push(b'.');
            digits(random, out);
        }
        _ => {}
    }
    if random.once_in(3) {
        out.push(*random.choose(b"eEeesfdl"));
        out.extend_from_slice(random.choose(&["", "+", "-"]).as_bytes());
        if random.once_in(4) {
            digits(random, out)
        } else {
            out.extend_from_slice(random.below(400).to_string().as_bytes())
        }
    }
}

fn digits(random: &mut Random, out: &mut Vec<u8>) {
    let length = match random.below(20) {
        0 => 0,
        1 => 100 + random.below(400),
        2..=5 => 15 + random.below(10),
        _ => 1 + random.below(5),
    };
    let alphabets = ["0123456789", "01", "0123456789abcdefF", "09", "0"];
    let alphabet = random.choose(&alphabets).as_bytes();
    for _ in 0..length {
        out.push(*random.choose(alphabet));
    }
}

/// A stretch of a text of the corpus.
fn piece(random: &mut Random, corpus: &Corpus) -> Vec<u8> {
    let text = random.choose(corpus.texts.as_slice());
    if text.is_empty() {
        return Vec::new();
    }
    let start = random.below(text.len());
    let length = 1 + random.below(600);
    text[start..text.len().min(start + length)].to_vec()
}

/// The bytes after a few insertions, deletions, repetitions and changes.
pub fn mutated(random: &mut Random, mut bytes: Vec<u8>, pieces: &[&str]) -> Vec<u8> {
    for _ in 0..random.below(8) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 | 1 => {
                let piece = random.choose(pieces).as_bytes().to_vec();
                bytes.splice(at..at, piece);
            }
            2 => {
                let end = bytes.len().min(at + random.below(20));
                bytes.drain(at..end);
            }
            3 => {
                let end = bytes.len().min(at + random.below(40));
                let copy = bytes[at..end].to_vec();
                for _ in 0..1 + random.below(3) {
                    bytes.splice(at..at, copy.iter().copied());
                }
            }
            4 => {
                let brackets = *random.choose(b"()");
                let count = 1 + random.below(30);
                bytes.splice(at..at, std::iter::repeat_n(brackets, count));
            }
            _ => {
                if at < bytes.len() {
                    bytes[at] = random.next() as u8;
                }
            }
        }
    }
    bytes
}
