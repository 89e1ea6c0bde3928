// The mod over an engine of the test's: what it hands to the helper, what it does with the answers, what it draws on each surface.
import { expect, mock, test, type Engine } from 'claude-code/testing'
import type { On } from 'claude-code'

import { isAmong } from './helper'

type Asked = { path: string; body: Record<string, unknown> }

const START = { cwd: '/shop', surface: 'terminal', isInteractive: true } as const
// A busy machine may make a test slow, not red.
const PATIENT = { timeoutMs: 600_000 }
const SURFACES = ['terminal', 'desktop', 'vscode', 'mobile'] as const
const ROW = {
  type: 'user',
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'the whole text' }],
} as const
const VIEW = {
  band: { text: 'Clear now: 12k tokens leave at no cost', operations: [{ id: 'clear', label: 'Clear', sum: '12k leave', key: 'c' }] },
  pane: {
    pages: [
      { id: 'now', label: 'Now', key: '1' },
      { id: 'results', label: 'Results', key: '2' },
    ],
    page: 'now',
    head: ['Clear now: 12k tokens leave at no cost'],
    lines: ['Retention status', '', 'Cache     warm'],
    choices: null,
    operations: [{ id: 'undo', label: 'Undo the last clear', sum: 'it comes back', key: 'u' }],
  },
  cache_until: 185_000,
}
const BAND = {
  component: 'AbovePrompt',
  props: {
    hasSurvey: false,
    isCollapsed: false,
    isWorking: false,
    maxRows: 10,
    bodyColumns: 100,
    scroll: { offset: 0, bodyRows: 10 },
    view: {},
  },
} as const
const PANE = {
  component: 'Pane',
  requestId: 'popkit',
  props: { title: 'PopKit', isFocused: false, bodyColumns: 80, placement: 'dock', scroll: { offset: 0, bodyRows: 40 }, view: {} },
} as const

/** The pane as a client asks for it, with other properties. */
function paneOf(props: object) {
  return { ...PANE, props: { ...PANE.props, ...props } }
}

/** A row of the person's. */
function rowOf(text: string, isExpanded = false) {
  return { component: 'UserMessage', props: { text, origin: { kind: 'unclassified' }, isExpanded }, viewport: { columns: 60, rows: 24 } } as never
}

const LISTED = `[PopKit left out ${Array.from({ length: 20 }, (_, n) => `Read src/page_${n}.ts`).join('; ')}: popkit restore abcd2345]`

/** What the client says of the window where it is asked for a summary; it is never asked for more. */
function breakdown(e: object) {
  const detail = (e as { breakdown?: string }).breakdown

  return detail === 'summary' ? { breakdown: { gridRows: [], model: 'claude-opus-5-5' } } : {}
}

type Helpers = { session?: () => string; begins?: (nth: number) => Promise<void> }

/** An engine whose helper answers from a table, and whose client says `info` of the session; returns its requests, in order. The nth helper
 * listens at /run/n, once it `begins`. */
