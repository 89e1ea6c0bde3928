/** @jsxImportSource @opentui/solid */
// What is drawn in OpenCode's terminal: a line in the sidebar, and the pane. Words, order and operations are the helper's.
import { TextAttributes } from '@opentui/core'
import { useKeyboard, useTerminalDimensions } from '@opentui/solid'
import type { TuiPlugin, TuiPluginApi } from '@opencode-ai/plugin/tui'
import { createEffect, createSignal, For, on, onCleanup, Show } from 'solid-js'

import { Helper, program, type Program } from '../helper'

type Offer = { id: string; key: string; label: string; sum: string }
type Choices = { options: { value: string; label: string }[]; value: string }
type Shown = { pages: { id: string; label: string; key: string }[]; page: string; head: string[]; lines: string[]; operations: Offer[]; choices: Choices | null }
type View = { band: { text: string } | null; line: string; cache_until: number | null; pane: Shown }

// Milliseconds. A person waits, so the helper may read what was said.
const JOIN_MS = 3_000
const VIEW_MS = 5_000
const OPERATION_MS = 60_000
const LOOK_MS = 20_000
// Until the sidebar is drawn again: while the cache is warm, and once it is cold.
const COOLING_MS = 60_000
const SETTLED_MS = 500
const TOAST_MS = 8_000
const MOST_COLUMNS = 108
// Of a dialog: what its frame takes of the screen.
const AROUND_COLUMNS = 8
const AROUND_ROWS = 14
const NOT_YET = 'begins with your next prompt'
const NOTHING = 'PopKit has nothing to show yet. It begins with your next prompt.'

/** The helpers of the sessions that are shown: each is asked where it runs, and none is started from here. */
class Views {
  private readonly helpers = new Map<string, Helper>()

  constructor(private readonly api: TuiPluginApi, private readonly program: Program) {}

  async view(sessionID: string, asked: Record<string, unknown> = {}): Promise<View | undefined> {
    const answer = await this.ask(sessionID, '/view', asked, VIEW_MS)

    if (typeof answer?.toast === 'string' && answer.toast !== '') {
      this.api.ui.toast({ title: 'PopKit', message: answer.toast, variant: 'info', duration: TOAST_MS })
    }

    // A helper of an earlier version that still runs answers in another form: nothing of it is drawn.
    const pane = answer?.pane as Partial<Shown> | undefined

    return Array.isArray(pane?.operations) ? (answer as unknown as View) : undefined
  }

  async ask(sessionID: string, path: string, asked: Record<string, unknown>, waitMs: number) {
    const root = this.rootOf(sessionID)
    const helper = this.helpers.get(root) ?? new Helper(['--session', root], this.program.path, { isJoined: true })
    this.helpers.set(root, helper)

    return (await helper.ready(JOIN_MS)) ? helper.ask(path, asked, waitMs) : undefined
  }

  /** The session that a person began, of which a subagent's is part. */
  private rootOf(sessionID: string): string {
    const above = this.api.state.session.get(sessionID)?.parentID

    return above === undefined ? sessionID : this.rootOf(above)
  }
}

/** The sidebar: what to do now, else the status line, drawn again as the cache cools. */
function Side(props: { api: TuiPluginApi; views: Views; sessionID: string }) {
  const [view, setView] = createSignal<View>()
  let cooling: ReturnType<typeof setTimeout> | undefined
  const look = async () => {
    clearTimeout(cooling)
    const shown = await props.views.view(props.sessionID)
    const left = (shown?.cache_until ?? 0) - Date.now()
    setView(shown)
    cooling = left > 0 ? setTimeout(look, Math.min(COOLING_MS, left + SETTLED_MS)) : undefined
  }
  const stop = props.api.event.on('session.idle', event => void (event.properties.sessionID === props.sessionID && look()))
  createEffect(on(() => props.sessionID, look))
  onCleanup(() => {
    stop()
    clearTimeout(cooling)
  })

  // What is drawn at first has to be something: a slot that is given nothing is made anew and anew.
  return (
    <box>
      <text fg={props.api.theme.current.text} attributes={TextAttributes.BOLD}>
        PopKit
      </text>
      <text fg={props.api.theme.current.textMuted}>{view()?.band?.text ?? view()?.line ?? NOT_YET}</text>
    </box>
  )
}

