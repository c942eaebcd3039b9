/** Opening a page of the service reads the items of the inbox about it. */
import { expect } from 'chai'
import { markOpened } from '../../server/pages/unread.ts'
import { sendForm } from '../pages/forms.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { edit, follow, page } from './scene.ts'

describe('opening a page', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'editor' }, { sweeps: false })
  let cookie = ''
  let node: TestNode
  let other: TestNode
  before(async () => {
    const { headers } = await sendForm(grove, '/sign-in', { email: bob.user.email, password })
    cookie = headers['set-cookie']?.split(';')[0] ?? ''
  })
  beforeEach(async () => {
    node = await ann.node()
    other = await ann.node({ title: 'Krill' })
    for (const one of [node, other]) await follow(bob, one)
    await bob.put('/inbox-mark', { cursor: (await page(bob)).now }).then(expecting(204))
    for (const one of [node, other]) await edit(ann, one, 'Changed')
  })

  const open = async (path: string, mode = 'navigate') => {
    const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': mode }
    return String((await readPage(client(grove), path, headers)).body)
  }
  const numberIn = (text: string) => /<title>\((\d+)\)/.exec(text)?.[1]
  const about = async () => (await bob.api.listUnread()).items.map(({ node_id, number }) => [node_id, number])

  it('reads what is about it, and shows the number that is left', async () => {
    expect(numberIn(await open('/'))).to.equal('2')
    expect(numberIn(await open(pageAt(node.org, node.id)))).to.equal('1')
    expect(await about()).to.deep.equal([[other.id, undefined]])
    expect(numberIn(await open(`${pageAt(other.org, other.id)}/history`))).to.equal(undefined)
    expect(await about()).to.deep.equal([])
    const marks = grove.deps.credentials.read.selectFrom('inbox_mark').select('read_items')
    const mark = await marks.where('org_id', '=', ann.org).executeTakeFirst()
    expect(mark?.read_items).to.equal('[]')
  })

  it('reads a proposal, which an operation and a script do not', async () => {
    await node.proposal('draft')
    const { number } = await node.open('draft', { reviewers: [bob.user.id] })
    const path = `${pageAt(node.org, node.id)}/proposals/${number}`
    await bob.get(`${node.at}/pull-requests/${number}`).then(expecting(200))
    await open(path, 'cors')
    expect(await about()).to.deep.include([node.id, number])
    await open(path)
    expect(await about()).to.deep.equal([
      [other.id, undefined],
      [node.id, undefined],
    ])
  })

  it('reads a proposal that the reader merges', async () => {
    await node.proposal('draft')
    const { number } = await node.open('draft', { reviewers: [bob.user.id] })
    const path = `${pageAt(node.org, node.id)}/proposals/${number}`
    const { pr } = (await bob.get(`${node.at}/pull-requests/${number}`)).body
    const { headers } = await sendForm(
      grove,
      path,
      { act: 'merge', commit: pr.source_commit, target: 'main' },
      { cookie },
    )
    expect(await about()).to.deep.include([node.id, number])
    await open(String(headers.location).replace(grove.url, ''))
    expect(await about()).to.not.deep.include([node.id, number])
  })

  it('leaves unread what happens after it began to read', async () => {
    for (const one of [node, other]) {
      const unread = await bob.api.listUnread()
      await edit(ann, one, 'Once more')
      const visit = { api: bob.api, params: { org: one.org, node: one.id }, unread }
      const left = await markOpened(visit as unknown as Parameters<typeof markOpened>[0]) // it reads nothing else
      expect(left?.items).to.have.length(unread.items.length - 1)
      expect(await about()).to.deep.include([one.id, undefined])
      await open(pageAt(one.org, one.id))
      expect(await about()).to.not.deep.include([one.id, undefined])
    }
  })

  it('reads nothing if it is refused, or leads to another URL', async () => {
    const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    const { status } = await client(grove).get(pageAt(node.org, node.id), headers)
    expect(status).to.equal(301)
    expect(await about()).to.have.length(2)
  })
})
