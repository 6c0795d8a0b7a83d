//! What the codes of rows tell besides their dot products.

/// The number of planes of a code.
pub(super) const PLANES: usize = 3;

/// What the code of a row tells, besides its dot products.
#[derive(Clone, Copy, Default)]
pub(super) struct Scale {
    pub(super) step: f32,
    /// The part along the centre.
    pub(super) along: f32,
    /// The distance from the direction by the first plane, the first two, and all; 0 for the zero vector only.
    pub(super) errors: [f32; PLANES],
}

/// The scales of consecutive rows. What a scan reads of all of them is apart and number by number, so that it computes
/// with several rows at once.
#[derive(Default)]
pub(super) struct Scales {
    steps: Vec<f32>,
    alongs: Vec<f32>,
    first_errors: Vec<f32>,
    other_errors: Vec<[f32; PLANES - 1]>,
}

impl Scales {
    pub(super) fn steps(&self) -> &[f32] {
        &self.steps
    }

    pub(super) fn alongs(&self) -> &[f32] {
        &self.alongs
    }

    pub(super) fn first_errors(&self) -> &[f32] {
        &self.first_errors
    }

    pub(super) fn get(&self, at: usize) -> Scale {
        let [second, all] = self.other_errors[at];
        Scale {
            step: self.steps[at],
            along: self.alongs[at],
            errors: [self.first_errors[at], second, all],
        }
    }

    pub(super) fn push(&mut self, scale: Scale) {
        let [first, second, all] = scale.errors;
        self.steps.push(scale.step);
        self.alongs.push(scale.along);
        self.first_errors.push(first);
        self.other_errors.push([second, all]);
    }

    pub(super) fn set(&mut self, at: usize, scale: Scale) {
        let [first, second, all] = scale.errors;
        self.steps[at] = scale.step;
        self.alongs[at] = scale.along;
        self.first_errors[at] = first;
        self.other_errors[at] = [second, all];
    }

    pub(super) fn pop(&mut self) -> Option<Scale> {
        let last = self.get(self.steps.len().checked_sub(1)?);
        self.steps.pop();
        self.alongs.pop();
        self.first_errors.pop();
        self.other_errors.pop();
        Some(last)
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(super) fn bytes(&self) -> usize {
        let columns = [&self.steps, &self.alongs, &self.first_errors].into_iter();
        let columns: usize = columns
            .map(|column| size_of::<f32>() * column.capacity())
            .sum();
        columns + self.other_errors.capacity() * size_of::<[f32; PLANES - 1]>()
    }
}