/** The pane: its pages, the lines of one, what can be done there, what the last operation came to. */
function Pane(props: { api: TuiPluginApi; views: Views; sessionID: string; page: string; chosen: string }) {
  const theme = () => props.api.theme.current
  const size = useTerminalDimensions()
  const columns = () => Math.min(size().width - AROUND_COLUMNS, MOST_COLUMNS)
  const rows = () => Math.max(size().height - AROUND_ROWS, 1)
  const [page, setPage] = createSignal(props.page)
  const [view, setView] = createSignal<View>()
  const [outcome, setOutcome] = createSignal('')
  const [isAsked, setAsked] = createSignal(false)
  const look = async () => {
    const asked = { page: page(), chosen: props.chosen, columns: columns(), rows: rows() }
    setView(await props.views.view(props.sessionID, asked))
    setAsked(true)
  }
  const timer = setInterval(look, LOOK_MS)
  createEffect(on([page, columns, rows], look))
  onCleanup(() => clearInterval(timer))

  const press = async (id: string) => {
    const answer = await props.views.ask(props.sessionID, '/press', { id, columns: columns() }, OPERATION_MS)
    setOutcome(typeof answer?.text === 'string' ? answer.text.trim() : 'PopKit does not answer now.')
    await look()
  }
  useKeyboard(key => {
    const shown = view()?.pane
    const next = shown?.pages.find(one => one.key === key.name)
    const operation = shown?.operations.find(one => one.key === key.name)

    if (next !== undefined) {
      setOutcome('')
      setPage(next.id)
    } else if (key.name === 'return' && shown?.choices) {
      choose(props.api, props.views, props.sessionID, shown.page, shown.choices)
    } else if (operation !== undefined) {
      void press(operation.id)
    }
  })

  return (
    <box paddingLeft={2} paddingRight={2} paddingBottom={1} gap={1}>
      <Show when={view()} fallback={<text fg={theme().textMuted}>{isAsked() ? NOTHING : ' '}</text>}>
        {(seen: () => View) => (
          <>
            <box flexDirection="row" gap={2}>
              <For each={seen().pane.pages}>
                {one => (
                  <text fg={one.id === seen().pane.page ? theme().text : theme().textMuted} onMouseUp={() => setPage(one.id)}>
                    {one.key} {one.label}
                  </text>
                )}
              </For>
            </box>
            <Show when={seen().pane.head.length > 0}>
              <text fg={theme().text} attributes={TextAttributes.BOLD}>
                {seen().pane.head.join('\n')}
              </text>
            </Show>
            <For each={seen().pane.operations}>
              {one => (
                <text fg={theme().text} onMouseUp={() => press(one.id)}>
                  [{one.key}] {one.label}: {one.sum}
                </text>
              )}
            </For>
            <Show when={outcome() !== ''}>
              <text fg={theme().text}>{outcome()}</text>
            </Show>
            <scrollbox maxHeight={rows()} focused>
              <text fg={theme().text}>{seen().pane.lines.join('\n')}</text>
            </scrollbox>
            <text fg={theme().textMuted}>
              {seen().pane.choices ? 'return chooses a result · ' : ''}1 to 5 turn the page · esc closes
            </text>
          </>
        )}
      </Show>
    </box>
  )
}

function open(api: TuiPluginApi, views: Views, sessionID: string, page = '', chosen = ''): void {
  api.ui.dialog.replace(() => <Pane api={api} views={views} sessionID={sessionID} page={page} chosen={chosen} />)
  api.ui.dialog.setSize('xlarge')
}

function choose(api: TuiPluginApi, views: Views, sessionID: string, page: string, choices: Choices): void {
  const options = choices.options.map(one => ({ title: one.label, value: one.value }))
  const back = (value: string) => open(api, views, sessionID, page, value)
  api.ui.dialog.replace(() => (
    <api.ui.DialogSelect title="Result" options={options} current={choices.value} onSelect={one => back(one.value)} />
  ))
}

export const tui: TuiPlugin = async (api, options) => {
  const views = new Views(api, program(options?.command))
  api.slots.register({
    order: 50,
    slots: { sidebar_content: (_, props) => <Side api={api} views={views} sessionID={props.session_id} /> },
  })
  api.keymap.registerLayer({
    commands: [
      {
        namespace: 'palette',
        name: 'popkit.pane',
        title: 'PopKit: open the pane',
        desc: 'PopKit: the pane, live',
        category: 'Session',
        slashName: 'popkit-pane',
        run: () => {
          const at = api.route.current

          if (at.name === 'session' && typeof at.params?.sessionID === 'string') {
            open(api, views, at.params.sessionID)
          } else {
            api.ui.toast({ title: 'PopKit', message: 'Open a session first.', variant: 'info' })
          }
        },
      },
    ],
  })
}

export default { id: 'popkit', tui }
