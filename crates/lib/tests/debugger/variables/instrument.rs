//! Two texts from one program: one to be looked at by the debugger, and one that says by itself what
//! the debugger must see.
//!
//! In the first one the program assigns a number to `%at` here and there. In the second one it also notes
//! its variables there, and keeps the variables of the calls that it is in the middle of. Forms whose
//! meaning is not known, such as uses of the program's own macros, stay as they are.

use std::collections::HashSet;

use canny_syntax::reader::read_source;
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;

/// The texts.
pub struct Instrumented {
    /// Only assigns numbers.
    pub marked: String,
    /// Its value is a text with what the program has noted.
    pub noting: String,
    /// Line and column of each call in the first text, by the number of the call.
    pub calls: Vec<(u32, u32)>,
}

/// Notes that are kept: all of the first ones, and some of the others.
#[derive(Clone, Copy)]
pub struct Kept {
    /// Whether notes are kept from the beginning, or when `late` was called.
    pub from_beginning: bool,
    pub few: u64,
    pub every: u64,
    pub many: u64,
    /// Calls of each note.
    pub frames: usize,
}

impl Kept {
    /// Whether the note with a number, from one, is kept.
    pub fn keeps(&self, number: u64) -> bool {
        number < self.few || number < self.many && number.is_multiple_of(self.every)
    }
}

const MARKED_PRELUDE: &str = " (import (prefix (only (scheme base) set! begin define) %)) \
     (%define %at 0) (%define (%late) %at)";
const NOTING_PRELUDE: &str = include_str!("noting.scm");
const NOTING_END: &str = "\n(%get-output-string %port)\n";
const MARKED_END: &str = "\n(%late)\n";

/// Procedures of the standard library whose calls have a frame that calls the program again.
const CALLING: &[&str] = &[
    "apply",
    "map",
    "for-each",
    "vector-map",
    "vector-for-each",
    "string-for-each",
    "call/cc",
    "call-with-current-continuation",
    "call-with-values",
    "with-exception-handler",
];

/// Procedures of the standard library whose calls are left alone, but for their arguments.
const PLAIN: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "=",
    "<",
    ">",
    "<=",
    ">=",
    "car",
    "cdr",
    "cadr",
    "cddr",
    "caar",
    "cons",
    "list",
    "append",
    "reverse",
    "length",
    "not",
    "null?",
    "pair?",
    "eq?",
    "eqv?",
    "equal?",
    "zero?",
    "quotient",
    "remainder",
    "modulo",
    "vector",
    "make-vector",
    "vector-ref",
    "vector-set!",
    "vector-length",
    "max",
    "min",
    "abs",
    "exact",
    "inexact",
    "floor",
    "number?",
    "string-append",
    "string-length",
    "values",
    "number->string",
    "display",
    "write",
    "newline",
    "raise",
    "raise-continuable",
    "memq",
    "memv",
    "member",
    "assq",
    "assv",
    "assoc",
    "string-ref",
    "char=?",
    "string=?",
    "list-ref",
    "list-tail",
    "even?",
    "odd?",
    "square",
    "expt",
    "error",
    "integer?",
    "symbol?",
    "string?",
    "char?",
    "exact->inexact",
    "vector-fill!",
    "set-car!",
    "set-cdr!",
    "list->vector",
    "vector->list",
    "string->symbol",
    "symbol->string",
    "sqrt",
    "exact-integer?",
    "boolean?",
    "negative?",
    "positive?",
    "gcd",
    "lcm",
    "list-copy",
    "vector-copy",
    "write-string",
    "write-char",
    "substring",
    "string-copy",
    "list->string",
    "string->list",
];

/// A variable in scope, and whether the innermost procedure binds it.
#[derive(Clone)]
struct Local {
    name: String,
    is_own: bool,
}

type Scope = Vec<Local>;

/// Text to be inserted at an offset.
struct Insertion {
    at: u32,
    text: String,
}

struct Instrumenter {
    marked: Vec<Insertion>,
    noting: Vec<Insertion>,
    marks: usize,
    /// Offsets of calls.
    calls: Vec<u32>,
    globals: HashSet<String>,
    /// One body in so many gets a mark, and one operand in so many.
    rarity: (usize, usize),
    /// State of the choice.
    chance: u64,
}

