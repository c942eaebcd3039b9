/** Reads and writes an organisation and its members as files of `org.git`. */

import { z } from 'zod'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { GitError, isGitError } from '../../../gitstore/errors.ts'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { findEntry, readTree } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { type Role, roles } from '../../../index/derived/schema.ts'
import * as limits from '../../base/limits.ts'
import { isId } from '../layout.ts'
import { botEmail } from './bots.ts'
import type { PathProblem } from './path-problem.ts'
import { formerMemberFile, memberFile, membersFolder, orgFile } from './paths.ts'
import { rulesSchema, type StoredRule } from './rule-format.ts'
import { type Author, asJson, laterOf, signature, timeOf } from './signatures.ts'
import { fits } from './text-rules.ts'

/** The content of `org.json`. */
interface OrgFile {
  readonly id: string
  readonly name: string
  /** Absent if it is empty. */
  readonly description?: string | undefined
  /** The vault that is imported into the organisation; absent without one. */
  readonly vault_id?: string | undefined
  readonly published: boolean
  readonly require_pull_requests: boolean
  /** Absent if there are none. */
  readonly rules?: readonly StoredRule[] | undefined
  /** `refuse`: a node may not get a type that nobody defined. Absent: it may. */
  readonly unknown_types?: 'refuse' | undefined
  /** True if the owners allow search by meaning, and false if they refuse it. Absent: they have not chosen. */
  readonly embeddings?: boolean | undefined
  /** The node whose text the overview shows. Absent: by its title. */
  readonly home_node_id?: string | undefined
  /** Words that a version must know to serve the organisation. Absent: none. */
  readonly requires?: readonly string[] | undefined
  readonly created_at: string
}

/** The content of `members/<user id>.json`. */
export interface MemberFile {
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly created_at: string
  /** Hashes of earlier e-mail addresses (`hashOfEmail`), the last `maxFormerEmails`. Absent without any. */
  readonly former_emails?: readonly string[] | undefined
  /** Absent: not a bot. A bot is never an owner, and has the address of a bot. */
  readonly kind?: 'bot' | undefined
}

/** The content of `former-members/<2 digits>/<user id>.json`. Its user may come back with another address. */
type FormerMemberFile = Required<Pick<MemberFile, 'former_emails'>>

export interface OrgRecord {
  readonly org: OrgFile
  /** Members by user id. */
  readonly members: ReadonlyMap<string, MemberFile>
  /** Unreadable member files. These users are not members until their files are repaired. */
  readonly damaged?: readonly PathProblem[]
  /** Users who leave by this change, by user id. A record that was read has none. */
  readonly leaving?: ReadonlyMap<string, FormerMemberFile>
}

/** The most earlier addresses that are kept of a user. */
export const maxFormerEmails = 100

/** The most characters of a description, so that `org.json` stays within its limit. */
const descriptionLength = 2_000

/** The schema of `org.json`. Keys written by a newer version are kept. */
const orgSchema = z.looseObject({
  id: z.string().refine(isId, 'it is not a UUID'),
  name: z.string().min(1).max(limits.displayName),
  description: z
    .string()
    .refine((text) => fits(text, descriptionLength), `it has more than ${descriptionLength} characters`)
    .optional(),
  vault_id: z.string().refine(isId, 'it is not a UUID').optional(),
  published: z.boolean(),
  require_pull_requests: z.boolean(),
  rules: rulesSchema.optional(),
  unknown_types: z.literal('refuse').optional().catch(undefined),
  // An unreadable choice must not send texts to another machine.
  embeddings: z.boolean().optional().catch(false),
  home_node_id: z.string().refine(isId).optional().catch(undefined),
  requires: z.array(z.string()).optional().catch(['an unreadable list']),
  created_at: z.iso.datetime(),
})
const formerEmails = z.array(z.string().length(64)).max(maxFormerEmails)
const formerMemberSchema = z.looseObject({ former_emails: formerEmails })
const memberSchema = z.looseObject({
  email: z.string().min(1).max(limits.email),
  name: z.string().min(1).max(limits.displayName),
  role: z.enum(roles),
  created_at: z.iso.datetime(),
  former_emails: formerEmails.optional(),
  kind: z.literal('bot').optional(),
})

/**
 * The words of `requires` that this version knows. A later version adds one for rights, or for releases, that an older
 * one must not ignore.
 */
const knownRequirements: readonly string[] = []

/** Returns the words that this version does not know. With one, the organisation is closed. */
export function unknownRequirements({ requires = [] }: Pick<OrgFile, 'requires'>): readonly string[] {
  return requires.filter((word) => !knownRequirements.includes(word))
}

