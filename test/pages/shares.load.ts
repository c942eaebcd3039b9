/** Pages of long texts that one address asks for at once, while others use the service. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { peakMemory } from '../bench/processes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting, newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

const html = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }
const pages = 260

describe('260 pages of long texts that nobody signed in for', () => {
  let grove: SpawnedGrove
  let ann: PersonClient
  /** Pages that no cache has. */
  let paths: string[]

  before(async () => {
    grove = await spawnGrove(await newDataDir())
    ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const node = await newNode(grove, ann)
    const commits = Array.from({ length: pages }, (_, number) =>
      node.git.commit({
        files: { 'content.md': `${number}\n\n${'# a\n'.repeat(12_000)}` },
        parents: [node.git.head()],
      }),
    )
    for (const [number, commit] of commits.entries()) node.git.point(`texts/${number}`, commit)
    const last = node.git.commit({ files: {}, parents: [node.git.head(), ...commits] })
    node.git.point('main', last)
    const { location } = (await client(grove).get(pageAt(node.org, node.id), html).then(expecting(301))).headers
    paths = commits.map((commit) => `${location}?at=${commit}`)
  })
  after(async () => {
    await grove.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
  })

  it('hold up neither a health check nor the page of a member, and take memory for a few', async () => {
    const bob = await signUp(grove, 'Bob')
    const own = await newNode(grove, bob, { title: 'Krill', text_content: '## Krill\n\nSmall.\n' })
    const { location = '' } = (await bob.get(pageAt(own.org, own.id), html).then(expecting(301))).headers
    const before = await peakMemory(grove.pid)
    const began = performance.now()
    const asked = paths.map(async (path) => (await fetch(grove.url + path, { headers: html })).status)
    let isOver = false
    const all = Promise.all(asked).finally(() => {
      isOver = true
    })
    const waits = { health: 0, page: 0 }
    while (!isOver) {
      waits.health = Math.max(waits.health, await timed(() => client(grove).get('/healthz').then(expecting(200))))
      waits.page = Math.max(waits.page, await timed(() => bob.get(location, html).then(expecting(200))))
    }
    const statuses = await all
    const took = performance.now() - began
    const grew = (await peakMemory(grove.pid)) - before
    const said = JSON.stringify({ took, waits, grew, shown: statuses.filter((one) => one === 200).length })
    expect(statuses, said).to.include(200)
    expect(statuses.filter((one) => one !== 200 && one !== 503)).to.deep.equal([])
    expect(grew, said).to.be.below(300 * 2 ** 20)
    expect(waits.health / took, said).to.be.below(1 / 20)
    expect(waits.page / took, said).to.be.below(1 / 10)
  })
})

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
