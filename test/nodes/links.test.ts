/** The links of a node's text: where each stands, and what it leads to. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

interface Told {
  line: number
  column: number
  form: string
  embeds: boolean
  text: string
  target: string
  kind: string
  node?: { id: string; title: string; heading?: string; block?: string }
  file?: { path: string; exists: boolean }
  reason?: string
  definition?: { label: string; line: number }
}

describe('the links of a text', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  const note = (source_path: string, fields: object = {}) =>
    newNode(grove, ann, { title: source_path, properties: { source_path }, ...fields })
  const answerOf = async ({ at }: TestNode, query = '') =>
    (await ann.get(`${at}/links${query}`).then(expecting(200))).body
  const linksOf = async (node: TestNode, query = ''): Promise<Told[]> => (await answerOf(node, query)).links
  const linksIn = async (text_content: string) => linksOf(await newNode(grove, ann, { text_content }))
  /** `line:column what stands there kind`. */
  const placed = (text: string, links: Told[]) =>
    links.map(({ line, column, kind }) => {
      const written = text.split(/\r\n|\r|\n/)[line - 1]?.slice(column - 1) ?? ''
      return `${line}:${column} ${written.split(/[ |]/)[0]} ${kind}`
    })

  it('are told with line, column, form, words, target and destination, in order', async () => {
    const rose = await note('x/Rose.md', { title: 'The rose' })
    const text = [
      '# A [heading](Rose.md#Top%20part) ##',
      '',
      'See [[Rose#Thorns|it]], [[Rose#^b1]] and ![[Rose]]. [a *b*](<x/Rose.md> "t")',
      '  😀 ![pic](p.png) ![gone](../q/gone.png) [r][Def] <https://a.example/x> https://b.example/y. [![i](p.png)](#own)',
      '[empty]() [up](../../../z) [[Nowhere]] <p href="Rose.md">x</p>   ',
      '',
      '[def]: ../x/Rose.md#Part "title"',
    ].join('\n')
    const node = await note('x/Note.md', { title: 'Note', text_content: text })
    await node.commit('main', { 'attachments/x/p.png': 'a picture' })
    const to = (anchor: object = {}) => ({ kind: 'node', node: { id: rose.id, title: 'The rose', ...anchor } })
    const blob = node.git.say('rev-parse', 'main:attachments/x/p.png')
    // It has the name of a picture, but the bytes of a text.
    const facts = { object_id: blob, size: 9, media_type: 'text/plain; charset=utf-8' }
    const picture = { kind: 'file', file: { path: 'attachments/x/p.png', exists: true, ...facts } }
    const link = (line: number, column: number, form: string, text: string, target: string, rest: object) => ({
      ...{ line, column, form, embeds: false, text, target },
      ...rest,
    })
    expect(await linksOf(node)).to.deep.equal([
      link(1, 5, 'inline', 'heading', 'Rose.md#Top%20part', to({ heading: 'Top part' })),
      link(3, 5, 'wikilink', 'it', 'Rose#Thorns', to({ heading: 'Thorns' })),
      link(3, 25, 'wikilink', '', 'Rose#^b1', to({ block: 'b1' })),
      link(3, 42, 'wikilink', '', 'Rose', { ...to(), embeds: true }),
      link(3, 53, 'inline', 'a b', 'x/Rose.md', to()),
      link(4, 6, 'inline', 'pic', 'p.png', { ...picture, embeds: true }),
      link(4, 20, 'inline', 'gone', '../q/gone.png', {
        ...{ kind: 'file', embeds: true, file: { path: 'attachments/q/gone.png', exists: false } },
      }),
      link(4, 43, 'reference', 'r', '../x/Rose.md#Part', {
        ...to({ heading: 'Part' }),
        definition: { label: 'DEF', line: 7 },
      }),
      link(4, 52, 'autolink', '', 'https://a.example/x', { kind: 'outside' }),
      link(4, 74, 'autolink', '', 'https://b.example/y', { kind: 'outside' }),
      link(4, 95, 'inline', 'i', '#own', { kind: 'node', node: { id: node.id, title: 'Note', heading: 'own' } }),
      link(4, 96, 'inline', 'i', 'p.png', { ...picture, embeds: true }),
      link(5, 1, 'inline', 'empty', '', { kind: 'missing', reason: 'empty' }),
      link(5, 11, 'inline', 'up', '../../../z', { kind: 'missing', reason: 'above_root' }),
      link(5, 28, 'wikilink', '', 'Nowhere', { kind: 'missing', reason: 'not_found' }),
      link(5, 43, 'html', '', 'Rose.md', to()),
    ])
  })

  it('are found in quotes, lists, tables, HTML and after every end of a line', async () => {
    const text = [
      '> - quote [[q1]]\r\n>   more [q2](q2.md)\r\n\r\n',
      '| [[a\\|words]] | b \\| [c](c.md) |\n|---|---|\n| x | [[d]] and [e](e.md) |\n\n',
      '> [[f]] | g\n> ---|---\n> h | [[i]]\n\n',
      'one\rtwo [[cr]]\n===\n\n',
      '<p><!-- <a href="no"> --><a href="raw.md">x</a>\n  <img src=\'i2.png\'></p>\n\n',
      'Foot[^1]\n\n[^1]: See [[foot]]\n\n\t[[code]]\n',
    ].join('')
    expect(placed(text, await linksIn(text))).to.deep.equal([
      '1:11 [[q1]] missing',
      '2:10 [q2](q2.md) missing',
      '4:3 [[a\\ missing',
      '4:23 [c](c.md) missing',
      '6:7 [[d]] missing',
      '6:17 [e](e.md) missing',
      '8:3 [[f]] missing',
      '10:7 [[i]] missing',
      '13:5 [[cr]] missing',
      '16:29 href="raw.md">x</a> missing',
      "17:8 src='i2.png'></p> file",
      '21:11 [[foot]] missing',
    ])
  })

  for (const [where, text] of [
    ['a code span', '`[[x]]` ``[x](x.md)``'],
    ['fenced code', '```\n[[x]]\n```\n~~~ a\n[x](x.md)\n~~~'],
    ['a comment of HTML', 'a <!-- [[x]] --> b\n\n<!--\n\n[[x]]\n-->'],
    ['a comment of Obsidian', 'a %% [[x]] %% b\n\n%%\n\n[[x]]\n\n%%\n'],
    ['front matter in YAML', '---\nup: "[[x]]"\n---\ntext'],
    ['front matter in TOML', '+++\n[[menus.main]]\nname = "a"\n+++\ntext'],
    ['a table of TOML', 'text\n\n[[menus.main]]\nname = "a"'],
    ['tags of shortcodes', '{{< ref "[[x]]" >}} {{% note [x](x.md) %}}'],
    ['escapes', '\\[[x]\\] \\[x](x.md)'],
  ])
    it(`are none in ${where}, and are some behind it`, async () => {
      const whole = `${text}\n\n[[y]]\n`
      const links = await linksIn(whole)
      expect(links.map(({ target, line, column }) => [target, line, column])).to.deep.equal([
        ['y', whole.split('\n').length - 1, 1],
      ])
    })

  it('are those of the revision, among the nodes of now', async () => {
    const node = await note('rev/Note.md', { text_content: '[[Early]] ![a](a.bin)' })
    const first = await node.commit('main', { 'attachments/rev/a.bin': 'a' })
    await node.branch('dev')
    await node.commit('dev', { 'content.md': '\n[[Late]]', 'attachments/rev/a.bin': null })
    const [early, late] = [await note('rev/Early.md'), await note('rev/Late.md')]
    const ids = async (query: string) => (await linksOf(node, query)).map(({ node, file }) => node?.id ?? file?.exists)
    expect(await ids('')).to.deep.equal([early.id, true])
    expect(await ids('?revision=dev')).to.deep.equal([late.id])
    await node.commit('main', { 'attachments/rev/a.bin': null })
    expect(await ids('')).to.deep.equal([early.id, false])
    expect(await ids(`?revision=${first}`)).to.deep.equal([early.id, true])
    expect((await ann.get(`${node.at}/links?revision=nowhere`)).body.code).to.equal('branch_not_found')
  })

  it('follow a title, a path and aliases that change, and say of a deleted node that it is missing', async () => {
    const target = await note('mv/Old.md', { title: 'Old' })
    const node = await note('mv/Note.md', { text_content: '[[Old]] [[Other name]]' })
    const told = async () => (await linksOf(node)).map(({ node, reason }) => node?.title ?? reason)
    expect(await told()).to.deep.equal(['Old', 'not_found'])
    await ann.patch(target.at, { title: 'Fresh' }).then(expecting(200))
    expect(await told()).to.deep.equal(['Fresh', 'not_found'])
    const properties = { source_path: 'mv/New.md', aliases: ['Other name'] }
    await ann.patch(target.at, { properties }).then(expecting(200))
    expect(await told()).to.deep.equal(['not_found', 'Fresh'])
    await ann.delete(target.at).then(expecting(204))
    expect(await told()).to.deep.equal(['not_found', 'not_found'])
  })

  it('lead to a connected node by its title, if no import was', async () => {
    const whale = await newNode(grove, ann, { title: 'Blue whale' })
    const node = await newNode(grove, ann, { text_content: '[w](<blue whale.md>) [[Red whale]]' })
    expect((await linksOf(node)).map(({ kind }) => kind)).to.deep.equal(['missing', 'missing'])
    await ann.post(`${node.at}/connections`, { target: whale.id }).then(expecting(201))
    expect((await linksOf(node)).map(({ node }) => node?.id)).to.deep.equal([whale.id, undefined])
  })

  it('never lead to a node of another organisation', async () => {
    const bob = await signUp(grove, 'Bob')
    const theirs = await newNode(grove, bob, { title: 'Secret', properties: { source_path: 'Secret.md' } })
    const node = await note('Spy.md', { text_content: `[[Secret]] [x](Secret.md) [[${theirs.id}]]` })
    const { links } = await answerOf(node)
    expect(links.map(({ kind }: Told) => kind)).to.deep.equal(['missing', 'missing', 'missing'])
    expect(JSON.stringify(links)).to.not.contain(`"id":"${theirs.id}"`)
  })

  it('are for members, and for anyone of what is published, only of main', async () => {
    const cleo = await signUp(grove, 'Cleo')
    const node = await newNode(grove, cleo, { text_content: '[[x]]' })
    await node.branch('dev')
    const stranger = await signUp(grove, 'Stranger')
    const anyone = client(grove)
    const statuses = async (query = '') => [
      (await anyone.get(`${node.at}/links${query}`)).status,
      (await stranger.get(`${node.at}/links${query}`)).status,
      (await cleo.get(`${node.at}/links${query}`)).status,
    ]
    expect(await statuses()).to.deep.equal([401, 404, 200])
    await cleo.patch(`/orgs/${cleo.org}`, { published: true }).then(expecting(200))
    expect(await statuses()).to.deep.equal([200, 200, 200])
    expect(await statuses('?revision=dev')).to.deep.equal([404, 404, 200])
    expect((await cleo.get(`/orgs/${cleo.org}/nodes/${randomUUID()}/links`)).status).to.equal(404)
  })

  it('lead to the first 200 aliases of a node, however often it has each', async () => {
    const aliases = ['also', ...Array(5_000).fill('also'), ...Array.from({ length: 200 }, (_, at) => `alias ${at}`)]
    const rose = await note('aliases/Rose.md', { properties: { source_path: 'aliases/Rose.md', aliases: 'Rosa,Rosa' } })
    const other = await note('aliases/Other.md', { properties: { source_path: 'aliases/Other.md', aliases } })
    const links = await linksIn('[[Rosa]] [[also]] [[alias 198]] [[alias 199]]')
    expect(links.map(({ node }) => node?.id)).to.deep.equal([rose.id, other.id, other.id, undefined])
  })

  it('have an ETag that changes with the text and with what it leads to', async () => {
    const node = await note('tag/Note.md', { text_content: '[[Later]]' })
    const asked = async () => (await ann.get(`${node.at}/links`)).headers.etag
    const first = await asked()
    expect([await asked(), await asked()]).to.deep.equal([first, first])
    await note('tag/Later.md')
    expect(await asked()).to.not.equal(first)
  })

  it('are empty without a commit or a text', async () => {
    const bare = await newNode(grove, ann, { initialize: false })
    expect(await answerOf(bare)).to.deep.equal({ node_id: bare.id, links: [], truncated: false })
    const { links, truncated } = await answerOf(await newNode(grove, ann))
    expect([links, truncated]).to.deep.equal([[], false])
  })

  it.deep('are 10,000 at most, of a text of 512 KiB, of blocks of 32,768 units', async () => {
    const many = await newNode(grove, ann, { text_content: '[[x]]\n\n'.repeat(10_001) })
    const { links, truncated } = await answerOf(many)
    expect([links.length, links.at(-1)?.line, truncated]).to.deep.equal([10_000, 19_999, true])
    const exact = await newNode(grove, ann, { text_content: '[[x]]\n\n'.repeat(10_000) })
    expect((await answerOf(exact)).truncated).to.equal(false)
    const long = await newNode(grove, ann, { text_content: `${'\n'.repeat(19_999)}[in](in)\r\n[out](out)\n` })
    const read = await answerOf(long)
    expect([read.links.map(({ line }: Told) => line), read.truncated]).to.deep.equal([[20_000], true])
    const deep = `${'> '.repeat(38)}[in](in)\n\n${'> '.repeat(60)}[out](out)\n`
    expect((await linksIn(deep)).map(({ target }) => target)).to.deep.equal(['in'])
    const block = await newNode(grove, ann, { text_content: `[[x]] ${'a'.repeat(32_768)}\n\n[[y]]` })
    const left = await answerOf(block)
    expect([left.links.map(({ target }: Told) => target), left.truncated]).to.deep.equal([['y'], true])
    const large = await newNode(grove, ann, { text_content: 'a'.repeat(524_289) })
    expect(await ann.get(`${large.at}/links`)).to.deep.include({ status: 413 })
    const repeated = await newNode(grove, ann, {
      text_content: `[a]: https://a.example/${'b'.repeat(3_000)}\n\n${'[a]\n\n'.repeat(5_000)}`,
    })
    const cut = await answerOf(repeated)
    expect([cut.links[0].target.length, cut.truncated]).to.deep.equal([2_000, true])
    expect(cut.links.length).to.be.within(1_000, 2_200)
  })
})
