//! The registers of the dynamic state, as the primitive rows of `control` describe them: winders,
//! handlers and parameters, which have the current ports.

use canny_value::Value;

use crate::thread::Thread;

/// The roots that hold the default ports of threads to come.
const DEFAULT_PORTS: [&str; 3] = ["default input", "default output", "default error"];

impl Thread {
    /// The winders register.
    pub fn winders(&self) -> Value {
        self.dynamic.winders
    }

    /// Changes the winders register.
    pub fn set_winders(&mut self, winders: Value) {
        self.dynamic.winders = winders;
    }

    /// The handlers register.
    pub fn handlers(&self) -> Value {
        self.dynamic.handlers
    }

    /// Changes the handlers register.
    pub fn set_handlers(&mut self, handlers: Value) {
        self.dynamic.handlers = handlers;
    }

    /// The parameters register.
    pub fn parameters(&self) -> Value {
        self.dynamic.parameters
    }

    /// Changes the parameters register.
    pub fn set_parameters(&mut self, parameters: Value) {
        self.dynamic.parameters = parameters;
    }

    /// The first entry of the parameters register with this key.
    pub fn parameter_entry(&self, key: Value) -> Option<Value> {
        entry_of(self.dynamic.parameters, key)
    }

    /// The current port with a key: 0 for input, 1 for output, 2 for errors.
    pub fn current_port(&self, key: usize) -> Value {
        match self
            .parameter_entry(Value::fixnum(key as i64))
            .and_then(Value::cdr)
        {
            Some(port) => port,
            None => self.dynamic.default_ports[key],
        }
    }

    /// Changes the port that is current outside of every `parameterize`, for this thread and those that
    /// begin later.
    pub fn set_default_port(&mut self, key: usize, port: Value) {
        self.dynamic.default_ports[key] = port;
        self.vm.set_root(DEFAULT_PORTS[key], port);
    }

    /// Takes over the default ports that were set last.
    pub(crate) fn inherit_default_ports(&mut self) {
        for (key, name) in DEFAULT_PORTS.into_iter().enumerate() {
            if let Some(port) = self.vm.root(name) {
                self.dynamic.default_ports[key] = port;
            }
        }
    }
}

/// The first entry with this key of a value of the parameters register.
pub(crate) fn entry_of(parameters: Value, key: Value) -> Option<Value> {
    let mut rest = parameters;
    while let Some(pair) = rest.as_pair() {
        let entry = pair.car();
        if entry.car() == Some(key) {
            return Some(entry);
        }
        rest = pair.cdr();
    }
    None
}
