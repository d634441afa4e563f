//! Conversions between Scheme objects and values of components.
//!
//! Types say what an object stands for: a list for a list or a tuple, a bytevector for a list of
//! bytes, an association list for a record, a symbol or a pair of it and what it holds for a case of a
//! variant, a list of symbols for flags. `#f` is the option that has nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use canny_component::Value as ComponentValue;
use canny_component::resource::Resource;
use canny_component::types::{Shape, Type};
use canny_locks::Mutex;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::symbols::symbol_name;
use canny_vm::{Raise, Thread, string_text};

use super::super::values::{float, integer_bits, make_room};
use super::{Parts, field};
use crate::host::{find, keep, kept_in_table};
use crate::list::{Builder, Walk};

/// Resources that Scheme has owned and forgotten.
pub(super) type Dropped = Arc<Mutex<Vec<(Resource, u32)>>>;

/// A resource of a guest or of the host that Scheme has.
pub(crate) struct GuestResource {
    pub(super) resource: Resource,
    pub(super) representation: u32,
    state: AtomicU8,
    dropped: Dropped,
}

kept_in_table!(GuestResource);

/// States of a resource.
const OWNED: u8 = 0;
const LENT: u8 = 1;
const GONE: u8 = 2;

impl GuestResource {
    /// Takes the resource away from Scheme, if it owns it.
    pub(super) fn take(&self) -> bool {
        let order = Ordering::Relaxed;
        let taken = self.state.compare_exchange(OWNED, GONE, order, order);
        taken.is_ok()
    }

    /// Ends what Scheme was lent.
    pub(super) fn end_loan(&self) {
        self.state.store(GONE, Ordering::Relaxed);
    }
}

impl Drop for GuestResource {
    fn drop(&mut self) {
        if self.take() {
            let dropped = (self.resource.clone(), self.representation);
            self.dropped.lock().push(dropped);
        }
    }
}

/// Where objects are converted.
pub(super) struct Conversion<'a> {
    /// The record of the instance.
    pub record: ObjectRef,
    pub parts: &'a mut Parts,
    /// Resources that Scheme is lent.
    pub lent: Vec<Arc<GuestResource>>,
}

/// The name of a case, or of a field or flag, as a symbol of Scheme has it.
fn is_named(value: Value, name: &str) -> bool {
    symbol_name(value).is_some_and(|symbol| symbol == name)
}

/// Names of the cases of a type that is like a variant.
fn case_names(kind: &Type) -> Vec<&str> {
    match &kind.shape {
        Shape::Variant(cases) => cases.iter().map(|(name, _)| name.as_str()).collect(),
        Shape::Enum(names) | Shape::Flags(names) => names.iter().map(String::as_str).collect(),
        Shape::Option(_) => vec!["none", "some"],
        Shape::Result(..) => vec!["ok", "error"],
        _ => Vec::new(),
    }
}

/// Whether an object of this type may be `#f`.
fn may_be_false(kind: &Type) -> bool {
    matches!(kind.shape, Shape::Bool | Shape::Option(_)) || is_outside(kind)
}

fn is_outside(kind: &Type) -> bool {
    match &kind.shape {
        Shape::Own(resource) | Shape::Borrow(resource) => resource.is_outside(),
        _ => false,
    }
}

