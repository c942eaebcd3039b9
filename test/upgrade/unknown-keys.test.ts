/** Keys and events that a later version writes into a repository are kept. */

import { expect } from 'chai'
import { type Git, gitIn } from '../support/git.ts'
import { expecting, newNode } from '../support/node.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const later = { theme: { colour: 'sea' } }

describe('keys that this version does not know', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'reader' })

  const read = (git: Git, ref: string, path: string) => JSON.parse(git.say('show', `${ref}:${path}`))
  /** Adds them to the file, as a commit of an unknown event. */
  const add = (git: Git, ref: string, path: string) => {
    const files = { [path]: JSON.stringify({ ...read(git, ref, path), ...later }) }
    const to = git.commit({ files, parents: [git.say('rev-parse', ref)], message: 'an event of a later version' })
    git.say('update-ref', ref, to)
  }

  it('stay in org.json and in member files, whatever is changed beside them', async () => {
    const git = gitIn(grove, ann.org, 'org')
    const [main, member] = ['refs/heads/main', `members/${bob.user.id}.json`]
    add(git, main, 'org.json')
    add(git, main, member)
    await ann.patch(`/orgs/${ann.org}`, { name: 'Atlas' }).then(expecting(200))
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
    await bob.patch('/auth/me', { name: 'Robert' }).then(expecting(200))
    expect(read(git, main, 'org.json'))
      .to.include({ name: 'Atlas' })
      .and.to.deep.include(later)
    expect(read(git, main, member))
      .to.include({ role: 'editor', name: 'Robert' })
      .and.to.deep.include(later)
    expect((await bob.get(`/orgs/${ann.org}`).then(expecting(200))).body).to.include({ name: 'Atlas', role: 'editor' })
  })

  it('stay in node.json and in the ledger', async () => {
    const node = await newNode(grove, ann)
    await node.proposal('draft')
    const { number } = await node.open('draft')
    const [ledger, path] = ['refs/grove/ledger', `pulls/0/0/${number}.json`]
    add(node.git, 'refs/heads/main', 'node.json')
    add(node.git, ledger, path)
    await until(async () => (await node.pull(number)).commits_behind === 1)
    await ann.patch(node.at, { title: 'Dolphins' }).then(expecting(200))
    await ann.patch(`${node.at}/pull-requests/${number}`, { title: 'Later' }).then(expecting(200))
    await ann.patch(`${node.at}/pull-requests/${number}`, { status: 'closed' }).then(expecting(200))
    expect(read(node.git, 'refs/heads/main', 'node.json'))
      .to.include({ title: 'Dolphins' })
      .and.to.deep.include(later)
    expect(read(node.git, ledger, path))
      .to.include({ title: 'Later', status: 'closed' })
      .and.to.deep.include(later)
  })
})
