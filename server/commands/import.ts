/** `grove import`: a folder of Markdown becomes an organisation. */
import { basename, resolve } from 'node:path'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import type { Deps } from '../deps.ts'
import { personOf } from '../domain/accounts/users.ts'
import type { Person } from '../domain/actor.ts'
import { importNodes } from '../domain/nodes/imports.ts'
import { createOrg, listOrgs, type Org, readOrg } from '../domain/orgs/orgs.ts'
import { asLine } from '../domain/vault/line.ts'
import { planImport } from '../import/plan.ts'
import { type Call, progressFor, requireFolder, say, UsageError, withDeps } from './command.ts'

export interface ImportOptions {
  readonly as: string
  readonly org?: string
}

/** Exit code 1 if a node was refused or a file left out; unresolved links are only listed. */
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
    const listed = problems.filter(({ reason }) => reason.startsWith('unresolved link'))
    if (counts.unresolvedLinks > listed.length) say(`${counts.unresolvedLinks} links are unresolved in all`)
    return done.problems.length + plan.left > 0 ? 1 : 0
  })
}

async function personFor(deps: Deps, email: string): Promise<Person> {
  const account = await findAccountByEmail(deps.credentials.read, email)
  if (!account) throw new UsageError(`There is no account ${email}; sign up first (POST /auth/signup)`)
  return personOf(account)
}

/** The given organisation, else the person's organisation with the folder's name, else a new one. */
async function orgForImport(deps: Deps, person: Person, id: string | undefined, name: string): Promise<Org> {
  if (id !== undefined) return readOrg(deps, person, { orgId: id })
  const { orgs } = await listOrgs(deps, person, { limit: 10_000, offset: 0 })
  return orgs.find((org) => org.name === name && org.role !== 'reader') ?? createOrg(deps, person, { name })
}
