/** Bots through deletions in two processes, restores from mirrors, and the trash. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findAccountById, isDeletedAccount } from '../../index/credentials/accounts.ts'
import { removeDeletedMembers } from '../../server/domain/accounts/deletion.ts'
import { here, there, useTwoServices } from '../accounts/two-services.ts'
import { cli, folder, useDesk } from '../operator/desk.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { newBot, speaking } from './scene.ts'

describe('bots of two services on one data folder', () => {
  let ann: PersonClient
  let bob: PersonClient
  let org: string
  useTwoServices({ sweeps: false })
  before(async () => {
    ann = await signUp(here, 'Ann')
    bob = await signUp(there, 'Bob')
    org = ann.org
    await ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'owner' }).then(expecting(200))
  })

  it('are created, changed and deleted in one, and obeyed in the other', async () => {
    const bot = await newBot(ann, org, { role: 'reader' })
    const { token } = await speaking(here, ann, org, bot.id)
    const as = client(there, token)
    await as.post(`/orgs/${org}/nodes`, { title: 'No' }).then(expecting(403))
    await ann.patch(`/orgs/${org}/bots/${bot.id}`, { role: 'editor' }).then(expecting(200))
    await as.post(`/orgs/${org}/nodes`, { title: 'Yes' }).then(expecting(201))
    await ann.delete(`/orgs/${org}/bots/${bot.id}`).then(expecting(204))
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
    expect((await bob.get(`/orgs/${org}/bots/${bot.id}/tokens`)).body.code).to.equal('bot_not_found')
  })

  it('are deleted once by several owners at once', async () => {
    const bot = await newBot(ann, org)
    const at = `/orgs/${org}/bots/${bot.id}`
    const answers = await Promise.all([ann.delete(at), bob.delete(at), ann.delete(at), bob.delete(at)])
    for (const { status } of answers) expect(status).to.be.oneOf([204, 404])
    expect(answers.some(({ status }) => status === 204)).to.equal(true)
    const { members } = (await ann.get(`/orgs/${org}/members`).then(expecting(200))).body
    expect(members).to.have.length(2)
  })

  it('do not come back by a change that runs beside the deletion', async () => {
    for (let round = 0; round < 6; round++) {
      const bot = await newBot(ann, org)
      const at = `/orgs/${org}/bots/${bot.id}`
      const [changed, deleted] = await Promise.all([ann.patch(at, { role: 'reader' }), bob.delete(at)])
      expect(deleted.status).to.equal(204)
      expect(changed.status).to.be.oneOf([200, 404])
      // The sweep does this.
      await removeDeletedMembers(here.deps)
      const { members } = (await ann.get(`/orgs/${org}/members`).then(expecting(200))).body
      expect(members, `round ${round}`).to.have.length(2)
      expect((await bob.patch(at, { role: 'reader' })).body.code).to.equal('bot_not_found')
      expect(await isDeletedAccount(here.deps.credentials.read, bot.id)).to.equal(true)
    }
  })
})

describe('bots of an operator', () => {
  useDesk()
  const { grove, ann } = useWorld({ ann: 'owner' }, async () => ({ dataDir: await folder() }))

  it.deep('come back from mirrors alone, without tokens, with their role and name', async () => {
    const bot = await newBot(ann, ann.org, { name: 'Gardener', role: 'editor' })
    const { token } = await speaking(grove, ann, ann.org, bot.id)
    const backup = join(await folder(), 'backup')
    expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
    for (const file of ['credentials.sqlite', 'manifest.json']) await rm(join(backup, file), { force: true })
    const target = await folder()
    const { stdout } = await cli(target, 'restore', backup)
    expect(stdout).to.include(ann.user.email).and.not.include('bots.invalid')
    const reset = /^\S+@\S+ (grv_reset_\S+)$/m.exec(stdout)?.[1] ?? ''
    const again = await startGrove({ dataDir: target })
    try {
      const fresh = { reset_token: reset, new_password: 'a good long password' }
      const { accessToken } = (await client(again).post('/auth/password', fresh).then(expecting(200))).body
      const owner = client(again, accessToken)
      const { bots } = (await owner.get(`/orgs/${ann.org}/bots`).then(expecting(200))).body
      expect(bots).to.have.length(1)
      expect(bots[0]).to.deep.include({ id: bot.id, name: 'Gardener[bot]', email: bot.email, role: 'editor' })
      expect(bots[0]).to.not.have.property('created_by')
      expect((await client(again, token).get(`/orgs/${ann.org}`)).status).to.equal(401)
      expect((await owner.get(`/orgs/${ann.org}/bots/${bot.id}/tokens`).then(expecting(200))).body.total).to.equal(0)
      const { as } = await speaking(again, owner, ann.org, bot.id)
      await as.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }).then(expecting(201))
    } finally {
      await again.close()
    }
  })

  it('have no way to be reset or appointed on the command line', async () => {
    const bot = await newBot(ann, ann.org, { name: 'Clerk' })
    for (const words of [
      ['account', 'reset', bot.id],
      ['account', 'admin', bot.id],
      ['member', 'add', ann.org, bot.email, 'owner'],
    ])
      expect((await cli(grove.dataDir, ...words)).code, words.join(' ')).to.not.equal(0)
    const listed = await cli(grove.dataDir, 'account', 'list')
    expect(listed.stdout).to.include(`${bot.email} (Clerk[bot], ${bot.id}): a bot of ${ann.org}`)
  })

  it('go with an organisation that is purged, and stay while it is in the trash', async () => {
    const { id: org } = await ann.api.createOrg({ body: { name: 'Going' } })
    const bot = await newBot(ann, org)
    const { as } = await speaking(grove, ann, org, bot.id)
    await ann.delete(`/orgs/${org}`).then(expecting(204))
    expect((await as.get(`/orgs/${org}`)).status).to.equal(404)
    const { read } = grove.deps.credentials
    expect(await findAccountById(read, bot.id)).to.not.equal(undefined)
    const purged = await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')
    expect(purged.stderr + purged.stdout).to.include(org)
    expect(await findAccountById(read, bot.id)).to.equal(undefined)
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
  })
})
