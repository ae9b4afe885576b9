use std::time::{Duration, Instant};

use super::*;
use crate::interrupt::Watch;
use crate::{ErrorKind, Result};

/// A disk that takes ten milliseconds for each request.
struct Slow;

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(10));
        out.fill(7);
        Ok(out.len())
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(10));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn all_bytes_are_moved() {
    for len in [0, 1, STEP - 1, STEP, 2 * STEP + 5] {
        let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let (mut written, mut read) = (Vec::new(), vec![0; len]);
        write_all(&mut written, &bytes, &Tell::nobody()).unwrap();
        assert_eq!(written, bytes);
        read_exact(&mut &written[..], &mut read, &Tell::nobody()).unwrap();
        assert_eq!(read, bytes);
        assert!(read_exact(&mut &written[..], &mut vec![0; len + 1], &Tell::nobody()).is_err());
    }
}

#[test]
fn they_are_given_up_between_steps() {
    let is_over = |f: &mut dyn FnMut() -> io::Result<()>| {
        let start = Instant::now();
        let watch = Watch::new(move || start.elapsed() > Duration::from_millis(100));
        let made: Result<()> = watch.run(|| {
            f().unwrap();
            Ok(())
        });
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        made.is_err_and(|e| matches!(e.kind(), ErrorKind::Interrupted { .. }))
    };
    let mut bytes = vec![0; 1000 * STEP / 2];
    assert!(is_over(&mut || read_exact(&mut Slow, &mut bytes, &Tell::nobody())));
    assert!(is_over(&mut || write_all(&mut Slow, &bytes, &Tell::nobody())));
}
