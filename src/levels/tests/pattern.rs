use super::RowForm;

#[test]
fn rows_of_any_length_have_a_small_table() {
    for axes in [vec![(3, 7), (4, 2)], vec![(2, 1), (70_000, 5), (3, 11)], vec![(1 << 40, 3)], vec![]] {
        let form = RowForm::new(axes.clone());
        assert!(form.table.len() <= super::TABLE);
        assert_eq!(form.len(), axes.iter().map(|a| a.0).product::<usize>());
        for i in [0, 1, form.len() / 2, form.len() - 1].into_iter().filter(|&i| i < form.len()) {
            let (mut rest, mut sum) = (i, 0);
            for &(size, weight) in axes.iter().rev() {
                sum += (rest % size) as u64 * weight;
                rest /= size;
            }
            assert_eq!(form.at(i), sum, "{axes:?} {i}");
        }
    }
    assert_eq!(RowForm::new(vec![(1 << 40, 3), (0, 1)]).len(), 0);
}
