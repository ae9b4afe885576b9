use super::*;

fn iota(shape: &[usize]) -> Strided {
    Strided::from_vec((0..count(shape) as i32).collect(), shape)
}

fn elements(x: &Strided) -> Vec<i32> {
    x.to_contiguous().unwrap().typed::<i32>().unwrap().to_vec()
}

#[test]
fn views_read_what_they_mean() {
    let x = iota(&[2, 3]);
    assert_eq!(elements(&x.permute(&[1, 0])), [0, 3, 1, 4, 2, 5]);
    assert_eq!(elements(&x.permute(&[1, 0]).reshape(&[2, 3]).unwrap()), [0, 3, 1, 4, 2, 5]);
    assert_eq!(elements(&x.narrow(1, 1..3)), [1, 2, 4, 5]);
    assert_eq!(elements(&x.narrow(0, 1..2).broadcast(&[2, 3])), [3, 4, 5, 3, 4, 5]);
    assert_eq!(elements(&iota(&[]).broadcast(&[2])), [0, 0]);
}

#[test]
fn reshape_of_a_slice_is_a_view_where_it_can_be() {
    let x = iota(&[4, 6]).narrow(1, 0..3);
    let y = x.reshape(&[2, 2, 1, 3]).unwrap();
    assert!(y.buffer.is_same(&x.buffer));
    assert_eq!(elements(&y), elements(&x));
    assert_eq!(elements(&x.reshape(&[12]).unwrap()), elements(&x));
}

#[test]
fn reading_from_the_middle() {
    let x = iota(&[3, 4]).permute(&[1, 0]);
    let all = elements(&x);
    for start in 0..12 {
        let mut out = vec![0i32; 12 - start];
        x.read(start, bytemuck::cast_slice_mut(&mut out));
        assert_eq!(out, all[start..]);
    }
}
