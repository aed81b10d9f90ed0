//! Schemas with the levels of their attributes as further attributes.

use super::Schema;
use crate::domain::{Attribute, AttributeKind, AttributeSet};
use crate::error::Result;

/// A schema to which every level of an attribute is added as an attribute `attribute.level`.
///
/// A level is a function of the leaf: the node that contains it. A record therefore has one cell in
/// every marginal, with levels or without, and a marginal on levels is the sum of that on their
/// attributes. Sets of attributes that are measured have an attribute or one of its levels, never
/// two of them: the finest determines the others.
///
/// The original attributes keep their positions; the levels follow, from the coarsest to the finest
/// of every attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelSchema {
    schema: Schema,
    original: usize,
    levels: Vec<LevelAttribute>,
}

/// A level as an attribute.
#[derive(Debug, Clone, PartialEq)]
struct LevelAttribute {
    /// The position of the attribute.
    of: usize,
    /// The number of coarser levels.
    depth: usize,
    /// The node of every leaf.
    node_of: Vec<u32>,
}

/// Two levels of an attribute, or a level and the attribute itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refinement {
    /// The position of the finer one.
    pub finer: usize,
    /// The position of the coarser one, a function of the finer one.
    pub coarser: usize,
    /// The value of the coarser one for every value of the finer one.
    pub coarser_of: Vec<u32>,
}

impl LevelSchema {
    /// Adds all levels.
    ///
    /// # Errors
    /// More than 128 attributes and levels together, or an attribute with the name of a level.
    pub fn new(schema: &Schema) -> Result<Self> {
        let (mut levels, mut attributes) = (Vec::new(), Vec::new());
        for (of, attribute) in schema.attributes().iter().enumerate() {
            let known = attribute.hierarchy.as_ref().map_or(&[][..], |known| known.levels());
            for (depth, level) in known.iter().enumerate() {
                let name = format!("{}.{}", attribute.name, level.name());
                let size = level.labels().len();
                let added = Attribute::new(name, size, AttributeKind::Categorical);
                attributes.push((added, level.labels().to_vec()));
                levels.push(LevelAttribute { of, depth, node_of: level.node_of().to_vec() });
            }
        }
        let original = schema.attributes().len();
        Ok(LevelSchema { schema: schema.with_listed(attributes)?, original, levels })
    }

    /// Adds no level.
    pub fn without_levels(schema: &Schema) -> Self {
        let original = schema.attributes().len();
        LevelSchema { schema: schema.clone(), original, levels: Vec::new() }
    }

    /// Returns the schema of attributes and levels.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns whether there are levels.
    pub fn has_levels(&self) -> bool {
        !self.levels.is_empty()
    }

    /// Returns the original attributes.
    pub fn original(&self) -> AttributeSet {
        AttributeSet::first(self.original)
    }

    fn level(&self, position: usize) -> Option<&LevelAttribute> {
        self.levels.get(position.checked_sub(self.original)?)
    }

    /// Returns the attribute that a position is, or is a level of.
    pub fn attribute_of(&self, position: usize) -> usize {
        self.level(position).map_or(position, |level| level.of)
    }

    /// Returns the number of levels that are coarser than a position.
    fn depth(&self, position: usize) -> usize {
        let of_attribute = || self.levels.iter().filter(|level| level.of == position).count();
        self.level(position).map_or_else(of_attribute, |level| level.depth)
    }

    /// Returns the largest number of levels that are coarser than a member of a set: 0 if no set
    /// with as many attributes is coarser.
    pub fn depth_of(&self, set: AttributeSet) -> usize {
        set.positions().map(|p| self.depth(p)).max().unwrap_or(0)
    }

    /// Returns the set with the attributes in place of their levels.
    #[must_use]
    pub fn leaves_of(&self, set: AttributeSet) -> AttributeSet {
        set.positions().fold(AttributeSet::EMPTY, |all, p| {
            all.union(AttributeSet::single(self.attribute_of(p)))
        })
    }

    /// Returns a set with a level of an attribute in place of the attribute; the set itself if there
    /// is no such level. `depth` is the number of coarser levels.
    #[must_use]
    pub fn at_level(&self, set: AttributeSet, attribute: usize, depth: usize) -> AttributeSet {
        let found = |level: &LevelAttribute| level.depth == depth && level.of == attribute;
        let Some(index) = self.levels.iter().position(found) else { return set };
        let level = AttributeSet::single(self.original + index);
        set.without(AttributeSet::single(attribute)).union(level)
    }

