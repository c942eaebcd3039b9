/** How far a long command is: a bar on a terminal, now and then a line elsewhere. */

export interface Progress {
  /** `done` of `total`, which it never exceeds; cheap enough to call for each. */
  at(done: number, total: number): void
  /** Leaves the last state standing on a line of its own; nothing where there was no work. */
  end(): void
}

export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** Milliseconds between two pictures of the bar, and between two lines. */
const barIntervalMs = 100
const lineIntervalMs = 2_000

/** @param now milliseconds */
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

  /** Nothing where the terminal is too narrow for one. */
  function bar(): string {
    const width = Math.min(40, (output.columns ?? 80) - label.length - 30)
    const full = Math.floor((percent() / 100) * width)
    return width < 10 ? '' : `${'█'.repeat(full)}${'░'.repeat(width - full)} `
  }
}
