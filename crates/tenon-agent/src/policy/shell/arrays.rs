//! Arrays: what `"${name[@]}"` stands for, as long as the line says all of it.

use super::made::Made;
use super::syntax::{Assignment, Part, WrittenWord};
use super::walk::Walker;
use super::word::{self, Piece, Word};
use super::words::{ALL_ELEMENTS, variable_of};

/// An array of more is not followed, in pieces of its words; each `+=` goes through all of them.
const PIECES_MAX: usize = 4_000;

/// Returns the name under which all elements of an array are kept.
fn of_elements(name: &str) -> String {
    format!("{name}{ALL_ELEMENTS}")
}

/// An array that is assigned.
pub(super) struct Assigned {
    /// What it is made of.
    pub(super) value: Word,
    /// Its elements, if their order is known.
    pub(super) elements: Option<Vec<Piece>>,
}

impl Walker {
    /// Returns the elements to which those of an assignment are added.
    pub(super) fn elements_before(&self, assignment: &Assignment) -> Option<Vec<Piece>> {
        match (assignment.appends, &assignment.subscript) {
            (_, Some(_)) => None,
            (false, None) => Some(Vec::new()),
            (true, None) => {
                let known = self.known_elements(&assignment.name)?;
                self.variables.get(&known).cloned().flatten()
            }
        }
    }

    /// Reads the elements of an array, which come behind others.
    pub(super) fn array(&mut self, words: &[WrittenWord], before: Option<Vec<Piece>>) -> Assigned {
        let mut made = Made::default();
        let mut elements = before;
        for word in words {
            // `[key]=value` goes to a place of its own.
            if matches!(word.parts.first(), Some(Part::Evaluated(_))) {
                elements = None;
            }
            for value in self.words(word) {
                self.evaluate_value(&value);
                made.join(&value.made());
                if let Some(elements) = &mut elements {
                    if !elements.is_empty() {
                        elements.push(Piece::Break);
                    }
                    // An empty one keeps the next apart from what stands before the array.
                    elements.push(Piece::Text(String::new()));
                    elements.extend(value.pieces);
                }
            }
        }
        Assigned { value: Word { pieces: word::made_of(made) }, elements }
    }

    /// Keeps the elements of an array that was set.
    pub(super) fn keep_elements(&mut self, name: &str, elements: Option<Vec<Piece>>) {
        if let Some(elements) = elements.filter(|elements| elements.len() <= PIECES_MAX) {
            self.has_arrays = true;
            self.put(of_elements(name), Some(Some(elements)));
        }
    }

    /// Forgets the elements of a variable that is set otherwise.
    pub(super) fn forget_elements(&mut self, name: &str) {
        if !self.has_arrays || variable_of(name) != name {
            return;
        }
        let elements = of_elements(name);
        if self.variables.contains_key(&elements) {
            self.put(elements, Some(None));
        }
    }

    /// Returns the name under which the elements of an array are known, if they are.
    pub(super) fn known_elements(&self, name: &str) -> Option<String> {
        let elements = of_elements(name);
        let is_known = matches!(self.variables.get(&elements), Some(Some(_)));
        (is_known && !self.state.untold).then_some(elements)
    }
}
