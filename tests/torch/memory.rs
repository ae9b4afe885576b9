//! Memory: nothing leaks, nothing is given back twice or too early.
#![allow(unsafe_code)] // lends memory and shares indices; each block says why it may (tests)

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use openwork::exchange::torch::held;
use openwork::{Layout, Tensor};

use crate::specimens;

static ALONE: RwLock<()> = RwLock::new(());

/// For tests that may run beside each other, but not beside one that counts.
pub fn beside() -> RwLockReadGuard<'static, ()> {
    ALONE.read().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn every_share_is_given_back_once() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(held(), 0);
    let t = tch::Tensor::arange(12i64, (tch::Kind::Double, tch::Device::Cpu)).reshape([3, 4]);
    let x = Tensor::from_torch(&t, 0.0).unwrap();
    assert_eq!(held(), 1);
    let (y, view) = (x.clone(), x.narrow(1..3, 0).unwrap());
    let back = view.to_torch().unwrap(); // libtorch's own view of its memory
    assert_eq!(held(), 1);
    drop(t);
    assert_eq!(x.sum(..).unwrap().item_as::<f64>().unwrap(), 66.0);
    drop((x, y));
    assert_eq!(held(), 1);
    assert_eq!(view.to_vec::<f64>().unwrap(), [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    drop(view);
    assert_eq!(held(), 0);
    assert_eq!(back.double_value(&[0, 0]), 4.0); // outlives all of ours

    // Dropped on another thread; sparse ones share their values alone, or indices too.
    for (_, x) in specimens::all(openwork::DType::F32, 1) {
        let t = x.to_torch().unwrap();
        let x = Tensor::from_torch(&t, 0.0).unwrap();
        assert_eq!(held(), 1);
        std::thread::spawn(move || drop(x)).join().unwrap();
        assert_eq!(held(), 0);
        // SAFETY: nobody writes it.
        let x = unsafe { Tensor::from_torch_shared(&t, 0.0) }.unwrap();
        assert!(held() <= 3 + 1, "{}", held());
        drop(x);
        assert_eq!(held(), 0);
    }
    // What fails keeps nothing.
    let odd = tch::Tensor::from_slice(&[1.0f64, 2.0]).to_sparse(None, None::<i64>, None);
    let _ = odd.internal_indices().fill_(77);
    assert!(Tensor::from_torch(&odd, 0.0).is_err());
    assert_eq!(held(), 0);
}

/// Bytes of memory that the process has now.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_leaks() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let x = Tensor::random([2000, 2000], 0.1, 0.0, Layout::Csr, 1).unwrap(); // 400 000 stored: 4.8 MB
    let round = || {
        let t = x.to_torch().unwrap();
        let y = Tensor::from_torch(&t, 0.0).unwrap();
        let coo = y.to_layout(Layout::Coo).unwrap().to_torch().unwrap();
        drop(Tensor::from_torch(&coo, 0.0).unwrap());
        // SAFETY: the number of elements is no part of the tensor.
        unsafe { y.with_torch(|t| t.values().numel()) }.unwrap()
    };
    for _ in 0..5 {
        round();
    }
    let before = resident();
    for _ in 0..100 {
        assert_eq!(round(), x.nse());
    }
    let more = resident().saturating_sub(before);
    assert!(more < 60 << 20, "{more} bytes more after 100 rounds of 20 MB"); // ten rounds' worth is 200 MB
}
