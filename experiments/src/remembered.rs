//! What several cells need, computed once per process and kept while there is room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

type Slot<V> = Arc<Mutex<Option<Arc<V>>>>;

/// The results of the last `room` different keys. A result must be a function of its key: then
/// nothing that is computed from it depends on what is kept, nor on who asks first.
#[derive(Debug)]
pub struct Remembered<K, V> {
    room: usize,
    /// The key asked for last at the end.
    slots: Mutex<Vec<(K, Slot<V>)>>,
}

impl<K: PartialEq, V> Remembered<K, V> {
    /// Room for so many results.
    pub fn new(room: usize) -> Self {
        Remembered { room, slots: Mutex::default() }
    }

    /// The result for a key, computed if it is not kept. Whoever comes second waits for that key
    /// only.
    ///
    /// # Errors
    /// What `compute` says; nothing is kept then.
    pub fn get(&self, key: K, compute: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        let slot = self.slot(key);
        let mut kept = locked(&slot);
        if let Some(value) = &*kept {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(compute()?);
        *kept = Some(Arc::clone(&value));
        Ok(value)
    }

    fn slot(&self, key: K) -> Slot<V> {
        let mut slots = locked(&self.slots);
        let entry = match slots.iter().position(|(known, _)| *known == key) {
            Some(place) => slots.remove(place),
            None => (key, Slot::default()),
        };
        let slot = Arc::clone(&entry.1);
        slots.push(entry);
        let surplus = slots.len().saturating_sub(self.room);
        slots.drain(..surplus);
        slot
    }
}

/// A panic of another cell while it held the lock leaves what it guards as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::error::Error;

    #[test]
    fn the_last_results_are_kept() {
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
        // 2 was asked for longest ago and goes.
        assert_eq!([ask(3), ask(1), ask(2)], [30, 10, 20]);
        assert_eq!(computed.get(), 4);
        let failed = remembered.get(9, || Err(Error::bug("a", "b", "c")));
        assert!(failed.is_err());
        assert_eq!(ask(9), 90);
    }

    #[test]
    fn who_comes_second_waits_and_does_not_compute() {
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
