/** How many statements the databases need for one commit, and for one creation. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type NotedStatements, noteStatements } from '../support/statements.ts'
import { useWorld } from '../support/world.ts'

describe('statements', () => {
  let node: TestNode
  let noted: NotedStatements

  after(() => noted.end())
  const { grove, ann } = useWorld({ ann: 'owner' }, async () => {
    noted = noteStatements()
    return { sweeps: false }
  })
  before(async () => {
    node = await newNode(grove, ann, { tags: ['sea'] })
  })

  const inOneTransaction = () => noted.all().filter((source) => source === 'commit').length === 1

  it('on the index of a commit are 12 in one transaction, whichever file it changes', async () => {
    await node.commit('main', { 'content.md': 'Whales sing\n' })
    for (const file of ['content.md', 'docs/page.md']) {
      noted.begin()
      await node.commit('main', { [file]: 'Whales sing again\n' })
      expect(noted.lastTransaction(), noted.lastTransaction().join('\n')).to.have.length(12)
      expect(inOneTransaction()).to.equal(true)
    }
  })

  it('of a commit ask for the account and the organisation on arrival and under the lock', async () => {
    await node.commit('main', { 'content.md': 'Whales dive\n' })
    noted.begin()
    await node.commit('main', { 'content.md': 'Whales dive again\n' })
    const { credentials, index, events } = noted.ofDatabases()
    expect(credentials, credentials.join('\n')).to.have.length(2)
    const ofOrg = index.filter((source) => /from "(org|member)"/.test(source))
    expect(ofOrg, ofOrg.join('\n')).to.have.length(2)
    // Of each transaction, two begin and commit it.
    expect(index, index.join('\n')).to.have.length(21)
    // One of them asks whether the log is whole, and so knows the node before the change.
    expect(events, events.join('\n')).to.have.length(15)
  })

  it('on the index of a creation are 16, and 10 more for edges', async () => {
    const create = async (fields: object) => {
      noted.begin()
      await ann.post(`/orgs/${ann.org}/nodes`, fields).then(expecting(201))
      expect(inOneTransaction()).to.equal(true)
      return noted.all()
    }
    const plain = await create({ title: 'Calf', tags: ['sea', 'young'], text_content: 'Small\n' })
    expect(plain, plain.join('\n')).to.have.length(16)
    const edges = { parents: [node.id], connections: [{ target: node.id }] }
    const linked = await create({ title: 'Calf', tags: ['sea', 'young'], text_content: 'Small\n', ...edges })
    expect(linked, linked.join('\n')).to.have.length(26)
  })
})
