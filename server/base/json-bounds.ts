/** Bounds the cost of JSON before it is parsed. 16 MiB of `{},` take 2 s and 500 MiB. */

import * as limits from './limits.ts'

export interface JsonBounds {
  /** Levels of nested objects and arrays. Default: no bound. */
  readonly levels?: number
  /** Objects and arrays. Default: no bound. */
  readonly containers?: number
  /** Objects, arrays and commas: one to two for each value. Default: no bound. */
  readonly values?: number
}

/**
 * Bounds of the JSON that another Grove answers with. A node with properties of 1 MiB and 10,000 edges of each kind has
 * 700,000 values, nested in a few more levels.
 */
export const answerBounds = { levels: limits.jsonLevels + 10, values: 1_000_000 } as const satisfies JsonBounds

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Returns a bound that the bytes exceed, if any. They need not be valid JSON. Takes about 2 ms per MiB. */
export function exceededBound(json: Buffer, bounds: JsonBounds): keyof JsonBounds | undefined {
  const { levels = Infinity, containers = Infinity, values = Infinity } = bounds
  // Each level, container or value takes at least one byte.
  if (json.length <= Math.min(levels, containers, values)) return undefined
  let level = 0
  let opened = 0
  let commas = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) at = endOfString(json, at)
    else if (byte === openBracket || byte === openBrace) {
      if (++level > levels) return 'levels'
      if (++opened > containers) return 'containers'
    } else if (byte === closeBracket || byte === closeBrace) level--
    else if (byte === comma) commas++
    if (opened + commas > values) return 'values'
  }
  return undefined
}

/** Returns the offset of the closing quotation mark, or the length of the text. */
function endOfString(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === backslash) at++
    else if (json[at] === quote) return at
  }
  return json.length
}
