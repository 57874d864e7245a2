//! MP4 files: frames go to ffmpeg through a pipe as they are drawn.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;

use epgt_render::Image;
use epgt_settings::clean_line;

/// The variable that names an ffmpeg.
const VARIABLE: &str = "EPGT_FFMPEG";
/// Characters of what ffmpeg says that are shown.
const SHOWN: usize = 300;

/// The ffmpeg that EPGT_FFMPEG names, or that of PATH; `None` where there is none.
pub fn find() -> Result<Option<PathBuf>, String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let on_path = |name: &Path| {
        let folders = variable("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&folders).map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    let Some(named) = variable(VARIABLE).map(PathBuf::from) else {
        return Ok(on_path("ffmpeg".as_ref()));
    };
    let found = match named.components().count() {
        1 => on_path(&named),
        _ => Some(named.clone()).filter(|file| file.is_file()),
    };
    found.map(Some).ok_or_else(|| {
        format!(
            "{VARIABLE} is {}, and there is no such program; name an ffmpeg with it, or write a GIF with --video out.gif",
            named.display()
        )
    })
}

/// A video that ffmpeg is encoding. It takes its name when it is whole.
pub struct Mp4 {
    child: Child,
    /// Closed at the end.
    frames: Option<ChildStdin>,
    /// What ffmpeg says.
    said: Option<JoinHandle<String>>,
    path: PathBuf,
    temporary: PathBuf,
    /// Sides of the frames as they are sent.
    width: usize,
    height: usize,
    rate: f64,
}

impl Mp4 {
    /// Starts ffmpeg for frames of this size, of which a second shows so many.
    pub fn begin(ffmpeg: &Path, path: &Path, width: usize, height: usize, rate: f64) -> Result<Self, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp"));
        // Half of the sides are what the colours are stored with.
        let (width, height) = (width.next_multiple_of(2), height.next_multiple_of(2));
        let mut child = Command::new(ffmpeg)
            .args([
                "-hide_banner",
                "-loglevel",
                "error",
                "-f",
                "rawvideo",
                "-pix_fmt",
                "rgb24",
            ])
            .args([
                "-video_size",
                &format!("{width}x{height}"),
                "-framerate",
                &format!("{rate:.6}"),
            ])
            .args([
                "-i",
                "pipe:0",
                "-an",
                "-pix_fmt",
                "yuv420p",
                "-movflags",
                "+faststart",
                "-f",
                "mp4",
                "-y",
            ])
            .arg(absolute(&temporary))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!(
                    "{} does not run ({error}), so there is no video; write a GIF with --video {}",
                    ffmpeg.display(),
                    path.with_extension("gif").display()
                )
            })?;
        let said = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                // What was read before a failure is all that there is to tell.
                let _ = stderr.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self {
            frames: child.stdin.take(),
            child,
            said,
            path: path.to_path_buf(),
            temporary,
            width,
            height,
            rate,
        })
    }

    /// Frames per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Adds a frame so many times. One with an odd side is sent with its last row or column twice.
    pub fn frame(&mut self, image: &Image, times: u64) -> Result<(), String> {
        let mut bytes = Vec::with_capacity(3 * self.width * self.height);
        for y in 0..self.height {
            let row = image.row(y.min(image.height() - 1));
            bytes.extend(row.as_flattened());
            bytes.extend((row.len()..self.width).flat_map(|_| row[row.len() - 1]));
        }
        for _ in 0..times {
            let Some(frames) = &mut self.frames else { break };
            if frames.write_all(&bytes).is_err() {
                // It has ended already, and says why.
                return Err(self.failed());
            }
        }
        Ok(())
    }

    /// Waits for the end of the file and gives it its name. Returns its bytes.
    pub fn finish(mut self) -> Result<u64, String> {
        self.frames = None;
        let whole = self.child.wait().is_ok_and(|status| status.success());
        let bytes = fs::metadata(&self.temporary).map_or(0, |file| file.len());
        if !whole || bytes == 0 {
            return Err(self.failed());
        }
        match fs::rename(&self.temporary, &self.path) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(format!("cannot write {}: {error}", self.path.display())),
        }
    }

    /// Why there is no video, in one sentence.
    fn failed(&mut self) -> String {
        self.frames = None;
        let status = self.child.wait();
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let why = match (last, status) {
            (Some(line), _) => clean_line(line, SHOWN),
            (None, Ok(status)) => status.to_string(),
            (None, Err(error)) => error.to_string(),
        };
        format!(
            "ffmpeg could not make {} ({why}); write a GIF with --video {}",
            self.path.display(),
            self.path.with_extension("gif").display()
        )
    }
}

impl Drop for Mp4 {
    /// Leaves neither a process nor a part of a file behind.
    fn drop(&mut self) {
        self.frames = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.temporary);
    }
}

/// A name that cannot be taken for an option or a protocol.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
