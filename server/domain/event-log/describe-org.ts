/** Describes commits of org.git as events of the organisation and its members. */

import { isDamage } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { Log } from '../../../index/log/events.ts'
import type { RecordedRepo, RecordedStep } from '../../../index/log/recorded.ts'
import { findRecord, type MemberFile, type OrgRecord } from '../format/org-format.ts'
import { timeOf } from '../format/signatures.ts'
import { main, orgRepo, setsRef } from '../layout.ts'
import type { Services } from '../services.ts'
import { listVersions } from '../types/stored-types.ts'
import { type Described, describeLedger } from './describe-node.ts'
import type { EventActor, EventFacts } from './event-facts.ts'
import { type How, howOf, type KnownIntent, readIntents } from './intents.ts'
import { actorOf } from './ledger-events.ts'
import { listNewCommits } from './ledger-walk.ts'
import { readRecordedRefs } from './recorded-refs.ts'

/** The most types that an event lists. */
const mostListed = 50
/** The most commits that one transaction records. */
const commitsAtOnce = 200

export interface DescribedOrg {
  readonly orgId: string
  readonly state: RecordedRepo | undefined
  readonly log: Log
}

/** Returns the next events of an organisation; undefined if the log has all of them. @throws GitError if it is damaged */
export async function describeOrg(deps: Services, { orgId, state, log }: DescribedOrg): Promise<Described | undefined> {
  const repo = orgRepo(deps.store, orgId)
  const step = { node_id: orgId, org_id: orgId, before: state?.version ?? null, putRefs: new Map(), removedRefs: [] }
  const key = `${log.log_id}:${(state?.version ?? 0) + 1}`
  if (!repoExists(repo)) {
    if (state?.gone === 1) return undefined
    const intent = (await readIntents(deps, orgId, [null]))(main, null)
    const at = deps.now().toISOString()
    const event: EventFacts = { type: 'org.deleted', key, at, ...who(intent, undefined), data: {} }
    return described({ ...step, ledger: state?.ledger ?? '', digest: '', gone: 1 }, [event])
  }
  const head = readRef(repo, main)
  if (head === null) return undefined
  const sets = readRef(repo, setsRef)
  if (state === undefined && log.whole === 0)
    return described(
      { ...step, ledger: head, digest: '', gone: 0, putRefs: new Map(sets ? [[setsRef, sets]] : []) },
      [],
    )
  if (state?.ledger === head && state.gone === 0) return describeSets(deps, repo, { step, state, sets })
  const { commits, isReset } = await listNewCommits(repo, state?.ledger ?? null, head)
  if (isReset || state?.gone === 1) {
    const data = { before: state?.ledger || undefined, after: head }
    const event: EventFacts = { type: 'org.reset', key: `${key}:${head}`, at: deps.now().toISOString(), data }
    return described({ ...step, ledger: head, digest: '', gone: 0 }, [event])
  }
  const some = commits.slice(0, commitsAtOnce)
  const intentOf = await readIntents(deps, orgId, some)
  const events: EventFacts[] = []
  for (const oid of some) events.push(...(await commitEvents(repo, oid, intentOf(main, oid))))
  const after: RecordedStep = { ...step, ledger: some.at(-1) ?? head, digest: '', gone: 0 }
  // Change sets follow in the next step.
  return { step: after, events, isWhole: some.length === commits.length && sets === null, linked: [] }
}

interface RecordedSets {
  readonly step: Omit<RecordedStep, 'ledger' | 'digest' | 'gone'>
  readonly state: RecordedRepo
  readonly sets: Oid | null
}

/** Returns the next events of change sets; undefined if the log has all of them. */
async function describeSets(
  deps: Services,
  repo: Repo,
  { step, state, sets }: RecordedSets,
): Promise<Described | undefined> {
  const known = (await readRecordedRefs(deps, state)).get(setsRef) ?? null
  if (sets === null || sets === known) return undefined
  const { commits, isReset, erased } = await listNewCommits(repo, known, sets)
  const some = isReset ? [] : commits.slice(0, commitsAtOnce)
  const intentOf = await readIntents(deps, state.node_id, some)
  const events = await describeLedger(repo, some, intentOf)
  const isWhole = isReset || some.length === commits.length
  const last = isWhole ? sets : (some.at(-1) ?? sets)
  const after = { ...step, ledger: state.ledger, digest: '', gone: 0, putRefs: new Map([[setsRef, last]]) } as const
  const erasedPulls = some.flatMap((oid) => erased.get(oid) ?? [])
  return { step: after, events, isWhole, linked: [], erasedPulls }
}

function described(step: RecordedStep, events: readonly EventFacts[]): Described {
  return { step, events, isWhole: true, linked: [] }
}

function who(intent: KnownIntent | undefined, actor: EventActor | undefined): How & Pick<EventFacts, 'actor'> {
  const known = intent?.actor ?? actor
  return { ...(known && { actor: known }), ...howOf(intent) }
}

