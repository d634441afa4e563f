//! Serialises data in postfix order, without recursion.
//!
//! Data may be nested to any depth, so neither direction may use the native stack for it. Shared
//! parts are written once for each occurrence; cycles are labels. Bytes that are not in order give
//! an error and never a panic: they come from a cache on disk.

use std::sync::Arc;

use canny_number::elements::ElementType;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::datum::Datum;
use crate::name::Name;
use crate::number::Number;

/// One node; composite nodes take their parts from the stack of finished data.
#[derive(Serialize, Deserialize)]
enum Node {
    Nil,
    Boolean(bool),
    Character(char),
    Number(Arc<Number>),
    String(Arc<str>),
    Symbol(Name),
    Keyword(Name),
    Bytevector(Arc<[u8]>),
    NumericVector(ElementType, Arc<[u8]>),
    Eof,
    Unspecified,
    DefaultObject,
    LabelRef(u32),
    /// Takes the second half, then the first, from the stack.
    Pair,
    /// Takes that many elements.
    Vector(u32),
    /// Takes the content.
    Labelled(u32),
    Object(u32),
}

/// The nodes of `datum` in postfix order.
fn flatten(datum: &Datum) -> Vec<Node> {
    // Built in reversed prefix order (node, last part first), which reversed is postfix order.
    let mut nodes = Vec::new();
    let mut pending = vec![datum];
    while let Some(datum) = pending.pop() {
        nodes.push(match datum {
            Datum::Nil => Node::Nil,
            Datum::Boolean(value) => Node::Boolean(*value),
            Datum::Character(value) => Node::Character(*value),
            Datum::Number(value) => Node::Number(value.clone()),
            Datum::String(value) => Node::String(value.clone()),
            Datum::Symbol(name) => Node::Symbol(*name),
            Datum::Keyword(name) => Node::Keyword(*name),
            Datum::Bytevector(bytes) => Node::Bytevector(bytes.clone()),
            Datum::NumericVector(element, bytes) => Node::NumericVector(*element, bytes.clone()),
            Datum::Eof => Node::Eof,
            Datum::Unspecified => Node::Unspecified,
            Datum::DefaultObject => Node::DefaultObject,
            Datum::LabelRef(label) => Node::LabelRef(*label),
            Datum::Object(number) => Node::Object(*number),
            Datum::Pair(pair) => {
                pending.extend([&pair.car, &pair.cdr]);
                Node::Pair
            }
            Datum::Vector(elements) => {
                pending.extend(elements.iter());
                Node::Vector(elements.len() as u32)
            }
            Datum::Labelled(label, labelled) => {
                pending.push(labelled.content());
                Node::Labelled(*label)
            }
        });
    }
    nodes.reverse();
    nodes
}

/// The datum that the nodes describe, or `None` when they are not in order.
fn rebuild(nodes: Vec<Node>) -> Option<Datum> {
    let mut stack: Vec<Datum> = Vec::new();
    for node in nodes {
        let datum = match node {
            Node::Nil => Datum::Nil,
            Node::Boolean(value) => Datum::Boolean(value),
            Node::Character(value) => Datum::Character(value),
            Node::Number(value) => Datum::Number(value),
            Node::String(value) => Datum::String(value),
            Node::Symbol(name) => Datum::Symbol(name),
            Node::Keyword(name) => Datum::Keyword(name),
            Node::Bytevector(bytes) => Datum::Bytevector(bytes),
            Node::NumericVector(element, bytes) => Datum::NumericVector(element, bytes),
            Node::Eof => Datum::Eof,
            Node::Unspecified => Datum::Unspecified,
            Node::DefaultObject => Datum::DefaultObject,
            Node::LabelRef(label) => Datum::LabelRef(label),
            Node::Object(number) => Datum::Object(number),
            Node::Pair => {
                let cdr = stack.pop()?;
                Datum::cons(stack.pop()?, cdr)
            }
            Node::Vector(count) => {
                let first = stack.len().checked_sub(count as usize)?;
                Datum::vector(stack.split_off(first))
            }
            Node::Labelled(label) => Datum::labelled(label, stack.pop()?),
        };
        stack.push(datum);
    }
    let datum = stack.pop()?;
    stack.is_empty().then_some(datum)
}

impl Serialize for Datum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        flatten(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Datum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Datum, D::Error> {
        let nodes = Vec::<Node>::deserialize(deserializer)?;
        rebuild(nodes).ok_or_else(|| serde::de::Error::custom("a literal's nodes are out of order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_survive_a_round_trip() {
        let datum = Datum::labelled(
            0,
            Datum::list(vec![
                Datum::integer(1),
                Datum::vector(vec![Datum::symbol("a"), Datum::LabelRef(0), Datum::Nil]),
                Datum::cons(Datum::Character('λ'), Datum::String("x".into())),
            ]),
        );
        let bytes = postcard::to_stdvec(&datum).unwrap();
        assert_eq!(postcard::from_bytes::<Datum>(&bytes).unwrap(), datum);
    }

    #[test]
    fn deep_data_do_not_recurse() {
        let mut datum = Datum::Nil;
        for _ in 0..300_000 {
            datum = Datum::vector(vec![Datum::list(vec![datum])]);
        }
        let bytes = postcard::to_stdvec(&datum).unwrap();
        let back: Datum = postcard::from_bytes(&bytes).unwrap();
        assert!(back == datum);
    }

    #[test]
    fn nodes_out_of_order_are_an_error() {
        let bytes = postcard::to_stdvec(&vec![Node::Nil, Node::Pair]).unwrap();
        assert!(postcard::from_bytes::<Datum>(&bytes).is_err());
    }
}
