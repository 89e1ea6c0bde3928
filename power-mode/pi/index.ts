// PopKit in pi: a skin over PopKit's helper, which decides. What it does not answer in time goes on as it came.
import { delimiter } from 'node:path'

import type { ExtensionAPI, ExtensionContext, ToolResultEvent } from '@earendil-works/pi-coding-agent'

import { program } from '../helper.ts'
import { Batch } from './batch.ts'
import { COMMAND_MS, OURS, Session, editsOf, quietly } from './session.ts'

// What a call has that might write a line of PopKit's into a file.
const LINES = /popkit restore | as in (?:your|the input of your) | in a row\]| lines?\]/
// Columns that pi leaves empty beside what it notes.
const AROUND_COLUMNS = 2
// Until the line is drawn again: while the cache is warm, and once it is cold.
const LOOK_MS = 60_000
const SETTLED_MS = 500
const SILENT = 'PopKit does not answer. Run `popkit doctor` in a shell.'

type Content = ToolResultEvent['content']

export default function popkit(pi: ExtensionAPI): void {
  const command = program(process.env.POPKIT_COMMAND)
  const batch = new Batch()
  let session: Session | undefined
  let nextLook: NodeJS.Timeout | undefined

  pi.on('session_start', (_event, ctx) => {
    process.env.PATH = [command.folder, ...(process.env.PATH ?? '').split(delimiter).filter(one => one !== command.folder)].join(delimiter)
    session = new Session(pi, ctx, command)
  })

  pi.on('session_shutdown', () => {
    clearTimeout(nextLook)

    return quietly(async () => session?.end())
  })

  // A turn begins. What the model is told once stands behind the prompt from now on, and never changes.
  pi.on('before_agent_start', () =>
    quietly(async () => {
      const text = (await session?.prompt()) ?? ''

      return text === '' ? undefined : { message: { customType: OURS, content: text, display: false } }
    }),
  )

  pi.on('tool_execution_start', event => void (event.parentToolCallId === undefined && batch.begin(event.toolCallId)))
  pi.on('tool_execution_end', event => batch.end(event.toolCallId))

  // The door: the result as it is stored, and sent from then on. A result that a script gets never reaches the model.
  pi.on('tool_result', (event, ctx) =>
    quietly(async () => {
      if (event.parentToolCallId !== undefined || session === undefined) {
        return undefined
      }
      const { toolCallId: id, toolName: tool, input, isError: failed } = event
      await batch.before(id, ctx.signal)
      const entered = await session.result({ id, tool, input, failed, output: given(event.content), cwd: ctx.cwd })

      if (typeof entered === 'string') {
        return { content: [{ type: 'text' as const, text: entered }] }
      }

      return Array.isArray(entered) ? { content: taken(entered, event.content) } : undefined
    }),
  )

  // A call that would write a line of PopKit's into a file fails, and the model reads what that stands for.
  pi.on('tool_call', event =>
    quietly(async () => {
      if (session === undefined || !LINES.test(JSON.stringify(event.input))) {
        return undefined
      }
      const answer = await session.ask('/writing', { tool: event.toolName, input: event.input })

      return typeof answer?.refused === 'string' ? { block: true, reason: answer.refused } : undefined
    }),
  )

  pi.on('before_provider_request', event => {
    const type = (event.payload as { thinking?: { type?: unknown } } | undefined)?.thinking?.type

    if (session !== undefined) {
      session.thinking = typeof type === 'string' ? type : ''
    }
  })

  pi.on('turn_start', () => batch.clear())
  pi.on('turn_end', () => quietly(async () => session?.sync()).then(() => undefined))
  pi.on('session_tree', () => quietly(async () => session?.sync()))

  // A compaction without a model: pi keeps every entry, and shows of the dead ones what PopKit leaves.
  pi.on('session_before_compact', (event, ctx) =>
    quietly(async () => {
      const trigger = event.reason === 'manual' ? 'manual' : 'auto'
      const answer = await session?.compaction({ trigger, instructions: event.customInstructions })
      const edits = editsOf(answer)
      tell(ctx, answer?.notice)

      if (session === undefined || edits.length === 0 || event.signal.aborted || typeof answer?.summary !== 'string') {
        return undefined
      }
      session.isEdited = true
      session.edit(edits)
      const { summary, first } = answer as { summary: string; first: string }

      return { compaction: { summary, firstKeptEntryId: first, tokensBefore: event.preparation.tokensBefore, details: { [OURS]: edits.length } } }
    }),
  )

  pi.on('session_compact', event =>
    quietly(async () => {
      const details = event.compactionEntry.details as { [OURS]?: number } | undefined
      await compacted(event.fromExtension && details?.[OURS] !== undefined)
    }),
  )

  pi.on('session_compact_failed', () => quietly(async () => (session?.isEdited ? compacted(false) : undefined)))

  async function compacted(stood: boolean): Promise<void> {
    if (session !== undefined) {
      session.isEdited = false
      await session.sync()
      await session.ask('/compacted', { stood })

      if (!stood) {
        await session.mend()
      }
    }
  }

  // After a turn: what somebody should know, and what was asked for while pi was at work.
  pi.on('agent_settled', (_event, ctx) =>
    quietly(async () => {
      await draw(ctx, true)
      await session?.change()
    }),
  )

  /** Draws what to do now and the status line, again as the cache cools. */
  async function draw(ctx: ExtensionContext, turnEnded: boolean): Promise<void> {
    clearTimeout(nextLook)
    const view = await session?.ask('/view', { turn_ended: turnEnded })
    tell(ctx, view?.toast)

    if (!ctx.hasUI || typeof view?.line !== 'string') {
      return
    }
    const band = view.band as { text?: string } | null | undefined
    ctx.ui.setStatus(OURS, `PopKit: ${view.line}`)
    ctx.ui.setWidget(OURS, band?.text === undefined ? undefined : [`PopKit: ${band.text} (/popkit clear)`])
    const left = typeof view.cache_until === 'number' ? view.cache_until - Date.now() : 0

    if (left > 0) {
      nextLook = setTimeout(() => void quietly(() => draw(ctx, false)), Math.min(LOOK_MS, left + SETTLED_MS))
      nextLook.unref()
    }
  }

  pi.registerCommand(OURS, {
    description: 'PopKit: what fills the context',
    handler: async (words, ctx) => {
      const answer = await quietly(async () => session?.ask('/command', { words, columns: columns(ctx) }, COMMAND_MS))
      ctx.ui.notify(typeof answer?.text === 'string' ? answer.text.replace(/^\n+/, '') : SILENT, 'info')
      await quietly(async () => session?.change())
    },
  })
}

/** How wide a terminal is; undefined where there is none. */
function columns(ctx: ExtensionContext): number | undefined {
  return ctx.mode === 'tui' ? process.stdout.columns - AROUND_COLUMNS : undefined
}

function tell(ctx: ExtensionContext, notice: unknown): void {
  if (ctx.hasUI && typeof notice === 'string' && notice !== '') {
    ctx.ui.notify(notice, 'info')
  }
}

/** A content as the helper takes it: one text, or blocks whose pictures are marked by their place. */
function given(content: Content): unknown {
  const [first, ...rest] = content

  if (first?.type === 'text' && rest.length === 0) {
    return first.text
  }

  return content.map((block, at) => (block.type === 'text' ? { type: 'text', text: block.text } : { type: 'image', at }))
}

/** The content that enters, its pictures in their places again. */
function taken(entered: unknown[], content: Content): Content {
  return (entered as ({ type: string; at?: number } & Content[number])[]).map(block => (block.type === 'image' ? content[block.at ?? -1]! : block))
}
