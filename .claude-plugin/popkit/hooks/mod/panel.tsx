// What is drawn, and fetched from the helper for it: the band above the prompt, and the pane. Words, order and operations are the helper's.
import { atom, read, update } from 'claude-code'
import type { EngineInterface, Next, RenderElement, RenderInput, Timer } from 'claude-code'

import { AGAIN_MS, MOST_AGAIN, ask, comeBack, reportBreakdown, usage } from './helper'
import { startOwn } from './own'
import { redacted, redactedLines } from './redact'
import type { PopkitOffer, PopkitPage, PopkitView } from './state'

const view = atom({ plugin: 'popkit', key: 'view' } as const, null)
const outcome = atom({ plugin: 'popkit', key: 'outcome' } as const, '')
const now = atom({ plugin: 'popkit', key: 'now' } as const, 0)

// --- fetched ---

const PANE = 'popkit'
// How the line under the prompt begins, by whichever way it came there.
const OURS = /\bcontext (\d+%|–)/
// A person waits, so the helper may read the transcript.
const PATIENCE_MS = 5_000
// What changes something is not given up, and done once more by the hook, while the helper is at it.
const OPERATION_MS = 60_000
const NARROWEST = 40
const COLUMNS = 70
// From here on a pane stands beside the conversation, with 38 columns at first; below it has all but its frame.
const BESIDE_FROM = 110
const BESIDE_COLUMNS = 38
// What a row of an answer is indented by, and the frame of a pane beside it.
const INDENT = 10
const FRAME = 2
const ROWS = 40
// Rows that the pane asks for above the prompt: the client spares no more than half of its own.
const WANTED_ROWS = 40
// Below these the tabs have no room for how long the cache stays warm, and the helper says it.
const ROOMY = 57
const ROOMY_ROWS = 16
// From here on they have room for that and for how the pane gets the keys.
const ROOMIEST = 84
const MOST_COLUMNS = 110
const TICK_MS = 1_000
// By then the client has written down what is behind a compaction.
const WRITTEN_MS = 500
const TOAST_MS = 8_000
const TICKS_BETWEEN_LOOKS = 20
// Of Markdown, as the client looks for it.
const SIGN = /[#*`|[>\-_~]|\n\s*\n/
// What the band says changes as the cache cools, so it is asked for again: soon where little is left.
const SHARE_BETWEEN_LOOKS = 1 / 15
const SOONEST_MS = 5_000
const LATEST_MS = 60_000

let isCounting = false
// Whether a turn is running: the client shows the row of an answer only behind it.
let isInTurn = false
let nextLook: Timer | undefined
// Of the pane: its columns and rows as it was drawn last, whether beside the conversation; its page, the result that was chosen on it.
let columns = COLUMNS
let isBeside = false
let rows = ROWS
let page = ''
let chosen = ''
// Whether the client asks for rows under the prompt (from 2.1.331 on).
let hasStatusSite = false

/** Asks again and redraws everything that shows it. Where nothing is drawn, as with `claude -p`, the helper says only what leaves by itself. */
export async function refresh($: EngineInterface, more = MOST_AGAIN, turnEnded = false): Promise<void> {
  const unseen = !(await isDrawn($))
  const request = { columns, rows, page, chosen, turn_ended: turnEnded, status_site: hasStatusSite, unseen, usage: await usage($) }
  const answer = await ask($, '/view', request, PATIENCE_MS)

  if (answer === undefined && more > 0) {
    nextLook?.cancel()
    nextLook = $.clock.after(AGAIN_MS, () => refresh($, more - 1, turnEnded))
  }

  const pane = answer?.pane as Partial<PopkitPage> | undefined

  // A helper of an earlier version that still runs answers in another form: nothing of it is drawn.
  if (answer === undefined || !Array.isArray(pane?.operations)) {
    return
  }
  const seen = await masked($, {
    band: answer.band,
    statusLine: typeof answer.status === 'string' ? answer.status : '',
    pane: answer.pane,
    cacheUntil: answer.cache_until,
  } as PopkitView)
  await update($, view, () => seen)

  if (answer.compact === true) {
    void startOwn($)
  }

  if (typeof answer.toast === 'string' && answer.toast !== '') {
    $.ui.toast(await redacted($, answer.toast), { timeoutMs: TOAST_MS })
  }
  void lookAgain($, seen.cacheUntil)
}

/** Returns what is drawn without the secrets that the client finds in it. */
async function masked($: EngineInterface, seen: PopkitView): Promise<PopkitView> {
  const { band, pane } = seen
  const choices = pane.choices && {
    ...pane.choices,
    options: await Promise.all(pane.choices.options.map(async one => ({ ...one, label: await redacted($, one.label) }))),
  }

  return {
    ...seen,
    band: band && { ...band, text: await redacted($, band.text) },
    pane: { ...pane, head: await redactedLines($, pane.head), lines: await redactedLines($, pane.lines), choices },
  }
}

/** Asks again in a while, as long as the cache is warm, and once when it has gone cold. */
async function lookAgain($: EngineInterface, cacheUntil: number | null): Promise<void> {
  nextLook?.cancel()

  if (cacheUntil === null) {
    return
  }
  const left = cacheUntil - (await $.clock.now())
  nextLook = $.clock.after(Math.min(LATEST_MS, Math.max(SOONEST_MS, left * SHARE_BETWEEN_LOOKS)), () => refresh($))
}

/** Returns the answer to `/popkit WORDS`; undefined where the helper has none. */
export async function run($: EngineInterface, words: string, width: number): Promise<string | undefined> {
  const answer = await ask($, '/command', { words, columns: Math.max(NARROWEST, roomIn(width) - INDENT) }, OPERATION_MS)
  void refresh($)

  if (answer?.compact === true) {
    void startOwn($)
  }

  return typeof answer?.text === 'string' ? shownText($, words, answer.text) : undefined
}

/** Returns the columns of a terminal that an answer has: not those of the pane beside it, and where the pane shows it, too, no more than these. */
function roomIn(width: number): number {
  const beside = isCounting && isBeside ? width - columns - FRAME : width

  const inPane = isCounting ? columns : width < BESIDE_FROM ? width - 2 * FRAME : BESIDE_COLUMNS

  return isInTurn ? Math.min(beside, inPane + INDENT) : beside
}

/** Of the main thread. */
export function turn(begins: boolean): void {
  isInTurn = begins
}

/** Returns an answer without the secrets that the client finds in it; an archived content is shown as it is. */
function shownText($: EngineInterface, words: string, text: string): Promise<string> {
  return /^(restore|show)\b/.test(words) ? Promise.resolve(text) : redacted($, text)
}

/** In mid-turn, shows an answer in the pane, too: its row comes when the turn is over. Returns it. */
export async function answerNow($: EngineInterface, text: string | undefined): Promise<string | undefined> {
  if (isInTurn && text !== undefined) {
    await update($, outcome, () => text.trim())
    await placePane($)
  }

  return text
}

/** Where it draws, the client reads an answer as Markdown: __init__.py would lose its underscores, a heading its mark. What has none of
 * its signs, or is set in behind an empty line, it shows as it is, with whatever is put before a `<`. */
export async function literal($: EngineInterface, text: string): Promise<string> {
  return SIGN.test(text) && (await isDrawn($)) ? text.replace(/((?<!.\n)^ {4}.*(?:\n+ {4}.*)*)|[\\`*_<]|^#/gm, (sign, code) => code ?? `\\${sign}`) : text
}

/** Returns whether the session draws anywhere; one with `-p` prints. */
async function isDrawn($: EngineInterface): Promise<boolean> {
  try {
    return (await $.session.surfaces()).length > 0
  } catch {
    return true
  }
}

/** Shows another page of the pane, or another result on it. */
async function turnTo($: EngineInterface, nextPage: string, nextChosen: string): Promise<void> {
  page = nextPage
  chosen = nextChosen
  await update($, outcome, () => '')
  await refresh($)
}

/** Does what an operation's button says, and shows what came of it. */
async function press($: EngineInterface, id: string): Promise<void> {
  const answer = await ask($, '/press', { id, columns }, OPERATION_MS)
  await comeBack($, id)

  if (answer?.compact === true) {
    void startOwn($)
  }
  const text = typeof answer?.text === 'string' ? (await shownText($, id, answer.text)).trim() : 'PopKit does not answer now.'
  await update($, outcome, () => text)
  await refresh($)
  await placePane($)
}

/** Says in the pane what a compaction of ours came to, where it still says what was begun. */
export async function ended($: EngineInterface, notice: string): Promise<void> {
  await $.clock.sleep(WRITTEN_MS)

  if ((await read($, outcome)) !== '') {
    await update($, outcome, () => notice)
  }
  await reportBreakdown($, isCounting)
  await refresh($)
}

/** Opens the pane at what to do now. Returns what to say; undefined where the helper does not answer. */
export async function openPane($: EngineInterface): Promise<string | undefined> {
  await turnTo($, '', '')

  if (await placePane($)) {
    void recount($)

    return 'The pane is open.'
  }
  await reportBreakdown($, true)

  return run($, '', COLUMNS + INDENT)
}

/** Has the client count what the messages hold: after a session's first turn, and whenever that may have changed while the pane shows it. */
export async function recount($: EngineInterface): Promise<void> {
  const isShown = isCounting
  await reportBreakdown($, isShown)

  if (isShown) {
    await refresh($)
  }
}

/** Opens the pane, gives it the keys where the prompt has them and is empty, and keeps it live until it is closed. Returns whether it is
 * drawn. */
async function placePane($: EngineInterface): Promise<boolean> {
  const opened = await $.ui.open({ id: PANE, title: 'PopKit', closeOnEscape: true, focus: true, rows: WANTED_ROWS })

  if (!isCounting) {
    void count($)
  }

  return opened.isPlaced
}

async function count($: EngineInterface): Promise<void> {
  isCounting = true
  let ticks = 0
  const timer = $.clock.every(TICK_MS, async () => {
    const panes = await $.ui.panes()

    if (!panes.some(one => one.id === PANE)) {
      timer.cancel()
      isCounting = false
      await update($, outcome, () => '')

      return
    }
    ticks += 1
    const time = await $.clock.now()
    await update($, now, () => time)

    if (ticks % TICKS_BETWEEN_LOOKS === 0) {
      await refresh($)
    }
  })
}

// --- drawn ---

const MINUTE_S = 60
const KEYS = 'keys: ctrl+x tab'
// Columns that a button has beside its label.
const BUTTON = 4

/** What is drawn in so many rows. */
type Drawn = { rows: number; element: RenderElement }

/** Draws the band: what to do now; nothing when there is nothing to do. */
export async function band($: EngineInterface, e: RenderInput<'AbovePrompt'>) {
  const seen = await read($, view)

  if (e.props.hasSurvey || seen === null || seen.band === null) {
    return undefined
  }
  const { Box, Button, Text } = $.ui.resolve(e)
  const said = `PopKit: ${seen.band.text}`
  const typed = (one: PopkitOffer) => `or /popkit ${one.id}`
  const beside = seen.band.operations.reduce((sum, one) => sum + one.label.length + BUTTON + typed(one).length + 2, 0)

  return (
    <Box flexDirection={said.length + beside <= e.props.bodyColumns ? 'row' : 'column'}>
      <Text dimColor wrap="wrap">
        {said}{' '}
      </Text>
      {seen.band.operations.map(one => (
        <Box gap={1}>
          <Button key={one.id} label={one.label} onPress={() => press($, one.id)} />
          <Text dimColor>{typed(one)}</Text>
        </Box>
      ))}
    </Box>
  )
}

/** Draws our line under the person's own, where they have asked for it and their own does not hold it. */
export async function statusLine($: EngineInterface, e: RenderInput<'StatusLine'>, next: Next<'ui.render', RenderInput<'StatusLine'>>) {
  if (!hasStatusSite) {
    hasStatusSite = true
    void refresh($)
  }
  const ours = (await read($, view))?.statusLine ?? ''
  const { text, isManaged } = e.props

  if (ours === '' || OURS.test(text ?? '')) {
    return next(e)
  }

  return next({ ...e, props: { ...e.props, text: text === null || isManaged ? ours : `${text}\n${ours}` } })
}

/** Draws the pane: its pages, the lines of one, what can be chosen and done there, what the last operation came to. */
export async function pane($: EngineInterface, e: RenderInput<'Pane'>) {
  const seen = await read($, view)
  const comment = await read($, outcome)
  const time = await read($, now)
  const { Box, Button, Select, Text } = $.ui.resolve(e)
  const room = Math.min(e.props.bodyColumns, MOST_COLUMNS)
  const { bodyRows, offset } = e.props.scroll
  isBeside = e.props.placement === 'dock'

  if (room !== columns || bodyRows !== rows) {
    columns = room
    rows = bodyRows
    void refresh($)
  }

  if (seen === null) {
    return <Text dimColor>PopKit has nothing to show yet.</Text>
  }
  const shown = seen.pane
  const isTerminal = e.surface === 'terminal'
  const hasKeys = e.props.isFocused || !isTerminal
  const left = seen.cacheUntil === null || time === 0 ? 0 : Math.max(0, Math.round((seen.cacheUntil - time) / 1000))
  const warm = left > 0 ? `warm for ${countdown(left)}` : ''
  const aside = hasKeys ? [warm] : room >= ROOMIEST ? [KEYS, warm] : [KEYS]
  const row = (element: RenderElement, rows = 1): Drawn => ({ rows, element })
  const lines = (text: string) =>
    text.split('\n').map(line =>
      row(
        <Text mono wrap="wrap">
          {line === '' ? ' ' : line}
        </Text>,
        rowsOf(line, room),
      ),
    )
  const operation = (one: PopkitOffer) => {
    const label = isTerminal ? `${one.key}: ${one.label}` : one.label
    const fits = label.length + BUTTON + 1 + one.sum.length <= room

    return row(
      <Box flexDirection={fits ? 'row' : 'column'} columnGap={1}>
        <Button key={one.id} label={label} hotkey={one.key} variant="primary" onPress={() => press($, one.id)} />
        <Text dimColor wrap="wrap">
          {one.sum}
        </Text>
      </Box>,
      fits ? 1 : 1 + rowsOf(one.sum, room),
    )
  }
  const tabs = (
    <Box gap={room >= ROOMY ? 2 : 1}>
      {shown.pages.map(one => (
        <Button
          key={`page ${one.id}`}
          label={one.label}
          hotkey={one.key}
          plain
          dimColor={one.id === shown.page ? undefined : true}
          onPress={() => turnTo($, one.id, chosen)}
        />
      ))}
      {room >= ROOMY &&
        aside.map(words => (
          <Text dimColor={words === KEYS ? undefined : true} wrap="truncate-end">
            {words}
          </Text>
        ))}
    </Box>
  )
  const parts: Drawn[] = [
    row(tabs),
    ...(room < ROOMY && !hasKeys ? lines(KEYS) : []),
    ...(comment === '' ? [] : lines(comment)),
    ...(shown.choices === null
      ? []
      : [
          row(
            <Select
              key="result"
              label="Result"
              options={[{ value: '', label: 'none' }, ...shown.choices.options]}
              value={shown.choices.value}
              onSelect={value => void turnTo($, shown.page, value)}
            />,
          ),
        ]),
    ...(shown.head.length > 0 ? [row(<Text bold>{shown.head.join('\n')}</Text>, shown.head.length)] : []),
    ...shown.operations.map(operation),
    ...(rows >= ROOMY_ROWS ? lines('') : []),
    ...lines(shown.lines.join('\n')),
  ]

  return <Box flexDirection="column">{isTerminal && offset === 0 ? announced(parts, bodyRows, lines) : parts.map(one => one.element)}</Box>
}

/** Returns what is drawn, with a word behind what the first so many rows show where there is more. */
function announced(parts: Drawn[], room: number, lines: (text: string) => Drawn[]): RenderElement[] {
  const all = parts.reduce((sum, one) => sum + one.rows, 0)
  let above = 0
  const first = parts.findIndex(one => {
    const fits = all <= room || above + one.rows < room
    above += fits ? one.rows : 0

    return !fits
  })

  if (first < 0) {
    return parts.map(one => one.element)
  }

  return [...parts.slice(0, first), ...lines(`↓ ${all - above} more lines`), ...parts.slice(first)].map(one => one.element)
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(line.length / Math.max(1, columns)))
}

function countdown(seconds: number): string {
  return `${Math.floor(seconds / MINUTE_S)}:${String(seconds % MINUTE_S).padStart(2, '0')}`
}
