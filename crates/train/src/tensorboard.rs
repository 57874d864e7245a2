//! TensorBoard event files, written by hand.
//!
//! The format is small: a sequence of TFRecords, each one a serialised protobuf `Event`. Of that message a scalar needs
//! five fields, so a protobuf library would be the larger part of this file:
//!
//! ```text
//! record:  length u64 | masked CRC-32C of length | event | masked CRC-32C of event
//! Event:   1 wall_time double | 2 step int64 | 3 file_version string | 5 summary
//! Summary: 1 value { 1 tag string | 2 simple_value float | 9 metadata { 1 plugin { 1 name | 2 content } } }
//! ```
//!
//! What its tab of hyperparameters shows is the content of two such values without numbers: which hyperparameters and
//! metrics there are, and the values that this run was made with ([`EventWriter::hyperparameters`]).
//!
//! The caller gives the time of each event, so that what is written depends on arguments alone.

use std::path::Path;

use crate::append::AppendFile;
use crate::artifact::ArtifactError;

/// Length and its checksum, before the event of a record.
const RECORD_HEADER_BYTES: usize = 12;

/// Key bytes of protobuf fields: the field's number times eight, plus how it is encoded.
mod key {
    const VARINT: u8 = 0;
    const FIXED_64: u8 = 1;
    const BYTES: u8 = 2;
    const FIXED_32: u8 = 5;

    pub const EVENT_WALL_TIME: u8 = (1 << 3) | FIXED_64;
    pub const EVENT_STEP: u8 = (2 << 3) | VARINT;
    pub const EVENT_FILE_VERSION: u8 = (3 << 3) | BYTES;
    pub const EVENT_SUMMARY: u8 = (5 << 3) | BYTES;
    pub const SUMMARY_VALUE: u8 = (1 << 3) | BYTES;
    pub const VALUE_TAG: u8 = (1 << 3) | BYTES;
    pub const VALUE_SIMPLE: u8 = (2 << 3) | FIXED_32;
    pub const VALUE_METADATA: u8 = (9 << 3) | BYTES;
    pub const METADATA_PLUGIN: u8 = (1 << 3) | BYTES;
    pub const PLUGIN_NAME: u8 = (1 << 3) | BYTES;
    pub const PLUGIN_CONTENT: u8 = (2 << 3) | BYTES;

    /// Of the plugin of hyperparameters: its content, and what that is made of.
    pub const CONTENT_EXPERIMENT: u8 = (2 << 3) | BYTES;
    pub const CONTENT_START: u8 = (3 << 3) | BYTES;
    pub const EXPERIMENT_HYPERPARAMETER: u8 = (4 << 3) | BYTES;
    pub const EXPERIMENT_METRIC: u8 = (5 << 3) | BYTES;
    pub const HYPERPARAMETER_NAME: u8 = (1 << 3) | BYTES;
    pub const HYPERPARAMETER_TYPE: u8 = (4 << 3) | VARINT;
    pub const METRIC_NAME: u8 = (1 << 3) | BYTES;
    pub const METRIC_TAG: u8 = (2 << 3) | BYTES;
    pub const START_HYPERPARAMETER: u8 = (1 << 3) | BYTES;
    pub const START_TIME: u8 = (5 << 3) | FIXED_64;
    /// Of an entry of a map, and of the value in it.
    pub const ENTRY_KEY: u8 = (1 << 3) | BYTES;
    pub const ENTRY_VALUE: u8 = (2 << 3) | BYTES;
    pub const VALUE_NUMBER: u8 = (2 << 3) | FIXED_64;
    pub const VALUE_STRING: u8 = (3 << 3) | BYTES;
    pub const VALUE_BOOL: u8 = (4 << 3) | VARINT;
}

/// The value of a hyperparameter, as TensorBoard tells values apart.
#[derive(Clone, Debug, PartialEq)]
pub enum HyperparameterValue {
    /// A name, or anything else that is text.
    Text(String),
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(f64),
}

impl HyperparameterValue {
    /// The value of a TOML literal.
    ///
    /// ```
    /// use epgt_train::tensorboard::HyperparameterValue::{self, Number, Text};
    /// assert_eq!(HyperparameterValue::of_toml("0.99"), Number(0.99));
    /// assert_eq!(HyperparameterValue::of_toml("\"linear\""), Text("linear".to_string()));
    /// ```
    pub fn of_toml(literal: &str) -> Self {
        match literal {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            _ => match literal.replace('_', "").parse() {
                Ok(number) => Self::Number(number),
                Err(_) => Self::Text(literal.trim_matches('"').to_string()),
            },
        }
    }