function engine(on: On, answers: Record<string, unknown>, info: () => object = () => ({}), helpers: Helpers = {}) {
  let begun = 0
  const requests: Asked[] = []
  const opened: string[] = []
  const sockets: string[] = []
  const clock = mock.clock(on, { now: 5_000 })
  mock.env(on, { HOME: '/home/dev' })
  on('session.id', () => ({ value: helpers.session?.() ?? 'a-session' }))
  on('session.root', () => ({ value: '/shop' }))
  on('session.info', () => ({ value: { transcriptPath: '/shop.jsonl', ...info() } as never }))
  on('session.messages', () => ({ value: [] }))
  on('session.start', (_, e) => ({ cwd: e.cwd }))
  on('session.end', (_, e) => ({ sessionId: e.sessionId }))
  on('turn.start', (_, e) => ({ turnId: e.turnId }))
  on('turn.complete', (_, e) => ({ text: e.answer }))
  on('command.register', () => ({ value: { command: 'popkit' } }))
  on('ui.open', (_, e) => {
    opened.push(e.id)

    return { value: { isPlaced: true } }
  })
  on('ui.panes', () => ({ value: [{ id: 'popkit' }] as never }))
  on('ui.log', () => ({ value: undefined }))
  on('tool.call', () => ({ result: {} }) as never)
  on('session.usage', (_, e) => ({ value: { startedAt: 0, context: { window: 1_000_000, tokens: 400, ...breakdown(e) }, cost: { usd: 0.42 }, rateLimits: [{ kind: 'five_hour', percentUsed: 7 }] } }) as never)
  on('session.model', () => ({ value: 'claude-opus-5-5' }))
  on('process.spawn', async function* (_, e) {
    requests.push({ path: 'starts', body: { argv: e.argv } })
    begun += 1
    const socket = `/run/${begun}`
    await helpers.begins?.(begun)
    yield { stream: 'stdout' as const, text: `${JSON.stringify({ socket, protocol: 1 })}\n` }
    await new Promise(() => {})
  })
  on('http.fetch', async (_, e) => {
    const path = new URL(e.url).pathname
    requests.push({ path, body: JSON.parse(String(e.init?.body)) })
    sockets.push(String(e.init?.socketPath))
    const configured = path in answers ? answers[path] : {}
    const answer = typeof configured === 'function' ? configured() : configured

    if (answer === undefined) {
      await new Promise(() => {}) // it hangs
    }

    return { value: { status: 200, ok: true, headers: {}, text: typeof answer === 'string' ? answer : JSON.stringify(answer) } }
  })

  return { requests, clock, opened, sockets }
}

/** The same, in a session whose helper has come. */
async function begun($: Engine, on: On, answers: Record<string, unknown>, info: () => object = () => ({})) {
  const started = engine(on, answers, info)
  await $.session.start(START)
  await started.clock.advance(0)

  return started
}

test('a row enters as the helper says, and the call goes with it', PATIENT, async ($, on) => {
  const entering = [{ ...ROW.content[0], content: 'shorter' }]
  const { requests } = await begun($, on, { '/row': { content: entering } })
  await $.turn.start({ text: 'go', turnId: 't1' })
  await $.tool.call({ tool: 'Read', file_path: '/shop/a.py', tool_use_id: 'toolu_1' })
  const stored = await $.session.append({ message: ROW, door: 'tool-result', origin: { kind: 'tool', tool: 'Read' }, uuid: 'row-1' } as never)

  expect(stored.message?.content).toEqual(entering)
  const row = requests.find(one => one.path === '/row')
  expect(row?.body.uuid).toBe('row-1')
  expect(row?.body.agent_id).toBe('')
})

test('a session that is taken up while the helper of the last one starts has a helper of its own', PATIENT, async ($, on) => {
  const late = Promise.withResolvers<void>()
  let session = 'first'
  const begins = (nth: number) => (nth === 1 ? late.promise : Promise.resolve())
  const { clock, requests, sockets } = engine(on, {}, undefined, { session: () => session, begins })
  void $.session.start(START)
  await clock.advance(100)
  await $.session.end({ sessionId: 'first', reason: 'resume' } as never)
  session = 'second'
  await clock.advance(1_000)
  late.resolve()
  await clock.advance(1_000)
  await $.turn.start({ text: 'go', turnId: 't1' })

  const started = requests.filter(one => one.path === 'starts').map(one => one.body.argv as string[])
  expect(started.map(argv => argv[argv.indexOf('--session') + 1])).toEqual(['first', 'second'])
  expect(sockets.length).toBeGreaterThan(0)
  expect(new Set(sockets)).toEqual(new Set(['/run/2']))
})

