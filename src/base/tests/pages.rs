use super::*;

const SIZES: [usize; 9] = [0, 1, AT_HAND + 1, MAPPED - 1, MAPPED, MAPPED + 9, HUGE - 1, HUGE, 3 * HUGE + 5];

/// Blocks of every size that held something else before.
#[test]
fn zeroed_is_zero_whatever_was_there() {
    for _ in 0..4 {
        for len in SIZES {
            let mut block = Block::any(len).unwrap();
            assert_eq!(block.all().len(), len);
            block.all_mut().fill(0xa5);
            let (start, align) =
                (block.all().as_ptr() as usize, if matches!(block.memory, Memory::Mapped(_)) { 64 } else { ALIGN });
            assert!(start.is_multiple_of(align), "{len} bytes at {start}");
            drop(block);
            assert!(Block::zeroed(len).unwrap().all().iter().all(|&b| b == 0), "{len} bytes");
        }
    }
}

#[test]
fn small_mappings_are_not_much_larger_than_what_they_hold() {
    for len in [MAPPED, MAPPED + 1, PAGE + 1, HUGE - 1] {
        let block = Block::any(len).unwrap();
        // What is kept may be larger by less than an array that is worth a mapping.
        let Memory::Mapped(mapping) = &block.memory else { return };
        assert!(mapping.size < len + GRAIN + MAPPED, "{} for {len}", mapping.size);
    }
}

#[test]
fn what_is_cut_off_is_of_use_to_others() {
    for pages in [8, 3, 2, 1, 0] {
        let mut block = Block::zeroed(8 * PAGE).unwrap();
        block.all_mut().fill(3);
        block.truncate(9 * PAGE);
        block.truncate(pages * PAGE);
        let mut other = Scratch::<u32>::any(2 * PAGE);
        other.fill(u32::MAX);
        assert_eq!(block.all().len(), pages * PAGE);
        if let Memory::Mapped(mapping) = &block.memory {
            assert_eq!(mapping.size, pages.max(1) * PAGE);
        }
        assert!(block.all().iter().all(|&b| b == 3), "{pages} pages");
        drop(block);
        assert!(other.iter().all(|&v| v == u32::MAX), "{pages} pages");
    }
    let mut few = Scratch::<u64>::any(9);
    few.fill(0);
    few.truncate(4);
    few.truncate(7);
    assert_eq!(few[..], [0; 4]);
}

#[test]
fn threads_do_not_get_the_same_memory() {
    std::thread::scope(|scope| {
        for mark in 1..=4u8 {
            scope.spawn(move || {
                for turn in 0..16 {
                    let mut blocks: Vec<Block> = (1..4).map(|n| Block::any(n * HUGE).unwrap()).collect();
                    blocks.iter_mut().for_each(|b| b.all_mut().fill(mark));
                    for block in &blocks {
                        assert!(block.all().iter().all(|&b| b == mark), "{mark} in turn {turn}");
                    }
                }
            });
        }
    });
}

#[test]
fn only_parts_of_one_mapping_are_joined() {
    let Some(mut first) = Mapping::new(4 * PAGE) else { return };
    assert!(first.split_off(GRAIN + 1).is_none() && first.split_off(4 * PAGE).is_none());
    let mut second = first.split_off(2 * PAGE).unwrap();
    assert!(first.is_before(&second) && !second.is_before(&first));
    // As if it were another that only happens to lie there.
    second.origin += 1;
    assert!(!first.is_before(&second));
}

#[test]
fn advice_takes_any_range() {
    let mut memory = vec![7u8; 3 * PAGE];
    for (from, size) in [(0, 0), (1, 5), (0, 3 * PAGE), (9, PAGE), (PAGE, 2 * PAGE)] {
        prefer_huge(memory[from..].as_mut_ptr(), size);
    }
    assert!(memory.iter().all(|&b| b == 7));
}
