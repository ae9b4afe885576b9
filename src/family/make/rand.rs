//! Random numbers, the same on every machine and for every number of threads.

use openwork_ops::DType;

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::base::{memory, parallel};
use crate::levels::layout::Layout;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;
use crate::tensor::trace;

/// # Making tensors: random numbers
impl Tensor {
    /// Numbers uniform in [0, 1): strided, `float64`. The same seed gives the same tensor on every machine (SplitMix64, whose
    /// `i`th number is element `i`). [`Tensor::random`] makes a sparse tensor.
    ///
    /// ```
    /// use openwork::Tensor;
    /// let x = Tensor::rand([1000], 7)?;
    /// let mean: f64 = x.mean(..)?.item_as()?;
    /// assert!((0.45..0.55).contains(&mean), "{mean}");
    /// assert!(x.equal(&Tensor::rand([1000], 7)?)?); // one seed, one tensor
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If memory does not hold them.
    #[doc(alias("uniform"))]
    pub fn rand(shape: impl AsRef<[usize]>, seed: u64) -> Result<Tensor> {
        let call = trace::call("rand", &[]);
        call.gives(filled(shape.as_ref(), &|i| unit(seed, i)))
    }

    /// About `density · size` elements at distinct random places with values uniform in [0, 1), `float64`; the
    /// rest is the fill. The same seed gives the same tensor on every machine.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::random([100, 100], 0.05, 0.0, Layout::Csr, 7)?;
    /// assert_eq!((x.nse(), x.layout()), (500, Layout::Csr));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the density is not in 0..=1, the shape has 2^64 elements or more, memory does not hold the elements, or the
    /// layout does not suit the shape.
    #[doc(alias("sparse_random"))]
    pub fn random(
        shape: impl AsRef<[usize]>,
        density: f64,
        fill: impl Into<Fill>,
        layout: Layout,
        seed: u64,
    ) -> Result<Tensor> {
        let call = trace::call("random", &[]);
        call.gives(scattered(shape.as_ref(), density, fill.into(), layout, seed))
    }

    /// Numbers of the normal distribution with mean 0 and variance 1: strided, `float64`. Each is made from two uniform
    /// numbers (Box and Muller, "A note on the generation of random normal deviates", 1958); the same seed gives the same
    /// tensor wherever logarithm and cosine do.
    ///
    /// ```
    /// use openwork::Tensor;
    /// let x = Tensor::randn([10_000], 7)?;
    /// let (mean, std) = (x.mean(..)?.item_as::<f64>()?, x.std(0.0, ..)?.item_as::<f64>()?);
    /// assert!(mean.abs() < 0.05 && (std - 1.0).abs() < 0.05, "{mean} {std}");
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If memory does not hold them.
    #[doc(alias("standard_normal"))]
    pub fn randn(shape: impl AsRef<[usize]>, seed: u64) -> Result<Tensor> {
        let call = trace::call("randn", &[]);
        // 1 − u is in (0, 1], whose logarithm is finite.
        let normal = |i: u64| {
            let (u, v) = (unit(seed, 2 * i), unit(seed, 2 * i + 1));
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        call.gives(filled(shape.as_ref(), &normal))
    }
}

fn scattered(shape: &[usize], density: f64, fill: Fill, layout: Layout, seed: u64) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&density) {
        return Err(error::invalid("density", format_args!("{density} is not in 0..=1")));
    }
    let size = shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s as u64));
    let size = size.ok_or_else(|| error::shape(&[shape], "2^64 elements or more"))?;
    let wanted = (density * size as f64).round() as usize;
    // Place, value, and what sorting them takes.
    let what = format!("storing {wanted} elements");
    memory::room(shape, &what, &[wanted], 8 * (shape.len() + 4), "choose a smaller density")?;
    let mut places: Vec<u64> = Vec::with_capacity(wanted);
    // Each number of the generator is used once: how many were, so far.
    let mut drawn = 0;
    if density > 0.3 {
        let chosen = parallel::map_chunks(size as usize, parallel::GRAIN, &|range| {
            range.map(|i| i as u64).filter(|&i| unit(seed, i) < density).collect::<Vec<u64>>()
        });
        places.extend(chosen.into_iter().flatten());
        drawn = size;
    }
    while density <= 0.3 && places.len() < wanted {
        let known = places.len();
        places.resize(wanted, 0);
        // Uniform below the size, up to a bias of size / 2^64.
        numbered(&mut places[known..], &|i| ((u128::from(bits(seed, drawn + i)) * u128::from(size)) >> 64) as u64);
        drawn += (wanted - known) as u64;
        parallel::sort(&mut places);
        places.dedup();
    }
    let mut values = vec![0f64; places.len()];
    numbered(&mut values, &|i| unit(seed, drawn + i));
    let (mut indices, mut step) = (Vec::with_capacity(shape.len()), 1u64);
    for &n in shape.iter().rev() {
        let mut column = vec![0u64; places.len()];
        numbered(&mut column, &|i| places[i as usize] / step % n as u64);
        indices.push(column);
        step = u64::wrapping_mul(step, n as u64);
    }
    indices.reverse();
    let values = Tensor::from_vec([places.len()], values)?;
    Tensor::coo(shape, indices, &values, fill)?.to_layout(layout)
}

/// Writes what `at` says of each number from 0.
fn numbered<T: Send>(out: &mut [T], at: &(dyn Fn(u64) -> T + Sync)) {
    parallel::for_chunks_mut(out, 1, parallel::GRAIN, &|first, out| {
        for (i, element) in out.iter_mut().enumerate() {
            *element = at((first + i) as u64);
        }
    });
}

fn filled(shape: &[usize], at: &(dyn Fn(u64) -> f64 + Sync)) -> Result<Tensor> {
    let n = memory::dense_len(shape, DType::F64)?;
    let buffer = Buffer::build(8 * n, |out| {
        parallel::for_chunks_mut(out, 8, parallel::GRAIN, &|first, out| {
            for (i, element) in out.chunks_exact_mut(8).enumerate() {
                element.copy_from_slice(&at((first + i) as u64).to_ne_bytes());
            }
        });
    })?;
    Ok(Tensor::from_strided(Strided::new(buffer, DType::F64, shape.to_vec())))
}

/// Number `i` of the generator, uniform in [0, 1).
fn unit(seed: u64, i: u64) -> f64 {
    unit_of(bits(seed, i))
}

fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Number `i` of the generator (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
fn bits(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[path = "tests/rand.rs"]
mod tests;