/** A session with nobody at the prompt, in its first turn. */
async function said($: Engine, on: On, files: string[]) {
  const started = engine(on, { '/row': { content: [{ type: 'text', text: 'shorter' }] }, '/hidden': { names: [], deferred: ['mcp__a__'] } })
  on('fs.exists', () => ({ value: true }))
  on('fs.list', (_, e) => ({ value: e.path === '/home/dev/.claude/popkit/standing' ? files.map(name => ({ name })) : [] }) as never)
  on('tool.describe', (_, e) => ({ description: e.description }))
  await $.session.start({ cwd: '/shop', surface: null, isInteractive: false })
  const describing = $.tool.describe({ tool: 'mcp__a__find', description: 'finds', provider: { plugin: 'mcp:a', tier: 'user' } })
  await started.clock.advance(100)
  const described = await describing
  await $.turn.start({ turnId: 't' } as never)

  return { ...started, described }
}

test('with nobody at the prompt nothing is started until a tool is called, and its result enters as ever', PATIENT, async ($, on) => {
  const { requests, described, clock } = await said($, on, ['0123.breakdown.json'])

  expect(described).toEqual({ description: 'finds' })
  expect(requests).toEqual([])
  const calling = $.tool.call({ tool: 'Read', tool_use_id: 'toolu_1', file_path: '/shop/a.py' } as never)
  await clock.advance(100)
  await calling
  expect(requests.map(one => one.path)).toEqual(['starts', '/rows'])
  const stored = await $.session.append({ door: 'tool-result', uuid: 'u', message: ROW } as never)
  expect(JSON.stringify(stored)).toContain('shorter')
})

test('with nobody at the prompt a second turn starts the helper', PATIENT, async ($, on) => {
  const { requests, clock } = await said($, on, [])

  await $.turn.complete({ answer: 'hello' } as never)
  await clock.advance(0)
  expect(requests).toEqual([])
  const turning = $.turn.start({ turnId: 'u' } as never)
  await clock.advance(100)
  await turning
  expect(requests.map(one => one.path)).toEqual(['starts', '/rows'])
})

test('where a project takes tools out, the first description of a tool asks which', PATIENT, async ($, on) => {
  const { requests, described } = await said($, on, ['0123.hidden.json'])

  expect(described.isDeferred).toBe(true)
  expect(requests.slice(0, 2).map(one => one.path)).toEqual(['starts', '/hidden'])
})

test('what the client says of data rules goes with every request, as it stands then', PATIENT, async ($, on) => {
  let dataRules: string[] | undefined
  const { requests } = await begun($, on, {}, () => ({ dataRules }))
  const heard = async () => {
    await $.session.append({ message: ROW, door: 'tool-result', origin: { kind: 'tool', tool: 'Read' }, uuid: 'row-1' } as never)

    return requests.findLast(one => one.path === '/row')?.body
  }
  expect('data_rules' in ((await heard()) ?? {})).toBe(false)
  dataRules = []
  expect((await heard())?.data_rules).toEqual([])
  dataRules = ['hipaa']
  expect((await heard())?.data_rules).toEqual(['hipaa'])
})

test('what the client would mask of a call goes with its row, and no row waits for it', PATIENT, async ($, on) => {
  let answers = (_text: string): Promise<string> => new Promise(() => {})
  on('session.redact', async (_, e) => ({ value: await answers(e.text) }))
  const { requests } = await begun($, on, { '/row': {} })
  const rowOf = async () => {
    await $.tool.call({ tool: 'Bash', command: 'echo 2 tokens: hunter-two', tool_use_id: 'toolu_1' } as never)
    await $.session.append({ message: ROW, door: 'tool-result', origin: { kind: 'tool', tool: 'Bash' }, uuid: 'row-1' } as never)

    return requests.findLast(one => one.path === '/row')?.body.calls as Record<string, { redacted?: unknown }>
  }
  expect((await rowOf()).toolu_1?.redacted).toBe(undefined) // it hangs
  answers = async text => text.replace(/(?<=tokens: )\S+/, '[REDACTED]') // sees the words as they are
  expect((await rowOf()).toolu_1?.redacted).toEqual({ command: 'echo 2 tokens: [REDACTED]' })
})

