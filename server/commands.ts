/** What `grove` does beside serving; each command opens the data folder beside whatever else runs on it. */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve, sep } from 'node:path'
import { isAbsent, isTaken } from '../gitstore/presence.ts'
import { findAccountByEmail, hasAccounts } from '../index/credentials/accounts.ts'
import { openDeps } from './bootstrap.ts'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import type { Person } from './domain/actor.ts'
import { followAll, reindex } from './domain/indexing/reindex.ts'
import { isId } from './domain/layout.ts'
import { importNodes } from './domain/nodes/imports.ts'
import { backUp, findMistake, type Trouble } from './domain/operator/backup.ts'
import { examine, type Step } from './domain/operator/doctor.ts'
import { createAccounts, findOccupant, putIntoPlace } from './domain/operator/restore.ts'
import { stage } from './domain/operator/staging.ts'
import { purge, restoreNode, type Trashed } from './domain/operator/trash.ts'
import { createOrg, listOrgs, type Org, readOrg } from './domain/orgs/orgs.ts'
import { createLog } from './http/requests.ts'
import { asLine } from './import/line.ts'
import { planImport } from './import/plan.ts'
import { type Progress, progressOn } from './import/progress.ts'

/** What every command gets. */
export interface Call {
  readonly config: Config
  /** Aborted where the command is to end before its work is done. */
  readonly signal: AbortSignal
}

/** What the caller of a command can mend: the message goes to standard error, the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

export interface ImportOptions {
  readonly as: string
  readonly org?: string
}

/** Exit code 1 if a node was refused or a file left out; a link that leads nowhere is only named. */
export async function importFolder(call: Call, folder: string, options: ImportOptions): Promise<number> {
  await requireFolder(folder)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const person = await personFor(deps, options.as)
    const org = await orgForImport(deps, person, options.org, asLine(basename(resolve(folder)), 200) || 'Imported')
    const reading = progressFor('Reading')
    const plan = await planImport(folder, org.id, (done, total) => {
      call.signal.throwIfAborted()
      reading.at(done, total)
    })
    reading.end()
    const writing = progressFor('Writing')
    const done = await importNodes(deps, person, { orgId: org.id }, { nodes: plan.nodes, onProgress: writing.at })
    writing.end()
    const { counts } = plan
    say(
      `${org.name} (${org.id}): ${counts.nodes} nodes, ${counts.parents} parent edges, ${counts.connections} connections, ${counts.attachments} attachments`,
    )
    say(`${done.created} created, ${done.updated} updated, ${done.unchanged} unchanged`)
    for (const { path, title } of done.missing) say(`kept, though its file is gone: ${path} (${title})`)
    const problems = [...plan.problems, ...done.problems]
    if (problems.length > 0) say(`${problems.length} things could not be placed as they are:`)
    for (const { path, reason } of problems) say(`  ${path}: ${reason}`)
    const told = problems.filter(({ reason }) => reason.startsWith('unresolved link'))
    if (counts.unresolvedLinks > told.length) say(`${counts.unresolvedLinks} links are unresolved in all`)
    return done.problems.length + plan.left > 0 ? 1 : 0
  })
}

/** Exit code 1 if a repository could not be read. */
export async function rebuildIndex(call: Call): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const progress = progressFor('Indexing')
    const done = await reindex(deps, progress.at)
    call.signal.throwIfAborted()
    progress.end()
    say(`${done.orgs} organisations and ${done.nodes} nodes indexed`)
    for (const { path, reason } of done.failed) say(`  not readable, left as it is: ${path}: ${reason}`)
    return done.failed.length > 0 ? 1 : 0
  })
}

