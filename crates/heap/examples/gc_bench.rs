//! Four collection workloads at the level of the heap's Rust interface, as the peers table has them.
//!
//! `gc_bench WORKLOAD [NURSERY [IN_PLACE_ABOVE [FULL_FLOOR]]]`, sizes in megabytes; a workload is
//! `trees`, `queue`, `ring`, `live` or `garbage` (nothing survives) or `start` (nothing at all). Prints
//! CPU seconds of the process, of the collector, the longest pause (CPU time), and peak memory.

use std::sync::Arc;

use canny_heap::{Heap, HeapConfig, Mutator};
use canny_tables::kinds::Kind;
use canny_value::Value;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(workload) = arguments.get(1) else {
        eprintln!("usage: gc_bench WORKLOAD [NURSERY [IN_PLACE_ABOVE [FULL_FLOOR]]]");
        std::process::exit(64);
    };
    let mut config = HeapConfig::default();
    let settings = [
        &mut config.nursery_bytes,
        &mut config.in_place_above_bytes,
        &mut config.full_floor_bytes,
    ];
    for (setting, text) in settings.into_iter().zip(&arguments[2..]) {
        match text.parse::<usize>() {
            Ok(megabytes) => *setting = megabytes << 20,
            Err(_) => eprintln!("not a number of megabytes: {text}"),
        }
    }
    let heap = Heap::new(config).expect("address space for a heap");
    let result = run(workload, &heap);
    report(workload, &heap, result);
}

fn run(workload: &str, heap: &Arc<Heap>) -> u64 {
    let mut mutator = Mutator::attach_plain(heap);
    match workload {
        "trees" => trees(&mut mutator, 18),
        "queue" => queue(&mut mutator, 30_000_000, 1_000_000),
        "ring" => ring(&mut mutator, 30_000_000, 1_000_000),
        "live" => live(&mut mutator, 22, 20_000),
        "garbage" => garbage(&mut mutator, 30_000_000),
        "start" => 0,
        _ => {
            eprintln!("no such workload: {workload}");
            std::process::exit(64);
        }
    }
}

fn make(mutator: &mut Mutator, depth: u32) -> Value {
    if depth == 0 {
        return mutator.pair(Value::NIL, Value::NIL);
    }
    let left = make(mutator, depth - 1);
    let right = make(mutator, depth - 1);
    mutator.pair(left, right)
}

#[inline(always)]
fn car(pair: Value) -> Value {
    pair.car().expect("a pair")
}

#[inline(always)]
fn cdr(pair: Value) -> Value {
    pair.cdr().expect("a pair")
}

fn check(tree: Value) -> u64 {
    if car(tree).is_nil() {
        1
    } else {
        1 + check(car(tree)) + check(cdr(tree))
    }
}

#[inline(never)]
fn trees(mutator: &mut Mutator, depth: u32) -> u64 {
    let mut sum = check(make(mutator, depth + 1));
    let long_lived = make(mutator, depth);
    for small in (4..=depth).step_by(4) {
        for _ in 0..1u64 << (depth - small + 4) {
            sum += check(make(mutator, small));
        }
    }
    sum + check(long_lived)
}

#[inline(never)]
fn queue(mutator: &mut Mutator, count: i64, keep: i64) -> u64 {
    let mut head = mutator.pair(Value::ZERO, Value::NIL);
    let mut tail = head;
    for i in 1..count {
        let link = mutator.pair(Value::fixnum(i), Value::NIL);
        mutator.set_cdr(tail, link);
        tail = link;
        if i >= keep {
            head = cdr(head);
        }
    }
    let mut length = 0;
    while head.is_pair() {
        length += 1;
        head = cdr(head);
    }
    length
}

#[inline(never)]
fn ring(mutator: &mut Mutator, count: usize, keep: usize) -> u64 {
    let vector = mutator
        .object(Kind::Vector, 0, keep, Value::NIL)
        .expect("room for the ring");
    for i in 0..count {
        let pair = mutator.pair(Value::fixnum(i as i64), Value::NIL);
        mutator.store(vector, i % keep, pair);
    }
    let vector = vector.as_object().expect("a vector");
    (0..keep).filter(|&i| vector.field(i).is_pair()).count() as u64
}

#[inline(never)]
fn live(mutator: &mut Mutator, depth: u32, lists: u64) -> u64 {
    let tree = make(mutator, depth);
    let mut random = 12345u64;
    let mut sum = 0;
    for _ in 0..lists {
        let mut list = Value::NIL;
        for j in 0..1000 {
            list = mutator.pair(Value::fixnum(j), list);
        }
        while list.is_pair() {
            sum += car(list).as_fixnum().expect("a fixnum") as u64;
            list = cdr(list);
        }
        random = ((random & 0xfff_ffff) * 1_103_515_245 + 12345) & 0xf_ffff_ffff;
        let mut bits = random >> 4;
        let mut node = tree;
        loop {
            let child = if bits & 1 == 0 { car(node) } else { cdr(node) };
            if !car(child).is_pair() {
                break;
            }
            node = child;
            bits >>= 1;
        }
        let leaf = mutator.pair(Value::NIL, Value::NIL);
        mutator.set_car(node, leaf);
    }
    sum
}

#[inline(never)]
fn garbage(mutator: &mut Mutator, count: i64) -> u64 {
    let mut last = Value::NIL;
    for i in 0..count {
        last = mutator.pair(Value::fixnum(i), Value::NIL);
        std::hint::black_box(last);
    }
    u64::from(last.is_pair())
}

fn process_cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns: f64 = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0);
    ns / 1e9
}

fn report(workload: &str, heap: &Heap, result: u64) {
    let statistics = heap.statistics();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak_kb: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0);
    println!(
        "canny {workload} result={result} cpu={:.3} gc={:.3} pause_ms={:.1} peak_mb={} collections={} \
         full={} in_place={} pinned={} promoted_mb={} of {}",
        process_cpu_seconds(),
        statistics.pause_cpu_ns_total as f64 / 1e9,
        statistics.pause_cpu_ns_max as f64 / 1e6,
        peak_kb / 1024,
        statistics.collections,
        statistics.full_collections,
        statistics.in_place_collections,
        statistics.pinned_objects_total,
        statistics.bytes_evacuated >> 20,
        statistics.bytes_allocated >> 20,
    );
}
