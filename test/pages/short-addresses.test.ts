/** Addresses of pages: words of the titles and the whole id, and the redirects from all other forms. */

import { randomBytes, randomInt } from 'node:crypto'
import { expect } from 'chai'
import { v4, v7 } from 'uuid'
import { idIn, segmentOf } from '../../server/base/page-segments.ts'
import { pageTable } from '../../server/pages/pages.ts'
import { pageRoutes } from '../../server/process/features.ts'
import { made } from '../support/cast.ts'
import { newNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Answer, type Client, client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { formsOf } from './forms.ts'

const zeros = '00000000-0000-0000-0000-000000000000'
const asPage = { accept: 'text/html' }

/** The oracle: base58 by long division of bytes, as Bitcoin has it, with zeros in front. */
function base58(id: string): string {
  const bytes = [...Buffer.from(id.replaceAll('-', ''), 'hex')]
  const digits: number[] = []
  while (digits.length < 22) {
    let rest = 0
    for (const [at, byte] of bytes.entries()) {
      bytes[at] = Math.floor((rest * 256 + byte) / 58)
      rest = (rest * 256 + byte) % 58
    }
    digits.unshift(rest)
  }
  return digits.map((digit) => '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'[digit]).join('')
}

function anyId(): string {
  return randomBytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const titles = [
  ...['', '!!!', 'Node', 'A-B', 'n', 'history', 'members', '🐋🐋', '../..', '%2F', 'a/b?c#d', '\u202Eevil', 'x\u0000y'],
  ...[
    'Кит и криль',
    '鯨はプランクトンを食べる',
    'مرحبا بالعالم',
    'Ǆungla ﬁne Ⅷ',
    'e\u0301te\u0301',
    'İstanbul',
    'ẞ',
    'किताब',
  ],
  ...[zeros, base58(v4()), `x ${base58(v4())}`, 'a'.repeat(500), 'word '.repeat(100), `${'鯨'.repeat(59)} x`],
]

describe('the segment of an address', () => {
  it('holds the whole id, whatever the title', () => {
    const some = [zeros, zeros.replaceAll('0', 'f'), zeros.replace(/0$/, '1'), v4(), v7()]
    const ids = [...some, ...Array.from({ length: 2_000 }, () => anyId())]
    const seen = new Set<string>()
    for (const id of ids) {
      const title = titles[randomInt(titles.length)] ?? ''
      const [short, segment] = [segmentOf(id), segmentOf(id, title)]
      expect(short, id).to.equal(base58(id))
      expect(short, id).to.have.length(22)
      expect([idIn(short), idIn(segment), idIn(id), idIn(id.toUpperCase())], `${id} ${title}`).to.deep.equal([
        ...[id, id, id, id],
      ])
      expect(idIn(encodeURIComponent(segment)), title).to.equal(id)
      seen.add(short)
    }
    expect(seen.size).to.equal(new Set(ids).size)
  })

  it('has words of any script, 60 characters at most, cut after a word', () => {
    const wordsOf = (title: string) => segmentOf(zeros, title).slice(0, -22)
    for (const title of titles) {
      expect([...wordsOf(title)].length, title).to.be.at.most(61)
      expect(wordsOf(title), title).to.match(/^([\p{L}\p{N}][\p{L}\p{M}\p{N}]*-)*$/u)
      expect(segmentOf(zeros, wordsOf(title)), title).to.equal(segmentOf(zeros, title))
    }
    expect(titles.slice(0, 3).map(wordsOf)).to.deep.equal(['', '', 'node-'])
    expect(wordsOf('Кит и криль')).to.equal('кит-и-криль-')
    expect(wordsOf('It’s “fine” — ok')).to.equal('its-fine-ok-')
    expect(wordsOf(`${'a'.repeat(50)} ${'b'.repeat(9)} c`)).to.equal(`${'a'.repeat(50)}-${'b'.repeat(9)}-`)
    expect(wordsOf(`${'a'.repeat(50)} ${'b'.repeat(10)}`)).to.equal(`${'a'.repeat(50)}-`)
    expect(wordsOf('a'.repeat(61))).to.equal(`${'a'.repeat(60)}-`)
  })

  it('has no id if its end is not one', () => {
    const id = v4()
    const short = base58(id)
    const wrong = [
      '',
      '-',
      'whales',
      short.slice(1),
      `x${short}`,
      `${short}-`,
      `${short} `,
      `whales_${short}`,
      `1${short}`,
    ]
    for (const digit of '0OIl+/ é') wrong.push(digit + short.slice(1))
    // The first is the id after the last one.
    for (const more of ['YcVfxkQb6JRzqk5kF2tNLw', 'z'.repeat(22), `a-${'z'.repeat(22)}`]) wrong.push(more)
    for (const segment of wrong) expect(idIn(segment), segment).to.equal(undefined)
    expect(idIn('YcVfxkQb6JRzqk5kF2tNLv')).to.equal(zeros.replaceAll('0', 'f'))
    expect(idIn(`whales-${'1'.repeat(22)}`)).to.equal(zeros)
  })

  it('is never the name of another page', () => {
    const paths = pageTable(pageRoutes).map(({ route }) => route.at)
    const names = paths.flatMap((path) => (path.startsWith('/o/{org}') ? path.split('/').slice(3) : []))
    const fixed = new Set(names.filter((name) => name !== '' && !name.startsWith('{')))
    expect([...fixed]).to.include.members(['members', 'settings', 'find', 'history', 'import', 'sitemap.xml'])
    for (const name of fixed) expect([name, idIn(name), name.length < 22]).to.deep.equal([name, undefined, true])
  })
})

describe('an old address', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: { readonly id: string; readonly name: string }
  let node: { readonly id: string; readonly title: string; readonly head: string }
  const anybody: Client['get'] = (path, headers) => client(grove).get(path, headers)
  const page = () => pageAt(org, node)
  const to = ({ status, headers }: Answer) => [status, headers.location]

  before(async () => {
    org = await made(ann.post('/orgs', { name: 'The Atlas', published: true }))
    node = await made(ann.post(`/orgs/${org.id}/nodes`, { title: 'Blue Whales', text_content: 'They are large.\n' }))
  })

  it.deep('leads in one step to the page, with its query', async () => {
    expect(page()).to.match(/^\/o\/the-atlas-[\w]{22}\/blue-whales-[\w]{22}$/)
    const [short, shortNode] = [segmentOf(org.id), segmentOf(node.id)]
    const olds = [
      `/o/${org.id}/n/${node.id}`,
      `/o/${org.id}/n/${node.id}/blue-whales`,
      `/o/${org.id}/n/${node.id}/fish`,
      `/o/${org.id}/n/${node.id}/%D0%BA`,
      `/o/${org.id.toUpperCase()}/n/${node.id.toUpperCase()}`,
      `/o/${org.id}/${node.id}`,
      `/o/${short}/n/${shortNode}`,
      `/o/${short}/${shortNode}`,
      `/o/${short}/${node.id}`,
      `/o/the-atlas-${short}/fish-${shortNode}`,
      `/o/fish-${short}/blue-whales-${shortNode}`,
      `/o/the-atlas-${short}/BLUE-whales-${shortNode}`,
    ]
    for (const old of olds)
      for (const query of ['', '?at=main', '?open=x&close=y%20z']) {
        expect(to(await anybody(old + query, asPage)), old).to.deep.equal([301, page() + query])
        expect((await anybody(page() + query, asPage)).status, old).to.equal(200)
      }
    for (const old of [org.id, org.id.toUpperCase(), short, `fish-${short}`]) {
      expect(to(await anybody(`/o/${old}?open=x`, asPage)), old).to.deep.equal([301, `${pageAt(org)}?open=x`])
    }
    expect((await anybody(pageAt(org), asPage)).status).to.equal(200)
  })

  it.deep('of another page leads to its new one, and words do not matter there', async () => {
    const below = ['/history?at=main', '/blame', `/commits/${node.head}`, '/proposals?status=all', '/subpages?filter=x']
    for (const rest of below) {
      for (const old of [`/o/${org.id}/n/${node.id}`, `/o/${org.id}/${node.id}`, `${pageAt(org)}/n/${node.id}`])
        expect(to(await ann.get(old + rest, asPage)), old + rest).to.deep.equal([301, page() + rest])
      for (const now of [page(), pageAt(org.id, node.id), pageAt({ ...org, name: 'x' }, { ...node, title: 'y' })])
        expect((await ann.get(now + rest, asPage)).status, now + rest).to.equal(200)
    }
    for (const rest of ['/find?q=x', '/graph', '/changes', '/subpages', '/changes.atom', '/sitemap.xml']) {
      expect(to(await anybody(`/o/${org.id}${rest}`, asPage)), rest).to.deep.equal([301, pageAt(org) + rest])
      for (const now of [pageAt(org), pageAt(org.id), pageAt({ ...org, name: 'x' })])
        expect((await anybody(now + rest, asPage)).status, rest).to.equal(200)
    }
  })

  it('takes forms as before', async () => {
    const send = await formsOf(grove, ann)
    const other = await made(ann.post(`/orgs/${org.id}/nodes`, { title: 'Krill', text_content: 'Small.\n' }))
    const fields = { head: other.head, title: 'Krill', text: 'Very small.\n', message: '', act: 'save' }
    const { status, headers } = await send(`/o/${org.id}/n/${other.id}/edit`, fields)
    expect([status, headers.location]).to.deep.equal([303, pageAt(org.id, other.id)])
    expect((await ann.get(`/orgs/${org.id}/nodes/${other.id}`)).body.text_content).to.equal('Very small.\n')
  })

  it('may be written in another way without a redirect to itself', async () => {
    const other = await made(ann.post(`/orgs/${org.id}/nodes`, { title: 'Été и кит' }))
    const at = pageAt(org, other)
    expect((await anybody(at, asPage)).status).to.equal(200)
    const lower = at.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
    const apart = `${pageAt(org)}/${encodeURIComponent(decodeURIComponent(at.split('/')[3] ?? '').normalize('NFD'))}`
    expect(new Set([at, lower, apart]).size).to.equal(3)
    for (const same of [lower, apart, at.replace('-', '%2D')])
      expect((await anybody(same, asPage)).status, same).to.equal(200)
  })

  it('leads to the new title after a rename', async () => {
    const { id } = await made(ann.post(`/orgs/${org.id}/nodes`, { title: 'Otters' }))
    const before = pageAt(org, { id, title: 'Otters' })
    expect((await anybody(before, asPage)).status).to.equal(200)
    await made(ann.patch(`/orgs/${org.id}/nodes/${id}`, { title: 'History' }))
    expect(to(await anybody(before, asPage))).to.deep.equal([301, pageAt(org, { id, title: 'History' })])
    expect((await readPage({ get: anybody }, before)).body).to.match(/<h1[^>]*>History<\/h1>/)
    await made(ann.patch(`/orgs/${org.id}/nodes/${id}`, { title: '🐋' }))
    expect(to(await anybody(before, asPage))).to.deep.equal([301, pageAt(org, id)])
    await ann.delete(`/orgs/${org.id}/nodes/${id}`)
    expect(to(await anybody(before, asPage))).to.deep.equal([404, undefined])
  })

  it('shows no title to those who may not read it', async () => {
    const bob = await signUp(grove, 'Bob')
    const secret = await made(ann.post('/orgs', { name: 'Hidden Reef' }))
    const { id } = await made(ann.post(`/orgs/${secret.id}/nodes`, { title: 'Sunken gold' }))
    for (const path of [
      ...[`/o/${secret.id}`, `/o/${secret.id}/n/${id}`, `/o/${secret.id}/n/${id}/x`, `/o/${secret.id}/n/${id}/history`],
      ...[pageAt(secret.id), pageAt(secret.id, id), `${pageAt(secret.id)}/find`, `/o/${secret.id}/changes.atom`],
      ...[`/o/${org.id}/n/${id}`, pageAt(org.id, id)],
    ])
      for (const [who, get] of [
        ['anybody', anybody],
        ['Bob', bob.get],
      ] as const) {
        const { status, headers, body } = await get(path, asPage)
        expect(headers.location, `${who} ${path}`).to.equal(undefined)
        expect(status, `${who} ${path}`).to.be.oneOf([401, 403, 404])
        expect(body.replaceAll(/hidden-reef|Hidden Reef|sunken|Sunken/g, 'SHOWN'), `${who} ${path}`).to.not.contain(
          'SHOWN',
        )
      }
    const rest = await anybody(`/orgs/${secret.id}`)
    expect((await anybody(`/o/${secret.id}`, asPage)).status).to.equal(rest.status)
    expect((await bob.get(`/o/${secret.id}/n/${id}`, asPage)).status).to.equal(
      (await bob.get(`/orgs/${secret.id}`)).status,
    )
    expect(to(await ann.get(`/o/${secret.id}/n/${id}`, asPage))).to.deep.equal([
      ...[301, pageAt(secret, { id, title: 'Sunken gold' })],
    ])
  })

  it('that ends in no id is no page', async () => {
    const { id } = await newNode(grove, ann)
    const short = segmentOf(id)
    const wrong = [`/o/${'z'.repeat(22)}`, `/o/the-atlas-${'z'.repeat(22)}/find`, `/o/atlas`, `/o/${short.slice(1)}`]
    for (const tail of ['z'.repeat(22), short.slice(1), `x${short}`, `${short}-`, 'whales', 'n', `n/${short.slice(1)}`])
      wrong.push(`${pageAt(org)}/${tail}`, `${pageAt(org)}/${tail}/history`)
    for (const path of [
      ...wrong,
      `${page()}/nope`,
      `${page()}/x/y`,
      `/o/${org.id}/n/${node.id}/x/y`,
      `/o/n/${node.id}`,
    ]) {
      const { status, body } = await ann.get(path, asPage)
      expect(status, path).to.equal(404)
      expect(body, path).to.contain('<h1>Not found</h1>')
    }
  })
})

describe('a new address', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { publicUrl: 'https://docs.example/wiki' })

  it('is in all that names a page, behind a proxy with a prefix', async () => {
    const org = await made(ann.post('/orgs', { name: 'Atlas', published: true }))
    const node = await made(ann.post(`/orgs/${org.id}/nodes`, { title: 'Whales', text_content: 'Large.\n' }))
    const [home, page] = [pageAt(org), pageAt(org, node)]
    const old = await client(grove).get(`/o/${org.id}/n/${node.id}?at=main`, asPage)
    expect([old.status, old.headers.location]).to.deep.equal([301, `/wiki${page}?at=main`])
    const wrong = await client(grove).get(pageAt(org, { ...node, title: 'Fish' }), asPage)
    expect([wrong.status, wrong.headers.location]).to.deep.equal([301, `/wiki${page}`])
    const { status, body } = await client(grove).get(page, asPage)
    expect(status).to.equal(200)
    const url = `https://docs.example/wiki${page}`
    for (const said of [
      ...[`<link rel="canonical" href="${url}"/>`, `<meta property="og:url" content="${url}"/>`, `"url":"${url}"`],
      ...[`"url":"https://docs.example/wiki${home}"`, `data-copy-link="${url}"`, `href="/wiki${page}/history"`],
      `href="/wiki/sign-in?next=${encodeURIComponent(`/wiki${page}`)}"`,
    ])
      expect(body, said).to.contain(said)
    expect(body).to.not.match(/\/o\/[\da-f]{8}-/)
    const feed = (await client(grove).get(`${home}/changes.atom`)).body
    expect(feed).to.contain(`<link href="${url}"/>`).and.contain(`<link href="https://docs.example/wiki${home}"/>`)
    // Readers know the entries by these ids, which are the first addresses.
    expect(feed).to.contain(`<id>https://docs.example/wiki/o/${org.id}/n/${node.id}</id>`)
    expect(feed).to.contain(`<id>https://docs.example/wiki/o/${org.id}</id>`)
    const sitemap = (await client(grove).get(`${home}/sitemap.xml`)).body
    expect(sitemap).to.contain(`<loc>${url}</loc>`).and.contain(`<loc>https://docs.example/wiki${home}</loc>`)
  })

  it.deep('is that of every link on a page whose title is known there', async () => {
    const org = await made(ann.post('/orgs', { name: 'Sea', published: true }))
    const add = (title: string, more: object = {}) => made(ann.post(`/orgs/${org.id}/nodes`, { title, ...more }))
    const top = await add('Top', { text_content: '[[Deep]]\n' })
    const deep = await add('Deep', { parents: [top.id], text_content: 'See [[Top]], ![[Top]].\n\n![[Top]]\n' })
    const send = await formsOf(grove, ann)
    expect(
      (
        await send(`${pageAt(org, top)}/edit`, {
          head: top.head,
          title: 'Top',
          text: '[[Deep]]!\n',
          message: '',
          act: 'propose',
        })
      ).status,
    ).to.equal(303)
    const titles = new Map([top, deep].map(({ id, title }) => [id, title]))
    for (const path of [
      ...[pageAt(org), pageAt(org, top), pageAt(org, deep), `${pageAt(org)}/changes`, `${pageAt(org)}/find?q=top`],
      ...['/find', '/graph', '/proposals', '/subpages', '/trash', '/members', '/new', '/settings/general'].map(
        (rest) => pageAt(org) + rest,
      ),
      ...['/history', '/blame', '/edit', '/settings', '/proposals', '/subpages', '/proposals/1'].map(
        (rest) => pageAt(org, top) + rest,
      ),
    ]) {
      const { status, body } = await ann.get(path, asPage)
      expect(status, path).to.equal(200)
      const links = [...body.matchAll(/(?:href|action)="\/wiki\/o\/([^/"?#]+)(?:\/([^/"?#]+))?/g)]
      expect(links.length, path).to.be.above(3)
      for (const [link, first = '', second = ''] of links) {
        expect(first, `${path} ${link}`).to.equal(segmentOf(org.id, 'Sea'))
        const id = idIn(second)
        if (id !== undefined) expect(second, `${path} ${link}`).to.equal(segmentOf(id, titles.get(id)))
      }
    }
  })
})