    /// The number of its type in TensorBoard's enumeration.
    fn type_number(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Bool(_) => 2,
            Self::Number(_) => 3,
        }
    }
}

/// Writes scalars to an event file. TensorBoard only looks at files with `tfevents` in their names.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("events.out.tfevents.0");
/// use epgt_train::tensorboard::EventWriter;
/// let started = 1.7e9; // seconds since 1970
/// let mut events = EventWriter::create(&path, started)?;
/// events.scalar(started + 2.5, "rollout/ep_rew_mean", 2048, -113.0);
/// let length = events.flush()?;
/// assert_eq!(std::fs::metadata(&path)?.len(), length);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventWriter {
    file: AppendFile,
    buffer: Vec<u8>,
}

impl EventWriter {
    /// A new event file, in place of one that may be there, opened by the record that names its format.
    pub fn create(path: impl AsRef<Path>, wall_time: f64) -> Result<Self, ArtifactError> {
        let mut writer = Self {
            file: AppendFile::create(path.as_ref())?,
            buffer: Vec::new(),
        };
        writer.record(|event| {
            push_wall_time(event, wall_time);
            event.push(key::EVENT_FILE_VERSION);
            push_text(event, "brain.Event:2");
        });
        writer.flush()?;
        Ok(writer)
    }

