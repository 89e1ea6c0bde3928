// The order of calls that were made at once: their results stand in the order of the calls, however they ended. A result waits at the door for
// those before it, which costs nothing: the next request needs them all.

export class Batch {
  private readonly calls: { id: string; ended: Promise<void>; end: () => void }[] = []

  begin(id: string): void {
    let end = () => {}
    const ended = new Promise<void>(done => (end = done))
    this.calls.push({ id, ended, end })
  }

  end(id: string): void {
    this.calls.find(call => call.id === id)?.end()
  }

  /** Waits until the results of all calls before this one have entered, or somebody breaks it off. */
  async before(id: string, signal: AbortSignal | undefined): Promise<void> {
    const at = this.calls.findIndex(call => call.id === id)
    const earlier = Promise.all(this.calls.slice(0, Math.max(at, 0)).map(call => call.ended))

    if (signal === undefined) {
      await earlier
    } else if (!signal.aborted) {
      await Promise.race([earlier, new Promise(done => signal.addEventListener('abort', done, { once: true }))])
    }
  }

  /** Forgets the calls of a turn that is over; none is waited for any more. */
  clear(): void {
    this.calls.splice(0).forEach(call => call.end())
  }
}