impl Conversion<'_> {
    /// The object for a value.
    pub fn object(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        value: &ComponentValue,
    ) -> Result<Value, Raise> {
        use ComponentValue as V;
        Ok(match value {
            V::Bool(it) => Value::boolean(*it),
            V::S8(it) => Value::fixnum(i64::from(*it)),
            V::U8(it) => Value::fixnum(i64::from(*it)),
            V::S16(it) => Value::fixnum(i64::from(*it)),
            V::U16(it) => Value::fixnum(i64::from(*it)),
            V::S32(it) => Value::fixnum(i64::from(*it)),
            V::U32(it) => Value::fixnum(i64::from(*it)),
            V::S64(it) => thread.integer(*it),
            V::U64(it) => thread.unsigned_integer(*it),
            V::F32(it) => thread.flonum(f64::from(*it)),
            V::F64(it) => thread.flonum(*it),
            V::Char(it) => Value::character(*it),
            V::String(it) => thread.string(it),
            V::Bytes(it) => thread.bytevector(it)?,
            V::List(items) => {
                let (Shape::List(element) | Shape::FixedList(element, _)) = &kind.shape else {
                    return Ok(Value::FALSE);
                };
                let mut list = Builder::new();
                for item in items {
                    let object = self.object(thread, element, item)?;
                    list.push(thread, object)?;
                }
                list.finish(thread, Value::NIL)
            }
            V::Record(items) => {
                let mut list = Builder::new();
                for (index, (field, item)) in kind.fields().into_iter().zip(items).enumerate() {
                    let object = self.object(thread, field, item)?;
                    let object = match &kind.shape {
                        Shape::Record(fields) => {
                            let name = thread.symbol(&fields[index].0);
                            thread.try_cons(name, object)?
                        }
                        _ => object,
                    };
                    list.push(thread, object)?;
                }
                list.finish(thread, Value::NIL)
            }
            V::Option(None) => Value::FALSE,
            V::Option(Some(held)) => {
                let Some(case) = kind.case(1) else {
                    return Ok(Value::FALSE);
                };
                let object = self.object(thread, case, held)?;
                if may_be_false(case) {
                    let name = thread.symbol("some");
                    thread.try_cons(name, object)?
                } else {
                    object
                }
            }
            V::Enum(number) => self.case(thread, kind, *number, None)?,
            V::Variant(number, held) => self.case(thread, kind, *number, held.as_deref())?,
            V::Result(Ok(held)) => self.case(thread, kind, 0, held.as_deref())?,
            V::Result(Err(held)) => self.case(thread, kind, 1, held.as_deref())?,
            V::Flags(flags) => {
                let mut list = Builder::new();
                for (name, _) in case_names(kind)
                    .iter()
                    .zip(flags)
                    .filter(|(_, flag)| **flag)
                {
                    let symbol = thread.symbol(name);
                    list.push(thread, symbol)?;
                }
                list.finish(thread, Value::NIL)
            }
            V::Own(representation) | V::Borrow(representation) => {
                self.resource(thread, kind, *representation)?
            }
        })
    }

    fn case(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        number: u32,
        held: Option<&ComponentValue>,
    ) -> Result<Value, Raise> {
        let held = match (kind.case(number as usize), held) {
            (Some(case), Some(held)) => Some(self.object(thread, case, held)?),
            _ => None,
        };
        let names = case_names(kind);
        let name = thread.symbol(names.get(number as usize).copied().unwrap_or(""));
        match held {
            Some(held) => thread.try_cons(name, held),
            None => Ok(name),
        }
    }

    fn resource(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        representation: u32,
    ) -> Result<Value, Raise> {
        let (resource, state) = match &kind.shape {
            Shape::Own(resource) => (resource, OWNED),
            Shape::Borrow(resource) => (resource, LENT),
            _ => return Ok(Value::FALSE),
        };
        if resource.is_outside() {
            let objects = self.record.field(field::OBJECTS).as_kind(Kind::Vector);
            let objects = objects.filter(|objects| (representation as usize) < objects.length());
            let object = objects.map(|objects| objects.field(representation as usize));
            if state == OWNED {
                self.parts.free(thread, self.record, representation);
            }
            return Ok(object.unwrap_or(Value::FALSE));
        }
        let object = GuestResource {
            resource: resource.clone(),
            representation,
            state: AtomicU8::new(state),
            dropped: Arc::clone(&self.parts.dropped),
        };
        let object = keep(thread, object, "resource")?;
        if state == LENT {
            self.lent.extend(find::<GuestResource>(thread, object));
        }
        Ok(object)
    }

    /// The value for an object; else what was expected.
    pub fn value(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        object: Value,
    ) -> Result<ComponentValue, String> {
        use ComponentValue as V;
        let bits = |count: u32| integer_bits(object, count);
        let signed = |count: u32| {
            let half = 1_u64 << (count - 1);
            let bits = integer_bits(object, 64)?;
            let fits = if object.as_fixnum().is_some_and(|it| it < 0) {
                bits.wrapping_add(half) < half
            } else {
                bits < half
            };
            fits.then_some(bits)
        };
        let unsigned = |count: u32| {
            let is_negative = super::super::values::integer(object).is_none_or(|(it, _)| it);
            bits(count).filter(|_| !is_negative)
        };
        let found = match &kind.shape {
            Shape::Bool => match object {
                Value::TRUE => Some(V::Bool(true)),
                Value::FALSE => Some(V::Bool(false)),
                _ => None,
            },
            Shape::S8 => signed(8).map(|it| V::S8(it as i8)),
            Shape::U8 => unsigned(8).map(|it| V::U8(it as u8)),
            Shape::S16 => signed(16).map(|it| V::S16(it as i16)),
            Shape::U16 => unsigned(16).map(|it| V::U16(it as u16)),
            Shape::S32 => signed(32).map(|it| V::S32(it as i32)),
            Shape::U32 => unsigned(32).map(|it| V::U32(it as u32)),
            Shape::S64 => signed_64(object).map(V::S64),
            Shape::U64 => unsigned(64).map(V::U64),
            Shape::F32 => float(object).map(|it| V::F32(it as f32)),
            Shape::F64 => float(object).map(V::F64),
            Shape::Char => object.as_character().map(V::Char),
            Shape::String => string_text(object).map(V::String),
            Shape::List(element) => return self.list(thread, kind, element, object),
            Shape::FixedList(element, _) => return self.list(thread, kind, element, object),
            Shape::Record(_) | Shape::Tuple(_) => return self.fields(thread, kind, object),
            Shape::Option(_) if object == Value::FALSE => Some(V::Option(None)),
            Shape::Option(case) => {
                let held = if may_be_false(case) {
                    let pair = object.as_pair().filter(|pair| is_named(pair.car(), "some"));
                    pair.map(|pair| pair.cdr())
                } else {
                    Some(object)
                };
                match held {
                    Some(held) => {
                        let held = self.value(thread, case, held)?;
                        Some(V::Option(Some(Box::new(held))))
                    }
                    None => None,
                }
            }
            Shape::Variant(_) | Shape::Enum(_) | Shape::Result(..) => {
                return self.variant(thread, kind, object);
            }
            Shape::Flags(names) => {
                let mut flags = vec![false; names.len()];
                let known = Walk::new(object).all(|symbol| {
                    let place = names.iter().position(|name| is_named(symbol, name));
                    place.inspect(|place| flags[*place] = true).is_some()
                });
                let is_list = object.is_nil() || object.as_pair().is_some();
                (known && is_list).then_some(V::Flags(flags))
            }
            Shape::Own(resource) => self
                .representation(thread, resource, object, true)?
                .map(V::Own),
            Shape::Borrow(resource) => self
                .representation(thread, resource, object, false)?
                .map(V::Borrow),
        };
        found.ok_or_else(|| kind.text())
    }

    fn representation(
        &mut self,
        thread: &mut Thread,
        resource: &Resource,
        object: Value,
        takes: bool,
    ) -> Result<Option<u32>, String> {
        if resource.is_outside() {
            let kept = self.parts.keep(thread, self.record, object);
            return kept
                .map(Some)
                .map_err(|_| "a resource: memory is full".to_owned());
        }
        let Some(found) = find::<GuestResource>(thread, object) else {
            return Ok(None);
        };
        if found.resource != *resource {
            return Ok(None);
        }
        let is_there = if takes {
            found.take()
        } else {
            found.state.load(Ordering::Relaxed) != GONE
        };
        if !is_there {
            return Err(format!(
                "{}: this one was passed on or dropped",
                resource.name()
            ));
        }
        Ok(Some(found.representation))
    }

    fn list(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        element: &Type,
        object: Value,
    ) -> Result<ComponentValue, String> {
        if let Some(bytes) = object.as_kind(Kind::Bytevector)
            && matches!(element.shape, Shape::U8)
        {
            return Ok(ComponentValue::Bytes(bytes.with_bytes(<[u8]>::to_vec)));
        }
        let mut values = Vec::new();
        if let Some(vector) = object.as_kind(Kind::Vector) {
            for index in 0..vector.length() {
                values.push(self.value(thread, element, vector.field(index))?);
            }
        } else if object.is_nil() || object.as_pair().is_some() {
            let mut walk = Walk::new(object);
            for item in walk.by_ref() {
                values.push(self.value(thread, element, item)?);
            }
            if !matches!(walk.end(), crate::list::End::Nil) {
                return Err(kind.text());
            }
        } else {
            return Err(kind.text());
        }
        if matches!(element.shape, Shape::U8) {
            let bytes = values.into_iter().map(|value| match value {
                ComponentValue::U8(byte) => byte,
                _ => 0,
            });
            return Ok(ComponentValue::Bytes(bytes.collect()));
        }
        Ok(ComponentValue::List(values))
    }

    fn fields(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        object: Value,
    ) -> Result<ComponentValue, String> {
        let mut values = Vec::new();
        let Shape::Record(fields) = &kind.shape else {
            let kinds = kind.fields();
            let mut walk = Walk::new(object);
            for kind in &kinds {
                let item = walk.next().ok_or_else(|| (**kind).text())?;
                values.push(self.value(thread, kind, item)?);
            }
            return match walk.next() {
                None => Ok(ComponentValue::Record(values)),
                Some(_) => Err(kind.text()),
            };
        };
        for entry in Walk::new(object) {
            let name = entry.as_pair().and_then(|pair| symbol_name(pair.car()));
            let known = name.is_some_and(|name| fields.iter().any(|(known, _)| *known == name));
            if !known {
                return Err(format!("{}, as an association list", kind.text()));
            }
        }
        for (name, field) in fields {
            let mut pairs = Walk::new(object).filter_map(Value::as_pair);
            let found = pairs.find(|pair| is_named(pair.car(), name));
            let held = match found {
                Some(pair) => pair.cdr(),
                None if matches!(field.shape, Shape::Option(_)) => Value::FALSE,
                None => return Err(format!("{}, with a field '{name}'", kind.text())),
            };
            let value = self.value(thread, field, held);
            values.push(value.map_err(|expected| format!("{expected} in the field '{name}'"))?);
        }
        Ok(ComponentValue::Record(values))
    }

    fn variant(
        &mut self,
        thread: &mut Thread,
        kind: &Type,
        object: Value,
    ) -> Result<ComponentValue, String> {
        let (symbol, held) = match object.as_pair() {
            Some(pair) => (pair.car(), Some(pair.cdr())),
            None => (object, None),
        };
        let mut names = case_names(kind).into_iter();
        let number = names.position(|name| is_named(symbol, name));
        let number = number.ok_or_else(|| kind.text())?;
        let held = match (kind.case(number), held) {
            (Some(case), Some(held)) => Some(Box::new(self.value(thread, case, held)?)),
            (None, None) => None,
            _ => return Err(kind.text()),
        };
        Ok(match &kind.shape {
            Shape::Enum(_) => ComponentValue::Enum(number as u32),
            Shape::Result(..) if number == 0 => ComponentValue::Result(Ok(held)),
            Shape::Result(..) => ComponentValue::Result(Err(held)),
            _ => ComponentValue::Variant(number as u32, held),
        })
    }
}

fn signed_64(object: Value) -> Option<i64> {
    let (is_negative, magnitude) = super::super::values::integer(object)?;
    if is_negative {
        (magnitude <= 1 << 63).then(|| (magnitude as i64).wrapping_neg())
    } else {
        i64::try_from(magnitude).ok()
    }
}

impl Parts {
    /// Keeps an object of Scheme that guests know by its place.
    fn keep(
        &mut self,
        thread: &mut Thread,
        record: ObjectRef,
        object: Value,
    ) -> Result<u32, Raise> {
        let place = match self.free_places.pop() {
            Some(place) => place,
            None => {
                let place = self.places;
                make_room(thread, record, field::OBJECTS, place as usize)?;
                self.places += 1;
                place
            }
        };
        thread.store(record.field(field::OBJECTS), place as usize, object);
        Ok(place)
    }

    /// Forgets such an object.
    pub(super) fn free(&mut self, thread: &mut Thread, record: ObjectRef, place: u32) {
        if place < self.places {
            thread.store(record.field(field::OBJECTS), place as usize, Value::FALSE);
            self.free_places.push(place);
        }
    }
}
