use super::*;
use crate::base::pages::Scratch;

#[test]
fn turns_are_looked_for_when_asked_again_and_kept_until_the_keys_change() {
    let found = || Arc::from([Turns::of(&[0, 0], 1, 0.0, (zeroed_vec, zeroed_vec))]);
    let never = || -> Arc<[Turns]> { unreachable!("they are kept, or not wanted yet") };
    let is_one = |turns: Option<Arc<[Turns]>>| turns.is_some_and(|turns| turns.len() == 1);
    let large = Buffer::from_block(Scratch::<u32>::any(1 << 16).into_block());
    for mut keys in [Buffer::of_keys(vec![0; 1 << 16]), large] {
        assert!(keys.turns([1, 2, 3], never).is_none());
        assert!(is_one(keys.turns([1, 2, 3], found)));
        assert!(is_one(keys.clone().turns([1, 2, 3], never)));
        assert!(keys.turns([1, 2, 4], never).is_none());
        assert!(keys.slice(0..1 << 10).turns([1, 2, 3], never).is_none());
        assert!(keys.unique_mut().is_some());
        assert!(keys.turns([1, 2, 3], never).is_none());
        assert!(is_one(keys.turns([1, 2, 3], found)));
    }
    let mut few = Buffer::of_keys(vec![0; 10]);
    (0..3).for_each(|_| assert!(few.turns([1, 2, 3], never).is_none()));
    assert!(few.unique_mut().is_some());
}
