//! A question as a person sees it: what would be done, whatever the workspace's files hold.
//!
//! Files of the workspace are the model's to write. Were their values masked in a question, a model
//! could have any text in it stand there as a name.

use std::{borrow::Cow, fmt::Display};

use tenon_model::Masks;

use super::mask_value;
use crate::input::Question;

/// Returns `question` with its texts masked by `masks`. Where a part is masked it says so, and no rule
/// or flag is left that would not be what stands there.
pub(super) fn masked(mut question: Question, masks: &Masks) -> Question {
    let decision = &mut question.decision;
    let is_plain = |text: &dyn Display| matches!(masks.mask(&text.to_string()), Cow::Borrowed(_));
    let has_rule = |text: &dyn Display| !is_plain(text);
    let mut is_masked = decision.lifted_by.iter().any(|rule| has_rule(rule));
    if is_masked {
        decision.lifted_by.clear();
    }
    is_masked |= decision.always.take_if(|rule| has_rule(rule)).is_some();
    is_masked |= decision.flag.take_if(|flag| has_rule(flag)).is_some();
    let parts = decision.parts.iter_mut().map(|part| &mut part.text);
    let set = question.programs_set.iter_mut();
    let own = [&mut question.subject, &mut decision.reason, &mut decision.rule];
    for text in own.into_iter().chain(parts).chain(set) {
        if let Cow::Owned(masked) = masks.mask(text) {
            (*text, is_masked) = (masked, true);
        }
    }
    is_masked |= mask_value(masks, &mut question.arguments);
    question.is_masked |= is_masked;
    question
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenon_model::KnownValue;

    use crate::{
        Action, Masking, Mode, Places, Rules, decide,
        input::{HOST, Question},
        policy::Decision,
        tools::testing::Bench,
    };

    const OWN: &str = "k-0123456789a";
    const WRITTEN: &str = "touch /home/ada/x";
    const BOTH: &str = "k-0123456789b";

    /// Knows `OWN`, and `BOTH` that the workspace's `.env` file holds, too, beside `WRITTEN`.
    fn masking() -> Masking {
        let bench = Bench::new();
        bench.put(".env", format!("A_TOKEN='{WRITTEN}'\nB_TOKEN={BOTH}\n"));
        let known = |value| KnownValue::new(value, "KEY", "the environment");
        let masking = Masking::new(move || [OWN, BOTH].map(known).to_vec());
        masking.open(&bench.context.workspace);
        masking
    }

    fn about(command: &str) -> Question {
        let action = Action::Run { command: command.into() };
        let places = Places::default();
        Question {
            call_id: "1".into(),
            tool: "bash".into(),
            subject: command.into(),
            arguments: json!({"command": command}),
            decision: decide("bash", &action, &Rules::default(), Mode::Ask, &places),
            programs_set: Vec::new(),
            is_masked: false,
        }
    }

    #[test]
    fn what_a_file_of_the_workspace_holds_is_shown_with_its_rules() {
        for command in [&format!("sudo {WRITTEN}"), &format!("sudo id {BOTH}")] {
            let asked = about(command);
            assert_ne!(masking().mask(command.clone()), *command);
            assert!(asked.decision.flag.is_some() && asked.decision.always.is_some());
            let expected = format!("{asked:?}");
            assert_eq!(format!("{:?}", masking().question(asked)), expected);
        }
    }

    #[test]
    fn what_nothing_in_the_workspace_holds_is_masked_and_no_rule_is_left_that_has_it() {
        let shown = masking().question(about(&format!("sudo id {OWN}; make {WRITTEN}")));
        let label = "[masked: value of KEY from the environment]";
        assert!(shown.is_masked);
        assert_eq!(shown.subject, format!("sudo id {label}; make {WRITTEN}"));
        assert_eq!(shown.arguments, json!({"command": shown.subject}));
        assert_eq!(shown.decision.parts[0].text, format!("sudo id {label}"));
        assert!(!format!("{shown:?}").contains(OWN), "{shown:?}");
        let Decision { flag, always, lifted_by, .. } = shown.decision;
        assert_eq!((flag, always, lifted_by), (None, None, Vec::new()));
    }

    #[test]
    fn a_rule_without_the_secret_stays_where_the_rest_has_it() {
        let mut asked = about("sudo id x");
        asked.tool = HOST.into();
        asked.arguments = json!({"content": OWN});
        let shown = masking().question(asked);
        assert!(shown.is_masked && shown.decision.always.is_some());
    }
}
