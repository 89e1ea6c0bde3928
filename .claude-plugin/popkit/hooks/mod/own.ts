// Compactions that PopKit starts itself.
import type { EngineInterface } from 'claude-code'

// Milliseconds before the first try and, doubled each time, before the next: the client refuses while it holds a command of ours.
const START_MS = 100
const MOST_TRIES = 10

// Marks a compaction of ours. Typed by hand it does what we were asked for, which is nothing.
export const MARK = 'popkit'

/** Starts a compaction that does what the helper has been asked to do, once the session is idle. Ends with it. */
export async function startOwn($: EngineInterface): Promise<void> {
  for (let tried = 0; tried < MOST_TRIES; tried += 1) {
    try {
      await $.clock.sleep(START_MS * 2 ** tried)
      await $.command.run({ command: 'compact', args: MARK })

      return
    } catch (error) {
      $.ui.log(`compaction: did not start: ${String(error).slice(0, 200)}`, { to: 'debug' })
    }
  }
}
