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

/** Milliseconds between two updates of the bar, and between two lines. A line also follows after the longest pause. */
const barIntervalMs = 100
const lineIntervalMs = 2_000
const longestPauseMs = 60_000
/** Milliseconds after which the remaining time is estimated. */
const estimateAfterMs = 10_000

/** Creates a progress display. @param now the time in milliseconds */
export function progressOn(output: Output, label: string, now: () => number): Progress {
  const terminal = output.isTTY === true
  let [done, total, shown] = [0, 0, -1]
  let [shownAt, shownPercent] = [Number.NEGATIVE_INFINITY, 0]
  let beganAt: number | undefined
  return { at, end }

  function at(newDone: number, newTotal: number): void {
    ;[done, total] = [Math.min(newDone, newTotal), newTotal]
    beganAt ??= now()
    const waited = now() - shownAt
    const isNews = percent() >= shownPercent + 10 || now() - Math.max(shownAt, beganAt) >= longestPauseMs
    if (terminal ? waited >= barIntervalMs : waited >= lineIntervalMs && isNews) show()
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
    const numbers = `${String(percent()).padStart(3)} % ${done}/${total}${estimate()}`
    output.write(terminal ? `\r\x1b[K${label} ${bar(numbers)}${numbers}` : `${label} ${numbers.trim()}\n`)
  }

  /** Returns the estimated time for the rest, or ''. */
  function estimate(): string {
    const spent = now() - (beganAt ?? now())
    if (spent < estimateAfterMs || done === 0 || done === total) return ''
    const seconds = Math.ceil(((spent / done) * (total - done)) / 1000)
    return seconds < 100 ? `, about ${seconds} s left` : `, about ${Math.ceil(seconds / 60)} min left`
  }

  /** Returns the bar, or '' if the terminal is too narrow. */
  function bar(numbers: string): string {
    const width = Math.min(40, (output.columns ?? 80) - label.length - numbers.length - 3)
    const full = Math.floor((percent() / 100) * width)
    return width < 10 ? '' : `${'█'.repeat(full)}${'░'.repeat(width - full)} `
  }
}
