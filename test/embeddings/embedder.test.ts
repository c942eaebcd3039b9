/** The embedder: which texts it embeds, when, for whom, and that its rows equal those of a rebuild. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { coveredOf } from '../../server/domain/embeddings/coverage.ts'
import { EmbeddingError } from '../../server/domain/embeddings/model.ts'
import { keyOf, meanOf, textsOf } from '../../server/domain/embeddings/texts.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { hex, isEmbedded, lettersOf, openScene, rowsOf, type Scene } from './embedder-scene.ts'

/** A text of several passages. */
const long = (word: string) =>
  ['One', 'Two', 'Three'].map((heading) => `# ${heading}\n\n${`${word} ${heading} `.repeat(40)}`).join('\n\n')

describe('the embedder', () => {
  let grove: Grove
  let ann: PersonClient
  let scene: Scene

  beforeEach(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    scene = await openScene(grove)
  })
  afterEach(async () => {
    await scene.close()
    await grove.close()
  })

  const at = () => `/orgs/${ann.org}/nodes`
  const create = async (title: string, text_content = ''): Promise<string> =>
    (await ann.post(at(), { title, text_content }).then(expecting(201))).body.id
  const embedded = (org = ann.org) => until(() => isEmbedded(scene, grove, org))

  it('embeds passages, or a short text as a whole, and keeps their mean', async () => {
    scene.embed()
    const id = await create('Whales', long('krill'))
    const short = await create('Seals', 'They eat fish.')
    const empty = await create('Only a title')
    await embedded()
    const rows = new Map((await rowsOf(scene, ann.org)).map((row) => [row.node_id, row]))
    const texts = textsOf('Whales', long('krill'))
    expect(texts).to.have.length(3)
    expect(rows.get(id)?.passages.map(([, vector]) => vector)).to.deep.equal(texts.map((text) => hex(lettersOf(text))))
    const mean = meanOf(texts.map((text) => ({ length: text.length, vector: lettersOf(text) })))
    expect(rows.get(id)?.vector).to.equal(hex(mean ?? []))
    expect(scene.model.texts).to.include.members([...texts, 'Seals\nThey eat fish.', 'Only a title'])
    expect(rows.get(short)?.passages).to.have.length(1)
    expect(rows.get(empty)?.passages).to.have.length(1)
    expect(await coveredOf(grove.deps, scene.embeddings, ann.org)).to.equal(1)
  })

  it('sends no text again for a restore, an undo, a move or equal texts', async () => {
    scene.embed()
    const parent = await create('A parent')
    const id = await create('Whales', long('krill'))
    const path = `${at()}/${id}`
    await embedded()
    const sent = scene.model.texts.length
    await create('Whales', long('krill'))
    await ann.delete(path).then(expecting(204))
    await embedded()
    await ann.post(`/orgs/${ann.org}/trash/${id}/restore`, {}).then(expecting(200))
    await ann.patch(path, { properties: { parent } }).then(expecting(200))
    await embedded()
    expect(scene.model.texts.slice(sent)).to.deep.equal([])
    await ann.patch(path, { text_content: 'Nothing' }).then(expecting(200))
    await embedded()
    await ann.patch(path, { text_content: long('krill') }).then(expecting(200))
    await embedded()
    expect(scene.model.texts.slice(sent)).to.deep.equal(['Whales\nNothing'])
    await ann.patch(path, { title: 'Orcas' }).then(expecting(200))
    await embedded()
    expect(scene.model.texts.slice(sent + 1).sort()).to.deep.equal(textsOf('Orcas', long('krill')).sort())
  })

  it('remembers a text that the model refuses', async () => {
    scene.model.refuses = (text) => text.includes('Two')
    scene.embed()
    const id = await create('Whales', long('krill'))
    await embedded()
    const [row] = await rowsOf(scene, ann.org)
    expect(row?.passages.map(([, vector]) => vector?.length)).to.deep.equal([128, 0, 128])
    const sent = scene.model.texts.length
    await ann.patch(`${at()}/${id}`, { properties: { another: 'commit' } }).then(expecting(200))
    await embedded()
    expect(scene.model.texts).to.have.length(sent)
  })

  it('waits as long as the model says, and continues', async () => {
    let failures = 3
    scene.model.before = async () => {
      if (failures-- > 0) throw new EmbeddingError('Too many requests', 5)
    }
    scene.embed()
    await create('Whales', long('krill'))
    await embedded()
    expect(failures).to.equal(-1)
  })

  it('counts what waits while the model fails, also changed nodes and those that come later', async () => {
    const embedder = scene.embed()
    const id = await create('Whales')
    await embedded()
    await until(() => embedder.pendingTexts() === 0)
    let isFailing = true
    scene.model.before = async () => {
      if (isFailing) throw new EmbeddingError('The budget is used up', 600_000)
    }
    await ann.patch(`${at()}/${id}`, { text_content: 'Krill' }).then(expecting(200))
    await until(() => embedder.pendingTexts() === 4)
    const bob = await signUp(grove, 'Bob')
    await bob.post(`/orgs/${bob.org}/nodes`, { title: 'Seals' }).then(expecting(201))
    await until(() => embedder.pendingTexts() === 8)
    scene.refused.add(bob.org)
    await until(() => embedder.pendingTexts() === 4)
    isFailing = false
    await embedder.stop()
    const next = scene.embed()
    await embedded()
    await until(() => next.pendingTexts() === 0)
  })

  it.deep('embeds nothing of an organisation that does not allow it, until it does', async () => {
    const bob = await signUp(grove, 'Bob')
    scene.refused.add(ann.org)
    await create('Secret')
    await bob.post(`/orgs/${bob.org}/nodes`, { title: 'Open' }).then(expecting(201))
    scene.embed()
    await grove.settled()
    expect(scene.model.texts).to.deep.equal(['Open'])
    expect(await rowsOf(scene, ann.org)).to.deep.equal([])
    scene.refused.delete(ann.org)
    await embedded()
  })

  it.deep('takes organisations in turn', async () => {
    const bob = await signUp(grove, 'Bob')
    const many = Array.from({ length: 300 }, (_, n) => ({ title: `Node ${n}` }))
    await ann.post(`${at()}/batch`, { nodes: many }).then(expecting(201))
    // While the model has the first texts.
    scene.model.before = async () => {
      if (scene.model.texts.length > 0) return
      await bob.post(`/orgs/${bob.org}/nodes`, { title: 'Small' }).then(expecting(201))
    }
    scene.embed()
    await embedded()
    await embedded(bob.org)
    expect(scene.model.texts.indexOf('Small')).to.be.within(1, 199)
    expect(Math.max(...scene.model.calls)).to.be.at.most(32)
  })

  it('stops at once, though the model does not answer', async () => {
    let asked = false
    scene.model.before = () => {
      asked = true
      return new Promise(() => {})
    }
    const embedder = scene.embed()
    await create('Whales')
    await until(() => asked)
    await embedder.stop()
    expect(embedder.pendingTexts()).to.equal(0)
  })

  it('begins again without its file, and counts what is pending', async () => {
    const embedder = scene.embed()
    await create('Whales', long('krill'))
    await embedded()
    expect(await embedder.storeBytes()).to.be.greaterThan(0)
    const before = await rowsOf(scene, ann.org)
    for (const end of ['', '-wal', '-shm']) await rm(join(grove.dataDir, `vectors.sqlite${end}`), { force: true })
    // More than six if the embedder opens its new file before the last one of the three is removed.
    await until(() => scene.model.texts.length >= 6)
    await embedded()
    expect(await rowsOf(scene, ann.org)).to.deep.equal(before)
  })

  it('has the rows of a rebuild after any edits, faults, restarts and beside another embedder', async () => {
    const words = fc.constantFrom('krill', 'plankton', 'ice')
    const edit = fc.record({
      kind: fc.constantFrom('create', 'text', 'title', 'delete', 'restore', 'restart', 'second', 'fault', 'lose'),
      word: words,
      which: fc.nat(20),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 5, maxLength: 12 }), async (edits) => {
        let live: string[] = []
        let trashed: string[] = []
        let embedder = scene.embed()
        const pick = (ids: readonly string[], which: number) => ids[which % Math.max(1, ids.length)]
        for (const { kind, word, which } of edits) {
          const id = pick(live, which)
          const gone = pick(trashed, which)
          if (kind === 'create') live.push(await create(word, long(word)))
          else if (kind === 'text' && id) await ann.patch(`${at()}/${id}`, { text_content: long(`${word} ${which}`) })
          else if (kind === 'title' && id) await ann.patch(`${at()}/${id}`, { title: `${word} ${which}` })
          else if (kind === 'delete' && id) {
            await ann.delete(`${at()}/${id}`).then(expecting(204))
            live = live.filter((one) => one !== id)
            trashed.push(id)
          } else if (kind === 'restore' && gone) {
            await ann.post(`/orgs/${ann.org}/trash/${gone}/restore`, {}).then(expecting(200))
            trashed = trashed.filter((one) => one !== gone)
            live.push(gone)
          } else if (kind === 'restart') {
            await embedder.stop()
            embedder = scene.embed()
          } else if (kind === 'second') scene.embed()
          else if (kind === 'fault') {
            let faults = 2
            scene.model.before = async () => {
              if (faults-- > 0) throw new Error('The model failed')
            }
          } else if (kind === 'lose') await scene.vectors.write((trx) => trx.deleteFrom('position').execute())
        }
        await embedded()
        expect(await rowsOf(scene, ann.org)).to.deep.equal(await rebuild())
      }),
      { numRuns: runs(8) },
    )
  })

  /** Computes the rows from the index alone. */
  async function rebuild() {
    const nodes = await grove.deps.index.read
      .selectFrom('node')
      .innerJoin('node_text', 'node_text.node_id', 'node.id')
      .select(['node.id', 'node.title', 'node.head', 'node_text.text'])
      .where('node.org_id', '=', ann.org)
      .orderBy('node.id')
      .execute()
    return nodes.map(({ id, title, head, text }) => {
      const texts = textsOf(title, text)
      return {
        node_id: id,
        head,
        characters: texts.reduce((sum, one) => sum + one.length, 0),
        vector: hex(meanOf(texts.map((one) => ({ length: one.length, vector: lettersOf(one) }))) ?? []),
        passages: texts.map((one) => [hex(keyOf(scene.model.id, one)), hex(lettersOf(one))]),
      }
    })
  }
})
