/** Who may get an account through a provider, and which organisation they join. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { createSignUpInvitation } from '../../server/domain/accounts/invitations.ts'
import { operator } from '../../server/domain/actor.ts'
import { made } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'
import { problemIn, type Scene, startScene } from './scene.ts'

const claims = (name: string) => ({ sub: name, email: `${name}@acme.example`, email_verified: true, name })
const refused = { status: 403, code: 'provider_refused' }

describe('a provider that demands a claim', () => {
  let scene: Scene

  const cases = [
    [
      'hd',
      ['acme.com'],
      'a text',
      { admits: ['acme.com'], refuses: ['acme.com.evil', 'ACME.COM', '', undefined, null] },
    ],
    ['level', ['7', '8'], 'a number', { admits: [7, 8], refuses: [77, 6, [6], { level: 7 }] }],
    [
      'groups',
      ['grove', 'staff'],
      'a list',
      { admits: [['x', 'staff']], refuses: [[], ['x'], [['grove']], 'grove,staff'] },
    ],
    ['https://acme.example/grove', ['true'], 'a URL', { admits: [true, 'true'], refuses: [false] }],
  ] as const

  for (const [claim, values, what, { admits, refuses }] of cases)
    describe(`that is ${what}`, () => {
      before(async () => {
        scene = await startScene({ require: { claim, values } })
      })
      after(() => scene.close())

      it('admits each value, and refuses others', async () => {
        for (const [n, value] of admits.entries()) {
          const seen = await scene.pass(scene.newVisitor(), { ...claims(`user${n}`), [claim]: value })
          expect(seen.status, JSON.stringify(value)).to.equal(303)
        }
        for (const value of refuses) {
          const seen = await scene.pass(scene.newVisitor(), { ...claims('Eve'), [claim]: value })
          expect(problemIn(seen), JSON.stringify(value)).to.deep.equal(refused)
        }
      })

      it('refuses a user who had the value before', async () => {
        const seen = await scene.pass(scene.newVisitor(), { ...claims('user0'), [claim]: 'another' })
        expect(problemIn(seen)).to.deep.equal(refused)
      })
    })
})

describe('a new account of a provider', () => {
  const modes = ['open', 'invite', 'closed'] as const
  const own = [undefined, 'on', 'invite', 'off'] as const
  /** Whether a user gets an account without an invitation, and with one. */
  const admitted = { open: [true, true], invite: [false, true], closed: [false, false] } as const
  const sameAs = { on: 'open', invite: 'invite', off: 'closed' } as const

  for (const signup of modes)
    for (const of of own)
      it(`with SIGNUP=${signup} and _SIGNUP=${of ?? ''} needs what the provider's setting says`, async () => {
        const scene = await startScene(of === undefined ? {} : { signup: of }, { signup })
        const [without, withOne] = admitted[of === undefined ? signup : sameAs[of]]
        const { token } = await createSignUpInvitation({ ...scene.grove.deps, actor: operator }, {})
        const closed = { status: 403, code: 'signup_closed' }
        const ends = { false: closed, true: { status: 303, code: undefined } } as const
        expect(problemIn(await scene.pass(scene.newVisitor(), claims('Ann')))).to.deep.equal(ends[`${without}`])
        const invited = await scene.pass(scene.newVisitor(), claims('Bob'), { invitation: token })
        expect(problemIn(invited)).to.deep.equal(ends[`${withOne}`])
        const used = await scene.pass(scene.newVisitor(), claims('Cleo'), { invitation: token })
        const code = withOne && without ? 'invitation_not_found' : 'signup_closed'
        expect(problemIn(used).code, 'the invitation is used').to.equal(code)
        await scene.close()
      })

  it('joins the organisation of its invitation', async () => {
    const scene = await startScene({ signup: 'invite' })
    const ann = await signUp(scene.grove, 'Ann')
    const { id } = await made(ann.post('/orgs', { name: 'Atlas' }))
    const { token } = await made(ann.post(`/orgs/${id}/invitations`, { role: 'editor' }))
    const visitor = scene.newVisitor()
    expect((await scene.pass(visitor, claims('Bob'), { invitation: token })).status).to.equal(303)
    expect((await visitor.api(`/orgs/${id}`)).body).to.include({ name: 'Atlas', role: 'editor' })
    await scene.close()
  })
})

describe('the organisation of a provider', () => {
  it('gets who signs in as a member, by a commit, once, and keeps the role that an owner gives', async () => {
    const dataDir = await newDataDir()
    const first = await startGrove({ dataDir })
    const ann = await signUp(first, 'Ann')
    const { id } = await made(ann.post('/orgs', { name: 'Atlas' }))
    await first.close()
    const scene = await startScene({ org: { id, role: 'contributor' } }, { dataDir })
    const bob = scene.newVisitor()
    expect((await scene.pass(bob, claims('Bob'))).status).to.equal(303)
    expect((await bob.api(`/orgs/${id}`)).body.role).to.equal('contributor')
    const log = async () => {
      const dir = join(scene.grove.dataDir, id, 'org.git')
      return (await promisify(execFile)('git', ['-C', dir, 'log', '--format=%s', 'main'])).stdout.trim().split('\n')
    }
    const [subject] = await log()
    expect(subject).to.match(/^join/i)
    const commits = (await log()).length
    await scene.pass(scene.newVisitor(), claims('Bob'))
    expect(await log()).to.have.length(commits)
    const { accessToken } = await made(client(scene.grove).post('/auth/login', { email: ann.user.email, password }))
    const owner = client(scene.grove, accessToken)
    await made(owner.put(`/orgs/${id}/members/Bob@acme.example`, { role: 'reader' }))
    await scene.pass(scene.newVisitor(), claims('Bob'))
    expect((await bob.api(`/orgs/${id}`)).body.role).to.equal('reader')
    await scene.close()
  })

  it('keeps nobody out if it does not exist', async () => {
    const org = { id: '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02', role: 'reader' } as const
    const scene = await startScene({ org })
    const visitor = scene.newVisitor()
    expect((await scene.pass(visitor, claims('Ann'))).status).to.equal(303)
    expect((await visitor.api('/auth/me')).status).to.equal(200)
    await scene.close()
  })
})
