/** Checks a data folder, which may be in use, and changes nothing. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { allDone } from '../../../gitstore/durable.ts'
import { GitError } from '../../../gitstore/errors.ts'
import { lexists, listNames } from '../../../gitstore/fs-exists.ts'
import type { Store } from '../../../gitstore/store.ts'
import { type CredentialsState, examinePostgres, readSecrets } from '../../../index/credentials/copies.ts'
import { type Difference, differencesBetween, listUnread } from '../../../index/derived/comparison.ts'
import { listParentEdges } from '../../../index/derived/edges.ts'
import { listClosedOrgRows } from '../../../index/derived/org-queries.ts'
import { withoutCycles } from '../../../index/graph/acyclic.ts'
import { findDatabaseDamage } from '../../../index/sqlite/backup.ts'
import { appliedMigrations } from '../../../index/sqlite/migrate.ts'
import { plural } from '../../base/plural.ts'
import { slices } from '../../base/slices.ts'
import { newerVersionError } from '../access.ts'
import { isClosed, unknownInRow } from '../format/org-format.ts'
import { indexAll, indexOne } from '../indexing/reindex.ts'
import { listOrgs, listStoredRepositories, type StoredRepository } from '../indexing/stored-repositories.ts'
import { arrivingFolder, credentialsFile, eventsFile, indexFile, orgRepository, vectorsFile } from '../layout.ts'
import type { Services } from '../services.ts'
import { findUnfinished, lacksMerge } from '../sets/unfinished.ts'
import type { Source } from './backup.ts'
import { type Bounds, chooseRepositories, indexSome } from './bounds.ts'
import { examineCreations } from './creation-findings.ts'
import { examineEntries } from './entry-findings.ts'
import { examineErasures } from './erasure-findings.ts'
import { examineEvents } from './event-findings.ts'
import { examinePlaces } from './place-findings.ts'
import { damageFinding, examineRepository, type Finding, listIntact } from './repository-findings.ts'
import { readTwice, type SecondReading } from './second-reading.ts'
import { findVanished } from './vanished.ts'

export interface Examination {
  readonly orgs: number
  readonly nodes: number
  /** The newest migration of each database that can be read, by its file or DATABASE_URL. */
  readonly schemas: Readonly<Record<string, string>>
  /** Sorted by path. */
  readonly findings: readonly Finding[]
  /** Sorted paths of the repositories that were checked. Undefined: all. */
  readonly checked?: readonly string[]
  /** The result of the second reader, if it was asked. */
  readonly second?: SecondReading
}

/** Returns a reason for each fault of accounts that can be read. */
export type AccountsCheck = (deps: Services, accounts: CredentialsState) => readonly string[]

/** The data folder, and how it is checked. */
interface Examined extends Source {
  readonly cell: string | undefined
  readonly checks: readonly AccountsCheck[]
  readonly bounds: Bounds
}

/** PostgreSQL's name in findings and schemas. */
const postgresName = 'DATABASE_URL'

export type Step = 'Checking' | 'Rebuilding' | 'Comparing'

/** Milliseconds in which a running service indexes refs that moved during the check. */
const recheckDelayMs = 1_000
/** Repositories that one Git process checks. */
const ofProcess = 50
/** Such processes that run concurrently. */
const atOnce = availableParallelism()

/**
 * Checks repositories, databases and the index. Runs git fsck on every repository and SQLite's check on databases, and
 * reads every row of PostgreSQL. Rebuilds the index and compares the two. With bounds, does so only for some of the
 * repositories, but checks each database.
 *
 * @param scratch an empty data folder, whose index is filled here. When it drains, git ends at once
 * @param secondPercent the share of the repositories that are also read with isomorphic-git
 * @throws system errors; the reason of `scratch.draining`
 */