/** The same, from a column of the index. A row that an older version wrote has none. */
export function unknownInRow(requires: string | null): readonly string[] {
  return requires === null ? [] : unknownRequirements({ requires: JSON.parse(requires) }) // a row of ours
}

/** True for a row of an organisation that only a newer version can serve. */
export function isClosed({ requires, closed }: Pick<OrgRow, 'requires' | 'closed'>): boolean {
  return closed === 1 || unknownInRow(requires).length > 0
}

/** True if the organisation fits into `org.json`. */
export function fitsOrgFile(org: OrgFile): boolean {
  return asJson(org).length <= limits.orgJsonBytes
}

/**
 * Reads the organisation as columns of the index. A closed one has no members there, and is not published.
 *
 * @param before the commit whose members the index has
 */
export async function readOrgRecord(repo: Repo, head: Oid, before: Oid | null) {
  const record = await readRecord(repo, head)
  const { committer } = await readCommit(repo, head)
  const { org } = record
  const isClosed = unknownRequirements(org).length > 0
  const earlier = before === null || isClosed ? undefined : await findEarlier(repo, before)
  const known = earlier && unknownRequirements(earlier.org).length > 0 ? undefined : earlier
  const members: OrgRecord['members'] = isClosed ? new Map() : record.members
  const rows = [...members].filter(([id, member]) => known?.members.get(id) !== member)
  return {
    org: {
      id: org.id,
      name: org.name,
      description: org.description ?? '',
      vault_id: org.vault_id ?? null,
      published: Number(org.published && !isClosed),
      require_pull_requests: Number(org.require_pull_requests),
      rules: JSON.stringify(org.rules ?? []),
      rules_head: head,
      embeddings: org.embeddings === undefined ? null : Number(org.embeddings),
      home_node_id: org.home_node_id ?? null,
      requires: JSON.stringify(org.requires ?? []),
      closed: Number(isClosed),
      created_at: org.created_at,
      updated_at: laterOf(timeOf(committer), org.created_at),
    },
    members: {
      put: rows.map(([user_id, { email, name, role, created_at, former_emails }]) => ({
        ...{ user_id, email, name, role, created_at },
        former_emails: former_emails ? JSON.stringify(former_emails) : null,
      })),
      /** Ids of former members; null: all members except those in `put`. */
      gone: known ? [...known.members.keys()].filter((id) => !members.has(id)) : null,
    },
    damaged: record.damaged ?? [],
  }
}

/** Returns the owners' choice for search by meaning, from a row of the index. Null: they have not chosen. */
export function embeddingsChoice({ embeddings }: Pick<OrgRow, 'embeddings'>): boolean | null {
  return embeddings === null ? null : embeddings === 1
}

/** Commits the changes from the commit `before` (null: none) to `record` on the draft. */
export async function commitOrg(
  draft: ObjectDraft,
  before: Oid | null,
  record: OrgRecord,
  by: Author,
  at: Date,
  message: string,
): Promise<Oid> {
  const { repo } = draft
  const known = before === null ? undefined : await readRecord(repo, before)
  const tree = before === null ? null : (await readCommit(repo, before)).tree
  const changes: { path: string; blob: Oid | null }[] = []
  if (record.org !== known?.org) changes.push({ path: orgFile, blob: await draft.blob(asJson(record.org)) })
  for (const [id, member] of record.members) {
    if (known?.members.get(id) === member) continue
    const former = tree === null || known?.members.has(id) ? undefined : await findFormerMember(repo, tree, id)
    changes.push({ path: memberFile(id), blob: await draft.blob(asJson({ ...member, ...former })) })
    if (former) changes.push({ path: formerMemberFile(id), blob: null })
  }
  for (const id of known?.members.keys() ?? [])
    if (!record.members.has(id)) changes.push({ path: memberFile(id), blob: null })
  for (const [id, former] of record.leaving ?? [])
    changes.push({ path: formerMemberFile(id), blob: await draft.blob(asJson(former)) })
  const person = signature(by, at)
  return draft.commit({
    tree: await applyChanges(draft, tree, changes),
    parents: before === null ? [] : [before],
    author: person,
    committer: person,
    message,
  })
}

/** Reads what is kept of a user who left. Undefined without a valid file. @throws GitError as readObject */
async function findFormerMember(repo: Repo, tree: Oid, id: string): Promise<FormerMemberFile | undefined> {
  const file = await findEntry(repo, tree, formerMemberFile(id))
  const read = file && file.mode !== '040000' ? await readFileAs(repo, file.oid, formerMemberSchema) : undefined
  return read && 'value' in read ? { former_emails: read.value.former_emails } : undefined
}