/// Instruments a program.
pub fn instrument(text: &str, kept: Kept, rarity: (usize, usize), seed: u64) -> Instrumented {
    let map = SourceMap::new();
    let (_, read) = read_source(&map, "test.scm", text.as_bytes(), false);
    assert!(read.diagnostics.iter().all(|one| !one.is_error()), "{text}");
    let mut instrumenter = Instrumenter {
        marked: Vec::new(),
        noting: Vec::new(),
        marks: 0,
        calls: Vec::new(),
        globals: HashSet::new(),
        rarity,
        chance: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
    };
    let is_import = |form: &&Syntax| head(form).as_deref() == Some("import");
    let imports = read
        .forms
        .iter()
        .filter(is_import)
        .map(|form| form.span.end);
    let start = imports.max().expect("a program imports something");
    for form in &read.forms {
        if let Some(parts) = form.elements()
            && head(form).as_deref() == Some("define")
        {
            instrumenter.globals.extend(defined(&parts));
        }
    }
    let noting_prelude = NOTING_PRELUDE
        .replace('\n', " ")
        .replace("BEGINS", if kept.from_beginning { "#t" } else { "#f" })
        .replace("FEW", &kept.few.to_string())
        .replace("MANY", &kept.many.to_string())
        .replace("EVERY", &kept.every.to_string())
        .replace("FRAMES", &kept.frames.to_string());
    instrumenter.insert_both(start, MARKED_PRELUDE, &noting_prelude);
    for form in &read.forms {
        instrumenter.form(form, &Vec::new());
    }
    let marked = inserted(text, &mut instrumenter.marked) + MARKED_END;
    let noting = inserted(text, &mut instrumenter.noting) + NOTING_END;
    let marks = &instrumenter.marked;
    let place = |offset: &u32| {
        let before = marks.iter().filter(|one| one.at < *offset);
        let moved: usize = before.map(|one| one.text.len()).sum();
        // Text that is inserted at the call itself stands before it.
        let at = marks.iter().filter(|one| one.at == *offset);
        let moved = moved + at.map(|one| one.text.len()).sum::<usize>();
        let before = &marked[..*offset as usize + moved];
        let line = before.matches('\n').count() as u32 + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |rest| rest.chars().count()) as u32
            + 1;
        (line, column)
    };
    let calls = instrumenter.calls.iter().map(place).collect();
    Instrumented {
        marked,
        noting,
        calls,
    }
}

fn inserted(text: &str, insertions: &mut [Insertion]) -> String {
    insertions.sort_by_key(|one| one.at);
    let (mut result, mut from) = (String::new(), 0);
    for one in insertions {
        result.push_str(&text[from..one.at as usize]);
        result.push_str(&one.text);
        from = one.at as usize;
    }
    result + &text[from..]
}

fn name(form: &Syntax) -> Option<String> {
    Some(form.as_identifier()?.name.as_str().to_owned())
}

fn head(form: &Syntax) -> Option<String> {
    name(&form.as_pair()?.car)
}

/// The name that a definition binds.
fn defined(parts: &[Syntax]) -> Option<String> {
    let target = parts.get(1)?;
    match target.as_pair() {
        Some(pair) => name(&pair.car),
        None => name(target),
    }
}

/// The names in a list of parameters.
fn parameters(form: &Syntax) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = form.clone();
    while let Some(pair) = rest.as_pair() {
        names.extend(name(&pair.car));
        rest = pair.cdr.clone();
    }
    names.extend(name(&rest));
    names
}

/// The scope in a procedure that is made here.
fn inner(scope: &Scope, own: Vec<String>) -> Scope {
    let outer = scope.iter().map(|one| Local {
        name: one.name.clone(),
        is_own: false,
    });
    with(&outer.collect(), own)
}

/// The scope with more variables.
fn with(scope: &Scope, more: Vec<String>) -> Scope {
    let mut scope: Scope = scope
        .iter()
        .filter(|one| !more.contains(&one.name))
        .cloned()
        .collect();
    scope.extend(more.into_iter().map(|name| Local { name, is_own: true }));
    scope
}

/// An expression for a list of the variables in scope.
fn listed(scope: &Scope) -> String {
    let one = |local: &Local| {
        let own = if local.is_own { "own" } else { "outer" };
        let name = &local.name;
        format!("(%list \"{name}\" \"{own}\" (%lambda () {name})) ")
    };
    format!("(%list {})", scope.iter().map(one).collect::<String>())
}

impl Instrumenter {
    fn insert_both(&mut self, at: u32, marked: &str, noting: &str) {
        let insertion = |text: &str| Insertion {
            at,
            text: text.to_owned(),
        };
        self.marked.push(insertion(marked));
        self.noting.push(insertion(noting));
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance.is_multiple_of(times as u64)
    }

    /// The assignment, and what is before it in the second text.
    fn mark(&mut self, scope: &Scope) -> (String, String) {
        self.marks += 1;
        let mark = format!("(%set! %at {}) ", self.marks);
        let note = format!("(%note {} {}) {mark}", self.marks, listed(scope));
        (mark, note)
    }