export async function examine(
  { root, postgres, cell, checks, bounds }: Examined,
  scratch: Services,
  onProgress: (step: Step, done: number, total: number) => void,
  secondPercent?: number,
): Promise<Examination> {
  const all = await listStoredRepositories(root)
  const some = chooseRepositories(root, all, bounds)
  const repositories = some ?? all
  const { findings, odd } = await checkRepositories(root, repositories, scratch, onProgress)
  findings.push(...sharedIds(all))
  for (const { path, reason } of await findVanished(root)) findings.push(damageFinding('repository', path, reason))
  const damaged = new Set(findings.filter(({ kind }) => kind === 'fault').map(({ path }) => path))
  findings.push(...odd)

  const index = join(root, indexFile)
  const credentials = postgres ? await examinePostgres(postgres) : await examineFile(root)
  const where = postgres ? postgresName : credentialsFile
  if (credentials.fault !== undefined) findings.push(damageFinding('database', where, credentials.fault))
  else if (postgres && cell !== undefined) findings.push(...(await examinePlaces(postgres, cell, root)))
  const wrong = checks.flatMap((check) => check(scratch, credentials))
  findings.push(...wrong.map((reason) => damageFinding('database', where, reason)))
  findings.push(...examineEvents(root), ...examineVectors(root))
  if (!lexists(index)) {
    findings.push({
      ...damageFinding('database', indexFile, 'is missing; the next start rebuilds it'),
      kind: 'note',
    })
  } else {
    const sickIndex = databaseFault(index)
    if (sickIndex !== undefined)
      findings.push(damageFinding('database', indexFile, `${sickIndex}; the next start rebuilds it`))
    else findings.push(...(await examineIndex(root, index, scratch, { some, damaged, onProgress })))
  }
  const second = await readAgain()
  findings.push(...(second?.findings ?? []))
  return {
    orgs: all.filter(({ nodeId }) => nodeId === undefined).length,
    nodes: all.filter(({ nodeId }) => nodeId !== undefined).length,
    schemas: {
      ...(credentials.schema === undefined ? {} : { [where]: credentials.schema }),
      ...(await schemaOf(root, indexFile)),
      ...(await schemaOf(root, eventsFile)),
      ...(await schemaOf(root, vectorsFile)),
    },
    findings: findings.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)),
    ...(some && { checked: some.map(({ path }) => path).sort() }),
    ...(second && { second }),
  }

  /** Damaged repositories may hold files on which a read waits for ever, such as pipes. */
  async function readAgain(): Promise<SecondReading | undefined> {
    if (secondPercent === undefined) return undefined
    const intact = repositories.filter(({ path }) => !damaged.has(path) && lexists(join(root, path)))
    return readTwice(root, intact, secondPercent, scratch.draining, (done, total) =>
      onProgress('Comparing', done, total),
    )
  }
}

/** Returns faults and notes. `odd` are those of repositories that can be indexed all the same. */
async function checkRepositories(
  root: string,
  repositories: readonly StoredRepository[],
  { now, draining }: Services,
  onProgress: Rebuilding['onProgress'],
): Promise<{ readonly findings: Finding[]; readonly odd: readonly Finding[] }> {
  const findings: Finding[] = []
  const odd: Finding[] = []
  const turn = pLimit(atOnce)
  let done = 0
  const look = async (some: readonly StoredRepository[]) => {
    const intact = await listIntact(root, some, draining)
    for (const stored of some) {
      const found = await examineRepository(root, stored, now(), draining, intact.has(stored.path))
      findings.push(...found)
      if (found.every(({ kind }) => kind !== 'fault'))
        odd.push(...(await examineEntries(root, stored, draining)), ...(await examineErasures(root, stored)))
      onProgress('Checking', ++done, repositories.length)
    }
  }
  await allDone(slices(repositories, ofProcess).map((some) => turn(() => look(some))))
  return { findings, odd }
}

async function examineFile(root: string): Promise<CredentialsState> {
  const file = join(root, credentialsFile)
  const schema = (await schemaOf(root, credentialsFile))[credentialsFile]
  if (!lexists(file)) return { schema, fault: 'is missing, together with all accounts' }
  const empty = schema === undefined ? 'is empty, and all accounts are missing' : undefined
  const fault = databaseFault(file) ?? empty
  return { schema, fault, ...(fault === undefined && { secrets: readSecrets(file) }) }
}

/** Examines the vectors. Only a service with a model has them. */
function examineVectors(root: string): Finding[] {
  const file = join(root, vectorsFile)
  const fault = lexists(file) ? databaseFault(file) : undefined
  const advice = 'the next start with a model begins another one, and embeds all texts again'
  return fault === undefined ? [] : [damageFinding('database', vectorsFile, `${fault}; ${advice}`)]
}

