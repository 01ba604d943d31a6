//! When a request is made again: a pure schedule, and the stream that follows it.
//!
//! Only failures that may pass by themselves are retried, and only while nothing of the answer has
//! been shown: nobody reads the same sentence twice. Thinking is no answer; what was shown of it is
//! void.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::StreamExt;

use crate::provider::{EventStream, ProviderError, ProviderErrorKind, StreamEvent};

/// When and how often a request is made again.
///
/// ```
/// use std::time::Duration;
///
/// use tenon_model::{HttpOptions, RetryPolicy};
///
/// // For a batch at night: patient with a server that is busy.
/// let retry = RetryPolicy { requests_max: 12, ..RetryPolicy::default() };
/// let http = HttpOptions { retry, ..HttpOptions::default() };
/// assert_eq!(http.retry.wait_first, Duration::from_secs(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests in all.
    pub requests_max: u32,
    /// Requests in all to a server on this machine that breaks off: it does so for a reason, and no
    /// network is to blame.
    pub local_requests_max: u32,
    /// The first wait; each following one is twice as long, and each is moved by up to a quarter.
    pub wait_first: Duration,
    /// The longest wait that is sat out because a server asked for it.
    pub retry_after_max: Duration,
}

impl Default for RetryPolicy {
    /// Six requests (a server has half a minute to come back), two to a server on this machine; a
    /// first wait of 1 s; up to 120 s if a server asks for them.
    fn default() -> Self {
        Self {
            requests_max: 6,
            local_requests_max: 2,
            wait_first: Duration::from_secs(1),
            retry_after_max: Duration::from_secs(120),
        }
    }
}

/// The policy for one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) policy: RetryPolicy,
    /// Whether the server runs on this machine. If it is not there, nobody starts it in the
    /// meantime.
    pub(crate) is_local: bool,
}

impl Schedule {
    /// Returns the wait after failed attempt `attempt` (from 1), `None` if there is no other one.
    /// `random` moves the wait by up to a quarter either way, so that many clients spread out.
    ///
    /// What a server asks for is kept to; from its second refusal on the wait is never shorter than
    /// the schedule's own, so that "retry at once" in a storm does not use up all attempts at once.
    pub(crate) fn wait(self, attempt: u32, error: &ProviderError, random: u64) -> Option<Duration> {
        let requests_max = match error.kind {
            ProviderErrorKind::Connect if self.is_local => 1,
            ProviderErrorKind::Dropped if self.is_local => self.policy.local_requests_max,
            _ => self.policy.requests_max,
        };
        if !error.is_transient() || attempt >= requests_max {
            return None;
        }
        let first = u64::try_from(self.policy.wait_first.as_micros()).unwrap_or(u64::MAX);
        let wait = first.saturating_mul(2_u64.saturating_pow(attempt - 1));
        let moved = (wait / 4).saturating_mul(3).saturating_add(random % (wait / 2 + 1));
        let own = Duration::from_micros(moved);
        match error.retry_after {
            Some(asked) if asked > self.policy.retry_after_max => None,
            Some(asked) if attempt == 1 => Some(asked),
            Some(asked) => Some(asked.max(own)),
            None => Some(own),
        }
    }
}

/// Returns the events of `attempt`, made again as `schedule` says, each time announced by
/// [`StreamEvent::Retrying`] before the wait.
pub(crate) fn with_retries<'a>(
    schedule: Schedule,
    attempt: impl Fn() -> EventStream<'a> + Send + Sync + 'a,
) -> EventStream<'a> {
    let state =
        Retries { schedule, stream: attempt(), made: 1, shown: false, wait: None, over: false };
    futures::stream::unfold((state, attempt), |(mut state, attempt)| async move {
        let event = state.next(&attempt).await?;
        Some((event, (state, attempt)))
    })
    .boxed()
}

struct Retries<'a> {
    schedule: Schedule,
    stream: EventStream<'a>,
    made: u32,
    shown: bool,
    wait: Option<Duration>,
    over: bool,
}

