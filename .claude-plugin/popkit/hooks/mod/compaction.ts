// Compactions: the helper answers with what stays; what it does not answer is the client's own, with advice for its summariser.
import type { EngineEventOf, EngineInterface, Next } from 'claude-code'

import { ask, isExpected } from './helper'
import { MARK } from './own'
import { ended } from './panel'

type Compacting = EngineEventOf['session.compact']
type Row = Compacting['messages'][number]
type Summarise = Next<'session.compact'>
type Block = { type: string } & Record<string, unknown>

// Milliseconds: all that leaves is archived first. Without an answer the compaction is the client's own.
const WAIT_MS = 15_000
const TOAST_MS = 8_000
const NO_ANSWER = 'Claude Code compacts this time, not PopKit: its helper does not answer. popkit doctor says more.'

// Tools that ToolSearch had loaded before a compaction of ours.
const loaded = new Set<string>()
let isSilenceTold = false

/** Answers a compaction as the helper says, or as the client does itself. */
export async function compacted($: EngineInterface, e: Compacting, next: Summarise) {
  const own = e.instructions === MARK && e.trigger === 'manual' && e.agentId === undefined
  const isNow = e.trigger !== 'precompute'
  const rows = isNow ? e.messages.map(plain) : []
  const sent = isNow ? await asSent($, e) : undefined
  const request = { trigger: e.trigger, agent_id: e.agentId ?? '', instructions: e.instructions ?? '', own, rows, sent }
  const answer = await ask($, '/compact', request, WAIT_MS)

  if (answer === undefined && isNow && !own && e.agentId === undefined && isExpected() && !isSilenceTold) {
    isSilenceTold = true
    $.ui.toast(NO_ANSWER, { timeoutMs: TOAST_MS })
  }
  const { result, stood } = await taken($, e, next, answer ?? {}, own)

  if (stood) {
    keepLoaded($, answer?.loaded)
  }

  if (isNow && result.skip === undefined) {
    await ask($, '/compacted', { agent_id: e.agentId ?? '', stood }, WAIT_MS)
  }

  if (typeof answer?.notice === 'string' && e.agentId === undefined) {
    $.ui.toast(answer.notice, { timeoutMs: TOAST_MS })
    void ended($, answer.notice)
  }

  return result
}

/** Returns the answer to the client, and whether it is what the helper answered. */
async function taken($: EngineInterface, e: Compacting, next: Summarise, answer: Record<string, unknown>, own: boolean) {
  if (typeof answer.skip === 'string') {
    return { result: { skip: answer.skip }, stood: false }
  }

  if (own && !Array.isArray(answer.rows)) {
    return { result: { skip: 'PopKit does not answer' }, stood: false }
  }

  if (!Array.isArray(answer.rows)) {
    return { result: await next(await advised($, e)), stood: false }
  }
  const messages = answer.rows as Row[]
  const behind = Array.isArray(answer.behind) ? (answer.behind as Row[]) : []

  if (answer.hand_on !== true) {
    return { result: { messages }, stood: true }
  }

  try {
    const summary = await next(await advised($, { ...e, messages }))

    return summary.skip === undefined
      ? { result: { ...summary, messages: [...summary.messages, ...behind] }, stood: true }
      : { result: summary, stood: false }
  } catch (error) {
    // The window is full, and there is too little to sum up: the room that ours makes is better than nothing.
    if (e.trigger !== 'auto') {
      throw error
    }
    $.ui.log(`compaction: no summary: ${String(error).slice(0, 200)}`, { to: 'debug' })

    return { result: { messages: [...messages, ...behind] }, stood: true }
  }
}

/** Returns whether a compaction of ours must not take a tool away. */
export function isLoaded(tool: string): boolean {
  return loaded.has(tool)
}

/** Has the tools that ToolSearch had loaded stay in the list. The prompt begins anew behind a compaction: nothing of its cache is lost. */
function keepLoaded($: EngineInterface, names: unknown): void {
  if (Array.isArray(names) && names.length > 0) {
    names.forEach(name => loaded.add(String(name)))
    $.ui.invalidate('tool.describe')
  }
}

/** Returns the conversation as the next request would send it; undefined where the client does not say. What stands in the rows as it is
 * sent is not handed over twice, and of thinking only that it is there. */
async function asSent($: EngineInterface, e: Compacting) {
  const texts = new Map(e.messages.flatMap(row => (row.toolResults ?? []).map(result => [result.tool_use_id, result.text] as const)))
  const calls = new Set(e.messages.flatMap(row => row.toolUses.map(use => use.tool_use_id)))

  try {
    const sent = await $.session.messages(e.agentId === undefined ? { as: 'api' } : { as: 'api', agentId: e.agentId })

    return Array.isArray(sent) ? sent.map(({ role, content }) => ({ role, content: content.map(block => bare(block, texts, calls)) })) : undefined
  } catch (error) {
    $.ui.log(`compaction: not as it is sent: ${String(error).slice(0, 200)}`, { to: 'debug' })

    return undefined
  }
}

/** Returns a block without what its row has. */
function bare({ type, ...fields }: Block, texts: Map<string, string>, calls: Set<string>) {
  if (type === 'thinking' || type === 'redacted_thinking') {
    return { type }
  }

  if (type === 'tool_result' && fields.content !== undefined && texts.get(String(fields.tool_use_id)) === fields.content) {
    return { type, ...fields, content: undefined, as_row: true }
  }

  return type === 'tool_use' && calls.has(String(fields.id)) ? { type, ...fields, input: undefined, as_row: true } : { type, ...fields }
}

/** Returns a message as the helper takes it. */
function plain(row: Row) {
  return {
    role: row.role,
    text: row.text,
    toolUses: row.toolUses.map(({ tool_use_id, tool, input }) => ({ tool_use_id, tool, input })),
    toolResults: (row.toolResults ?? []).map(({ tool_use_id, text, isError }) => ({ tool_use_id, text, isError })),
  }
}

/** Returns a compaction for the summariser: with what the helper says, behind its own instructions. */
async function advised($: EngineInterface, e: Compacting): Promise<Compacting> {
  const answer = e.agentId === undefined && e.trigger !== 'precompute' ? await ask($, '/compacting', {}, WAIT_MS) : undefined
  const text = answer?.text

  return typeof text === 'string' && text !== ''
    ? { ...e, instructions: e.instructions === undefined ? text : `${e.instructions}\n\n${text}` }
    : e
}
