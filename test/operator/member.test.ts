/** `grove member add`, beside a running service. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type Git, gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'
import { cli } from './desk.ts'

describe('grove member add', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })
  let org: string
  let git: Git

  beforeEach(async () => {
    org = (await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body.id
    git = gitIn(grove, org, 'org')
  })

  const add = (email: string, role: string, id = org) => cli(grove.dataDir, 'member', 'add', id, email, role)
  const roles = async () => {
    const { members } = (await ann.get(`/orgs/${org}/members`).then(expecting(200))).body
    return members.map(({ name, role }: { name: string; role: string }) => `${name} ${role}`)
  }

  it('adds, raises and lowers by a commit of the operator each, which the service has at once', async () => {
    for (const role of ['reader', 'owner', 'contributor', 'editor']) {
      const stdout = `bob@example.org is ${role} of ${org}\n`
      expect(await add('BOB@example.org', role, org.toUpperCase())).to.deep.equal({ code: 0, stdout, stderr: '' })
      expect((await bob.get(`/orgs/${org}`).then(expecting(200))).body.role).to.equal(role)
    }
    expect(git.lines('log', '--format=%an <%ae> %s')).to.deep.equal([
      ...Array(4).fill('operator <operator@grove.invalid> member'),
      'Ann <ann@example.org> create',
    ])
  })

  it('gives an organisation without an owner one', async () => {
    const file = `members/${ann.user.id}.json`
    const without = { ...JSON.parse(git.say('show', `main:${file}`)), role: 'reader' }
    git.point('main', git.commit({ files: { [file]: JSON.stringify(without) }, parents: [git.head()] }))
    await ann.patch(`/orgs/${org}`, { name: 'Mine' }).then(expecting(403))
    expect((await add('bob@example.org', 'owner')).code).to.equal(0)
    expect(await roles()).to.deep.equal(['Ann reader', 'Bob owner'])
  })

  it('refuses an invalid organisation, account or role, and the removal of the last owner, with 2', async () => {
    const unknown = randomUUID()
    const cases: [string[], string][] = [
      [['nonsense', 'bob@example.org', 'reader'], 'nonsense is not an organisation id'],
      [
        [org, 'bob@example.org', 'king'],
        'king is not a role; use one of reader, contributor, editor, maintainer, owner',
      ],
      [[unknown, 'bob@example.org', 'reader'], 'Organisation not found'],
      [[org, 'nobody@example.org', 'reader'], 'There is no account with this e-mail address'],
      [[org, 'ann@example.org', 'editor'], 'An organisation must have an owner; make another member an owner first'],
    ]
    for (const [args, reason] of cases)
      expect(await cli(grove.dataDir, 'member', 'add', ...args)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: ${reason}\n`,
      })
    expect(await roles()).to.deep.equal(['Ann owner'])
  })
})
