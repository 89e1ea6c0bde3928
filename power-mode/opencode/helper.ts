// The helper of one session: started once, asked over its socket. Whatever it does not answer in time goes on without it.
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Answer = Record<string, unknown>
export type Program = { path: string; folder: string }

// Milliseconds that a result waits for its answer, where POPKIT_DOOR_MS says nothing else.
const WAIT_MS = 150
const PROTOCOL = 1
const MOST_STARTS = 4
const MOST_FAILURES = 3

/** The program `popkit`: the one that is named, the one that this file came with, or the one on the PATH. */
export function program(named: unknown): Program {
  const beside = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..', '..', 'bin', 'popkit')
  const path = typeof named === 'string' && named !== '' ? named : existsSync(beside) ? beside : (onPath('popkit') ?? 'popkit')

  return { path, folder: dirname(path) }
}

function onPath(name: string): string | undefined {
  return (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, name)).find(existsSync)
}

export class Helper {
  private socket: string | undefined
  private child: ReturnType<typeof Bun.spawn> | undefined
  private coming: Promise<void> | undefined
  private isOff = false
  private starts = 0
  private failures = 0
  /** How often one has come: whoever has told an earlier one something tells it again. */
  generation = 0
  readonly rowMs: number

  /** `isJoined`: one that runs is asked, and none is started. */
  constructor(private readonly words: string[], private readonly path: string, private readonly isJoined = false) {
    const configured = Number(process.env.POPKIT_DOOR_MS)
    this.rowMs = configured > 0 ? configured : WAIT_MS
  }

  /** Starts it unless it is there, and waits so long for it at the most. */
  async ready(waitMs: number): Promise<boolean> {
    if (this.socket === undefined && this.coming === undefined && !this.isOff && this.starts < MOST_STARTS) {
      this.starts += this.isJoined ? 0 : 1
      this.failures = 0
      this.coming = this.start().catch(() => this.stop()).finally(() => (this.coming = undefined))
    }

    if (this.socket === undefined && this.coming !== undefined) {
      await Promise.race([this.coming, Bun.sleep(waitMs)])
    }

    return this.socket !== undefined
  }

  /** What it answers; undefined when it is absent, later than `waitMs`, or wrong. */
  async ask(path: string, asked: Answer, waitMs = this.rowMs): Promise<Answer | undefined> {
    const socket = this.socket

    if (socket === undefined) {
      void this.ready(0)

      return undefined
    }

    try {
      const signal = AbortSignal.timeout(waitMs)
      const response = await fetch(`http://popkit${path}`, { method: 'POST', body: JSON.stringify(asked), unix: socket, signal })
      const answer: unknown = await response.json()

      if (response.ok && typeof answer === 'object' && answer !== null && !Array.isArray(answer)) {
        this.failures = 0

        return answer as Answer
      }
    } catch {
      // Too late, gone, or no JSON: all the same to who asked.
    }
    this.failures += 1

    if (this.failures >= MOST_FAILURES && this.socket === socket) {
      this.stop()
      void this.ready(0)
    }

    return undefined
  }

  /** Ends it, once it has done what it put off; one that has not come yet is stopped. */
  async end(waitMs: number): Promise<void> {
    this.starts = MOST_STARTS

    if (this.socket === undefined) {
      this.stop()
    } else {
      await this.ask('/end', {}, waitMs)
    }
  }

  private stop(): void {
    this.child?.kill()
    this.child = this.socket = undefined
  }

  private async start(): Promise<void> {
    // Another host may have started this one: its project is not ours.
    const env = { ...process.env, CLAUDE_PROJECT_DIR: undefined }
    const child = Bun.spawn([this.path, 'serve', ...this.words, ...(this.isJoined ? ['--join'] : [])], { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore', env })
    child.unref()
    this.child = child
    const output = child.stdout.getReader()
    const decoder = new TextDecoder()
    let line = ''

    while (!line.includes('\n')) {
      const { value, done } = await output.read()

      if (done) {
        throw new Error('it said nothing')
      }
      line += decoder.decode(value, { stream: true })
    }
    const answer = JSON.parse(line.slice(0, line.indexOf('\n'))) as { off?: boolean; protocol?: number; socket?: string }
    this.isOff = answer.off === true

    if (answer.protocol === PROTOCOL && typeof answer.socket === 'string') {
      this.socket = answer.socket
      this.generation += 1

      if (!this.isJoined) {
        // The open pipe is its life: it ends once nobody holds the other end.
        void output.read().finally(() => this.gone(child))
      }
    }
  }

  private gone(child: unknown): void {
    if (this.child === child) {
      this.child = this.socket = undefined
    }
  }
}
