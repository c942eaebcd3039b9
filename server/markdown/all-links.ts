/** Reads all links of a text, in turns of the event loop. It also runs in browsers. */

import { type Link, linkOf, piecesOf } from './markdown-facts.ts'

interface AllLinks {
  readonly links: readonly Link[]
  /** False if the text or a block of it is too long to be read. */
  readonly isWhole: boolean
}

/** The longest text and block that are read. `turn`: UTF-16 units between two turns of the event loop. */
const longest = { text: 524_288, lines: 20_000, block: 32_768, turn: 8_192 } as const

export async function readAllLinks(text: string): Promise<AllLinks> {
  if (text.length > longest.text || text.split('\n', longest.lines + 1).length > longest.lines)
    return { links: [], isWhole: false }
  const links: Link[] = []
  let [units, isWhole] = [0, true]
  for (const piece of piecesOf(text, longest.block)) {
    if (piece.isSkipped) isWhole = false
    links.push(...piece.links.map(linkOf).filter((link) => link !== undefined))
    units += piece.length + 20
    if (units < longest.turn) continue
    units = 0
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  return { links, isWhole }
}
