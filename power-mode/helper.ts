// The helper of one session, for hosts whose plugins are programs of Node or Bun: started once, asked over its socket. Whatever it does not answer in time goes on without it.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { request } from 'node:http'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Answer = Record<string, unknown>
export type Program = { path: string; folder: string }

// Milliseconds that a result waits for its answer, where POPKIT_DOOR_MS says nothing else.
const WAIT_MS = 150
const PROTOCOL = 1
const MOST_STARTS = 4
const MOST_FAILURES = 3
const MOST_BYTES = 256_000_000
// A line of the helper's: a change of the conversation was asked for.
const COMPACT = 'compact'

/** The program `popkit`: the one that is named, the one that this file came with, or the one on the PATH. */
export function program(named: unknown): Program {
  const beside = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..', 'bin', 'popkit')
  const path = typeof named === 'string' && named !== '' ? named : existsSync(beside) ? beside : (onPath('popkit') ?? 'popkit')

  return { path, folder: dirname(path) }
}

function onPath(name: string): string | undefined {
  return (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, name)).find(existsSync)
}

export const sleep = (ms: number) => new Promise<undefined>(done => void setTimeout(() => done(undefined), ms).unref())

export class Helper {
  private socket: string | undefined
  private child: ChildProcess | undefined
  private coming: Promise<void> | undefined
  private isOff = false
  private starts = 0
  private failures = 0
  /** How often one has come: whoever has told an earlier one something tells it again. */
  generation = 0
  readonly rowMs: number

  /** `wanted`: called when a change of the conversation was asked for outside of it. `isJoined`: one that runs is asked, and none is started. */
  constructor(
    private readonly words: string[],
    private readonly path: string,
    private readonly how: { wanted?: () => void; isJoined?: boolean } = {},
  ) {
    const configured = Number(process.env.POPKIT_DOOR_MS)
    this.rowMs = configured > 0 ? configured : WAIT_MS
  }

  /** Starts it unless it is there, and waits so long for it at the most. */
  async ready(waitMs: number): Promise<boolean> {
    if (this.socket === undefined && this.coming === undefined && !this.isOff && this.starts < MOST_STARTS) {
      this.starts += this.how.isJoined ? 0 : 1
      this.failures = 0
      this.coming = this.start().catch(() => this.stop()).finally(() => (this.coming = undefined))
    }

    if (this.socket === undefined && this.coming !== undefined) {
      await Promise.race([this.coming, sleep(waitMs)])
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
    const answer = await posted(socket, path, JSON.stringify(asked), waitMs).catch(() => undefined)

    if (answer !== undefined) {
      this.failures = 0

      return answer
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

  private start(): Promise<void> {
    // Another host may have started this one: its project is not ours.
    const { CLAUDE_PROJECT_DIR: _, ...env } = process.env
    const child = spawn(this.path, ['serve', ...this.words, ...(this.how.isJoined ? ['--join'] : [])], { stdio: ['ignore', 'pipe', 'ignore'], env })
    this.child = child
    const output = child.stdout!
    let text = ''

    return new Promise((come, fail) => {
      const gone = () => {
        fail(new Error('it has ended'))

        if (this.child === child && !this.how.isJoined) {
          this.child = this.socket = undefined
        }
      }
      child.once('error', gone)
      // Who joins says where the other listens, and ends.
      child.once(this.how.isJoined ? 'close' : 'exit', gone)
      // The open pipe is its life, and keeps nobody else alive.
      child.unref()
      ;(output as unknown as { unref?(): void }).unref?.()
      output.setEncoding('utf8')
      output.on('data', (more: string) => {
        text += more

        for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
          this.heard(text.slice(0, at), come, fail)
          text = text.slice(at + 1)
        }
      })
    })
  }

  private heard(line: string, come: () => void, fail: (error: unknown) => void): void {
    if (this.socket !== undefined) {
      line === COMPACT && this.how.wanted?.()

      return
    }

    try {
      const said = JSON.parse(line) as { off?: boolean; protocol?: number; socket?: string; compact?: boolean }
      this.isOff = said.off === true

      if (said.protocol === PROTOCOL && typeof said.socket === 'string') {
        this.socket = said.socket
        this.generation += 1
        said.compact === true && this.how.wanted?.()
      }
      come()
    } catch (error) {
      fail(error)
    }
  }
}

/** The answer to a request, where it is a JSON object. */
function posted(socketPath: string, path: string, body: string, waitMs: number): Promise<Answer> {
  return new Promise((answered, fail) => {
    const asking = request({ socketPath, path, method: 'POST', headers: { 'content-length': Buffer.byteLength(body) } }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', fail)
      response.on('data', (more: string) => {
        text += more
        text.length > MOST_BYTES && asking.destroy(new Error('too long'))
      })
      response.on('end', () => {
        clearTimeout(timer)

        try {
          const answer: unknown = JSON.parse(text)
          const isObject = typeof answer === 'object' && answer !== null && !Array.isArray(answer)
          response.statusCode === 200 && isObject ? answered(answer as Answer) : fail(new Error('no answer'))
        } catch (error) {
          fail(error)
        }
      })
    })
    // Bun tells nobody that a request was destroyed.
    const timer = setTimeout(() => {
      fail(new Error('too late'))
      asking.destroy()
    }, waitMs)
    asking.on('error', error => {
      clearTimeout(timer)
      fail(error)
    })
    asking.end(body)
  })
}