impl<'a> Retries<'a> {
    async fn next(
        &mut self,
        attempt: &impl Fn() -> EventStream<'a>,
    ) -> Option<Result<StreamEvent, ProviderError>> {
        if self.over {
            return None;
        }
        if let Some(wait) = self.wait.take() {
            tokio::time::sleep(wait).await;
            self.made += 1;
            self.stream = attempt();
        }
        match self.stream.next().await? {
            Ok(event) => {
                self.shown |= matches!(event, StreamEvent::TextDelta { .. });
                Some(Ok(event))
            }
            Err(error) => {
                // RandomState is the standard library's own source of randomness.
                let random = RandomState::new().hash_one(self.made);
                let wait = self.schedule.wait(self.made, &error, random).filter(|_| !self.shown);
                let Some(wait) = wait else {
                    self.over = true;
                    return Some(Err(self.explained(error)));
                };
                self.wait = Some(wait);
                Some(Ok(StreamEvent::Retrying {
                    attempt: self.made + 1,
                    wait_ms: wait.as_millis() as u64,
                    reason: error.message,
                }))
            }
        }
    }

    fn explained(&self, mut error: ProviderError) -> ProviderError {
        if self.made > 1 {
            error.message = format!("{} (after {} attempts)", error.message, self.made);
        }
        let longest = self.schedule.policy.retry_after_max;
        if let Some(asked) = error.retry_after.filter(|asked| *asked > longest) {
            let seconds = asked.as_secs();
            error.message = format!("{}; it asks to wait {seconds} s", error.message);
        }
        error
    }
}

/// Reads a `retry-after` header: seconds, or a date, which is compared with the reply's own `date`
/// where there is one, since clocks differ.
pub(crate) fn read_retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = read_http_date(value)?;
    let now = date.and_then(read_http_date).or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
    })?;
    Some(Duration::from_secs(then.saturating_sub(now)))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that RFC 9110 lets servers send, as seconds
