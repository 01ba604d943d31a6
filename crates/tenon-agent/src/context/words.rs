//! What tenon says to the model in the person's place, so that it can be told from what they said.

/// What the model is told when its reply was cut by the output limit.
pub(crate) const GO_ON_AFTER_LIMIT: &str = "(Your reply was cut by the output limit. Go on from \
    exactly where it stopped; repeat nothing.)";

/// What the model is told when its reply broke off.
pub(crate) const GO_ON_AFTER_FAILURE: &str = "(The connection broke in the middle of your reply. \
    What you wrote so far arrived as it stands above; calls in it did not, and none ran. Go on from \
    exactly where it stopped; repeat nothing that arrived.)";

/// How the model is asked to run a check; which one follows.
pub(crate) const RUN_CHECK: &str = "(Something was changed and no check ran since.";
