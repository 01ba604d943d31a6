//! What wraps a call: the fixed, visible order of the layers, and the dispatch that sends each
//! call of a reply through them.

mod approve;
mod checks;
mod dispatch;
mod grant;
mod layer;
mod limit;
mod mask;
mod overtime;
mod reach;
mod receipt;
mod run;

use std::sync::Arc;

pub(crate) use dispatch::Dispatch;
pub(crate) use reach::Reach;
pub(crate) use receipt::{Receipts, Stock};

use self::layer::Layer;
use crate::masking::Masking;

/// Returns the layers from the outermost to the innermost.
pub(crate) fn layers(result_chars_max: usize, masking: Masking) -> Vec<Arc<dyn Layer>> {
    let limit = limit::Limit { chars_max: result_chars_max };
    vec![Arc::new(run::Run), Arc::new(limit), Arc::new(mask::Mask { masking })]
}
