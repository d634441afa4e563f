use super::*;
use crate::model::{
    Allocation, Builder, Count, Event, EventKind, FunctionIndex, Group, Header, Profile, Sample,
    StackIndex, StackKind, TaskIndex, Tier, Wait, WaitKind,
};

/// The stack of a line `main;f:3;g`: names with lines, oldest first. A `>` before a name says that
/// the older frames belong to the starter, a `~` that they are missing.
pub(crate) fn stack_of(builder: &mut Builder, names: &str) -> Option<StackIndex> {
    let mut stack = None;
    for name in names.split(';').filter(|name| !name.is_empty()) {
        let (kind, name) = match (name.strip_prefix('>'), name.strip_prefix('~')) {
            (Some(name), _) => (StackKind::Started, name),
            (_, Some(name)) => (StackKind::Cut, name),
            _ => (StackKind::Plain, name),
        };
        let (name, line) = name.split_once(':').unwrap_or((name, "0"));
        let group = match name.strip_prefix('%') {
            Some(_) => Group::Machine,
            None => Group::Program,
        };
        let function = builder.function(name, Some("a.scm"), 1, group);
        let frame = builder.frame(function, line.parse().unwrap(), 0, Tier::Compiled, false);
        stack = Some(builder.stack(stack, frame, kind));
    }
    stack
}

/// A profile with a sample for each line: a stack, a space, its weight. Lines are 10 ns apart.
pub(crate) fn profile_of(lines: &str) -> Profile {
    let mut builder = Builder::new();
    let thread = builder.thread(1, "worker");
    let task = builder.task(0, None, None, 0);
    for (index, line) in lines.lines().enumerate() {
        let (names, weight) = line.rsplit_once(' ').unwrap();
        let stack = stack_of(&mut builder, names.trim());
        builder.sample(Sample {
            at_ns: 10 * (index as u64 + 1),
            thread,
            task,
            stack,
            weight_ns: weight.parse().unwrap(),
            ..Sample::default()
        });
    }
    Profile::new(Header::default(), &mut builder, 100)
}

fn weights(profile: &Profile) -> Weights<'_> {
    Weights::new(profile, Measure::Cpu, &Filter::default())
}

fn asynchronous(profile: &Profile) -> Weights<'_> {
    let filter = Filter {
        is_async: true,
        ..Filter::default()
    };
    Weights::new(profile, Measure::Cpu, &filter)
}

fn shown(profile: &Profile, place: Place) -> String {
    match place {
        Place::Line(_, line) => format!("{}:{line}", place.name(profile)),
        place => place.name(profile).to_owned(),
    }
}

/// Own and total weights of each place, the largest own weight first.
#[track_caller]
fn check_totals(lines: &str, grain: Grain, expect: &str) {
    let profile = profile_of(lines);
    let totals = totals(&weights(&profile), grain);
    let totals = totals.iter().map(|one| {
        let name = shown(&profile, one.place);
        format!("{name} {}/{}", one.own.weight, one.total.weight)
    });
    assert_eq!(totals.collect::<Vec<_>>().join(", "), expect);
}

#[test]
fn recursion_counts_once_in_totals() {
    check_totals("main;f;f 3\nmain 1", Grain::Function, "f 3/3, main 1/4");
    check_totals("a;b;a;b 2\na;b;a 1", Grain::Function, "b 2/3, a 1/3");
    check_totals("f:1;f:2 3\nf:1 1", Grain::Line, "f:2 3/3, f:1 1/4");
    check_totals("f 2\n 5", Grain::Function, "(no stack) 5/5, f 2/2");
    check_totals("", Grain::Function, "");
}

#[test]
fn stacks_end_at_their_task_unless_wanted() {
    let lines = "main;start;>job;work 3\nmain 1";
    check_totals(lines, Grain::Function, "work 3/3, main 1/1, job 0/3");
    let profile = profile_of(lines);
    let totals = totals(&asynchronous(&profile), Grain::Function);
    let main = totals.iter().find(|one| one.place.name(&profile) == "main");
    assert_eq!(main.unwrap().total.weight, 4);
}

