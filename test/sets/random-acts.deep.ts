/** Random acts of several people on change sets. After them, the API says what a second reader finds in the mirrors. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { cli } from '../operator/desk.ts'
import { startGrove } from '../support/grove.ts'
import { client, password } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import { seed } from '../support/seed.ts'
import { type ActsPlace, actOnce, differences, mirrored, orderProblems } from './acts.ts'
import { ann, aPage, bob, cy, di, grove, useScene } from './scene.ts'

describe('random acts on change sets', () => {
  useScene()

  const folder = mkdtempSync(join(tmpdir(), 'grove-acts-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  let place: ActsPlace
  let mirrors = 0
  before(async () => {
    const pages = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map((name) => aPage(name)))
    place = { org: ann.org, people: [ann, bob, cy, di], random: randomOf(seed), pages, done: {}, problems: [] }
  })

  const judged = async () => {
    await grove.settled()
    const dir = join(folder, String(++mirrors))
    mirrored(grove.dataDir, ann.org, dir)
    return [...place.problems, ...(await differences(place, ann, dir)), ...orderProblems(place, dir)]
  }

  it('one after the other leave what the API says', async () => {
    for (let round = 0; round < 6; round++) {
      for (let act = 0; act < 20; act++) await actOnce(place)
      expect(await judged()).to.deep.equal([])
    }
  })

  it('of four people at once have a serial order', async () => {
    for (let round = 0; round < 2; round++) {
      await Promise.all(
        place.people.map(async () => {
          for (let act = 0; act < 15; act++) await actOnce(place)
        }),
      )
      expect(await judged()).to.deep.equal([])
    }
    for (const act of ['open', 'merge', 'update', 'review', 'commit to an item'])
      expect(place.done[act], `${act} in ${JSON.stringify(place.done)}`).to.be.greaterThan(0)
  })

  it('are the same after grove reindex, and restored from mirrors', async () => {
    expect((await cli(grove.dataDir, 'reindex')).code).to.equal(0)
    expect(await judged()).to.deep.equal([])
    const [backup, dataDir] = [join(folder, 'backup'), mkdtempSync(join(folder, 'restored-'))]
    expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
    const restored = await cli(dataDir, 'restore', backup)
    expect(restored.code, restored.stdout + restored.stderr).to.equal(0)
    const again = await startGrove({ dataDir })
    try {
      const login = await client(again).post('/auth/login', { email: ann.user.email, password })
      const person = client(again, login.body.accessToken)
      expect(await differences(place, person, dataDir)).to.deep.equal([])
    } finally {
      await again.close()
    }
  })
})
