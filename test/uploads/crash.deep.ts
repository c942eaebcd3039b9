/** An import whose service is killed is shown as interrupted, and importing again completes it. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove, untilReady } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { ended, imported, sendZip, zipOf } from '../support/uploads.ts'
import { spoolOf } from './scene.ts'

const notes = Object.fromEntries(
  Array.from({ length: 1_200 }, (_, at) => [`notes/${at}.md`, `# Note ${at}\n\nSee [[${at + 1}]].\n`]),
)

describe('uploads: an import whose service', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let ann: PersonClient

  before(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir)
    ann = await signUp(grove, 'Ann')
  })
  after(async () => {
    await grove.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const again = async () => {
    grove = await spawnGrove(dataDir)
    await untilReady(grove)
    ann = { ...ann, ...client(grove, ann.session.accessToken) }
  }

  for (const phase of ['unpacking', 'reading', 'writing'])
    it(`is killed while it is ${phase} was interrupted, leaves nothing behind, and is completed by another`, async () => {
      const org = (await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body.id
      const zip = await zipOf(notes)
      const { id } = (await sendZip(ann, org, zip).then(expecting(202))).body
      await until(async () => {
        const { state, progress } = (await ann.get(`/orgs/${org}/imports/${id}`)).body
        return (state === 'running' && phasesFrom(phase).includes(progress.phase)) || state === 'done'
      })
      await grove.kill()
      await again()
      const { state, detail, ended_at } = await ended(ann, org, id)
      // It may have been done before it was killed.
      if (state !== 'done') {
        expect({ state, ended_at }).to.deep.equal({ state: 'interrupted', ended_at: undefined })
        expect(detail).to.match(/^The service stopped during the import/)
      }
      await until(async () => (await spoolOf(org, id, dataDir)).length === 0)
      const { report } = await imported(ann, org, zip)
      const { created = 0, updated = 0, unchanged = 0, nodes } = report?.counts ?? {}
      expect(created + updated + unchanged).to.equal(nodes)
      expect((await ann.get(`/orgs/${org}/nodes`)).body.total).to.equal(1_201)
      expect((await imported(ann, org, zip)).report?.counts).to.include({ created: 0, updated: 0, unchanged: 1_201 })
    })

  it('stops was interrupted, and says so', async () => {
    const org = (await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body.id
    const { id } = (await sendZip(ann, org, await zipOf(notes)).then(expecting(202))).body
    await grove.stop()
    await again()
    const { state, detail } = await ended(ann, org, id)
    expect(state).to.equal('interrupted')
    expect(detail).to.match(
      /^The service stopped during the import\. Everything written until then stays; import the same again/,
    )
    expect(await spoolOf(org, id, dataDir)).to.deep.equal([])
  })
})

function phasesFrom(phase: string): string[] {
  const all = ['unpacking', 'reading', 'writing']
  return all.slice(all.indexOf(phase))
}