    /// Returns all sets that a set determines: without some of its attributes, and with coarser
    /// levels in place of others. The subsets come first, in their order.
    pub fn determined_by(&self, set: AttributeSet) -> Vec<AttributeSet> {
        let mut sets: Vec<AttributeSet> = set.subsets().collect();
        for position in set.positions() {
            let (of, depth) = (self.attribute_of(position), self.depth(position));
            let coarser = |level: &LevelAttribute| level.of == of && level.depth < depth;
            let member = AttributeSet::single(position);
            for index in (0..self.levels.len()).filter(|k| coarser(&self.levels[*k])) {
                let level = AttributeSet::single(self.original + index);
                let with = sets.iter().filter(|set| set.contains(position));
                let replaced: Vec<AttributeSet> =
                    with.map(|set| set.without(member).union(level)).collect();
                sets.extend(replaced);
            }
        }
        sets
    }

    /// Returns whether the marginal on `set` is a sum of that on `finer`.
    pub fn determines(&self, finer: AttributeSet, set: AttributeSet) -> bool {
        set.positions().all(|position| {
            let depth = self.depth(position);
            let of = self.attribute_of(position);
            finer.positions().any(|q| self.attribute_of(q) == of && self.depth(q) >= depth)
        })
    }

    /// Returns the value of `coarser` for every value of `finer`: levels of one attribute, or the
    /// attribute itself.
    pub fn values_of(&self, finer: usize, coarser: usize) -> Vec<u32> {
        let leaves = 0..self.schema.attributes()[self.attribute_of(finer)].size as u32;
        let values = |position: usize| match self.level(position) {
            Some(level) => level.node_of.clone(),
            None => leaves.clone().collect(),
        };
        let mut of = vec![0; self.schema.attributes()[finer].size];
        for (finer, coarser) in values(finer).into_iter().zip(values(coarser)) {
            of[finer as usize] = coarser;
        }
        of
    }

    /// Returns the pairs of neighbouring levels among some positions, where the attributes are the
    /// finest levels.
    pub fn refinements(&self, positions: AttributeSet) -> Vec<Refinement> {
        let mut refinements = Vec::new();
        for attribute in self.leaves_of(positions).positions() {
            let is_of = |p: &usize| self.attribute_of(*p) == attribute;
            let mut chain: Vec<usize> = positions.positions().filter(is_of).collect();
            chain.sort_by_key(|p| self.depth(*p));
            for pair in chain.windows(2) {
                let [coarser, finer] = [pair[0], pair[1]];
                let coarser_of = self.values_of(finer, coarser);
                refinements.push(Refinement { finer, coarser, coarser_of });
            }
        }
        refinements
    }

    /// Returns the cell of `to` for every cell of the marginal on `from`, which determines it.
    fn cells(&self, from: AttributeSet, to: AttributeSet) -> Vec<usize> {
        let sizes = self.schema.sizes();
        let mut cells = vec![0];
        for finer in from.positions() {
            let mut offsets = vec![0; sizes[finer]];
            let mut stride = 1;
            for coarser in to.positions().collect::<Vec<_>>().into_iter().rev() {
                if self.attribute_of(coarser) == self.attribute_of(finer) {
                    let values = self.values_of(finer, coarser);
                    offsets.iter_mut().zip(values).for_each(|(o, v)| *o += stride * v as usize);
                }
                stride *= sizes[coarser];
            }
            let with = |cell: usize| offsets.iter().map(move |offset| cell + offset);
            cells = cells.into_iter().flat_map(with).collect();
        }
        cells
    }

    /// Returns the marginal on `to`, summed from that on `from`, which determines it.
    pub fn summed(&self, from: AttributeSet, values: &[f64], to: AttributeSet) -> Vec<f64> {
        let mut sums = vec![0.0; to.select(&self.schema.sizes()).iter().product()];
        for (cell, value) in self.cells(from, to).into_iter().zip(values) {
            sums[cell] += value;
        }
        sums
    }

