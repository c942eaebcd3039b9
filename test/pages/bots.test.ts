/** The pages of bots, without scripts. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, mainOf, type Visit, visitOf } from './forms.ts'

describe('the pages of bots', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let visit: Visit
  let page: string
  before(async () => {
    visit = await visitOf(grove, ann)
    page = `${pageAt(ann.org)}/settings/bots`
  })

  const bots = async () => (await made(ann.get(`/orgs/${ann.org}/bots`))).bots
  async function create(name: string): Promise<{ readonly id: string; readonly at: string }> {
    const { status } = await visit.send(page, { act: 'create', name, role: 'editor' })
    expect(status).to.equal(303)
    const { id } = (await bots()).at(-1)
    return { id, at: `${page}/${id}` }
  }

  it('create a bot, and mark it in the list of members, without a way to make it an owner', async () => {
    const { id } = await create('<b>Builder</b>')
    expect((await bots()).at(-1)).to.include({ id, name: '<b>Builder</b>[bot]', role: 'editor' })
    const html = mainOf(await visit.open(page))
    expect(html)
      .to.match(/&lt;b(>|&gt;)Builder&lt;\/b(>|&gt;)\[bot\]/)
      .and.include('created by Ann')
      .and.not.include('<b>Builder')
    const members = mainOf(await visit.open(`${pageAt(ann.org)}/settings/members`))
    expect(members).to.match(/\[bot\]<\/strong>\s*<span class="pill">bot<\/span>/)
    expect(members).to.include(`/settings/bots/${id}`).and.not.include('Role of &lt;b')
  })

  it('recommend that a bot proposes, and offer no owner', async () => {
    const html = mainOf(await visit.open(page))
    const answers = [...html.matchAll(/name="role" value="(\w+)"( checked)?/g)].map(([, role, on]) => [role, on])
    expect(answers).to.deep.equal([
      ['contributor', ' checked'],
      ...['editor', 'reader', 'maintainer'].map((role) => [role, undefined]),
    ])
    expect(html).to.contain('For an assistant, choose “Propose”')
  })

  it('say next to the field why a name cannot be used', async () => {
    const answer = await visit.send(page, { act: 'create', name: '...', role: 'editor' })
    expect([answer.status, alertIn(answer)?.includes('Git would remove')]).to.deep.equal([422, true])
  })

  it('create a token, show it once, and revoke it', async () => {
    const { id, at } = await create('Clerk')
    const answer = await visit.send(at, { act: 'token', name: 'CI', access: 'write', expires_at: 'never' })
    const token = /data-token[^>]*>\s*(grv_[0-9A-Za-z]{43})/.exec(answer.body)?.[1] ?? ''
    expect((await client(grove, token).get(`/orgs/${ann.org}`)).status).to.equal(200)
    const again = mainOf(await visit.open(at))
    expect(again).to.include('can publish').and.include('never expires').and.not.include(token)
    const { tokens } = await made(ann.get(`/orgs/${ann.org}/bots/${id}/tokens`))
    expect((await visit.send(at, { act: 'revoke', token_id: tokens[0].id })).status).to.equal(303)
    expect((await client(grove, token).get(`/orgs/${ann.org}`)).status).to.equal(401)
  })

  it('change and delete a bot', async () => {
    const { id, at } = await create('Gardener')
    expect((await visit.send(at, { act: 'change', name: 'Farmer', role: 'reader' })).status).to.equal(303)
    expect((await bots()).at(-1)).to.include({ id, name: 'Farmer[bot]', role: 'reader' })
    expect((await visit.send(at, { act: 'change', name: 'Farmer', role: 'owner' })).status).to.equal(422)
    expect((await visit.send(at, { act: 'delete' })).status).to.equal(303)
    expect((await bots()).map((bot: { id: string }) => bot.id)).to.not.include(id)
    expect((await visit.open(at)).status).to.equal(404)
    expect(mainOf(await visit.open(`${page}?saved=deleted`))).to.include('The bot was deleted')
  })

  it('show other members nothing of them', async () => {
    const bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'maintainer' }))
    const { at } = await create('Secretary')
    const other = await visitOf(grove, bob)
    expect(mainOf(await other.open(page)))
      .to.include('Only owners can see')
      .and.not.include('Secretary')
    expect((await other.open(at)).status).to.equal(403)
    expect((await other.send(page, { act: 'create', name: 'Mine', role: 'editor' })).status).to.equal(403)
  })
})