    /// Continues an event file at the `length` that [`flush`](Self::flush) returned when the checkpoint was made; what
    /// follows it is dropped, since the resumed run writes it again.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("events.out.tfevents.0");
    /// # use epgt_train::tensorboard::EventWriter;
    /// let mut events = EventWriter::create(&path, 0.0)?;
    /// let checkpointed = events.flush()?;
    /// events.scalar(1.0, "train/loss", 1, 0.5);
    /// let length = events.flush()?;
    ///
    /// let mut resumed = EventWriter::open_at(&path, checkpointed)?;
    /// resumed.scalar(2.0, "train/loss", 1, 0.5);
    /// assert_eq!(resumed.flush()?, length);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_at(path: impl AsRef<Path>, length: u64) -> Result<Self, ArtifactError> {
        Ok(Self {
            file: AppendFile::open_at(path.as_ref(), length)?,
            buffer: Vec::new(),
        })
    }

    /// Adds one point of the curve `tag` to the buffer; `wall_time` is in seconds since 1970.
    pub fn scalar(&mut self, wall_time: f64, tag: &str, step: u64, value: f32) {
        let value_length = 1 + varint_length(tag.len() as u64) + tag.len() + 1 + 4;
        let summary_length = 1 + varint_length(value_length as u64) + value_length;
        self.record(|event| {
            push_wall_time(event, wall_time);
            event.push(key::EVENT_STEP);
            push_varint(event, step);
            event.push(key::EVENT_SUMMARY);
            push_varint(event, summary_length as u64);
            event.push(key::SUMMARY_VALUE);
            push_varint(event, value_length as u64);
            event.push(key::VALUE_TAG);
            push_text(event, tag);
            event.push(key::VALUE_SIMPLE);
            event.extend_from_slice(&value.to_le_bytes());
        });
    }

    /// Adds the hyperparameters that this run was made with and the metrics they are to be compared by, for
    /// TensorBoard's tab of hyperparameters, to the buffer.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("events.out.tfevents.0");
    /// # use epgt_train::tensorboard::{EventWriter, HyperparameterValue};
    /// let mut events = EventWriter::create(&path, 0.0)?;
    /// let gamma = ("gamma".to_string(), HyperparameterValue::Number(0.99));
    /// events.hyperparameters(0.0, &[gamma], &["rollout/ep_rew_mean"]);
    /// assert!(events.flush()? > 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hyperparameters(&mut self, wall_time: f64, values: &[(String, HyperparameterValue)], metrics: &[&str]) {
        let experiment = message(|experiment| {
            for (name, value) in values {
                push_message(experiment, key::EXPERIMENT_HYPERPARAMETER, |info| {
                    info.push(key::HYPERPARAMETER_NAME);
                    push_text(info, name);
                    info.push(key::HYPERPARAMETER_TYPE);
                    push_varint(info, value.type_number());
                });
            }
            for metric in metrics {
                push_message(experiment, key::EXPERIMENT_METRIC, |info| {
                    push_message(info, key::METRIC_NAME, |name| {
                        name.push(key::METRIC_TAG);
                        push_text(name, metric);
                    });
                });
            }
        });
        let start = message(|start| {
            for (name, value) in values {
                push_message(start, key::START_HYPERPARAMETER, |entry| {
                    entry.push(key::ENTRY_KEY);
                    push_text(entry, name);
                    push_message(entry, key::ENTRY_VALUE, |into| push_value(into, value));
                });
            }
            start.push(key::START_TIME);
            start.extend_from_slice(&wall_time.to_le_bytes());
        });
        let contents = [
            ("_hparams_/experiment", key::CONTENT_EXPERIMENT, experiment),
            ("_hparams_/session_start_info", key::CONTENT_START, start),
        ];
        for (tag, part, content) in contents {
            let content = message(|whole| push_bytes(whole, part, &content));
            self.record(|event| {
                push_wall_time(event, wall_time);
                push_message(event, key::EVENT_SUMMARY, |summary| {
                    push_message(summary, key::SUMMARY_VALUE, |value| {
                        value.push(key::VALUE_TAG);
                        push_text(value, tag);
                        push_message(value, key::VALUE_METADATA, |metadata| {
                            push_message(metadata, key::METADATA_PLUGIN, |plugin| {
                                plugin.push(key::PLUGIN_NAME);
                                push_text(plugin, "hparams");
                                push_bytes(plugin, key::PLUGIN_CONTENT, &content);
                            });
                        });
                    });
                });
            });
        }
    }

    /// Hands the buffered events to the system and returns the file's length. After an error the file ends with the
    /// last event that was flushed before, and the buffered ones are kept for another try.
    pub fn flush(&mut self) -> Result<u64, ArtifactError> {
        let length = self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(length)
    }

    /// [`flush`](Self::flush), and waits until the disk has it: for lengths that go into a checkpoint, which must not
    /// promise events that a power failure can take away.
    pub fn sync(&mut self) -> Result<u64, ArtifactError> {
        let length = self.flush()?;
        self.file.sync()?;
        Ok(length)
    }

    /// Frames the event that `fill` appends, in place.
    fn record(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        let event = start + RECORD_HEADER_BYTES;
        self.buffer.resize(event, 0);
        fill(&mut self.buffer);
        let length = ((self.buffer.len() - event) as u64).to_le_bytes();
        let length_checksum = masked_crc32c(&length).to_le_bytes();
        let event_checksum = masked_crc32c(&self.buffer[event..]).to_le_bytes();
        self.buffer[start..start + 8].copy_from_slice(&length);
        self.buffer[start + 8..event].copy_from_slice(&length_checksum);
        self.buffer.extend_from_slice(&event_checksum);
    }
}

fn push_wall_time(event: &mut Vec<u8>, wall_time: f64) {
    event.push(key::EVENT_WALL_TIME);
    event.extend_from_slice(&wall_time.to_le_bytes());
}

