/** Erased vectors: not a byte of them is left, and a running embedder does not write them back. */
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openVectorRows } from '../../index/vectors/read-rows.ts'
import { eraseNodeVectors, eraseOrgVectors } from '../../server/domain/embeddings/erasure.ts'
import { sweepVectors } from '../../server/domain/embeddings/sweep.ts'
import { keyOf } from '../../server/domain/embeddings/texts.ts'
import { cli } from '../operator/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { countOf, isEmbedded, LetterModel, lettersOf, openScene, rowsOf, type Scene } from './embedder-scene.ts'

const weekMs = 7 * 24 * 3_600_000

describe('erased vectors', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let scene: Scene
  let now = new Date()

  beforeEach(async () => {
    now = new Date()
    grove = await startGrove({ sweeps: false })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    scene = await openScene(grove)
  })
  afterEach(async () => {
    await scene.close()
    await grove.close()
  })

  const deps = () => ({ ...grove.deps, embeddings: scene.embeddings, now: () => now })
  const create = async (who: PersonClient, titles: readonly string[]): Promise<string[]> => {
    const nodes = titles.map((title) => ({ title }))
    const { body } = await who.post(`/orgs/${who.org}/nodes/batch`, { nodes }).then(expecting(201))
    return body.nodes.map(({ id }: { id: string }) => id)
  }
  /** Purges all that is in the trash. The command has no model, and opens the file on its own. */
  const purge = async () => {
    const { code, stderr } = await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
  }
  const titles = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word} number ${n}`)
  const embedded = (who: PersonClient) => until(() => isEmbedded(scene, grove, who.org))

  /** Returns those of the texts whose key or vector is in the file or its log. */
  async function remainsOf(texts: readonly string[]): Promise<string[]> {
    const files = ['', '-wal', '.damaged'].map((end) => join(grove.dataDir, `vectors.sqlite${end}`)).filter(existsSync)
    const bytes = await Promise.all(files.map((file) => readFile(file)))
    const isIn = (part: Buffer) => bytes.some((content) => content.includes(part))
    return texts.filter((text) => isIn(keyOf(scene.model.id, text)) || isIn(Buffer.from(lettersOf(text))))
  }

  it.deep('of an organisation leave no byte, and others keep theirs', async () => {
    scene.embed()
    for (let n = 0; n < 3; n++) {
      await create(ann, titles(`Whale ${n}`, 100))
      await create(bob, titles(`Seal ${n}`, 30))
    }
    await embedded(ann)
    await embedded(bob)
    const secret = [0, 1, 2].flatMap((n) => titles(`Whale ${n}`, 100))
    expect(await remainsOf(secret)).to.have.length(300)
    const kept = await rowsOf(scene, bob.org)
    scene.refused.add(ann.org)
    await eraseOrgVectors(deps(), ann.org)
    expect(await remainsOf(secret)).to.deep.equal([])
    expect(await rowsOf(scene, bob.org)).to.deep.equal(kept)
    for (const table of ['passage', 'node', 'position'] as const)
      expect(await countOf(scene, table, ann.org)).to.equal(0)
    scene.refused.delete(ann.org)
    await embedded(ann)
  })

  it('are not written back by a step that began before', async () => {
    let isErasing = false
    scene.model.before = async (texts) => {
      if (isErasing || !texts.includes('A secret')) return
      isErasing = true
      scene.refused.add(ann.org)
      await eraseOrgVectors(deps(), ann.org)
    }
    scene.embed()
    await create(ann, ['A secret'])
    await until(() => isErasing)
    await create(bob, ['Open'])
    await embedded(bob)
    expect(await countOf(scene, 'passage', ann.org)).to.equal(0)
    expect(await remainsOf(['A secret'])).to.deep.equal([])
  })

  it.deep('of a purged node leave no byte, also of its earlier texts', async () => {
    scene.embed()
    const [id = '', other = ''] = await create(ann, ['A whale', 'A seal', ...titles('Fish', 100)])
    await embedded(ann)
    await ann.patch(`/orgs/${ann.org}/nodes/${id}`, { title: 'An orca' }).then(expecting(200))
    await embedded(ann)
    await ann.delete(`/orgs/${ann.org}/nodes/${id}`).then(expecting(204))
    await embedded(ann)
    expect(await remainsOf(['A whale', 'An orca', 'A seal'])).to.have.length(3)
    await purge()
    expect(await remainsOf(['A whale', 'An orca'])).to.deep.equal([])
    expect(await remainsOf(['A seal'])).to.have.length(1)
    const rows = await rowsOf(scene, ann.org)
    expect(rows).to.have.length(101)
    expect(rows.map(({ node_id }) => node_id)).to.include(other)
    expect(rows.flatMap(({ passages }) => passages).every(([, vector]) => vector !== 'missing')).to.equal(true)
  })

  it('of a purged organisation leave no byte', async () => {
    scene.embed()
    const org = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body.id
    const sea = { ...ann, org }
    await create(sea, titles('Whale', 20))
    await embedded(sea)
    await ann.delete(`/orgs/${org}`).then(expecting(204))
    await purge()
    expect(await remainsOf(titles('Whale', 20))).to.deep.equal([])
  })

  it('are swept once a week if nothing names them', async () => {
    scene.embed()
    const [id = '', gone = ''] = await create(ann, ['A whale', 'A seal'])
    await embedded(ann)
    await ann.patch(`/orgs/${ann.org}/nodes/${id}`, { title: 'An orca' }).then(expecting(200))
    await ann.delete(`/orgs/${ann.org}/nodes/${gone}`).then(expecting(204))
    await embedded(ann)
    const sweep = async () => {
      for (let step = 0; !(await sweepVectors(deps())); step++) expect(step).to.be.lessThan(10)
    }
    await sweep()
    expect(await remainsOf(['A whale', 'A seal', 'An orca'])).to.have.length(3)
    now = new Date(now.getTime() + 2 * weekMs)
    await sweep()
    expect(await remainsOf(['A whale', 'A seal', 'An orca'])).to.deep.equal(['A seal', 'An orca'])
    await rm(join(grove.dataDir, 'trash'), { recursive: true })
    now = new Date(now.getTime() + 2 * weekMs)
    await sweep()
    expect(await remainsOf(['A seal', 'An orca'])).to.deep.equal(['An orca'])
    await embedded(ann)
  })

  it('of an earlier model are swept after the next one has the nodes', async () => {
    const first = scene.embed()
    await create(ann, titles('Whale', 5))
    await embedded(ann)
    await first.stop()
    const next = await openScene(grove, new LetterModel('others'))
    next.embed()
    await until(() => isEmbedded(next, grove, ann.org))
    expect(await countOf(scene, 'passage', ann.org)).to.equal(10)
    now = new Date(now.getTime() + 2 * weekMs)
    for (let step = 0; !(await sweepVectors({ ...deps(), embeddings: next.embeddings })); step++)
      expect(step).to.be.lessThan(10)
    expect(await countOf(scene, 'passage', ann.org)).to.equal(5)
    expect(await rowsOf(next, ann.org)).to.have.length(5)
    await next.close()
  })

  it('disappear for a reader', async () => {
    scene.embed()
    const [id = ''] = await create(ann, titles('Whale', 30))
    await embedded(ann)
    const reader = openVectorRows(join(grove.dataDir, 'vectors.sqlite'))
    const model = reader.modelOf(scene.model.id)
    expect(model).to.include({ name: 'letters', dimensions: 64 })
    const number = model?.number ?? 0
    const before = reader.stateOf(ann.org, number)
    await eraseNodeVectors(deps(), ann.org, [id])
    const after = reader.stateOf(ann.org, number)
    expect(after?.incarnation).not.to.equal(before?.incarnation)
    expect(reader.nodesSince(ann.org, number, 0, 100).map((row) => row.id)).not.to.include(id)
    await eraseOrgVectors(deps(), ann.org)
    scene.refused.add(ann.org)
    reader.close()
    expect(openVectorRows(join(grove.dataDir, 'none.sqlite')).modelOf(scene.model.id)).to.equal(undefined)
  })
})
