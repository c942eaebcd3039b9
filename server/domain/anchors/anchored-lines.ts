/** Reads the lines of an anchor as its author saw them. */
import type { Repo } from '../../../gitstore/repo.ts'
import { findTree } from '../branches/revisions.ts'
import type { Anchor } from '../format/anchors.ts'
import { parseBounded, parsePointer, rangeOfValue, valueAt } from '../format/json-pointer.ts'
import { cutText } from '../format/limits.ts'
import { linesOf } from '../format/line-map.ts'
import { findKept, hasText, readKeptText } from './anchored-files.ts'

/** Limits of what is returned. */
const maxLines = 500
const maxBytes = 16_384

/**
 * Returns the lines, or those of the JSON value, as they are in the file. They have at most 16 KiB: the last line may be cut, and ends with
 * an ellipsis then. An anchor of a whole file has none. Undefined if the commit, the file or the lines are missing.
 *
 * @throws the errors of findTree, findEntry and readBlob except object_missing
 */
export async function readAnchoredLines(repo: Repo, anchor: Anchor): Promise<string[] | undefined> {
  const { commit, path, first_line, num_lines = 1, pointer } = anchor
  const tree = await findTree(repo, commit)
  const entry = tree === null ? undefined : await findKept(repo, tree, path)
  if (!entry) return undefined
  if (first_line === undefined && pointer === undefined) return []
  const file = hasText(entry) ? await readKeptText(repo, entry.oid) : undefined
  if (!file || !('text' in file)) return undefined
  if (pointer !== undefined) return valueLines(file.text, pointer)
  if (first_line === undefined) return []
  const lines = linesOf(file.text).slice(first_line - 1, first_line - 1 + num_lines)
  return lines.length === num_lines ? bounded(lines) : undefined
}

function valueLines(text: string, pointer: string): string[] | undefined {
  const steps = parsePointer(pointer)
  if (!steps || valueAt(parseBounded(text), steps) === undefined) return undefined
  const { from, to } = rangeOfValue(text, steps)
  return bounded(linesOf(text.slice(from, to)))
}

function bounded(lines: readonly string[]): string[] {
  const shown: string[] = []
  let left = maxBytes
  for (const line of lines.slice(0, maxLines)) {
    const bytes = Buffer.byteLength(line) + 1
    if (bytes > left) return [...shown, `${cutText(line, left)}…`]
    shown.push(line)
    left -= bytes
  }
  return lines.length > maxLines ? [...shown, '…'] : shown
}