fn push_value(into: &mut Vec<u8>, value: &HyperparameterValue) {
    match value {
        HyperparameterValue::Text(text) => {
            into.push(key::VALUE_STRING);
            push_text(into, text);
        }
        HyperparameterValue::Bool(yes) => into.extend([key::VALUE_BOOL, u8::from(*yes)]),
        HyperparameterValue::Number(number) => {
            into.push(key::VALUE_NUMBER);
            into.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// The bytes of a message.
fn message(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    fill(&mut bytes);
    bytes
}

/// Adds a message inside of a message.
fn push_message(event: &mut Vec<u8>, key: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    push_bytes(event, key, &message(fill));
}

fn push_bytes(event: &mut Vec<u8>, key: u8, bytes: &[u8]) {
    event.push(key);
    push_varint(event, bytes.len() as u64);
    event.extend_from_slice(bytes);
}

fn push_text(event: &mut Vec<u8>, text: &str) {
    push_varint(event, text.len() as u64);
    event.extend_from_slice(text.as_bytes());
}

/// Seven bits a byte, lowest first; the top bit says that more follow.
fn push_varint(event: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        event.push(number as u8 | 0x80);
        number >>= 7;
    }
    event.push(number as u8);
}

fn varint_length(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

/// The checksum of TFRecord: rotated and shifted, so that a checksum of data that holds checksums stays useful.
fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), a byte at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(!0, |crc, &byte| (crc >> 8) ^ CRC_TABLE[usize::from(crc as u8 ^ byte)])
}

/// The effect of each byte on the checksum.
const CRC_TABLE: [u32; 256] = {
    /// The Castagnoli polynomial, lowest power in the highest bit.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What a reader finds in one record.
    #[derive(Debug, Default, PartialEq)]
    struct Event {
        wall_time: f64,
        step: u64,
        file_version: String,
        tag: String,
        value: f32,
    }

    fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
        let (head, tail) = bytes.split_at(count);
        *bytes = tail;
        head
    }

    fn take_varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = take(bytes, 1)[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    /// Reads any message of these, told apart by how deep it is nested.
    fn read_message(mut bytes: &[u8], depth: u32, event: &mut Event) {
        while !bytes.is_empty() {
            let key = take_varint(&mut bytes);
            match (depth, key >> 3, key & 7) {
                (0, 1, 1) => {
                    event.wall_time = f64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap());
                }
                (0, 2, 0) => event.step = take_varint(&mut bytes),
                (2, 2, 5) => {
                    event.value = f32::from_le_bytes(take(&mut bytes, 4).try_into().unwrap());
                }
                (_, field, 2) => {
                    let length = take_varint(&mut bytes) as usize;
                    let content = take(&mut bytes, length);
                    match (depth, field) {
                        (0, 3) => event.file_version = String::from_utf8(content.into()).unwrap(),
                        (2, 1) => event.tag = String::from_utf8(content.into()).unwrap(),
                        (0, 5) | (1, 1) => read_message(content, depth + 1, event),
                        other => panic!("unexpected field {other:?}"),
                    }
                }
                other => panic!("unexpected field {other:?}"),
            }
        }
    }

    fn read_events(path: &Path) -> Vec<Event> {
        let content = std::fs::read(path).unwrap();
        let mut rest = content.as_slice();
        let mut events = Vec::new();
        while !rest.is_empty() {
            let length = take(&mut rest, 8);
            assert_eq!(take(&mut rest, 4), masked_crc32c(length).to_le_bytes());
            let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            let data = take(&mut rest, length);
            assert_eq!(take(&mut rest, 4), masked_crc32c(data).to_le_bytes());
            let mut event = Event::default();
            read_message(data, 0, &mut event);
            events.push(event);
        }
        events
    }

    #[test]
    fn crc32c_gives_the_published_checksums() {
        // RFC 3720, appendix B.4, and the usual check value.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
    }

    #[test]
    fn scalars_read_back_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.out.tfevents.0");
        let long_tag = "x".repeat(300);
        let written = [
            (1.5, "rollout/ep_rew_mean", 0, -113.5),
            (2.5, "", 127, f32::MIN_POSITIVE),
            (3.5, long_tag.as_str(), u64::MAX >> 1, f32::MAX),
        ];
        let mut writer = EventWriter::create(&path, 0.5).unwrap();
        for (wall_time, tag, step, value) in written {
            writer.scalar(wall_time, tag, step, value);
        }
        writer.flush().unwrap();

        let events = read_events(&path);
        assert_eq!(events.len(), 4);
        assert_eq!(events[0].file_version, "brain.Event:2");
        assert_eq!(events[0].wall_time, 0.5);
        for (event, (wall_time, tag, step, value)) in events[1..].iter().zip(written) {
            let expected = Event {
                wall_time,
                step,
                tag: tag.to_string(),
                value,
                ..Event::default()
            };
            assert_eq!(*event, expected);
        }
    }

    #[test]
    fn a_resumed_run_repeats_no_event() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.out.tfevents.0");
        let mut killed = EventWriter::create(&path, 0.0).unwrap();
        killed.scalar(0.0, "loss", 1, 1.0);
        let checkpointed = killed.sync().unwrap();
        killed.scalar(0.0, "loss", 2, 2.0);
        killed.scalar(0.0, "loss", 3, 3.0);
        killed.flush().unwrap();

        let mut resumed = EventWriter::open_at(&path, checkpointed).unwrap();
        resumed.scalar(9.0, "loss", 2, 2.0);
        resumed.flush().unwrap();
        let steps: Vec<u64> = read_events(&path).iter().map(|event| event.step).collect();
        assert_eq!(steps, [0, 1, 2]);
    }

    #[test]
    fn tensorboard_reads_the_hyperparameters_of_runs() {
        const READER: &str = "
import sys
try:
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
except ImportError:
    sys.exit(77)
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups
runs = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(sys.argv[1])
runs.Reload()
provider = data_provider.MultiplexerDataProvider(runs, sys.argv[1])
context = backend_context.Context(base_plugin.TBContext(data_provider=provider, logdir=sys.argv[1]))
from tensorboard.context import RequestContext
request = api_pb2.GetExperimentRequest(hparams_limit=0)
found = get_experiment.Handler(RequestContext(), context, '', request).run()
print([(info.name, info.type) for info in sorted(found.hparam_infos, key=lambda info: info.name)])
print([info.name.tag for info in found.metric_infos])
columns = [
    api_pb2.ColParams(metric=api_pb2.MetricName(tag='rollout/ep_rew_mean')),
]
statuses = [api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_RUNNING, api_pb2.STATUS_SUCCESS]
request = api_pb2.ListSessionGroupsRequest(
    start_index=0, slice_size=9, col_params=columns, allowed_statuses=statuses, aggregation_type=1)
listed = list_session_groups.Handler(RequestContext(), context, '', request).run()
for group in sorted(listed.session_groups, key=lambda group: group.name):
    values = {name: value for name, value in sorted(group.hparams.items())}
    print(values['algo'].string_value, values['gamma'].number_value, values['shared'].bool_value)
    print([metric.value for metric in group.metric_values])
";
        let Some(python) = std::env::var_os("EPGT_PYTHON") else {
            println!("skipped: EPGT_PYTHON does not name a Python that has tensorboard");
            return;
        };
        let directory = tempfile::tempdir().unwrap();
        for (run, gamma) in [("a", 0.9), ("b", 0.99)] {
            std::fs::create_dir(directory.path().join(run)).unwrap();
            let path = directory.path().join(run).join("events.out.tfevents.0");
            let mut writer = EventWriter::create(&path, 1.0).unwrap();
            let values = [
                ("algo".to_string(), HyperparameterValue::Text("ppo".to_string())),
                ("gamma".to_string(), HyperparameterValue::Number(gamma)),
                ("shared".to_string(), HyperparameterValue::Bool(true)),
            ];
            writer.hyperparameters(1.0, &values, &["rollout/ep_rew_mean"]);
            writer.scalar(2.5, "rollout/ep_rew_mean", 300, 42.0);
            writer.flush().unwrap();
        }
        let mut reader = Command::new(python);
        let output = reader.args(["-c", READER]).arg(directory.path()).output().unwrap();
        if output.status.code() == Some(77) {
            println!("skipped: the Python that EPGT_PYTHON names does not have tensorboard");
            return;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "[('algo', 1), ('gamma', 3), ('shared', 2)]\n['rollout/ep_rew_mean']\n\
             ppo 0.9 True\n[42.0]\nppo 0.99 True\n[42.0]\n"
        );
    }

    #[test]
    fn tensorboard_reads_the_same_scalars() {
        const READER: &str = "
import sys
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    sys.exit(77)
events = EventAccumulator(sys.argv[1]).Reload()
for tag in sorted(events.Tags()['scalars']):
    for scalar in events.Scalars(tag):
        print(tag, scalar.step, scalar.wall_time, scalar.value)
";
        let Some(python) = std::env::var_os("EPGT_PYTHON") else {
            println!("skipped: EPGT_PYTHON does not name a Python that has tensorboard");
            return;
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.out.tfevents.0");
        let mut writer = EventWriter::create(&path, 1.0).unwrap();
        writer.scalar(2.5, "time/fps", 300, 42000.0);
        writer.scalar(3.5, "train/approx_kl", 40_000_000_000, 0.25);
        writer.scalar(4.5, "train/approx_kl", 40_000_000_001, -0.5);
        writer.flush().unwrap();

        let mut reader = Command::new(python);
        let output = reader.args(["-c", READER]).arg(&path).output().unwrap();
        if output.status.code() == Some(77) {
            println!("skipped: the Python that EPGT_PYTHON names does not have tensorboard");
            return;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "time/fps 300 2.5 42000.0\n\
             train/approx_kl 40000000000 3.5 0.25\n\
             train/approx_kl 40000000001 4.5 -0.5\n"
        );
    }
}
