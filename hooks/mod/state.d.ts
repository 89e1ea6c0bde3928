// What the mod keeps in the session, so that a change of it redraws.
export type PopkitAction = { id: string; label: string }
export type PopkitView = {
  band: { text: string; actions: PopkitAction[] } | null
  pane: { lines: string[]; actions: PopkitAction[] }
  cacheUntil: number | null
}

declare module 'claude-code' {
  interface PluginState {
    // told: what the last button came to; now: milliseconds, while the pane counts.
    popkit: { view: PopkitView | null; told: string; now: number }
  }
}
