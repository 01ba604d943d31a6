//! SPEC 7: a tool is added here, with no change anywhere else, and works end to end. It is the
//! example that the documentation shows.

#[path = "../../examples/own_tool.rs"]
#[expect(unreachable_pub, reason = "an example shows a program")]
mod example;

#[test]
fn spec_7_adding_a_tool_never_touches_the_loop() {
    assert_eq!(example::main().unwrap(), ());
}
