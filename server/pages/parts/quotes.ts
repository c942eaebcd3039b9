/** The lines that threads are about, as their authors saw them. */

import type { Api } from '../../../spec/client/api.ts'
import { readText } from '../text/diff.tsx'
import type { Comment } from './talk.ts'

/** Files that a page reads, and lines and characters of a quote. */
const shortQuotes: QuoteLimits = { files: 20, lines: 8, characters: 1_000 }

interface QuoteLimits {
  readonly files: number
  readonly lines: number
  readonly characters: number
}

/** Returns the quoted text of first comments, by entry. A thread about a whole file has none. */
export async function readQuotes(
  api: Api,
  path: { readonly org_id: string; readonly node_id: string },
  comments: readonly Comment[],
  most: QuoteLimits = shortQuotes,
): Promise<Map<number, string>> {
  const quotes = new Map<number, string>()
  const files = new Map<string, Promise<string | undefined>>()
  for (const { entry, anchor } of comments) {
    if (anchor?.quote) quotes.set(entry, anchor.quote.exact)
    else if (anchor?.first_line !== undefined) {
      const key = `${anchor.commit} ${anchor.path}`
      if (!files.has(key) && files.size === most.files) continue
      const read = files.get(key) ?? readText(api, path, anchor.commit, anchor.path).catch(() => undefined)
      files.set(key, read)
      const lines = linesOf(await read, { first: anchor.first_line, count: anchor.num_lines ?? 1 }, most)
      if (lines !== undefined) quotes.set(entry, lines)
    }
  }
  return quotes
}

function linesOf(
  text: string | undefined,
  { first, count }: { readonly first: number; readonly count: number },
  most: QuoteLimits,
): string | undefined {
  const lines = text?.split(/\r?\n/).slice(first - 1, first - 1 + count)
  const shown = lines?.slice(0, most.lines).join('\n')
  if (shown === undefined) return undefined
  const isWhole = shown.length <= most.characters && (lines?.length ?? 0) <= most.lines
  return isWhole ? shown : `${shown.slice(0, most.characters)}…`
}
