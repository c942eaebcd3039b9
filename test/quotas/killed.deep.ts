/** The bytes of an organisation after kills: those that the service counts are those on the disk. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { diskBytes } from './disk.ts'

const kills = 2
const writers = 4

describe('the bytes of an organisation after kills', () => {
  let dataDir: string
  before(async () => {
    dataDir = await newDataDir()
  })
  after(() => rm(dataDir, { recursive: true, force: true }))

  const text = (seed: number) => Array.from({ length: 1_000 }, (_, at) => `${seed * at ** 3}`).join(' ')

  /** Commits to one node until the service is gone. Returns the number of acknowledged commits. */
  async function write(ann: PersonClient, at: TestNode['at'], seed: number): Promise<number> {
    for (let count = 0; ; count++) {
      const changes = [{ action: 'put', path: `${seed}.md`, content: text(seed + count / 1_000) }]
      const answer = await ann.post(`${at}/tree/main/commits`, { message: 'Count', changes }).catch(() => undefined)
      if (answer?.status !== 201) return count
    }
  }

  it('are those on the disk, but for what a killed change has written', async () => {
    let ann: PersonClient | undefined
    let nodes: string[] = []
    for (let round = 0; round < kills; round++) {
      const grove = await spawnGrove(dataDir)
      ann = ann === undefined ? await signUp(grove, 'Ann') : { ...ann, ...client(grove, ann.session.accessToken) }
      const of = ann
      if (nodes.length === 0)
        nodes = await Promise.all(
          Array.from({ length: writers }, async () => {
            const { id } = (await of.post(`/orgs/${of.org}/nodes`, { title: 'Whale' }).then(expecting(201))).body
            return `/orgs/${of.org}/nodes/${id}`
          }),
        )
      let written = 0
      const writing = nodes.map((at, seed) => write(of, at, seed + 10 * round + 1))
      await until(async () => {
        const { body } = await of.get(`/orgs/${of.org}`)
        written = body.usage.bytes
        return written > 200_000 * (round + 1)
      })
      await grove.kill()
      expect((await Promise.all(writing)).reduce((sum, count) => sum + count)).to.be.above(0)
    }
    const grove = await spawnGrove(dataDir)
    try {
      const again = { ...ann, ...client(grove, ann?.session.accessToken) }
      const { usage } = (await again.get(`/orgs/${ann?.org}`).then(expecting(200))).body
      const disk = await diskBytes({ dataDir }, ann?.org ?? '')
      expect(usage.bytes).to.be.within(0.98 * disk, 1.02 * disk)
      expect(usage.nodes).to.equal(writers)
    } finally {
      await grove.stop()
    }
  })
})
