// What a compaction of ours carries as text: lists of what left, reminders. The client shows it as the person's own words. The model needs all
// of it; the person gets a line of a list and nothing of a reminder, which the client never shows either. Ctrl+O shows everything.
import type { EngineInterface, RenderInput } from 'claude-code'

const LIST = /^\[PopKit left out (.+): popkit restore [a-z2-7]{8,51}\]$/
const REMINDER = /^<system-reminder>[^]*<\/system-reminder>$/
const MORE = ' (ctrl+o)'
const BESIDE = 4
const COLUMNS = 80
const LEAST = 20

/** Draws a row of the person's that a compaction wrote; undefined for any other, and where the whole text is asked for. */
export function carried($: EngineInterface, e: RenderInput<'UserMessage'>) {
  const text = e.props.text.trim()
  const listed = e.props.isExpanded ? null : LIST.exec(text)
  const { Box, Text } = $.ui.resolve(e)

  if (listed !== null) {
    const room = Math.max(LEAST, (e.viewport?.columns ?? COLUMNS) - BESIDE - MORE.length)

    return (
      <Box paddingLeft={2}>
        <Text dimColor wrap="truncate-end">
          {cut(`PopKit left out ${listed[1]}`, room) + MORE}
        </Text>
      </Box>
    )
  }

  return !e.props.isExpanded && REMINDER.test(text) ? <Box /> : undefined
}

/** Returns a text in at most so many characters, whole where it fits. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
