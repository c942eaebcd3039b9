/** A revision in the paths below tree/ is a branch, else a tag; what changes needs a branch. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('revisions', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let anybody: Client
  let node: TestNode
  /** The commit that is tagged, below the head of main. */
  let tagged: string

  before(async () => {
    anybody = client(grove)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    node = await newNode(grove, ann)
    tagged = await node.commit('main', { 'content.md': 'One' })
    node.git.say('tag', 'v1', tagged)
    node.git.say('tag', '-m', 'Annotated', 'release/1.0', tagged)
    await node.commit('main', { 'content.md': 'Two' })
  })

  it('a tag is read as a branch is, plain and annotated, by its members and by the public', async () => {
    for (const reader of [ann, anybody])
      for (const name of ['v1', 'release%2F1.0']) {
        const at = `${node.at}/tree/${name}`
        const get = async (path: string) => (await reader.get(at + path).then(expecting(200))).body
        expect(await get('')).to.deep.include({ branch: decodeURIComponent(name), commit_id: tagged, total: 2 })
        expect(await get('/files/content.md')).to.deep.include({ commit_id: tagged, content: 'One' })
        expect((await get('/commits')).history.map(({ id }: { id: string }) => id)).to.deep.equal(
          node.git.lines('log', '--format=%H', 'v1'),
        )
        expect((await get(`/commits/${tagged.slice(0, 10)}`)).changes.added).to.have.length(1)
        expect((await reader.get(`${at}/commits/${node.git.head()}`)).body.code).to.equal('commit_not_found')
      }
    expect((await anybody.get(`${node.at}/tree/release/1.0/commits`)).body.total).to.equal(2)
  })

  it('of one name the branch is read; the public, who does not see it, reads the tag', async () => {
    await node.branch('both')
    await node.commit('both', { 'content.md': 'Of the branch' })
    node.git.say('tag', 'both', tagged)
    const file = `${node.at}/tree/both/files/content.md`
    expect((await ann.get(file)).body.content).to.equal('Of the branch')
    expect((await anybody.get(file)).body.content).to.equal('One')
    await node.branch('hidden')
    expect((await anybody.get(`${node.at}/tree/hidden`)).status).to.equal(404)
  })

  it('one that is neither, or a tag that leads to no commit, is 404', async () => {
    node.git.say('tag', 'blob', 'main:content.md')
    const detail = 'Branch not found'
    for (const name of ['blob', 'nothing', 'a..b', 'v1.lock'])
      for (const path of ['', '/commits', '/files/content.md', `/commits/${tagged}`])
        expect(await ann.get(`${node.at}/tree/${name}${path}`), name + path).to.deep.equal({
          status: 404,
          body: { code: 'branch_not_found', detail },
        })
  })

  it('main of a node without a commit is empty, whatever is tagged main', async () => {
    const empty = await newNode(grove, ann, { initialize: false })
    const tree = empty.git.run(['mktree']).toString().trim()
    empty.git.say('tag', 'main', empty.git.say('commit-tree', tree, '-m', 'Tagged'))
    expect((await ann.get(`${empty.at}/tree/main/commits`)).body).to.deep.include({ total: 0, history: [] })
  })

  it('a tag is no branch to who writes, merges or asks for branches', async () => {
    const change = { message: 'A change', changes: [{ action: 'put', path: 'a', content: 'a' }] }
    expect((await ann.post(`${node.at}/tree/v1/commits`, change)).body.code).to.equal('branch_not_found')
    expect((await ann.get(`${node.at}/branches/v1`)).body.code).to.equal('branch_not_found')
    const request = { source_branch: 'v1', title: 'Merge a tag' }
    expect((await ann.post(`${node.at}/pull-requests`, request)).status).to.equal(422)
  })
})
