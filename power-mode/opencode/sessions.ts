// The sessions of this process: a helper for each, which also answers for the subagents below it, and is told what was said in order.
import type { PluginInput } from '@opencode-ai/plugin'

import { Helper, sleep, type Answer, type Program } from '../helper'

type Client = PluginInput['client']
type Done = { id: string; sessionID: string; parentID?: string }
type Place = { helper: Helper; root: string; agentId: string }

// Milliseconds that a turn waits for its helper to come, and that it has for what need not be answered at once.
const TURN_WAIT_MS = 1_000
const TELL_MS = 5_000

export class Sessions {
  private readonly helpers = new Map<string, Helper>()
  private readonly roots = new Map<string, Promise<string>>()
  // What is told one after the other, by session; and which helper has been told all that the session held.
  private readonly pending = new Map<string, Promise<unknown>>()
  private readonly handedOver = new Map<string, number>()

  constructor(private readonly client: Client, private readonly directory: string, private readonly program: Program) {}

  /** What enters of a result; undefined for all of it. */
  async result(sessionID: string, asked: Answer): Promise<Answer | undefined> {
    const { helper, agentId } = await this.place(sessionID)
    const answer = await helper.ask('/result', { ...asked, agent_id: agentId })

    if (answer === undefined) {
      void helper.ask('/late', { agent_id: agentId, ids: [asked.id] })
    }

    return answer
  }

  /** Begins a turn; what the model is to be told. */
  async prompt(sessionID: string, model: string | undefined, window: number | undefined): Promise<Answer | undefined> {
    const { helper, agentId } = await this.place(sessionID)

    const waitMs = Math.max(TURN_WAIT_MS, helper.rowMs)

    if (!(await helper.ready(waitMs))) {
      return undefined
    }
    let isLate = false
    const asking = this.inOrder(sessionID, async () => {
      await this.tellAll(sessionID)

      // What the helper says once is asked for only while somebody waits for it.
      return isLate ? undefined : helper.ask('/prompt', { agent_id: agentId, model, usage: { window } }, waitMs)
    })
    const answer = await Promise.race([asking, sleep(waitMs)])
    isLate = true

    return answer
  }

  /** Tells of an answer that is done, and of what it answers. */
  async done(info: Done): Promise<void> {
    await this.inOrder(info.sessionID, async () => {
      if (!(await this.tellAll(info.sessionID))) {
        const ids = info.parentID === undefined ? [info.id] : [info.parentID, info.id]
        const messages = await Promise.all(ids.map(id => this.message(info.sessionID, id)))
        await this.hand(info.sessionID, { messages: messages.filter(message => message !== undefined) })
      }
    })
  }

  async tell(sessionID: string, messages: Answer): Promise<void> {
    await this.inOrder(sessionID, () => this.hand(sessionID, messages))
  }

  async ask(sessionID: string, path: string, asked: Answer, waitMs: number): Promise<Answer | undefined> {
    const { helper, agentId } = await this.place(sessionID)
    await helper.ready(TURN_WAIT_MS)
    await this.inOrder(sessionID, () => this.tellAll(sessionID))

    return helper.ask(path, { ...asked, agent_id: agentId }, waitMs)
  }

  async end(): Promise<void> {
    await Promise.race([Promise.allSettled(this.pending.values()), sleep(TURN_WAIT_MS)])
    await Promise.allSettled([...this.helpers.values()].map(helper => helper.end(TURN_WAIT_MS)))
  }

  /** Hands over all that a session holds, once to each helper that comes; whether it did now. */
  private async tellAll(sessionID: string): Promise<boolean> {
    const { helper } = await this.place(sessionID)

    if (helper.generation === 0 || this.handedOver.get(sessionID) === helper.generation) {
      return false
    }
    this.handedOver.set(sessionID, helper.generation)
    const messages = (await this.client.session.messages({ path: { id: sessionID } })).data ?? []
    await this.hand(sessionID, { messages, all: true })

    return true
  }

  private async hand(sessionID: string, messages: Answer): Promise<void> {
    const { helper, agentId } = await this.place(sessionID)
    await helper.ask('/messages', { ...messages, agent_id: agentId }, TELL_MS)
  }

  private async message(id: string, messageID: string): Promise<unknown> {
    return (await this.client.session.message({ path: { id, messageID } })).data
  }

  private inOrder<Done>(sessionID: string, work: () => Promise<Done>): Promise<Done> {
    const next = (this.pending.get(sessionID) ?? Promise.resolve()).then(work, work)
    this.pending.set(sessionID, next.catch(() => undefined))

    return next
  }

  private async place(sessionID: string): Promise<Place> {
    const root = await this.rootOf(sessionID)
    let helper = this.helpers.get(root)

    if (helper === undefined) {
      helper = new Helper(['--session', root, '--cwd', this.directory], this.program.path)
      this.helpers.set(root, helper)
    }

    return { helper, root, agentId: sessionID === root ? '' : sessionID }
  }

  /** The session that a person began, of which a subagent's is part. */
  private rootOf(sessionID: string): Promise<string> {
    const known = this.roots.get(sessionID)

    if (known !== undefined) {
      return known
    }
    const found = this.client.session
      .get({ path: { id: sessionID } })
      .then(({ data }) => (data?.parentID === undefined ? sessionID : this.rootOf(data.parentID)))
      .catch(() => sessionID)
    this.roots.set(sessionID, found)

    return found
  }
}
