mod admission;
mod decisions;
mod moves;
mod support;