interface KeptFile {
  readonly oid: Oid
  readonly read: Checked<MemberFile>
}

interface Kept {
  readonly head: Oid
  readonly record: OrgRecord
  readonly orgFile: Oid
  /** Parsed files, by user id. */
  readonly files: ReadonlyMap<string, KeptFile>
}

/** The last two records of each organisation, by repository. Their size is in members. */
const records = createCache<readonly Kept[]>('org_records', {
  sizeCalculation: (kept) => kept.reduce((sum, { files }) => sum + files.size, 4),
})

/**
 * Reads org.git at `head`; undefined without `org.json`. An unreadable member file is listed in `damaged` and does not
 * affect other members. A member whose file has not changed is the same object as before.
 *
 * @throws GitError object_damaged if `org.json` is invalid; as readObject
 */
export async function findRecord(repo: Repo, head: Oid): Promise<OrgRecord | undefined> {
  const kept = records.get(repo.dir) ?? []
  const same = kept.find((one) => one.head === head)
  if (same) return same.record
  const known = kept[0]
  const root = await readTree(repo, (await readCommit(repo, head)).tree)
  const entry = root.find(({ name, mode }) => name === orgFile && mode !== '040000')
  if (!entry) return undefined
  const org: Checked<OrgFile> =
    known?.orgFile === entry.oid ? { value: known.record.org } : await readFileAs(repo, entry.oid, orgSchema)
  if ('reason' in org) throw new GitError('object_damaged', `org.json is invalid: ${org.reason}`)
  const folder = root.find(({ name, mode }) => name === membersFolder && mode === '040000')
  const files = new Map<string, KeptFile>()
  const members = new Map<string, MemberFile>()
  const damaged: PathProblem[] = []
  for (const { name, oid, mode } of folder ? await readTree(repo, folder.oid) : []) {
    const id = /^(.+)\.json$/.exec(name)?.[1] ?? ''
    if (!isId(id) || mode === '040000') continue
    const before = known?.files.get(id)
    const file = before?.oid === oid ? before : { oid, read: await readMember(repo, oid, id) }
    files.set(id, file)
    if ('reason' in file.read) damaged.push({ path: `${membersFolder}/${name}`, reason: file.read.reason })
    else members.set(id, file.read.value)
  }
  const record: OrgRecord = { org: org.value, members, ...(damaged.length > 0 && { damaged }) }
  records.set(repo.dir, [{ head, record, orgFile: entry.oid, files }, ...kept.slice(0, 1)])
  return record
}

/** Reads org.git at `head`. @throws GitError as findRecord; object_damaged also without `org.json` */
export async function readRecord(repo: Repo, head: Oid): Promise<OrgRecord> {
  const record = await findRecord(repo, head)
  if (!record) throw new GitError('object_damaged', 'org.git has no org.json')
  return record
}

/** Reads an earlier record; undefined if its commit does not exist. */
async function findEarlier(repo: Repo, head: Oid): Promise<OrgRecord | undefined> {
  return (await findCommit(repo, head)) && findRecord(repo, head)
}

type Checked<T> = { readonly value: T } | { readonly reason: string }

/** Reads a member file. Its kind must match its address. @throws GitError as readObject */
async function readMember(repo: Repo, oid: Oid, id: string): Promise<Checked<MemberFile>> {
  const read = await readFileAs(repo, oid, memberSchema)
  if ('reason' in read) return read
  const { kind, email, role } = read.value
  if ((kind === 'bot') !== (email === botEmail(id)))
    return { reason: `kind: it is "bot" exactly if the address is ${botEmail(id)}` }
  return kind === 'bot' && role === 'owner' ? { reason: 'role: a bot cannot be an owner' } : read
}

/** The parsed file, or the reason why it is invalid. @throws GitError as readObject */
async function readFileAs<T>(repo: Repo, oid: Oid, schema: z.ZodType<T>): Promise<Checked<T>> {
  try {
    const { success, data, error } = schema.safeParse(
      JSON.parse((await readBlob(repo, oid, limits.orgJsonBytes)).toString()),
    )
    if (success) return { value: data }
    const [issue] = error.issues
    return { reason: [...(issue?.path ?? []), issue?.message.replace(/^Invalid input: /, '')].join(': ') }
  } catch (error) {
    if (error instanceof SyntaxError) return { reason: error.message }
    if (isGitError(error, 'limit_exceeded')) return { reason: 'it is larger than 64 KiB' }
    throw error
  }
}