    /// Returns a marginal on the attributes of a set whose sums are a given marginal on the set.
    ///
    /// The count of a node is that of its first leaf.
    pub fn spread(&self, set: AttributeSet, values: &[f64]) -> Vec<f64> {
        let leaves = self.leaves_of(set);
        let cells = self.cells(leaves, set);
        let mut left: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        cells.into_iter().map(|cell| left[cell].take().unwrap_or(0.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::domain::Hierarchy;
    use crate::test_support::set;

    /// Six leaves in three counties of two regions, and another attribute.
    fn domain() -> LevelSchema {
        let labels = |text: &str| text.chars().map(String::from).collect();
        let levels = vec![("region".into(), labels("NSNSSN")), ("county".into(), labels("ABABCA"))];
        let tree = Hierarchy::new(levels, |leaf| leaf.to_string()).unwrap();
        let area = Attribute::new("area", 6, AttributeKind::Categorical).with_hierarchy(tree);
        let sex = Attribute::new("sex", 2, AttributeKind::Categorical);
        LevelSchema::new(&Schema::new(vec![area, sex]).unwrap()).unwrap()
    }

    #[test]
    fn levels_follow_the_attributes() {
        let domain = domain();
        assert_eq!(domain.schema().sizes(), [6, 2, 2, 3]);
        assert_eq!(domain.schema().names(set(&[1, 3])), "sex, area.county");
        assert_eq!(domain.original(), set(&[0, 1]));
        assert_eq!([set(&[1, 2]), set(&[3]), set(&[0, 1])].map(|s| domain.depth_of(s)), [0, 1, 2]);
        assert_eq!(domain.leaves_of(set(&[1, 3])), set(&[0, 1]));
        assert_eq!(domain.at_level(set(&[0, 1]), 0, 1), set(&[1, 3]));
        assert_eq!(domain.at_level(set(&[1]), 1, 1), set(&[1]));
        let refinements = domain.refinements(set(&[0, 1, 2, 3]));
        let of = |k: usize| (refinements[k].finer, refinements[k].coarser);
        assert_eq!((of(0), of(1), refinements.len()), ((3, 2), (0, 3), 2));
        assert_eq!(refinements[0].coarser_of, [0, 1, 1]);
        let direct = domain.refinements(set(&[0, 2]));
        assert_eq!(direct[0].coarser_of, [0, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn a_name_used_twice_is_refused() {
        let tree = Hierarchy::balanced(&[2, 2]).unwrap();
        let area = Attribute::new("area", 4, AttributeKind::Categorical).with_hierarchy(tree);
        let other = Attribute::new("area.level 1", 2, AttributeKind::Categorical);
        let schema = Schema::new(vec![area, other]).unwrap();
        assert!(LevelSchema::new(&schema).unwrap_err().to_string().contains("area.level 1"));
    }

    /// Determined sets against the definition, by pairs of cells of the domain.
    #[test]
    fn determined_sets_are_functions_of_the_cell() {
        let domain = domain();
        let sizes = domain.schema().sizes();
        let value = |leaf: usize, sex: usize, position: usize| match position {
            0 => leaf,
            1 => sex,
            2 => [0, 1, 0, 1, 1, 0][leaf],
            _ => [0, 1, 0, 1, 2, 0][leaf],
        };
        let index = |set: AttributeSet, leaf: usize, sex: usize| {
            set.positions().fold(0, |all, p| all * sizes[p] + value(leaf, sex, p))
        };
        let all = domain.determined_by(set(&[0, 1]));
        assert_eq!(all[..4], [set(&[]), set(&[0]), set(&[1]), set(&[0, 1])]);
        assert_eq!(all.len(), 8);
        let counts: Vec<f64> = (0..12).map(|k| ((k * 7) % 5) as f64).collect();
        for &from in &all {
            let marginal = |of: AttributeSet| {
                let mut sums = vec![0.0; of.select(&sizes).iter().product()];
                for (cell, count) in counts.iter().enumerate() {
                    sums[index(of, cell / 2, cell % 2)] += count;
                }
                sums
            };
            for &to in &all {
                let is_function = (0..12).all(|a| {
                    (0..12).all(|b| {
                        let at = |set, cell: usize| index(set, cell / 2, cell % 2);
                        at(from, a) != at(from, b) || at(to, a) == at(to, b)
                    })
                });
                assert_eq!(domain.determines(from, to), is_function, "{from:?} {to:?}");
                assert_eq!(domain.determined_by(from).contains(&to), is_function);
                if is_function {
                    assert_eq!(domain.summed(from, &marginal(from), to), marginal(to));
                }
            }
            let leaves = domain.leaves_of(from);
            let spread = domain.spread(from, &marginal(from));
            assert_eq!(domain.summed(leaves, &spread, from), marginal(from));
        }
    }
}
