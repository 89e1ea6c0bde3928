// The mod: hands what happens in the session to the resident helper (popkit serve) and draws what that answers. No rule lives here.
import type { Register } from 'claude-code'

import { carried } from './mod/carried'
import { compacted, isLoaded } from './mod/compaction'
import { enter, landed, late, remember, reportResults, wake } from './mod/door'
import {
  MOST_AGAIN,
  begin,
  comeBack,
  end,
  follow,
  isAmong,
  isGone,
  ready,
  reportBreakdown,
  resumed,
  sleeps,
  stopSleeping,
  takenOut,
} from './mod/helper'
import { answerNow, band, literal, openPane, pane, recount, refresh, run, statusLine, turn } from './mod/panel'

const SILENT = 'PopKit does not answer now. Try /popkit:context'

// Words whose answers have the client's own count of what the messages hold.
const COUNTED = /^(bill\b|retention\b|$)/

export const register: Register = on => {
  on('session.start', async ($, e, next) => {
    const starting = begin($, e.isInteractive !== false)
    await $.command.register({
      name: 'popkit',
      description: 'What the context holds, live; with words, what /popkit:context answers',
      argumentHint: '[words]',
      immediate: true,
    })
    await starting

    if (!sleeps()) {
      await resumed($)
    }

    return next(e)
  })

  on('session.end', async ($, e, next) => {
    await end($)

    if (e.reason === 'resume') {
      void follow($, e.sessionId)
    }

    return next(e)
  })

  on('turn.start', async ($, e, next) => {
    if (e.agentId !== undefined) {
      return next(e)
    }
    turn(true)

    if (!sleeps()) {
      await ready($)
      await reportResults($)
    }

    return next(e)
  })

  on('turn.complete', ($, e, next) => {
    if (e.agentId !== undefined) {
      return next(e)
    }
    turn(false)

    if (sleeps()) {
      stopSleeping()
    } else {
      void refresh($, MOST_AGAIN, true)
      void recount($)
    }

    return next(e)
  })

  on('tool.list', async ($, e, next) => {
    const listed = await next(e)

    // Only tools of MCP servers are taken out.
    if (listed.value === undefined || !listed.value.some(tool => tool.name.startsWith('mcp__'))) {
      return listed
    }
    const { hidden } = await takenOut($)

    return hidden.length === 0 ? listed : { value: listed.value.filter(tool => !isAmong(tool.name, hidden)) }
  })

  // All tools are described before the first request: the client asks about few of them.
  on('tool.describe', { isDeferred: true }, async ($, e, next) => {
    const description = await next(e)

    return isLoaded(e.tool) ? { ...description, isDeferred: false, breakPromptCache: true } : description
  })

  on('tool.describe', { tool: /^mcp__/ }, async ($, e, next) => {
    const description = await next(e)

    return isAmong(e.tool, (await takenOut($)).deferred) ? { ...description, isDeferred: true } : description
  })

  // A thread keeps what it was shown, whatever the list says, unless the cache may break.
  on('tool.offer', { tool: /^mcp__/, for: 'list' }, ($, e, next) => (isGone(e.tool) ? { isOffered: false, breakPromptCache: true } : next(e)))

  on('tool.call', async ($, e, next) => {
    await wake($)
    remember($, e)

    return next(e)
  })

  on('session.append', { door: 'tool-result' }, async ($, e, next) => {
    const entering = await enter($, e)
    const stored = await next(entering.row)
    landed(e)
    void late($, entering)

    return stored
  })

  on('session.compact', ($, e, next) => compacted($, e, next))

  on('command.run', { command: 'popkit' }, async ($, e) => {
    const words = e.args.trim()

    if (words !== '' && COUNTED.test(words)) {
      await reportBreakdown($, true)
    }
    const text = words === '' ? await openPane($) : await answerNow($, await run($, words, e.presentation.columns))
    await comeBack($, words)

    return { text: text === undefined ? SILENT : await literal($, text), isTextDisplayOnly: true }
  })

  // The hook on prompts answers it too, as an error of the prompt's: only where the helper does not.
  on('command.run', { command: 'popkit:context' }, async ($, e, next) => {
    const words = e.args.trim()

    if (COUNTED.test(words)) {
      await reportBreakdown($, true)
    }
    const text = await run($, words, e.presentation.columns)

    return text === undefined ? next(e) : { text: await literal($, text), isTextDisplayOnly: true }
  })

  on('ui.render', { component: 'AbovePrompt' }, async ($, e, next) => (await band($, e)) ?? next(e))

  on('ui.render', { component: 'Pane', requestId: 'popkit' }, ($, e) => pane($, e))

  on('ui.render', { component: 'StatusLine' }, ($, e, next) => statusLine($, e, next))

  on('ui.render', { component: 'UserMessage' }, ($, e, next) => carried($, e) ?? next(e))
}
