//! Generates expressions that pass a value through a construct: bindings, handlers, loops,
//! continuations.
//!
//! The value keeps its kind, and each construct ends and has one meaning in R7RS, so that all modes
//! must agree. The writer tracks the work, so that nesting stays cheap.

use super::Writer;
use super::kinds::Kind;

/// How often a construct evaluates a part of it, at most.
const TIMES_MAX: usize = 4;

impl Writer {
    /// An expression of the kind, wrapped in a construct.
    pub fn construct(&mut self, kind: Kind, depth: usize) -> String {
        match self.random.below(9) {
            0 | 1 => self.binding(kind, depth),
            2 => self.several_values(kind, depth),
            3 => self.continuation(kind, depth),
            4 => self.handler(kind, depth),
            5 => self.iteration(kind, depth),
            6 => self.recursion(kind, depth),
            7 => self.object(kind, depth),
            _ => self.procedure_call(kind, depth),
        }
    }

    fn binding(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.expression(kind, depth - 1);
        let other = self.leaf(kind);
        let v = self.local("v");
        match self.random.below(12) {
            0 => format!("(let (({v} {value})) {v})"),
            1 => {
                let rest = self.with((v.clone(), kind), |writer| {
                    writer.expression(kind, depth - 1)
                });
                format!("(let (({v} {value})) {rest})")
            }
            2 => {
                let any = self.any_kind();
                let first = self.expression(any, depth - 1);
                let rest = self.with((v.clone(), any), |writer| {
                    writer.expression(kind, depth - 1)
                });
                format!("(let (({v} {first})) {rest})")
            }
            3 => format!("(let (({v} {other})) (set! {v} {value}) {v})"),
            4 => format!("(let (({v} {other})) ((lambda () (set! {v} {value}))) {v})"),
            5 => format!("(let* (({v} {other}) (f (lambda (x) (set! {v} x)))) (f {value}) {v})"),
            6 => format!(
                "(let (({v} {value})) (let ((get (lambda () {v}))) (set! {v} {other}) (get)))"
            ),
            7 => {
                let test = self.expression(Kind::Boolean, depth - 1);
                format!("(if {test} {value} {other})")
            }
            8 => format!("(let (({v} {value})) (if {v} {v} {other}))"),
            9 => format!("(or {value} {other})"),
            10 => format!("(cond ({value} => (lambda (x) x)) (else {other}))"),
            _ => {
                let tick = self.tick();
                format!("(let (({v} {value})) {tick} {v})")
            }
        }
    }

    fn several_values(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.expression(kind, depth - 1);
        let any = self.any_kind();
        let other = self.expression(any, depth.saturating_sub(2));
        match self.random.below(7) {
            0 => {
                format!("(call-with-values (lambda () (values {value} {other})) (lambda (a b) a))")
            }
            1 => format!("(let-values (((a b) (values {other} {value}))) b)"),
            2 => format!("(receive (a . rest) (values {value} {other}) a)"),
            3 => format!("(receive all (values {other} {value}) (cadr all))"),
            4 => format!("(let*-values (((a b) (values {value} {other})) ((c) (values a))) c)"),
            5 => {
                let test = self.expression(Kind::Boolean, depth.saturating_sub(2));
                let leaf = self.leaf(kind);
                format!("(receive (a b) (if {test} (values {value} {other}) (values {leaf} 1)) a)")
            }
            _ => {
                let f = self.pass_values();
                format!("(call-with-values (lambda () ({f} {value} {other})) (lambda (a b) b))")
            }
        }
    }

    /// A global procedure that gives its arguments back as values, the other way round.
    fn pass_values(&mut self) -> String {
        let name = self.name("swap");
        self.definitions
            .push(format!("(define ({name} a b) (values b a))"));
        name
    }

