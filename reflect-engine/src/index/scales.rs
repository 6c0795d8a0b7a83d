//! What the codes of rows tell besides their dot products.

use crate::snapshot::saved;

/// What the code of a row tells, besides its dot products.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) step: f32,
    /// The part along the centre.
    pub(super) along: f32,
    /// The distance from the direction by the coarse plane; 0 for the zero vector only.
    pub(super) coarse_error: f32,
    /// The distance from the direction by both planes.
    pub(super) error: f32,
}

/// The scales of consecutive rows, number by number, so that a scan computes with several rows at once.
#[derive(Default)]
pub(super) struct Scales {
    steps: Vec<f32>,
    alongs: Vec<f32>,
    coarse_errors: Vec<f32>,
    errors: Vec<f32>,
}

saved!(Scales {
    steps,
    alongs,
    coarse_errors,
    errors,
});

impl Scales {
    pub(super) fn steps(&self) -> &[f32] {
        &self.steps
    }

    pub(super) fn alongs(&self) -> &[f32] {
        &self.alongs
    }

    pub(super) fn coarse_errors(&self) -> &[f32] {
        &self.coarse_errors
    }

    pub(super) fn get(&self, at: usize) -> Scale {
        Scale {
            step: self.steps[at],
            along: self.alongs[at],
            coarse_error: self.coarse_errors[at],
            error: self.errors[at],
        }
    }

    pub(super) fn push(&mut self, scale: Scale) {
        self.steps.push(scale.step);
        self.alongs.push(scale.along);
        self.coarse_errors.push(scale.coarse_error);
        self.errors.push(scale.error);
    }

    pub(super) fn set(&mut self, at: usize, scale: Scale) {
        self.steps[at] = scale.step;
        self.alongs[at] = scale.along;
        self.coarse_errors[at] = scale.coarse_error;
        self.errors[at] = scale.error;
    }

    pub(super) fn pop(&mut self) -> Option<Scale> {
        Some(Scale {
            step: self.steps.pop()?,
            along: self.alongs.pop()?,
            coarse_error: self.coarse_errors.pop()?,
            error: self.errors.pop()?,
        })
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(super) fn bytes(&self) -> usize {
        let Self {
            steps,
            alongs,
            coarse_errors,
            errors,
        } = self;
        let columns = [steps, alongs, coarse_errors, errors].into_iter();
        columns
            .map(|column| column.capacity() * size_of::<f32>())
            .sum()
    }
}
