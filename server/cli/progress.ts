/** The progress of a long command: a bar on a terminal, occasional lines elsewhere. */

export interface Progress {
  /** Reports that `done` of `total` items are done. Cheap enough to call for each item. */
  at(done: number, total: number): void
  /** Leaves the last state on its own line. Writes nothing if there was no work. */
  end(): void
}

export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** Milliseconds between two updates of the bar, and between two lines. */
const barIntervalMs = 100
const lineIntervalMs = 2_000

/** Creates a progress display. @param now the time in milliseconds */
export function progressOn(output: Output, label: string, now: () => number): Progress {
  const terminal = output.isTTY === true
  let [done, total, shown] = [0, 0, -1]
  let [shownAt, shownPercent] = [Number.NEGATIVE_INFINITY, 0]
  return { at, end }

  function at(newDone: number, newTotal: number): void {
    ;[done, total] = [Math.min(newDone, newTotal), newTotal]
    const waited = now() - shownAt
    if (terminal ? waited >= barIntervalMs : waited >= lineIntervalMs && percent() >= shownPercent + 10) show()
  }

  function end(): void {
    if (done !== shown && total > 0) show()
    if (terminal && shown >= 0) output.write('\n')
  }

  function percent(): number {
    return total === 0 ? 100 : Math.floor((done / total) * 100)
  }

  function show(): void {
    ;[shown, shownAt, shownPercent] = [done, now(), percent()]
    const numbers = `${String(percent()).padStart(3)} % ${done}/${total}`
    output.write(terminal ? `\r\x1b[K${label} ${bar()}${numbers}` : `${label} ${numbers.trim()}\n`)
  }

  /** Returns the bar, or '' if the terminal is too narrow. */
  function bar(): string {
    const width = Math.min(40, (output.columns ?? 80) - label.length - 30)
    const full = Math.floor((percent() / 100) * width)
    return width < 10 ? '' : `${'█'.repeat(full)}${'░'.repeat(width - full)} `
  }
}
