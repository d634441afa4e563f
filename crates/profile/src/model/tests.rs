use super::*;

#[test]
fn rows_are_interned() {
    let mut builder = Builder::new();
    let first = builder.function("f", Some("a.scm"), 3, Group::Program);
    let again = builder.function("f", Some("a.scm"), 3, Group::Program);
    let other = builder.function("f", None, 3, Group::Program);
    assert_eq!(first, again);
    assert_ne!(first, other);
    let frame = builder.frame(first, 4, 1, Tier::Compiled, false);
    let root = builder.stack(None, frame, StackKind::Plain);
    let top = builder.stack(Some(root), frame, StackKind::Plain);
    assert_eq!(root, builder.stack(None, frame, StackKind::Plain));
    assert_ne!(root, top);
    let labels = builder.label_set(&[("a", "1"), ("b", "2")]);
    assert_eq!(labels, builder.label_set(&[("b", "2"), ("a", "1")]));
    assert_eq!(builder.label_set(&[]).number(), 0);

    let rows = builder.take();
    assert_eq!((rows.functions.len(), rows.stacks.len()), (2, 2));
    // Numbers continue after the rows are taken.
    let third = builder.function("g", None, 0, Group::Kernel);
    assert_eq!(third.number(), 2);
    assert_eq!(builder.take().functions.len(), 1);
}

#[test]
fn a_walk_ends_where_a_task_was_started() {
    let mut builder = Builder::new();
    let mut parent = None;
    for (name, kind) in [
        ("main", StackKind::Plain),
        ("task", StackKind::Started),
        ("leaf", StackKind::Plain),
    ] {
        let function = builder.function(name, None, 0, Group::Program);
        let frame = builder.frame(function, 0, 0, Tier::Unknown, false);
        parent = Some(builder.stack(parent, frame, kind));
    }
    let profile = Profile::new(Header::default(), &mut builder, 0);
    let names = |is_async| -> Vec<&str> {
        let walk = profile.walk(parent, is_async);
        walk.map(|step| profile.function_name(step.frame.function))
            .collect()
    };
    assert_eq!(names(true), ["leaf", "task", "main"]);
    assert_eq!(names(false), ["leaf", "task"]);
}

#[test]
fn codes_survive_their_words_and_numbers() {
    for kind in WaitKind::ALL {
        assert_eq!(WaitKind::of_word(kind.word()), *kind);
    }
    for kind in EventKind::ALL {
        assert_eq!(EventKind::of_word(kind.word()), *kind);
    }
    for group in Group::ALL {
        assert_eq!(Group::of_number(u64::from(group.number())), *group);
    }
    assert_eq!(Group::of_number(99), Group::Foreign);
    assert_eq!(Tier::of_number(99), Tier::Unknown);
    assert_eq!(WaitKind::of_word("mail"), WaitKind::Other);
}
