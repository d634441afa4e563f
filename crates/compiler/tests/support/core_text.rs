//! Reads a small, macro-free Scheme into the core language, so that the compiler can be tested
//! without the expander. Knows the core forms plus `let*`, named `let`, `and`, `or`, `cond`,
//! `when` and `unless`; every other operator is a variable, a global of the unit or a primitive.

use std::collections::{HashMap, HashSet};

use canny_syntax::core::*;
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::reader::read_text;
use canny_syntax::span::{SourceMap, Span};
use canny_syntax::syntax::{Syntax, SyntaxKind};
use canny_tables::primitives;

pub fn unit_from_text(text: &str, kind: UnitKind, map: &SourceMap) -> Unit {
    let id = map.add("test.scm", text);
    let source = read_text(text, id, false);
    assert!(source.diagnostics.is_empty(), "{:?}", source.diagnostics);
    let mut reader = CoreReader {
        library: LibraryKey::new("(test)"),
        locals: VarTable::default(),
        globals: HashSet::new(),
        assigned: HashSet::new(),
        scopes: Vec::new(),
    };
    for form in &source.forms {
        if let Some(list) = list(form)
            && !list.is_empty()
            && word(&list[0]) == "define"
        {
            let target = list_prefix(&list[1]).map_or_else(|| list[1].clone(), |p| p[0].clone());
            reader.globals.insert(Name::new(&word(&target)));
        }
    }
    let mut body = Vec::new();
    let mut globals = Vec::new();
    for form in &source.forms {
        let parts = list(form).unwrap_or_default();
        if !parts.is_empty() && word(&parts[0]) == "define" {
            let (name, expr) = reader.define(&parts, form.span);
            globals.push((name, form.span));
            let global = GlobalName {
                library: reader.library.clone(),
                name,
            };
            body.push(TopForm::Define(global, expr));
        } else {
            body.push(TopForm::Expression(reader.expr(form)));
        }
    }
    let globals = globals
        .into_iter()
        .map(|(name, span)| GlobalDefinition {
            name,
            span,
            assigned: reader.assigned.contains(&name),
            exported: true,
        })
        .collect();
    Unit {
        name: reader.library,
        kind,
        requires: Vec::new(),
        globals,
        body,
        locals: reader.locals,
    }
}

struct CoreReader {
    library: LibraryKey,
    locals: VarTable,
    globals: HashSet<Name>,
    assigned: HashSet<Name>,
    scopes: Vec<HashMap<String, VarId>>,
}

fn word(syntax: &Syntax) -> String {
    match &syntax.kind {
        SyntaxKind::Identifier(identifier) => identifier.name.to_string(),
        SyntaxKind::Atom(Datum::Keyword(name)) => format!("#:{name}"),
        _ => String::new(),
    }
}

/// Elements and tail of a possibly improper list.
fn parts(syntax: &Syntax) -> (Vec<Syntax>, Syntax) {
    let mut elements = Vec::new();
    let mut rest = syntax.clone();
    while let SyntaxKind::Pair(pair) = &rest.kind {
        elements.push(pair.car.clone());
        let next = pair.cdr.clone();
        rest = next;
    }
    (elements, rest)
}

fn list(syntax: &Syntax) -> Option<Vec<Syntax>> {
    let (elements, rest) = parts(syntax);
    matches!(rest.kind, SyntaxKind::Atom(Datum::Nil)).then_some(elements)
}

fn list_prefix(syntax: &Syntax) -> Option<Vec<Syntax>> {
    let (elements, _) = parts(syntax);
    (!elements.is_empty()).then_some(elements)
}

fn cdr(syntax: &Syntax) -> Syntax {
    match &syntax.kind {
        SyntaxKind::Pair(pair) => pair.cdr.clone(),
        _ => panic!("not a pair"),
    }
}

impl CoreReader {
    fn bind(&mut self, name: &Syntax) -> VarId {
        let text = word(name);
        assert!(!text.is_empty(), "not a variable: {name:?}");
        let var = self.locals.add(Name::new(&text), name.span);
        self.scopes.last_mut().unwrap().insert(text, var);
        var
    }