/// A tree as `(main 1/4 (f 3/3))`.
fn tree_shown(profile: &Profile, tree: &Tree) -> String {
    fn list(profile: &Profile, tree: &Tree, nodes: &[usize]) -> String {
        let nodes = nodes.iter().map(|index| {
            let node = &tree.nodes[*index];
            let name = shown(profile, node.place);
            let inner = list(profile, tree, &node.children);
            format!(" ({name} {}/{}{inner})", node.own.weight, node.total.weight)
        });
        nodes.collect()
    }
    list(profile, tree, &tree.roots).trim().to_owned()
}

#[track_caller]
fn check_trees(lines: &str, top: &str, bottom: &str) {
    let profile = profile_of(lines);
    let weights = weights(&profile);
    let tree = top_down(&weights, Grain::Function);
    assert_eq!(tree_shown(&profile, &tree), top);
    let tree = bottom_up(&weights, Grain::Function, 64);
    assert_eq!(tree_shown(&profile, &tree), bottom);
}

#[test]
fn trees_merge_places() {
    check_trees(
        "main:1;f 3\nmain:2;f 2\nmain;g 1",
        "(main 0/6 (f 5/5) (g 1/1))",
        "(f 0/5 (main 5/5)) (g 0/1 (main 1/1))",
    );
    check_trees(
        "~f 2\nf 1\n 4",
        "((no stack) 4/4) ((frames are missing) 0/2 (f 2/2)) (f 1/1)",
        "((no stack) 4/4) (f 3/3)",
    );
    check_trees("main;>job 2", "(job 2/2)", "(job 2/2)");
}

#[test]
fn a_bottom_up_tree_is_limited() {
    let profile = profile_of("a;b;c;d 1");
    let tree = bottom_up(&weights(&profile), Grain::Function, 2);
    assert_eq!(tree_shown(&profile, &tree), "(d 0/1 (c 1/1))");
}

/// Callers and callees of `f`.
#[track_caller]
fn check_neighbours(lines: &str, expect: &str) {
    let profile = profile_of(lines);
    let weights = weights(&profile);
    let functions = totals(&weights, Grain::Function);
    let focus = functions.iter().find(|one| one.place.name(&profile) == "f");
    let found = neighbours(&weights, focus.unwrap().place.function().unwrap());
    let callers = found.callers.iter().map(|(place, cost)| {
        let name = place.map_or("-", |place| place.name(&profile));
        format!("{name} {}", cost.weight)
    });
    let callees = found.callees.iter();
    let callees = callees.map(|(place, cost)| format!("{} {}", place.name(&profile), cost.weight));
    let sum: u64 = found.callers.iter().map(|(_, cost)| cost.weight).sum();
    assert_eq!(sum, found.total.weight, "callers add up");
    let sum: u64 = found.callees.iter().map(|(_, cost)| cost.weight).sum();
    assert_eq!(sum + found.own.weight, found.total.weight, "callees add up");
    let text = format!(
        "{} > f {}/{} > {}",
        callers.collect::<Vec<_>>().join(", "),
        found.own.weight,
        found.total.weight,
        callees.collect::<Vec<_>>().join(", ")
    );
    assert_eq!(text, expect);
}

#[test]
fn neighbours_add_up_with_recursion() {
    check_neighbours("a;f;g 3\nb;f 1\nf;h 1", "a 3, - 1, b 1 > f 1/5 > g 3, h 1");
    check_neighbours("a;f;f;g 3\na;f;f 2", "a 5 > f 2/5 > g 3");
    check_neighbours("a;f;b;f;g 3\na;f;b 2", "a 5 > f 0/5 > g 3, b 2");
}

#[test]
fn edges_to_a_function_add_up_to_its_total() {
    let profile = profile_of("a;f;b;f;g 3\nb;f 2\nf;f 1");
    let weights = weights(&profile);
    for one in totals(&weights, Grain::Function) {
        let function = one.place.function().unwrap();
        let edges = call_edges(&weights);
        let edges = edges.iter().filter(|(edge, _)| edge.callee == function);
        let sum: u64 = edges.map(|(_, cost)| cost.weight).sum();
        assert_eq!(sum, one.total.weight, "{}", one.place.name(&profile));
    }
}

