// What is drawn, and fetched from the helper for it: the band above the prompt, and the pane. Words, order and operations are the helper's.
import { atom, read, update } from 'claude-code'
import type { EngineInterface, RenderInput, Timer } from 'claude-code'

import { AGAIN_MS, MOST_AGAIN, ask, comeBack, usage } from './helper'
import { startOwn } from './own'
import { redacted, redactedLines } from './redact'
import type { PopkitOffer, PopkitPage, PopkitView } from './state'

const view = atom({ plugin: 'popkit', key: 'view' } as const, null)
const outcome = atom({ plugin: 'popkit', key: 'outcome' } as const, '')
const now = atom({ plugin: 'popkit', key: 'now' } as const, 0)

// --- fetched ---

const PANE = 'popkit'
// A person waits, so the helper may read the transcript.
const PATIENCE_MS = 5_000
// What changes something is not given up, and done once more by the hook, while the helper is at it.
const OPERATION_MS = 60_000
const NARROWEST = 40
const COLUMNS = 70
const ROWS = 40
// Below these the tabs have no room for how long the cache stays warm, and the helper says it.
const ROOMY = 57
const ROOMY_ROWS = 16
const MOST_COLUMNS = 110
const TICK_MS = 1_000
// By then the client has written down what is behind a compaction.
const WRITTEN_MS = 500
const TOAST_MS = 8_000
const TICKS_BETWEEN_LOOKS = 20
// What the band says changes as the cache cools, so it is asked for again: soon where little is left.
const SHARE_BETWEEN_LOOKS = 1 / 15
const SOONEST_MS = 5_000
const LATEST_MS = 60_000

let isCounting = false
let nextLook: Timer | undefined
// Of the pane: its columns and rows as it was drawn last, its page, the result that was chosen on it.
let columns = COLUMNS
let rows = ROWS
let page = ''
let chosen = ''

/** Asks again and redraws everything that shows it. */
export async function refresh($: EngineInterface, more = MOST_AGAIN, turnEnded = false): Promise<void> {
  const answer = await ask($, '/view', { columns, rows, page, chosen, turn_ended: turnEnded, usage: await usage($) }, PATIENCE_MS)

  if (answer === undefined && more > 0) {
    nextLook?.cancel()
    nextLook = $.clock.after(AGAIN_MS, () => refresh($, more - 1, turnEnded))
  }

  const pane = answer?.pane as Partial<PopkitPage> | undefined

  // A helper of an earlier version that still runs answers in another form: nothing of it is drawn.
  if (answer === undefined || !Array.isArray(pane?.operations)) {
    return
  }
  const seen = await masked($, { band: answer.band, pane: answer.pane, cacheUntil: answer.cache_until } as PopkitView)
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
  const answer = await ask($, '/command', { words, columns: Math.max(NARROWEST, width - 10) }, OPERATION_MS)
  void refresh($)

  if (answer?.compact === true) {
    void startOwn($)
  }

  return typeof answer?.text === 'string' ? literal(await shownText($, words, answer.text)) : undefined
}

/** Returns an answer without the secrets that the client finds in it; an archived content is shown as it is. */
function shownText($: EngineInterface, words: string, text: string): Promise<string> {
  return /^(restore|show)\b/.test(words) ? Promise.resolve(text) : redacted($, text)
}

/** The client reads an answer as Markdown: __init__.py would lose its underscores, a heading its mark. */
function literal(text: string): string {
  return text.replace(/[\\`*_<]|^#/gm, '\\$&')
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
  await openPane($)
}

/** Says in the pane what a compaction of ours came to, where it still says what was begun. */
export async function ended($: EngineInterface, notice: string): Promise<void> {
  await $.clock.sleep(WRITTEN_MS)

  if ((await read($, outcome)) !== '') {
    await update($, outcome, () => notice)
  }
  await refresh($)
}

/** Opens the pane and keeps it live until it is closed. Returns what to say; undefined where the helper does not answer. */
export async function openPane($: EngineInterface): Promise<string | undefined> {
  await refresh($)
  const opened = await $.ui.open({ id: PANE, title: 'PopKit', closeOnEscape: true, focus: true })

  if (!isCounting) {
    void count($)
  }

  return opened.isPlaced ? 'The pane is open.' : run($, '', COLUMNS + 10)
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

/** Draws the band: what to do now; nothing when there is nothing to do. */
export async function band($: EngineInterface, e: RenderInput<'AbovePrompt'>) {
  const seen = await read($, view)

  if (e.props.hasSurvey || seen === null || seen.band === null) {
    return undefined
  }
  const { Box, Button, Text } = $.ui.resolve(e)

  return (
    <Box>
      <Text dimColor>PopKit: {seen.band.text} </Text>
      {seen.band.operations.map(operation => (
        <Button key={operation.id} label={operation.label} onPress={() => press($, operation.id)} />
      ))}
    </Box>
  )
}

/** Draws the pane: its pages, the lines of one, what can be chosen and done there, what the last operation came to. */
export async function pane($: EngineInterface, e: RenderInput<'Pane'>) {
  const seen = await read($, view)
  const comment = await read($, outcome)
  const time = await read($, now)
  const { Box, Button, Select, Text } = $.ui.resolve(e)
  const room = Math.min(e.props.bodyColumns, MOST_COLUMNS)

  if (room !== columns || e.props.scroll.bodyRows !== rows) {
    columns = room
    rows = e.props.scroll.bodyRows
    void refresh($)
  }

  if (seen === null) {
    return <Text dimColor>PopKit has nothing to show yet.</Text>
  }
  const shown = seen.pane
  const left = seen.cacheUntil === null || time === 0 ? 0 : Math.max(0, Math.round((seen.cacheUntil - time) / 1000))
  const lines = (text: string) =>
    text.split('\n').map(line => (
      <Text mono wrap="wrap">
        {line === '' ? ' ' : line}
      </Text>
    ))
  const operation = (one: PopkitOffer) => (
    <Box gap={1}>
      <Button key={one.id} label={one.label} hotkey={one.key} variant="primary" onPress={() => press($, one.id)} />
      <Text dimColor wrap="wrap">
        {one.sum}
      </Text>
    </Box>
  )

  return (
    <Box flexDirection="column">
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
        {left > 0 && room >= ROOMY && (
          <Text dimColor wrap="truncate-end">
            warm for {countdown(left)}
          </Text>
        )}
      </Box>
      {shown.choices !== null && (
        <Select
          key="result"
          label="Result"
          options={[{ value: '', label: 'none' }, ...shown.choices.options]}
          value={shown.choices.value}
          onSelect={value => void turnTo($, shown.page, value)}
        />
      )}
      {shown.head.length > 0 && <Text bold>{shown.head.join('\n')}</Text>}
      {shown.operations.map(operation)}
      {comment !== '' && <Text> </Text>}
      {comment !== '' && lines(comment)}
      {rows >= ROOMY_ROWS && <Text> </Text>}
      {lines(shown.lines.join('\n'))}
    </Box>
  )
}

/** Returns seconds as 4:05. */
function countdown(seconds: number): string {
  return `${Math.floor(seconds / MINUTE_S)}:${String(seconds % MINUTE_S).padStart(2, '0')}`
}
