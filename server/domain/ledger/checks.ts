/**
 * Checks of commits: the states that machines report. Each commit has one JSON file of the ledger. A check of a later
 * version is kept. One that was edited by hand and is not valid is shown as damaged, and counts for nothing.
 */
import { z } from 'zod'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { CheckRow } from '../../../index/derived/checks.ts'
import { checksFile } from '../format/paths.ts'
import { type EntryUser, isDeeper, isFile, maxDepth, readTextUpTo, user, when } from './entries.ts'

const checkStates = ['pending', 'success', 'failure'] as const

const check = z.looseObject({
  state: z.enum(checkStates),
  description: z.string().exactOptional(),
  url: z.string().refine(isWebUrl).exactOptional(),
  by: user,
  at: when,
})
/** A state of a later version. */
const later = z.looseObject({ state: z.string() })

/** The last report under one name. */
export interface CheckRecord {
  readonly state: (typeof checkStates)[number]
  readonly description?: string
  readonly url?: string
  readonly by: EntryUser
  /** ISO 8601. */
  readonly at: string
}

/** A check that this version may not understand. */
type ReadCheck = CheckRecord | { readonly state: 'unknown' } | { readonly state: 'damaged' }

export interface ReadChecks {
  /** Keys are names. */
  readonly checks: ReadonlyMap<string, ReadCheck>
  /** True if a part of the file is not a named check. */
  readonly isDamaged: boolean
  /** The JSON of each check, by name. */
  readonly values: Readonly<Record<string, unknown>>
  /** The other keys of the file. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** The most in a file, with those that rules demand. */
export const maxRead = 100
/** The most bytes of a file. 100 checks with all characters that are allowed have fewer. */
const maxBytes = 1_048_576

/** The rule for names of checks. The spec and rules have the same. */
function isCheckName(name: string): boolean {
  return /^[A-Za-z0-9 ._/-]{1,100}$/.test(name)
}

/** True for a URL that a page may link to. */
export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url)
}

/** Parses the file of a commit's checks. */
export function parseChecks(commit: string, json: string): ReadChecks {
  const file = parseObject(json)
  if (!file || file.commit !== commit) return { checks: new Map(), isDamaged: true, values: {}, rest: {} }
  const { checks: values, ...rest } = file
  const named = isObject(values) ? Object.entries(values) : []
  if (!isObject(values) || named.length > maxRead) return { checks: new Map(), isDamaged: true, values: {}, rest }
  const valid = named.filter(([name]) => isCheckName(name))
  const checks = new Map(valid.map(([name, value]) => [name, parseCheck(value)]))
  return { checks, isDamaged: valid.length < named.length, values, rest }
}

/** Parses the JSON of one check. */
export function parseCheck(value: unknown): ReadCheck {
  const known = check.safeParse(value)
  if (known.success) return known.data
  const other = later.safeParse(value)
  const isLater = other.success && !checkStates.some((state) => state === other.data.state)
  return { state: isLater ? 'unknown' : 'damaged' }
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) && !isDeeper(value, maxDepth) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the file after a report. Keeps what it does not know, and replaces what is not a file of checks. */
export function withCheck({ values, rest }: ReadChecks, commit: Oid, name: string, record: CheckRecord): object {
  // Not an assignment: `__proto__` is a name like others.
  return { ...rest, commit, checks: { ...values, [name]: record } }
}

/** Returns the rows of a file. A row without a name says that a part of it is damaged. */
export function checkRows(commit: string, json: string): CheckRow[] {
  const { checks, values, isDamaged } = parseChecks(commit, json)
  const damaged = { commit_id: commit, name: '', state: 'damaged', user_id: null, at: null, body: '' } as const
  const rows = [...checks].map(([name, read]): CheckRow => {
    if (read.state === 'damaged') return { ...damaged, name }
    const row = { ...damaged, name, state: read.state, body: JSON.stringify(values[name]) }
    return 'by' in read ? { ...row, user_id: read.by.id ?? null, at: read.at } : row
  })
  return [...(isDamaged ? [damaged] : []), ...rows.sort((a, b) => (a.name < b.name ? -1 : 1))]
}

/** Reads a file of checks. It is empty if it is too large, and so it is damaged. @throws the errors of readBlob */
export function readChecksText(repo: Repo, blob: Oid, read = readBlob): Promise<string> {
  return readTextUpTo(repo, blob, maxBytes, read)
}

/** Reads the file of a commit's checks at a ledger commit's tree. Undefined without one. */
export async function findChecks(repo: Repo, tree: Oid, commit: string): Promise<string | undefined> {
  const file = await findEntry(repo, tree, checksFile(commit))
  return file && isFile(file.mode) ? readChecksText(repo, file.oid) : undefined
}

/**
 * Reads the checks of a commit at a ledger commit: exact under the ledger's lock. Reads one file. The rows are those of
 * listChecks.
 */
export async function checksAt(repo: Repo, ledger: Oid, commit: string): Promise<CheckRow[]> {
  const json = await findChecks(repo, (await readCommit(repo, ledger)).tree, commit)
  return json === undefined ? [] : checkRows(commit, json)
}
