//! The models that were asked, as providers that answer from the recording.

use std::sync::Arc;

use tenon_model::{Abilities, EventStream, Provider, Request};

use super::course::Course;

/// One of the models that were asked.
pub(super) struct Played {
    course: Arc<Course>,
    model: String,
    abilities: Abilities,
}

impl Played {
    pub(super) fn new(course: &Arc<Course>, model: String, abilities: Abilities) -> Self {
        // What was attached stands in the recorded prompts.
        let abilities = Abilities { wants_attached_context: false, ..abilities };
        Self { course: Arc::clone(course), model, abilities }
    }
}

impl Provider for Played {
    fn model(&self) -> &str {
        &self.model
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        self.course.reply(&request)
    }
}
