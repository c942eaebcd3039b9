/** The export and the feed of the nodes that match a filter. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { filesIn } from '../export/folders.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const run = promisify(execFile)

describe('a filter of nodes', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { now: () => new Date(Date.now() + aheadMs) })
  let at: string
  let folder: string
  const ids = new Map<string, string>()
  let aheadMs = 0

  before(async () => {
    at = `/orgs/${ann.org}`
    folder = await mkdtemp(join(tmpdir(), 'grove-doors-'))
    await ann.patch(at, { published: true }).then(expecting(200))
    for (const [title, properties, parent] of [
      ['Soups', { type: 'collection' }],
      ['Borscht', { type: 'recipe', serves: 4 }, 'Soups'],
      ['Miso', { type: 'recipe', serves: 2 }, 'Soups'],
      ['Ann', { type: 'person' }],
    ] as const) {
      const parents = parent === undefined ? [] : [ids.get(parent)]
      const { body } = await ann.post(`${at}/nodes`, { title, properties, parents }).then(expecting(201))
      ids.set(title, body.id)
    }
    for (const [from, to, type] of [
      ['Borscht', 'Ann', 'written_by'],
      ['Borscht', 'Miso', 'goes_with'],
    ] as const)
      await ann
        .post(`${at}/nodes/${ids.get(from)}/connections`, { target: ids.get(to), type })
        .then(({ status }) => expect(status).to.be.below(300))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const exported = async (where: string, more = ''): Promise<Map<string, Buffer>> => {
    const headers = { authorization: `Bearer ${ann.session.accessToken}` }
    const answer = await fetch(`${grove.url}${at}/export?where=${encodeURIComponent(where)}${more}`, { headers })
    expect(answer.status).to.equal(200)
    const dir = await mkdtemp(join(folder, 'x-'))
    await writeFile(join(folder, 'x.tar'), Buffer.from(await answer.arrayBuffer()))
    await run('tar', ['-xf', join(folder, 'x.tar'), '-C', dir])
    return filesIn(dir)
  }

  it('exports only what matches, at its path in the whole export, without edges to the rest', async () => {
    const files = await exported('type:recipe serves>=3')
    expect([...files.keys()]).to.deep.equal(['Soups/Borscht.md'])
    const note = files.get('Soups/Borscht.md')?.toString() ?? ''
    for (const [title, id] of ids) expect(note.includes(id), title).to.equal(title === 'Borscht')
    const both = (await exported('type:recipe')).get('Soups/Borscht.md')?.toString() ?? ''
    expect(both).to.include(ids.get('Miso')).and.not.include(ids.get('Ann'))
  })

  it('exports what matches below a node, and an empty archive for nothing', async () => {
    expect([...(await exported('type:*', `&under=${ids.get('Miso')}`)).keys()]).to.deep.equal(['Soups/Miso.md'])
    expect([...(await exported('type:none')).keys()]).to.deep.equal([])
  })

  it('is in the audit log with an export', async () => {
    await exported('serves:2')
    const { entries } = (await ann.get(`${at}/audit?action=org.exported`).then(expecting(200))).body
    expect(entries[0].detail).to.deep.equal({ where: 'serves:2' })
  })

  it('is refused with its place before an export begins', async () => {
    const { status, body } = await ann.get(`${at}/export?where=serves`)
    expect(status).to.equal(422)
    expect(body.detail[0]).to.deep.include({ loc: ['query', 'where'], type: 'filter_syntax', ctx: { at: 0 } })
  })

  it('makes a feed of the changes of what matches, with an id of its own', async () => {
    const feed = async (where?: string) => {
      const query = where === undefined ? '' : `?where=${encodeURIComponent(where)}`
      const { status, body: text, headers } = await client(grove).get(`${pageAt(ann.org)}/changes.atom${query}`)
      expect(status).to.equal(200)
      expect(headers['content-type']).to.include('application/atom+xml')
      const entries = [...text.matchAll(/<entry>.*?<title>(.*?)<\/title>/g)].map(([, title]) => title)
      return { entries, id: /<id>(.*?)<\/id>/.exec(text)?.[1], text }
    }
    const recipes = await feed('type:recipe')
    expect(recipes.entries).to.have.members(['Borscht', 'Miso'])
    // Commits have whole seconds.
    aheadMs = 2_000
    await ann.patch(`${at}/nodes/${ids.get('Miso')}`, { title: 'Miso & more' }).then(expecting(200))
    expect((await feed('type:recipe')).entries).to.deep.equal(['Miso &#38; more', 'Borscht'])
    expect(recipes.id).not.to.equal((await feed()).id)
    expect(recipes.id).to.equal((await feed('type:recipe')).id)
    expect((await feed('title~"<&>"')).text).to.include(': title~&#34;&#60;&#38;&#62;&#34;</title>')
  })
})
