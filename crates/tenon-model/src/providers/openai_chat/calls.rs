//! Which call a fragment belongs to. Pure.
//!
//! The API keys fragments by index and gives the id once. Servers exist that send index 0 for all
//! calls, no index, no id, the id or the name in every fragment, or the whole call a second time
//! at the end; so index, id and whether the arguments so far are whole JSON are weighed together.

use serde::Deserialize;
use serde_json::Value;

use crate::{exchange::Events, provider::StreamEvent};

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    started: usize,
}

/// One element of `tool_calls`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Fragment {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

impl Fragment {
    /// Returns the fragment of a call without index and id.
    pub(super) fn of(function: Function) -> Self {
        Self { function: Some(function), ..Self::default() }
    }
}

/// Name and arguments of a fragment; `function_call` of the API's first version is the same.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Function {
    #[serde(default)]
    name: Option<String>,
    /// A string by the API; an object on some servers.
    #[serde(default)]
    arguments: Value,
}

#[derive(Debug, Default)]
struct Call {
    server_index: Option<u64>,
    id: String,
    name: String,
    /// Our number; set when the name is known and the call was announced.
    index: Option<usize>,
    /// Arguments that came before the name.
    early: String,
    scan: JsonScan,
}

impl Calls {
    /// Takes one fragment.
    pub(super) fn push(&mut self, fragment: Fragment, out: &mut Events) {
        let function = fragment.function.unwrap_or_default();
        let id = fragment.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = match function.arguments {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        let position = self.position(fragment.index, &id, &name);
        let call = match position.and_then(|position| self.calls.get_mut(position)) {
            Some(call) => call,
            None => {
                self.calls.push(Call { server_index: fragment.index, ..Call::default() });
                let Some(call) = self.calls.last_mut() else { return };
                call
            }
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        // A fragment after whole arguments is the call sent again.
        if !call.scan.is_whole() {
            call.scan.push(&arguments);
            call.early.push_str(&arguments);
        }
        call.announce(&mut self.started, out);
    }

    /// Reports the calls' ends; `last_cut` leaves the last one open, because the output limit cut
    /// the reply there.
    pub(super) fn finish(&mut self, last_cut: bool, out: &mut Events) {
        let count = self.calls.len();
        for (position, call) in self.calls.iter_mut().enumerate() {
            if call.index.is_none() {
                // No name ever came: the model reads in its result that there is no such tool.
                call.start(&mut self.started, out);
            }
            let cut = last_cut && position + 1 == count;
            if let Some(index) = call.index.filter(|_| !cut) {
                out.push_back(StreamEvent::ToolCallEnded { index });
            }
        }
    }

    /// Returns whether the reply has no call.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the position of the call that a fragment continues, `None` for a new one.
    fn position(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same_index = |call: &Call| index.is_none() || call.server_index == index;
        let last_where = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        if !id.is_empty() {
            let known = last_where(&|call| call.id == id && same_index(call));
            if known.is_some() {
                return known;
            }
            // A new id: the late id of a call that has none, or, without a name, an id that
            // changes from fragment to fragment; else a new call, whatever its index.
            let open = last_where(&same_index)?;
            let call = self.calls.get(open)?;
            let late = call.id.is_empty() && (name.is_empty() || call.name.is_empty());
            let changing = name.is_empty() && !call.scan.is_whole();
            return (late || changing).then_some(open);
        }
        let open = last_where(&same_index)?;
        let call = self.calls.get(open)?;
        let other_name = !name.is_empty() && !call.name.is_empty() && call.name != name;
        let again = !name.is_empty() && call.scan.is_whole();
        (!other_name && !again).then_some(open)
    }
}

impl Call {
    fn announce(&mut self, started: &mut usize, out: &mut Events) {
        // An id may follow the name in a fragment of its own, but not the arguments.
        let keyed = !self.id.is_empty() || !self.early.is_empty();
        match self.index {
            Some(_) => self.send_early(out),
            None if keyed && !self.name.is_empty() => self.start(started, out),
            None => {}
        }
    }

    fn start(&mut self, started: &mut usize, out: &mut Events) {
        let index = *started;
        *started += 1;
        self.index = Some(index);
        let (id, name) = (self.id.clone(), self.name.clone());
        out.push_back(StreamEvent::ToolCallStarted { index, id, name });
        self.send_early(out);
    }

    fn send_early(&mut self, out: &mut Events) {
        let arguments = std::mem::take(&mut self.early);
        if let Some(index) = self.index
            && !arguments.is_empty()
        {
            out.push_back(StreamEvent::ToolCallDelta { index, arguments });
        }
    }
}

/// Follows JSON text far enough to know when its one object or string is whole.
#[derive(Debug, Default)]
struct JsonScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    whole: bool,
}

impl JsonScan {
    fn is_whole(&self) -> bool {
        self.whole
    }

    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => continue,
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => continue,
                }
            }
            self.whole |= self.depth == 0 && !self.in_string;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Feeds fragments and compares the calls that come out as `id name arguments`.
    fn check(what: &str, fragments: Value, expected: &[&str]) {
        let fragments: Vec<Fragment> = serde_json::from_value(fragments).unwrap();
        let mut calls = Calls::default();
        let mut events = Events::new();
        fragments.into_iter().for_each(|fragment| calls.push(fragment, &mut events));
        calls.finish(false, &mut events);
        let mut fold = crate::Fold::default();
        events.into_iter().for_each(|event| fold.push(event));
        let message = fold.finish(&[]).message;
        let seen: Vec<String> = message
            .tool_calls()
            .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
            .collect();
        assert_eq!(seen, expected, "{what}");
    }

    fn f(index: Value, id: Value, name: Value, arguments: Value) -> Value {
        json!({"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": arguments}})
    }

    #[test]
    fn fragments_find_their_calls_however_they_are_keyed() {
        let n = Value::Null;
        let a = r#"a bash {"x":1}"#;
        let b = r#"b grep {"y":2}"#;
        let unnamed = [r#"call bash {"x":1}"#, r#"call_2 grep {"y":2}"#];
        check(
            "by index",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("")),
                f(json!(0), n.clone(), n.clone(), json!("{\"x\"")),
                f(json!(1), json!("b"), json!("grep"), json!("")),
                f(json!(0), n.clone(), n.clone(), json!(":1}")),
                f(json!(1), n.clone(), n.clone(), json!("{\"y\":2}"))
            ]),
            &[a, b],
        );
        check(
            "index 0 for all",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\":1}")),
                f(json!(0), json!("b"), json!("grep"), json!("{\"y\"")),
                f(json!(0), n.clone(), n.clone(), json!(":2}"))
            ]),
            &[a, b],
        );
        check(
            "index 0 for all, no ids",
            json!([
                f(json!(0), n.clone(), json!("bash"), json!("{\"x\":1}")),
                f(json!(0), json!(""), json!("grep"), json!("{\"y\":2}"))
            ]),
            &unnamed,
        );
        check(
            "same tool twice, index 0, no ids",
            json!([
                f(json!(0), n.clone(), json!("bash"), json!("{\"x\":1}")),
                f(json!(0), n.clone(), json!("bash"), json!("{\"x\":1}"))
            ]),
            &[r#"call bash {"x":1}"#, r#"call_2 bash {"x":1}"#],
        );
        check(
            "no index",
            json!([
                f(n.clone(), json!("a"), json!("bash"), json!({"x": 1})),
                f(n.clone(), json!("b"), json!("grep"), json!({"y": 2}))
            ]),
            &[a, b],
        );
        check(
            "no index, no id, objects",
            json!([
                f(n.clone(), n.clone(), json!("bash"), json!({"x": 1})),
                f(n.clone(), n.clone(), json!("grep"), json!({"y": 2}))
            ]),
            &unnamed,
        );
        check(
            "name and id in every fragment",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\"")),
                f(json!(0), json!("a"), json!("bash"), json!(":")),
                f(json!(0), json!("a"), json!("bash"), json!("1}"))
            ]),
            &[a],
        );
        check(
            "name in every fragment, no id",
            json!([
                f(json!(0), n.clone(), json!("bash"), json!("{\"x\"")),
                f(json!(0), n.clone(), json!("bash"), json!(":1}"))
            ]),
            &[r#"call bash {"x":1}"#],
        );
        check(
            "id late",
            json!([
                f(json!(0), n.clone(), json!("bash"), json!("")),
                f(json!(0), json!("a"), n.clone(), json!("{\"x\":1}"))
            ]),
            &[a],
        );
        check(
            "name late",
            json!([
                f(json!(0), json!("a"), n.clone(), json!("{\"x\"")),
                f(json!(0), n.clone(), json!("bash"), json!(":1}"))
            ]),
            &[a],
        );
        check(
            "changing ids",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\"")),
                f(json!(0), json!("z"), n.clone(), json!(":1}"))
            ]),
            &[a],
        );
        check(
            "same id for both",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\":1}")),
                f(json!(1), json!("a"), json!("grep"), json!("{\"y\":2}"))
            ]),
            &[a, r#"a_2 grep {"y":2}"#],
        );
        check(
            "whole call again at the end",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\":1}")),
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\":1}"))
            ]),
            &[a],
        );
        check(
            "no arguments",
            json!([
                f(json!(0), json!("a"), json!("bash"), n.clone()),
                f(json!(1), json!("b"), json!("grep"), json!(""))
            ]),
            &["a bash {}", "b grep {}"],
        );
        check(
            "encoded twice",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("\"{\\\"x\\\"")),
                f(json!(0), n.clone(), n.clone(), json!(":1}\""))
            ]),
            &[a],
        );
        check(
            "braces in strings",
            json!([
                f(json!(0), json!("a"), json!("bash"), json!("{\"x\":\"}\\\"{\"")),
                f(json!(0), n.clone(), json!("bash"), json!("}"))
            ]),
            &[r#"a bash {"x":"}\"{"}"#],
        );
        check(
            "no name at all",
            json!([f(json!(0), json!("a"), n.clone(), json!("{}"))]),
            &["a  {}"],
        );
    }
}
