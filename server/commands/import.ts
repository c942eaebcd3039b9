/** `grove import`: a folder of Markdown becomes an organisation, or is brought up to date in one. */
import { basename, resolve } from 'node:path'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import type { Deps } from '../deps.ts'
import { personOf } from '../domain/accounts/users.ts'
import type { Person } from '../domain/actor.ts'
import { type Imported, importNodes } from '../domain/nodes/imports.ts'
import { contentsOf, listKnownNodes, takenElsewhere } from '../domain/nodes/known-nodes.ts'
import { createOrg, listOrgs, type Org, readOrg } from '../domain/orgs/orgs.ts'
import { asLine } from '../domain/vault/line.ts'
import { listFolder } from '../import/folder.ts'
import { guestProperty, type Inventory } from '../import/inventory.ts'
import { planImport } from '../import/plan.ts'
import { summaryOf } from '../import/summary.ts'
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
    const plan = await planImport(await listFolder(folder), await inventoryOf(deps, org.id), {
      onProgress: (done, total) => {
        call.signal.throwIfAborted()
        reading.at(done, total)
      },
    })
    reading.end()
    const writing = progressFor('Writing')
    const input = { nodes: plan.nodes, removed: [], onProgress: writing.at }
    const done: Imported = await importNodes(deps, person, { orgId: org.id }, input)
    writing.end()
    for (const line of summaryOf(org, plan, done)) say(line)
    return done.problems.length + plan.left > 0 ? 1 : 0
  })
}

async function inventoryOf(deps: Deps, orgId: string): Promise<Inventory> {
  return {
    orgId,
    nodes: await listKnownNodes(deps, orgId, { guestProperty }),
    contentsOf: (ids) => contentsOf(deps, ids),
    takenElsewhere: (ids) => takenElsewhere(deps, orgId, ids),
  }
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
