/** A repository with many files is looked through while requests go on. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Repo } from '../../gitstore/repo.ts'
import { listEmptyRefs, removeEmptyObjects } from '../../gitstore/upkeep/repair.ts'
import { listStaleFiles } from '../../gitstore/upkeep/stale-files.ts'
import { allOf } from '../support/all-of.ts'

const files = 6_000

import { countTurns } from '../support/turns.ts'

describe('gitstore: upkeep of a repository with many files', () => {
  let repo: Repo

  before(() => {
    repo = { dir: join(mkdtempSync(join(tmpdir(), 'grove-upkeep-')), 'a.git') }
    for (const folder of ['objects/aa', 'refs/heads']) mkdirSync(join(repo.dir, folder), { recursive: true })
    for (let at = 0; at < files; at++) {
      writeFileSync(join(repo.dir, 'objects/aa', String(at).padStart(38, '0')), 'x')
      writeFileSync(join(repo.dir, 'refs/heads', `b${at}`), 'x')
    }
  })
  after(() => rmSync(join(repo.dir, '..'), { recursive: true, force: true }))

  const looks: Record<string, () => Promise<unknown>> = {
    'stale files': () => allOf(listStaleFiles('nothing', repo, Date.now())),
    'empty objects': () => removeEmptyObjects(repo),
    'empty refs': () => listEmptyRefs(repo),
  }
  for (const [what, look] of Object.entries(looks))
    it(`lets others have their turns while it looks for ${what}`, async () => {
      const { result, turns } = await countTurns(look)
      expect(result).to.deep.equal([])
      expect(turns).to.be.at.least(2)
    })
})
