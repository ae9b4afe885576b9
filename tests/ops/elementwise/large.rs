//! Shapes of more than 2^64 elements, with a budget of 0.

use super::*;

const FAR: u64 = (1 << 40) - 1;
const SHAPE: [usize; 2] = [1 << 40, 1 << 40];

fn pair(fills: [Fill; 2]) -> [Tensor; 2] {
    let [a, b] = fills;
    [
        coo(&SHAPE, &[&[0, FAR], &[3, 5], &[FAR, FAR]], &[1.0, 2.0, 3.0], a),
        coo(&SHAPE, &[&[3, 5], &[FAR, 0]], &[10.0, 20.0], b),
    ]
}

#[test]
fn every_op_has_no_need_of_the_size() {
    with_densify_budget(0, || {
        let [x, y] = pair([Fill::from(0.0), Fill::from(0.5)]);
        let (far, both) = ([FAR as usize; 2], [3, 5]);
        assert_eq!(fill(&x.map(|v: f64| v + 1.0).unwrap()), "1");
        let z = x.zip_with3(&y, &x, |a: f64, b: f64, c: f64| a * b + c).unwrap();
        assert_eq!(
            (z.nse(), at(&z, &both), at(&z, &far), fill(&z)),
            (4, Some(22.0.into()), Some(4.5.into()), "0".into())
        );
        let w = x.gt(1.5).unwrap().where_(&x, &y).unwrap();
        assert_eq!((at(&w, &both), at(&w, &far), fill(&w)), (Some(2.0.into()), Some(3.0.into()), "0.5".into()));
        let m = x.mask(&x.gt(1.5).unwrap()).unwrap();
        assert_eq!((m.nse(), at(&m, &[0, FAR as usize])), (2, None));
        assert_eq!(x.stored().mask_complement(&y.gt(5.0).unwrap()).unwrap().nse(), 2);
        let u = x.stored().union(BinaryOp::Add, &y.stored(), 100, 1000).unwrap();
        assert_eq!((u.nse(), at(&u, &both), at(&u, &far)), (4, Some(12.0.into()), Some(1003.0.into())));
        let number = x.stored().index_map(|at: &[usize], v: f64| v + at[1] as f64).unwrap();
        assert_eq!(at(&number, &far), Some((FAR as f64 + 3.0).into()));
        assert_eq!(x.select(|at: &[usize], _: f64| at[0] == at[1]).unwrap().nse(), 1);
        assert_eq!(fill(&x.isclose(&y, 0.0, 0.6).unwrap()), "true");
        assert_eq!(fill(&x.clamp(0.25, &y).unwrap()), "0.25");
        assert_eq!(fill(&x.addcmul(&y, &y, 2).unwrap()), "0.5");
        assert_eq!(fill(&x.lerp(&y, 0.5).unwrap()), "0.25");
    });
}

#[test]
fn comparing_has_no_need_of_the_size() {
    with_densify_budget(0, || {
        let [x, y] = pair([Fill::from(0.0), Fill::from(0.5)]);
        let again = pair([Fill::from(0.0), Fill::Undefined])[0].to_layout(Layout::Csf).unwrap();
        assert!(x.same_meaning(&again).unwrap() && x.equal(&again).unwrap());
        assert!(!x.same_meaning(&y).unwrap() && !x.equal(&y).unwrap());
        assert!(!x.same_meaning(&x.replace_fill(0.25).unwrap()).unwrap());
        assert!(x.allclose(&x.replace_fill(0.25).unwrap(), 0.0, 0.25).unwrap());
        assert!(!x.same_meaning(&x.stored()).unwrap() && x.stored().same_meaning(&again.stored()).unwrap());
        // A fill per row, of rows of which none can be stored whole.
        let rows = Tensor::from_vec([4, 1], vec![0.0, 0.0, 1.0, 0.0]).unwrap();
        let a = coo(&[4, 1 << 62], &[&[2, 1]], &[0.0], Fill::array(rows));
        assert!(!a.same_meaning(&coo(&[4, 1 << 62], &[], &[], 0.0)).unwrap());
        assert!(a.same_meaning(&a.to_layout(Layout::Csr).unwrap()).unwrap());
    });
}
