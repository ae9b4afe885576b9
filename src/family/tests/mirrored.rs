use super::pairs;

#[test]
fn an_element_without_its_image_is_found_above_and_below() {
    // [[1, 2, 0], [3, 0, 4], [0, 5, 6]], and the same without one of its six elements.
    let (pointers, indices) = ([0u32, 2, 4, 6], [0u32, 1, 0, 2, 1, 2]);
    assert_eq!(pairs(&pointers, &indices), Some((vec![2, 4], vec![1, 3])));
    for gone in 0..6 {
        let pointers: Vec<u32> = pointers.iter().map(|&p| p - u32::from(p > gone)).collect();
        let indices: Vec<u32> = (0..6).filter(|e| *e != gone).map(|e| indices[e as usize]).collect();
        assert_eq!(pairs(&pointers, &indices).is_some(), gone == 0 || gone == 5, "{gone}");
    }
}
