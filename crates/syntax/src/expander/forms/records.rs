//! `define-record-type`, as in R7RS, with what SRFI 131 and common habit add.
//!
//! ```text
//! (define-record-type <type> <constructor> <predicate> <field> …)
//! <type>        name | (name parent)
//! <constructor> #f | name | (name field …)      a bare name takes all fields
//! <predicate>   #f | name
//! <field>       name | (name) | (name accessor) | (name accessor modifier)
//! ```
//!
//! Where a procedure has a name, `#t` stands for the name that SRFI 99 gives it: `make-type`, `type?`,
//! `type-field` or `type-field-set!`, without the angle brackets of the type's name.
//!
//! The fields of a parent precede those of its child. Usually the parent is a variable that a
//! `define-record-type` defined; then its fields are known here, and a constructor may name them or,
//! given as a bare name, takes them first. If the parent is any other expression, a child's
//! procedures add a number that is computed when its type is made, and there is no constructor.

use crate::core::{Expr, ExprKind, Lambda, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::body::{DeferredKind, Item, Scan, Target};
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// The parts of the expression that makes a record type.
pub(crate) struct RecordType {
    name: Name,
    fields: Vec<Name>,
    parent: Option<Syntax>,
    span: Span,
}

struct Field {
    identifier: Identifier,
    span: Span,
    accessor: Option<Syntax>,
    modifier: Option<Syntax>,
}

/// A record type being defined.
struct Definition {
    type_target: Target,
    inherited: Inherited,
    fields: Vec<Field>,
    span: Span,
}

/// The fields of a record type's parent.
enum Inherited {
    /// Their names; empty without a parent.
    Known(Vec<Name>),
    /// A hidden variable that holds their number.
    Counted(Target),
}

const FORM: CoreForm = CoreForm::DefineRecordType;

impl Expander<'_> {
    pub(crate) fn define_record_type(&mut self, operands: &[Syntax], span: Span, scan: &mut Scan) {
        let [type_spec, constructor, rest @ ..] = operands else {
            self.bad_form(
                FORM,
                span,
                "expected a type, a constructor, a predicate and fields",
            );
            return;
        };
        let Some((type_name, parent)) = self.record_type_name(type_spec) else {
            return;
        };
        let Some(identifier) = type_name.as_identifier() else {
            return;
        };
        let constructor = &with_default_name(constructor, identifier, "make-", "");
        let predicate = rest
            .first()
            .map(|predicate| with_default_name(predicate, identifier, "", "?"));
        let field_specs: Vec<Syntax> = rest
            .get(1..)
            .unwrap_or_default()
            .iter()
            .map(|spec| with_default_field_names(spec, identifier))
            .collect();
        let Some(fields) = self.record_fields(&field_specs) else {
            return;
        };
        let Some(type_target) = self.declare(&type_name, FORM.name(), scan) else {
            return;
        };
        let record = RecordType {
            name: bare_type_name(identifier.name),
            fields: fields.iter().map(|field| field.identifier.name).collect(),
            parent: parent.clone(),
            span,
        };
        let value = self.deferred(DeferredKind::RecordType(record), scan.current);
        scan.items.push(Item::Define {
            target: type_target.clone(),
            value,
            span,
        });
        let inherited = match &parent {
            None => Inherited::Known(Vec::new()),
            Some(parent) => match self.known_fields(parent, scan.current) {
                Some(names) => Inherited::Known(names),
                None => Inherited::Counted(self.define_offset(&type_target, span, scan)),
            },
        };
        if let Inherited::Known(names) = &inherited {
            let mut all = names.clone();
            all.extend(fields.iter().map(|field| field.identifier.name));
            self.note_fields(&type_target, all);
        }
        let definition = Definition {
            type_target,
            inherited,
            fields,
            span,
        };
        self.define_constructor(&definition, constructor, scan);
        if let Some(predicate) = predicate.filter(|predicate| !is_false(predicate)) {
            self.define_predicate(&definition, &predicate, scan);
        }
        for index in 0..definition.fields.len() {
            self.define_field_procedures(&definition, index, scan);
        }
    }

    /// `name` or `(name parent)`.
    fn record_type_name(&mut self, spec: &Syntax) -> Option<(Syntax, Option<Syntax>)> {
        if spec.as_identifier().is_some() {
            return Some((spec.clone(), None));
        }
        match spec.elements().as_deref() {
            Some([name]) if name.as_identifier().is_some() => Some((name.clone(), None)),
            Some([name, parent]) if name.as_identifier().is_some() => {
                Some((name.clone(), (!is_false(parent)).then(|| parent.clone())))
            }
            _ => {
                self.bad_form(
                    FORM,
                    spec.span,
                    format!("the type must be a name or (name parent), not `{spec}`"),
                );
                None
            }
        }
    }

    fn record_fields(&mut self, specs: &[Syntax]) -> Option<Vec<Field>> {
        let mut fields = Vec::with_capacity(specs.len());
        let mut good = true;
        for spec in specs {
            let parts = match spec.as_identifier() {
                Some(_) => vec![spec.clone()],
                None => spec.elements().unwrap_or_default(),
            };
            let all_names = parts.iter().all(|part| part.as_identifier().is_some());
            let field = match parts.as_slice() {
                [name, procedures @ ..] if all_names && procedures.len() <= 2 => {
                    name.as_identifier().map(|identifier| Field {
                        identifier,
                        span: name.span,
                        accessor: procedures.first().cloned(),
                        modifier: procedures.get(1).cloned(),
                    })
                }
                _ => None,
            };
            match field {
                Some(field) => fields.push(field),
                None => {
                    let message = format!("a field must be (name accessor modifier), not `{spec}`");
                    self.bad_form(FORM, spec.span, message);
                    good = false;
                }
            }
        }
        let names: Vec<(Identifier, Span)> = fields
            .iter()
            .map(|field| (field.identifier, field.span))
            .collect();
        self.check_distinct(FORM, &names);
        for field in &fields {
            self.note_field(field.identifier.name, field.span, field.span);
        }
        good.then_some(fields)
    }

    /// The expression that makes the type.
    pub(crate) fn record_type(&mut self, record: RecordType, scope: ScopeId) -> Expr {
        let span = record.span;
        let parent = match &record.parent {
            Some(parent) => self.expand(parent, scope),
            None => Expr::constant(span, Datum::Boolean(false)),
        };
        let fields = Datum::vector(record.fields.into_iter().map(Datum::Symbol).collect());
        let operands = vec![
            Expr::constant(span, Datum::Symbol(record.name)),
            Expr::constant(span, fields),
            parent,
        ];
        self.primitive_call("%make-record-type", operands, span)
    }

    /// A hidden variable that holds the number of the parent's fields.
    fn define_offset(&mut self, type_target: &Target, span: Span, scan: &mut Scan) -> Target {
        let offset = self.declare_hidden("field-offset", span, scan);
        let record_type = Self::target_reference(type_target, span);
        let parent = self.primitive_call("record-type-parent", vec![record_type], span);
        let names = self.primitive_call("record-type-field-names", vec![parent], span);
        let length = self.primitive_call("vector-length", vec![names], span);
        let value = self.deferred(DeferredKind::Ready(length), scan.current);
        scan.items.push(Item::Define {
            target: offset.clone(),
            value,
            span,
        });
        offset
    }

    fn define_constructor(&mut self, definition: &Definition, spec: &Syntax, scan: &mut Scan) {
        if is_false(spec) {
            return;
        }
        let span = definition.span;
        let Inherited::Known(inherited) = &definition.inherited else {
            let message =
                "the fields of the parent are not known here, so the constructor must be #f";
            self.bad_form(FORM, spec.span, message);
            return;
        };
        let mut names: Vec<Identifier> = inherited
            .iter()
            .map(|name| Identifier::plain(*name))
            .collect();
        names.extend(definition.fields.iter().map(|field| field.identifier));
        let (name, parameters) = match spec.as_identifier() {
            Some(_) => {
                let all = names
                    .iter()
                    .map(|identifier| Syntax::identifier(spec.span, *identifier));
                (spec.clone(), all.collect())
            }
            None => match spec.elements().filter(|parts| !parts.is_empty()) {
                Some(mut parts) => (parts.remove(0), parts),
                None => {
                    self.bad_form(
                        FORM,
                        spec.span,
                        format!("the constructor must be (name field …), not `{spec}`"),
                    );
                    return;
                }
            },
        };
        let Some(procedure_name) = name.as_identifier() else {
            self.bad_form(FORM, name.span, format!("`{name}` is not a name"));
            return;
        };
        // The parameter that gives each field its value. A child's field hides a parent's of the
        // same name.
        let mut sources: Vec<Option<VarId>> = vec![None; names.len()];
        let mut required = Vec::with_capacity(parameters.len());
        let takes_all = spec.as_identifier().is_some();
        for (position, parameter) in parameters.iter().enumerate() {
            let identifier = parameter.as_identifier();
            let index = if takes_all {
                Some(position)
            } else {
                names.iter().rposition(|name| Some(*name) == identifier)
            };
            let Some(index) = index else {
                self.bad_form(
                    FORM,
                    parameter.span,
                    format!("`{parameter}` in the constructor is not a field"),
                );
                return;
            };
            if sources[index].is_some() {
                self.bad_form(
                    FORM,
                    parameter.span,
                    format!("`{parameter}` occurs twice in the constructor"),
                );
                return;
            }
            if let Some(field) = index.checked_sub(inherited.len())
                && !takes_all
            {
                let field = &definition.fields[field];
                self.note_field(field.identifier.name, field.span, parameter.span);
            }
            let variable = self.locals.add(names[index].name, parameter.span);
            sources[index] = Some(variable);
            required.push(variable);
        }
        let mut operands = vec![Self::target_reference(&definition.type_target, span)];
        operands.extend(sources.iter().map(|source| match source {
            Some(variable) => Expr::new(span, ExprKind::LocalRef(*variable)),
            None => Expr::constant(span, Datum::Boolean(false)),
        }));
        let body = self.primitive_call("%record", operands, span);
        self.define_procedure(&name, procedure_name.name, required, body, scan);
    }

    fn define_predicate(&mut self, definition: &Definition, name: &Syntax, scan: &mut Scan) {
        let Some(identifier) = name.as_identifier() else {
            self.bad_form(
                FORM,
                name.span,
                format!("the predicate must be a name, not `{name}`"),
            );
            return;
        };
        let span = definition.span;
        let object = self.locals.add(Name::new("object"), span);
        let operands = vec![
            Expr::new(span, ExprKind::LocalRef(object)),
            Self::target_reference(&definition.type_target, span),
        ];
        let body = self.primitive_call("%record?", operands, span);
        self.define_procedure(name, identifier.name, vec![object], body, scan);
    }

    fn define_field_procedures(&mut self, definition: &Definition, index: usize, scan: &mut Scan) {
        let field = &definition.fields[index];
        let span = definition.span;
        for (name, modifies) in [(&field.accessor, false), (&field.modifier, true)] {
            let Some(name) = name else { continue };
            let Some(identifier) = name.as_identifier() else {
                continue;
            };
            let object = self.locals.add(Name::new("object"), span);
            let mut required = vec![object];
            let mut operands = vec![
                Expr::new(span, ExprKind::LocalRef(object)),
                Self::target_reference(&definition.type_target, span),
                self.field_index(definition, index),
            ];
            if modifies {
                let value = self.locals.add(Name::new("value"), span);
                required.push(value);
                operands.push(Expr::new(span, ExprKind::LocalRef(value)));
            }
            operands.push(Expr::constant(span, Datum::Symbol(identifier.name)));
            let primitive = if modifies {
                "%record-set!"
            } else {
                "%record-ref"
            };
            let body = self.primitive_call(primitive, operands, span);
            self.define_procedure(name, identifier.name, required, body, scan);
        }
    }

    fn field_index(&mut self, definition: &Definition, index: usize) -> Expr {
        let span = definition.span;
        let constant = |index: usize| Expr::constant(span, Datum::integer(index as i64));
        match &definition.inherited {
            Inherited::Known(names) => constant(names.len() + index),
            Inherited::Counted(offset) => {
                let offset = Self::target_reference(offset, span);
                self.primitive_call("+", vec![offset, constant(index)], span)
            }
        }
    }

    /// The field names of the record type that a variable holds, if that is known.
    pub(crate) fn known_fields(&mut self, parent: &Syntax, scope: ScopeId) -> Option<Vec<Name>> {
        match self.resolve(parent.as_identifier()?, scope) {
            Denotation::Local(variable) => self.local_records.get(&variable).cloned(),
            Denotation::Global { name, .. } if name.library == *self.environment.key() => {
                self.environment.records.get(&name.name).cloned()
            }
            Denotation::Global { name, .. } => self
                .libraries
                .interface_by_key(&name.library)?
                .records
                .get(&name.name)
                .cloned(),
            _ => None,
        }
    }

    fn note_fields(&mut self, target: &Target, names: Vec<Name>) {
        match target {
            Target::Local(variable) => {
                self.local_records.insert(*variable, names);
            }
            Target::Global(name) | Target::Again(name) => {
                self.environment.records.insert(name.name, names);
            }
        }
    }

    /// Defines a procedure whose body is made already.
    fn define_procedure(
        &mut self,
        at: &Syntax,
        name: Name,
        required: Vec<VarId>,
        body: Expr,
        scan: &mut Scan,
    ) {
        let Some(target) = self.declare(at, FORM.name(), scan) else {
            return;
        };
        let lambda = Lambda {
            name: Some(name),
            required,
            optional: Vec::new(),
            keywords: Vec::new(),
            rest: None,
            allow_other_keys: false,
            body,
            span: at.span,
        };
        let value = Expr::new(at.span, ExprKind::Lambda(Box::new(lambda)));
        let value = self.deferred(DeferredKind::Ready(value), scan.current);
        scan.items.push(Item::Define {
            target,
            value,
            span: at.span,
        });
    }
}

