/** Erases words and names from the files of a ledger. Each function returns its argument if nothing changes. */
import { hiddenEmail } from '../format/hidden-emails.ts'
import { asJson } from '../format/signatures.ts'
import { type Erased, isDeeper, maxDepth, parseEntry } from './entries.ts'

type Json = Readonly<Record<string, unknown>>

/** The title of a pull request whose words were erased. */
/** The title of an erased pull request. */
export const erasedTitle = 'Erased'

/** The name of a user whose name was erased. */
const deletedName = 'Deleted person'

/** The keys that an erased comment or verdict keeps. A key of a later version may hold text. */
const keptKeys = [
  ...['kind', 'id', 'by', 'at', 'via', 'head', 'thread', 'edited', 'deleted', 'resolved', 'applied'],
  ...['verdict', 'base', 'target_branch', 'comments', 'withdrawn', 'dismissed', 'event', 'changes', 'review', 'items'],
]
const keptAnchorKeys = ['commit', 'path', 'first_line', 'num_lines', 'pointer']
const keptActKeys = ['by', 'at', 'commit']

/** Erases the words of a comment, a verdict or an event. A file that is not an entry is erased as a whole. */
export function eraseEntry(content: Buffer, stamp: Erased): Buffer {
  const read = parseEntry(content.toString())
  const json = parsed(content)
  if (json === undefined || read.kind === 'damaged') return asJson({ kind: 'erased', erased: stamp })
  const bare = bareEntry(json)
  const known = json.erased
  if (read.kind === 'event' && same(bare, json)) return content
  return known !== undefined && same({ ...bare, erased: known }, json)
    ? content
    : asJson({ ...bare, erased: known ?? stamp })
}

function bareEntry(json: Json): Json {
  const kept: Record<string, unknown> = {}
  for (const key of keptKeys) if (json[key] !== undefined) kept[key] = json[key]
  for (const key of ['edited', 'deleted', 'resolved', 'applied', 'withdrawn', 'dismissed'])
    if (isObject(kept[key])) kept[key] = pick(kept[key], keptActKeys)
  if (isObject(kept.dismissed)) kept.dismissed = { ...kept.dismissed, reason: '' }
  if (isObject(json.anchor)) kept.anchor = pick(json.anchor, keptAnchorKeys)
  if (isObject(kept.changes)) {
    const { title: _, description: __, ...changes } = kept.changes
    kept.changes = changes
  }
  if (json.kind === 'comment' || json.kind === 'verdict') kept.text = ''
  return kept
}

/** Erases the title and description of a pull request. Also erases the reason of an override. */
export function erasePull(content: Buffer, stamp: Erased): Buffer {
  const json = parsed(content)
  if (json === undefined) return content
  const { overridden } = json
  const bare = {
    ...json,
    ...{ title: erasedTitle, description: '' },
    ...(isObject(overridden) && { overridden: { ...overridden, reason: '' } }),
  }
  return same(bare, json) ? content : asJson({ ...bare, erased: json.erased ?? stamp })
}

/** The user whose name and e-mail addresses are erased. */
export interface ErasedPerson {
  readonly id: string
  /** The e-mail addresses in the ledger, in lower case. */
  readonly emails: ReadonlySet<string>
}

/** Replaces the name and the e-mail address of a user in a file. The id stays. */
export function erasePerson(content: Buffer, person: ErasedPerson): Buffer {
  const json = parsed(content)
  if (json === undefined) return content
  const renamed = rename(json, person, typeof json.author_id === 'string' ? json.author_id : undefined)
  return same(renamed, json) ? content : asJson(renamed)
}

function rename(value: unknown, person: ErasedPerson, authorId?: string): unknown {
  if (Array.isArray(value)) return value.map((one) => rename(one, person))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, one]) => {
    const id = key === 'author' && isObject(one) ? authorId : undefined
    return [key, id === person.id && isObject(one) ? nameless(one, person) : rename(one, person)]
  })
  const deep = Object.fromEntries(entries)
  return isPerson(value, person) ? nameless(deep, person) : deep
}

function isPerson({ id, name, email }: Json, person: ErasedPerson): boolean {
  if (typeof name !== 'string') return false
  if (typeof id === 'string') return id === person.id
  return typeof email === 'string' && person.emails.has(email.toLowerCase())
}

function nameless(value: Json, { id }: ErasedPerson): Json {
  return { ...value, name: deletedName, ...(value.email !== undefined && { email: hiddenEmail(id) }) }
}

/** Replaces `Name <email>` in a signature. */
export function eraseIdentity(identity: string, { id, emails }: ErasedPerson): string {
  const email = /<([^<>]*)>$/.exec(identity)?.[1]?.toLowerCase() ?? ''
  return emails.has(email) ? `${deletedName} <${hiddenEmail(id)}>` : identity
}

/** Adds the e-mail addresses that a file of the ledger has for the user. */
export function collectEmails(content: Buffer, id: string, emails: Set<string>): void {
  const json = parsed(content)
  const search = (value: unknown): void => {
    if (!isObject(value) && !Array.isArray(value)) return
    if (isObject(value) && value.id === id && typeof value.email === 'string') emails.add(value.email.toLowerCase())
    for (const one of Object.values(value)) search(one)
  }
  if (json === undefined) return
  search(json)
  if (json.author_id === id && isObject(json.author) && typeof json.author.email === 'string')
    emails.add(json.author.email.toLowerCase())
}

function parsed(content: Buffer): Json | undefined {
  try {
    const json: unknown = JSON.parse(content.toString())
    return isObject(json) && !isDeeper(json, maxDepth) ? json : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function pick(value: Json, keys: readonly string[]): Json {
  return Object.fromEntries(keys.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]])))
}

/** True if both have the same keys and values, in any order. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, sorted(one)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
