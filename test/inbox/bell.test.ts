/** The number of unread items: the operation, and the header of each page. */
import { expect } from 'chai'
import { sendForm } from '../pages/forms.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Client, client, password } from '../support/people.ts'
import { noteStatements } from '../support/statements.ts'
import { useWorld } from '../support/world.ts'
import { edit, follow, inbox, page } from './scene.ts'

const roles = { ann: 'owner', bob: 'reader' } as const

describe('the number of unread items', () => {
  const statements = noteStatements()
  const { grove, ann, bob } = useWorld(roles, { sweeps: false })
  let node: TestNode
  let cookie = ''
  before(async () => {
    node = await ann.node()
    const { headers } = await sendForm(grove, '/sign-in', { email: bob.user.email, password })
    cookie = headers['set-cookie']?.split(';')[0] ?? ''
  })
  after(() => statements.end())

  const read = (path: string, more: Record<string, string> = {}) =>
    readPage(client(grove), path, {
      ...{ cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' },
      ...more,
    })
  const unread = (by: Client) => by.get('/inbox-unread').then(expecting(200))
  const readAll = async () => bob.put('/inbox-mark', { cursor: (await page(bob)).now }).then(expecting(204))

  it('is that of the unread items, whatever changes it', async () => {
    await follow(bob, node)
    expect((await unread(bob)).body).to.deep.equal({ items: [], more: false, now: (await page(bob)).now })
    await edit(ann, node, 'A')
    const [item] = await inbox(bob, '&unread=true')
    expect((await unread(bob)).body.items).to.deep.equal([{ id: item.id, org_id: ann.org, node_id: node.id }])
    expect((await unread(ann)).body.items).to.deep.equal([])
    await bob.put(`/orgs/${ann.org}/inbox-mark`, { item: item.id }).then(expecting(204))
    expect((await unread(bob)).body.items).to.deep.equal([])
    await edit(ann, node, 'B')
    expect((await unread(bob)).body.items).to.have.length(1)
    await bob.delete(`${node.at}/follow`).then(expecting(204))
    expect((await unread(bob)).body.items).to.deep.equal([])
  })

  it('costs no look at the events while nothing has changed', async () => {
    await follow(bob, node)
    await edit(ann, node, 'C')
    const first = await unread(bob)
    statements.begin()
    const { events, index, credentials } = statements.ofDatabases()
    expect((await unread(bob)).body).to.deep.equal(first.body)
    expect(events).to.have.length(1)
    expect(events.join()).to.not.include('join event')
    expect(events.length + index.length + credentials.length).to.be.at.most(8)
    const again = await bob.get('/inbox-unread', { 'if-none-match': String(first.headers.etag) })
    expect(again.status).to.equal(304)
  })

  it('is in the header, the menu and the title of each page, and in its ETag', async () => {
    await readAll()
    await follow(bob, node)
    const path = pageAt(node.org, node.id)
    const none = await read(path)
    expect(String(none.body))
      .to.include('aria-label="Inbox"')
      .and.not.match(/<title>\(/)
    expect((await read(path, { 'if-none-match': String(none.headers.etag) })).status).to.equal(304)
    const other = await ann.node({ title: 'Krill' })
    await follow(bob, other)
    await edit(ann, other, 'Krill (1)')
    const one = await read(path, { 'if-none-match': String(none.headers.etag) })
    expect(one.status).to.equal(200)
    expect(String(one.body))
      .to.include('aria-label="Inbox: 1 unread"')
      .and.match(/<title>\(1\) C · /)
    expect(String(one.body).match(/<span data-unread[^>]*>1<\/span>/g)).to.have.length(2)
    for (const at of ['/', '/me/inbox', '/me/tokens', '/o/nowhere'])
      expect(String((await read(at)).body), at).to.include('aria-label="Inbox: 1 unread"')
    await readAll()
    expect(String((await read(path)).body)).to.include('aria-label="Inbox"')
  })

  it('is not shown to anonymous visitors, nor to a program with a token', async () => {
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const path = pageAt(node.org, node.id)
    expect(String((await readPage(client(grove), path)).body)).to.not.include('data-bell')
    const { token } = (await bob.post('/auth/tokens', { name: 'Script', access: 'read', org_id: ann.org })).body
    await edit(ann, node, 'D')
    const shown = String((await readPage(client(grove, token), path)).body)
    expect(shown)
      .to.include('data-bell')
      .and.not.match(/<title>\(/)
  })
})
