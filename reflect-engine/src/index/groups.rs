//! The groups of an index, as a tree that grows with it.
//!
//! A new row descends from the root to the nearest child until there is none. A group that has grown to
//! [`FULL`] rows gets [`CHILDREN`] children around the means of its rows; its own rows stay. So no vector
//! is read again, and rows whose vectors are alike come to share a centre, whatever order they
//! arrive in.

use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};

use super::code;
use super::group::Group;
use super::means::means;
use super::probe::Centre;
use super::tags::{Places, Tags};

/// The number of rows at which a group gets children.
const FULL: usize = if cfg!(test) { 64 } else { 2_048 };
/// The number of children of a group.
const CHILDREN: usize = 8;
/// The most rows whose means are computed.
const SAMPLE: usize = 512;

/// The groups of an index.
pub(super) struct Groups {
    dims: usize,
    /// The root first.
    nodes: Vec<Node>,
}

struct Node {
    group: Group,
    /// The position of the first of its children.
    children: Option<usize>,
    /// The number of rows at which it gets children.
    full: usize,
}

impl Groups {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            dims,
            nodes: vec![Node::new(dims, Centre::default())],
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.nodes.iter().map(|node| &node.group)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn get(&self, place: usize) -> &Group {
        &self.nodes[place].group
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut Group {
        &mut self.nodes[place].group
    }

    /// The group for a new row in this direction.
    pub(super) fn nearest(&self, direction: &[f64]) -> usize {
        let mut place = 0;
        while let Some(first) = self.nodes[place].children {
            let along = |child| (child, self.get(child).centre().along(direction));
            let children = (first..first + CHILDREN).map(along);
            let nearest = children.max_by(|(_, a), (_, b)| a.total_cmp(b));
            place = nearest.map_or(first, |(child, _)| child);
        }
        place
    }

    /// Gives the group children if it is full.
    pub(super) fn grow(&mut self, place: usize) {
        let first = self.nodes.len();
        let Node {
            group,
            children,
            full,
        } = &mut self.nodes[place];
        if children.is_some() || group.len() < *full {
            return;
        }
        let stride = group.len().div_ceil(SAMPLE);
        let rows: Vec<Vec<f32>> = (0..group.len())
            .step_by(stride)
            .map(|at| {
                let planes = group.planes(at);
                let code = planes.whole();
                code.iter().map(|c| f32::from(*c) * planes.step).collect()
            })
            .collect();
        let Some(centres) = means(&rows, CHILDREN) else {
            // Its rows are too much alike to tell apart. Others may come.
            *full *= 2;
            return;
        };
        *children = Some(first);
        let centres = centres.iter().map(|mean| {
            let centre = Centre::new(&code::direction(mean));
            Node::new(self.dims, centre)
        });
        self.nodes.extend(centres);
    }

    pub(super) fn save(&self, tags: &Places, out: &mut impl Write) -> io::Result<()> {
        (self.dims, self.nodes.len()).serialize(out)?;
        for node in &self.nodes {
            node.group.save(tags, out)?;
            (node.children, node.full).serialize(out)?;
        }
        Ok(())
    }

    /// Loads groups whose memories have these metadata, each with its signature.
    pub(super) fn load(tags: &[(Tags, u64)], input: &mut impl Read) -> io::Result<Self> {
        let (dims, count) = <(_, usize)>::deserialize_reader(input)?;
        let mut nodes = Vec::new();
        for _ in 0..count {
            let group = Group::load(dims, tags, input)?;
            let (children, full) = BorshDeserialize::deserialize_reader(input)?;
            nodes.push(Node {
                group,
                children,
                full,
            });
        }
        Ok(Self { dims, nodes })
    }

    /// The memory used, including reserved capacity and without metadata.
    pub(super) fn bytes(&self) -> usize {
        let groups: usize = self.iter().map(Group::bytes).sum();
        let around = size_of::<Node>() - size_of::<Group>();
        let spare = self.nodes.capacity() - self.nodes.len();
        groups + self.nodes.len() * around + spare * size_of::<Node>()
    }
}

impl Node {
    fn new(dims: usize, centre: Centre) -> Self {
        Self {
            group: Group::new(dims, centre),
            children: None,
            full: FULL,
        }
    }
}
