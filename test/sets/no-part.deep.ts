/** Nobody sees a part of a merged change set, in any process, by any kind of read. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { faultsIn } from '../support/log.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import { seed } from '../support/seed.ts'
import { readSets } from '../support/sets-reader.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { judgeAdjacent, stormOfMerges } from './storm.ts'

describe('a storm of merges in two processes', () => {
  let dataDir: string
  const doors: SpawnedGrove[] = []
  before(async () => {
    dataDir = await newDataDir()
    for (let at = 0; at < 2; at++) doors.push(await spawnGrove(dataDir))
  })
  after(async () => {
    for (const door of doors) await door.kill()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('shows each reader all pages of a set or none, and never fewer than before', async () => {
    const [door] = doors as [SpawnedGrove]
    const ann = await signUp(door, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const place = { org: ann.org, token: ann.session.accessToken, doors, random: randomOf(seed) }
    const { reads, merged, problems } = await stormOfMerges(place, 15, 6)
    expect(problems.join('\n')).to.equal('')
    expect(
      Object.values(reads).every((count) => count > 10),
      JSON.stringify(reads),
    ).to.equal(true)
    expect((await judgeAdjacent(ann, ann.org, merged)).join('\n')).to.equal('')
    expect(readSets({ dataDir }, ann.org)).to.deep.include({ broken: [], orphans: [] })
    for (const one of doors) expect(faultsIn(one.output().stderr)).to.deep.equal([])
  })
})
