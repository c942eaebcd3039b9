/** `grove invite`, beside a running service. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password } from '../support/people.ts'
import { databaseEnvironment } from '../support/postgres.ts'
import { useWorld } from '../support/world.ts'
import { cli, cliWith } from './desk.ts'

const dayMs = 24 * 3600 * 1000

describe('grove invite', () => {
  const { grove } = useWorld({}, { signup: 'invite' })
  let ann: PersonClient
  let org: string

  before(async () => {
    const { stdout } = await cli(grove.dataDir, 'invite')
    const body = { email: 'ann@example.org', password, invitation: stdout.trim(), name: 'Ann' }
    const session = await made(client(grove).post('/auth/signup', body))
    ann = { ...client(grove, session.accessToken), user: session.user, org: session.user.org_id, session }
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
  })

  const listed = async () => (await made(ann.get(`/orgs/${org}/invitations`))).invitations

  it('prints a token by which a user signs up if nobody else may', async () => {
    const { code, stdout, stderr } = await cli(grove.dataDir, 'invite', '--email', 'Bob@example.org')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.match(/^grv_invite_[\w-]{43}\n$/)
    const ask = (email: string) => client(grove).post('/auth/signup', { email, password, invitation: stdout.trimEnd() })
    expect((await ask('cleo@example.org')).body.code).to.equal('signup_closed')
    expect((await ask('bob@example.org').then(expecting(201))).body.user).to.not.have.property('orgs')
  })

  it('invites to an organisation, with the link where PUBLIC_URL is set', async () => {
    const database = await databaseEnvironment(grove.dataDir)
    const env = { DATA_DIR: grove.dataDir, ...database, PUBLIC_URL: 'https://example.org/grove/' }
    const options = ['--org', org, '--role', 'owner', '--uses', '3', '--days', '2']
    const { stdout } = await cliWith(env, 'invite', ...options)
    const [token = '', link, ...rest] = stdout.split('\n')
    expect([link, rest]).to.deep.equal([`https://example.org/grove/join#token=${token}`, ['']])
    const [invitation] = await listed()
    const { role, uses_left, created_at, expires_at } = invitation
    expect({ role, uses_left }).to.deep.equal({ role: 'owner', uses_left: 3 })
    expect(invitation).to.not.have.property('created_by')
    expect(Date.parse(expires_at) - Date.parse(created_at)).to.be.within(dayMs, 2 * dayMs)
    const { body } = await client(grove)
      .post('/auth/signup', { email: 'dan@example.org', password, invitation: token })
      .then(expecting(201))
    expect(body.user.orgs).to.deep.equal([{ id: org, name: 'Atlas', role: 'owner' }])
    expect((await listed())[0].uses_left).to.equal(2)
  })

  it('refuses what it cannot make, with 2 and a sentence', async () => {
    const unknown = randomUUID()
    const cases: [string[], string][] = [
      [['--org', org], 'Use --org and --role together'],
      [['--role', 'reader'], 'Use --org and --role together'],
      [['--org', 'nonsense', '--role', 'reader'], 'nonsense is not an organisation id'],
      [
        ['--org', org, '--role', 'king'],
        'king is not a role; use one of reader, contributor, editor, maintainer, owner',
      ],
      [['--org', unknown, '--role', 'reader'], 'Organisation not found'],
      [['--email', 'nobody'], 'nobody is not an e-mail address'],
      [['--uses', '0'], '--uses 0 is not a number from 1 to 1000'],
      [['--uses', '1001'], '--uses 1001 is not a number from 1 to 1000'],
      [['--days', '31'], '--days 31 is not a number from 1 to 30'],
      [['--days', '1.5'], '--days 1.5 is not a number from 1 to 30'],
    ]
    for (const [args, reason] of cases)
      expect(await cli(grove.dataDir, 'invite', ...args)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: ${reason}\n`,
      })
  })
})