    fn lookup(&self, name: &str) -> Option<VarId> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .copied()
    }

    fn define(&mut self, parts: &[Syntax], span: Span) -> (Name, Expr) {
        match list_prefix(&parts[1]) {
            Some(head) => {
                let name = Name::new(&word(&head[0]));
                let formals = cdr(&parts[1]);
                let mut lambda = self.lambda(&formals, &parts[2..], span);
                lambda.name = Some(name);
                (name, Expr::new(span, ExprKind::Lambda(Box::new(lambda))))
            }
            None => {
                let name = Name::new(&word(&parts[1]));
                let mut value = self.expr(&parts[2]);
                if let ExprKind::Lambda(lambda) = &mut value.kind {
                    lambda.name = Some(name);
                }
                (name, value)
            }
        }
    }

    fn lambda(&mut self, formals: &Syntax, body: &[Syntax], span: Span) -> Lambda {
        self.scopes.push(HashMap::new());
        let (elements, tail) = parts(formals);
        let (mut required, mut optional, mut keywords) = (Vec::new(), Vec::new(), Vec::new());
        let (mut mode, mut allow_other_keys) = (0, false);
        let mut rest = None;
        for element in &elements {
            match word(element).as_str() {
                "#:optional" => mode = 1,
                "#:key" => mode = 2,
                "#:rest" => mode = 3,
                "#:allow-other-keys" => allow_other_keys = true,
                _ if mode == 0 => required.push(self.bind(element)),
                _ if mode == 3 => rest = Some(self.bind(element)),
                _ => {
                    let (name, default) = match list(element) {
                        Some(pair) => (pair[0].clone(), self.expr(&pair[1])),
                        None => (
                            element.clone(),
                            Expr::constant(element.span, Datum::Boolean(false)),
                        ),
                    };
                    let var = self.bind(&name);
                    if mode == 1 {
                        optional.push((var, default));
                    } else {
                        keywords.push((Name::new(&word(&name)), var, default));
                    }
                }
            }
        }
        if let SyntaxKind::Identifier(_) = tail.kind {
            rest = Some(self.bind(&tail));
        }
        let body = self.body(body, span);
        self.scopes.pop();
        Lambda {
            name: None,
            required,
            optional,
            keywords,
            rest,
            allow_other_keys,
            body,
            span,
        }
    }

    /// A body: internal definitions become `letrec*`.
    fn body(&mut self, forms: &[Syntax], span: Span) -> Expr {
        let is_define = |form: &Syntax| {
            list(form).is_some_and(|list| !list.is_empty() && word(&list[0]) == "define")
        };
        let count = forms.iter().take_while(|form| is_define(form)).count();
        if count == 0 {
            let forms = forms.iter().map(|form| self.expr(form)).collect();
            return Expr::sequence(span, forms);
        }
        self.scopes.push(HashMap::new());
        let mut vars = Vec::new();
        for form in &forms[..count] {
            let parts = list(form).unwrap();
            let name = list_prefix(&parts[1]).map_or_else(|| parts[1].clone(), |p| p[0].clone());
            vars.push(self.bind(&name));
        }
        let mut bindings = Vec::new();
        for (form, var) in forms[..count].iter().zip(vars) {
            let parts = list(form).unwrap();
            bindings.push((var, self.define(&parts, form.span).1));
        }
        let body = Box::new(self.body(&forms[count..], span));
        self.scopes.pop();
        Expr::new(
            span,
            ExprKind::Letrec {
                star: true,
                bindings,
                body,
            },
        )
    }

    fn exprs(&mut self, forms: &[Syntax]) -> Vec<Expr> {
        forms.iter().map(|form| self.expr(form)).collect()
    }

    fn expr(&mut self, syntax: &Syntax) -> Expr {
        let span = syntax.span;
        match &syntax.kind {
            SyntaxKind::Identifier(identifier) => {
                self.reference(&identifier.name.to_string(), span)
            }
            SyntaxKind::Atom(datum) => Expr::constant(span, datum.clone()),
            SyntaxKind::Pair(_) => {
                let parts = list(syntax).expect("proper list");
                let head = word(&parts[0]);
                if self.lookup(&head).is_none()
                    && let Some(expr) = self.special(&head, &parts, span)
                {
                    return expr;
                }
                let operator = self.expr(&parts[0]);
                let operands = self.exprs(&parts[1..]);
                Expr::call(span, operator, operands)
            }
            _ => Expr::constant(span, strip(syntax)),
        }
    }

    fn reference(&mut self, name: &str, span: Span) -> Expr {
        if let Some(var) = self.lookup(name) {
            return Expr::new(span, ExprKind::LocalRef(var));
        }
        if !self.globals.contains(&Name::new(name))
            && let Some(id) = primitives::lookup(name)
        {
            return Expr::new(span, ExprKind::PrimitiveRef(PrimitiveId(id.0)));
        }
        let global = GlobalName {
            library: self.library.clone(),
            name: Name::new(name),
        };
        Expr::new(span, ExprKind::GlobalRef(global))
    }

    fn bindings(&mut self, syntax: &Syntax) -> Vec<(Syntax, Syntax)> {
        let pairs = list(syntax).unwrap();
        pairs
            .iter()
            .map(|pair| {
                let pair = list(pair).unwrap();
                (pair[0].clone(), pair[1].clone())
            })
            .collect()
    }

    fn special(&mut self, head: &str, parts: &[Syntax], span: Span) -> Option<Expr> {
        let kind = match head {
            "quote" => ExprKind::Constant(strip(&parts[1])),
            "if" => {
                let alternative = match parts.get(3) {
                    Some(form) => self.expr(form),
                    None => Expr::unspecified(span),
                };
                let (test, consequent) = (self.expr(&parts[1]), self.expr(&parts[2]));
                return Some(Expr::conditional(span, test, consequent, alternative));
            }
            "set!" => {
                let value = Box::new(self.expr(&parts[2]));
                let name = word(&parts[1]);
                match self.lookup(&name) {
                    Some(var) => {
                        self.locals[var].assigned = true;
                        ExprKind::LocalSet(var, value)
                    }
                    None => {
                        self.assigned.insert(Name::new(&name));
                        let library = self.library.clone();
                        ExprKind::GlobalSet(
                            GlobalName {
                                library,
                                name: Name::new(&name),
                            },
                            value,
                        )
                    }
                }
            }
            "lambda" => ExprKind::Lambda(Box::new(self.lambda(&parts[1], &parts[2..], span))),
            "case-lambda" => {
                let clause = |reader: &mut Self, clause: &Syntax| {
                    let clause = list(clause).unwrap();
                    reader.lambda(&clause[0], &clause[1..], span)
                };
                ExprKind::CaseLambda(parts[1..].iter().map(|part| clause(self, part)).collect())
            }
            "begin" => {
                return Some({
                    let forms = self.exprs(&parts[1..]);
                    Expr::sequence(span, forms)
                });
            }
            "let" if !word(&parts[1]).is_empty() => return Some(self.named_let(parts, span)),
            "let" => {
                let pairs = self.bindings(&parts[1]);
                let inits: Vec<Expr> = pairs.iter().map(|(_, init)| self.expr(init)).collect();
                self.scopes.push(HashMap::new());
                let vars: Vec<VarId> = pairs.iter().map(|(name, _)| self.bind(name)).collect();
                let body = Box::new(self.body(&parts[2..], span));
                self.scopes.pop();
                ExprKind::Let {
                    bindings: vars.into_iter().zip(inits).collect(),
                    body,
                }
            }
            "let*" => return Some(self.let_star(&parts[1], &parts[2..], span)),
            "letrec" | "letrec*" => {
                let pairs = self.bindings(&parts[1]);
                self.scopes.push(HashMap::new());
                let vars: Vec<VarId> = pairs.iter().map(|(name, _)| self.bind(name)).collect();
                let mut inits: Vec<Expr> = pairs.iter().map(|(_, init)| self.expr(init)).collect();
                for (var, init) in vars.iter().zip(&mut inits) {
                    if let ExprKind::Lambda(lambda) = &mut init.kind {
                        lambda.name = Some(self.locals[*var].name);
                    }
                }
                let body = Box::new(self.body(&parts[2..], span));
                self.scopes.pop();
                let bindings = vars.into_iter().zip(inits).collect();
                ExprKind::Letrec {
                    star: head == "letrec*",
                    bindings,
                    body,
                }
            }
            "let-values" => {
                let init = Box::new(self.expr(&parts[2]));
                self.scopes.push(HashMap::new());
                let (names, tail) = self::parts(&parts[1]);
                let required = names.iter().map(|name| self.bind(name)).collect();
                let rest = match tail.kind {
                    SyntaxKind::Identifier(_) => Some(self.bind(&tail)),
                    _ => None,
                };
                let body = Box::new(self.body(&parts[3..], span));
                self.scopes.pop();
                ExprKind::LetValues {
                    formals: Formals { required, rest },
                    init,
                    body,
                }
            }
            "and" => return Some(self.and(&parts[1..], span)),
            "or" => return Some(self.or(&parts[1..], span)),
            "cond" => return Some(self.cond(&parts[1..], span)),
            "when" | "unless" => {
                let test = self.expr(&parts[1]);
                let forms = self.exprs(&parts[2..]);
                let body = Expr::sequence(span, forms);
                let nothing = Expr::unspecified(span);
                return Some(if head == "when" {
                    Expr::conditional(span, test, body, nothing)
                } else {
                    Expr::conditional(span, test, nothing, body)
                });
            }
            _ => return None,
        };
        Some(Expr::new(span, kind))
    }

    /// `((letrec ((name (lambda …))) name) init …)`, as R7RS says.
    fn named_let(&mut self, parts: &[Syntax], span: Span) -> Expr {
        let pairs = self.bindings(&parts[2]);
        let inits: Vec<Expr> = pairs.iter().map(|(_, init)| self.expr(init)).collect();
        self.scopes.push(HashMap::new());
        let var = self.bind(&parts[1]);
        self.scopes.push(HashMap::new());
        let required = pairs.iter().map(|(name, _)| self.bind(name)).collect();
        let body = self.body(&parts[3..], span);
        self.scopes.pop();
        self.scopes.pop();
        let lambda = Lambda {
            name: Some(self.locals[var].name),
            required,
            optional: Vec::new(),
            keywords: Vec::new(),
            rest: None,
            allow_other_keys: false,
            body,
            span,
        };
        let bindings = vec![(var, Expr::new(span, ExprKind::Lambda(Box::new(lambda))))];
        let body = Box::new(Expr::new(span, ExprKind::LocalRef(var)));
        let operator = Expr::new(
            span,
            ExprKind::Letrec {
                star: false,
                bindings,
                body,
            },
        );
        Expr::call(span, operator, inits)
    }

    fn let_star(&mut self, bindings: &Syntax, body: &[Syntax], span: Span) -> Expr {
        let pairs = self.bindings(bindings);
        let Some((name, init)) = pairs.first() else {
            return self.body(body, span);
        };
        let init = self.expr(init);
        self.scopes.push(HashMap::new());
        let var = self.bind(name);
        let inner = self.let_star(&cdr(bindings), body, span);
        self.scopes.pop();
        Expr::new(
            span,
            ExprKind::Let {
                bindings: vec![(var, init)],
                body: Box::new(inner),
            },
        )
    }

    fn and(&mut self, forms: &[Syntax], span: Span) -> Expr {
        match forms {
            [] => Expr::constant(span, Datum::Boolean(true)),
            [last] => self.expr(last),
            [first, rest @ ..] => {
                let (first, rest) = (self.expr(first), self.and(rest, span));
                let no = Expr::constant(span, Datum::Boolean(false));
                Expr::conditional(span, first, rest, no)
            }
        }
    }

    fn or(&mut self, forms: &[Syntax], span: Span) -> Expr {
        match forms {
            [] => Expr::constant(span, Datum::Boolean(false)),
            [last] => self.expr(last),
            [first, rest @ ..] => {
                let (first, rest) = (self.expr(first), self.or(rest, span));
                let var = self.locals.add(Name::new("t"), span);
                let reference = || Expr::new(span, ExprKind::LocalRef(var));
                let body = Box::new(Expr::conditional(span, reference(), reference(), rest));
                Expr::new(
                    span,
                    ExprKind::Let {
                        bindings: vec![(var, first)],
                        body,
                    },
                )
            }
        }
    }

    fn cond(&mut self, clauses: &[Syntax], span: Span) -> Expr {
        let Some((first, rest)) = clauses.split_first() else {
            return Expr::unspecified(span);
        };
        let clause = list(first).unwrap();
        let forms = self.exprs(&clause[1..]);
        let body = Expr::sequence(span, forms);
        if word(&clause[0]) == "else" {
            return body;
        }
        let test = self.expr(&clause[0]);
        let rest = self.cond(rest, span);
        Expr::conditional(span, test, body, rest)
    }
}

fn strip(syntax: &Syntax) -> Datum {
    match &syntax.kind {
        SyntaxKind::Identifier(identifier) => Datum::Symbol(identifier.name),
        SyntaxKind::Atom(datum) => datum.clone(),
        SyntaxKind::Pair(pair) => Datum::cons(strip(&pair.car), strip(&pair.cdr)),
        SyntaxKind::Vector(elements) => {
            Datum::vector(elements.as_slice().iter().map(strip).collect())
        }
        SyntaxKind::Labelled(..) => panic!("labels are not used in these tests"),
    }
}
