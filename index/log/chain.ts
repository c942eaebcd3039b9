/**
 * Positions in a log, and cursors, which are their texts. A position names everything before it, not just a number:
 * after a restore or a rolled-back disk, the same number has another chain value.
 */
import { createHash } from 'node:crypto'

/** How far a reader of a log has read. The chain value covers all events up to there. */
export interface Position {
  /** 0: no event. */
  readonly seq: number
  readonly chain: string
}

/** Returns the next chain value: 16 hex digits of SHA-256. It covers the value before, and the id of the event. */
export function nextChain(chain: string, id: string): string {
  return createHash('sha256').update(`${chain}${id}`).digest('hex').slice(0, 16)
}

/** The position before the first event of a log. */
export function startOf(logId: string): Position {
  return { seq: 0, chain: nextChain('', logId) }
}

export function encodeCursor({ seq, chain }: Position): string {
  return `${seq}-${chain}`
}

/** Parses a cursor; undefined if it is malformed. */
export function parseCursor(text: string): Position | undefined {
  const [, seq, chain = ''] = /^(0|[1-9][0-9]{0,14})-([0-9a-f]{16})$/.exec(text) ?? []
  return seq === undefined ? undefined : { seq: Number(seq), chain }
}
