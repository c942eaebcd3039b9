/** Pushes of many refs: each is judged for itself, and those that may move do so together. */

import { expect } from 'chai'
import { remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { ann, desk, grove, useScene } from './scene.ts'

const count = 60

describe('git: a push of many refs', () => {
  useScene()
  let node: TestNode

  beforeEach(async () => {
    node = await newNode(grove, ann)
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done(
      `rm -rf whales; git clone -q $REMOTE whales; cd whales
      for n in $(seq ${count}); do echo "create refs/heads/b$n $(git commit-tree -p HEAD -m $n HEAD^{tree})"; done > refs
      git update-ref --stdin < refs; rm refs`,
      { REMOTE },
    )
  })

  const heads = () => node.git.lines('for-each-ref', '--format=%(refname:short)', 'refs/heads').length
  const version = async () => {
    const rows = grove.deps.index.read.selectFrom('node').select('version').where('id', '=', node.id)
    return (await rows.executeTakeFirstOrThrow()).version
  }

  const transactions = async () => {
    const { values } = await grove.deps.metrics.refTransactions.get()
    return values.reduce((sum, { value }) => sum + value, 0)
  }

  it('moves in one transaction, and is indexed once', async () => {
    const before = await version()
    const moved = await transactions()
    await desk.done("cd whales; git push -q origin 'refs/heads/b*'")
    expect(heads()).to.equal(count + 1)
    expect((await ann.get(`${node.at}/branches?limit=200`)).body.total).to.equal(count + 1)
    expect((await version()) - before).to.equal(1)
    expect((await transactions()) - moved).to.equal(1)
  })

  it('leaves behind what is refused, each with its reason, and moves the rest', async () => {
    await desk.done(`
      cd whales; echo '{' > node.json; git add .; git commit -q -m Broken; git branch broken
      git push -q origin b1; git update-ref refs/heads/b1 b2; git update-ref refs/remotes/origin/b1 b2`)
    const { code, text } = await desk.sh("cd whales; git push -f origin 'refs/heads/b*'")
    expect(code, text).to.equal(1)
    expect(text.match(/rejected/g)).to.have.length(1)
    expect(text).to.match(/broken -> broken \(node\.json: This file is not valid JSON/)
    expect(heads()).to.equal(count + 1)
  })

  it('merges what its main takes in, after the heads that came with it', async () => {
    await desk.done('cd whales; git push -q origin b1 b2')
    await node.open('b1')
    await node.open('b2', { is_draft: true })
    const text = await desk.done(`
      cd whales; git checkout -q b1; git commit -q --allow-empty -m More; git checkout -q main; git merge -q b1
      git push origin main 'refs/heads/b*'`)
    expect(text).to.include('remote: Pull request 1 is merged: Merge b1')
    expect(await node.pull(1)).to.include({ status: 'merged', source_commit: node.git.head('b1') })
    expect(await node.pull(2)).to.include({ status: 'open' })
  })

  it('deletes them together, packed or not, and closes their requests', async () => {
    await desk.done("cd whales; git push -q origin 'refs/heads/b*'")
    await node.open('b1')
    await node.open('b2')
    node.git.say('pack-refs', '--all', '--prune')
    const text = await desk.done(
      `cd whales; git commit -q --allow-empty -m X; git push -qf origin HEAD:b3; git push origin $(seq -f ':b%g' ${count})`,
    )
    expect(text).to.include('remote: Pull request 1 is closed: Merge b1\nremote: Pull request 2 is closed: Merge b2\n')
    expect(heads()).to.equal(1)
    expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/grove/pulls')).to.have.length(2)
    node.git.fsck()
  })

  it('continues if somebody holds the lock of one of them', async () => {
    await desk.done("cd whales; git push -q origin 'refs/heads/b*'; git commit -q --allow-empty -m X")
    const lock = `${node.git.dir}/refs/heads/b7.lock`
    await desk.done(`touch ${lock}`)
    const { text } = await desk.sh(`cd whales; git push -f origin $(seq -f 'HEAD:b%g' ${count})`)
    await desk.done(`rm ${lock}`)
    expect(text.match(/rejected.*/g)).to.deep.equal(['rejected] HEAD -> b7 (another write is in progress; push again)'])
    expect(new Set(node.git.lines('for-each-ref', '--format=%(objectname)', 'refs/heads')).size).to.equal(3)
  })
})
