/**
 * Entries of pull requests: comments, verdicts and events. Each is one JSON file of the ledger. A file that a later
 * version wrote, or that was edited by hand, is kept and shown as what it is.
 */
import { z } from 'zod'
import { isGitError } from '../../../gitstore/errors.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { findEntry, type Mode, readTree } from '../../../gitstore/objects/trees.ts'
import { isOid, type Oid, type Repo } from '../../../gitstore/repo.ts'
import type { EntryRows } from '../../../index/derived/reviews.ts'
import { entriesFolder, entryFile, parseEntryFile } from '../format/paths.ts'
import { isId } from '../layout.ts'

/** A user in the ledger. The id is absent if only Git knows who moved a branch. */
export const user = z.looseObject({ id: z.string().refine(isId).exactOptional(), name: z.string(), email: z.string() })
export const when = z.iso.datetime()
const oid = z.string().refine(isOid)
const number = z.int().min(1)
const quote = z.looseObject({
  exact: z.string(),
  prefix: z.string().exactOptional(),
  suffix: z.string().exactOptional(),
})
const anchor = z.looseObject({
  commit: oid,
  path: z.string().min(1),
  first_line: number.exactOptional(),
  num_lines: number.exactOptional(),
  quote: quote.exactOptional(),
  pointer: z.string().exactOptional(),
})
/** An entry whose text was erased from the whole history. The text is empty. */
const erased = z.looseObject({ by: user, at: when, reason: z.string().exactOptional() })
const comment = z.looseObject({
  kind: z.literal('comment'),
  id: z.string().refine(isId),
  by: user,
  at: when,
  via: z.literal('token').exactOptional(),
  head: oid,
  text: z.string(),
  /** The number of the thread's first comment. Absent on that comment itself. */
  thread: number.exactOptional(),
  /** On the first comment of a thread. */
  anchor: anchor.exactOptional(),
  /** The text that replaces the quoted words or the lines of the thread's anchor. An empty one removes them. */
  suggestion: z.string().exactOptional(),
  /** The commit of the source that has the suggestion. */
  applied: z.looseObject({ by: user, at: when, commit: oid }).exactOptional(),
  /** Ids of users. */
  mentions: z.array(z.string()).exactOptional(),
  edited: z.looseObject({ by: user, at: when }).exactOptional(),
  deleted: z.looseObject({ by: user, at: when }).exactOptional(),
  /** On the first comment of a thread. */
  resolved: z.looseObject({ by: user, at: when }).exactOptional(),
  erased: erased.exactOptional(),
})
const verdict = z.looseObject({
  kind: z.literal('verdict'),
  id: z.string().refine(isId),
  by: user,
  at: when,
  verdict: z.enum(['approve', 'request_changes', 'comment']),
  text: z.string(),
  head: oid,
  /** The merge base with the target at that time. Null if there is not exactly one. */
  base: oid.nullable(),
  target_branch: z.string(),
  /** The numbers of the comments that were submitted with it. */
  comments: z.array(number),
  /** The id of the review of a change set that gave it. Such a verdict has no text. */
  review: z.string().refine(isId).exactOptional(),
  /** The pages that a review of a change set is about. */
  items: z.array(z.string().refine(isId)).exactOptional(),
  withdrawn: z.looseObject({ at: when }).exactOptional(),
  dismissed: z.looseObject({ by: user, at: when, reason: z.string() }).exactOptional(),
  erased: erased.exactOptional(),
})
const event = z.looseObject({
  kind: z.literal('event'),
  event: z.string(),
  by: user,
  at: when,
  changes: z.record(z.string(), z.array(z.unknown())).exactOptional(),
  erased: erased.exactOptional(),
})

export type EntryUser = z.infer<typeof user>
export type Erased = z.infer<typeof erased>
export type CommentRecord = z.infer<typeof comment>
export type VerdictRecord = z.infer<typeof verdict>
export type EventRecord = z.infer<typeof event>
export type EntryRecord = CommentRecord | VerdictRecord | EventRecord
export type CommentAnchor = z.infer<typeof anchor>

/** An entry that this version may not understand. */
export type ReadEntry = EntryRecord | { readonly kind: 'unknown'; readonly at?: string } | { readonly kind: 'damaged' }

const known = z.discriminatedUnion('kind', [comment, verdict, event])
const later = z.looseObject({ kind: z.string(), at: when.optional().catch(undefined) })

/** The most bytes of an entry. Most of them are a comment's text, its quote and a suggested text. */
const maxEntryBytes = 262_144

