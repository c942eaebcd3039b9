/** The first minutes in Grove without scripts: the welcome, the empty organisation, and its example. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { startGrove } from '../support/grove.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { formsOf, sendForm } from './forms.ts'

const asPage = { accept: 'text/html' }
const mainOf = (body: string) => /<main[\s\S]*<\/main>/.exec(body)?.[0] ?? ''
/** Links and buttons by their labels, without icons. */
const actsIn = (html: string) =>
  [...html.matchAll(/<(?:a class="btn|button)[^>]*>([\s\S]*?)<\/(?:a|button)>/g)].map(([, label = '']) =>
    label.replace(/<svg[\s\S]*?<\/svg>/g, '').trim(),
  )

describe('the welcome of visitors', () => {
  const ways = {
    open: ['Create an account', 'Sign in'],
    invite: ['Join by invitation', 'Sign in'],
    closed: ['Sign in'],
  } as const
  for (const [signup, acts] of Object.entries(ways))
    it(`offers the way in that is open where sign-up is ${signup}`, async () => {
      const grove = await startGrove({ signup: signup as keyof typeof ways })
      const { body } = await client(grove).get('/', asPage)
      expect(actsIn(mainOf(body))).to.deep.equal(acts)
      expect(body).to.match(/<meta name="description" content="The wiki where assistants propose[^"]{20,}"/)
      expect(body.includes('Ask the operator for an account')).to.equal(signup === 'closed')
      await grove.close()
    })

  it('shows a picture for light and one for dark, and has at most 200 KB with either', async () => {
    const grove = await startGrove()
    const { body, headers } = await client(grove).get('/', asPage)
    const images = [...mainOf(body).matchAll(/<img [^>]*>/g)].map(([image]) => image)
    expect(images).to.have.length(2)
    for (const image of images)
      expect(image)
        .to.match(/ width="\d+"/)
        .and.match(/ height="\d+"/)
        .and.match(/ alt="[^"]{10,}"/)
        .and.match(/ loading="lazy"/)
    const sizeOf = async (path: string) => {
      const response = await fetch(grove.url + path)
      const bytes = (await response.arrayBuffer()).byteLength
      const type = response.headers.get('content-type')
      if (path.endsWith('.webp'))
        expect([type, response.headers.get('cache-control')]).to.deep.equal([
          'image/webp',
          'public, max-age=31536000, immutable',
        ])
      return Number(response.headers.get('content-length') ?? bytes)
    }
    const style = /href="([^"]*style[^"]*\.css)"/.exec(body)?.[1] ?? ''
    const css = await (await fetch(grove.url + style)).text()
    const fonts = [...css.matchAll(/[\w.-]*-wght-normal[\w.-]*\.woff2/g)].map(([name]) => `/assets/${name}`)
    const shared = [style, ...new Set(fonts), ...[...body.matchAll(/src="([^"]*\.js)"/g)].map(([, path = '']) => path)]
    let total = Number(headers['content-length'] ?? body.length)
    for (const path of shared) total += await sizeOf(path)
    const pictures = await Promise.all(images.map((image) => sizeOf(/src="([^"]*)"/.exec(image)?.[1] ?? '')))
    expect(fonts.length).to.be.at.least(2)
    expect(total + Math.max(...pictures)).to.be.at.most(200_000)
    await grove.close()
  })
})

describe('an organisation without pages', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string
  let people = 0

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Handbook' }))).id
  })

  const see = async (person: PersonClient | ReturnType<typeof client>, path = pageAt(org)) => {
    const { status, body } = await readPage(person, path, asPage)
    return { status, body, main: mainOf(body) }
  }
  const titles = async () =>
    (await made(ann.get(`/orgs/${org}/nodes?limit=200`))).nodes.map(({ title }: { title: string }) => title).sort()
  const memberOf = async (role: string) => {
    const person = await signUp(grove, `${role} ${++people}`)
    await made(ann.put(`/orgs/${org}/members/${person.user.email}`, { role }))
    return person
  }
  const create = async (person: PersonClient) => (await formsOf(grove, person))(`${pageAt(org)}/example`, {})

  it('is where a newcomer arrives after signing up, unless a page asked for it', async () => {
    const fields = { email: 'nora@example.org', name: 'Nora', password }
    const { status, headers } = await sendForm(grove, '/sign-up', { ...fields, next: '/' })
    const at = headers.location ?? ''
    expect([status, /^\/o\/\w{22}\?welcome$/.test(at)]).to.deep.equal([303, true])
    const cookie = headers['set-cookie']?.split(';')[0] ?? ''
    const { body } = await readPage(client(grove), at, { ...asPage, cookie, 'sec-fetch-site': 'same-origin' })
    expect(mainOf(body)).to.include('This is your own organisation').and.include('Write the first page')
    const other = await sendForm(grove, '/sign-up', { ...fields, email: 'olga@example.org', next: pageAt(org) })
    expect(other.headers.location).to.equal(pageAt(org))
  })

  it('offers three ways to begin to those who may create pages, and nothing else that is empty', async () => {
    const { body, main } = await see(ann)
    expect(actsIn(main)).to.deep.equal(['Write the first page', 'Import notes', 'Create the example'])
    for (const link of [`href="${pageAt(org)}/new"`, `href="${pageAt(org)}/import"`, `action="${pageAt(org)}/example"`])
      expect(main).to.include(link)
    for (const part of ['id="side"', 'class="mini"', 'Recent changes', '0 pages', 'Nothing here yet'])
      expect(body).to.not.include(part)
    for (const role of ['editor', 'maintainer', 'owner'])
      expect(actsIn((await see(await memberOf(role))).main), role).to.have.length(3)
  })

  it('says that nothing is there to all others', async () => {
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    const others = [client(grove), await memberOf('reader'), await memberOf('contributor')]
    for (const one of others) {
      const { main } = await see(one)
      expect(main).to.include('Nothing here yet.')
      expect(actsIn(main)).to.deep.equal([])
      expect(main).to.not.include('<form')
    }
  })

  it('offers no page to propose a change of', async () => {
    const offers = async () => (await see(ann, `${pageAt(org)}/proposals`)).main.includes('Choose a page to change')
    expect(await offers()).to.equal(false)
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales' }))
    expect(await offers()).to.equal(true)
  })

  it('greets those who join by their role', async () => {
    for (const [role, words] of [
      ['reader', 'You are a reader here.'],
      ['contributor', 'You are a contributor here.'],
      ['editor', 'You are an editor here.'],
      ['maintainer', 'You are a maintainer here.'],
    ] as const) {
      const person = await memberOf(role)
      expect((await see(person, `${pageAt(org)}?welcome`)).main).to.include(words)
      expect((await see(person)).main).to.not.include(words)
    }
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    expect((await see(client(grove), `${pageAt(org)}?welcome`)).main).to.not.include('here. ')
  })

  it('gets six linked pages by one form, and no second copy', async () => {
    const editor = await memberOf('editor')
    const send = await formsOf(grove, editor)
    const answers = await Promise.all([1, 2, 3].map(() => send(`${pageAt(org)}/example`, {})))
    for (const { status, headers } of answers) expect([status, headers.location]).to.deep.equal([303, pageAt(org)])
    const six = await titles()
    expect(six).to.have.length(6)
    expect((await create(editor)).status).to.equal(303)
    expect(await titles()).to.deep.equal(six)
  })

  it('has an example whose links all lead to a page, and whose pages are all reached from the first', async () => {
    await create(ann)
    const { nodes } = await made(ann.get(`/orgs/${org}/nodes`))
    const led = new Map<string, string[]>()
    for (const { id, title } of nodes) {
      const node = await made(ann.get(`/orgs/${org}/nodes/${id}`))
      const { links } = await made(ann.get(`/orgs/${org}/nodes/${id}/links`))
      expect(links.length, title).to.be.at.least(1)
      for (const link of links) expect([title, link.target, link.kind]).to.deep.equal([title, link.target, 'node'])
      const targets = links.map(({ node: to }: { node: { id: string } }) => to.id)
      const held = node.connections.filter(({ source }: { source: string }) => source === id)
      expect(new Set(held.map(({ target }: { target: string }) => target)), title).to.deep.equal(new Set(targets))
      led.set(id, targets)
    }
    const { nodes: roots } = await made(ann.get(`/orgs/${org}/tree`))
    expect(roots).to.have.length(1)
    const reached = new Set<string>([roots[0].id])
    for (const one of reached) for (const target of led.get(one) ?? []) reached.add(target)
    expect(reached.size).to.equal(6)
    const texts = await Promise.all(nodes.map(({ id }: { id: string }) => made(ann.get(`/orgs/${org}/nodes/${id}`))))
    const all = texts.map(({ text_content }) => text_content).join('\n')
    for (const part of ['|---|', '> [!tip]', 'Propose changes', '```']) expect(all).to.include(part)
    // The pages show them so.
    const shown = await see(ann)
    expect(shown.main)
      .to.include('Welcome to Grove')
      .and.include('class="callout tip"')
      .and.not.include('class="missing"')
  })

  it('can delete the example and create it again', async () => {
    await create(ann)
    for (const { id } of (await made(ann.get(`/orgs/${org}/nodes`))).nodes)
      expect((await ann.delete(`/orgs/${org}/nodes/${id}`)).status).to.equal(204)
    expect(await titles()).to.deep.equal([])
    expect((await create(ann)).status).to.equal(303)
    expect(await titles()).to.have.length(6)
  })

  it('adds no example to pages, and none for those who may not create pages', async () => {
    for (const role of ['reader', 'contributor'])
      expect((await create(await memberOf(role))).status, role).to.equal(403)
    expect((await create(await signUp(grove, 'Stranger'))).status).to.equal(404)
    expect((await sendForm(grove, `${pageAt(org)}/example`, {})).status).to.equal(401)
    expect((await client(grove).get(`${pageAt(org)}/example`, asPage)).status).to.equal(405)
    expect(await titles()).to.deep.equal([])
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Own' }))
    expect((await create(ann)).status).to.equal(303)
    expect(await titles()).to.deep.equal(['Own'])
  })
})
