/** The fate of each unit of a Markdown source. */

import type { Span } from './scripts.ts'

/** Marks for UTF-16 units of Markdown: kept, dropped, or replaced by a space. */
export const FATE = { kept: 0, dropped: 1, space: 2 } as const

/** A document with marks. `fates` has a value of FATE for each unit of `source`. */
export interface Marked {
  source: string
  fates: Uint8Array
  /** The formulas with their marks, ascending, as spans of the source. */
  formulas: Span[]
}
