// The mod: hands what happens in the session to the resident helper (popkit serve) and draws what that answers. No rule lives here.
import type { Register } from 'claude-code'

import { compacted, isLoaded } from './mod/compaction'
import { enter, landed, late, remember, reportResults } from './mod/door'
import { MOST_AGAIN, comeBack, end, follow, isAmong, ready, reportBreakdown, resumed, start, takenOut } from './mod/helper'
import { band, openPane, pane, refresh, run } from './mod/panel'

const SILENT = 'PopKit does not answer now. Try /popkit:context'

export const register: Register = on => {
  on('session.start', async ($, e, next) => {
    const starting = start($)
    await $.command.register({
      name: 'popkit',
      description: 'What the context holds, live; with words, what /popkit:context answers',
      argumentHint: '[words]',
      immediate: true,
    })
    await starting
    await resumed($)

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
    if (e.agentId === undefined) {
      await ready($)
      await reportResults($)
    }

    return next(e)
  })

  on('turn.complete', ($, e, next) => {
    if (e.agentId === undefined) {
      void refresh($, MOST_AGAIN, true)
      void reportBreakdown($)
    }

    return next(e)
  })

  on('tool.list', async ($, e, next) => {
    const listed = await next(e)
    const { hidden } = await takenOut($)

    if (listed.value === undefined || hidden.length === 0) {
      return listed
    }

    return { value: listed.value.filter(tool => !isAmong(tool.name, hidden)) }
  })

  on('tool.describe', async ($, e, next) => {
    const description = await next(e)

    if (isLoaded(e.tool)) {
      return { ...description, isDeferred: false, breakPromptCache: true }
    }
    const isOut = e.tool.startsWith('mcp__') && isAmong(e.tool, (await takenOut($)).deferred)

    return isOut ? { ...description, isDeferred: true } : description
  })

  on('tool.call', ($, e, next) => {
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

    if (/^bill\b/.test(words)) {
      await reportBreakdown($, true)
    }
    const text = words === '' ? await openPane($) : await run($, words, e.presentation.columns)
    await comeBack($, words)

    return { text: text ?? SILENT, isTextDisplayOnly: true }
  })

  // The hook on prompts answers it too, as an error of the prompt's: only where the helper does not.
  on('command.run', { command: 'popkit:context' }, async ($, e, next) => {
    const text = await run($, e.args.trim(), e.presentation.columns)

    return text === undefined ? next(e) : { text, isTextDisplayOnly: true }
  })

  on('ui.render', { component: 'AbovePrompt' }, async ($, e, next) => (await band($, e)) ?? next(e))

  on('ui.render', { component: 'Pane', requestId: 'popkit' }, ($, e) => pane($, e))
}
