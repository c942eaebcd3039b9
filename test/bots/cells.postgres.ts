/** Bots in cells: a token works at both, and an organisation that moves takes its bots with it. */

import { expect } from 'chai'
import { here, move, setUrls, signIn, there, useCells } from '../cells/scene.ts'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { newBot, speaking } from './scene.ts'

describe('bots in cells', () => {
  useCells()
  before(setUrls)

  it('move with their organisation, with role and tokens, and are managed at either cell', async () => {
    const ann = await signUp(here, 'Ann')
    const away = await signIn(there, ann)
    const { id: org } = (await ann.post('/orgs', { name: 'Moving' }).then(expecting(201))).body
    const bot = await newBot(ann, org)
    const { token } = await speaking(here, ann, org, bot.id)
    const [near, far] = [client(here, token), client(there, token)]
    for (const as of [near, far]) await as.post(`/orgs/${org}/nodes`, { title: 'Before' }).then(expecting(201))
    expect(await move(org, 'there')).to.include({ code: 0 })
    for (const as of [near, far]) await as.post(`/orgs/${org}/nodes`, { title: 'After' }).then(expecting(201))
    const { bots } = (await ann.get(`/orgs/${org}/bots`).then(expecting(200))).body
    expect(bots[0]).to.deep.include({ id: bot.id, name: 'Builder[bot]', role: 'editor', created_by: ann.user.id })
    await away.patch(`/orgs/${org}/bots/${bot.id}`, { role: 'reader' }).then(expecting(200))
    await near.post(`/orgs/${org}/nodes`, { title: 'No' }).then(expecting(403))
    await ann.delete(`/orgs/${org}/bots/${bot.id}`).then(expecting(204))
    for (const as of [near, far]) expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
  })

  it('do not keep an organisation of another cell whose only user deletes the account', async () => {
    const eve = await signUp(there, 'Eve')
    await newBot(eve, eve.org)
    const near = await signIn(here, eve)
    const { trashed } = (await near.delete('/auth/me', {}, { password }).then(expecting(200))).body
    expect(trashed.map(({ id }: { id: string }) => id)).to.deep.equal([eve.org])
  })
})
