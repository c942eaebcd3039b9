/** The facts around a node's text, and on pages of rules and results, are true. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('a page says what holds', () => {
  const { grove, ann, ben } = useWorld({ ann: 'owner', ben: 'stranger' })
  let org: string

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    await made(ann.put(`/orgs/${org}/members/${ben.user.email}`, { role: 'maintainer' }))
  })

  const add = (body: object): Promise<Answer['body']> => made(ann.post(`/orgs/${org}/nodes`, body))
  const commit = (who: PersonClient, id: string, branch: string, path: string, content: string) =>
    made(
      who.post(`/orgs/${org}/nodes/${id}/tree/${branch}/commits`, {
        message: `Change ${path}`,
        changes: [{ action: 'put', path, content }],
      }),
    )
  const page = async (path: string): Promise<string> => (await readPage(ann, path)).body
  const textOf = (html: string) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')

  it.deep('of the file of the text: each link to it leads to one', async () => {
    const bare = await add({ title: 'No text' })
    const head = bare.head as string
    const late = await add({ title: 'Once without' })
    await commit(ann, late.id, 'main', 'content.md', 'Now with text.\n')
    const readme = await add({ title: 'Read me' })
    await commit(ann, readme.id, 'main', 'README.md', 'By another name.\n')
    const ats = [`/${bare.id}`, `/${bare.id}?at=${head}`, `/${late.id}?at=${late.head}`, `/${late.id}`, `/${readme.id}`]
    const found = await Promise.all(
      ats.map(async (at) => {
        const links = [...(await page(`${pageAt(org)}${at}`)).matchAll(/href="([^"]*\/raw\/(?:content|README)\.md)"/g)]
        for (const [, href = ''] of links) await client(grove).get(href).then(expecting(200))
        return links.length
      }),
    )
    expect(found).to.deep.equal([0, 0, 0, 3, 3])
  })

  it('of who changed it, when and how often, at the revision that is shown', async () => {
    const { id, head } = await add({ title: 'Whales', text_content: 'One.\n' })
    await commit(ann, id, 'main', 'content.md', 'Two.\n')
    await made(ann.post(`/orgs/${org}/nodes/${id}/branches`, { name: 'better' }))
    await commit(ben, id, 'better', 'content.md', 'Three.\n')
    const meta = async (at = '') =>
      textOf(
        (await page(`${pageAt(org, id)}${at}`)).match(
          /class="meta">([\s\S]*?)<h|class="meta">([\s\S]*?)class="prose"/,
        )?.[0] ?? '',
      )
    expect(await meta()).to.match(/Ann edited this on \d{1,2} [A-Z][a-z]+ \d{4} 2 versions/)
    expect(await meta('?at=better')).to.match(/Ben edited this on [\w ]+ 3 versions/)
    expect(await meta(`?at=${head}`))
      .to.match(/Ann edited this/)
      .and.not.match(/commits/)
    const shown = await page(`${pageAt(org, id)}?at=better`)
    expect(shown)
      .to.contain('You are viewing')
      .and.contain(`${pageAt(org, id)}/blame?at=better"`)
    expect(textOf(await page(`${pageAt(org, id)}/history?at=better`))).to.contain('3 versions on better')
    expect(textOf(await page(`${pageAt(org, id)}/blame?at=better`))).to.contain('Three.')
    expect(textOf(await page(`${pageAt(org, id)}/history`))).to.match(/2 versions(?! on)/)
  })

  it('of a head: one line of facts, one of tags, and the URL to clone on demand', async () => {
    const { id, clone_url } = await add({ title: 'Fin whale', text_content: 'Long.', tags: ['sea', 'fins'] })
    const shown = await page(pageAt(org, id))
    const [, facts, tags] = /class="meta">([\s\S]*?)<\/div><div class="page-tags">([\s\S]*?)<\/div>/.exec(shown) ?? []
    expect(textOf(facts ?? '').trim()).to.match(/^Ann edited this .* Authors$/)
    expect(textOf(tags ?? '').trim()).to.equal('sea fins')
    const [, folded = ''] = /<details class="downloads">([\s\S]*?)<\/details>/.exec(shown) ?? []
    expect(textOf(folded))
      .to.match(/^ Download or clone .* git clone /)
      .and.to.contain(clone_url)
  })

  it('of a missing text: those who may write one get a link to the editor', async () => {
    const cy = await signUp(grove, 'Cy')
    await made(ann.put(`/orgs/${org}/members/${cy.user.email}`, { role: 'reader' }))
    const empty = await add({ title: 'Empty' })
    const folder = await add({ title: 'Folder' })
    await add({ title: 'In it', parents: [folder.id] })
    const full = await add({ title: 'Full', text_content: 'Words.\n' })
    const seen = async (who: Pick<PersonClient, 'get'>, id: string, query = '') => {
      const { body } = await readPage(who, `${pageAt(org, id)}${query}`)
      const note = /<p class="why">(?:This page has no text yet\.| <a)[\s\S]*?<\/p>/.exec(body)?.[0]
      return note && { note: textOf(note).trim(), to: /href="([^"]*)"/.exec(note)?.[1] }
    }
    const offer = (id: string) => ({
      note: 'This page has no text yet. Write something',
      to: `${pageAt(org, id)}/edit`,
    })
    const only = { note: 'This page has no text yet.', to: undefined }
    for (const who of [ann, ben])
      expect([await seen(who, empty.id), await seen(who, folder.id), await seen(who, full.id)]).to.deep.equal([
        offer(empty.id),
        { note: 'Write a text', to: `${pageAt(org, folder.id)}/edit` },
        undefined,
      ])
    for (const who of [cy, client(grove)])
      expect([await seen(who, empty.id), await seen(who, folder.id)]).to.deep.equal([only, undefined])
    expect(await seen(ann, empty.id, `?at=${empty.head}`)).to.deep.equal(only)
    expect(await page(pageAt(org, folder.id))).to.match(/<ul class="tiles"><li class="card"><a [^>]*>In it/)
    expect((await page(`${pageAt(org, empty.id)}/edit`)).match(/<h1[^>]*>/g)).to.have.length(1)
  })

  it('of its files and of links to its own blocks, by short names', async () => {
    const { id } = await add({ title: 'Files', text_content: 'One. ^one\n\nSee [[#^one]].\n' })
    await commit(ann, id, 'main', 'a/deep/folder/map.txt', 'x')
    const body = await page(pageAt(org, id))
    expect(body).to.match(/title="a\/deep\/folder\/map\.txt">(?:<svg.*?<\/svg>)?<span>map\.txt<\/span>/)
    expect(body).to.include('href="#block-one">^one</a>')
  })

  it('of its neighbours: the drawing has each once, with an arrow for each way', async () => {
    const { id } = await add({ title: 'Centre' })
    for (const [title, ways] of [
      ['Both', 2],
      ['Only to', 1],
    ] as const) {
      const other = await add({ title })
      await made(ann.post(`/orgs/${org}/nodes/${id}/connections`, { target: other.id, type: 'links_to' }))
      if (ways === 2)
        await made(ann.post(`/orgs/${org}/nodes/${other.id}/connections`, { target: id, type: 'links_to' }))
    }
    const drawing = /<svg class="local"[\s\S]*?<\/svg>/.exec(await page(pageAt(org, id)))?.[0] ?? ''
    const drawn = [...drawing.matchAll(/<g>(.*?)<\/g>/gs)].map(([, part = '']) => [
      textOf(part).trim(),
      part.match(/marker-(start|end)=/g)?.length,
    ])
    expect(drawn).to.deep.equal([
      ['Both', 2],
      ['Only to', 1],
    ])
  })

  it('of proposals, also when none is open', async () => {
    const { id } = await add({ title: 'Seals', text_content: 'Seals.\n' })
    const proposals = async () => (await page(pageAt(org, id))).match(/href="([^"]*\/proposals[^"]*)"/)?.[1]
    expect(await proposals()).to.equal(undefined)
    await made(ann.post(`/orgs/${org}/nodes/${id}/branches`, { name: 'more' }))
    await commit(ben, id, 'more', 'content.md', 'More seals.\n')
    await made(ben.post(`/orgs/${org}/nodes/${id}/pull-requests`, { source_branch: 'more', title: 'More seals' }))
    expect(await proposals()).to.equal(`${pageAt(org, id)}/proposals`)
    await made(ann.post(`/orgs/${org}/nodes/${id}/pull-requests/1/merge`, {}))
    expect(await proposals()).to.equal(`${pageAt(org, id)}/proposals?status=all`)
    expect(await page(`${pageAt(org, id)}/proposals?status=all`)).to.contain('More seals')
  })

  it('of the rule of proposals: it does not hold for new nodes', async () => {
    const { id } = await made(ann.post('/orgs', { name: 'Ruled', require_pull_requests: true }))
    expect(await page(`${pageAt(id)}/settings/general`)).to.contain(
      'A new page is published at once, unless a rule is for it.',
    )
    expect(await page(`${pageAt(id)}/new`)).to.contain('A new page is published at once.')
    expect(await page(`${pageAt(org)}/new`)).to.not.contain('A new page is published at once.')
  })

  it('of its properties, in their order, and hostile ones as text', async () => {
    const properties = {
      ...{ description: 'Shown as such.', source_path: 'A/b.md', status: 'draft', depth: 12.5, done: true },
      ...{ site: 'https://example.org/a?b=1', list: ['a', 'https://example.org/c'], nested: { a: [1] } },
      ...{ '<script>1</script>': '"><img src=x onerror=1>', run: 'javascript:alert(1)', void: null, none: [] },
    }
    const { id } = await add({ title: 'Properties', properties })
    const html = await page(pageAt(org, id))
    const shown = /<section class="properties"[\s\S]*?<\/section>/.exec(html)?.[0] ?? ''
    const rows = [...shown.matchAll(/<dt>([\s\S]*?)<\/dt>\s*<dd>([\s\S]*?)<\/dd>/g)]
    expect(rows.map(([, name = '', value = '']) => [name, textOf(value).trim()])).to.deep.equal([
      ['status', 'draft'],
      ['depth', '12.5'],
      ['done', 'yes'],
      ['site', 'https://example.org/a?b=1'],
      ['list', 'a , https://example.org/c'],
      ['nested', '{&quot;a&quot;:[1]}'],
      ['&lt;script>1&lt;/script>', '&quot;>&lt;img src=x onerror=1>'],
      ['run', 'javascript:alert(1)'],
      ['void', 'null'],
      ['none', '[]'],
    ])
    expect([...shown.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).to.deep.equal([
      'https://example.org/a?b=1',
      'https://example.org/c',
    ])
    expect(shown).to.contain('and 6 more').and.contain('rel="noopener nofollow"')
    const plain = await add({ title: 'None', properties: { description: 'Only this.' } })
    expect(await page(pageAt(org, plain.id))).to.not.contain('class="properties"')
  })

  it('of many and long properties, within bounds', async () => {
    const names = Array.from({ length: 150 }, (_, at) => `name ${at}`)
    const properties = { long: 'x'.repeat(5_000), ...Object.fromEntries(names.map((name) => [name, 'y'])) }
    const { id } = await add({ title: 'Many', properties })
    const html = await page(pageAt(org, id))
    const shown = /<section class="properties"[\s\S]*?<\/section>/.exec(html)?.[0] ?? ''
    expect(shown.match(/<dt>/g)).to.have.length(100)
    expect(shown)
      .to.contain(`${'x'.repeat(299)}…`)
      .and.contain('and 147 more')
      .and.contain('The page shows 100 of 151 properties.')
  })
})
