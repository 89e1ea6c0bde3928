// The door: what a result row says when it enters. A row that the helper does not answer in time goes on as it came.
import type { EngineEventOf, EngineInterface } from 'claude-code'

import { ask, end, ready, sleeps, usage } from './helper'
import { redactedWords } from './redact'

type Row = EngineEventOf['session.append']
type Called = { tool: string; input: Record<string, unknown>; redacted?: Record<string, string> }
type Entering = { row: Row; agentId: string; unanswered: string[] }

// Calls whose results have not come: so many are never open at once.
const MOST_CALLS = 256
const calls = new Map<string, Called>()
// Of a helper that slept until the first call.
let waking: Promise<void> | undefined
// The newest result row of the main thread: where it no longer anchors, something was taken back.
let anchor: string | undefined

/** Keeps what a tool was called with until its result comes. What the client would mask of it is found while the tool runs: no row waits. */
export function remember($: EngineInterface, e: EngineEventOf['tool.call']): void {
  const { tool, tool_use_id: id, agentId, requestMeta, ...input } = e as Record<string, unknown> & { tool: string; tool_use_id: string }
  const called: Called = { tool, input }
  calls.set(id, called)
  void redactedWords($, input).then(found => {
    called.redacted = found
  })

  for (const oldest of calls.keys()) {
    if (calls.size <= MOST_CALLS) {
      break
    }
    calls.delete(oldest)
  }
}

/** Wakes the helper for the first call, before it runs: hooks ask it which data rules apply, and its result wants an answer. */
export async function wake($: EngineInterface): Promise<void> {
  if (sleeps()) {
    waking = ready($).then(() => reportResults($))
  }
  await waking
  waking = undefined
}

/** Returns the row as it enters. */
export async function enter($: EngineInterface, row: Row): Promise<Entering> {
  const agentId = row.agentId ?? ''
  const ids = row.message.content.flatMap(block => (block.type === 'tool_result' ? [String(block.tool_use_id)] : []))
  const called = Object.fromEntries(ids.flatMap(id => (calls.has(id) ? [[id, calls.get(id)]] : [])))
  ids.forEach(id => calls.delete(id))
  const answer = await ask($, '/row', { uuid: row.uuid, agent_id: agentId, message: row.message, calls: called })
  const content = answer?.content

  return {
    row: Array.isArray(content) ? { ...row, message: { ...row.message, content } } : row,
    agentId,
    unanswered: answer === undefined ? ids : [],
  }
}

/** Tells the helper of results that entered as they came because its answer was late. */
export async function late($: EngineInterface, entering: Entering): Promise<void> {
  if (entering.unanswered.length > 0) {
    await ask($, '/late', { agent_id: entering.agentId, ids: entering.unanswered })
  }
}

/** Remembers the newest row of the main thread. */
export function landed(row: Row): void {
  anchor = row.agentId === undefined ? row.uuid : anchor
}

/** Tells the helper which results are still in the main thread, where some were taken back since the last turn. A helper whose code has
 * been replaced makes room for a new one. */
export async function reportResults($: EngineInterface): Promise<void> {
  const since = anchor === undefined ? [] : await $.session.messages({ after: anchor })

  if (!('deny' in since)) {
    await begin($, {})

    return
  }
  const rows = await $.session.messages()
  const ids = rows.flatMap(row => (row.toolResults ?? []).map(result => result.tool_use_id))
  anchor = undefined
  await begin($, { ids })
}

async function begin($: EngineInterface, results: { ids?: string[] }): Promise<void> {
  const turn = { agent_id: '', ...results, usage: await usage($) }

  if ((await ask($, '/rows', turn))?.outdated === true) {
    await end($)
    await ready($)
    await ask($, '/rows', turn)
  }
}
