/** Branches read, listed and deleted, and tags, loose and packed. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { aNode, ann, grove, leavesCleanRepositories, namesOf, useScene } from './scene.ts'

describe('branches', () => {
  useScene()

  describe('with a slash in the name', () => {
    it('are read and written with %2F and with the slash as it is', async () => {
      const { at, git, branch, commit } = await aNode()
      await branch('feature/x')
      const head = await commit('feature/x', { 'docs/a b.txt': 'a' })
      const asIs = async (path: string) => {
        const [encoded, raw] = [`${at}/${path.replace('%', 'feature%2Fx')}`, `${at}/${path.replace('%', 'feature/x')}`]
        const answer = await ann.get(raw)
        expect(answer.status, raw).to.equal(200)
        expect(answer.body, raw).to.deep.equal((await ann.get(encoded)).body)
        return answer.body
      }
      expect((await asIs('branches/%')).head).to.equal(head)
      expect((await asIs('tree/%')).commit_id).to.equal(head)
      expect((await asIs('tree/%/commits')).history[0].id).to.equal(head)
      expect((await asIs(`tree/%/commits/${head}`)).id).to.equal(head)
      expect((await asIs('tree/%/files/docs%2Fa%20b.txt')).content).to.equal('a')
      expect((await asIs('tree/%/files/docs/a%20b.txt')).commit_id).to.equal(head)
      const change = { message: 'Raw', changes: [{ action: 'put', path: 'raw', content: 'raw' }] }
      const { body, headers } = await ann.post(`${at}/tree/feature/x/commits`, change).then(expecting(201))
      expect(headers.location).to.equal(`${at}/tree/feature%2Fx/commits/${body.id}`)
      expect(git.head('feature/x')).to.equal(body.id)
      await ann.delete(`${at}/branches/feature/x`).then(expecting(204))
    })

    it('may be called like a part of a path: the last /commits wins', async () => {
      const { at, branch, commit } = await aNode()
      for (const name of ['x/commits', 'y/commits/commits', 'z/files/y']) {
        await branch(name)
        const head = await commit(name, { 'a.txt': name })
        for (const shown of [name, encodeURIComponent(name)]) {
          expect((await ann.get(`${at}/tree/${shown}/commits`)).body.history?.[0].id, shown).to.equal(head)
          expect((await ann.get(`${at}/tree/${shown}/commits/${head}`)).body.id, shown).to.equal(head)
          expect((await ann.get(`${at}/branches/${shown}`)).body.head, shown).to.equal(head)
        }
        const encoded = `${at}/tree/${encodeURIComponent(name)}`
        expect((await ann.get(encoded)).body.commit_id).to.equal(head)
        expect((await ann.get(`${encoded}/files/a.txt`)).body.content).to.equal(name)
      }
      expect((await ann.get(`${at}/tree/x/commits`)).body.code, 'the history of x').to.equal('branch_not_found')
    })
  })

  describe('listing', () => {
    it('is by name, page by page, with what each head says', async () => {
      const node = await aNode()
      const { at, branch, commit } = node
      for (const name of ['b', 'a/b', 'B', 'ä']) await branch(name)
      const head = await commit('b', { 'b.txt': 'b' }, 'Second\n\nBody')
      const names = ['B', 'a/b', 'b', 'main', 'ä']
      expect(await namesOf(node)).to.deep.equal(names)
      const page = await ann.get(`${at}/branches?limit=2&offset=1`)
      expect(page.body).to.deep.include({ total: 5, limit: 2, offset: 1 })
      expect(page.body.branches.map((one: { name: string }) => one.name)).to.deep.equal(['a/b', 'b'])
      expect(page.body.branches[1]).to.deep.include({ head, message: 'Second\n\nBody' })
      expect(page.headers.link).to.equal(`<${at}/branches?limit=2&offset=3>; rel="next"`)
      const last = await ann.get(`${at}/branches?limit=2&offset=3`)
      expect([last.body.branches.length, last.headers.link]).to.deep.equal([2, undefined])
      expect((await ann.get(`${at}/branches?offset=5`)).body).to.deep.equal({
        branches: [],
        total: 5,
        limit: 50,
        offset: 5,
      })
      for (const query of ['limit=0', 'limit=201', 'offset=-1', 'limit=x', 'name=a'])
        expect((await ann.get(`${at}/branches?${query}`)).status, query).to.equal(422)
    })

    it('is empty for a node without a commit', async () => {
      const { at } = await aNode({ initialize: false })
      expect((await ann.get(`${at}/branches`)).body).to.deep.equal({ branches: [], total: 0, limit: 50, offset: 0 })
      expect((await ann.get(`${at}/branches/main`)).body.code).to.equal('branch_not_found')
    })

    it('shows what git made on the server, and no lock', async () => {
      const node = await aNode()
      node.git.point('by/hand', node.git.head())
      await writeFile(join(node.git.dir, 'refs/heads/stray.lock'), '')
      expect(await namesOf(node)).to.deep.equal(['by/hand', 'main'])
    })

    it('shows only main to callers who are not members', async () => {
      const node = await newNode(grove, ann)
      await node.branch('secret')
      node.git.say('tag', 'v1', 'main')
      await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
      try {
        const anyone = client(grove)
        const { branches, total } = (await anyone.get(`${node.at}/branches`)).body
        expect([total, branches.map((one: { name: string }) => one.name)]).to.deep.equal([1, ['main']])
        expect((await anyone.get(`${node.at}/branches/secret`)).status).to.equal(404)
        expect((await anyone.get(`${node.at}/tree/secret/commits`)).status).to.equal(404)
        expect((await anyone.get(`${node.at}/tags`)).body.total).to.equal(1)
      } finally {
        await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
      }
    })
  })

  describe('deleting', () => {
    it('removes the branch everywhere', async () => {
      const { at, git, branch } = await aNode()
      await branch('a')
      expect(await ann.delete(`${at}/branches/a`)).to.deep.equal({ status: 204, body: undefined })
      const gone = { status: 404, body: { code: 'branch_not_found', detail: 'Branch not found' } }
      for (const path of ['branches/a', 'tree/a', 'tree/a/commits', 'tree/a/files/node.json'])
        expect(await ann.get(`${at}/${path}`), path).to.deep.equal(gone)
      expect(await ann.delete(`${at}/branches/a`)).to.deep.equal(gone)
      const changes = [{ action: 'put', path: 'a', content: 'a' }]
      expect(await ann.post(`${at}/tree/a/commits`, { message: 'No', changes })).to.deep.equal(gone)
      expect(git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal(['refs/heads/main'])
    })

    it('never removes main', async () => {
      const { at, git } = await aNode()
      const head = git.head()
      expect(await ann.delete(`${at}/branches/main`)).to.deep.equal({
        status: 409,
        body: { code: 'branch_protected', detail: '`main` cannot be deleted' },
      })
      expect(git.head()).to.equal(head)
      const empty = await aNode({ initialize: false })
      expect((await ann.delete(`${empty.at}/branches/main`)).status).to.equal(404)
    })

    it('does not reach beyond the branches', async () => {
      const { at, git } = await aNode()
      const refs = git.say('for-each-ref')
      for (const name of ['..%2Fgrove%2Fledger', '../grove/ledger', 'refs%2Fgrove%2Fledger', '..%2F..%2FHEAD'])
        expect((await ann.delete(`${at}/branches/${name}`)).status, name).to.equal(404)
      expect(git.say('for-each-ref')).to.equal(refs)
    })
  })

  describe('packed by git pack-refs', () => {
    it('are read, moved and deleted as before', async () => {
      const node = await aNode()
      const { at, git, branch, commit, proposal, open, pull } = node
      for (const name of ['a', 'b', 'deep/c']) await branch(name)
      await proposal('draft')
      await open('draft')
      git.say('tag', '-a', '-m', 'Annotated', 'v1', 'main')
      const refs = git.say('for-each-ref')
      const pack = () => git.say('pack-refs', '--all', '--prune')
      const packed = async () => readFile(join(git.dir, 'packed-refs'), 'utf8')
      pack()
      expect(git.say('for-each-ref')).to.equal(refs)
      expect(await namesOf(node)).to.deep.equal(['a', 'b', 'deep/c', 'draft', 'main'])
      expect(await pull(1)).to.include({ status: 'open', merge_reason: 'mergeable' })

      const head = await commit('a', { 'a.txt': 'a' })
      expect([git.head('a'), (await ann.get(`${at}/branches/a`)).body.head]).to.deep.equal([head, head])
      for (const name of ['b', 'deep/c', 'draft']) {
        await ann.delete(`${at}/branches/${name}`).then(expecting(204))
        expect(await packed()).not.to.include(`refs/heads/${name}\n`)
        expect((await ann.get(`${at}/branches/${name}`)).status, name).to.equal(404)
      }
      expect(await pull(1)).to.include({ status: 'closed' })
      pack()
      await ann.delete(`${at}/branches/a`).then(expecting(204))
      expect(git.lines('for-each-ref', '--format=%(refname)')).to.deep.equal([
        'refs/grove/ledger',
        'refs/grove/pulls/1',
        'refs/heads/main',
        'refs/tags/v1',
      ])
      expect(git.say('rev-parse', 'v1^{commit}'), 'peeled as before').to.equal(git.head())
      expect((await ann.get(`${at}/tags`)).body.tags[0].commit_id).to.equal(git.head())
    })
  })

  describe('tags of git', () => {
    it('are listed by name with what they name and the commit to which they lead', async () => {
      const { at, git, commit } = await aNode()
      const first = git.head()
      await commit('main', { 'a.txt': 'a' })
      const blob = git.say('rev-parse', 'main:a.txt')
      git.say('tag', 'light', first)
      git.say('tag', '-a', '-m', 'Annotated', 'annotated', 'main')
      git.say('tag', '-a', '-m', 'Of a tag', 'nested/twice', 'annotated')
      git.say('tag', 'blob', blob)
      const oid = (name: string) => git.say('rev-parse', `refs/tags/${name}`)
      const tags = [
        { name: 'annotated', object_id: oid('annotated'), commit_id: git.head() },
        { name: 'blob', object_id: blob },
        { name: 'light', object_id: first, commit_id: first },
        { name: 'nested/twice', object_id: oid('nested/twice'), commit_id: git.head() },
      ]
      expect((await ann.get(`${at}/tags`)).body).to.deep.equal({ tags, total: 4, limit: 50, offset: 0 })
      const page = await ann.get(`${at}/tags?limit=2&offset=1`)
      expect(page.body).to.deep.equal({ tags: tags.slice(1, 3), total: 4, limit: 2, offset: 1 })
      expect(page.headers.link).to.equal(`<${at}/tags?limit=2&offset=3>; rel="next"`)
      git.say('pack-refs', '--all', '--prune')
      expect((await ann.get(`${at}/tags`)).body.tags).to.deep.equal(tags)
    })

    it('do not pass for branches', async () => {
      const { at, git, commit } = await aNode()
      const first = git.head()
      git.say('tag', 'v1', first)
      expect((await ann.get(`${at}/branches/v1`)).status).to.equal(404)
      expect((await ann.delete(`${at}/branches/v1`)).status).to.equal(404)
      git.say('tag', 'main', first)
      const head = await commit('main', { 'a.txt': 'a' })
      expect((await ann.get(`${at}/tree/main/commits`)).body.history[0].id).to.equal(head)
      expect((await ann.get(`${at}/compare?base=v1&head=main`)).body.head_commit).to.equal(head)
    })
  })

  describe('all of this', leavesCleanRepositories)
})
