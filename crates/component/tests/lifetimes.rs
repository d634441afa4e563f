//! An instance holds what it was given until it is dropped with its store, and no longer.

use std::sync::Arc;

use canny_component::{Answer, Component, Destructor, Host, HostFunction, Imports, to_binary};
use canny_wasm::Store;

/// A host whose functions and destructors have references to it.
#[derive(Clone)]
struct Counted(#[expect(dead_code, reason = "the test counts references")] Arc<()>);

impl Host for Counted {
    fn function(&self, _: &str, name: &str) -> Option<HostFunction> {
        let held = self.clone();
        (name != "missing").then(|| {
            Box::new(move |_: &mut Store, _: &[_]| {
                let _ = &held;
                Ok(Answer::Done(None))
            }) as HostFunction
        })
    }

    fn resource(&self, _: &str, _: &str) -> Option<Destructor> {
        let held = self.clone();
        Some(Box::new(move |_, _| {
            let _ = &held;
            Ok(())
        }))
    }
}

/// The references to a host that are left when an instance was made, or was not, and is gone.
fn left(text: &str, is_made: bool) -> usize {
    let bytes = to_binary(text.as_bytes().to_vec()).unwrap();
    let component = Component::new(bytes).unwrap();
    let count = Arc::new(());
    let host = Counted(Arc::clone(&count));
    {
        let mut store = Store::default();
        let mut imports = Imports::default();
        imports.add_host(Arc::new(host));
        let made = component.instantiate(&mut store, &mut imports, 0);
        assert_eq!(made.is_ok(), is_made);
    }
    Arc::strong_count(&count)
}

const INTERFACE: &str = "(import \"a:b/c\" (instance $i
    (export \"r\" (type $r (sub resource)))
    (export \"f\" (func (param \"x\" (borrow $r))))))
  (alias export $i \"f\" (func $f))
  (core func (canon lower (func $f)))";

#[test]
fn an_instance_holds_its_host_no_longer_than_it_lives() {
    assert_eq!(left(&format!("(component {INTERFACE})"), true), 1);
    let nested = "(component $n (import \"g\" (func $g)) (component)
      (export \"g\" (func $g)))";
    let text = format!(
        "(component {INTERFACE} (import \"a:b/d\" (instance $j (export \"g\" (func))))
           {nested} (instance (instantiate $n (with \"g\" (func $j \"g\")))))"
    );
    assert_eq!(left(&text, true), 1);
}

#[test]
fn an_instance_that_cannot_be_made_holds_nothing() {
    let text = format!(
        "(component {INTERFACE} (import \"a:b/d\" (instance $j (export \"missing\" (func)))))"
    );
    assert_eq!(left(&text, false), 1);
}
