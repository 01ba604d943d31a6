//! What wraps a call: the fixed, visible order of the layers, and the dispatch that sends each
//! call of a reply through them.

mod approve;
mod checkpoint;
mod checks;
mod dispatch;
mod first_look;
mod git_index;
mod grant;
mod hollow;
mod layer;
mod limit;
mod mask;
mod open_jobs;
mod outside_line;
mod overtime;
mod own_changes;
mod project;
mod reach;
mod receipt;
mod run;
mod stand_in;
mod tree;
mod whole_lines;
mod written;

use std::sync::Arc;

use tenon_sandbox::Journal;

pub(crate) use checkpoint::Forbidden;
pub(crate) use dispatch::Dispatch;
pub(crate) use open_jobs::OpenJobs;
pub(crate) use reach::Reach;
pub(crate) use receipt::{Receipts, Stock, set_checks};
pub(crate) use stand_in::StandIn;

use self::layer::Layer;
use crate::masking::Masking;

/// Returns the layers from the outermost to the innermost. Without a `journal`, which comes with the
/// session's id, nothing can be undone.
pub(crate) fn layers(
    journal: Option<(Journal, &str)>,
    result_chars_max: usize,
    masking: Masking,
    open_jobs: &Arc<OpenJobs>,
    forbidden: Forbidden,
) -> Vec<Arc<dyn Layer>> {
    let mut layers: Vec<Arc<dyn Layer>> = Vec::new();
    if let Some((journal, session)) = journal {
        let open_jobs = Arc::clone(open_jobs);
        let checkpoints =
            checkpoint::Checkpoints::new(journal, session, masking.clone(), open_jobs, forbidden);
        layers.push(Arc::new(checkpoints));
    }
    layers.push(Arc::new(run::Run));
    layers.push(Arc::new(limit::Limit { chars_max: result_chars_max }));
    layers.push(Arc::new(mask::Mask { masking }));
    layers
}