test('what is shown has none of the secrets that the client finds', PATIENT, async ($, on) => {
  const lines = ['T7 Bash deploy --with hunter-two', 'T8 Read a.py']
  on('session.redact', (_, e) => ({ value: e.text.replaceAll('hunter-two', '[REDACTED]') }))
  const { clock } = await begun($, on, { '/view': { ...VIEW, pane: { ...VIEW.pane, lines } }, '/command': { text: 'why hunter-two' } })
  await $.command.run({ command: 'popkit', args: '' } as never)
  const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...PANE })
  expect((await ui.find({ type: 'Text', text: /T7 Bash/ }))?.text).toBe('T7 Bash deploy --with [REDACTED]')
  expect((await ui.find({ type: 'Text', text: /T8 Read/ }))?.text).toBe('T8 Read a.py')
  await ui.unmount()
  const said = await $.command.run({ command: 'popkit', args: 'why T7', presentation: { columns: 80 } } as never)
  expect(JSON.stringify(said)).toContain('[REDACTED]')
  const restored = await $.command.run({ command: 'popkit', args: 'restore T7', presentation: { columns: 80 } } as never)
  expect(JSON.stringify(restored)).toContain('hunter-two')
  await clock.advance(0) // what is drawn is asked for once more
})

test('a row goes on as it came when the helper answers garbage', PATIENT, async ($, on) => {
  await begun($, on, { '/row': 'no JSON' })
  await $.turn.start({ text: 'go', turnId: 't1' })
  const stored = await $.session.append({ message: ROW, door: 'tool-result', origin: { kind: 'tool', tool: 'Read' }, uuid: 'row-1' } as never)

  expect(stored.message?.content).toEqual(ROW.content)
})

test('a helper whose code has been replaced makes room for another, which is told of the turn', PATIENT, async ($, on) => {
  let isOld = true
  const { requests, clock } = await begun($, on, { '/rows': () => (isOld ? { outdated: true } : {}), '/end': () => ((isOld = false), {}) })
  requests.length = 0
  const starting = $.turn.start({ text: 'go', turnId: 't1' })
  await clock.advance(1_000)
  await starting

  expect(requests.map(one => one.path).filter(path => path === '/rows' || path === '/end')).toEqual(['/rows', '/end', '/rows'])
})

for (const surface of SURFACES) {
  test(`the band says what to do and does it: ${surface}`, PATIENT, async ($, on) => {
    const { requests } = await begun($, on, { '/view': VIEW, '/press': { text: 'Cleared 3 results.' } })
    await $.command.run({ command: 'popkit', args: '' } as never)
    const ui = await $.ui.mount({ plugin: 'popkit', surface, ...BAND })

    expect((await ui.find({ type: 'Text', text: /Clear now/ }))?.text).toContain('12k tokens leave at no cost')
    await ui.press({ key: 'clear' })
    expect(requests.find(one => one.path === '/press')?.body.id).toBe('clear')
    await ui.unmount()
  })

  test(`the pane shows the panel and what a button came to: ${surface}`, PATIENT, async ($, on) => {
    const { requests } = await begun($, on, { '/view': VIEW, '/press': { text: 'Put back 3 results.' } })
    await $.command.run({ command: 'popkit', args: '' } as never)
    const ui = await $.ui.mount({ plugin: 'popkit', surface, ...PANE })

    expect((await ui.find({ type: 'Text', text: /Retention status/ }))?.text).toBe('Retention status')
    await ui.press({ key: 'undo' })
    expect(requests.find(one => one.path === '/press')?.body.id).toBe('undo')
    expect((await ui.find({ type: 'Text', text: /Put back/ }))?.text).toBe('Put back 3 results.')
    await ui.unmount()
  })
}

