// Compactions that PopKit starts itself.
import type { EngineInterface } from 'claude-code'

// Milliseconds: what holds a command is over by then.
const START_MS = 100

// Marks a compaction of ours. Typed by hand it does what we were asked for, which is nothing.
export const MARK = 'popkit'

/** Starts a compaction that does what the helper has been asked to do, once the session is idle. Ends with it. */
export async function startOwn($: EngineInterface): Promise<void> {
  try {
    await $.clock.sleep(START_MS)
    await $.command.run({ command: 'compact', args: MARK })
  } catch (error) {
    $.ui.log(`compaction: did not start: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }
}