    fn continuation(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.expression(kind, depth - 1);
        let other = self.leaf(kind);
        let k = self.local("k");
        match self.random.below(9) {
            0 => format!("(call/ec (lambda ({k}) ({k} {value})))"),
            1 => {
                let test = self.expression(Kind::Boolean, depth.saturating_sub(2));
                format!("(call/ec (lambda ({k}) (if {test} ({k} {value}) {other})))")
            }
            2 => format!("(call/cc (lambda ({k}) {value}))"),
            3 => format!("(call/cc (lambda ({k}) ({k} {value})))"),
            4 => format!(
                "(let ((n 0) (again #f)) (let ((v (call/cc (lambda ({k}) (set! again {k}) {other})))) \
                 (set! n (+ n 1)) (if (< n 3) (again {value}) v)))"
            ),
            5 => format!("(dynamic-wind (lambda () #f) (lambda () {value}) (lambda () #f))"),
            6 => {
                let tick = self.tick();
                format!("(dynamic-wind (lambda () {tick}) (lambda () {value}) (lambda () {tick}))")
            }
            7 => format!(
                "(call/ec (lambda ({k}) (for-each (lambda (x) ({k} x)) (list {value} {other})) {other}))"
            ),
            _ => format!(
                "(call/ec (lambda ({k}) (dynamic-wind (lambda () #f) (lambda () ({k} {value})) (lambda () \
                 #f))))"
            ),
        }
    }

    fn handler(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.expression(kind, depth - 1);
        let other = self.leaf(kind);
        match self.random.below(8) {
            0 => format!("(guard (e (#t {other})) {value})"),
            1 => format!("(guard (e (#t e)) (raise {value}))"),
            2 => format!("(guard (e ((string? e) e) (else {value})) (raise 'x))"),
            3 => format!(
                "(with-exception-handler (lambda (e) {value}) (lambda () (raise-continuable 'a)))"
            ),
            4 => format!(
                "(with-exception-handler (lambda (e) e) (lambda () (let ((v (raise-continuable {value}))) \
                 v)))"
            ),
            5 => format!("(guard (e ((symbol? e) {other})) (let ((v {value})) v))"),
            6 => {
                let q = self.parameter(kind);
                format!("(parameterize (({q} {value})) (call {q}))")
            }
            _ => {
                let q = self.parameter(kind);
                let inner = self.expression(kind, depth.saturating_sub(2));
                format!("(parameterize (({q} {value})) (let ((v ({q}))) {inner} v))")
            }
        }
    }

    fn parameter(&mut self, kind: Kind) -> String {
        let name = self.name("q");
        let value = kind.literal(&mut self.random);
        self.definitions
            .push(format!("(define {name} (make-parameter {value}))"));
        name
    }

    fn iteration(&mut self, kind: Kind, depth: usize) -> String {
        let times = 1 + self.random.below(TIMES_MAX);
        let value = self.times(times, |writer| writer.expression(kind, depth - 1));
        let other = self.leaf(kind);
        let i = self.local("i");
        match self.random.below(14) {
            0 => format!(
                "(let loop (({i} 0) (value {other})) (if (< {i} {times}) (loop (+ {i} 1) {value}) value))"
            ),
            1 => {
                format!("(do (({i} 0 (+ {i} 1)) (value {other} {value})) ((= {i} {times}) value))")
            }
            2 => format!("(cadr (map (lambda (x) x) (list {other} {value})))"),
            3 => format!("(car (map (lambda (x y) y) (list {other} 1) (list {value} 2)))"),
            4 => format!(
                "(let ((last #f)) (for-each (lambda (x) (set! last x)) (list {other} {value})) last)"
            ),
            5 => format!("(vector-ref (vector-map (lambda (x) x) (vector {other} {value})) 1)"),
            6 => format!(
                "(let ((last #f)) (vector-for-each (lambda (x) (set! last x)) (vector {other} {value})) last)"
            ),
            7 => format!("(fold (lambda (x value) x) {other} (list {other} {value}))"),
            8 => format!("(vector-fold (lambda (value x) x) {other} (vector {other} {value}))"),
            9 => format!(
                "(let loop (({i} 0) (value {other})) (if (< {i} {times}) (begin (set! value {value}) (loop \
                 (+ {i} 1) value)) value))"
            ),
            10 => {
                let accumulated = self.accumulate(kind);
                format!(
                    "(let loop (({i} 0) (value {other})) (if (< {i} {times}) (loop (+ {i} 1) {accumulated}) \
                     value))"
                )
            }
            11 => format!("(car (apply map list (list (list {value} 1) (list 2 3))))"),
            12 => format!(
                "(let loop (({i} 0) (all '())) (if (< {i} {times}) (loop (+ {i} 1) (cons {value} all)) (car \
                 all)))"
            ),
            _ => format!("(car (filter (lambda (x) #t) (list {value})))"),
        }
    }

