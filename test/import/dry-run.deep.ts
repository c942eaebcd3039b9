/** A dry run of an import tells what the import then does, whatever was done to the folder before. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { localDestination } from '../../server/features/vault/apply/destination.ts'
import { applyImport } from '../../server/features/vault/apply/imports.ts'
import { contentsOf, takenElsewhere } from '../../server/features/vault/apply/known-nodes.ts'
import { planImport } from '../../server/features/vault/plan/plan.ts'
import { listFolder } from '../../server/features/vault/read/folder.ts'
import { expecting } from '../support/node.ts'
import { ann, grove, nodesOf, useService } from './command.ts'
import { startModel, steps } from './model.ts'

describe('import: a dry run', () => {
  useService()

  it('tells what the run then does; nodes stay those of a model, and pruned ones are gone', async () => {
    const { deps } = grove
    const account = await findAccountByEmail(deps.credentials.read, 'ann@example.org')
    if (!account) throw new Error('Ann has an account')
    const person = personOf(account)
    const folder = await mkdtemp(join(tmpdir(), 'grove-dry-'))
    const seen = { created: 0, updated: 0, renamed: 0, removed: 0 }

    /** Imports the files, pruning or not. */
    const importInto = async (orgId: string, files: ReadonlyMap<string, string>, prune: boolean) => {
      await rm(folder, { recursive: true })
      await mkdir(folder)
      for (const [path, content] of files) {
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), content)
      }
      const plan = await planImport(await listFolder(folder), {
        orgId,
        nodes: await localDestination({ ...deps, actor: person }).knownNodes(orgId, undefined),
        contentsOf: (ids) => contentsOf(deps, ids),
        takenElsewhere: (ids) => takenElsewhere(deps, orgId, ids),
      })
      const removed = prune ? plan.gone.map(({ id, path = '' }) => ({ id, path })) : []
      const write = (dryRun: boolean) =>
        applyImport(
          { ...deps, actor: person },
          { org_id: orgId },
          { nodes: plan.nodes, removed, dryRun, onProgress: () => {} },
        )
      const before = await nodesOf(orgId)
      const told = await write(true)
      expect(await nodesOf(orgId)).to.deep.equal(before)
      expect(await write(false)).to.deep.equal(told)
      expect(await write(true)).to.deep.include({ created: [], updated: [], renamed: [], unchanged: plan.nodes.length })
      for (const kind of ['created', 'updated', 'renamed', 'removed'] as const) seen[kind] += told[kind].length
      return plan
    }

    const step = fc.record({ what: fc.constantFrom(...steps), which: fc.nat(), where: fc.nat() })
    const round = fc.record({ edits: fc.array(step, { minLength: 1, maxLength: 4 }), prune: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
        const org = (await ann.post('/orgs', { name: 'Dry' }).then(expecting(201))).body.id
        const model = startModel()
        for (const { edits, prune } of [{ edits: [], prune: false }, ...rounds]) {
          const touched = new Set<string>()
          for (const { what, which, where } of edits) model.take(what, which, where, touched)
          const { nodes, gone } = await importInto(org, model.files, prune)
          model.judge(new Map(nodes.map(({ path, id }) => [path, id])), JSON.stringify(edits))
          if (prune) model.forget()
          const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
          expect(body.total).to.equal(nodes.length + (prune ? 0 : gone.length))
        }
      }),
      { seed: 11, numRuns: 8 },
    )
    for (const [kind, count] of Object.entries(seen)) expect(count, kind).to.be.greaterThan(0)
    await rm(folder, { recursive: true })
  })
})
