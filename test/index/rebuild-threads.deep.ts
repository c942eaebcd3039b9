/** A rebuild of so many nodes that threads read them. */
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { withFileLock } from '../../index/sqlite/file-lock.ts'
import { runFolder } from '../../server/domain/layout.ts'
import { commitOf } from '../support/concurrency-rules.ts'
import { expectSound, git, newDataDir } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove, untilReady } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

const large = 1_000
const few = 12

describe('an index of a thousand nodes that is rebuilt', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let ann: PersonClient
  let crowd: string

  before(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir)
    ann = await signUp(grove, 'Ann')
    crowd = (await ann.post('/orgs', { name: 'Crowd' }).then(expecting(201))).body.id
    await newNodes(ann, crowd, large)
    await live(ann, dataDir)
  })
  after(async () => {
    await grove?.kill()
    await rm(dataDir, { recursive: true, force: true })
  })

  const person = () => client(grove, ann.session.accessToken)
  const everything = async () => {
    const lists = ['nodes?limit=200&offset=800', 'nodes?parent=none&limit=200', 'tags', 'events?limit=200', 'graph']
    const answers = lists.map(async (path) => (await person().get(`/orgs/${crowd}/${path}`)).body)
    return {
      ann: await everythingIn(grove, ann.session.accessToken, [ann.org], ['whale']),
      crowd: await Promise.all(answers),
    }
  }

  it('answers as before, shows its progress, and continues after a kill', async () => {
    await everything()
    const before = await everything()
    await grove.stop()
    for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
    const held = new AbortController()
    const holding = withFileLock(
      join(runFolder(dataDir), 'index-filling'),
      new AbortController().signal,
      () => new Promise<void>((resolve) => held.signal.addEventListener('abort', () => resolve())),
    )
    // It listens before its index is complete.
    grove = await spawnGrove(dataDir)
    const readiness = async () => (await client(grove).get('/readyz')).body
    expect(await readiness()).to.deep.equal({ status: 'indexing' })
    held.abort()
    await holding
    await until(async () => (await readiness()).nodes?.total === large + few)
    await grove.kill()
    grove = await spawnGrove(dataDir)
    await untilReady(grove)
    expect(await readiness()).to.deep.equal({ status: 'ready' })
    expect(await everything()).to.deep.equal(before)
    await expectSound(dataDir)
  })

  it('leaves out a damaged node, names it, and serves all others', async () => {
    const [damaged] = (await person().get(`/orgs/${crowd}/nodes?limit=1`)).body.nodes
    await grove.stop()
    await writeFile(join(dataDir, crowd, `${damaged.id}.git`, 'packed-refs'), 'damaged')
    for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
    grove = await spawnGrove(dataDir)
    await untilReady(grove)
    expect((await person().get(`/orgs/${crowd}/nodes?limit=1`)).body.total).to.equal(large - 1)
    expect((await person().get(`/orgs/${crowd}/nodes/${damaged.id}`)).body.code).to.equal('repo_damaged')
    const { stdout, stderr } = grove.output()
    expect(stdout + stderr)
      .to.contain(damaged.id)
      .and.not.contain('one by one')
  })
})

async function newNodes(ann: PersonClient, org: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let made = 0; made < count; made += 500) {
    const nodes = Array.from({ length: Math.min(count - made, 500) }, (_, n) => ({
      title: `Whale ${made + n}`,
      text_content: 'A song of the deep',
      tags: [`sea/${n % 7}`],
      parents: ids.slice(n % 3, (n % 3) + 1),
    }))
    const { body } = await ann.post(`/orgs/${org}/nodes/batch`, { nodes }).then(expecting(201))
    ids.push(...body.nodes.map(({ id }: { id: string }) => id))
  }
  return ids
}

/** Makes nodes of all kinds: with branches, pull requests, comments, connections, longer histories, and a cycle of links. */
async function live(ann: PersonClient, dataDir: string): Promise<void> {
  const ids = await newNodes(ann, ann.org, few)
  for (const [n, id] of ids.entries()) {
    const at = `/orgs/${ann.org}/nodes/${id}`
    for (let commit = 0; commit < n; commit++)
      await ann.post(`${at}/tree/main/commits`, commitOf(`Change ${commit}`)).then(expecting(201))
    if (n % 3 === 0) continue
    await ann.post(`${at}/connections`, { target: ids[(n + 1) % few] }).then(expecting(201))
    await ann.post(`${at}/branches`, { name: 'draft' }).then(expecting(201))
    await ann.post(`${at}/tree/draft/commits`, commitOf('Draft')).then(expecting(201))
    const pull = { source_branch: 'draft', title: 'A proposal' }
    await ann.post(`${at}/pull-requests`, pull).then(expecting(201))
    await ann.post(`${at}/pull-requests/1/comments`, { text: 'A comment' }).then(expecting(201))
    if (n % 3 === 1) await ann.post(`${at}/pull-requests/1/merge`, {}).then(expecting(200))
  }
  await git(join(dataDir, ann.org, `${ids[3]}.git`), 'repack', '-adq')
}
