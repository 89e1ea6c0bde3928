// PopKit in OpenCode: a skin over PopKit's helper, which decides. What it does not answer in time goes on as it came.
import type { Hooks, Plugin } from '@opencode-ai/plugin'

import { program, type Answer } from '../helper'
import { Sessions } from './sessions'

// Milliseconds. A person waits for a command, and a summariser for what it should know.
const COMMAND_MS = 15_000
const TOAST_MS = 8_000
const COMMAND = 'popkit'
// OpenCode has no other way to end a command before the model is asked; the answer stands in the session by then.
const ANSWERED = 'PopKit has answered.'
// What a call has that might write a line of PopKit's into a file.
const OURS = /popkit restore | as in (?:your|the input of your) | in a row\]| lines?\]/

export const server: Plugin = async ({ client, directory }, options) => {
  const command = program(options?.command)
  const sessions = new Sessions(client, directory, command)
  const windows = new Map<string, number>()

  const hooks: Hooks = {
    dispose: () => sessions.end(),

    // The door: the result as it is stored, and sent from then on.
    'tool.execute.after': quietly(async ({ tool, sessionID, callID, args }, output) => {
      // An MCP server's answer comes as it is: its blocks are the result.
      const blocks = (output as unknown as { content?: unknown }).content
      const given = typeof output?.output === 'string' ? output.output : blocks
      const asked = { id: callID, tool, input: args, output: given, metadata: output?.metadata, cwd: directory }
      const entered = (await sessions.result(sessionID, asked))?.output

      if (typeof entered === 'string' && typeof output.output === 'string') {
        output.output = entered
      } else if (Array.isArray(entered) && Array.isArray(blocks)) {
        blocks.splice(0, blocks.length, ...entered)
      }
    }),

    // A call that would write a line of PopKit's into a file fails, and the model reads what that stands for.
    'tool.execute.before': async ({ tool, sessionID }, { args }) => {
      const why = OURS.test(Object.values(args ?? {}).join('\n')) ? await refused(sessionID, tool, args) : ''

      if (why !== '') {
        throw new Error(why)
      }
    },

    // A turn begins. What the model is told once stands behind the prompt from now on, and never changes.
    'chat.message': quietly(async ({ sessionID, model }, { message, parts }) => {
      const answer = await sessions.prompt(sessionID, model?.modelID, windows.get(sessionID))
      const last = parts.at(-1)

      if (typeof answer?.text === 'string' && last !== undefined) {
        const part = { id: `${last.id}z`, sessionID, messageID: message.id, type: 'text' as const, synthetic: true, text: answer.text }
        parts.push(part)
      }
    }),

    'chat.params': quietly(async ({ sessionID, model }) => {
      const window = model.limit.context

      if (windows.get(sessionID) !== window) {
        windows.set(sessionID, window)
        void sessions.tell(sessionID, { usage: { window } })
      }
    }),

    'experimental.session.compacting': quietly(async ({ sessionID }, output) => {
      const answer = await sessions.ask(sessionID, '/compacting', {}, COMMAND_MS)

      if (typeof answer?.text === 'string' && answer.text !== '') {
        output.context.push(answer.text)
      }
    }),

    'shell.env': quietly(async (_, output) => {
      output.env.PATH = `${command.folder}:${output.env.PATH ?? process.env.PATH ?? ''}`
    }),

    event: quietly(async ({ event }) => {
      if (event.type === 'message.updated' && event.properties.info.role === 'assistant' && event.properties.info.time.completed) {
        await sessions.done(event.properties.info)
      } else if (event.type === 'message.removed') {
        await sessions.tell(event.properties.sessionID, { removed: [event.properties.messageID] })
      } else if (event.type === 'session.compacted') {
        await sessions.ask(event.properties.sessionID, '/compacted', {}, COMMAND_MS)
      } else if (event.type === 'session.idle') {
        await idle(event.properties.sessionID)
      }
    }),

    config: quietly(async config => {
      config.command = { ...config.command, [COMMAND]: { template: '$ARGUMENTS', description: 'PopKit: what fills the context' } }
    }),

    'command.execute.before': async ({ command: name, sessionID, arguments: words }) => {
      if (name === COMMAND && (await answered(sessionID, words))) {
        throw new Error(ANSWERED)
      }
    },
  }

  /** After a turn: what somebody should know. */
  async function idle(sessionID: string): Promise<void> {
    const view = await sessions.ask(sessionID, '/view', { turn_ended: true, usage: { window: windows.get(sessionID) } }, COMMAND_MS)

    if (typeof view?.toast === 'string' && view.toast !== '') {
      await client.tui.showToast({ body: { title: 'PopKit', message: view.toast, variant: 'info', duration: TOAST_MS } })
    }
  }

  /** Why a call may not run; empty where it may. */
  async function refused(sessionID: string, tool: string, input: unknown): Promise<string> {
    try {
      const answer = await sessions.ask(sessionID, '/writing', { tool, input }, COMMAND_MS)

      return typeof answer?.refused === 'string' ? answer.refused : ''
    } catch {
      return ''
    }
  }

  /** Puts the answer to a command into the session, where people read it and the model does not. */
  async function answered(sessionID: string, words: string): Promise<boolean> {
    try {
      const answer = await sessions.ask(sessionID, '/command', { words }, COMMAND_MS)
      const text = typeof answer?.text === 'string' ? answer.text : 'PopKit does not answer. Run `popkit doctor` in a shell.'
      await client.session.prompt({ path: { id: sessionID }, body: { noReply: true, parts: [{ type: 'text', text, ignored: true }] } as never })

      return true
    } catch {
      return false
    }
  }

  return hooks
}

/** A hook that costs nobody anything when it fails. */
function quietly<Given extends unknown[]>(hook: (...given: Given) => Promise<void>): (...given: Given) => Promise<void> {
  return async (...given) => {
    try {
      await hook(...given)
    } catch {
      // The session goes on as it would without us.
    }
  }
}

export type { Answer }
export default { id: 'popkit', server }
