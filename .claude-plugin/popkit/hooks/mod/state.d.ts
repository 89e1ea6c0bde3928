// What the mod keeps in the session, so that a change of it redraws.
/** Something that a person can do: what it comes to is said before. */
export type PopkitOffer = { id: string; label: string; sum: string; key: string }
export type PopkitPage = {
  pages: { id: string; label: string; key: string }[]
  page: string
  head: string[]
  lines: string[]
  choices: { options: { value: string; label: string }[]; value: string } | null
  operations: PopkitOffer[]
}
export type PopkitView = {
  band: { text: string; operations: PopkitOffer[] } | null
  // The row under the prompt; '' where the person has not asked for it.
  statusLine: string
  pane: PopkitPage
  cacheUntil: number | null
}

declare module 'claude-code' {
  interface PluginState {
    // outcome: of the last operation, in words; now: milliseconds, while the pane counts.
    popkit: { view: PopkitView | null; outcome: string; now: number }
  }
}
