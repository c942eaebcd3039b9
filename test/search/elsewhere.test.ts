/** Searches of a branch, and of an earlier time. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { created, times } from '../support/many.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const start = Date.parse('2026-05-01T12:00:00.000Z')

interface Found {
  id: string
  node_id: string
  title: string
  text_content: string
  tags: string[]
  commit_id: string
}

describe('a search of another state than that of main', () => {
  let now = start
  const { grove, ann } = useWorld({ ann: 'owner' }, { now: () => new Date(now) })

  const wait = (seconds: number) => {
    now += 1_000 * seconds
    return new Date(now).toISOString()
  }

  const write = async (who: PersonClient, title: string, more: object = {}): Promise<string> =>
    created(await who.post(`/orgs/${who.org}/nodes`, { title, ...more })).id

  const treeOf = (who: PersonClient, id: string, branch: string) =>
    `/orgs/${who.org}/nodes/${id}/tree/${encodeURIComponent(branch)}`

  const makeBranch = async (who: PersonClient, id: string, name: string) =>
    created(await who.post(`/orgs/${who.org}/nodes/${id}/branches`, { name }))

  /** The new commit. */
  async function commit(who: PersonClient, id: string, branch: string, files: Record<string, string>): Promise<string> {
    const changes = Object.entries(files).map(([path, content]) => ({ action: 'put', path, content }))
    return created(await who.post(`${treeOf(who, id, branch)}/commits`, { message: 'Another', changes })).id
  }

  const ask = (who: PersonClient, query: string, scope: object, more: object = {}) =>
    who.post(`/orgs/${who.org}/search/retrieve`, { query, scope, ...more })

  async function found(who: PersonClient, query: string, scope: object, more: object = {}) {
    return (await ask(who, query, scope, more).then(expecting(200))).body
  }

  const titles = async (who: PersonClient, query: string, scope: object): Promise<string[]> =>
    (await found(who, query, scope, { top_k: 50 })).matches.map(({ title }: Found) => title)

  const problemOf = async (who: PersonClient, scope: object) => {
    const { status, body } = await ask(who, 'zebra', scope)
    expect(status, JSON.stringify([scope, body])).to.equal(422)
    return [status, body.detail[0]?.loc.join('.'), body.detail[0]?.type]
  }

  describe('a branch', () => {
    it('finds what is only there, not what it has removed, and shows title, text, tags and commit as they are there', async () => {
      const bob = await signUp(grove, 'Bob')
      const id = await write(bob, 'Horses', { text_content: 'A zebra and an okapi.', tags: ['old'] })
      await write(bob, 'Another zebra')
      await makeBranch(bob, id, 'feature/x')
      const head = await commit(bob, id, 'feature/x', {
        'node.json': JSON.stringify({ title: 'Quaggas', tags: ['new'] }),
        'content.md': 'A quagga and an okapi.',
      })
      const there = { branch: 'feature/x' }
      expect(await titles(bob, 'quagga', {})).to.deep.equal([])
      expect(await titles(bob, 'horses', there)).to.deep.equal([])
      expect(await titles(bob, 'zebra', there)).to.deep.equal(['Another zebra'])
      expect((await titles(bob, 'zebra', {})).sort()).to.deep.equal(['Another zebra', 'Horses'])
      const { matches, nodes } = await found(bob, 'quagga', there, { include_raw_text: true })
      expect(matches).to.have.length(1)
      expect(matches[0]).to.include({
        node_id: id,
        title: 'Quaggas',
        snippet: 'A quagga and an okapi',
        commit_id: head,
      })
      expect(nodes[0]).to.deep.include({
        title: 'Quaggas',
        tags: ['new'],
        commit_id: head,
        text_content: 'A quagga and an okapi.',
      })
      expect(await titles(bob, 'okapi', { ...there, tags: ['new'] })).to.deep.equal(['Quaggas'])
      expect(await titles(bob, 'okapi', { ...there, tags: ['old'] })).to.deep.equal([])
      expect(await titles(bob, 'okapi', { tags: ['old'] })).to.deep.equal(['Horses'])
    })

    it('that is merged or deleted, or that no node ever had, is none; main is main', async () => {
      const cid = await signUp(grove, 'Cid')
      const id = await write(cid, 'Horses')
      await makeBranch(cid, id, 'draft')
      expect(await titles(cid, 'horses', { branch: 'draft' })).to.deep.equal(['Horses'])
      await commit(cid, id, 'draft', { 'content.md': 'An okapi.' })
      expect(await titles(cid, 'okapi', { branch: 'draft' })).to.deep.equal(['Horses'])
      expect(await titles(cid, 'okapi', { branch: 'main' })).to.deep.equal([])
      await cid.delete(`/orgs/${cid.org}/nodes/${id}/branches/draft`).then(expecting(204))
      const missing = [422, 'body.scope.branch', 'value_error']
      expect(await problemOf(cid, { branch: 'draft' })).to.deep.equal(missing)
      expect(await problemOf(cid, { branch: 'never' })).to.deep.equal(missing)
      expect(await problemOf(cid, { branch: 'a..b' })).to.deep.equal(missing)
      expect(await problemOf(cid, { branch: '' })).to.deep.equal([422, 'body.scope.branch', 'string_too_short'])
    })

    it('that was moved by git itself is read as git has it', async () => {
      const dan = await signUp(grove, 'Dan')
      const id = await write(dan, 'Horses')
      await makeBranch(dan, id, 'draft')
      await commit(dan, id, 'draft', { 'content.md': 'An okapi.' })
      const dir = join(grove.dataDir, dan.org, `${id}.git`)
      await promisify(execFile)('git', ['-C', dir, 'update-ref', 'refs/heads/draft', 'refs/heads/draft~1'])
      expect(await titles(dan, 'okapi', { branch: 'draft' })).to.deep.equal([])
    })

    it('lets an expansion go on along the edges, in both directions', async () => {
      const eve = await signUp(grove, 'Eve')
      const parent = await write(eve, 'Mammals')
      const id = await write(eve, 'Horses', { parents: [parent] })
      const below = await write(eve, 'Foals', { parents: [id] })
      await makeBranch(eve, id, 'draft')
      await commit(eve, id, 'draft', { 'content.md': 'A quagga.' })
      const { nodes, connections } = await found(eve, 'quagga', { branch: 'draft' }, { expansion_depth: 'standard' })
      expect(nodes.map((node: Found) => node.id).sort()).to.deep.equal([parent, id, below].sort())
      expect(connections).to.have.length(2)
      const around = await found(
        eve,
        'foals',
        { branch: 'draft' },
        { expansion_depth: 'standard', include_raw_text: true },
      )
      expect(around.nodes.find((node: Found) => node.id === id).text_content).to.equal('A quagga.')
    })

    it.deep('reads 200 nodes that differ, whatever others there are, and refuses more', async () => {
      const fay = await signUp(grove, 'Fay')
      const ids: string[] = []
      for (let n = 0; n < 300; n += 10) ids.push(...(await times(10, (i) => write(fay, `Zebra ${n + i}`))))
      for (const id of ids.slice(0, 2)) {
        await makeBranch(fay, id, 'draft')
        await commit(fay, id, 'draft', { 'content.md': 'A quagga.' })
      }
      expect((await titles(fay, 'quagga', { branch: 'draft' })).sort()).to.deep.equal(['Zebra 0', 'Zebra 1'])
      const all = await found(fay, 'zebra', { branch: 'draft' }, { top_k: 50 })
      expect(all.matches).to.have.length(50)
      for (let n = 0; n < 210; n += 10) await times(10, (i) => makeBranch(fay, ids[n + i] ?? '', 'wide'))
      const differ = (n: number) => commit(fay, ids[n] ?? '', 'wide', { 'content.md': 'An okapi.' })
      for (let n = 0; n < 200; n += 10) await times(10, (i) => differ(n + i))
      expect(await titles(fay, 'okapi', { branch: 'wide' })).to.have.length(50)
      await differ(200)
      const { status, body } = await ask(fay, 'okapi', { branch: 'wide' })
      expect([status, body.detail[0].type, body.detail[0].ctx.nodes]).to.deep.equal([422, 'scope_too_large', 200])
      expect(await titles(fay, 'okapi', {})).to.deep.equal([])
    })

    it.deep('refuses over 16 MiB of texts', async () => {
      const gus = await signUp(grove, 'Gus')
      for (const title of ['a', 'b']) {
        const id = await write(gus, title)
        await makeBranch(gus, id, 'long')
        await commit(gus, id, 'long', { 'content.md': 'zebra '.repeat(1_500_000) })
      }
      expect(await problemOf(gus, { branch: 'long' })).to.deep.equal([422, 'body.scope.branch', 'scope_too_large'])
    })
  })

  describe('a time', () => {
    it('finds each node as main was then: titles, texts, tags, commits; those that are newer are not there', async () => {
      const bea = await signUp(grove, 'Bea')
      const id = await write(bea, 'Horses', { text_content: 'A zebra.', tags: ['old'] })
      const first = (await bea.get(`/orgs/${bea.org}/nodes/${id}/branches/main`)).body.head
      const early = wait(5)
      wait(5)
      const second = await commit(bea, id, 'main', {
        'node.json': JSON.stringify({ title: 'Quaggas', tags: ['new'] }),
        'content.md': 'A quagga.',
      })
      await write(bea, 'A newer zebra')
      const later = wait(5)
      wait(5)
      await commit(bea, id, 'main', { 'content.md': 'An okapi.' })

      expect(await titles(bea, 'zebra', {})).to.deep.equal(['A newer zebra'])
      expect(await titles(bea, 'zebra', { at: early })).to.deep.equal(['Horses'])
      expect(await titles(bea, 'quagga', { at: early })).to.deep.equal([])
      expect(await titles(bea, 'quagga', { at: later })).to.deep.equal(['Quaggas'])
      expect(await titles(bea, 'okapi', { at: later })).to.deep.equal([])
      expect(await titles(bea, 'okapi', { at: wait(5) })).to.deep.equal(['Quaggas'])
      expect(await titles(bea, 'zebra', { at: early, tags: ['new'] })).to.deep.equal([])
      expect(await titles(bea, 'zebra', { at: '2026-01-01T00:00:00Z' })).to.deep.equal([])
      const { nodes } = await found(bea, 'zebra', { at: early }, { include_raw_text: true })
      expect(nodes).to.have.length(1)
      expect(nodes[0]).to.deep.include({ title: 'Horses', tags: ['old'], text_content: 'A zebra.', commit_id: first })
      expect((await found(bea, 'quagga', { at: later })).matches[0].commit_id).to.equal(second)
      const offset = new Date(Date.parse(early) + 3_600_000).toISOString().replace('Z', '+01:00')
      expect(await titles(bea, 'zebra', { at: offset })).to.deep.equal(['Horses'])
    })

    it('follows the first parents: what a merge brought was not on main before', async () => {
      const dee = await signUp(grove, 'Dee')
      const id = await write(dee, 'Horses', { text_content: 'A zebra.' })
      await makeBranch(dee, id, 'side')
      await commit(dee, id, 'side', { 'content.md': 'A quagga.' })
      wait(10)
      await commit(dee, id, 'main', { 'a.txt': 'a' })
      const early = wait(10)
      wait(10)
      const dir = join(grove.dataDir, dee.org, `${id}.git`)
      const git = async (...args: string[]) => {
        const who = { GIT_AUTHOR_NAME: 'Dee', GIT_AUTHOR_EMAIL: 'dee@example.org' }
        const by = { GIT_COMMITTER_NAME: 'Dee', GIT_COMMITTER_EMAIL: 'dee@example.org' }
        const date = new Date(now).toISOString()
        const env = { ...process.env, ...who, ...by, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }
        return (await promisify(execFile)('git', ['-C', dir, ...args], { env })).stdout.trim()
      }
      const merged = await git('commit-tree', '-p', 'main', '-p', 'side', '-m', 'Merge', 'side^{tree}')
      await git('update-ref', 'refs/heads/main', merged)
      await dee.get(`/orgs/${dee.org}/nodes/${id}`).then(expecting(200))
      expect(await titles(dee, 'quagga', {})).to.deep.equal(['Horses'])
      expect(await titles(dee, 'quagga', { at: early })).to.deep.equal([])
      expect(await titles(dee, 'zebra', { at: early })).to.deep.equal(['Horses'])
    })

    it('of a node that had no commit yet has its title alone', async () => {
      const fin = await signUp(grove, 'Fin')
      const id = await write(fin, 'Horses', { initialize: false })
      const early = wait(10)
      wait(10)
      const changes = [{ action: 'put', path: 'content.md', content: 'A zebra.' }]
      created(await fin.post(`${treeOf(fin, id, 'main')}/commits`, { message: 'First', changes, expected_head: null }))
      expect(await titles(fin, 'zebra', { at: early })).to.deep.equal([])
      const { matches } = await found(fin, 'horses', { at: early })
      expect(matches).to.have.length(1)
      expect(matches[0]).not.to.have.property('commit_id')
    })

    it('that is none, or comes with a branch, is refused', async () => {
      const of = (type: string) => [422, 'body.scope.at', type]
      expect(await problemOf(ann, { at: 'yesterday' })).to.deep.equal(of('datetime_parsing'))
      expect(await problemOf(ann, { at: '2026-01-01T00:00:60Z' })).to.deep.equal(of('datetime_parsing'))
      expect(await problemOf(ann, { at: '2026-01-01T00:00:00Z', branch: 'draft' })).to.deep.equal(of('value_error'))
    })
  })

  it.deep('is for members: of a published organisation the public searches main', async () => {
    const hal = await signUp(grove, 'Hal')
    const id = await write(hal, 'Horses')
    await makeBranch(hal, id, 'draft')
    await commit(hal, id, 'draft', { 'content.md': 'A secret zebra.' })
    await hal.patch(`/orgs/${hal.org}`, { published: true }).then(expecting(200))
    const path = `/orgs/${hal.org}/search/retrieve`
    const of = async (scope: object) => {
      const all = await Promise.all([client(grove), ann, hal].map((who) => who.post(path, { query: 'zebra', scope })))
      return all.map(({ status, body }) => [status, body.code ?? body.matches.length])
    }
    const refused = [
      [401, 'unauthenticated'],
      [403, 'forbidden'],
    ]
    expect(await of({ branch: 'draft' })).to.deep.equal([...refused, [200, 1]])
    expect(await of({ at: new Date(now).toISOString() })).to.deep.equal([...refused, [200, 0]])
    expect(await of({ branch: 'main' })).to.deep.equal([
      [200, 0],
      [200, 0],
      [200, 0],
    ])
  })
})