    fn forms(&mut self, forms: &[Syntax], scope: &Scope) {
        for form in forms {
            self.expression(form, scope, false);
        }
    }

    fn sequence(&mut self, forms: &[Syntax], scope: &Scope, is_tail: bool) {
        if let Some((last, others)) = forms.split_last() {
            self.forms(others, scope);
            self.expression(last, scope, is_tail);
        }
    }

    /// Definitions and expressions, of which the last one has the value.
    fn body(&mut self, forms: &[Syntax], scope: &Scope, is_tail: bool) {
        let is_definition = |form: &&Syntax| {
            head(form).is_some_and(|head| head.starts_with("define") || head == "begin")
        };
        let count = forms.iter().take_while(is_definition).count();
        let (definitions, expressions) = forms.split_at(count.min(forms.len().saturating_sub(1)));
        let mut names = Vec::new();
        for definition in definitions {
            let parts = definition.elements().unwrap_or_default();
            names.extend(defined(&parts));
        }
        // The values of definitions are computed one after the other.
        let outer = inner(&with(scope, names.clone()), Vec::new());
        for (index, definition) in definitions.iter().enumerate() {
            let mut seen = outer.clone();
            for one in seen.iter_mut() {
                let is_before = names[..index.min(names.len())].contains(&one.name);
                one.is_own =
                    is_before || scope.iter().any(|own| own.name == one.name && own.is_own);
                one.is_own &= is_before || !names.contains(&one.name);
            }
            self.form(definition, &seen);
        }
        let scope = with(scope, names);
        let Some(first) = expressions.first() else {
            return;
        };
        if self.once_in(self.rarity.0) {
            let (mark, note) = self.mark(&scope);
            self.insert_both(first.span.start, &mark, &note);
        }
        self.sequence(expressions, &scope, is_tail);
    }

    /// A definition, or an expression, at the top or at the beginning of a body.
    fn form(&mut self, form: &Syntax, scope: &Scope) {
        if head(form).as_deref() != Some("define") {
            if head(form).is_none_or(|head| !head.starts_with("define") && head != "import") {
                self.expression(form, scope, false);
            }
            return;
        }
        let Some(parts) = form.elements().filter(|parts| parts.len() > 2) else {
            return;
        };
        match parts[1].as_pair() {
            Some(target) => {
                let scope = inner(scope, parameters(&target.cdr));
                self.body(&parts[2..], &scope, true);
            }
            None => self.expression(&parts[2], scope, false),
        }
    }

    /// An operand or another expression whose value is used, with a mark before it now and then.
    fn operand(&mut self, form: &Syntax, scope: &Scope) {
        let is_marked = !scope.is_empty() && self.once_in(self.rarity.1);
        if is_marked {
            let (mark, note) = self.mark(scope);
            let open = |text: String| format!("(%begin {text}");
            self.insert_both(form.span.start, &open(mark), &open(note));
        }
        self.expression(form, scope, false);
        if is_marked {
            self.insert_both(form.span.end, ")", ")");
        }
    }

    fn operands(&mut self, forms: &[Syntax], scope: &Scope) {
        for form in forms {
            self.operand(form, scope);
        }
    }

    fn expression(&mut self, form: &Syntax, scope: &Scope, is_tail: bool) {
        let Some(parts) = form.elements().filter(|parts| !parts.is_empty()) else {
            return;
        };
        let Some(head) = name(&parts[0]) else {
            self.call(form, &parts, scope, is_tail);
            return;
        };
        if scope.iter().any(|one| one.name == head) || self.globals.contains(&head) {
            self.call(form, &parts, scope, is_tail);
            return;
        }
        match head.as_str() {
            "lambda" if parts.len() > 2 => {
                let scope = inner(scope, parameters(&parts[1]));
                self.body(&parts[2..], &scope, true);
            }
            "let" if name(&parts[1]).is_some() => self.named_let(&parts, scope, is_tail),
            "let" | "let*" | "letrec" | "letrec*" => self.binding(&head, &parts, scope, is_tail),
            // Continuations bring winders into other surroundings.
            "dynamic-wind" => {
                self.call(form, &parts[..1], scope, is_tail);
                self.operand(&parts[2], scope);
            }
            "let-values" | "let*-values" => self.values(&parts, scope, is_tail),
            "do" => self.loops(&parts, scope, is_tail),
            "begin" | "when" | "unless" | "and" | "or" => {
                let (last, others) = parts[1..].split_last().expect("an expression");
                self.operands(others, scope);
                self.expression(last, scope, is_tail);
            }
            "if" => {
                self.operand(&parts[1], scope);
                for branch in &parts[2..] {
                    self.expression(branch, scope, is_tail);
                }
            }
            "cond" => self.clauses(&parts[1..], scope, is_tail, true),
            "case" => {
                self.operand(&parts[1], scope);
                self.clauses(&parts[2..], scope, is_tail, false);
            }
            "set!" => self.operand(&parts[2], scope),
            "guard" => {
                // The handler and the body may be procedures of their own.
                let clauses = parts[1].elements().unwrap_or_default();
                let outer = inner(scope, Vec::new());
                let variable = name(&clauses[0]).into_iter().collect();
                self.clauses(&clauses[1..], &inner(scope, variable), true, true);
                self.sequence(&parts[2..], &outer, true);
            }
            "parameterize" => {
                let outer = inner(scope, Vec::new());
                self.sequence(&parts[2..], &outer, true);
            }
            _ if CALLING.contains(&head.as_str()) => self.call(form, &parts, scope, is_tail),
            _ if PLAIN.contains(&head.as_str()) => self.operands(&parts[1..], scope),
            _ => {}
        }
    }