test('a page of the pane, and a result on it, are asked for and shown', PATIENT, async ($, on) => {
  const options = [{ value: 'toolu_7', label: 'T7 Read a.py' }]
  const results = { ...VIEW.pane, page: 'results', lines: ['Tool call timeline'], choices: { options, value: '' }, operations: [] }
  const { requests, clock } = await begun($, on, { '/view': { ...VIEW, pane: results } })
  await $.command.run({ command: 'popkit', args: '' } as never)
  const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...PANE })
  await ui.press({ key: 'page results' })
  expect(requests.findLast(one => one.path === '/view')?.body.page).toBe('results')
  await ui.select({ key: 'result', value: 'toolu_7' })
  await clock.advance(0)
  const usage = { window: 1_000_000, usd: 0.42, limits: [{ kind: 'five_hour', percentUsed: 7 }] }
  expect(requests.findLast(one => one.path === '/view')?.body).toEqual({ columns: 80, rows: 40, page: 'results', chosen: 'toolu_7', turn_ended: false, status_site: false, unseen: false, usage })
  await ui.unmount()
})

test('where nothing is drawn the end of a turn asks only for what leaves by itself', PATIENT, async ($, on) => {
  const { requests, clock } = engine(on, { '/view': {} })
  on('session.surfaces', () => ({ value: [] }))
  await $.session.start(START)
  await clock.advance(0)
  await $.turn.start({ turnId: 't' } as never)
  await $.turn.complete({ answer: 'done' } as never)
  await clock.advance(0)
  expect(requests.findLast(one => one.path === '/view')?.body).toMatchObject({ turn_ended: true, unseen: true })
})

test('a compaction of ours that the client refuses to begin is begun again until it does', PATIENT, async ($, on) => {
  let refusals = 3
  const begins: unknown[] = []
  on('command.run', { command: 'compact' }, (_, e) => {
    if (refusals-- > 0) {
      throw new Error('it would wait on the turn this hook is holding')
    }
    begins.push(e.args)

    return { text: '' }
  })
  const { clock } = await begun($, on, { '/command': { text: 'cleared', compact: true } })
  await $.command.run({ command: 'popkit', args: 'clear --now', presentation: { columns: 120 } } as never)
  await clock.advance(500)
  expect(begins).toEqual([])
  await clock.advance(1_500)
  expect(begins).toEqual(['popkit'])
  await clock.advance(200_000)
  expect(begins).toEqual(['popkit'])
})

test('the band is asked for again while the cache is warm, and not once it is cold', PATIENT, async ($, on) => {
  let isCold = false
  const { requests, clock } = await begun($, on, { '/view': () => ({ ...VIEW, cache_until: isCold ? null : VIEW.cache_until }) })
  const views = () => requests.filter(one => one.path === '/view').length
  await $.command.run({ command: 'popkit', args: 'timeline', presentation: { columns: 120 } } as never)
  await clock.advance(0)
  const before = views()
  await clock.advance(30_000)
  expect(views()).toBeGreaterThan(before)
  isCold = true
  await clock.advance(60_000)
  const cold = views()
  await clock.advance(600_000)
  expect(views()).toBe(cold)
})

test('the pane counts down while it is open', PATIENT, async ($, on) => {
  const { clock } = await begun($, on, { '/view': VIEW })
  await $.command.run({ command: 'popkit', args: '' } as never)
  await clock.advance(5_000)
  const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...paneOf({ isFocused: true }) })

  expect((await ui.find({ type: 'Text', text: /warm for/ }))?.text).toBe('warm for 2:55')
  await ui.unmount()
})

test('a row whose answer is late goes on as it came, and the helper is told', PATIENT, async ($, on) => {
  const { requests, clock } = await begun($, on, { '/row': undefined })
  await $.turn.start({ text: 'go', turnId: 't1' })
  const storing = $.session.append({ message: ROW, door: 'tool-result', origin: { kind: 'tool', tool: 'Read' }, uuid: 'row-1' } as never)
  await clock.advance(150)
  const stored = await storing
  await clock.advance(0)

  expect(stored.message?.content).toEqual(ROW.content)
  expect(requests.at(-1)).toEqual({ path: '/late', body: { agent_id: '', ids: ['toolu_1'] } })
})

