// One session of pi: its helper, what that has been told of the session's tree, and the edits by which the conversation changes in place.
import type { ExtensionAPI, ExtensionContext, SessionEntry, SessionManager } from '@earendil-works/pi-coding-agent'

import { Helper, sleep, type Answer, type Program } from '../helper.ts'

export type Edit = { id: string; content: unknown[] | null }

// Milliseconds that a turn waits for its helper to come, that it has for what need not be answered at once, and a person for an answer.
const TURN_WAIT_MS = 1_000
const TELL_MS = 5_000
export const COMMAND_MS = 15_000
// `customType` of what this extension leaves in the session: behind its edits, and of what it tells the model.
export const OURS = 'popkit'
// Before pi's id of a session, by which PopKit tells its sessions from those of other hosts.
const PREFIX = 'pi_'

export class Session {
  private readonly helper: Helper
  private readonly told = new Set<string>()
  private toldGeneration = 0
  private leaf = ''
  private pending: Promise<unknown> = Promise.resolve()
  /** Whether a change of the conversation waits for the session to be idle. */
  isWanted = false
  /** How the newest request has its model think, in Anthropic's words; "" where it does not say. */
  thinking = ''
  /** Whether the edits of a compaction were made that pi has yet to finish. */
  isEdited = false

  constructor(private readonly pi: ExtensionAPI, private readonly ctx: ExtensionContext, program: Program) {
    const words = ['--session', PREFIX + ctx.sessionManager.getSessionId(), '--cwd', ctx.cwd]
    const wanted = () => {
      this.isWanted = true
      void quietly(() => this.change())
    }
    this.helper = new Helper(words, program.path, { wanted })
  }

  /** What enters of a result; undefined for all of it. */
  async result(asked: Answer): Promise<unknown> {
    const answer = await this.helper.ask('/result', asked)

    if (answer === undefined) {
      void this.helper.ask('/late', { ids: [asked.id] })
    }

    return answer?.output
  }

  /** Begins a turn; what the model is to be told. */
  async prompt(): Promise<string> {
    const waitMs = Math.max(TURN_WAIT_MS, this.helper.rowMs)

    if (!(await this.helper.ready(waitMs))) {
      return ''
    }
    let isLate = false
    const asking = this.inOrder(async () => {
      await this.tell()

      // What the helper says once is asked for only while somebody waits for it.
      return isLate ? undefined : this.helper.ask('/prompt', { model: this.ctx.model?.id, usage: this.usage() }, waitMs)
    })
    const answer = await Promise.race([asking, sleep(waitMs)])
    isLate = true

    return typeof answer?.text === 'string' ? answer.text : ''
  }

  /** Tells of what the session's branch holds that was not told before. */
  sync(): Promise<void> {
    return this.inOrder(() => this.tell())
  }

  async ask(path: string, asked: Answer = {}, waitMs = COMMAND_MS): Promise<Answer | undefined> {
    await this.helper.ready(TURN_WAIT_MS)
    await this.sync()
    const answer = await this.helper.ask(path, { ...asked, usage: this.usage() }, waitMs)

    if (answer?.compact === true) {
      this.isWanted = true
    }

    return answer
  }

  /** The answer to a compaction: its edits, where PopKit has one. Nothing is changed yet. */
  async compaction(asked: Answer): Promise<Answer | undefined> {
    return this.canEdit() ? this.ask('/compact', { ...asked, thinking: this.thinking, entries: this.shown() }) : undefined
  }

  /** Does what was asked for outside of a compaction of pi's, once the session is idle; what the person is to hear. */
  async change(): Promise<void> {
    if (!this.isWanted || !this.ctx.isIdle()) {
      return
    }
    this.isWanted = false
    const answer = await this.compaction({ trigger: 'manual', own: true })
    const edits = editsOf(answer)

    if (edits.length > 0) {
      this.edit(edits)
      this.pi.appendEntry(OURS, { edits: edits.length })
      await this.sync()
      await this.ask('/compacted', { stood: true })
    }

    if (typeof answer?.notice === 'string') {
      this.ctx.ui.notify(answer.notice, 'info')
    }
    await this.change()
  }

  /** Makes results whole again whose references a compaction of pi's own has taken away. */
  async mend(): Promise<void> {
    if (this.canEdit()) {
      this.edit(editsOf(await this.ask('/mend', { thinking: this.thinking, entries: this.shown() })))
    }
  }

  edit(edits: Edit[]): void {
    const manager = this.ctx.sessionManager as SessionManager

    for (const { id, content } of edits) {
      manager.appendContextEdit(id, content === null ? null : { content: content as never })
    }
  }

  async end(): Promise<void> {
    await Promise.race([this.pending, sleep(TURN_WAIT_MS)])
    await this.helper.end(Math.max(TURN_WAIT_MS, this.helper.rowMs))
  }

  usage(): Answer {
    return { window: this.ctx.model?.contextWindow }
  }

  /** pi's types offer no edits outside of a turn's end. */
  private canEdit(): boolean {
    return typeof (this.ctx.sessionManager as Partial<SessionManager>).appendContextEdit === 'function'
  }

  /** What the model is shown, an entry at a time; beside it what was said, where an edit has replaced that. */
  private shown(): Answer[] {
    return this.ctx.sessionManager.buildSessionProjection().entries.flatMap(({ sourceEntry, messages }) => {
      const raw = sourceEntry.type === 'message' ? sourceEntry.message : undefined
      const shown = messages.find(message => message.role !== 'system')

      if (raw?.role === 'system' || (raw === undefined && shown === undefined)) {
        return []
      }

      return [{ id: sourceEntry.id, shown: shown ?? null, ...(raw !== undefined && raw !== shown ? { raw } : {}) }]
    })
  }

  /** Hands over what is new; all of the branch to a helper that has just come, and where pi has gone to another branch. */
  private async tell(): Promise<void> {
    const branch = this.ctx.sessionManager.getBranch()
    const isFirst = this.helper.generation === 0 || this.toldGeneration !== this.helper.generation
    const isOther = this.leaf !== '' && !branch.some(entry => entry.id === this.leaf)

    if (this.helper.generation === 0) {
      return
    }
    const isAll = isFirst || isOther
    const ids = new Set(branch.map(entry => entry.id))
    const removed = isOther ? [...this.told].filter(id => !ids.has(id)) : []
    const entries: SessionEntry[] = isAll ? branch : branch.filter(entry => !this.told.has(entry.id))

    if (entries.length === 0 && removed.length === 0) {
      return
    }
    const answer = await this.helper.ask('/messages', { messages: entries, all: isAll, removed, model: this.ctx.model?.id, usage: this.usage() }, TELL_MS)

    if (answer !== undefined) {
      this.toldGeneration = this.helper.generation
      removed.forEach(id => this.told.delete(id))
      entries.forEach(({ id }) => this.told.add(id))
      this.leaf = branch.at(-1)?.id ?? ''
    }
  }

  private inOrder<Done>(work: () => Promise<Done>): Promise<Done> {
    const next = this.pending.then(work, work)
    this.pending = next.catch(() => undefined)

    return next
  }
}

export function editsOf(answer: Answer | undefined): Edit[] {
  return Array.isArray(answer?.edits) ? (answer.edits as Edit[]) : []
}

/** Does something that costs nobody anything when it fails: the session goes on as it would without us. */
export async function quietly<Done>(work: () => Promise<Done>): Promise<Done | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}
