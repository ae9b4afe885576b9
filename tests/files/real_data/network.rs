//! The Sparse Deep Neural Network Graph Challenge: the network of `examples/sparse_network.rs`, which runs it in more
//! layouts.

use std::path::Path;

use openwork::io::matrix_market;
use openwork::{DType, Layout, Scalar, Tensor};

use super::triplets::{Triplets, stored};

const LAYERS: usize = 30;
const NEURONS: usize = 1024;
const IMAGES: usize = 1200;

fn weights(folder: &Path, layer: usize) -> Tensor {
    matrix_market::read(folder.join(format!("n1024-l{layer}.mtx"))).unwrap()
}

fn images(folder: &Path) -> Tensor {
    matrix_market::read(folder.join("sparse-images-1024_subset.mtx")).unwrap()
}

#[test]
fn the_published_rows() {
    let Some(folder) = super::folder("the_published_rows", "dnn") else { return };
    let categories = matrix_market::read(folder.join("neuron1024-l120-categories_subset.mtx")).unwrap();
    let mut published: Vec<usize> = categories.iter_stored().map(|(index, _)| index[0]).collect();
    published.sort_unstable();
    assert_eq!(published.len(), 19);
    for layout in [Layout::Csr, Layout::Coo] {
        let store = |x: Tensor| x.cast(DType::F32).unwrap().to_layout(layout).unwrap();
        let mut y = store(images(&folder));
        for layer in 1..=LAYERS {
            let w = store(weights(&folder, layer));
            let sums = y.matmul(&w).unwrap().add(-0.3).unwrap();
            y = sums.relu().unwrap().minimum(32.0).unwrap().prune().unwrap();
            assert_eq!((y.layout(), y.dtype()), (layout, DType::F32));
            assert!(y.get([0, 0]).unwrap().is_some());
        }
        assert_eq!(y.shape(), [IMAGES, NEURONS]);
        let active = y.any(1).unwrap().to_dense().unwrap().to_contiguous().unwrap();
        let rows = active.values::<bool>().unwrap().iter().enumerate().filter(|(_, a)| **a);
        assert_eq!(rows.map(|(row, _)| row).collect::<Vec<_>>(), published, "{layout}");
    }
}

#[test]
fn weights_and_images() {
    let Some(folder) = super::folder("weights_and_images", "dnn") else { return };
    for layer in 1..=LAYERS {
        let w = weights(&folder, layer);
        assert_eq!((w.shape(), w.nse(), w.dtype()), (&[NEURONS, NEURONS][..], 32768, DType::F32), "layer {layer}");
        assert!(w.values::<f32>().unwrap().iter().all(|&v| v == 0.0625), "layer {layer}");
        for axis in [0, 1] {
            let each = w.count_nonzero(axis).unwrap();
            let (least, most) = (each.min(..).unwrap(), each.max(..).unwrap());
            assert_eq!((least.item().unwrap(), most.item().unwrap()), (32i64.into(), 32i64.into()), "layer {layer}");
        }
    }
    let images = images(&folder);
    assert_eq!((images.shape(), images.nse()), (&[IMAGES, NEURONS][..], 122_713));
    // The images are of 32 × 32 pixels.
    let pictures = images.reshape([IMAGES, 32, 32]).unwrap();
    assert_eq!((pictures.shape(), pictures.nse()), (&[IMAGES, 32, 32][..], 122_713));
    assert_eq!(stored(&pictures.reshape([IMAGES, NEURONS]).unwrap()), stored(&images.coalesce().unwrap()));
}

/// One file of the thirty lists the lower triangle alone.
#[test]
fn layer_six_is_symmetric() {
    let Some(folder) = super::folder("layer_six_is_symmetric", "dnn") else { return };
    let plain = Triplets::read(&folder.join("n1024-l6.mtx"));
    assert_eq!((plain.symmetric, plain.listed, plain.entries.len()), (true, 16896, 32768));
    let w = weights(&folder, 6);
    assert_eq!(stored(&w), plain.sorted());
    let difference = w.sub(w.matrix_transpose().unwrap()).unwrap();
    assert_eq!(difference.abs().unwrap().max(..).unwrap().item().unwrap(), Scalar::F32(0.0));
    assert_eq!(difference.prune().unwrap().nse(), 0);
}