    /// The next value of a loop's variable `value`.
    fn accumulate(&mut self, kind: Kind) -> String {
        let leaf = self.leaf(kind);
        self.with(("value".to_owned(), kind), |writer| {
            if kind.is_number() {
                format!("({} value {leaf})", writer.random.choose(&["+", "-"]))
            } else {
                writer.expression(kind, 1)
            }
        })
    }

    fn recursion(&mut self, kind: Kind, depth: usize) -> String {
        let deep = 1 + self.random.below(TIMES_MAX);
        let value = self.expression(kind, depth - 1);
        let other = self.leaf(kind);
        let (f, g) = (self.local("f"), self.local("g"));
        match self.random.below(6) {
            0 => format!(
                "(letrec (({f} (lambda (n) (if (= n 0) {value} (let ((r ({f} (- n 1)))) r))))) ({f} {deep}))"
            ),
            1 => format!(
                "(let {f} ((n {deep})) (if (= n 0) {value} (let ((r ({f} (- n 1)))) (if r r {other}))))"
            ),
            2 => format!(
                "(letrec (({f} (lambda (n x) (if (= n 0) x (let ((r ({g} (- n 1) x))) r)))) \
                 ({g} (lambda (n x) (if (= n 0) {other} ({f} n x))))) ({f} {deep} {value}))"
            ),
            3 => format!("(let {f} ((n {deep}) (x {value})) (if (> n 0) ({f} (- n 1) x) x))"),
            4 => format!("(let {f} ((n {deep})) (if (= n 0) {value} (car (list ({f} (- n 1))))))"),
            _ => format!(
                "(let {f} ((n {deep}) (k (lambda (x) x))) (if (= n 0) (k {value}) ({f} (- n 1) (lambda (x) \
                 (k x)))))"
            ),
        }
    }

    fn object(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.expression(kind, depth - 1);
        let any = self.any_kind();
        let beside = self.expression(any, depth.saturating_sub(2));
        match self.random.below(14) {
            0 => format!("(car (cons {value} {beside}))"),
            1 => format!("(let ((p (cons {beside} {beside}))) (set-cdr! p {value}) (cdr p))"),
            2 => format!("(let ((p (make-point {value} {beside}))) (point-x p))"),
            3 => {
                format!("(let ((p (make-point 1 {beside}))) (set-point-x! p {value}) (point-x p))")
            }
            4 => format!("(vector-ref (vector {beside} {value}) 1)"),
            5 => format!(
                "(let ((w (make-vector 3 {beside}))) (vector-set! w 2 {value}) (vector-ref w 2))"
            ),
            6 => format!("(unbox (box {value}))"),
            7 => format!("(cdr (assq 'k (list (cons 'a {beside}) (cons 'k {value}))))"),
            8 => format!("(hash-table-ref (table-of 'k {value}) 'k (lambda () {beside}))"),
            9 => format!("(force (delay {value}))"),
            10 => format!("(force (make-promise {value}))"),
            11 => format!("(call (let ((x {value})) (lambda () x)))"),
            12 => {
                let store = self.store(kind, &value);
                store.unwrap_or(value)
            }
            _ => format!("(list-ref (list {beside} {value}) 1)"),
        }
    }

    fn procedure_call(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.expression(kind, depth - 1);
        let any = self.any_kind();
        let beside = self.expression(any, depth.saturating_sub(2));
        match self.random.below(13) {
            0 => format!("((lambda args (car args)) {value} {beside})"),
            1 => format!("(apply (lambda (a . rest) a) (list {value} {beside}))"),
            2 => format!("(apply second-of {beside} (list {value}))"),
            3 => format!("((case-lambda ((a) a) ((a b) b)) {beside} {value})"),
            4 => format!("(id {value})"),
            5 => format!("(call-1 id {value})"),
            6 => format!("(call-1 (lambda (x) x) {value})"),
            7 => format!("(call (const {value}))"),
            8 => format!("(call (lambda () {value}))"),
            9 => format!("((lambda* (a #:optional (b {value})) b) {beside})"),
            10 => format!("((lambda* (a #:key (b {beside})) b) {beside} #:b {value})"),
            11 => {
                // A global name holds it meanwhile.
                match self.variable() {
                    Some((name, held)) => {
                        let inner = self.expression(kind, depth - 1);
                        let given = self.expression(held, 1);
                        format!("(fluid-let (({name} {given})) {inner})")
                    }
                    None => format!("(id (id {value}))"),
                }
            }
            _ => format!("(second-of {beside} {value})"),
        }
    }
}
