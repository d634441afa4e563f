//! The meaning of names of things that are watched: a variable of the program, a variable of a
//! procedure that has a box, or a part of an object, named by the way that leads to it.

use canny_syntax::core::{GlobalName, LibraryKey};
use canny_syntax::name::Name;
use canny_value::Value;
use canny_vm::debug::{Kept, Location, PartName, Stop};

use super::expressions::environment_in_frame;
use super::parts;
use crate::evaluation::Evaluation;

/// The place of a name and names of parts behind it, as in `queue front 3`. A name alone means the
/// assignments of the variable. The object is kept; the caller forgets it.
pub fn location(stop: &mut Stop<'_>, frame: usize, path: &str) -> Result<Location, String> {
    let mut words = path.split_whitespace();
    let name = words.next().ok_or("a name is wanted")?;
    let mut rest: Vec<&str> = words.collect();
    let Some(last) = rest.pop() else {
        return match of_variable(stop, frame, name)? {
            Some((holder, part)) => of_part(stop, holder, part),
            None => Ok(Location::Assignment(name.to_owned())),
        };
    };
    let mut value = value_of_name(stop, frame, name).ok_or(format!("{name} has no value here"))?;
    for word in rest {
        let part = parts::part(stop.thread(), value, word);
        value = part.ok_or_else(|| no_part(stop, value, word))?;
    }
    let part = parts::part_name(stop.thread(), value, last);
    let (object, part) = part.ok_or_else(|| no_part(stop, value, last))?;
    of_part(stop, object, part)
}

/// The box of a variable of a procedure, which is watched as its only field. None for a name that the
/// frame does not have.
pub fn of_variable(
    stop: &mut Stop<'_>,
    frame: usize,
    name: &str,
) -> Result<Option<(Value, PartName)>, String> {
    if let Some(holder) = stop.holder(frame, name) {
        return Ok(Some((holder, PartName::Field(0))));
    }
    if stop.variables(frame).iter().any(|one| one.name == name) {
        return Err(format!(
            "{name} cannot be watched: the program never assigns it, or its code has let go of it"
        ));
    }
    Ok(None)
}

fn of_part(stop: &mut Stop<'_>, object: Value, part: PartName) -> Result<Location, String> {
    let kept: Option<Kept> = stop.thread().debug_keep(object);
    let kept = kept.ok_or("there is no memory for it")?;
    Ok(Location::Part(kept, part))
}

fn no_part(stop: &mut Stop<'_>, value: Value, word: &str) -> String {
    let text = parts::brief(stop.thread(), value, 40);
    format!("{text} has no part '{word}' that can be watched")
}

/// The value of a variable of a frame, of the program, or of the library that the frame belongs to.
pub fn value_of_name(stop: &mut Stop<'_>, frame: usize, name: &str) -> Option<Value> {
    if let Some(value) = stop.value(frame, name) {
        return Some(value);
    }
    let vm = stop.thread().vm().clone();
    let environment = environment_in_frame(stop, frame)?;
    let info = Evaluation::of(&vm).name_info(environment, name)?;
    let (library, own) = info.owner?;
    let global = GlobalName {
        library: LibraryKey::new(&library),
        name: Name::new(&own),
    };
    stop.thread().global_value(&global)
}
