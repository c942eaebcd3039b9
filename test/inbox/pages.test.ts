/** The page of the inbox, the buttons that follow, and the Atom feed. */
import { expect } from 'chai'
import { sendForm } from '../pages/forms.ts'
import { exchange } from '../support/exchange.ts'
import type { TestNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { edit, follow } from './scene.ts'

const publicUrl = 'https://grove.example.org/wiki'
const roles = { ann: 'owner', bob: 'reader' } as const

describe('the feed of the inbox', () => {
  const { grove, ann, bob } = useWorld(roles, { sweeps: false, logLevel: 'info', publicUrl })
  let node: TestNode
  before(async () => {
    node = await ann.node({ title: 'Whales & <seals>' })
  })

  const feed = (url: string, headers: Record<string, string> = {}) =>
    exchange(url.replace(publicUrl, grove.url), { method: 'GET', headers })

  it('has an Atom feed, whose token reads nothing else', async () => {
    await follow(bob, node)
    await edit(ann, node, 'Whales & <krill>')
    const made = await bob.api.createFeedToken()
    expect(made.url).to.equal(`${publicUrl}/me/inbox.atom?token=${made.token}`)
    const first = await feed(made.url)
    expect(first.status).to.equal(200)
    expect(first.headers['content-type']).to.equal('application/atom+xml; charset=utf-8')
    expect(first.headers['cache-control']).to.match(/private/)
    expect(first.text).to.include('Whales &#38; &#60;krill&#62;: Ann changed it and created it')
    expect(first.text).to.match(/<link href="https:\/\/grove\.example\.org\/wiki\/o\/[^"]+\/history"\/>/)
    expect((await feed(made.url)).text).to.equal(first.text)
    const again = await feed(made.url, { 'if-none-match': String(first.headers.etag) })
    expect(again.status).to.equal(304)
    await edit(ann, node, 'Whales')
    expect((await feed(made.url, { 'if-none-match': String(first.headers.etag) })).status).to.equal(200)
    expect((await client(grove, made.token).get('/inbox')).status).to.equal(401)
    expect((await client(grove, made.token).get('/orgs')).status).to.equal(401)
    expect(grove.logged()).to.not.include(made.token)
  })

  it("has a feed that shows the token's inbox to any caller, until the token ends", async () => {
    const made = await bob.api.createFeedToken()
    const other = await ann.api.createFeedToken()
    expect((await feed(made.url)).text).to.include('Inbox of Bob')
    expect((await feed(other.url)).text)
      .to.include('Inbox of Ann')
      .and.not.include('Whales')
    expect((await feed(`${made.url}x`)).status).to.equal(401)
    expect((await feed(made.url.replace(/\?.*/, ''))).status).to.equal(401)
    const next = await bob.api.createFeedToken()
    expect((await feed(made.url)).status, 'replaced').to.equal(401)
    expect((await feed(next.url)).status).to.equal(200)
    await bob.api.endFeedToken()
    expect((await feed(next.url)).status, 'ended').to.equal(401)
    expect((await feed(other.url)).status).to.equal(200)
  })
})

describe('the inbox in a browser', () => {
  const { grove, ann, bob } = useWorld(roles, { sweeps: false })
  let node: TestNode
  let cookie = ''
  before(async () => {
    node = await ann.node()
    const { headers } = await sendForm(grove, '/sign-in', { email: bob.user.email, password })
    cookie = headers['set-cookie']?.split(';')[0] ?? ''
  })

  const read = async (path: string) => {
    const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    return String((await readPage(client(grove), path, headers)).body)
  }
  const send = (fields: Record<string, string>) => sendForm(grove, '/me/inbox', fields, { cookie })

  it.deep('follows a page and its subpages, shows what happened, and marks it as read', async () => {
    const page = pageAt(node.org, node.id)
    expect(await read(page))
      .to.include('Follow with subpages')
      .and.not.include('Unfollow')
    const { status, headers } = await send({ act: 'follow-tree', org: node.org, node: node.id, back: page })
    expect({ status, location: headers.location }).to.deep.equal({ status: 303, location: page })
    expect(await read(page))
      .to.include('Unfollow')
      .and.not.include('Follow with subpages')
    await edit(ann, node, 'Blue <b>whales')
    const shown = await read('/me/inbox')
    expect(shown).to.include('Blue &lt;b>whales').and.include('Ann changed it').and.include('aria-label="Unread"')
    expect(await read('/')).to.include('Inbox (1)')
    const item = /name="item" value="([^"]+)"/.exec(shown)?.[1] ?? ''
    await send({ act: 'read', org: node.org, item })
    expect(await read('/me/inbox')).to.not.include('aria-label="Unread"')
    await edit(ann, node, 'Krill')
    const cursor = /name="cursor" value="([^"]+)"/.exec(await read('/me/inbox'))?.[1] ?? ''
    await send({ act: 'read-all', cursor })
    expect(await read('/me/inbox')).to.not.include('aria-label="Unread"')
    await send({ act: 'unfollow', org: node.org, node: node.id })
    expect(await read('/me/inbox')).to.include('The inbox has what happens to')
  })

  it('follows an organisation', async () => {
    const page = pageAt(node.org)
    expect(await read(page)).to.include('value="follow"')
    await send({ act: 'follow', org: node.org, back: 'https://evil.example/' })
    expect(await read(page)).to.include('value="unfollow"')
    expect((await send({ act: 'follow', org: node.org, back: '//evil.example/' })).headers.location).to.equal('/')
    expect((await send({ act: 'dance' })).status).to.equal(400)
  })

  it('shows a feed URL once', async () => {
    const { body } = await send({ act: 'feed' })
    expect(String(body)).to.match(/\/me\/inbox\.atom\?token=grv_feed_/)
    expect(await read('/me/inbox')).to.not.include('grv_feed_')
  })
})