/// since 1970.
fn read_http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.strip_suffix(" GMT")?.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1970..10_000).contains(&year) {
        return None;
    }
    // Days since 1970-03-01 with the year starting in March, so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::provider::StopReason;

    const SCHEDULE: Schedule = Schedule { policy: POLICY, is_local: false };
    const POLICY: RetryPolicy = RetryPolicy {
        requests_max: 6,
        local_requests_max: 2,
        wait_first: Duration::from_secs(1),
        retry_after_max: Duration::from_secs(120),
    };

    fn error(kind: ProviderErrorKind) -> ProviderError {
        ProviderError::new(kind, "lost")
    }

    #[test]
    fn waits_double_and_move_by_a_quarter() {
        let overloaded = error(ProviderErrorKind::Overloaded);
        for attempt in 1..POLICY.requests_max {
            let base = 1000 * 2_u128.pow(attempt - 1);
            for random in [0, 1, 12_345, u64::MAX] {
                let wait = SCHEDULE.wait(attempt, &overloaded, random).unwrap().as_millis();
                assert!((base * 3 / 4..=base * 5 / 4).contains(&wait), "{attempt}: {wait}");
            }
        }
        assert_eq!(SCHEDULE.wait(POLICY.requests_max, &overloaded, 0), None);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        use ProviderErrorKind as Kind;
        let again = |kind| SCHEDULE.wait(1, &error(kind), 0).is_some();
        let yes = [
            Kind::RateLimited,
            Kind::Overloaded,
            Kind::Server,
            Kind::Connect,
            Kind::Stalled,
            Kind::Dropped,
        ];
        let no = [
            Kind::Unauthorized,
            Kind::Forbidden,
            Kind::NotFound,
            Kind::BadRequest,
            Kind::ContextTooLong,
            Kind::QuotaExhausted,
            Kind::Protocol,
            Kind::Local,
            Kind::Configuration,
        ];
        assert!(yes.into_iter().all(again) && !no.into_iter().any(again));
        let here = Schedule { is_local: true, ..SCHEDULE };
        assert_eq!(here.wait(1, &error(Kind::Connect), 0), None);
        assert!(here.wait(1, &error(Kind::Dropped), 0).is_some());
        assert_eq!(here.wait(2, &error(Kind::Dropped), 0), None);
        assert!(here.wait(2, &error(Kind::Overloaded), 0).is_some());
    }

    #[test]
    fn what_the_server_asks_for_is_honoured_up_to_a_limit() {
        let mut limited = error(ProviderErrorKind::RateLimited);
        for (asked, expected) in [(0, Some(0)), (7, Some(7)), (120, Some(120)), (121, None)] {
            limited.retry_after = Some(Duration::from_secs(asked));
            assert_eq!(SCHEDULE.wait(1, &limited, 99), expected.map(Duration::from_secs));
        }
    }

    #[test]
    fn a_storm_that_asks_for_no_wait_gets_the_schedules_own_from_the_second_time_on() {
        let mut limited = error(ProviderErrorKind::Overloaded);
        limited.retry_after = Some(Duration::ZERO);
        let waits = (1..6).map(|attempt| SCHEDULE.wait(attempt, &limited, 0).unwrap().as_millis());
        assert_eq!(waits.collect::<Vec<_>>(), [0, 1_500, 3_000, 6_000, 12_000]);
        limited.retry_after = Some(Duration::from_secs(7));
        assert_eq!(SCHEDULE.wait(2, &limited, 0), Some(Duration::from_secs(7)));
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        let cases = [
            ("3", Some(3_000)),
            ("0.25", Some(250)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ];
        for (value, expected) in cases {
            let read = read_retry_after(value, date).map(|wait| wait.as_millis());
            assert_eq!(read, expected, "{value}");
        }
        assert_eq!(read_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(read_http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(read_http_date("Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
    }

    async fn run(attempts: Vec<Vec<Result<StreamEvent, ProviderError>>>) -> Vec<String> {
        let attempts = Mutex::new(attempts.into_iter());
        let next = || {
            let events = attempts.lock().unwrap().next().expect("no further attempt");
            futures::stream::iter(events).boxed()
        };
        with_retries(SCHEDULE, next)
            .map(|event| match event {
                Ok(StreamEvent::Retrying { attempt, reason, .. }) => format!("{attempt} {reason}"),
                Ok(StreamEvent::TextDelta { text }) => text,
                Ok(StreamEvent::Stopped { .. }) => "stopped".to_owned(),
                Ok(_) => "other".to_owned(),
                Err(error) => format!("error: {error}"),
            })
            .collect()
            .await
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_follow_until_something_was_shown() {
        let text = || Ok(StreamEvent::TextDelta { text: "hi".into() });
        let thinking = || Ok(StreamEvent::ThinkingDelta { text: "hm".into() });
        let stopped = || Ok(StreamEvent::Stopped { reason: StopReason::EndOfTurn });
        let usage = || Ok(StreamEvent::Usage(crate::provider::Usage::default()));
        let fail = || Err(error(ProviderErrorKind::Dropped));
        let seen =
            run(vec![vec![usage(), fail()], vec![thinking(), fail()], vec![text(), stopped()]])
                .await;
        assert_eq!(seen, ["other", "2 lost", "other", "3 lost", "hi", "stopped"]);
        let seen = run(vec![vec![text(), fail()]]).await;
        assert_eq!(seen, ["hi", "error: lost"]);
        let seen = run(vec![vec![Err(error(ProviderErrorKind::Unauthorized))]]).await;
        assert_eq!(seen, ["error: lost"]);
        let seen = run((0..6).map(|_| vec![fail()]).collect()).await;
        assert_eq!(seen.len(), 6);
        assert_eq!(seen[5], "error: lost (after 6 attempts)");
    }
}
