/** The deletion of a branch changes its pull requests alike through each door. */

import { expect } from 'chai'
import { remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { ann, desk, grove, useScene } from './scene.ts'

describe('git: a branch that is deleted', () => {
  useScene()
  let clones = 0

  const doors: Record<string, (node: TestNode, branch: string) => Promise<unknown>> = {
    'over REST': (node, branch) => ann.delete(`${node.at}/branches/${branch}`).then(expecting(204)),
    'by a push': async (node, branch) => (await cloneOf(node)).push(`:${branch}`),
  }

  /** Git in a clone of the node; `push` hands on what git shows. */
  async function cloneOf(node: TestNode) {
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    const folder = `clone-${++clones}`
    await desk.done(`git clone -q $REMOTE ${folder}`, { REMOTE })
    const sh = (script: string) => desk.sh(`cd ${folder}; ${script}`)
    return { sh, push: (...refs: string[]) => desk.done(`cd ${folder}; git push -q origin ${refs.join(' ')}`) }
  }

  function ledgerOf(node: TestNode): string[] {
    return node.git.lines('log', '--format=%s', 'refs/grove/ledger')
  }

  for (const [door, remove] of Object.entries(doors)) {
    it.deep(`closes the request into it, once, if there is no main to go to: ${door}`, async () => {
      const node = await newNode(grove, ann, { initialize: false })
      const root = node.git.commit({ files: { 'a.txt': 'a' } })
      node.git.point('dev', root)
      const source = node.git.commit({ files: { 'b.txt': 'b' }, parents: [root] })
      node.git.point('topic', source)
      await node.open('topic', { target_branch: 'dev' })
      await remove(node, 'dev')
      expect(await node.pull(1)).to.include({ status: 'closed', closed_by: 'Ann', target_branch: 'dev' })
      expect(await node.pull(1)).to.include({ source_commit: source, target_commit: root, commits_ahead: 1 })
      expect(ledgerOf(node)).to.deep.equal(['close 1', 'open 1', 'create'])
      expect(node.git.say('rev-parse', 'refs/grove/pulls/1')).to.equal(source)
    })

    it.deep(`sends one request of a source to main and closes what would be the second: ${door}`, async () => {
      const node = await newNode(grove, ann)
      await node.proposal('topic')
      await node.branch('one')
      await node.branch('two')
      await node.open('topic', { target_branch: 'one' })
      await node.open('topic', { target_branch: 'two' })
      await remove(node, 'one')
      await remove(node, 'two')
      expect(await node.pull(1)).to.include({ status: 'open', target_branch: 'main', commits_ahead: 1 })
      expect(await node.pull(2)).to.include({ status: 'closed', closed_by: 'Ann', target_branch: 'two' })
      expect(ledgerOf(node)).to.deep.equal(['close 2', 'edit 1', 'open 2', 'open 1', 'create'])
    })
  }

  it.deep('with a main that takes in the head in the same push merges the request into it, by who pushed', async () => {
    const node = await newNode(grove, ann)
    await node.branch('dev')
    const source = await node.proposal('topic')
    await node.open('topic', { target_branch: 'dev' })
    const clone = await cloneOf(node)
    await clone.push('--atomic', 'origin/topic:main', ':dev')
    const merged = { status: 'merged', merged_by: 'Ann', target_branch: 'main', source_commit: source }
    expect(await node.pull(1)).to.include(merged)
    expect(ledgerOf(node)).to.deep.equal(['merge 1', 'edit 1', 'open 1', 'create'])
  })

  it('leaves requests merged with another in the name of who merged that', async () => {
    const node = await newNode(grove, ann)
    const source = await node.proposal('topic')
    const author = 'Carol <carol@example.org> 1700000000 +0000'
    const tree = node.git.say('rev-parse', `${source}^{tree}`)
    const more = node.git.run(['hash-object', '-t', 'commit', '-w', '--stdin'], {
      input: `tree ${tree}\nparent ${source}\nauthor ${author}\ncommitter ${author}\n\nMore\n`,
    })
    node.git.point('more', more.toString().trim())
    await node.open('topic')
    await node.open('more')
    await ann.post(`${node.at}/pull-requests/2/merge`).then(expecting(200))
    expect(await node.pull(1)).to.include({ status: 'merged', merged_by: 'Ann' })
  })

  it.deep('makes room for a branch below its name in the same push', async () => {
    const node = await newNode(grove, ann)
    await node.branch('a')
    const clone = await cloneOf(node)
    await clone.push(':a', 'main:a/b')
    expect(node.git.lines('for-each-ref', '--format=%(refname:short)', 'refs/heads')).to.deep.equal(['a/b', 'main'])
  })

  it.deep('does not in an atomic push, which is refused whole and leaves nothing locked', async () => {
    const node = await newNode(grove, ann)
    const clone = await cloneOf(node)
    const { code, text } = await clone.sh('git push --atomic origin main:0 main:a main:a/b')
    expect(code, text).to.equal(1)
    expect(text).to.include('main -> a (a ref with a conflicting name exists)')
    expect(text).to.include('main -> 0 (refs/heads/a was refused, and the push is atomic)')
    await clone.push('main:a')
    expect(node.git.lines('for-each-ref', '--format=%(refname:short)', 'refs/heads')).to.deep.equal(['a', 'main'])
  })
})
