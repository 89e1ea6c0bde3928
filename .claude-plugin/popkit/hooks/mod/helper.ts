// The helper: started once a session, asked over its socket. Whatever it does not answer in time goes on without it. Where nobody is at the
// prompt, nothing is started until a tool is called or a second turn begins.
import type { EngineInterface } from 'claude-code'

import { startOwn } from './own'

// Milliseconds that a row waits for its answer, where POPKIT_DOOR_MS says nothing else, and that a turn waits for the helper to come.
const WAIT_MS = 150
const TURN_WAIT_MS = 1_000
// The client goes on without a list of tools that takes longer than 10 s.
const LIST_MS = 9_000
const BREAKDOWN_MS = 5_000
// However patient who asks is: what was not asked yet can be asked elsewhere.
const START_MS = 5_000
// A helper comes within a tenth of a second, and whoever asks waits for it; another session is nobody's wait.
const POLL_MS = 10
const TURN_TO_POLL_MS = 50
// What was noted while the session did not run is done before the first request; what takes longer is done behind it.
const NOTED_MS = 15_000
// So long the client may take to turn to another session: to load a long one on a busy machine takes it a while.
const TURN_TO_MS = 120_000
const PROTOCOL = 1
// So much the client sends at once, and takes of an answer. A conversation that fills a window of a million tokens is longer.
const MOST_CHARS = 4 * 1024 * 1024
const MOST_STARTS = 4
const MOST_FAILURES = 3
/** A question that nobody waits for is asked again, this much later and so often: a helper that is slow once must not cost the answer. */
export const AGAIN_MS = 10_000
export const MOST_AGAIN = 3

/** `begun`: the compaction that it asked for as it came. */
type Helper = { socket: string; session: string; stop: () => unknown; begun?: Promise<void> }
type Answer = Record<string, unknown>
/** Names of tools, or how these begin where that ends in `__`. */
type Out = { hidden: string[]; deferred: string[] }

// The line by which the helper calls. A question that waits for that would keep a client from ending.
const CALL = 'compact'

let helper: Helper | undefined
// The session whose breakdown was handed over, and the tools that are taken out of it.
let weighed = ''
let out: Out | undefined
// Tools that a thread was shown, and that leave it at once.
let leaving: string[] = []
// The start that is under way.
let starting: { session: string } | undefined
let isOff = false
// Nothing has asked for the helper of this session yet.
let isAsleep = false
let starts = 0
let failures = 0
let asked = 0
let rowMs = WAIT_MS

