//! What wraps a call: the fixed, visible order of the layers, and the dispatch that sends each
//! call of a reply through them.

mod approve;
mod dispatch;
mod grant;
mod layer;
mod limit;
mod mask;
mod reach;
mod run;

use std::sync::Arc;

pub(crate) use dispatch::Dispatch;
pub(crate) use reach::Reach;

use self::layer::Layer;
use crate::masking::Masking;

/// Returns the layers from the outermost to the innermost.
pub(crate) fn layers(result_chars_max: usize, masking: Masking) -> Vec<Arc<dyn Layer>> {
    let limit = limit::Limit { chars_max: result_chars_max };
    vec![Arc::new(run::Run), Arc::new(limit), Arc::new(mask::Mask { masking })]
}
