/** A person's e-mail and name change, and what Git has of them. */

import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findActiveProfile, setEmail } from '../../index/credentials/accounts.ts'
import { updateMembersBehind } from '../../server/domain/accounts/member-profiles.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { createOrg } from '../../server/domain/orgs/orgs.ts'
import { cli, newToken, resetTokens, withNewPassword } from '../operator/desk.ts'
import { git, newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const hiddenOf = ({ id }: { id: string }) => `${id}@users.noreply.invalid`

describe('the profile of a person', () => {
  const { grove } = useWorld({}, { sweeps: false })
  let ann: PersonClient
  let bob: PersonClient
  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${randomUUID()}`)
    bob = await signUp(grove, `Bob ${randomUUID()}`)
  })

  const profileOf = async ({ user }: PersonClient) => {
    const profile = await findActiveProfile(grove.deps.credentials.read, user.id)
    if (profile === undefined) throw new Error('The account is gone')
    return profile
  }
  const newAddress = () => `${randomUUID()}@example.com`
  const change = (new_email: string, who = ann, secret = password) =>
    who.post('/auth/email', { new_email, password: secret })
  const memberOf = async (org: string, who = ann): Promise<Answer['body']> =>
    (await who.get(`/orgs/${org}/members`).then(expecting(200))).body.members.find(
      ({ user_id }: { user_id: string }) => user_id === who.user.id,
    )
  const invite = (org: string, email: string, role = 'editor', who = bob) =>
    who.put(`/orgs/${org}/members/${email}`, { role }).then(expecting(200))

  describe('the e-mail', () => {
    it('changes at once: sign-in, member lists, commits from then on', async () => {
      await invite(bob.org, ann.user.email)
      const node = await newNode(grove, ann)
      const new_email = newAddress()
      const { body } = await change(new_email).then(expecting(200))
      expect(body).to.deep.equal({ ...ann.user, email: new_email })
      const logIn = (email: string) => client(grove).post('/auth/login', { email, password })
      expect([(await logIn(ann.user.email)).status, (await logIn(new_email)).status]).to.deep.equal([401, 200])
      for (const org of [ann.org, bob.org]) {
        expect((await memberOf(org)).email).to.equal(new_email)
        const last = await git(join(grove.dataDir, org, 'org.git'), 'log', '-1', '--format=%s %ae', 'main')
        expect(last.trimEnd()).to.equal(`email ${new_email}`)
      }
      await node.commit('main', { 'a.txt': 'a' })
      const { history } = (await ann.get(`${node.at}/tree/main/commits`).then(expecting(200))).body
      expect(history.map(({ author_email }: { author_email: string }) => author_email)).to.deep.equal([
        new_email,
        ann.user.email,
      ])
      await ann.get('/auth/me').then(expecting(200))
    })

    it('needs the password, a valid address and one that is free', async () => {
      expect((await change(newAddress(), ann, 'not this one')).body.code).to.equal('invalid_credentials')
      expect((await change(bob.user.email.toUpperCase())).body.code).to.equal('email_taken')
      for (const wrong of ['nobody', hiddenOf(bob.user)]) {
        expect((await change(wrong)).body.detail[0]).to.deep.include({ loc: ['body', 'new_email'], input: wrong })
      }
      expect((await ann.get('/auth/me')).body).to.deep.equal(ann.user)
      await change(ann.user.email.toUpperCase()).then(expecting(200))
    })

    it('is taken by one of two who want it at the same time', async () => {
      const wanted = newAddress()
      const statuses = (await Promise.all([change(wanted), change(wanted, bob)])).map(({ status }) => status)
      expect(statuses.sort()).to.deep.equal([200, 409])
    })

    it('reaches the member files later if a crash came between', async () => {
      const new_email = newAddress()
      await grove.deps.credentials.write((trx) => setEmail(trx, ann.user.id, new_email))
      expect((await memberOf(ann.org)).email).to.equal(ann.user.email)
      await updateMembersBehind(grove.deps)
      expect((await memberOf(ann.org)).email).to.equal(new_email)
      const commits = () => git(join(grove.dataDir, ann.org, 'org.git'), 'rev-list', '--count', 'main')
      const before = await commits()
      await updateMembersBehind(grove.deps)
      expect(await commits()).to.equal(before)
    })
  })

  it('changes its name, in member lists and commits from then on', async () => {
    const { body } = await ann.patch('/auth/me', { name: 'Anna' }).then(expecting(200))
    expect(body).to.deep.equal({ ...ann.user, name: 'Anna' })
    expect((await memberOf(ann.org)).name).to.equal('Anna')
    const node = await newNode(grove, ann)
    expect((await ann.get(`${node.at}/tree/main/commits`)).body.history[0].author).to.equal('Anna')
    expect((await ann.patch('/auth/me', { name: '<>' })).status).to.equal(422)
    expect((await ann.patch('/auth/me', {}).then(expecting(200))).body.name).to.equal('Anna')
  })

  describe('a hidden e-mail', () => {
    const signUpHidden = async (): Promise<PersonClient> => {
      const email = newAddress()
      const { body } = await client(grove)
        .post('/auth/signup', { email, password, name: 'Eve', hide_email: true })
        .then(expecting(201))
      return { ...client(grove, body.accessToken), user: body.user, org: body.user.org_id, session: body }
    }

    it.deep('is in no repository: no commit, ledger or member file has a byte of it', async () => {
      const eve = await signUpHidden()
      expect(eve.user).to.include({ hide_email: true })
      await invite(ann.org, eve.user.email, 'owner', ann)
      await invite(eve.org, bob.user.email, 'maintainer', eve)
      const node = await newNode(grove, eve)
      await node.proposal('draft')
      await node.open('draft')
      await eve.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
      await node.proposal('other')
      await node.open('other')
      await bob.patch(`${node.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
      await change(newAddress(), eve).then(expecting(200))
      const token = await newToken(eve)
      const clone = await client(grove, token).get(`/git/${eve.org}/org.git/info/refs?service=git-upload-pack`)
      expect(clone.status).to.equal(200)

      const { email } = (await eve.get('/auth/me').then(expecting(200))).body
      let objects = 0
      for (const org of [ann.org, eve.org])
        for (const name of await readdir(join(grove.dataDir, org))) {
          const repo = join(grove.dataDir, org, name)
          const all = await git(repo, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)', '--unordered')
          for (const oid of all.trimEnd().split('\n')) {
            const kind = (await git(repo, 'cat-file', '-t', oid)).trimEnd()
            const content = await git(repo, 'cat-file', kind === 'tree' ? '-p' : kind, oid)
            for (const address of [eve.user.email, email]) expect(content, `${name} ${oid}`).to.not.contain(address)
            objects++
          }
        }
      expect(objects).to.be.above(30)
      expect((await memberOf(eve.org, eve)).email).to.equal(hiddenOf(eve.user))
      expect((await eve.get(`${node.at}/pull-requests/1`)).body.pr.author).to.equal('Eve')
    })

    it('is found by both addresses, and shown by neither', async () => {
      const eve = await signUpHidden()
      const put = async (address: string, role: string) =>
        (await ann.put(`/orgs/${ann.org}/members/${address}`, { role }).then(expecting(200))).body
      expect(await put(eve.user.email, 'reader')).to.include({ email: hiddenOf(eve.user), role: 'reader' })
      expect(await put(hiddenOf(eve.user).toUpperCase(), 'editor')).to.include({ user_id: eve.user.id, role: 'editor' })
      await ann.delete(`/orgs/${ann.org}/members/${eve.user.email}`).then(expecting(204))
      await put(hiddenOf(eve.user), 'editor')
      await eve.delete(`/orgs/${ann.org}/members/${eve.user.email}`).then(expecting(204))
      await put(hiddenOf(eve.user), 'editor')
      await ann.delete(`/orgs/${ann.org}/members/${hiddenOf(eve.user)}`).then(expecting(204))
      const unknown = `/orgs/${ann.org}/members/${hiddenOf({ id: randomUUID() })}`
      expect((await ann.put(unknown, { role: 'reader' })).body.code).to.equal('account_not_found')
    })

    it('is hidden from then on by who has it in Git already, and shown again', async () => {
      await ann.patch('/auth/me', { hide_email: true }).then(expecting(200))
      expect((await memberOf(ann.org)).email).to.equal(hiddenOf(ann.user))
      const node = await newNode(grove, ann)
      const author = async () => (await ann.get(`${node.at}/tree/main/commits`)).body.history[0].author_email
      expect(await author()).to.equal(hiddenOf(ann.user))
      await ann.patch('/auth/me', { hide_email: false }).then(expecting(200))
      await node.commit('main', { 'a.txt': 'a' })
      expect(await author()).to.equal(ann.user.email)
    })

    it('is also hidden from member files that earlier requests write', async () => {
      const stale = personOf(await profileOf(ann))
      await ann.patch('/auth/me', { hide_email: true }).then(expecting(200))
      const { id } = await createOrg({ ...grove.deps, actor: stale }, { body: { name: 'Late' } })
      expect((await memberOf(id)).email).to.equal(ann.user.email)
      await updateMembersBehind(grove.deps)
      expect((await memberOf(id)).email).to.equal(hiddenOf(ann.user))
    })

    it('names nobody by a part of the address', async () => {
      const answer = await client(grove).post('/auth/signup', { email: newAddress(), password, hide_email: true })
      const { id, name } = answer.body.user
      expect(name).to.equal(`user-${id.slice(-8)}`)
    })

    it('signs nobody up, and no one signs in with it', async () => {
      const eve = await signUpHidden()
      const taken = { email: hiddenOf(eve.user), password }
      expect((await client(grove).post('/auth/signup', taken)).status).to.equal(422)
      expect((await client(grove).post('/auth/login', taken)).status).to.equal(401)
    })

    it.deep('is lost with the credentials: mirrors bring the user back only under the other address', async () => {
      const eve = await signUpHidden()
      await newNode(grove, eve)
      const restored = await newDataDir()
      const said = await cli(restored, 'restore', join(grove.dataDir, eve.org))
      expect([...resetTokens(said.stdout).keys()]).to.deep.equal([hiddenOf(eve.user)])
      const again = await startGrove({ dataDir: restored })
      try {
        const back = await withNewPassword(again, resetTokens(said.stdout).get(hiddenOf(eve.user)))
        expect(back.user).to.include({ id: eve.user.id, hide_email: true })
        await back.post('/auth/email', { new_email: eve.user.email, password: 'another long one' }).then(expecting(200))
        expect((await memberOf(eve.org, { ...eve, ...back })).email).to.equal(hiddenOf(eve.user))
      } finally {
        await again.close()
      }
    })
  })
})
