// What is drawn, and fetched from the helper for it: the band above the prompt, the pane, the line under the prompt.
// Words, order and actions are the helper's.
import { atom, read, update } from 'claude-code'
import type { EngineInterface, RenderInput } from 'claude-code'

import { ask } from './helper'
import type { PopkitView } from './state'

const view = atom({ plugin: 'popkit', key: 'view' } as const, null)
const told = atom({ plugin: 'popkit', key: 'told' } as const, '')
const now = atom({ plugin: 'popkit', key: 'now' } as const, 0)

// --- asked ---

const PANE = 'popkit'
// A person waits, so the helper may read the transcript.
const PATIENCE_MS = 5_000
const COLUMNS = 70
const MOST_COLUMNS = 110
const TICK_MS = 1_000
const TICKS_BETWEEN_LOOKS = 20

let isCounting = false
// Of the pane as it was drawn last.
let columns = COLUMNS

/** Asks anew and lets everything that shows it redraw. */
export async function refresh($: EngineInterface): Promise<void> {
  const answer = await ask($, '/view', { columns }, PATIENCE_MS)

  if (answer === undefined || typeof answer.pane !== 'object') {
    return
  }
  const seen = { band: answer.band, pane: answer.pane, cacheUntil: answer.cache_until } as PopkitView
  await update($, view, () => seen)
}

/** What `/popkit WORDS` answers, undefined where the helper does not. */
export async function run($: EngineInterface, words: string, width: number): Promise<string | undefined> {
  const answer = await ask($, '/command', { words, columns: Math.max(60, width - 10) }, PATIENCE_MS)
  void refresh($)

  return typeof answer?.text === 'string' ? answer.text : undefined
}

/** Does what a button says, and shows what came of it. */
export async function press($: EngineInterface, id: string): Promise<void> {
  const answer = await ask($, '/press', { id, columns }, PATIENCE_MS)
  await update($, told, () => (typeof answer?.text === 'string' ? answer.text.trim() : 'PopKit does not answer now.'))
  await refresh($)
  await openPane($)
}

/** Opens the pane and keeps it live until it is closed; what to say, undefined where the helper does not answer. */
export async function openPane($: EngineInterface): Promise<string | undefined> {
  await refresh($)
  const opened = await $.ui.open({ id: PANE, title: 'PopKit', closeOnEscape: true })

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
      await update($, told, () => '')

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

/** The band: what to do now; nothing when there is nothing to do. */
export async function band($: EngineInterface, e: RenderInput<'AbovePrompt'>) {
  const seen = await read($, view)

  if (e.props.hasSurvey || seen === null || seen.band === null) {
    return undefined
  }
  const { Box, Button, Text } = $.ui.resolve(e)

  return (
    <Box>
      <Text dimColor>PopKit: {seen.band.text} </Text>
      {seen.band.actions.map(action => (
        <Button key={action.id} label={action.label} onPress={() => press($, action.id)} />
      ))}
    </Box>
  )
}

/** The pane: the panel's lines, how long the cache is warm, what the last button came to, what can be done. */
export async function pane($: EngineInterface, e: RenderInput<'Pane'>) {
  const seen = await read($, view)
  const said = await read($, told)
  const time = await read($, now)
  const { Box, Button, Text } = $.ui.resolve(e)
  columns = Math.min(e.props.bodyColumns, MOST_COLUMNS)

  if (seen === null) {
    return <Text dimColor>PopKit has nothing to show yet.</Text>
  }
  const left = seen.cacheUntil === null || time === 0 ? 0 : Math.max(0, Math.round((seen.cacheUntil - time) / 1000))

  return (
    <Box flexDirection="column">
      {seen.pane.lines.map(line => (
        <Text mono wrap="truncate-end">
          {line === '' ? ' ' : line}
        </Text>
      ))}
      {left > 0 && <Text dimColor>Prompt cache warm for {countdown(left)}</Text>}
      <Box gap={2}>
        {seen.pane.actions.map(action => (
          <Button key={action.id} label={action.label} onPress={() => press($, action.id)} />
        ))}
      </Box>
      {said !== '' && <Text>{said}</Text>}
    </Box>
  )
}

/** Seconds as 4:05. */
function countdown(seconds: number): string {
  return `${Math.floor(seconds / MINUTE_S)}:${String(seconds % MINUTE_S).padStart(2, '0')}`
}
