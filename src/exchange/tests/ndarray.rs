use super::*;
use crate::tensor;
use ndarray::{Array2, ArrayD, array};

#[test]
fn conversions() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    for x in [Tensor::from(a.clone()), Tensor::from(&a), Tensor::from(&a.view())] {
        for x in [x.clone(), x.to_sparse(crate::levels::layout::Layout::Csc, 0.0).unwrap()] {
            assert_eq!(Array2::<f64>::try_from(&x).unwrap(), a);
            assert_eq!(ArrayD::<f64>::try_from(&x).unwrap(), a.clone().into_dyn());
            let error = ndarray::Array1::<f64>::try_from(&x).unwrap_err().to_string();
            assert!(error.contains("[2, 3]") && error.contains("1 axes"), "{error}");
            assert!(Array2::<f32>::try_from(&x).unwrap_err().to_string().contains("cast"));
        }
    }
    let turned = Tensor::from(a.clone().reversed_axes());
    assert_eq!(Array2::<f64>::try_from(&turned).unwrap(), a.t());
    let absent = tensor![[1.0, 0.0]; crate::levels::layout::Layout::Coo, 0.0].unwrap().stored();
    assert!(Array2::<f64>::try_from(&absent).unwrap_err().to_string().contains("undefined"));
}

#[test]
fn round_trip_in_any_memory_order() {
    let mut a: Array2<f64> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    a.invert_axis(Axis(1));
    for a in [a.clone(), a.reversed_axes()] {
        let x = Tensor::from_ndarray(a.clone());
        assert_eq!(x.view::<f64>().unwrap(), a.view().into_dyn());
        assert_eq!(x.to_contiguous().unwrap().values::<f64>().unwrap(), a.iter().copied().collect::<Vec<_>>());
    }
    let wide = Tensor::scalar(3.0).broadcast_to([2, 2]).unwrap();
    assert_eq!(wide.view::<f64>().unwrap().sum(), 12.0);
    assert!(x_error().contains("float64"));
}

fn x_error() -> String {
    Tensor::scalar(3.0).view::<f32>().unwrap_err().to_string()
}
