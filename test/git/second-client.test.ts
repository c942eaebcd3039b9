import fs from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import git from 'isomorphic-git'
import http from 'isomorphic-git/http/node'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: another client, isomorphic-git over its own HTTP', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let desk: Desk
  let dir: string
  const author = { name: 'Ann', email: 'ann@example.org' }

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    desk = await newDesk()
    dir = join(desk.dir, 'clone')
  })
  after(() => desk.remove())

  const onAuth = () => ({ username: 'git', password: ann.session.accessToken })
  const at = () => ({ fs, http, dir, onAuth })

  it('clones', async () => {
    await git.clone({ ...at(), url: remoteUrl(grove, node.org, node.id), singleBranch: false })
    expect(fs.readFileSync(join(dir, 'content.md'), 'utf8')).to.equal('Whales.\n')
    expect(await git.resolveRef({ fs, dir, ref: 'main' })).to.equal(node.git.head())
  })

  it('pushes a commit, and fetches what came of REST', async () => {
    fs.writeFileSync(join(dir, 'content.md'), 'Dolphins.\n')
    await git.add({ fs, dir, filepath: 'content.md' })
    const oid = await git.commit({ fs, dir, message: 'Dolphins', author })
    const { ok, refs } = await git.push({ ...at(), ref: 'main' })
    expect({ ok, refs }).to.deep.equal({ ok: true, refs: { 'refs/heads/main': { ok: true, error: '' } } })
    expect(node.git.head()).to.equal(oid)
    const next = await node.commit('main', { 'krill.txt': 'Krill\n' })
    expect((await git.fetch({ ...at(), ref: 'main' })).fetchHead).to.equal(next)
  })

  it('learns why a push is refused', async () => {
    await git.pull({ ...at(), ref: 'main', author })
    fs.writeFileSync(join(dir, 'node.json'), '{')
    await git.add({ fs, dir, filepath: 'node.json' })
    await git.commit({ fs, dir, message: 'Broken', author })
    const refused = await git.push({ ...at(), ref: 'main' }).catch((error: unknown) => error)
    expect(String(refused)).to.include('node.json: This file is not valid JSON')
  })

  it('clones shallow, as a single branch', async () => {
    const shallow = join(desk.dir, 'shallow')
    await git.clone({ ...at(), dir: shallow, url: remoteUrl(grove, node.org, node.id), depth: 1, singleBranch: true })
    expect(await git.log({ fs, dir: shallow })).to.have.length(1)
  })
})