test('with nothing to do there is no band', PATIENT, async ($, on) => {
  const { clock } = engine(on, { '/view': { ...VIEW, band: null } })
  on('ui.render', ($, e) => {
    const { Text } = $.ui.resolve(e)

    return <Text>engine</Text>
  })
  await $.session.start(START)
  await clock.advance(0)
  await $.command.run({ command: 'popkit', args: '' } as never)
  const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...BAND })

  expect((await ui.find({ type: 'Text', text: /engine/ }))?.text).toBe('engine')
  await ui.unmount()
})

test('a list of what left takes one line, a reminder none, and both are whole where all of it is asked for', PATIENT, async ($, on) => {
  on('ui.render', { component: 'UserMessage' }, ($, e) => {
    const { Text } = $.ui.resolve(e)

    return <Text>engine: {e.props.text}</Text>
  })
  await begun($, on, {})
  const drawn = async (text: string, isExpanded = false) => {
    const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...(rowOf(text, isExpanded) as object) } as never)
    const shown = (await ui.find({ type: 'Text' }))?.text ?? ''
    await ui.unmount()

    return shown
  }
  const line = await drawn(LISTED)
  expect(line.startsWith('PopKit left out Read src/page_0.ts; ')).toBe(true)
  expect(line.endsWith('… (ctrl+o)')).toBe(true)
  expect(line.length <= 58).toBe(true)
  expect(await drawn('<system-reminder>\nThe rules of src\n</system-reminder>')).toBe('')

  for (const text of [LISTED, '<system-reminder>\nThe rules of src\n</system-reminder>']) {
    expect(await drawn(text, true)).toBe(`engine: ${text}`)
    expect(await drawn(`see ${text}`)).toBe(`engine: see ${text}`)
  }
})

test('each button shows its letter, what it comes to stands below it where there is no room, and what has the keys is said where the prompt has them', PATIENT, async ($, on) => {
  await begun($, on, { '/view': VIEW })
  await $.command.run({ command: 'popkit', args: '' } as never)

  for (const [isFocused, bodyColumns] of [[false, 76], [false, 100], [false, 50], [true, 76]] as const) {
    const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...paneOf({ isFocused, bodyColumns }) })
    expect((await ui.find({ type: 'Button', key: 'undo' }))?.props.label).toBe('u: Undo the last clear')
    expect((await ui.find({ type: 'Text', text: /ctrl\+x tab/ })) !== undefined).toBe(!isFocused)
    await ui.unmount()
  }

  for (const [bodyColumns, flexDirection] of [[40, 'row'], [39, 'column']] as const) {
    const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...paneOf({ bodyColumns }) })
    expect((await ui.findAll({ type: 'Box', text: /it comes back/ })).at(-1)?.props.flexDirection).toBe(flexDirection)
    await ui.unmount()
  }
})

