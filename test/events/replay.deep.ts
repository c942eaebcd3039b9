/** The oracle of logs: it agrees with what requests record, and finds each event that is missing or twice. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { converse } from '../support/conversation.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type LoggedEvent, readLog } from './log-rows.ts'
import { differencesFromGit } from './replay.ts'

describe('the log of an organisation, compared with Git', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let events: LoggedEvent[]

  before(async () => {
    grove = await startGrove({ sweeps: false })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    await changeMembers()
    const node = await newNode(grove, ann)
    await changeRefs(node)
    await changePulls(node)
    const other = await newNode(grove, ann, { title: 'Krill' })
    await ann.delete(other.at).then(expecting(204))
    await made(ann.post(`/orgs/${ann.org}/trash/${other.id}/restore`, {}))
    const last = await newNode(grove, ann, { title: 'Plankton' })
    await ann.delete(last.at).then(expecting(204))
    events = readLog(grove, ann.org)
  })
  after(() => grove.close())

  async function changeMembers() {
    const bobs = `/orgs/${ann.org}/members/bob@example.org`
    for (const role of ['reader', 'editor']) await ann.put(bobs, { role }).then(expecting(200))
    await ann.delete(bobs).then(expecting(204))
    await ann.put(bobs, { role: 'maintainer' }).then(expecting(200))
    await made(ann.patch(`/orgs/${ann.org}`, { name: 'Sea', rules: [{ branches: ['ruled'], approvals: 1 }] }))
  }

  async function changeRefs(node: TestNode) {
    const { token } = await made(bob.post('/auth/tokens', { name: 'push', access: 'write' }))
    const url = `${grove.url.replace('//', `//x:${token}@`)}/git/${ann.org}/${node.id}.git`
    // Not synchronous, because the service is in this process.
    const push = (...refs: readonly string[]) =>
      promisify(execFile)('git', ['push', '-q', '-f', url, ...refs], { cwd: node.git.dir })
    const [one, two] = ['a', 'b'].map((name) =>
      node.git.commit({ files: { [name]: name }, parents: [node.git.head()] }),
    )
    await push(`${one}:refs/heads/pushed`, `${one}:refs/tags/v1`)
    await push(`${two}:refs/heads/pushed`, `${two}:refs/tags/v1`)
    await push(`${one}:refs/heads/main`, ':refs/heads/pushed', ':refs/tags/v1')
    await made(bob.patch(node.at, { title: 'Blue whales' }))
  }

  async function changePulls(node: TestNode) {
    await node.proposal('draft')
    const { number } = await node.open('draft')
    const at = `${node.at}/pull-requests/${number}`
    await converse(at, ann, bob)
    await node.commit('draft', { 'more.txt': 'More\n' })
    for (const change of [{ reviewers: [bob.user.id] }, { status: 'closed' }, { status: 'open' }])
      await made(ann.patch(at, change))
    await made(bob.put(`${node.at}/checks/${node.git.head('draft')}/links`, { state: 'success' }))
    await made(ann.post(`${at}/merge`, {}))
    await node.proposal('other')
    await node.open('other')
    await ann.delete(`${node.at}/branches/other`).then(expecting(204))
  }

  const differences = (some: readonly LoggedEvent[]) => differencesFromGit(grove, ann.org, some)

  it('has no difference', () => {
    expect(differences(events)).to.deep.equal([])
    expect(new Set(events.map(({ type }) => type))).to.include.keys(
      ...['org.updated', 'member.removed', 'node.restored', 'tag.updated', 'branch.deleted', 'pull_request.updated'],
      ...['comment.edited', 'thread.resolved', 'review.withdrawn', 'check.reported', 'pull_request.closed'],
    )
  })

  it('differs if an event is missing', () => {
    for (const event of events) {
      // The index decides which pull requests are open when a branch has moved. Git does not say it.
      if (event.type === 'pull_request.updated') continue
      const others = events.filter(({ id }) => id !== event.id)
      expect(differences(others), `without ${event.type} ${event.seq}`).to.not.be.empty
    }
  })

  it('differs if an event is there twice, also with another id', () => {
    for (const [at, event] of events.entries()) {
      if (event.type === 'log.began') continue
      for (const id of [event.id, event.id.replaceAll(/./g, 'f')]) {
        const more = events.toSpliced(at + 1, 0, { ...event, id })
        expect(differences(more), `with ${event.type} ${event.seq} twice`).to.not.be.empty
      }
    }
  })

  it('differs if events of a node have changed places', () => {
    const own = events.filter(({ type }) => type.startsWith('comment.'))
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last) throw new Error('There are no comments')
    const swapped = events.map((event) => (event === first ? last : event === last ? first : event))
    expect(differences(swapped)).to.not.be.empty
  })
})