/** Changes nothing. Exit code 1 if anything is wrong; notes are not. */
export async function checkHealth({ config, signal }: Call, options: { readonly json?: boolean }): Promise<number> {
  await requireFolder(config.dataDir)
  const folder = await mkdtemp(join(tmpdir(), 'grove-doctor-'))
  try {
    const scratch = { ...config, dataDir: folder, logLevel: 'silent' as const }
    const { orgs, nodes, findings } = await withDeps({ config: scratch, signal }, async (deps) => {
      const progress = new Map<Step, Progress>()
      const done = await examine(config.dataDir, deps, (step, at, total) => {
        if (!progress.has(step)) for (const before of progress.values()) before.end()
        const bar = progress.get(step) ?? progressFor(step)
        progress.set(step, bar)
        bar.at(at, total)
      })
      ;[...progress.values()].at(-1)?.end()
      return done
    })
    const faults = findings.filter(({ kind }) => kind === 'fault')
    const lines = findings.map(({ kind, path, reason }) => `  ${kind === 'note' ? '(note) ' : ''}${path}: ${reason}`)
    if (options.json === true) {
      say(
        JSON.stringify({
          data_dir: config.dataDir,
          organisations: orgs,
          nodes,
          healthy: faults.length === 0,
          findings,
        }),
      )
    } else {
      say(`${config.dataDir}: ${orgs} organisations and ${nodes} nodes`)
      say(faults.length === 0 ? 'Nothing is wrong' : `${things(faults.length)} wrong:`)
      for (const line of lines) say(line)
    }
    return faults.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Exit code 1 if anything could not be copied, or is not sound where it was copied to. */
export async function backUpTo(call: Call, target: string): Promise<number> {
  const { config, signal } = call
  const dir = resolve(target)
  await requireFolder(config.dataDir)
  if (`${dir}${sep}`.startsWith(`${config.dataDir}${sep}`) || `${config.dataDir}${sep}`.startsWith(`${dir}${sep}`))
    throw new UsageError(`${dir} and the data folder ${config.dataDir} must lie beside each other`)
  if (isTaken(dir)) await requireFolder(dir)
  const mistake = await findMistake(config.dataDir, dir)
  if (mistake !== undefined) throw new UsageError(mistake)
  // Finishes what dead processes have begun. Where even that is damaged, a backup of the rest is wanted all the more.
  const sick = await withDeps(call, async () => undefined).catch((error: unknown) => error)
  signal.throwIfAborted()
  const progress = progressFor('Copying')
  const done = await backUp(config.dataDir, dir, new Date(), signal, progress.at)
  progress.end()
  say(`${done.repositories} repositories in ${dir}, ${done.fetched} of them changed since the last backup`)
  for (const path of done.gone) say(`kept, though it is deleted: ${path}`)
  const problems = [
    ...(sick instanceof Error ? [{ path: config.dataDir, reason: sick.message }] : []),
    ...done.problems,
  ]
  return sayProblems(problems)
}

/** Exit code 1 if a copy was left for a fault of its own, or is restored and not sound. */
export async function restoreFrom(call: Call, source: string): Promise<number> {
  const dir = resolve(source)
  const root = call.config.dataDir
  await requireFolder(dir)
  const occupant = (await findOccupant(root)) ?? (await findAccounts(call))
  if (occupant !== undefined) throw new UsageError(`${root} is not an empty data folder: ${occupant}`)
  const copying = progressFor('Copying')
  const staged = await stage(root, dir, call.signal, copying.at)
  copying.end()
  const problems: Trouble[] = [...staged.problems]
  const hasCredentials = await putIntoPlace(root, dir, staged, problems)
  return withDeps(call, async (deps) => {
    const indexing = progressFor('Indexing')
    const { failed } = await followAll(deps, indexing.at)
    indexing.end()
    if (call.signal.aborted) say(`${root} is restored in part: empty it before you restore again`)
    call.signal.throwIfAborted()
    const accounts = await createAccounts(deps, problems)
    say(`${staged.orgs.length} organisations and ${staged.nodes} nodes restored from ${dir}`)
    if (hasCredentials) say('Accounts, passwords and sessions are those of the backup')
    if (accounts.length > 0)
      say('Who is to set a password by POST /auth/password with this reset_token, within 7 days:')
    for (const { email, resetToken } of accounts) say(`${email} ${resetToken}`)
    for (const { path, reason } of staged.left) say(`left: ${path} ${reason}`)
    return sayProblems([...problems, ...failed])
  })
}

/** @param place `<org id>/<node id>`, as in the node's addresses and in what deletions leave in the trash */
export async function restoreNodeAt(call: Call, place: string): Promise<number> {
  const [orgId = '', nodeId = '', more] = place.replace(/\.git$/, '').split('/')
  if (!isId(orgId) || !isId(nodeId) || more !== undefined) throw new UsageError(`${place} is not ORG_ID/NODE_ID`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const obstacle = await restoreNode(deps, orgId, nodeId)
    const said = `${orgId}/${nodeId} cannot be restored: ${obstacle?.reason}`
    if (obstacle?.kind === 'mistake') throw new UsageError(said)
    if (obstacle?.kind === 'conflict') {
      say(said)
      return 1
    }
    say(`${orgId}/${nodeId} is restored`)
    return 0
  })
}

export interface PurgeOptions {
  readonly olderThan: string
  readonly force?: boolean
}

/** Days that what was deleted is kept at least, but for `--force`. */
const shortestTrash = 14

export async function purgeTrash(call: Call, { olderThan, force = false }: PurgeOptions): Promise<number> {
  const days = /^\d{1,5}$/.test(olderThan) ? Number(olderThan) : undefined
  if (days === undefined) throw new UsageError(`${olderThan} is not a number of days`)
  if (days < shortestTrash && !force)
    throw new UsageError(`What was deleted less than ${shortestTrash} days ago is purged with --force only`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const progress = progressFor('Removing')
    const { removed, kept } = await purge(deps, new Date(deps.now().getTime() - days * 24 * 3_600_000), progress.at)
    progress.end()
    for (const one of removed) say(`removed ${nameOf(one)}, deleted ${one.deleted_at}`)
    say(`${removed.length} removed, ${kept.length} kept that were deleted less than ${days} days ago`)
    return 0
  })
}

