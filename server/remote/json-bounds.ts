/** What parsed JSON would take, before it is parsed: 60 MiB of `{}` are 2.5 GB of objects. */
import { depthLimit } from '../domain/format/limits.ts'

export interface JsonBounds {
  /** Of objects and arrays within each other. */
  readonly levels: number
  /** Objects, arrays and commas: as many as there are values, and at most twice as many. */
  readonly values: number
}

/** Of an answer of a Grove: around the JSON of a node; a node with properties of 1 MiB and 10,000 edges of each kind has 700,000. */
export const answerBounds: JsonBounds = { levels: depthLimit + 10, values: 1_000_000 }

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Which of the bounds the text exceeds; undefined for neither. The bytes may be no JSON. About 2 ms for a MiB. */
export function exceededBound(json: Buffer, { levels, values }: JsonBounds): keyof JsonBounds | undefined {
  let level = 0
  let found = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) at = endOfString(json, at)
    else if (byte === openBracket || byte === openBrace) {
      found++
      if (++level > levels) return 'levels'
    } else if (byte === closeBracket || byte === closeBrace) level--
    else if (byte === comma) found++
    if (found > values) return 'values'
  }
  return undefined
}

/** The place of the closing quotation mark, or the end of the text. */
function endOfString(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === backslash) at++
    else if (json[at] === quote) return at
  }
  return json.length
}
