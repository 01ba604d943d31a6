//! A recorded reply as the stream that it came in. Pure.

use tenon_model::{ContentBlock, Message, StopReason, StreamEvent, ToolCallFault, Usage};

/// Returns the events that fold into `message`.
pub(super) fn events(
    message: &Message,
    usage: Usage,
    stop: Option<StopReason>,
) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    let mut calls = 0;
    for block in &message.content {
        match block {
            ContentBlock::Text { text } => {
                events.push(StreamEvent::TextDelta { text: text.clone() });
            }
            ContentBlock::Thinking(thinking) => {
                if !thinking.text.is_empty() {
                    events.push(StreamEvent::ThinkingDelta { text: thinking.text.clone() });
                }
                let signature = thinking.signature.clone();
                events.extend(
                    signature.map(|signature| StreamEvent::ThinkingSignature { signature }),
                );
                let redacted = thinking.redacted.clone();
                events.extend(redacted.map(|data| StreamEvent::RedactedThinking { data }));
            }
            ContentBlock::ToolCall(call) => {
                let (index, id, name) = (calls, call.id.clone(), call.name.clone());
                calls += 1;
                events.push(StreamEvent::ToolCallStarted { index, id, name });
                let arguments = match &call.fault {
                    Some(ToolCallFault::Malformed { raw, .. }) => raw.clone(),
                    _ => call.arguments.to_string(),
                };
                events.push(StreamEvent::ToolCallDelta { index, arguments });
                if call.fault != Some(ToolCallFault::CutOff) {
                    events.push(StreamEvent::ToolCallEnded { index });
                }
            }
            ContentBlock::Image(_) | ContentBlock::ToolResult(_) => {}
        }
    }
    events.push(StreamEvent::Usage(usage));
    events.extend(stop.map(|reason| StreamEvent::Stopped { reason }));
    events
}
