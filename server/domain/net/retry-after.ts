/** The wait that a host asks for. */

/** Parses the header `Retry-After`: seconds, or a date. Returns milliseconds, at most `longestMs`. */
export function parseRetryAfter(header: string | undefined, now: Date, longestMs: number): number {
  if (header === undefined) return 0
  const text = header.trim()
  const ms = /^\d{1,15}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime()
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestMs)
}
