/** Answers that grow with what lies in a repository: bounded, made in pieces, and the same as if they were made at once. */

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { diffTrees } from '../../gitstore/objects/diff.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { listFiles, type TreeEntry } from '../../gitstore/objects/trees.ts'
import { newDesk, remoteUrl } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { countTurns } from '../support/turns.ts'

describe('large answers', () => {
  let grove: Grove
  let ann: PersonClient

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())

  function tree(node: TestNode, lines: readonly string[]): string {
    return node.git
      .run(['mktree', '--missing'], { input: `${lines.join('\n')}\n` })
      .toString()
      .trim()
  }

  async function raw(path: string, method = 'GET', headers: Record<string, string> = {}) {
    const authorization = `Bearer ${ann.session.accessToken}`
    const answer = await fetch(grove.url + path, { method, headers: { authorization, ...headers } })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }

  it('let others have their turn while trees are listed and compared', async () => {
    const node = await newNode(grove, ann)
    const draft = newObjectBatch(node.git)
    const oid = randomBytes(20).toString('hex')
    // Folders that are read at once: there are no turns but those of the walk.
    const files = Array.from({ length: 1_000 }, (_, n): TreeEntry => ({ name: `${n}`, mode: '100644', oid }))
    const folder = await draft.tree(files)
    const folders = Array.from({ length: 60 }, (_, n): TreeEntry => ({ name: `${n}`, mode: '040000', oid: folder }))
    const tree = await draft.tree(folders)
    for (const walk of [() => diffTrees(draft.repo, null, tree), () => listFiles(draft.repo, tree)]) {
      const { result, turns } = await countTurns<readonly unknown[]>(walk)
      expect(result).to.have.length(60_000)
      expect(turns).to.be.at.least(10)
    }
  })

  it('are the JSON that they would be, with the same ETag, in whatever pieces they are made', async () => {
    const node = await newNode(grove, ann)
    const base = node.git.head()
    const ids = randomBytes(20_000 * 20).toString('hex')
    const lines = Array.from({ length: 20_000 }, (_, n) => `100644 blob ${ids.slice(40 * n, 40 * n + 40)}\tfile ${n}`)
    const head = node.git.say('commit-tree', tree(node, lines), '-m', 'Many')
    node.git.point('many', head)
    const path = `${node.at}/compare?base=main&head=many`
    const whole = await raw(path)
    const body = JSON.parse(whole.text)
    expect(whole.status).to.equal(200)
    expect(body.changes.added.map(({ entity_key }: { entity_key: string }) => entity_key)).to.deep.equal(
      node.git.lines('ls-tree', '-r', '--name-only', 'many'),
    )
    expect(body).to.deep.include({ base_commit: base, head_commit: head })
    expect(whole.text).to.equal(JSON.stringify(body))
    const again = await raw(path, 'GET', { 'if-none-match': whole.headers.get('etag') ?? '' })
    expect(again).to.deep.include({ status: 304, text: '' })
    const plain = await raw(path, 'HEAD', { 'accept-encoding': 'identity' })
    expect(plain).to.deep.include({ status: 200, text: '' })
    expect(plain.headers.get('content-length')).to.equal(String(Buffer.byteLength(whole.text)))
  })

  it('are the JSON that they would be, also of one long text', async () => {
    const node = await newNode(grove, ann)
    const content = `a${'😀"\n\u0001'.repeat(400_000)}`
    await node.commit('main', { 'long.txt': content })
    const { text } = await raw(`${node.at}/tree/main/files/long.txt`)
    expect(text).to.equal(JSON.stringify(JSON.parse(text)))
    expect(JSON.parse(text).content).to.equal(content)
  })

  it('are refused, in words, if the paths are too long together; and so is the push', async () => {
    const node = await newNode(grove, ann)
    const empty = node.git.run(['hash-object', '-w', '--stdin']).toString().trim()
    const names = Array.from({ length: 1_200 }, (_, n) => `100644 blob ${empty}\t${n}`)
    let top = tree(node, names)
    for (let depth = 0; depth < 60; depth++) top = tree(node, [`040000 tree ${top}\t${'d'.repeat(250)}`])
    const head = node.git.say('commit-tree', top, '-m', 'Long')
    node.git.say('update-ref', 'refs/tags/long', head)
    const advice = /16 MiB( of paths)?[.;] clone the node and use git/i
    for (const path of ['compare?base=main&head=long', 'tree/long', `tree/long/commits/${head}`]) {
      const { status, body } = await ann.get(`${node.at}/${path}`)
      expect({ status, code: body.code }, path).to.deep.equal({ status: 413, code: 'too_large' })
      expect(body.detail).to.match(advice)
    }
    const desk = await newDesk()
    const remote = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    const { text } = await desk.sh(`git clone -q ${remote} long; cd long; git push -q origin ${head}:refs/heads/long`)
    await desk.remove()
    expect(text).to.include('it is too large for the service to read')
  })

  it('a commit that deletes what is not there is told which of its changes that is', async () => {
    const node = await newNode(grove, ann)
    await node.commit('main', { 'a/b': 'x', c: 'y' })
    const deletion = (paths: string[]) =>
      ann.post(`${node.at}/tree/main/commits`, {
        message: 'Away',
        changes: paths.map((path) => ({ action: 'delete', path })),
      })
    for (const path of ['nothing', 'a', 'a/c', 'c/d', 'a/b/c']) {
      const { status, body } = await deletion(['c', path].slice(path === 'c/d' ? 1 : 0))
      const at = path === 'c/d' ? 0 : 1
      expect({ status, loc: body.detail[0].loc }, path).to.deep.equal({
        status: 422,
        loc: ['body', 'changes', at, 'path'],
      })
    }
    await deletion(['c', 'a/b']).then(expecting(201))
  })
})
