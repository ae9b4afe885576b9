use super::super::parse::Equation;
use super::{Action, Estimate, Node, Plan, set};

/// The actions for operands that store so much; 0 for a strided one.
fn plan(text: &str, shapes: &[&[usize]], stored: &[f64]) -> Vec<Action> {
    let network = Equation::parse(text).unwrap().resolve(shapes).unwrap();
    let node = |i: usize| {
        let size: f64 = shapes[i].iter().map(|&n| n as f64).product();
        let is_mask = stored[i] > 0.0;
        let estimate = Estimate { size, stored: if is_mask { stored[i] } else { size } };
        Node { indices: set(&network.operands[i]), estimate, is_mask, is_absent: false }
    };
    let plan = Plan::new(&network, (0..shapes.len()).map(node).collect(), true);
    plan.steps.iter().map(|s| s.action).collect()
}

#[test]
fn orders() {
    let pair = |left, right| Action::Pair { left, right };
    let square: &[usize] = &[1000, 1000];
    assert_eq!(plan("ij,jk,k->i", &[square, square, &[1000]], &[0.0; 3])[0], pair(1, 2));
    assert_eq!(plan("i,ij,jk->k", &[&[1000], square, square], &[0.0; 3])[0], pair(0, 1));
    // Two sparse matrices first, though sizes are all the same.
    assert_eq!(plan("ij,jk,kl->il", &[square; 3], &[0.0, 2e3, 2e3])[0], pair(1, 2));
    let sampled = Action::Masked { mask: 0, left: 1, right: 2 };
    assert_eq!(plan("ij,ik,jk->ij", &[square, &[1000, 8], &[1000, 8]], &[2e3, 0.0, 0.0]), [sampled]);
    assert!(matches!(plan("ij,jk,ki->", &[square; 3], &[2e4; 3])[..], [Action::Masked { .. }]));
    // Too many to try all.
    assert_eq!(plan("ab,bc,cd,de,ef,fg->ag", &[&[9, 9][..]; 6], &[0.0; 6]).len(), 5);
}