/** Describes a commit of org.git. */
export async function commitEvents(repo: Repo, oid: Oid, intent: KnownIntent | undefined): Promise<EventFacts[]> {
  const { parents, committer } = await readCommit(repo, oid)
  const [parent] = parents
  const now = await readRecordOf(repo, oid)
  if (!now) return []
  const before = parent === undefined ? undefined : await readRecordOf(repo, parent)
  const base = { key: oid, at: timeOf(committer), ...who(intent, authorIn([before, now], committer)) }
  const found: EventFacts[] = []
  const { id: _, ...created } = orgData(now.org)
  if (!before || parent === undefined) found.push({ ...base, type: 'org.created', data: created })
  else found.push(...orgChange(base, before.org, now.org, await changedTypes(repo, parent, oid)))
  return [...found, ...memberEvents(base, before, now)]
}

/** The author of a commit, as the member with that e-mail address. */
function authorIn(
  records: readonly (OrgRecord | undefined)[],
  { name, email }: { readonly name: string; readonly email: string },
): EventActor | undefined {
  if (email === 'operator@grove.invalid') return { kind: 'operator', name }
  for (const record of records)
    for (const [id, member] of record?.members ?? []) if (member.email === email) return actorOf({ id, name })
  return actorOf({ name })
}

/** Reads the organisation at a commit. Undefined if org.json cannot be read. */
async function readRecordOf(repo: Repo, oid: Oid): Promise<OrgRecord | undefined> {
  return findRecord(repo, oid).catch((error: unknown) => {
    if (isDamage(error)) return undefined
    throw error
  })
}

type OrgFile = OrgRecord['org']

function orgData({ id, name, published, require_pull_requests }: OrgFile) {
  return { id, name, published, require_pull_requests }
}

/** The fields whose values an event of a change shows. */
function settingsOf(org: OrgFile) {
  return { ...orgData(org), embeddings: org.embeddings ?? null, home_node_id: org.home_node_id ?? null }
}

interface Versions {
  readonly types?: Readonly<Record<string, Oid>>
}

/** Returns the versions of the types that differ between two commits. */
async function changedTypes(repo: Repo, parent: Oid, oid: Oid): Promise<{ before: Versions; after: Versions }> {
  const [before, after] = [await listVersions(repo, parent), await listVersions(repo, oid)]
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
  if (names.length === 0) return { before: {}, after: {} }
  const listed = names.slice(0, mostListed)
  const versionsIn = (all: ReadonlyMap<string, Oid>) =>
    Object.fromEntries(listed.flatMap((name) => (all.has(name) ? [[name, all.get(name) ?? '']] : [])))
  return { before: { types: versionsIn(before) }, after: { types: versionsIn(after) } }
}

function orgChange(
  base: Omit<EventFacts, 'type' | 'data'>,
  before: OrgFile,
  now: OrgFile,
  types: { readonly before: Versions; readonly after: Versions },
): EventFacts[] {
  const fields = [
    'name',
    'description',
    'published',
    'require_pull_requests',
    'rules',
    'unknown_types',
    'embeddings',
    'home_node_id',
  ] as const
  const changedFields = fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(now[field]))
  const changed = [...changedFields, ...(types.before.types ? ['types'] : [])]
  if (changed.length === 0) return []
  const shown = (org: OrgFile) =>
    Object.fromEntries(Object.entries(settingsOf(org)).filter(([field]) => changed.some((one) => one === field)))
  return [
    {
      ...base,
      type: 'org.updated',
      data: { changed, before: { ...shown(before), ...types.before }, after: { ...shown(now), ...types.after } },
    },
  ]
}

function memberEvents(
  { key, ...base }: Omit<EventFacts, 'type' | 'data'>,
  before: OrgRecord | undefined,
  now: OrgRecord,
): EventFacts[] {
  const found: EventFacts[] = []
  for (const [id, member] of now.members) {
    const old = before?.members.get(id)
    const of = { ...base, key: `${key}:${id}` }
    const data = memberData(id, member)
    if (!old) found.push({ ...of, type: 'member.added', data })
    else if (old.role !== member.role || old.name !== member.name)
      found.push({ ...of, type: 'member.updated', data: { ...data, before: { role: old.role, name: old.name } } })
  }
  for (const [id, member] of before?.members ?? [])
    if (!now.members.has(id) && !isDamagedMember(now, id))
      found.push({ ...base, key: `${key}:${id}`, type: 'member.removed', data: memberData(id, member) })
  return found
}

/** True if the file of a member is there and cannot be read. */
function isDamagedMember({ damaged = [] }: OrgRecord, id: string): boolean {
  return damaged.some(({ path }) => path.includes(id))
}

function memberData(user_id: string, { name, role }: MemberFile) {
  return { user_id, name, role }
}