test('where the pane is too low for its page, its last row says how much more there is', PATIENT, async ($, on) => {
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`)
  await begun($, on, { '/view': { ...VIEW, pane: { ...VIEW.pane, lines } } })
  await $.command.run({ command: 'popkit', args: '' } as never)
  const more = async (bodyRows: number, offset = 0) => {
    const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...paneOf({ scroll: { offset, bodyRows } }) })
    const said = (await ui.find({ type: 'Text', text: /more lines/ }))?.text
    await ui.unmount()

    return said
  }
  expect(await more(6)).toBe('↓ 18 more lines')
  expect(await more(30)).toBe(undefined)
  expect(await more(6, 4)).toBe(undefined)
})

test('what is typed while Claude works is answered at once, in the pane', PATIENT, async ($, on) => {
  const { clock, opened } = await begun($, on, { '/view': VIEW, '/command': { text: 'Net +$3' } })
  const typed = { command: 'popkit', args: 'stats', presentation: { columns: 120 } } as never
  expect((await $.command.run(typed)).text).toBe('Net +$3')
  expect(opened).toEqual([])
  await $.turn.start({ turnId: 't' } as never)
  expect((await $.command.run(typed)).text).toBe('Net +$3')
  await clock.advance(0)
  expect(opened).toEqual(['popkit'])
  const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...PANE })
  expect((await ui.find({ type: 'Text', text: /Net/ }))?.text).toBe('Net +$3')
  await ui.unmount()
})

test('an answer is laid out for the columns that are left where it is shown', PATIENT, async ($, on) => {
  const { requests, clock } = await begun($, on, { '/view': VIEW, '/command': { text: 'Net +$3' } })
  const room = async () => {
    await $.command.run({ command: 'popkit', args: 'stats', presentation: { columns: 120 } } as never)

    return requests.findLast(one => one.path === '/command')?.body.columns
  }
  expect(await room()).toBe(110)
  await $.command.run({ command: 'popkit', args: '' } as never)
  const beside = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...paneOf({ bodyColumns: 44 }) })
  expect(await room()).toBe(64)
  await $.turn.start({ turnId: 't' } as never)
  expect(await room()).toBe(44)
  await beside.unmount()
  await $.turn.complete({ answer: '' } as never)
  const below = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...paneOf({ bodyColumns: 116, placement: 'inline' }) })
  expect(await room()).toBe(110)
  await clock.advance(0)
  await below.unmount()
})

test('a count of tokens is no secret to the client, and what else is called so is one', PATIENT, async ($, on) => {
  const text = '{"tokens": 716, "advice_tokens": {"a": 1}}\n~716 tokens: add --all\ntokens: hunter2'
  on('session.redact', (_, e) => ({ value: e.text.replace(/(tokens\w*"?: )[^\s,}]+/g, '$1[REDACTED]') }))
  const { clock } = await begun($, on, { '/view': VIEW, '/command': { text } })
  const { text: said } = await $.command.run({ command: 'popkit', args: 'stats', presentation: { columns: 120 } } as never)
  expect(said?.replaceAll('\\_', '_')).toBe(text.replace('hunter2', '[REDACTED]'))
  await clock.advance(0)
})

test('the pane opens at what to do now, wherever it was left', PATIENT, async ($, on) => {
  const { requests } = await begun($, on, { '/view': VIEW })
  const asked = () => requests.findLast(one => one.path === '/view')?.body.page
  await $.command.run({ command: 'popkit', args: '' } as never)
  const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...PANE })
  await ui.press({ key: 'page results' })
  expect(asked()).toBe('results')
  await $.command.run({ command: 'popkit', args: '' } as never)
  expect(asked()).toBe('')
  await ui.unmount()
})

const STATUS = { component: 'StatusLine', props: { text: 'mine', isManaged: false, isWorking: false, maxRows: 5, columns: 80 } } as const
const OURS = 'context 5% · nothing reclaimable'

for (const [said, text, shown] of [
  [OURS, 'mine', `mine\n${OURS}`],
  [OURS, null, OURS],
  [OURS, 'model · context 4% · cache cold', 'model · context 4% · cache cold'],
  ['', 'mine', 'mine'],
] as const) {
  test(`the status line with ${said || 'nothing of ours'} under ${text}`, PATIENT, async ($, on) => {
    on('ui.render', { component: 'StatusLine' }, ($, e) => {
      const { Text } = $.ui.resolve(e)

      return <Text>{e.props.text ?? ''}</Text>
    })
    const { requests } = await begun($, on, { '/view': { ...VIEW, status: said } })
    await $.command.run({ command: 'popkit', args: '' } as never)
    const ui = await $.ui.mount({ plugin: 'popkit', surface: 'terminal', ...STATUS, props: { ...STATUS.props, text } })
    expect((await ui.find({ type: 'Text' }))?.text).toBe(shown)
    expect(requests.findLast(one => one.path === '/view')?.body.status_site).toBe(true)
    await ui.unmount()
  })
}

test('words after the command are answered as by /popkit:context', PATIENT, async ($, on) => {
  const { requests, clock } = await begun($, on, { '/command': { text: 'T1 Read a.py' }, '/view': VIEW })
  const ran = await $.command.run({ command: 'popkit', args: 'timeline', presentation: { columns: 120 } } as never)

  expect(ran.text).toBe('T1 Read a.py')
  expect(requests.find(one => one.path === '/command')?.body).toEqual({ words: 'timeline', columns: 110 })
  await clock.advance(0)
})

test('an answer is shown as it is, whether the client reads it as Markdown, shows it as it stands, or prints it', PATIENT, async ($, on) => {
  const table = 'share\n    <1%  of_all\n\n    <1%  of __init__.py\n    <2%  of_all\n\n<1%'
  const answers = ['agents  <1%', 'edit __init__.py: <1%', table, 'edit __init__.py: <1%']
  let surfaces: string[] = ['terminal']
  on('session.surfaces', () => ({ value: surfaces }) as never)
  const { clock } = await begun($, on, { '/command': () => ({ text: answers.shift() }), '/view': VIEW })
  const ask = async () => (await $.command.run({ command: 'popkit', args: 'bill', presentation: { columns: 120 } } as never)).text

  expect(await ask()).toBe('agents  <1%')
  expect(await ask()).toBe('edit \\_\\_init\\_\\_.py: \\<1%')
  expect(await ask()).toBe('share\n    \\<1%  of\\_all\n\n    <1%  of __init__.py\n    <2%  of_all\n\n\\<1%')
  surfaces = []
  expect(await ask()).toBe('edit __init__.py: <1%')
  await clock.advance(0)
})

test('taken out are the tools that are named, and all whose names begin as one that ends in __', PATIENT, () => {
  const tools = ['Read', 'mcp__a__find', 'mcp__a__read', 'mcp__ab__x', 'mcp__b__find', 'mcp__b__find_all']

  expect(tools.filter(tool => !isAmong(tool, ['mcp__a__', 'mcp__b__find']))).toEqual(['Read', 'mcp__ab__x', 'mcp__b__find_all'])
  expect(tools.filter(tool => isAmong(tool, []))).toEqual([])
})

test('the breakdown of the prompt is handed over after the first turn, and when the bill is asked for', PATIENT, async ($, on) => {
  const { requests, clock } = await begun($, on, { '/command': { text: 'The bill' }, '/view': VIEW })
  const handed = () => requests.filter(one => one.path === '/breakdown').map(one => one.body)
  await $.turn.complete(TURN)
  await $.turn.complete(TURN)
  await clock.advance(0)
  expect(handed()).toEqual([{ breakdown: { model: 'claude-opus-5-5' } }])
  await $.command.run({ command: 'popkit', args: 'bill', presentation: { columns: 120 } } as never)
  await clock.advance(0)
  expect(handed().length).toBe(2)
})

const TURN = { turnId: 't1', answer: 'done', durationMs: 4_000, isAborted: false, reason: 'answer' } as const
const SAYS = [
  [{ text: 'leave the old out' }, 'keep the plan\n\nleave the old out'],
  [{}, 'keep the plan'],
  ['no JSON', 'keep the plan'],
] as const

for (const [answer, advice] of SAYS) {
  test(`the summariser is told what the helper says: ${JSON.stringify(answer)}`, PATIENT, async ($, on) => {
    const { requests, clock } = engine(on, { '/compacting': answer })
    let instructions: string | undefined
    on('session.compact', (_, e) => {
      instructions = e.instructions

      return { messages: e.messages }
    })
    await $.session.start(START)
    await clock.advance(0)
    const messages = [{ role: 'user', text: 'go', toolUses: [] }]
    await $.session.compact({ trigger: 'manual', instructions: 'keep the plan', messages } as never)

    expect(instructions).toBe(advice)
    expect(requests.at(-1)?.path).toBe('/compacted')
  })
}