#[test]
fn filters_select_rows() {
    let mut builder = Builder::new();
    let threads = [builder.thread(1, "a"), builder.thread(2, "b")];
    let main = builder.task(0, None, None, 0);
    let job = builder.task(1, Some("job"), Some(main), 0);
    let labels = builder.label_set(&[("k", "v"), ("l", "w")]);
    for (at_ns, thread, task, label, weight_ns) in [
        (10, threads[0], main, 0.into(), 1),
        (20, threads[1], job, labels, 2),
        (30, threads[0], job, labels, 4),
    ] {
        builder.sample(Sample {
            at_ns,
            thread,
            task,
            label,
            stack: None,
            weight_ns,
        });
    }
    let profile = Profile::new(Header::default(), &mut builder, 0);
    let check = |filter: Filter, expect: u64| {
        let weights = Weights::new(&profile, Measure::Cpu, &filter);
        assert_eq!(weights.total.weight, expect, "{filter:?}");
        let kept = selected(&profile, &filter);
        let kept = Weights::new(&kept, Measure::Cpu, &Filter::default());
        assert_eq!(kept.total, weights.total, "{filter:?}");
    };
    let label = |key: &str, value: Option<&str>| vec![(key.to_owned(), value.map(str::to_owned))];
    let all = Filter::default;
    check(all(), 7);
    check(
        Filter {
            tasks: Some(vec![job]),
            ..all()
        },
        6,
    );
    check(
        Filter {
            tasks: Some(vec![TaskIndex::new(9)]),
            ..all()
        },
        0,
    );
    check(
        Filter {
            threads: Some(vec![threads[0]]),
            ..all()
        },
        5,
    );
    check(
        Filter {
            labels: label("k", Some("v")),
            ..all()
        },
        6,
    );
    check(
        Filter {
            labels: label("k", None),
            ..all()
        },
        6,
    );
    check(
        Filter {
            labels: label("k", Some("w")),
            ..all()
        },
        0,
    );
    check(
        Filter {
            time_ns: Some(10..30),
            ..all()
        },
        3,
    );
}

#[test]
fn waits_are_added_up_by_kind_and_place() {
    let mut builder = Builder::new();
    let task = builder.task(0, None, None, 0);
    let stack = stack_of(&mut builder, "main:7;%park");
    let on = Some(builder.string("lock"));
    for (from_ns, ready_ns, resumed_ns) in [(0, 10, 12), (20, 50, 51)] {
        builder.wait(Wait {
            task,
            label: 0.into(),
            stack,
            from_ns,
            ready_ns,
            resumed_ns,
            kind: WaitKind::Lock,
            on,
            holder: None,
            holder_stack: None,
            weight: 1,
        });
    }
    let profile = Profile::new(Header::default(), &mut builder, 0);
    let found = wait_places(&profile, &Filter::default());
    assert_eq!(found.len(), 1);
    let one = &found[0];
    let numbers = (one.count, one.waiting_ns, one.longest_ns, one.runnable_ns);
    assert_eq!(numbers, (2, 40, 30, 3));
    assert_eq!(shown(&profile, one.place), "main:7");
    let half = Filter {
        time_ns: Some(30..40),
        ..Filter::default()
    };
    assert_eq!(wait_places(&profile, &half)[0].waiting_ns, 10);
    assert_eq!(
        Weights::new(&profile, Measure::Waiting, &half).total.weight,
        10
    );
}

/// Allocations of 100 bytes at the times, by stack and type; then collections.
fn allocations(rows: &[(u64, &str, &str)], collections: &[(u64, u64)]) -> Profile {
    let mut builder = Builder::new();
    let task = builder.task(0, None, None, 0);
    let thread = builder.thread(1, "");
    for (id, (at_ns, names, type_name)) in rows.iter().enumerate() {
        let stack = stack_of(&mut builder, names);
        let type_name = builder.string(type_name);
        builder.allocation(Allocation {
            at_ns: *at_ns,
            thread,
            task,
            stack,
            type_name,
            size_bytes: 16,
            weight_bytes: 100,
            reason: Some(type_name),
            id: id as u64,
            ..Allocation::default()
        });
    }
    let text = builder.string("full");
    for (at_ns, duration_ns) in collections {
        builder.event(Event {
            at_ns: *at_ns,
            duration_ns: *duration_ns,
            thread: None,
            kind: EventKind::Collection,
            text,
            stack: None,
        });
    }
    Profile::new(Header::default(), &mut builder, 0)
}

