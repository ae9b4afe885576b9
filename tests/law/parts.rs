//! The law for bundles: disjoint parts of every tensor, joined, are the tensor.

use openwork::{Bundle, Fill, LevelKind, LevelSpec, Part, Tensor, with_densify_budget};

use super::bridge::background;
use super::families::Family;
use super::gen_::generate;
use super::oracle::{self, Expected};
use super::pointwise::agrees;
use super::rng::Rng;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "parts",
    ops: &["hb_csf", "mm_csf", "split", "new"],
    rounds: 2500,
    check: |op, cell, seed| {
        let x = generate(cell, seed, Data::Special);
        let mut rng = Rng::new(seed ^ 0x99);
        let made = with_densify_budget(0, || match op {
            "hb_csf" => Bundle::hb_csf(&x.tensor),
            "mm_csf" => Bundle::mm_csf(&x.tensor),
            "split" => split(&x.tensor, &mut rng),
            _ => Bundle::new(vec![x.tensor.clone()]),
        });
        let few_axes = x.model.ndim() < 2 && op.ends_with("csf");
        let bundle = match made {
            Err(_) if x.fill.is_none() || few_axes => return Ok(()),
            Err(e) => return Err(format!("error: {e}")),
            Ok(_) if x.fill.is_none() || few_axes => return Err("no error".into()),
            Ok(bundle) => bundle,
        };
        let error = |e: openwork::Error| e.to_string();
        // Parts are disjoint, no part stores nothing unless it is alone, and the join is the tensor.
        Bundle::new(bundle.parts().to_vec()).map_err(error)?;
        if bundle.parts().len() > 1 && bundle.parts().iter().any(|p| p.nse() == 0) {
            return Err("a part that stores nothing".into());
        }
        let joined = bundle.join().map_err(error)?;
        agrees("the oracle", &Expected::from(x.model.clone()), &joined)?;
        let fills = (background(&joined)?, x.fill);
        if let (Some(got), Some(want)) = fills {
            oracle::compare(&Expected::from(want), &got).map_err(|e| format!("fill: {e}"))?;
        }
        if op == "new" {
            return Ok(());
        }
        twice(&bundle)
    },
};

/// A tensor by the parity of coordinates, in structures of several kinds.
fn split(x: &Tensor, rng: &mut Rng) -> openwork::Result<Bundle> {
    let n = x.ndim();
    let dims: Vec<_> = (0..n).map(|a| (a, Part::Whole)).collect();
    let reversed: Vec<_> = (0..n).rev().map(|a| (a, Part::Whole)).collect();
    let coo = LevelSpec { levels: vec![LevelKind::Sparse { rank: n }], dims };
    let csf = LevelSpec { levels: vec![LevelKind::Sparse { rank: 1 }; n.max(1)], dims: reversed };
    let specs = if n == 0 { vec![coo] } else { vec![csf, coo] };
    let (m, salt) = (specs.len() as u64, rng.below(2) as u64);
    Bundle::split(x, &specs, |index| ((index.iter().sum::<u64>() + salt) % m) as usize)
}

/// Parts that are not disjoint are refused.
fn twice(bundle: &Bundle) -> Result<(), String> {
    let first = bundle.parts()[0].clone();
    if first.nse() == 0 {
        return Ok(());
    }
    let mut parts = bundle.parts().to_vec();
    parts.push(first.clone());
    match Bundle::new(parts) {
        Err(e) if e.to_string().contains("stored by more than one part") => {}
        other => return Err(format!("elements in two parts: {other:?}")),
    }
    let other = if first.fill().is_some_and(Fill::is_undefined) {
        Fill::from(openwork::Scalar::zero(first.dtype()))
    } else {
        Fill::Undefined
    };
    match Bundle::new(vec![first.clone(), first.replace_fill(other).unwrap()]) {
        Err(e) if e.to_string().contains("has fill") => Ok(()),
        other => Err(format!("parts of two fills: {other:?}")),
    }
}
