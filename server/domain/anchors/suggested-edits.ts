/** Places suggestions on a commit, as edits of its files. */
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { findTree, readTree } from '../branches/revisions.ts'
import type { Anchor } from '../format/anchors.ts'
import { EditableText, type TextEdit } from '../format/text-edits.ts'
import { findFile, findKept, hasText, readExactText, readKeptText } from './anchored-files.ts'
import { placeAnchors } from './place-anchors.ts'

/** A text that replaces the quoted words of an anchor, or its lines. */
export interface Suggested {
  readonly anchor: Anchor
  readonly text: string
}

/** `ambiguous`: the quoted words are in the lines several times. */
type Unplaced = 'outdated' | 'not_utf8' | 'ambiguous'

export type PlacedEdit = { readonly path: string; readonly edit: TextEdit } | { readonly lack: Unplaced }

interface Placing {
  readonly at: number
  readonly suggested: Suggested
  /** Lines at the commit, counted from 0. */
  readonly from: number
  readonly to: number
}

/**
 * Returns an edit for each suggestion, in their order. Reads each file once.
 *
 * @throws the errors of placeAnchors
 */
export async function placeEdits(repo: Repo, head: Oid, suggested: readonly Suggested[]): Promise<PlacedEdit[]> {
  const anchors = suggested.map(({ anchor }) => anchor)
  const places = await placeAnchors(repo, { head, base: null, isInBase: async () => false }, anchors)
  const edits: PlacedEdit[] = suggested.map(() => ({ lack: 'outdated' }))
  const byPath = new Map<string, Placing[]>()
  for (const [at, one] of suggested.entries()) {
    const placed = places[at]
    const { path = '', first_line, num_lines = 1 } = placed && !placed.outdated ? placed.place : {}
    if (first_line === undefined) continue
    const placing = { at, suggested: one, from: first_line - 1, to: first_line - 1 + num_lines }
    byPath.set(path, [...(byPath.get(path) ?? []), placing])
  }
  const tree = await readTree(repo, head)
  const pace = createYielder()
  for (const [path, some] of byPath) {
    const file = await findFile(repo, tree, path)
    const text = file && hasText(file) ? await readExactText(repo, file.oid) : undefined
    if (!text || !('text' in text)) {
      for (const { at } of some) edits[at] = { lack: text?.lack === 'not_utf8' ? 'not_utf8' : 'outdated' }
      continue
    }
    const now = new EditableText(text.text)
    const before = new Map<string, Promise<EditableText | undefined>>()
    for (const placing of some) {
      const edit = await editOf(repo, now, before, placing)
      edits[placing.at] = edit ? { path, edit } : { lack: 'ambiguous' }
      await pace.yieldToEventLoop()
    }
  }
  return edits
}

/** @param before the files that the anchors name */
async function editOf(
  repo: Repo,
  now: EditableText,
  before: Map<string, Promise<EditableText | undefined>>,
  { suggested: { anchor, text }, from, to }: Placing,
): Promise<TextEdit | undefined> {
  const { commit, path, quote, first_line = 1, num_lines = 1 } = anchor
  if (!quote) return now.replaceLines({ from, to }, text)
  const key = `${commit}:${path}`
  const reading = before.get(key) ?? readBefore(repo, commit, path)
  before.set(key, reading)
  const old = await reading
  const then = { from: first_line - 1, to: first_line - 1 + num_lines }
  // In the same lines it is the same occurrence, even if the text around the lines has changed.
  const isSame = old !== undefined && linesIn(old, then) === linesIn(now, { from, to })
  const ordinal = isSame ? old.ordinalOf(then, quote) : now.ordinalOf({ from, to }, quote)
  return ordinal === undefined ? undefined : now.replaceWords({ from, to }, quote, text, ordinal)
}

function linesIn(text: EditableText, { from, to }: { readonly from: number; readonly to: number }): string {
  return text.search.lines.slice(from, to).join('\n')
}

async function readBefore(repo: Repo, commit: Oid, path: string): Promise<EditableText | undefined> {
  const tree = await findTree(repo, commit)
  const entry = tree === null ? undefined : await findKept(repo, tree, path)
  const file = entry && hasText(entry) ? await readKeptText(repo, entry.oid) : undefined
  return file && 'text' in file ? new EditableText(file.text) : undefined
}
