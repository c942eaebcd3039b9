/** What `grove` does beside serving; each command opens the data folder beside whatever else runs on it. */
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { findAccountByEmail } from '../index/records/accounts.ts'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import type { Person } from './domain/actor.ts'
import { importNodes } from './domain/imports.ts'
import { createOrg, listOrgs, type Org, readOrg } from './domain/orgs.ts'
import { reindex } from './domain/reindex.ts'
import { createLog } from './http/requests.ts'
import { asLine } from './import/line.ts'
import { planImport } from './import/plan.ts'
import { type Progress, progressOn } from './import/progress.ts'
import { openDeps } from './open.ts'

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

/** Exit code 1 if a node was refused; a link that leads nowhere or a file that cannot be read is only named. */
export async function importFolder(config: Config, folder: string, options: ImportOptions): Promise<number> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new UsageError(`${folder} is not a folder`)
  return withDeps(config, async (deps) => {
    const person = await personFor(deps, options.as)
    const org = await orgForImport(deps, person, options.org, asLine(basename(resolve(folder)), 200) || 'Imported')
    const reading = progressFor('Reading')
    const plan = await planImport(folder, org.id, reading.at)
    reading.end()
    const writing = progressFor('Writing')
    const done = await importNodes(deps, person, org.id, plan.nodes, writing.at)
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
    return done.problems.length > 0 ? 1 : 0
  })
}

/** Exit code 1 if a repository could not be read. */
export async function rebuildIndex(config: Config): Promise<number> {
  return withDeps(config, async (deps) => {
    const progress = progressFor('Indexing')
    const done = await reindex(deps, progress.at)
    progress.end()
    say(`${done.orgs} organisations and ${done.nodes} nodes indexed`)
    for (const { path, reason } of done.failed) say(`  not readable, left as it is: ${path}: ${reason}`)
    return done.failed.length > 0 ? 1 : 0
  })
}

async function withDeps<T>(config: Config, work: (deps: Deps) => Promise<T>): Promise<T> {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel
  const opened = await openDeps(config, { log: createLog(level) })
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
  if (id !== undefined) return readOrg(deps, person, id)
  const { orgs } = await listOrgs(deps, person, { limit: 10_000, offset: 0 })
  return orgs.find((org) => org.name === name && org.role !== 'reader') ?? createOrg(deps, person, { name })
}

function progressFor(label: string): Progress {
  return progressOn(process.stderr, label, () => performance.now())
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
