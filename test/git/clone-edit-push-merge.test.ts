import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: clone, edit, push, merge', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let desk: Desk
  let REMOTE: string

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    desk = await newDesk()
    REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
  })
  after(() => desk.remove())

  it('clones what REST has made', async () => {
    expect(
      await desk.done('git clone -q $REMOTE whales; ls whales; git -C whales log --format=%s', { REMOTE }),
    ).to.equal('content.md\nnode.json\nCreate node\n')
    expect(await desk.done('git -C whales for-each-ref --format="%(refname)"')).to.equal(
      'refs/heads/main\nrefs/remotes/origin/HEAD\nrefs/remotes/origin/main\n',
    )
  })

  it('pushes a branch, from which REST opens a request', async () => {
    await desk.done(`
      cd whales
      git checkout -q -b dolphins
      echo 'Dolphins are whales.' >> content.md
      git commit -q -am 'Dolphins too'
      git push -q origin dolphins`)
    const pull = await node.open('dolphins')
    expect(pull).to.include({ can_merge: true, commits_ahead: 1, source_commit: node.git.head('dolphins') })
  })

  it('pushes to the source, and the request has it', async () => {
    await desk.done(`
      cd whales
      git commit -q --allow-empty -m 'Nothing more'
      git push -q origin dolphins`)
    expect(await node.pull(1)).to.include({ commits_ahead: 2, source_commit: node.git.head('dolphins') })
  })

  it('merges the request by a push that fast-forwards main to its head', async () => {
    const before = node.git.head()
    expect(await desk.done('cd whales; git push -q origin dolphins:main')).to.equal(
      'remote: Pull request 1 is merged: Merge dolphins\n',
    )
    expect(await node.pull(1)).to.include({
      status: 'merged',
      merged_by: 'Ann',
      source_commit: node.git.head('dolphins'),
      target_commit: before,
      commits_ahead: 2,
      commits_behind: 0,
    })
    const { body } = await ann.get(`${node.at}/tree/main/commits`)
    expect(body.history.map((commit: { message: string }) => commit.message)).to.deep.equal([
      'Nothing more',
      'Dolphins too',
      'Create node',
    ])
    expect(node.git.lines('log', '--format=%s', 'refs/grove/ledger').slice(0, 2)).to.deep.equal(['merge 1', 'open 1'])
  })

  it('finds what was pushed', async () => {
    const { body } = await ann.post(`/orgs/${node.org}/search/retrieve`, { query: 'dolphins' })
    expect(body.matches.map((match: { node_id: string }) => match.node_id)).to.deep.equal([node.id])
  })

  it('fetches what REST commits', async () => {
    const head = await node.commit('main', { 'krill.txt': 'Krill\n' }, 'Krill')
    expect(await desk.done('cd whales; git checkout -q main; git pull -q; git rev-parse HEAD; cat krill.txt')).to.equal(
      `${head}\nKrill\n`,
    )
  })

  it('leaves a draft open that main took in, and other targets to their own requests', async () => {
    await node.branch('release')
    await desk.done(
      'cd whales; git checkout -q -b draft; echo a > a; git add a; git commit -q -m a; git push -q origin draft',
    )
    await node.open('draft', { is_draft: true })
    await node.open('draft', { target_branch: 'release' })
    expect(await desk.done('cd whales; git push -q origin draft:main')).to.equal('')
    expect(await node.pull(2)).to.include({ status: 'open', merge_reason: 'no_commits_ahead' })
    expect(await node.pull(3)).to.include({ status: 'open', can_merge: true })
    expect(await desk.done('cd whales; git push -q origin draft:release')).to.match(/^remote: Pull request 3 is merged/)
  })

  it('closes the requests of a source that is deleted, and keeps their head', async () => {
    const head = await node.proposal('gone')
    await node.open('gone')
    expect(await desk.done('cd whales; git push -q origin :gone')).to.equal(
      'remote: Pull request 4 is closed: Merge gone\n',
    )
    expect(await node.pull(4)).to.include({ status: 'closed', source_commit: head })
    expect(node.git.say('rev-parse', 'refs/grove/pulls/4')).to.equal(head)
  })

  it('retargets to main if the target is deleted', async () => {
    await node.branch('base')
    await node.proposal('topic')
    await node.open('topic', { target_branch: 'base' })
    await desk.done('cd whales; git push -q origin :base')
    expect(await node.pull(5)).to.include({ status: 'open', target_branch: 'main' })
  })

  it('pushes and deletes tags, plain and annotated, which REST lists', async () => {
    await desk.done(`
      cd whales
      git tag v1; git tag -a -m 'the second' v2
      git push -q origin v1 v2`)
    const tags = async () => (await ann.get(`${node.at}/tags`)).body.tags.map((tag: { name: string }) => tag.name)
    expect(await tags()).to.deep.equal(['v1', 'v2'])
    await desk.done('cd whales; git push -q origin :refs/tags/v1')
    expect(await tags()).to.deep.equal(['v2'])
  })

  it('leaves a repository that git finds nothing wrong with', () => node.git.fsck())
})
