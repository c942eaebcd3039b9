/** Owners create bots, give them roles and tokens, and delete them. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'
import { newBot, sharedOrg, speaking } from './scene.ts'

describe('bots', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let org: string
  before(async () => {
    grove = await startGrove()
    ;[ann, bob] = [await signUp(grove, 'Ann'), await signUp(grove, 'Bob')]
    org = await sharedOrg(ann, bob)
  })
  after(() => grove.close())

  const membersNow = async () => (await ann.get(`/orgs/${org}/members`).then(expecting(200))).body.members

  it('are members with an address that receives no mail, and say who created them', async () => {
    const bot = await newBot(ann, org, { name: 'Site builder', role: 'reader' })
    expect(bot).to.deep.include({
      name: 'Site builder[bot]',
      email: `${bot.id}@bots.invalid`,
      role: 'reader',
      created_by: ann.user.id,
      created_by_name: 'Ann',
    })
    const { bots } = (await bob.get(`/orgs/${org}/bots`).then(expecting(200))).body
    expect(bots).to.deep.equal([bot])
    const member = (await membersNow()).find(({ user_id }: { user_id: string }) => user_id === bot.id)
    expect(member).to.deep.include({ is_bot: true, name: 'Site builder[bot]', email: bot.email, role: 'reader' })
    const { as } = await speaking(grove, ann, org, bot.id, { access: 'read' })
    const me = (await as.get(`/orgs/${org}`).then(expecting(200))).body
    expect(me.role).to.equal('reader')
  })

  it('are the authors of their commits', async () => {
    const bot = await newBot(ann, org, { name: 'Ann' })
    const { as } = await speaking(grove, ann, org, bot.id)
    const node = (await as.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content: 'Sing.' }).then(expecting(201)))
      .body
    const repo = join(grove.dataDir, org, `${node.id}.git`)
    const { stdout } = await promisify(execFile)('git', ['-C', repo, 'log', '--format=%an %ae %cn', '-1', 'main'])
    expect(stdout.trim()).to.equal(`Ann[bot] ${bot.email} Ann[bot]`)
  })

  it('change their name and role at once', async () => {
    const bot = await newBot(ann, org, { role: 'reader' })
    const { as } = await speaking(grove, ann, org, bot.id)
    await as.post(`/orgs/${org}/nodes`, { title: 'No' }).then(expecting(403))
    const at = `/orgs/${org}/bots/${bot.id}`
    const changed = (await bob.patch(at, { role: 'editor', name: 'Gardener[bot]' }).then(expecting(200))).body
    expect(changed).to.deep.include({ role: 'editor', name: 'Gardener[bot]' })
    await as.post(`/orgs/${org}/nodes`, { title: 'Yes' }).then(expecting(201))
    const member = (await membersNow()).find(({ user_id }: { user_id: string }) => user_id === bot.id)
    expect(member).to.deep.include({ role: 'editor', name: 'Gardener[bot]', is_bot: true })
    expect((await ann.patch(at, {}).then(expecting(200))).body).to.deep.include({
      role: 'editor',
      name: 'Gardener[bot]',
    })
    expect((await ann.patch(at, { role: 'owner' })).status).to.equal(422)
  })

  it('are gone with their tokens when they are deleted', async () => {
    const bot = await newBot(ann, org)
    const { as } = await speaking(grove, ann, org, bot.id)
    await bob.delete(`/orgs/${org}/bots/${bot.id}`).then(expecting(204))
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
    expect((await bob.delete(`/orgs/${org}/bots/${bot.id}`)).body.code).to.equal('bot_not_found')
    expect((await membersNow()).map(({ user_id }: { user_id: string }) => user_id)).not.to.include(bot.id)
  })

  it('keep their tokens, and are managed by another owner, when their creator leaves', async () => {
    const cat = await signUp(grove, 'Cat')
    await ann.put(`/orgs/${org}/members/${cat.user.email}`, { role: 'owner' }).then(expecting(200))
    const bot = await newBot(cat, org)
    const { as, id } = await speaking(grove, cat, org, bot.id)
    await ann.put(`/orgs/${org}/members/${cat.user.email}`, { role: 'editor' }).then(expecting(200))
    const tokens = `/orgs/${org}/bots/${bot.id}/tokens`
    expect((await cat.get(tokens)).status).to.equal(403)
    expect((await cat.post(tokens, { name: 'Left behind', access: 'write' })).status).to.equal(403)
    await cat.delete('/auth/me', {}, { password }).then(expecting(200))
    await as.get(`/orgs/${org}`).then(expecting(200))
    const { bots } = (await bob.get(`/orgs/${org}/bots`).then(expecting(200))).body
    const listed = bots.find((one: { id: string }) => one.id === bot.id)
    expect([listed.created_by, listed.created_by_name]).to.deep.equal([cat.user.id, undefined])
    const [token] = (await bob.get(tokens).then(expecting(200))).body.tokens
    expect(token).to.have.property('last_used_at')
    await bob.delete(`${tokens}/${id}`).then(expecting(204))
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
  })

  it('reach one node with a token for it', async () => {
    const [bot, one, other] = [await newBot(ann, org), await newNodeOf(ann, org), await newNodeOf(ann, ann.org)]
    const { as } = await speaking(grove, ann, org, bot.id, { node_id: one })
    await as.get(`/orgs/${org}/nodes/${one}`).then(expecting(200))
    expect((await as.get(`/orgs/${org}/nodes`)).body.code).to.equal('token_scope')
    const at = `/orgs/${org}/bots/${bot.id}/tokens`
    const elsewhere = await ann.post(at, { name: 'x', access: 'read', node_id: other })
    expect([elsewhere.status, elsewhere.body.code]).to.deep.equal([404, 'node_not_found'])
    expect((await ann.post(at, { name: 'x', access: 'read', expires_at: '2020-01-01T00:00:00Z' })).status).to.equal(422)
    expect((await ann.post(at, { name: 'x', access: 'read', org_id: ann.org })).status).to.equal(422)
  })

  const newNodeOf = async (who: PersonClient, at: string): Promise<string> =>
    (await who.post(`/orgs/${at}/nodes`, { title: 'Whales' }).then(expecting(201))).body.id

  it('are not found by owners of other organisations', async () => {
    const [bot, dan] = [await newBot(ann, org), await signUp(grove, 'Dan')]
    for (const way of ['patch', 'delete'] as const) {
      const answer =
        way === 'patch'
          ? dan.patch(`/orgs/${dan.org}/bots/${bot.id}`, {})
          : dan.delete(`/orgs/${dan.org}/bots/${bot.id}`)
      expect((await answer).body.code, way).to.equal('bot_not_found')
    }
    expect((await dan.get(`/orgs/${dan.org}/bots/${bot.id}/tokens`)).body.code).to.equal('bot_not_found')
  })

  it('are at most 50, and have at most 20 tokens each', async () => {
    const { id } = (await bob.post('/orgs', { name: 'Many' }).then(expecting(201))).body
    const bot = await newBot(bob, id)
    for (let count = 0; count < 20; count++) await speaking(grove, bob, id, bot.id)
    const refused = await bob.post(`/orgs/${id}/bots/${bot.id}/tokens`, { name: 'x', access: 'read' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'too_many_tokens'])
    for (let count = 1; count < 50; count++) await newBot(bob, id)
    const full = await bob.post(`/orgs/${id}/bots`, { name: 'x', role: 'reader' })
    expect([full.status, full.body.code]).to.deep.equal([409, 'too_many_bots'])
    const { total } = (await bob.get(`/orgs/${id}/members?limit=1`).then(expecting(200))).body
    expect(total).to.equal(51)
  })

  it('do not keep an organisation whose only user deletes the account', async () => {
    const eve = await signUp(grove, 'Eve')
    const bot = await newBot(eve, eve.org)
    const { as } = await speaking(grove, eve, eve.org, bot.id)
    const { trashed } = (await eve.delete('/auth/me', {}, { password }).then(expecting(200))).body
    expect(trashed.map(({ id }: { id: string }) => id)).to.deep.equal([eve.org])
    expect((await as.get(`/orgs/${eve.org}`)).status).to.equal(404)
  })

  it('are in the audit, as what owners changed and as actors', async () => {
    const bot = await newBot(ann, org, { name: 'Seen' })
    const { as, id } = await speaking(grove, ann, org, bot.id)
    await as.get(`/orgs/${org}`).then(expecting(200))
    await ann.patch(`/orgs/${org}/bots/${bot.id}`, { role: 'reader' }).then(expecting(200))
    await ann.delete(`/orgs/${org}/bots/${bot.id}/tokens/${id}`).then(expecting(204))
    await ann.delete(`/orgs/${org}/bots/${bot.id}`).then(expecting(204))
    const { entries } = (await ann.get(`/orgs/${org}/audit?limit=20`).then(expecting(200))).body
    const mine = entries.filter(
      ({ target, detail }: { target?: { id: string }; detail?: { bot?: string } }) =>
        target?.id === bot.id || detail?.bot === bot.id,
    )
    expect(
      mine.map(({ action }: { action: string }) => action).filter((action: string) => action?.startsWith('bot.')),
    ).to.deep.equal(['bot.deleted', 'bot.token_revoked', 'bot.changed', 'bot.token_created', 'bot.created'])
  })
})