fn is_false(syntax: &Syntax) -> bool {
    matches!(syntax.as_atom(), Some(Datum::Boolean(false)))
}

/// `#t` becomes the name of the type between a prefix and a suffix, with the scope of the type's name.
fn with_default_name(spec: &Syntax, type_name: Identifier, prefix: &str, suffix: &str) -> Syntax {
    if !matches!(spec.as_atom(), Some(Datum::Boolean(true))) {
        return spec.clone();
    }
    let bare = bare_type_name(type_name.name);
    let name = Name::new(&format!("{prefix}{}{suffix}", bare.as_str()));
    let alias = type_name.alias;
    Syntax::identifier(spec.span, Identifier { name, alias })
}

/// The same for the procedures of a field.
fn with_default_field_names(spec: &Syntax, type_name: Identifier) -> Syntax {
    let Some(mut parts) = spec.elements() else {
        return spec.clone();
    };
    let Some(field) = parts.first().and_then(Syntax::as_identifier) else {
        return spec.clone();
    };
    let field = field.name.as_str().to_owned();
    for (part, suffix) in parts.iter_mut().skip(1).zip(["", "-set!"]) {
        *part = with_default_name(part, type_name, "", &format!("-{field}{suffix}"));
    }
    Syntax::list(spec.span, parts)
}

/// `<point>` is called `point`.
fn bare_type_name(name: Name) -> Name {
    let text = name.as_str();
    match text
        .strip_prefix('<')
        .and_then(|text| text.strip_suffix('>'))
    {
        Some(bare) if !bare.is_empty() => Name::new(bare),
        _ => name,
    }
}