function nameOf({ orgId, nodeId }: Trashed): string {
  return nodeId === undefined ? `organisation ${orgId}` : `${orgId}/${nodeId}`
}

async function findAccounts(call: Call): Promise<string | undefined> {
  return withDeps(call, async ({ credentials }) => {
    return (await hasAccounts(credentials.read)) ? 'it has accounts' : undefined
  })
}

async function requireFolder(path: string): Promise<void> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    (error: unknown) => {
      if (isAbsent(error)) return false
      throw new UsageError(`${path} cannot be looked at: ${error instanceof Error ? error.message : error}`)
    },
  )
  if (!isFolder) throw new UsageError(`${path} is not a folder`)
}

/** The exit code: 1 if there are any. */
function sayProblems(problems: readonly Trouble[]): number {
  if (problems.length > 0) say(`${things(problems.length)} wrong:`)
  for (const { path, reason } of problems) say(`  ${path}: ${reason}`)
  return problems.length > 0 ? 1 : 0
}

function things(count: number): string {
  return count === 1 ? '1 thing is' : `${count} things are`
}

async function withDeps<T>({ config, signal }: Call, work: (deps: Deps) => Promise<T>): Promise<T> {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel
  const opened = await openDeps(config, { log: createLog(level), draining: signal })
  try {
    return await work(opened.deps)
  } finally {
    await opened.close()
  }
}

async function personFor(deps: Deps, email: string): Promise<Person> {
  const account = await findAccountByEmail(deps.credentials.read, email)
  if (!account) throw new UsageError(`Nobody has signed up as ${email}; sign up first (POST /auth/signup)`)
  return { kind: 'person', id: account.id, email: account.email, name: account.name }
}

/** The organisation that is named, else the person's own of the folder's name, else a new one of that name. */
async function orgForImport(deps: Deps, person: Person, id: string | undefined, name: string): Promise<Org> {
  if (id !== undefined) return readOrg(deps, person, { orgId: id })
  const { orgs } = await listOrgs(deps, person, { limit: 10_000, offset: 0 })
  return orgs.find((org) => org.name === name && org.role !== 'reader') ?? createOrg(deps, person, { name })
}

function progressFor(label: string): Progress {
  return progressOn(process.stderr, label, () => performance.now())
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
