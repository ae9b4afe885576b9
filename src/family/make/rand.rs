//! Random numbers, the same on every machine and for every number of threads.

use openwork_ops::DType;

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::tensor::Tensor;
use crate::tensor::trace;

impl Tensor {
    /// Numbers uniform in [0, 1): strided, `float64`. The same seed gives the same tensor on every machine (SplitMix64, whose
    /// `i`th number is element `i`). [`Tensor::random`] makes a sparse tensor.
    ///
    /// # Errors
    /// If memory does not hold them.
    pub fn rand(shape: &[usize], seed: u64) -> Result<Tensor> {
        let call = trace::call("rand", &[]);
        call.gives(filled(shape, &|i| unit(seed, i)))
    }

    /// Numbers of the normal distribution with mean 0 and variance 1: strided, `float64`. Each is made from two uniform
    /// numbers (Box and Muller, "A note on the generation of random normal deviates", 1958); the same seed gives the same
    /// tensor wherever logarithm and cosine do.
    ///
    /// # Errors
    /// If memory does not hold them.
    pub fn randn(shape: &[usize], seed: u64) -> Result<Tensor> {
        let call = trace::call("randn", &[]);
        // 1 − u is in (0, 1], whose logarithm is finite.
        let normal = |i: u64| {
            let (u, v) = (unit(seed, 2 * i), unit(seed, 2 * i + 1));
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        call.gives(filled(shape, &normal))
    }
}

fn filled(shape: &[usize], at: &(dyn Fn(u64) -> f64 + Sync)) -> Result<Tensor> {
    let n = convert::dense_len(shape, DType::F64)?;
    let buffer = Buffer::build(8 * n, |out| {
        parallel::for_chunks_mut(out, 8, parallel::GRAIN, &|first, out| {
            for (i, element) in out.chunks_exact_mut(8).enumerate() {
                element.copy_from_slice(&at((first + i) as u64).to_ne_bytes());
            }
        });
    });
    Ok(Tensor::from_strided(Strided::new(buffer, DType::F64, shape.to_vec())))
}

/// Number `i` of the generator (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), uniform in
/// [0, 1).
fn unit(seed: u64, i: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use crate::Tensor;
    use crate::parallel::with_threads;

    /// The first numbers of SplitMix64 with seed 1234567, as its authors' program gives them.
    #[test]
    fn numbers_of_the_generator() {
        let want = [6457827717110365317u64, 3203168211198807973, 9817491932198370423];
        let got = Tensor::rand(&[3], 1234567).unwrap();
        for (got, want) in got.values::<f64>().unwrap().iter().zip(want) {
            assert_eq!(*got, (want >> 11) as f64 / (1u64 << 53) as f64);
        }
    }

    #[test]
    fn moments_and_threads() {
        let x = Tensor::randn(&[300, 1000], 7).unwrap();
        let moment = |k: f64| x.pow(k).unwrap().mean(..).unwrap().item_as::<f64>().unwrap();
        let want = [(1.0, 0.0), (2.0, 1.0), (3.0, 0.0), (4.0, 3.0)];
        assert!(want.iter().all(|&(k, m)| (moment(k) - m).abs() < 0.05));
        let u = Tensor::rand(&[300_000], 7).unwrap();
        assert!((u.mean(..).unwrap().item_as::<f64>().unwrap() - 0.5).abs() < 0.005);
        assert!(u.lt(1.0).unwrap().all(..).unwrap().item_as::<bool>().unwrap());
        let again = with_threads(3, || Tensor::randn(&[300, 1000], 7)).unwrap().unwrap();
        assert!(again.equal(&x).unwrap());
        assert!(!Tensor::randn(&[300, 1000], 8).unwrap().equal(&x).unwrap());
        assert!(Tensor::rand(&[1 << 40, 1 << 20], 1).is_err());
        assert_eq!(Tensor::rand(&[0, 3], 1).unwrap().shape(), [0, 3]);
    }
}
