//! What the codes of rows tell besides their dot products.

/// The number of planes of a code.
pub(super) const PLANES: usize = 3;

/// What the code of a row tells, besides its dot products.
#[derive(Clone, Copy, Default)]
pub(super) struct Scale {
    pub(super) step: f32,
    /// The step of the first plane alone.
    pub(super) first_step: f32,
    /// The part along the centre.
    pub(super) along: f32,
    /// The distance from the direction by the first plane, the first two, and all; 0 for the zero vector only.
    pub(super) errors: [f32; PLANES],
}

/// The scales of consecutive rows. What a scan reads of all of them is apart and number by number, so that it computes
/// with several rows at once.
#[derive(Default)]
pub(super) struct Scales {
    first_steps: Vec<f32>,
    alongs: Vec<f32>,
    first_errors: Vec<f32>,
    /// The step, and the other errors.
    rest: Vec<(f32, [f32; PLANES - 1])>,
}

impl Scales {
    pub(super) fn first_steps(&self) -> &[f32] {
        &self.first_steps
    }

    pub(super) fn alongs(&self) -> &[f32] {
        &self.alongs
    }

    pub(super) fn first_errors(&self) -> &[f32] {
        &self.first_errors
    }

    pub(super) fn step(&self, at: usize) -> f32 {
        self.rest[at].0
    }

    pub(super) fn get(&self, at: usize) -> Scale {
        let (step, [second, all]) = self.rest[at];
        Scale {
            step,
            first_step: self.first_steps[at],
            along: self.alongs[at],
            errors: [self.first_errors[at], second, all],
        }
    }

    pub(super) fn push(&mut self, scale: Scale) {
        let [first, second, all] = scale.errors;
        self.first_steps.push(scale.first_step);
        self.alongs.push(scale.along);
        self.first_errors.push(first);
        self.rest.push((scale.step, [second, all]));
    }

    pub(super) fn set(&mut self, at: usize, scale: Scale) {
        let [first, second, all] = scale.errors;
        self.first_steps[at] = scale.first_step;
        self.alongs[at] = scale.along;
        self.first_errors[at] = first;
        self.rest[at] = (scale.step, [second, all]);
    }

    pub(super) fn pop(&mut self) -> Option<Scale> {
        let last = self.get(self.rest.len().checked_sub(1)?);
        self.first_steps.pop();
        self.alongs.pop();
        self.first_errors.pop();
        self.rest.pop();
        Some(last)
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(super) fn bytes(&self) -> usize {
        let columns = [&self.first_steps, &self.alongs, &self.first_errors].into_iter();
        let columns: usize = columns
            .map(|column| size_of::<f32>() * column.capacity())
            .sum();
        columns + self.rest.capacity() * size_of::<(f32, [f32; PLANES - 1])>()
    }
}