/** Starts the helper as a session begins, or lets it sleep: one for which nobody waits, which has no results, is often over without any. */
export async function begin($: EngineInterface, isInteractive: boolean): Promise<void> {
  try {
    isAsleep = !isInteractive && helper === undefined && (await $.session.messages()).length === 0
  } catch (error) {
    $.ui.log(`helper: does not sleep: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }

  if (!isAsleep) {
    await start($)
  }
}

/** Returns whether nothing has asked for the helper of this session yet. */
export function sleeps(): boolean {
  return isAsleep
}

/** Has whatever comes next start the helper: the session is more than one question. */
export function stopSleeping(): void {
  isAsleep = false
}

/** Starts the helper of this session unless it is there, or has failed too often. */
export async function start($: EngineInterface): Promise<void> {
  isAsleep = false
  const session = await $.session.id()

  if (helper !== undefined && helper.session !== session) {
    await end($)
  }

  if (helper !== undefined || starting?.session === session || isOff || starts >= MOST_STARTS) {
    return
  }
  const attempt = { session }
  starting = attempt
  starts += 1
  failures = 0

  try {
    const configured = Number(await $.env.get('POPKIT_DOOR_MS'))
    rowMs = configured > 0 ? configured : WAIT_MS
    const { transcriptPath } = await $.session.info()
    const root = await $.session.root()
    void attend($, attempt, ['--session', session, '--transcript', transcriptPath ?? '', '--cwd', root])
  } catch (error) {
    // A client that lacks any of these has no helper, and waits for none.
    if (starting === attempt) {
      starting = undefined
    }
    isOff = true
    $.ui.log(`helper: is not for this client: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }
}

/** Starts the helper and waits a little for it: a turn without it says everything twice. */
export async function ready($: EngineInterface): Promise<void> {
  await start($)
  await come($, Math.max(TURN_WAIT_MS, rowMs))
}

/** Waits, in a resumed session, until the helper has done what was noted for it. */
export async function resumed($: EngineInterface): Promise<void> {
  try {
    if ((await $.session.messages()).length > 0) {
      await come($, Math.max(START_MS, rowMs))
      await Promise.race([helper?.begun, $.clock.sleep(NOTED_MS)])
    }
  } catch (error) {
    $.ui.log(`helper: did not wait: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }
}

/** Starts the helper of the session that takes the place of an ended one. */
export async function follow($: EngineInterface, ended: string): Promise<void> {
  for (let waited = 0; (await $.session.id()) === ended && waited < TURN_TO_MS; waited += TURN_TO_POLL_MS) {
    await $.clock.sleep(TURN_TO_POLL_MS)
  }
  await start($)
}

/** Ends the helper. The next one has all its tries again. */
export async function end($: EngineInterface): Promise<void> {
  const gone = helper
  starts = 0
  starting = undefined
  out = undefined
  leaving = []

  if (gone !== undefined) {
    await ask($, '/end', {})
    helper = undefined
    void gone.stop()
  }
}

/** Returns whether a helper should be there to answer: it is not switched off. */
export function isExpected(): boolean {
  return !isOff
}

/** Returns the helper's answer; undefined when it is absent, later than `patienceMs`, or wrong. A row has no patience: it waits for no start. */
export async function ask($: EngineInterface, path: string, body: Answer, patienceMs?: number): Promise<Answer | undefined> {
  if (helper === undefined) {
    await start($)
    await come($, Math.min(patienceMs ?? 0, Math.max(START_MS, rowMs)))
  }
  const asking = helper
  const waitMs = patienceMs ?? rowMs

  if (asking === undefined) {
    return undefined
  }

  const waiting = new AbortController()

  try {
    const late = $.clock.sleep(waitMs, { signal: waiting.signal }).catch(() => undefined)
    const asked = dataRules($).then(rules => fetchJson($, asking.socket, path, { ...rules, ...body }))
    const answer = await Promise.race([asked, late])

    if (answer !== undefined) {
      failures = 0

      return answer
    }
    $.ui.log(`helper: no answer to ${path} in ${waitMs} ms`, { to: 'debug' })
  } catch (error) {
    $.ui.log(`helper: ${path} failed: ${String(error).slice(0, 200)}`, { to: 'debug' })
  } finally {
    waiting.abort()
  }
  failures += 1

  if (failures >= MOST_FAILURES && helper === asking) {
    helper = undefined
    void asking.stop()
    void start($)
  }

  return undefined
}

/** Returns the data rules that the client says apply now; none are named where it does not know, or is too old to say. */
async function dataRules($: EngineInterface): Promise<Answer> {
  try {
    return { data_rules: (await $.session.info()).dataRules }
  } catch {
    return {}
  }
}

/** Returns the window's size, the session's cost and how full the plan's limits are, as the client says; empty where it says nothing. */
export async function usage($: EngineInterface): Promise<Answer> {
  try {
    const { context, cost, rateLimits } = await $.session.usage()

    return { window: context.window, usd: cost?.usd, limits: rateLimits }
  } catch {
    return {}
  }
}

/** Hands over the breakdown of the window before the first word, once a session unless it is asked `again`. Estimated here: no request is sent. */
export async function reportBreakdown($: EngineInterface, again = false): Promise<void> {
  const session = await $.session.id()

  if (session === weighed && !again) {
    return
  }
  weighed = session

  try {
    const { context } = await $.session.usage({ breakdown: 'summary' })
    const { gridRows, ...breakdown } = context.breakdown ?? { gridRows: [] }
    await ask($, '/breakdown', { breakdown }, BREAKDOWN_MS)
  } catch (error) {
    $.ui.log(`helper: no breakdown: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }
}

/** Returns whether a tool is among these. A name that ends in `__` means all that begin so. */
export function isAmong(tool: string, names: readonly string[]): boolean {
  return names.some(name => tool === name || (name.endsWith('__') && tool.startsWith(name)))
}

/** Returns what is taken out of the prompts of this project's sessions: the same all session long, because tools that come and go cost the
 * whole prompt cache, unless it is asked `again`. */
export async function takenOut($: EngineInterface, again = false): Promise<Out> {
  if (out === undefined && isAsleep && !(await isAnyOut($))) {
    out = { hidden: [], deferred: [] }
  }

  if (out === undefined || again) {
    const { names, deferred } = (await ask($, '/hidden', {}, Math.max(START_MS, Math.min(rowMs, LIST_MS)))) ?? {}
    const known = out ?? { hidden: [], deferred: [] }
    out = {
      hidden: Array.isArray(names) ? names.map(String) : known.hidden,
      deferred: Array.isArray(deferred) ? deferred.map(String) : known.deferred,
    }
  }

  return out
}

/** Returns whether any project takes a tool out, as far as that can be told without the helper. */
async function isAnyOut($: EngineInterface): Promise<boolean> {
  try {
    const claude = (await $.env.get('CLAUDE_CONFIG_DIR')) || `${await $.env.get('HOME')}/.claude`
    const folder = `${(await $.env.get('POPKIT_HOME')) || `${claude}/popkit`}/standing`

    return !folder.startsWith('/') || ((await $.fs.exists(folder)) && (await $.fs.list(folder)).some(file => file.name.endsWith('.hidden.json')))
  } catch {
    return true
  }
}

/** Brings a hidden tool back at once after the words for it, because somebody waits for it, or takes one out where the words say `--now`: its
 * price was told. What else is hidden goes with it. */
export async function comeBack($: EngineInterface, words: string): Promise<void> {
  const before = out

  if (/^bill hide\b(?=.* --now\b)(?=.* --yes\b)/.test(words)) {
    leaving = (await takenOut($, true)).hidden
    // The client does not ask about a tool that is not listed, and what a thread was shown stays in its requests.
    out = before
    $.ui.invalidate('tool.offer')
  } else if (/^bill show\b/.test(words)) {
    const { hidden } = await takenOut($, true)
    leaving = leaving.filter(name => hidden.includes(name))
    $.ui.invalidate('tool.list')
    $.ui.invalidate('tool.offer')
  }
}

/** Returns whether a tool leaves the running thread at once. */
export function isGone(tool: string): boolean {
  return isAmong(tool, leaving)
}

/** Waits for a helper that is on its way. */
async function come($: EngineInterface, waitMs: number): Promise<void> {
  for (let waited = 0; helper === undefined && starting !== undefined && waited < waitMs; waited += POLL_MS) {
    await $.clock.sleep(POLL_MS)
  }
}

async function fetchJson($: EngineInterface, socketPath: string, path: string, body: Answer): Promise<Answer> {
  asked += 1
  const id = `${Date.now()}-${asked}`
  const headers = { 'popkit-at-once': String(MOST_CHARS) }
  const post = (to: string, text: string) => $.http.fetch(`http://popkit${to}?${id}`, { method: 'POST', body: text, headers, socketPath })
  const parts = inParts(JSON.stringify(body))

  for (const part of parts.slice(0, -1)) {
    await post('/part', part)
  }
  const response = await post(path, parts.at(-1) ?? '')
  let text = response.text

  for (let last = response; last.headers['popkit-goes-on'] !== undefined; ) {
    last = await post('/rest', '')
    text += last.text
  }
  const answer: unknown = JSON.parse(text)

  if (!response.ok || typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new Error(`status ${response.status}`)
  }

  return answer as Answer
}

/** Returns a text in parts that can be sent: none ends amid a character. */
function inParts(text: string): string[] {
  const parts: string[] = []
  let at = 0

  while (text.length - at > MOST_CHARS) {
    const isAmid = /[\uD800-\uDBFF]/.test(text.charAt(at + MOST_CHARS - 1))
    const end = at + MOST_CHARS - (isAmid ? 1 : 0)
    parts.push(text.slice(at, end))
    at = end
  }

  return [...parts, text.slice(at)]
}

/** Reads the helper's output until it ends: its first line says where it listens, another that it is called. The loop is its life;
 * where its session was left meanwhile, it ends with the first line. */
async function attend($: EngineInterface, attempt: { session: string }, words: string[]): Promise<void> {
  const child = $.process.spawn({ argv: [`${$.plugin.root}/bin/popkit`, 'serve', ...words] })
  let mine: Helper | undefined
  let output = ''

  try {
    for await (const { stream, text } of child) {
      if (stream !== 'stdout') {
        continue
      }

      if (mine !== undefined) {
        if (text.includes(CALL)) {
          void startOwn($)
        }
        continue
      }

      if (starting !== attempt) {
        break
      }
      output += text

      if (output.includes('\n')) {
        mine = heard($, output, attempt.session, () => child.return({ code: null, signal: null }))
        helper = mine
        starting = undefined
      }
    }
  } catch (error) {
    $.ui.log(`helper: did not start: ${String(error).slice(0, 200)}`, { to: 'debug' })
  }

  if (mine === undefined && starting === attempt) {
    starting = undefined
  } else if (mine !== undefined && helper === mine) {
    helper = undefined
    $.ui.log('helper: has ended', { to: 'debug' })
  }
}

/** Returns the helper that a first line names, and starts the compaction that it asks for; undefined where it is switched off, or has another
 * protocol. */
function heard($: EngineInterface, line: string, session: string, stop: () => unknown): Helper | undefined {
  const answer = JSON.parse(line.slice(0, line.indexOf('\n'))) as { off?: boolean; protocol?: number; socket?: string; compact?: boolean }
  isOff = answer.off === true

  return answer.protocol === PROTOCOL && typeof answer.socket === 'string'
    ? { socket: answer.socket, session, stop, begun: answer.compact === true ? startOwn($) : undefined }
    : undefined
}
