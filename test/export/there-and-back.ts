/** Exports and imports within the test's process, and what an organisation holds, to compare. */

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import { wholeOrg } from '../../index/derived/sees.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { listNodes } from '../../server/domain/indexing/stored-repositories.ts'
import { applyImport, type ImportInput } from '../../server/features/vault/apply/imports.ts'
import { contentsOf, listKnownNodes, takenElsewhere } from '../../server/features/vault/apply/known-nodes.ts'
import { planImport } from '../../server/features/vault/plan/plan.ts'
import { readManifest } from '../../server/features/vault/read/export-manifest.ts'
import { listFolder } from '../../server/features/vault/read/folder.ts'
import { exportFiles } from '../../server/features/vault/write/exported-files.ts'
import { writeFolder } from '../../server/features/vault/write/exported-folder.ts'
import { gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { filesIn } from './folders.ts'

export let here: Grove

export let there: Grove

export let ann: PersonClient

export let annThere: PersonClient

/** Two services of its own for each file, with Ann in both. */
export function useTwoServices(): void {
  before(async () => {
    here = await startGrove()
    there = await startGrove()
    ann = await signUp(here, 'Ann')
    annThere = await signUp(there, 'Ann')
  })
  after(async () => {
    await here.close()
    await there.close()
  })
}

export async function newOrg(person: PersonClient, name = 'Garden'): Promise<string> {
  return (await person.post('/orgs', { name })).body.id
}

/** Writes nodes as an import does, each with its whole tree. */
export async function write({ deps }: Grove, orgId: string, nodes: ImportInput['nodes']): Promise<void> {
  const account = await findAccountByEmail(deps.credentials.read, 'ann@example.org')
  if (!account) throw new Error('Ann has signed up')
  const done = await applyImport(
    { ...deps, actor: personOf(account) },
    { org_id: orgId },
    { nodes, removed: [], onProgress: () => {} },
  )
  expect(done.problems).to.deep.equal([])
}

/** Imports the folder. Returns the problems of the plan, except links that lead nowhere. */
export async function importFrom(grove: Grove, orgId: string, dir: string): Promise<readonly object[]> {
  const { deps } = grove
  const plan = await planImport(await listFolder(dir), {
    orgId,
    nodes: await listKnownNodes(deps, orgId, undefined),
    contentsOf: (ids) => contentsOf(deps, ids),
    takenElsewhere: (ids) => takenElsewhere(deps, orgId, ids),
  })
  await write(grove, orgId, plan.nodes)
  return plan.problems
}

/** The bytes of each file by its path. */
export async function exportTo({ deps }: Grove, orgId: string, dir?: string) {
  const folder = dir ?? (await mkdtemp(join(tmpdir(), 'grove-export-')))
  const files = exportFiles(deps, wholeOrg(orgId), { signal: new AbortController().signal })
  const done = await writeFolder(folder, orgId, await readManifest(folder), files, () => false)
  expect(done.problems).to.deep.equal([])
  return { dir: folder, files: await filesIn(folder) }
}

/** Each node's files at main by id: JSON as values, `source_path` left out, other files as text or base64. */
export async function stateOf(grove: Grove, orgId: string): Promise<Map<string, object>> {
  const state = new Map<string, object>()
  for (const id of await listNodes(grove.deps, orgId)) {
    const git = gitIn(grove, orgId, id)
    const names = git.run(['ls-tree', '-r', '-z', '--name-only', 'main']).toString().split('\0').filter(Boolean)
    const files: Record<string, unknown> = {}
    for (const name of names) {
      const bytes = git.run(['cat-file', 'blob', `main:${name}`])
      files[name] = /^(node|parents\/.*|connections\/.*)\.json$/.test(name)
        ? withoutSource(JSON.parse(bytes.toString()))
        : bytes.toString('base64')
    }
    state.set(id, files)
  }
  return state
}

/** As text but for the names of properties: deep equality would not see any order. */
function withoutSource(json: { properties?: Record<string, unknown> }): unknown {
  const { properties: { source_path: _, ...properties } = {}, ...others } = json
  const values = Object.entries(properties).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return [JSON.stringify(others), values.sort()]
}