/** Returns the newest migration by the file's name, or nothing if it cannot be read. */
async function schemaOf(root: string, name: string): Promise<Record<string, string>> {
  // Damage is reported elsewhere.
  const newest = (await appliedMigrations(join(root, name)).catch(() => [])).at(-1)
  return newest === undefined ? {} : { [name]: newest }
}

function databaseFault(file: string): string | undefined {
  try {
    return findDatabaseDamage(file)
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : error}`
  }
}

/** Finds nodes with the same id in two organisations. Only one of them can be indexed. */
function sharedIds(repositories: readonly StoredRepository[]): Finding[] {
  const first = new Map<string, StoredRepository>()
  return repositories.flatMap((stored) => {
    const other = stored.nodeId === undefined ? undefined : first.get(stored.nodeId)
    if (stored.nodeId !== undefined && !other) first.set(stored.nodeId, stored)
    return other
      ? [damageFinding('graph', stored.path, `has the id of ${other.path}, and only one of the two is served`)]
      : []
  })
}

interface Rebuilding {
  /** The repositories that are compared. Undefined: all. */
  readonly some: readonly StoredRepository[] | undefined
  readonly damaged: ReadonlySet<string>
  readonly onProgress: (step: Step, done: number, total: number) => void
}

/** Indexes repositories into `scratch` and reports how the data folder's index differs. */
async function examineIndex(
  root: string,
  index: string,
  scratch: Services,
  { some, damaged, onProgress }: Rebuilding,
): Promise<Finding[]> {
  const deps: Services = { ...scratch, store: readOnlyStore(root) }

  const rebuilt = join(scratch.config.dataDir, indexFile)
  const onIndexed = (done: number, total: number) => onProgress('Rebuilding', done, total)
  const first = await (some ? indexSome(deps, some, onIndexed) : indexAll(deps, onIndexed))
  deps.draining.throwIfAborted()
  const failed = new Map(first.failed.map(({ path, reason }) => [pathOf(path), reason]))
  // An organisation that another cell is sending is indexed before it moves here.
  const arriving = new Set(await listNames(arrivingFolder(root)))
  const compare = () => differencesBetween(index, rebuilt, some !== undefined)
  let different: Difference[]
  let unread: ReadonlySet<string>
  try {
    // Listed first, because the service may read them at any moment.
    unread = listUnread(index)
    different = compare().filter(({ orgId }) => !arriving.has(orgId))
    if (different.length + failed.size > 0) different = await lookAgain(deps, compare, different, failed)
  } catch (error) {
    return [damageFinding('database', indexFile, error instanceof Error ? error.message : String(error))]
  }
  const waiting = new Set(different.map(ownerOf).filter((owner) => unread.has(owner)))
  different = different.filter((one) => !waiting.has(ownerOf(one)))
  const findings = [...failed]
    .filter(([path]) => !damaged.has(path))
    .map(([path, reason]) => damageFinding('index', path, `cannot be indexed: ${reason}`))
  for (const one of different) {
    const path = pathOf(one.nodeId === undefined ? one.orgId : join(one.orgId, `${one.nodeId}.git`))
    if (!failed.has(path) && !failed.has(pathOf(one.orgId)) && !damaged.has(path))
      findings.push(damageFinding('index', path, describe(one)))
  }
  if (waiting.size > 0) findings.push(unreadNote(waiting.size))
  const more = [await findClosed(deps), await findCycles(deps), await findTorn(deps)]
  // The places of nodes are known only if all are indexed.
  if (some === undefined) more.push(await creationsOf(root, deps))
  return [...findings, ...more.flat()]
}

/** Names the organisations that only a newer version can serve. */
async function findClosed({ index }: Pick<Services, 'index'>): Promise<Finding[]> {
  const rows = (await listClosedOrgRows(index.read)).filter(isClosed)
  return rows.map(({ id, requires }) => {
    const reason = newerVersionError(unknownInRow(requires)).message
    return { kind: 'note', subject: 'repository', path: join(id, orgRepository), reason }
  })
}

/** Names the pages that lack the change of a merged change set. A merge that is running has ended at the second look. */
async function findTorn(deps: Services): Promise<Finding[]> {
  const look = async () => {
    const found: Finding[] = []
    for (const orgId of await listOrgs(deps))
      for (const one of await findUnfinished(deps, orgId))
        found.push(damageFinding('repository', join(orgId, `${one.item.node_id}.git`), lacksMerge(one)))
    return found
  }
  const first = await look()
  if (first.length === 0) return first
  await sleep(recheckDelayMs)
  return look()
}

/** Reads the events only if they are intact. Damage is another finding. */
function creationsOf(root: string, deps: Services): Promise<Finding[]> {
  const file = join(root, eventsFile)
  return lexists(file) && databaseFault(file) === undefined ? examineCreations(root, deps) : Promise.resolve([])
}

/** Returns the organisation or the node that a row belongs to, as `<org id>` or `<org id>/<node id>`. */
function ownerOf({ orgId, nodeId }: Difference): string {
  return nodeId === undefined ? orgId : `${orgId}/${nodeId}`
}

function unreadNote(repositories: number): Finding {
  const what = `${plural(repositories, 'repository is', 'repositories are')} not read completely yet`
  const reason = `${what}; the running service reads them in the background`
  return { kind: 'note', subject: 'index', path: indexFile, reason }
}

/** Removes findings that come from running changes: they are gone after a moment. */
async function lookAgain(
  deps: Services,
  compare: () => Difference[],
  different: readonly Difference[],
  failed: Map<string, string>,
): Promise<Difference[]> {
  await sleep(recheckDelayMs)
  const unsound = new Set([...failed.keys()].map((path) => path.replace(/(\/org)?\.git$/, '')))
  for (const one of different) unsound.add(ownerOf(one))
  for (const owner of [...unsound].sort()) {
    const [orgId = '', nodeId] = owner.split('/')
    const path = pathOf(nodeId === undefined ? orgId : `${owner}.git`)
    await indexOne(deps, orgId, nodeId).then(
      () => failed.delete(path),
      (error: unknown) => failed.set(path, error instanceof Error ? error.message : String(error)),
    )
  }
  const before = new Set(different.map((one) => JSON.stringify(one)))
  return compare().filter((one) => before.has(JSON.stringify(one)))
}

/** Returns the repository's path. `indexAll` names an organisation by its folder. */
function pathOf(path: string): string {
  return path.endsWith('.git') ? path : join(path, orgRepository)
}

/**
 * Returns a store that cannot lock, so no ref can move. Only the service may settle pull requests after branches moved
 * outside it.
 */
function readOnlyStore(root: string): Store {
  return {
    root,
    get run(): string {
      throw new GitError(
        'ref_moved',
        'its branches were moved outside the service, and its pull requests are not settled yet',
      )
    },
    process: 'doctor',
    claimDeadProcess: () => undefined,
    onRecovered: async () => {},
    indexRepo: async () => {},
    onReadOnly: () => undefined,
  }
}

function describe({ row, columns, only }: Difference): string {
  if (only === 'index') return `the index has ${row}, but the repository does not`
  if (only === 'rebuilt') return `the index lacks ${row}`
  const parts = Object.entries(columns).map(
    ([name, [has, is]]) => `${name} is ${shown(is)}, but the index has ${shown(has)}`,
  )
  return `${row}: ${parts.join('; ')}`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

/** Finds cycles of parents, which mirrors from different moments may contain. The graph hides an edge of each. */
async function findCycles({ index }: Pick<Services, 'index'>): Promise<Finding[]> {
  const edges = await listParentEdges(index.read)
  const ids = [...new Set(edges.flatMap(({ source, target }) => [source, target]))].sort()
  const numberOf = new Map(ids.map((id, at) => [id, at]))
  const arcs = Uint32Array.from(
    edges.flatMap(({ source, target }) => [numberOf.get(source) ?? 0, numberOf.get(target) ?? 0]),
  )
  const { hidden } = withoutCycles(ids.length, arcs)
  const orgOf = new Map(edges.map(({ target, org_id }) => [target, org_id]))
  return Array.from({ length: hidden.length / 2 }, (_, at) => {
    const [parent = '', child = ''] = [ids[hidden[2 * at] ?? 0], ids[hidden[2 * at + 1] ?? 0]]
    const path = join(orgOf.get(child) ?? '', `${child}.git`)
    return damageFinding('graph', path, `the parent ${parent} would create a cycle; the edge is hidden`)
  })
}
