/** Comparing any two versions of a page without script, with git as the oracle of how they are related. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('comparing two versions on pages', () => {
  const { grove, ann, rob } = useWorld({ ann: 'owner', rob: 'reader' })

  const html = { accept: 'text/html' }
  const pageOf = ({ org, id }: TestNode) => pageAt(org, id)
  const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()
  const compare = (node: TestNode, from: string, to: string, who = ann) =>
    readPage(who, `${pageOf(node)}/compare?${query({ from, to })}`)
  const textOf = (body: string) => body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
  const noticeOf = (body: string) => textOf(/class="notice">(.*?)<\/p>/s.exec(body)?.[1] ?? '').trim()
  const wrongs = (body: string) => [...body.matchAll(/class="wrong"[^>]*>([^<]*)</g)].map(([, says]) => says)
  const valuesOf = (body: string) =>
    Object.fromEntries(
      [...body.matchAll(/<input[^>]*name="(from|to)"[^>]*>/g)].map(([input, name]) => [
        name,
        /value="([^"]*)"/.exec(input)?.[1] ?? '',
      ]),
    )
  const hrefs = (body: string, end: RegExp) =>
    [...body.matchAll(/href="([^"]*)"/g)]
      .map(([, href = '']) => href.replaceAll('&amp;', '&'))
      .filter((href) => end.test(href))
  const filesOf = (body: string) =>
    [...body.matchAll(/<section class="card"><header><h2>([^<]+)<\/h2>/g)].map(([, name = '']) => name)

  /** A node whose main and side branch have parted, with a tag and a branch without common history. */
  const aHistory = async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales are large.\n' })
    const first = node.git.head()
    const second = await node.commit(
      'main',
      { 'content.md': 'Whales are huge.\n', 'notes.md': 'A note.\n' },
      'Say huge',
    )
    await node.branch('side')
    await node.commit('side', { 'side.md': 'Aside.\n' }, 'Step aside')
    const third = await node.commit('main', { 'content.md': 'Whales are vast.\n' }, 'Say vast')
    node.git.say('tag', 'v1', second)
    node.git.point('alien', node.git.commit({ files: { 'alien.md': 'alien' } }))
    return { node, first, second, third }
  }

  it('begins in the history: two columns, the first and the last version chosen, sent by a form', async () => {
    const { node, first, second, third } = await aHistory()
    const { body } = await readPage(ann, `${pageOf(node)}/history`)
    const form = /<form class="picking" action="([^"]*)"/.exec(body)
    expect(form?.[1]).to.equal(`${pageOf(node)}/compare`)
    const radios = [...body.matchAll(/<input type="radio" name="(\w+)" value="(\w+)"([^>]*)>/g)]
    expect(radios.map(([, side, id]) => [side, id])).to.deep.equal(
      [third, second, first].flatMap((id) => [
        ['from', id],
        ['to', id],
      ]),
    )
    const chosen = radios.filter(([, , , rest = '']) => rest.includes('checked')).map(([, side, id]) => [side, id])
    expect(chosen).to.deep.equal([
      ['to', third],
      ['from', first],
    ])
    for (const [, , , rest = ''] of radios) expect(rest).to.match(/aria-label="Compare (from|to): .+, [0-9a-f]{8}"/)
  })

  it('is not offered in a history of one version', async () => {
    const node = await newNode(grove, ann, { text_content: 'Once.\n' })
    const { body } = await readPage(ann, `${pageOf(node)}/history`)
    expect(body).to.not.include('type="radio"').and.not.include('class="picking"')
  })

  /** Files that pages edit, by the words that pages show. */
  const words: Readonly<Record<string, string>> = { 'content.md': 'Text', 'node.json': 'Title, tags and properties' }

  it.deep('says who made both, how far apart they are, and what differs, as git does', async () => {
    const { node, first } = await aHistory()
    const names = ['main', 'side', 'v1', 'alien', first]
    const { git } = node
    for (const from of names)
      for (const to of names) {
        const { status, body } = await compare(node, from, to)
        const [ahead, behind] = [`${from}..${to}`, `${to}..${from}`].map((range) => git.lines('rev-list', range).length)
        const says = noticeOf(body)
        const of = `${from} to ${to}: ${says}`
        expect(status, of).to.equal(200)
        const commits = (count = 0) => `${count} commit${count === 1 ? '' : 's'}`
        if (ahead === 0 && behind === 0) expect(says, of).to.equal('These are the same version.')
        else if (behind === 0) expect(says, of).to.equal(`The second version is ${commits(ahead)} later.`)
        else if (ahead === 0) expect(says, of).to.equal(`The second version is ${commits(behind)} earlier.`)
        else if ([from, to].includes('alien')) expect(says, of).to.match(/no common history.*compared directly/)
        else
          expect(says, of).to.match(
            new RegExp(
              `diverged.*the first has ${commits(behind)} and the second has ${commits(ahead)}.*compared directly`,
            ),
          )
        const differing = git.lines('diff', '--name-only', '--no-renames', from, to).map((path) => words[path] ?? path)
        expect(
          filesOf(body)
            .filter((name) => !/^(From|To)$/.test(name))
            .sort(),
          of,
        ).to.deep.equal(differing.sort())
        for (const name of [from, to]) {
          const [author = '', message = ''] = git.say('log', '-1', '--format=%an%n%s', name).split('\n')
          expect(textOf(body), of).to.include(author).and.include(message)
        }
      }
    const { body } = await compare(node, first, 'main')
    expect(body).to.include('<del>large</del>').and.include('<ins>vast</ins>')
  })

  it('shows the links that come and go', async () => {
    const { node, first } = await aHistory()
    const krill = await newNode(grove, ann, { title: 'Krill' })
    await made(ann.post(`${node.at}/connections`, { id: 'eats', target: krill.id, type: 'feeds_on' }))
    expect(textOf((await compare(node, first, 'main')).body)).to.match(/1 link added.*now feeds on Krill/)
    expect(textOf((await compare(node, 'main', first)).body)).to.match(/1 link removed.*no longer feeds on Krill/)
  })

  it('swaps the versions by the names that were given', async () => {
    const { node } = await aHistory()
    const { body } = await compare(node, 'v1', 'side')
    const [swap] = hrefs(body, /\/compare\?/)
    expect(swap).to.equal(`${pageOf(node)}/compare?${query({ from: 'side', to: 'v1' })}`)
    expect(valuesOf((await ann.get(swap ?? '', html)).body)).to.deep.equal({ from: 'side', to: 'v1' })
  })

  it('offers to restore what main has had, to those who may write', async () => {
    const { node, first, second } = await aHistory()
    const restores = async (from: string, to: string, who = ann) =>
      hrefs((await compare(node, from, to, who)).body, /\/restore$/)
    const restore = (id: string) => `${pageOf(node)}/commits/${id}/restore`
    expect(await restores(first, 'v1')).to.deep.equal([restore(first), restore(second)])
    // The current version, and versions that main never had, cannot be restored.
    expect(await restores(first, 'main')).to.deep.equal([restore(first)])
    expect(await restores('side', 'main')).to.deep.equal([])
    expect(await restores(first, 'v1', rob)).to.deep.equal([])
  })

  it('keeps names that it does not know in the form, and says which', async () => {
    const { node, first } = await aHistory()
    const foreign = (await newNode(grove, ann, {})).git.head()
    for (const name of ['nowhere', 'f'.repeat(40), foreign, '<b"', 'x'.repeat(300), 'main~1', '..', 'abcdef0'])
      for (const [from, to] of [
        [name, 'main'],
        ['main', name],
      ] as const) {
        const { status, body } = await compare(node, from, to)
        expect([status, wrongs(body).length], name).to.deep.equal([404, 1])
        expect(body, name).to.include('aria-invalid')
        const said = name === '<b"' ? '&lt;b&quot;' : name.slice(0, 200)
        expect(valuesOf(body)[from === name ? 'from' : 'to'], name).to.satisfy((value: string) =>
          value.startsWith(said),
        )
      }
    expect(wrongs((await compare(node, 'nowhere', 'neither')).body)).to.have.length(2)
    // At least 7 characters of a commit of main name it.
    expect(noticeOf((await compare(node, first.slice(0, 7), 'main')).body)).to.equal(
      'The second version is 2 commits later.',
    )
  })

  it('asks for both names if it has none, and takes the current version for the second', async () => {
    const { node, first } = await aHistory()
    const empty = await readPage(ann, `${pageOf(node)}/compare`)
    expect([empty.status, valuesOf(empty.body), wrongs(empty.body)]).to.deep.equal([200, { from: '', to: '' }, []])
    const half = await readPage(ann, `${pageOf(node)}/compare?from=${first}`)
    expect(valuesOf(half.body)).to.deep.equal({ from: first, to: 'main' })
  })

  it('is linked where an old version is read', async () => {
    const { node, first, third } = await aHistory()
    const link = `${pageOf(node)}/compare?${query({ from: first, to: 'main' })}`
    const linksOn = async (path: string) => hrefs((await readPage(ann, path)).body, /\/compare/)
    expect(await linksOn(`${pageOf(node)}/commits/${first}`)).to.deep.equal([link])
    expect(await linksOn(`${pageOf(node)}?at=${first}`)).to.deep.equal([link])
    expect(await linksOn(`${pageOf(node)}/commits/${third}`)).to.deep.equal([])
  })

  it('shows anonymous visitors of a published organisation what the API shows them, else nothing', async () => {
    const { node, first } = await aHistory()
    const path = `${pageOf(node)}/compare?${query({ from: first, to: 'main' })}`
    expect((await client(grove).get(path, html)).status).to.equal(401)
    await made(ann.patch(`/orgs/${node.org}`, { published: true }))
    const shown = await client(grove).get(path, html)
    expect([shown.status, hrefs(shown.body, /\/restore$/)]).to.deep.equal([200, []])
    await made(ann.patch(`/orgs/${node.org}`, { published: false }))
  })

  it('is 304 for a browser that has it, also after changes of other pages, until a branch moves', async () => {
    const { node, first } = await aHistory()
    const path = `${pageOf(node)}/compare?${query({ from: first, to: 'main' })}`
    const { headers } = await readPage(ann, path)
    const again = () => ann.get(path, { ...html, 'if-none-match': headers.etag ?? '' })
    expect((await again()).status).to.equal(304)
    await newNode(grove, ann, { title: 'Krill' })
    await grove.settled()
    expect((await again()).status).to.equal(304)
    await node.commit('main', { 'content.md': 'Whales are endless.\n' })
    expect((await again()).status).to.equal(200)
  })
})
