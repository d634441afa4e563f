//! Processors of their own for the servers and for the load, so that neither is measured in place of
//! the other.
//!
//! A process has the processors of the thread that starts it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of the servers and those of the load; nothing if all share all of them.
#[derive(Debug)]
pub struct Processors(Option<(CpuSet, CpuSet)>);

impl Processors {
    /// The first so many for the servers; with none they share them all.
    pub fn split(servers: usize) -> Result<Processors, String> {
        if servers == 0 {
            return Ok(Processors(None));
        }
        let all = sched_getaffinity(None).map_err(|error| error.to_string())?;
        if servers >= all.count() as usize {
            return Err(format!(
                "--server-cores: there are {} processors, and the load needs one",
                all.count()
            ));
        }
        let (mut own, mut others) = (CpuSet::new(), CpuSet::new());
        for (number, processor) in (0..CpuSet::MAX_CPU)
            .filter(|&processor| all.is_set(processor))
            .enumerate()
        {
            if number < servers {
                own.set(processor)
            } else {
                others.set(processor)
            }
        }
        Ok(Processors(Some((own, others))))
    }

    /// Processes that are started from now on are servers.
    pub fn take_servers(&self) -> Result<(), String> {
        self.take(|(servers, _)| servers)
    }

    /// Processes that are started from now on are load, as is this thread.
    pub fn take_load(&self) -> Result<(), String> {
        self.take(|(_, load)| load)
    }

    fn take(&self, which: impl Fn(&(CpuSet, CpuSet)) -> &CpuSet) -> Result<(), String> {
        match &self.0 {
            None => Ok(()),
            Some(sets) => sched_setaffinity(None, which(sets)).map_err(|error| error.to_string()),
        }
    }
}
