//! Where requests are run: on a thread of their own, which is replaced when an allocation stopped it.

use crate::{
    guard::{self, Worker},
    layers::{self, Answer, Wants},
};
use serde_json::Value;
use std::{
    io,
    sync::{
        mpsc::{channel, Receiver, Sender},
        Arc, Mutex,
    },
    thread,
};

/// Threads that may sleep for ever, each with what it held, before the process ends and is started anew.
const MOST_LOST: usize = 32;

pub enum Request {
    Decode { layer: String, bytes: Vec<u8>, wants: Wants },
    Encode { layer: String, means: Value },
    Relate { left: String, right: String },
}

impl Request {
    fn run(&self) -> Answer {
        let result = guard::guarded(|| match self {
            Request::Decode { layer, bytes, wants } => layers::decode(layer, bytes.clone(), *wants),
            Request::Encode { layer, means } => layers::encode(layer, means),
            Request::Relate { left, right } => layers::relate(left, right),
        });
        result.unwrap_or_else(Answer::Crashed)
    }
}

/// Requests, and the answers so far: the worker locks them between two requests only.
struct Job {
    requests: Vec<Request>,
    answers: Mutex<Vec<Answer>>,
}

impl Job {
    fn push(&self, answer: Answer) -> usize {
        let mut answers = self.answers.lock().expect("no thread panics while it holds the answers");
        answers.push(answer);
        answers.len()
    }

    fn next(&self) -> Option<&Request> {
        let done = self.answers.lock().expect("no thread panics while it holds the answers").len();
        self.requests.get(done)
    }
}

pub struct Workers {
    cap: usize,
    lost: usize,
    jobs: Sender<Arc<Job>>,
}

impl Workers {
    pub fn new(cap: usize) -> io::Result<Self> {
        Ok(Self { cap, lost: 0, jobs: start()? })
    }

    /// One answer a request, in their order.
    pub fn run(&mut self, requests: Vec<Request>) -> io::Result<Vec<Answer>> {
        let job = Arc::new(Job { requests, answers: Mutex::new(Vec::new()) });
        loop {
            guard::report(Worker::Busy);
            self.jobs.send(job.clone()).map_err(io::Error::other)?;
            match guard::wait() {
                Worker::Lost(size) => self.replace(&job, size)?,
                _ => break,
            }
        }
        let mut answers = job.answers.lock().expect("no thread panics while it holds the answers");
        Ok(std::mem::take(&mut answers))
    }

    fn replace(&mut self, job: &Job, size: usize) -> io::Result<()> {
        job.push(Answer::Crashed(format!("allocation of {size} bytes went over the cap of {} a call", self.cap)));
        self.lost += 1;
        self.jobs = start()?;
        Ok(())
    }

    /// Whether so many threads sleep that the process shall end after what it was asked.
    pub fn worn_out(&self) -> bool {
        self.lost >= MOST_LOST
    }
}

fn start() -> io::Result<Sender<Arc<Job>>> {
    let (sender, jobs): (_, Receiver<Arc<Job>>) = channel();
    thread::Builder::new().name("codec".to_owned()).spawn(move || {
        for job in jobs {
            while let Some(request) = job.next() {
                let answer = request.run();
                job.push(answer);
            }
            drop(job);
            guard::report(Worker::Done);
        }
    })?;
    Ok(sender)
}
