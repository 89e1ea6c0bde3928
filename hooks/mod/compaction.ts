// A compaction: the summariser is told what is dead and what must survive. The index afterwards comes from the settings hook.
import type { EngineEventOf, EngineInterface } from 'claude-code'

import { ask } from './helper'

type Compacting = EngineEventOf['session.compact']

// Milliseconds: all that the context holds is archived first. Without an answer the settings hook says it.
const WAIT_MS = 15_000

/** The compaction as it goes on: behind the instructions that it has stands what the helper says. */
export async function advised($: EngineInterface, e: Compacting): Promise<Compacting> {
  const answer = e.agentId === undefined ? await ask($, '/compacting', {}, WAIT_MS) : undefined
  const text = answer?.text

  return typeof text === 'string' && text !== ''
    ? { ...e, instructions: e.instructions === undefined ? text : `${e.instructions}\n\n${text}` }
    : e
}
