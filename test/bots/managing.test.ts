/** Owners create bots, give them roles and tokens, and delete them. */

import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { newBot, speaking } from './scene.ts'

describe('bots', () => {
  const { grove, ann, bob, newUser } = useWorld({ ann: 'owner', bob: 'owner' })
  let org = ''
  before(() => {
    org = ann.org
  })

  const members = async () => (await ann.api.listMembers({ path: { org_id: org } })).members
  const bots = async () => (await bob.api.listBots({ path: { org_id: org } })).bots

  it('are members with an address that receives no mail, and say who created them', async () => {
    const bot = await newBot(ann, org, { name: 'Site builder', role: 'reader' })
    expect(bot).to.deep.include({
      name: 'Site builder[bot]',
      email: `${bot.id}@bots.invalid`,
      role: 'reader',
      created_by: ann.user.id,
      created_by_name: 'Ann',
    })
    expect(await bots()).to.deep.equal([bot])
    const member = (await members()).find(({ user_id }) => user_id === bot.id)
    expect(member).to.deep.include({ is_bot: true, name: 'Site builder[bot]', email: bot.email, role: 'reader' })
    const { as } = await speaking(grove, ann, org, bot.id, { access: 'read' })
    expect((await as.get(`/orgs/${org}`).then(expecting(200))).body.role).to.equal('reader')
  })

  it('are the authors of their commits', async () => {
    const bot = await newBot(ann, org, { name: 'Ann' })
    const { as } = await speaking(grove, ann, org, bot.id)
    const fields = { title: 'Whales', text_content: 'Sing.' }
    const { id } = (await as.post(`/orgs/${org}/nodes`, fields).then(expecting(201))).body
    const author = gitIn(grove, org, id).say('log', '--format=%an %ae %cn', '-1', 'main')
    expect(author).to.equal(`Ann[bot] ${bot.email} Ann[bot]`)
  })

  it('change their name and role at once', async () => {
    const bot = await newBot(ann, org, { role: 'reader' })
    const { as } = await speaking(grove, ann, org, bot.id)
    await as.post(`/orgs/${org}/nodes`, { title: 'No' }).then(expecting(403))
    const path = { org_id: org, bot_id: bot.id }
    const editor = { role: 'editor', name: 'Gardener[bot]' } as const
    expect(await bob.api.updateBot({ path, body: editor })).to.deep.include(editor)
    await as.post(`/orgs/${org}/nodes`, { title: 'Yes' }).then(expecting(201))
    const member = (await members()).find(({ user_id }) => user_id === bot.id)
    expect(member).to.deep.include({ ...editor, is_bot: true })
    expect(await ann.api.updateBot({ path, body: {} })).to.deep.include(editor)
    expect((await ann.patch(`/orgs/${org}/bots/${bot.id}`, { role: 'owner' })).status).to.equal(422)
  })

  it('are gone with their tokens when they are deleted', async () => {
    const bot = await newBot(ann, org)
    const { as } = await speaking(grove, ann, org, bot.id)
    await bob.delete(`/orgs/${org}/bots/${bot.id}`).then(expecting(204))
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
    expect((await bob.delete(`/orgs/${org}/bots/${bot.id}`)).body.code).to.equal('bot_not_found')
    expect((await members()).map(({ user_id }) => user_id)).not.to.include(bot.id)
  })

  it('keep their tokens, and are managed by another owner, when their creator leaves', async () => {
    const cat = await newUser('Cat', 'owner')
    const bot = await newBot(cat, org)
    const { as, id } = await speaking(grove, cat, org, bot.id)
    await ann.put(`/orgs/${org}/members/${cat.user.email}`, { role: 'editor' }).then(expecting(200))
    const tokens = `/orgs/${org}/bots/${bot.id}/tokens`
    expect((await cat.get(tokens)).status).to.equal(403)
    expect((await cat.post(tokens, { name: 'Left behind', access: 'write' })).status).to.equal(403)
    await cat.delete('/auth/me', {}, { password }).then(expecting(200))
    await as.get(`/orgs/${org}`).then(expecting(200))
    const listed = (await bots()).find((one) => one.id === bot.id)
    expect([listed?.created_by, listed?.created_by_name]).to.deep.equal([cat.user.id, undefined])
    const [token] = (await bob.api.listBotTokens({ path: { org_id: org, bot_id: bot.id } })).tokens
    expect(token).to.have.property('last_used_at')
    await bob.delete(`${tokens}/${id}`).then(expecting(204))
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
  })

  it('reach one node with a token for it', async () => {
    const elsewhere = await ann.api.createOrg({ body: { name: 'Elsewhere' } })
    const [bot, one, other] = [await newBot(ann, org), await ann.node(), await ann.node({}, elsewhere.id)]
    const { as } = await speaking(grove, ann, org, bot.id, { node_id: one.id })
    await as.get(one.at).then(expecting(200))
    expect((await as.get(`/orgs/${org}/nodes`)).body.code).to.equal('token_scope')
    const at = `/orgs/${org}/bots/${bot.id}/tokens`
    const { status, body } = await ann.post(at, { name: 'x', access: 'read', node_id: other.id })
    expect([status, body.code]).to.deep.equal([404, 'node_not_found'])
    expect((await ann.post(at, { name: 'x', access: 'read', expires_at: '2020-01-01T00:00:00Z' })).status).to.equal(422)
    expect((await ann.post(at, { name: 'x', access: 'read', org_id: elsewhere.id })).status).to.equal(422)
  })

  it('are not found by owners of other organisations', async () => {
    const [bot, dan] = [await newBot(ann, org), await newUser('Dan')]
    const at = `/orgs/${dan.org}/bots/${bot.id}`
    for (const answer of [await dan.patch(at, {}), await dan.delete(at), await dan.get(`${at}/tokens`)])
      expect(answer.body.code).to.equal('bot_not_found')
  })

  it.deep('are at most 50, and have at most 20 tokens each', async () => {
    const { id } = await bob.api.createOrg({ body: { name: 'Many' } })
    const bot = await newBot(bob, id)
    for (let count = 0; count < 20; count++) await speaking(grove, bob, id, bot.id)
    const refused = await bob.post(`/orgs/${id}/bots/${bot.id}/tokens`, { name: 'x', access: 'read' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'too_many_tokens'])
    for (let count = 1; count < 50; count++) await newBot(bob, id)
    const full = await bob.post(`/orgs/${id}/bots`, { name: 'x', role: 'reader' })
    expect([full.status, full.body.code]).to.deep.equal([409, 'too_many_bots'])
    expect((await bob.api.listMembers({ path: { org_id: id } })).total).to.equal(51)
  })

  it('do not keep an organisation whose only user deletes the account', async () => {
    const eve = await newUser('Eve')
    const bot = await newBot(eve, eve.org)
    const { as } = await speaking(grove, eve, eve.org, bot.id)
    const { trashed } = await eve.api.deleteMe({ body: { password } })
    expect(trashed.map(({ id }) => id)).to.deep.equal([eve.org])
    expect((await as.get(`/orgs/${eve.org}`)).status).to.equal(404)
  })

  it('are in the audit, as what owners changed and as actors', async () => {
    const bot = await newBot(ann, org, { name: 'Seen' })
    const { as, id } = await speaking(grove, ann, org, bot.id)
    await as.get(`/orgs/${org}`).then(expecting(200))
    const path = { org_id: org, bot_id: bot.id }
    await ann.api.updateBot({ path, body: { role: 'reader' } })
    await ann.api.revokeBotToken({ path: { ...path, token_id: id } })
    await ann.api.deleteBot({ path })
    const { entries } = await ann.api.listOrgAudit({ path, query: { limit: 20 } })
    const mine = entries.filter(({ target, detail }) => target?.id === bot.id || detail?.bot === bot.id)
    const actions = mine.map(({ action }) => action).filter((action) => action.startsWith('bot.'))
    const all = ['bot.deleted', 'bot.token_revoked', 'bot.changed', 'bot.token_created', 'bot.created']
    expect(actions).to.deep.equal(all)
  })
})