    /// The second text keeps the variables during a call after which the frame goes on.
    fn call(&mut self, form: &Syntax, parts: &[Syntax], scope: &Scope, is_tail: bool) {
        if !is_tail {
            let number = self.calls.len();
            self.calls.push(form.span.start);
            let text = format!("(%call {number} {} (%list . ", listed(scope));
            self.noting.push(Insertion {
                at: form.span.start,
                text,
            });
        }
        self.operands(parts, scope);
        if !is_tail {
            self.noting.push(Insertion {
                at: form.span.end,
                text: "))".to_owned(),
            });
        }
    }

    fn clauses(&mut self, clauses: &[Syntax], scope: &Scope, is_tail: bool, has_test: bool) {
        for clause in clauses {
            let parts = clause.elements().unwrap_or_default();
            let Some((first, rest)) = parts.split_first() else {
                continue;
            };
            if has_test && name(first).as_deref() != Some("else") {
                self.operand(first, scope);
            }
            if rest
                .first()
                .is_some_and(|form| name(form).as_deref() == Some("=>"))
            {
                continue;
            }
            self.sequence(rest, scope, is_tail);
        }
    }

    fn binding(&mut self, head: &str, parts: &[Syntax], scope: &Scope, is_tail: bool) {
        let bindings = parts[1].elements().unwrap_or_default();
        let pairs: Vec<Vec<Syntax>> = bindings
            .iter()
            .filter_map(|binding| binding.elements())
            .collect();
        let names: Vec<String> = pairs.iter().filter_map(|pair| name(&pair[0])).collect();
        let mut values = match head {
            "letrec" | "letrec*" => with(scope, names.clone()),
            _ => scope.clone(),
        };
        for pair in &pairs {
            self.operand(&pair[1], &values);
            if head == "let*" {
                values = with(&values, name(&pair[0]).into_iter().collect());
            }
        }
        self.body(&parts[2..], &with(scope, names), is_tail);
    }

    fn named_let(&mut self, parts: &[Syntax], scope: &Scope, is_tail: bool) {
        let bindings = parts[2].elements().unwrap_or_default();
        let mut names: Vec<String> = name(&parts[1]).into_iter().collect();
        for pair in bindings.iter().filter_map(|binding| binding.elements()) {
            names.extend(name(&pair[0]));
            self.operand(&pair[1], scope);
        }
        // It may be a procedure, or a loop in the procedure around it.
        let own = names.split_off(1);
        let outer = inner(&inner(scope, names), Vec::new());
        let _ = is_tail;
        self.body(&parts[3..], &inner(&outer, own), true);
    }

    fn values(&mut self, parts: &[Syntax], scope: &Scope, is_tail: bool) {
        let mut names = Vec::new();
        for pair in parts[1].elements().unwrap_or_default() {
            let pair = pair.elements().unwrap_or_default();
            names.extend(parameters(&pair[0]));
        }
        // The body may be a procedure that takes the values.
        let _ = is_tail;
        self.body(&parts[2..], &inner(scope, names), true);
    }

    fn loops(&mut self, parts: &[Syntax], scope: &Scope, _: bool) {
        let bindings = parts[1].elements().unwrap_or_default();
        let pairs: Vec<Vec<Syntax>> = bindings
            .iter()
            .filter_map(|binding| binding.elements())
            .collect();
        let names = pairs.iter().filter_map(|pair| name(&pair[0])).collect();
        let body = inner(scope, names);
        for pair in &pairs {
            self.operand(&pair[1], scope);
            if let Some(step) = pair.get(2) {
                self.operand(step, &body);
            }
        }
        let end = parts[2].elements().unwrap_or_default();
        self.operand(&end[0], &body);
        for form in &end[1..] {
            self.expression(form, &body, true);
        }
        self.operands(&parts[3..], &body);
    }
}
