// The one stream of the server: it connects, and connects again when it is lost. Runs in the shared worker, or in the page where there is
// none. It tells `{kind: "event", event}` and `{kind: "state", phase, since}`; phase: connecting, live, lost, locked; since
// when there is a connection, or is none.

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 4000;
const TYPES = ["hello", "sessions", "memory", "retention", "budgets", "stats"];

export class Stream {
  constructor(tell) {
    this.tell = tell;
    this.wait = FIRST_WAIT_MS;
    this.hello = null; // the newest one, and when it was heard, for a page that joins later
    this.helloAt = 0;
    this.phase = "connecting";
    this.since = Date.now() / 1000;
    this.timer = 0;
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = new EventSource("/api/events");
    for (const type of TYPES) this.source.addEventListener(type, (message) => this.heard(message));
    this.source.onerror = () => this.failed();
  }

  heard(message) {
    const event = JSON.parse(message.data);
    if (event.type === "hello") {
      this.hello = event;
      this.helloAt = Date.now();
      this.wait = FIRST_WAIT_MS;
      this.become("live");
    }
    this.tell({ kind: "event", event });
  }

  async failed() {
    // The browser's own way to connect again waits longer, and gives up on an answer that is an error.
    this.source.close();
    this.become((await this.isLocked()) ? "locked" : "lost");
    this.timer = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait * 1.6);
  }

  /** Whether there is a server which does not know this page's token: then another one was started since. */
  async isLocked() {
    try {
      const { status } = await fetch("/api/me", { cache: "no-store", credentials: "same-origin" });
      return status === 401 || status === 403;
    } catch {
      return false;
    }
  }

  become(phase) {
    if (phase === this.phase) return;
    // Who loses the server and then finds another one is without it since the loss.
    if (phase === "live" || this.phase === "live") this.since = Date.now() / 1000;
    this.phase = phase;
    this.tell({ kind: "state", phase, since: this.since });
  }

  /** What a page that joins has to know. */
  introduce(tell) {
    tell({ kind: "state", phase: this.phase, since: this.since });
    // The page goes by the server's clock, which has gone on since.
    const age = (Date.now() - this.helloAt) / 1000;
    if (this.hello && this.phase === "live") tell({ kind: "event", event: { ...this.hello, at: this.hello.at + age } });
  }

  /** Somebody asks to try at once. */
  hurry() {
    if (this.phase === "live") return;
    this.wait = FIRST_WAIT_MS;
    this.connect();
  }
}
