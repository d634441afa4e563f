//! Accounts: which one is notified at the limit, and limits of their own.

use canny_value::Value;

use super::{checked, list, scrub_stack};
use crate::{Account, Handle, Heap, HeapConfig, Mutator};

fn small() -> HeapConfig {
    HeapConfig {
        limit: Some(32 << 20),
        verify: false,
        nursery_bytes: 1 << 20,
        ..checked()
    }
}

/// Pairs of a megabyte.
const MEGABYTE: i64 = 65_536;

#[inline(never)]
fn kept(mutator: &mut Mutator, pairs: i64) -> Handle {
    let list = list(mutator, pairs);
    mutator.handle(list)
}

/// Memory that a closed account has left behind is old at once, and others are notified.
#[test]
fn what_is_left_behind_is_nobodys() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for number in 0..10_000 {
        let account = heap.new_account(None);
        mutator.set_account(account);
        if number == 5000 {
            // The handle stays.
            std::mem::forget(kept(&mut mutator, 25 * MEGABYTE));
        }
        heap.close_account(account, true);
    }
    assert!(!heap.is_short());
    mutator.collect(true);
    let greedy = heap.new_account(None);
    assert!(grow(&mut mutator, greedy));
    heap.close_account(greedy, true);
    scrub_stack();
    let other = heap.new_account(None);
    mutator.set_account(other);
    let _kept = kept(&mut mutator, 4 * MEGABYTE);
    mutator.collect(true);
    assert!(heap.is_short());
}

/// Makes a list for an account until an account is notified; whether that is this account.
#[inline(never)]
fn grow(mutator: &mut Mutator, account: Account) -> bool {
    mutator.set_account(account);
    let mut list = Value::NIL;
    for n in 0..100 * MEGABYTE {
        list = mutator.pair(Value::fixnum(n), list);
        if mutator.heap().is_any_told() {
            return mutator.take_exhausted();
        }
    }
    panic!("no account was notified");
}

#[test]
fn who_grows_is_told_and_not_who_has_much() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let (old, greedy) = (heap.new_account(None), heap.new_account(None));
    assert_ne!(old, greedy);
    mutator.set_account(old);
    let table = kept(&mut mutator, 16 * MEGABYTE);
    // The growth of others since then makes it old.
    for _ in 0..6 {
        let other = heap.new_account(None);
        mutator.set_account(other);
        let kept = kept(&mut mutator, 8 * MEGABYTE);
        mutator.collect(true);
        drop(kept);
        scrub_stack();
        mutator.collect(true);
    }
    for _ in 0..3 {
        assert!(grow(&mut mutator, greedy));
        assert!(!mutator.set_account(old), "the other account was notified");
        heap.close_account(greedy, true);
        scrub_stack();
        mutator.collect(true);
    }
    assert_eq!(super::length(table.get()), 16 * MEGABYTE);
}

#[test]
fn who_shares_the_blame_is_told_and_who_has_little_is_not() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let little = heap.new_account(None);
    mutator.set_account(little);
    let _a = kept(&mut mutator, MEGABYTE);
    let large: Vec<Account> = (0..4).map(|_| heap.new_account(None)).collect();
    let mut handles = Vec::new();
    'full: loop {
        for account in &large {
            mutator.set_account(*account);
            handles.push(kept(&mut mutator, MEGABYTE / 4));
            if heap.is_any_told() {
                break 'full;
            }
        }
    }
    let told = large
        .iter()
        .filter(|account| mutator.set_account(**account));
    let told = told.count();
    assert!((1..=4).contains(&told), "{told} were notified");
    assert!(!mutator.set_account(little));
    assert!(!mutator.set_account(Account::EXEMPT));
}

#[test]
fn nobody_is_told_who_is_exempt() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    mutator.set_account(Account::EXEMPT);
    let list = list(&mut mutator, 40 * MEGABYTE);
    assert!(!mutator.take_exhausted() && !heap.is_any_told());
    assert_eq!(super::length(list), 40 * MEGABYTE);
}

#[test]
fn an_account_has_a_limit_of_its_own() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let limited = heap.new_account(Some(4 << 20));
    assert_eq!(heap.own_limit_bytes(limited), Some(4 << 20));
    // Memory that dies does not count.
    mutator.set_account(limited);
    for _ in 0..50 {
        scrub_stack();
        list(&mut mutator, MEGABYTE);
        assert!(!mutator.take_exhausted());
    }
    assert!(grow(&mut mutator, limited));
    assert!(heap.statistics().bytes_in_use_max < 20 << 20);
    // Others may have more.
    let other = heap.new_account(None);
    mutator.set_account(other);
    let _kept = kept(&mut mutator, 10 * MEGABYTE);
    assert!(!mutator.take_exhausted());
    heap.close_account(limited, true);
    assert_eq!(heap.own_limit_bytes(limited), None);
}

/// Accounts that share a heap that is nearly full are notified together, by one full collection, while
/// one that is small goes on.
#[test]
fn all_who_have_grown_are_told_at_once() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let little = heap.new_account(None);
    mutator.set_account(little);
    let _little = kept(&mut mutator, MEGABYTE / 2);
    let large: Vec<Account> = (0..8).map(|_| heap.new_account(None)).collect();
    let mut handles = Vec::new();
    while !heap.is_any_told() {
        for account in &large {
            mutator.set_account(*account);
            handles.push(kept(&mut mutator, MEGABYTE / 8));
        }
    }
    let told = large
        .iter()
        .filter(|account| mutator.set_account(**account));
    assert!(told.count() >= 6);
    assert!(!mutator.set_account(little));
    // One full collection has found that the heap is full, and the next one frees it.
    let before = heap.statistics().full_collections;
    handles.clear();
    for account in &large {
        mutator.set_account(*account);
        mutator.take_exhausted();
        heap.close_account(*account, true);
    }
    scrub_stack();
    mutator.set_account(little);
    for _ in 0..20 {
        list(&mut mutator, MEGABYTE);
    }
    assert!(!heap.is_any_told());
    assert!(heap.statistics().full_collections <= before + 1);
    assert!(before <= 2, "{before} full collections");
}

/// An account that was begun and ended without a block is used again; one to which something belongs
/// is closed.
#[test]
fn an_untouched_account_is_begun_again() {
    let heap = Heap::new(small()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let first = mutator.begin_account(None);
    mutator.end_account();
    assert_eq!(mutator.account(), Account::EXEMPT);
    assert_eq!(mutator.begin_account(None), first);
    list(&mut mutator, MEGABYTE);
    mutator.end_account();
    let second = mutator.begin_account(None);
    assert_ne!(second, first);
    let bytes = mutator.leaf(canny_tables::kinds::Kind::Bytevector, 0, 1 << 20);
    bytes.unwrap();
    mutator.end_account();
    let third = mutator.begin_account(None);
    assert_ne!(third, second);
    // Another account was in use in between.
    mutator.set_account(second);
    mutator.set_account(third);
    mutator.end_account();
    assert_ne!(mutator.begin_account(None), third);
    mutator.end_account();
    let limited = mutator.begin_account(Some(4 << 20));
    mutator.end_account();
    assert_eq!(heap.own_limit_bytes(limited), None);
    assert_ne!(mutator.begin_account(None), limited);
}