/** The deepest JSON of an entry. SQLite reads 1,000 levels. */
export const maxDepth = 100

/** Parses the JSON of an entry. */
export function parseEntry(json: string): ReadEntry {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return { kind: 'damaged' }
  }
  if (isDeeper(value, maxDepth)) return { kind: 'damaged' }
  const { success, data } = known.safeParse(value)
  if (success) return data
  const other = later.safeParse(value)
  const isKnown = other.success && ['comment', 'verdict', 'event'].includes(other.data.kind)
  if (!other.success || isKnown) return { kind: 'damaged' }
  return { kind: 'unknown', ...(other.data.at !== undefined && { at: other.data.at }) }
}

/** True if the value has more levels of objects and lists. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1))
}

/** The name of an entry. */
interface EntryName {
  readonly nodeId: string
  readonly number: number
  readonly entry: number
}

/** Reads the file of an entry as rows. @throws the errors of readEntryText */
export async function readEntryRows(repo: Repo, blob: Oid, at: EntryName, read = readBlob): Promise<EntryRows> {
  return entryRows(at, await readEntryText(repo, blob, read))
}

/** Reads the file of an entry. It is empty if it is too large, and so it is damaged. @throws the errors of readBlob */
export function readEntryText(repo: Repo, blob: Oid, read = readBlob): Promise<string> {
  return readTextUpTo(repo, blob, maxEntryBytes, read)
}

/** Reads a file of the ledger, or nothing if it is larger. @throws the errors of readBlob */
export async function readTextUpTo(repo: Repo, blob: Oid, maxBytes: number, read = readBlob): Promise<string> {
  try {
    return (await read(repo, blob, maxBytes)).toString()
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return ''
    throw error
  }
}

function entryRows({ nodeId, number, entry }: EntryName, json: string): EntryRows {
  const record = parseEntry(json)
  const none = {
    id: null,
    verdict: null,
    thread: null,
    user_id: null,
    at: null,
    head: null,
    path: null,
    resolved: 0,
    deleted: 0,
  }
  const row = { node_id: nodeId, number, entry, ...none, kind: record.kind, body: json }
  if (record.kind === 'damaged') return { entry: { ...row, body: '' }, mentions: [] }
  const dated = { ...row, at: record.at ?? null }
  if (record.kind === 'unknown') return { entry: dated, mentions: [] }
  const written = { ...dated, user_id: record.by.id ?? null }
  if (record.kind === 'event') return { entry: written, mentions: [] }
  const { id, head } = record
  if (record.kind === 'verdict') {
    const stance = record.verdict === 'comment' ? null : record.verdict
    return { entry: { ...written, id, head, verdict: stance }, mentions: [] }
  }
  const { thread = entry, anchor, resolved, deleted, erased, mentions = [] } = record
  return {
    entry: {
      ...written,
      ...{ id, head, thread, path: anchor?.path ?? null },
      resolved: Number(thread === entry && resolved !== undefined),
      deleted: Number(deleted !== undefined || erased !== undefined),
    },
    mentions: mentions.filter(isId),
  }
}

/**
 * Returns the number of the next entry. Numbers are not used again: it follows the greatest of the files. Reads two
 * trees, and more only after an edit by hand.
 *
 * @param tree of the ledger
 */
export async function nextEntry(repo: Repo, tree: Oid, number: number): Promise<number> {
  const path = entriesFolder(number)
  const folder = await findEntry(repo, tree, path)
  if (folder?.mode !== treeMode) return 1
  const entries = await readTree(repo, folder.oid)
  const hundreds = entries.filter(({ name, mode }) => mode === treeMode && /^\d+$/.test(name))
  for (const { name, oid } of hundreds.sort((a, b) => Number(b.name) - Number(a.name))) {
    const files = (await readTree(repo, oid)).map((file) => parseEntryFile(`${path}/${name}/${file.name}`)?.entry ?? 0)
    const last = Math.max(0, ...files)
    if (last > 0) return last + 1
  }
  return 1
}

const treeMode = '040000'

/** True for what is neither a folder nor a submodule. */
export function isFile(mode: Mode): boolean {
  return mode !== treeMode && mode !== '160000'
}

/** Reads an entry at a ledger commit's tree; undefined if there is none. */
export async function readEntry(repo: Repo, tree: Oid, number: number, entry: number): Promise<ReadEntry | undefined> {
  const file = await findEntry(repo, tree, entryFile(number, entry))
  return file && isFile(file.mode) ? parseEntry(await readEntryText(repo, file.oid)) : undefined
}