#[test]
fn types_and_places_of_allocation() {
    let rows = [
        (1, "f;%allocate", "pair"),
        (2, "f;%allocate", "vector"),
        (3, "g", "pair"),
    ];
    let mut profile = allocations(&rows, &[]);
    profile.rows.freed = vec![0];
    let types = allocation_types(&profile, &Filter::default(), Grain::Function);
    let shown_types: Vec<String> = types
        .iter()
        .map(|one| {
            let sites = one.sites.iter();
            let sites = sites.map(|(place, share)| {
                format!(
                    " {} {}/{}",
                    place.name(&profile),
                    share.total.weight,
                    share.live.weight
                )
            });
            format!(
                "{}:{}",
                profile.string(one.type_name),
                sites.collect::<String>()
            )
        })
        .collect();
    assert_eq!(
        shown_types,
        ["pair: g 100/100 f 100/0", "vector: f 100/100"]
    );
    let sites = allocation_sites(&profile, &Filter::default(), Grain::Function);
    assert_eq!(sites[0].place.name(&profile), "f");
    assert_eq!(
        (sites[0].share.total.weight, sites[0].share.live.weight),
        (200, 100)
    );
    assert_eq!(sites[0].reasons.len(), 2);
    let live = Weights::new(&profile, Measure::Live, &Filter::default());
    assert_eq!(live.total.weight, 200);
}

#[test]
fn collections_are_shared_out_among_allocations() {
    let rows = [
        (1, "f", "pair"),
        (2, "f", "pair"),
        (3, "g", "pair"),
        (9, "h", "pair"),
    ];
    let profile = allocations(&rows, &[(6, 50), (2, 30)]);
    let causes = collection_causes(&profile, &Filter::default(), Grain::Function);
    let shown_causes: Vec<String> = causes
        .iter()
        .map(|one| {
            let name = one.place.name(&profile);
            format!(
                "{name} {} {} {}",
                one.allocated.weight, one.collector_ns, one.collections
            )
        })
        .collect();
    // Allocations behind the last collection caused none.
    assert_eq!(shown_causes, ["f 200 30 1", "g 100 50 1"]);
    let runs = collections(&profile, &Filter::default(), Grain::Function, 1);
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].at_ns, runs[0].allocated.weight), (2, 200));
    let collector = Weights::new(&profile, Measure::Collector, &Filter::default());
    assert_eq!(collector.total.weight, 80);
}

#[test]
fn differences_are_shares() {
    let before = profile_of("main;f 5\nmain;g 5");
    let after = profile_of("main;g 10\nmain;f 30");
    let functions = functions_changed(&weights(&before), &weights(&after));
    let shown_changes: Vec<String> = functions
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one.path.join(";"),
                one.own_before,
                one.own_after
            )
        })
        .collect();
    assert_eq!(shown_changes, ["f 0.5 0.75", "g 0.5 0.25", "main 0 0"]);
    let stacks = stacks_changed(&weights(&before), &weights(&after));
    assert_eq!(stacks[0].path, ["main", "f"]);
    assert_eq!(stacks[0].file.as_deref(), Some("a.scm"));
}

#[test]
fn sums_saturate() {
    let largest = u64::MAX;
    let profile = profile_of(&format!("f {largest}\nf;g {largest}\n {largest}"));
    assert_eq!(weights(&profile).total.weight, largest);
    let tree = top_down(&weights(&profile), Grain::Line);
    assert_eq!(tree.nodes[tree.roots[0]].total.weight, largest);
}

#[test]
fn counts_are_added_up_by_function() {
    let mut profile = profile_of("main;f 1");
    for (caller, calls, inclusive_ns) in [(None, 1, 50), (Some(0), 2, 30), (Some(1), 7, 20)] {
        profile.rows.counts.push(Count {
            caller: caller.map(FunctionIndex::new),
            callee: FunctionIndex::new(1),
            calls,
            inclusive_ns,
            exclusive_ns: 10,
            compiled: calls,
            ..Count::default()
        });
    }
    let counts = function_counts(&profile);
    assert_eq!(counts.len(), 1);
    let sum = counts[0].sum;
    let numbers = (sum.calls, sum.inclusive_ns, sum.exclusive_ns, sum.compiled);
    assert_eq!(numbers, (10, 80, 30, 10));
    assert_eq!(counts[0].callers[0], (Some(FunctionIndex::new(1)), 7));
}
