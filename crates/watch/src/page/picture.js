"use strict";
// The present policy at play: an episode is one answer of the server, pieces of a kind, a length and bytes. The next is
// asked for when it has ended, and none while nobody can see it.

class Picture {
  constructor(canvas, text, hint, box) {
    this.canvas = canvas;
    this.text = text;
    this.hint = hint;
    this.run = null;
    this.seed = 0;
    this.paused = false;
    this.visible = false;
    this.abort = null;
    this.timer = null;
    new IntersectionObserver(seen => { this.visible = seen[seen.length - 1].isIntersecting; this.go(); }).observe(box);
    document.addEventListener("visibilitychange", () => this.go());
    addEventListener("pagehide", () => this.stop());
  }

  show(run) {
    if (run === this.run) return;
    this.stop();
    this.run = run;
    this.seed = 0;
    this.clear(run === null ? "" : "…");
    this.hint.textContent = "";
    this.go();
  }

  pause(paused) { this.paused = paused; this.go(); }

  get wanted() { return this.run !== null && this.visible && !this.paused && !document.hidden; }

  go() {
    if (!this.wanted) this.stop();
    else if (!this.abort && !this.timer) this.play();
  }

  stop() {
    if (this.abort) this.abort.abort();
    clearTimeout(this.timer);
    this.abort = this.timer = null;
  }

  clear(text) {
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.text.textContent = text;
  }

  async play() {
    const abort = this.abort = new AbortController();
    let pause = 1500;
    try {
      const answer = await fetch(`picture?run=${this.run}&seed=${this.seed}`, { signal: abort.signal });
      if (answer.ok) pause = await this.read(answer.body.getReader());
    } catch (error) {
      pause = 3000;
    }
    if (this.abort !== abort) return;
    this.abort = null;
    this.timer = setTimeout(() => { this.timer = null; this.go(); }, pause);
  }

  async read(reader) {
    let bytes = new Uint8Array(0);
    let pause = 1500;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return pause;
      const joined = new Uint8Array(bytes.length + value.length);
      joined.set(bytes);
      joined.set(value, bytes.length);
      bytes = joined;
      while (bytes.length >= 5) {
        const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
        if (bytes.length < 5 + length) break;
        const body = bytes.slice(5, 5 + length);
        const kind = bytes[0];
        bytes = bytes.slice(5 + length);
        if (kind === 106) pause = this.told(JSON.parse(new TextDecoder().decode(body))) || pause;
        else await this.frame(body);
      }
    }
  }

  told(news) {
    if (news.busy) {
      this.text.textContent = "Another page shows a policy; one is played at a time.";
      return 4000;
    }
    if (news.width) {
      this.seed += 1;
      this.canvas.width = news.width;
      this.canvas.height = news.height;
      this.saved = Date.now() / 1000 - news.age;
      this.text.textContent = "";
      this.hint.textContent = "Saved " + ago(news.age) + ".";
    }
    if (news.problem) {
      this.clear(news.problem);
      this.hint.textContent = "";
      return 5000;
    }
    if (typeof news.return === "number") this.hint.textContent = "Return " + short(news.return) + ". Saved " + ago(Date.now() / 1000 - this.saved) + ".";
    return 0;
  }

  async frame(body) {
    const image = await createImageBitmap(new Blob([body], { type: "image/png" }));
    this.canvas.getContext("2d").drawImage(image, 0, 0);
    image.close();
    this.canvas.dataset.frames = Number(this.canvas.dataset.frames || 0) + 1;
  }
}

function ago(seconds) {
  return seconds < 2 ? "just now" : duration(seconds) + " ago";
}
