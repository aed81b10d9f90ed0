//! The optimum for all nodes of a hierarchy, with one weight per type of leaves.
//!
//! Exchanging siblings with equal subtrees does not change the workload. So some optimal weights
//! are equal on all leaves that such exchanges map to each other, the leaves of one type, and G is
//! block-diagonal. For a type q of nodes with m siblings of the type under a common parent, and
//! `c = (m − 1) · parents` contrasts between siblings, c equal blocks of G are
//!
//! ```text
//! G_q[l, l'] = Σ_p (k_l(p) k_l'(p))^½    over the types p in the subtree of q above l and l'
//! ```
//!
//! over the types l of leaves below q; `k_l(p)` is the number of leaves of type l below one node of
//! type p. Functions that are equal on all leaves of a type are one more block, that of the root.
//! The sum of c equal blocks is `c tr K_q^½ = tr (c² K_q)^½`, so the dual function is that of one
//! block each, scaled by c².
//!
//! *Cost*: O(types³) per iteration and O(types²) memory, for the types of leaves, also for 10⁵
//! leaves.

mod node_types;
mod optimum;
mod strategy_gram;

pub(super) use optimum::{bounds, solve};
