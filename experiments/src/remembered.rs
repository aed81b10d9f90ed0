//! A cache of results that several cells need.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use matmech::named_file;

use crate::error::Result;

type Slot<V> = Arc<Mutex<Option<Arc<V>>>>;

/// A cache of the results of the `capacity` most recently used keys.
///
/// A result must be determined by its key and the folder of the files that texts name. Then no value
/// depends on the order of requests.
#[derive(Debug)]
pub struct Remembered<K, V> {
    capacity: usize,
    /// Ordered by last use, the most recent at the end.
    slots: Mutex<Vec<Entry<K, V>>>,
}

/// A key with the folder of the files that it names, and its slot.
type Entry<K, V> = ((K, Option<PathBuf>), Slot<V>);

impl<K: PartialEq, V> Remembered<K, V> {
    /// Creates an empty cache for `capacity` results.
    pub fn new(capacity: usize) -> Self {
        Remembered { capacity, slots: Mutex::default() }
    }

    /// Returns the result for a key, and computes it if it is not cached.
    ///
    /// Concurrent requests for one key compute it once; requests for other keys do not wait.
    ///
    /// # Errors
    /// Returns the error of `compute`; nothing is cached then.
    pub fn get(&self, key: K, compute: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        let slot = self.slot(key);
        let mut cached = locked(&slot);
        if let Some(value) = &*cached {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(compute()?);
        *cached = Some(Arc::clone(&value));
        Ok(value)
    }

    fn slot(&self, key: K) -> Slot<V> {
        let key = (key, named_file::folder());
        let mut slots = locked(&self.slots);
        let entry = match slots.iter().position(|(known, _)| *known == key) {
            Some(index) => slots.remove(index),
            None => (key, Slot::default()),
        };
        let slot = Arc::clone(&entry.1);
        slots.push(entry);
        let surplus = slots.len().saturating_sub(self.capacity);
        slots.drain(..surplus);
        slot
    }
}

/// Locks a mutex. A panic of another cell leaves the guarded value unchanged, so that poisoning is
/// ignored.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::error::Error;

    #[test]
    fn the_most_recently_used_results_are_kept() {
        let remembered = Remembered::new(2);
        let computed = Cell::new(0);
        let ask = |key: u32| {
            let compute = || {
                computed.set(computed.get() + 1);
                Ok(key * 10)
            };
            *remembered.get(key, compute).unwrap()
        };
        assert_eq!([ask(1), ask(2), ask(1)], [10, 20, 10]);
        assert_eq!(computed.get(), 2);
        // The key 2 is the least recently used and is dropped.
        assert_eq!([ask(3), ask(1), ask(2)], [30, 10, 20]);
        assert_eq!(computed.get(), 4);
        let failed = remembered.get(9, || Err(Error::bug("a", "b", "c")));
        assert!(failed.is_err());
        assert_eq!(ask(9), 90);
    }

    #[test]
    fn concurrent_requests_for_a_key_compute_it_once() {
        let remembered = Remembered::new(2);
        let values: Vec<Arc<u32>> = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..4)
                .map(|k| {
                    let remembered = &remembered;
                    scope.spawn(move || {
                        let slow = || {
                            std::thread::sleep(std::time::Duration::from_millis(20));
                            Ok(k)
                        };
                        remembered.get("key", slow).unwrap()
                    })
                })
                .collect();
            asked.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(values.windows(2).all(|pair| Arc::ptr_eq(&pair[0], &pair[1])));
    }
}
