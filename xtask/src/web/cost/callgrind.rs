//! Parses callgrind's profile: instructions of each function itself and on each edge of the call graph.
//!
//! Functions that belong to nobody, such as those of Rust's standard library, can be charged to
//! their callers.

use std::collections::HashMap;

/// Instructions by function and by edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Instructions of a function itself.
    pub own: HashMap<String, f64>,
    /// Instructions of a callee and all below it, by caller and callee.
    calls: HashMap<(String, String), f64>,
}

impl Profile {
    /// Parses a file of callgrind whose positions are lines and whose only event is `Ir`.
    pub fn parse(text: &str) -> Result<Profile, String> {
        let mut profile = Profile::default();
        let mut names: HashMap<&str, String> = HashMap::new();
        let (mut caller, mut callee) = (String::new(), String::new());
        let mut is_call = false;
        for (index, line) in text.lines().enumerate() {
            let wrong = || format!("callgrind's profile, line {}: {line}", index + 1);
            if let Some(name) = line.strip_prefix("fn=") {
                caller = name_of(name, &mut names).ok_or_else(wrong)?;
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = name_of(name, &mut names).ok_or_else(wrong)?;
            } else if line.starts_with("calls=") {
                is_call = true;
            } else if line
                .starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            {
                let cost = line.split_whitespace().nth(1).unwrap_or("0");
                let cost: f64 = cost.parse().map_err(|_| wrong())?;
                if is_call {
                    let edge = (caller.clone(), callee.clone());
                    *profile.calls.entry(edge).or_default() += cost;
                } else {
                    *profile.own.entry(caller.clone()).or_default() += cost;
                }
                is_call = false;
            }
        }
        if profile.own.is_empty() {
            return Err("callgrind's profile has no function".to_owned());
        }
        Ok(profile)
    }

    /// The part of one of so many requests.
    pub fn divided(mut self, requests: f64) -> Profile {
        self.own.values_mut().for_each(|cost| *cost /= requests);
        self.calls.values_mut().for_each(|cost| *cost /= requests);
        self
    }

    /// Moves the instructions of functions that belong to nobody to their callers, by the shares of the
    /// edges. A function whose callers are not known keeps its own.
    pub fn charge_callers(&mut self, belongs_to_nobody: impl Fn(&str) -> bool) {
        let mut callers: HashMap<&str, Vec<(&str, f64)>> = HashMap::new();
        for ((caller, callee), cost) in &self.calls {
            // A call of itself would give the cost back.
            if *cost > 0.0 && caller != callee && belongs_to_nobody(callee) {
                callers.entry(callee).or_default().push((caller, *cost));
            }
        }
        // As deep as such functions call each other; less than one instruction is left to move then.
        for _ in 0..40 {
            let mut moved: Vec<(String, f64)> = Vec::new();
            for (callee, callers) in &callers {
                let Some(cost) = self.own.get_mut(*callee) else {
                    continue;
                };
                let cost = std::mem::take(cost);
                let sum: f64 = callers.iter().map(|(_, share)| share).sum();
                for (caller, share) in callers {
                    moved.push(((*caller).to_owned(), cost * share / sum));
                }
            }
            for (name, cost) in moved {
                *self.own.entry(name).or_default() += cost;
            }
        }
    }
}

/// The name in `(NUMBER) NAME`, or the one that the number had before; without the depth of recursion.
fn name_of<'text>(text: &'text str, names: &mut HashMap<&'text str, String>) -> Option<String> {
    let (number, name) = text.split_once(')')?;
    let name = name.trim();
    if name.is_empty() {
        return names.get(number).cloned();
    }
    let name = match name.rsplit_once('\'') {
        Some((name, depth)) if depth.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    };
    names.insert(number, name.to_owned());
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version: 1\npositions: line\nevents: Ir\nsummary: 60\n\nob=(1) /bin/x\n\
        fl=(1) a.c\nfn=(1) canny_http::next\n12 30\ncfi=(2) b.c\ncfn=(2) core::iter::fold'2\n\
        calls=3 7\n+1 20\n\nfn=(2)\n7 20\n* 5\n\nfn=(3) canny_heap::mark\n1 5\ncfn=(2)\n\
        calls=1 7\n2 5\n";

    #[test]
    fn costs_are_of_functions_and_edges() {
        let profile = Profile::parse(TEXT).expect("a profile");
        assert_eq!(profile.own["canny_http::next"], 30.0);
        assert_eq!(profile.own["core::iter::fold"], 25.0);
        let edge = ("canny_http::next".to_owned(), "core::iter::fold".to_owned());
        assert_eq!(profile.calls[&edge], 20.0);
        assert!(Profile::parse("fn=(1) a\n1 x\n").is_err());
        assert!(Profile::parse("fn=(9)\n1 2\n").is_err());
        assert!(Profile::parse("").is_err());
    }

    #[test]
    fn callers_pay_by_their_share() {
        let mut profile = Profile::parse(TEXT).expect("a profile");
        profile.charge_callers(|name| name.starts_with("core::"));
        assert_eq!(profile.own["core::iter::fold"], 0.0);
        assert_eq!(profile.own["canny_http::next"], 50.0);
        assert_eq!(profile.own["canny_heap::mark"], 10.0);
    }

    #[test]
    fn functions_that_call_each_other_do_not_circle_forever() {
        let text = "fn=(1) core::a\n1 8\ncfn=(2) core::b\ncalls=1 1\n1 8\nfn=(2)\n1 8\n\
            cfn=(1)\ncalls=1 1\n1 8\nfn=(3) canny_vm::run\n1 1\ncfn=(1)\ncalls=1 1\n1 8\n";
        let mut profile = Profile::parse(text).expect("a profile");
        profile.charge_callers(|name| name.starts_with("core::"));
        assert!(profile.own["canny_vm::run"] > 16.9);
    }

    #[test]
    fn a_request_has_its_part() {
        let profile = Profile::parse(TEXT).expect("a profile").divided(2.0);
        assert_eq!(profile.own["canny_http::next"], 15.0);
        assert!(
            profile
                .calls
                .values()
                .all(|cost| *cost == 10.0 || *cost == 2.5)
        );
    }
}
