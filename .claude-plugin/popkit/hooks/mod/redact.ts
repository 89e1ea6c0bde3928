// The client's own masker, behind ours: for what is shown, and for what the helper keeps of a call. Older clients have none.
import type { EngineInterface } from 'claude-code'

// The client takes no longer text; of a call's input only short ones name it.
const MOST_CHARS = 100_000
const NAMING_CHARS = 4_000
// The client takes a count of tokens for a secret that is called so: `~716 tokens: add --all`, `"tokens": 716`. In ours it sees a sign.
const COUNTED = /(?<=\d )tokens(?=:)|tokens(?=\w*": (?:-?\d|null|[[{]))/g
const SIGN = '\uE001'

/** Returns a text without the secrets that the client finds in it; as it is where the client cannot look. */
async function masked($: EngineInterface, text: string): Promise<string> {
  if (text === '' || text.length > MOST_CHARS) {
    return text
  }

  try {
    return await $.session.redact(text)
  } catch {
    return text
  }
}

/** Returns an answer of ours without these secrets. */
export async function redacted($: EngineInterface, text: string): Promise<string> {
  return text.includes(SIGN) ? masked($, text) : (await masked($, text.replace(COUNTED, SIGN))).replaceAll(SIGN, 'tokens')
}

/** Returns lines of ours without them, and as many. */
export async function redactedLines($: EngineInterface, lines: string[]): Promise<string[]> {
  const together = (await redacted($, lines.join('\n'))).split('\n')

  return together.length === lines.length ? together : Promise.all(lines.map(line => redacted($, line)))
}

/** Returns what the client would mask in the words of a call's input: field -> the field without its secrets. */
export async function redactedWords($: EngineInterface, input: Record<string, unknown>): Promise<Record<string, string>> {
  const found: Record<string, string> = {}

  for (const [name, value] of Object.entries(input)) {
    if (typeof value === 'string' && value.length <= NAMING_CHARS) {
      const text = await masked($, value)

      if (text !== value) {
        found[name] = text
      }
    }
  }

  return found
}
