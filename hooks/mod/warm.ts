// Keeping the prompt cache warm: one timer between turns, and what the helper says when it is up. Whether, when and what is the helper's.
import type { EngineEventOf, EngineInterface } from 'claude-code'

import { AGAIN_MS, MOST_AGAIN, ask } from './helper'

type Answer = Record<string, unknown> | undefined

// Nobody waits, so the helper may read the transcript's end; but what it says to send now must not be sent much later.
const PATIENCE_MS = 5_000
// What was sent is to be booked however busy the machine is.
const BOOKING_MS = 30_000

let timer: { cancel: () => void } | undefined
let isBetweenTurns = false
// Which time between two turns it is: what comes later than its end begins nothing.
let between = 0

/** Stops: a turn or a compaction has begun, or the session has ended. */
export function rest(): void {
  between += 1
  isBetweenTurns = false
  timer?.cancel()
  timer = undefined
}

/** Begins to wait, as a turn of the main thread has ended. */
export async function begin($: EngineInterface, e: EngineEventOf['turn.complete']): Promise<void> {
  rest()
  isBetweenTurns = true
  await plan($, { reason: e.reason, turn_ms: e.durationMs })
}

/** Asks once more: the user may have changed the setting. */
export async function again($: EngineInterface): Promise<void> {
  if (isBetweenTurns) {
    await plan($, {})
  }
}

async function plan($: EngineInterface, facts: Record<string, unknown>, more = MOST_AGAIN): Promise<void> {
  const mine = between

  try {
    const answer = await ask($, '/warm', { ...facts, ...(await account($)) }, PATIENCE_MS)

    if (mine === between) {
      const { turn_ms: _, ...later } = facts // it counts from now
      await follow($, answer, later, more)
    }
  } catch (error) {
    $.ui.log(`keeping warm: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }
}

/** Does what the helper answers. Where it did not, asks `later`, `more` times at most. */
async function follow($: EngineInterface, answer: Answer, later: Record<string, unknown>, more: number): Promise<void> {
  timer?.cancel()
  timer = undefined

  if (answer === undefined && more > 0) {
    timer = $.clock.after(AGAIN_MS, () => void plan($, later, more - 1))
  } else if (typeof answer?.in_ms === 'number') {
    timer = $.clock.after(answer.in_ms, () => void plan($, { due: true }))
  } else if (typeof answer?.prompt === 'string') {
    await send($, answer.prompt)
  }
}

/** Sends the main thread's last request once more, with one line behind it, and reports what it cost in any case. */
async function send($: EngineInterface, prompt: string): Promise<void> {
  const mine = between
  const reply = await $.model.fork({ prompt }).catch(() => ({ isAnswered: false, reason: 'rejected' }) as const)
  const facts = {
    answered: reply.isAnswered,
    reason: reply.isAnswered ? '' : reply.reason,
    error: 'error' in reply ? reply.error : '',
    usage: 'usage' in reply ? reply.usage : {},
  }
  const answer = await ask($, '/warmed', { ...facts, ...(await account($)) }, BOOKING_MS)

  if (mine === between) {
    await follow($, answer, { due: true }, MOST_AGAIN)
  }
}

async function account($: EngineInterface): Promise<Record<string, unknown>> {
  const { rateLimits } = await $.session.usage()

  return { model: await $.session.model(), limits: rateLimits }
}
