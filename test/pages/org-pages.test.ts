/** The pages of an organisation without scripts: home text, tabs, recent changes and members. */

import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { linesOf, pageAt, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { mainOf, visitOf } from './forms.ts'

type Visitor = Pick<PersonClient, 'get'>

describe('the pages of an organisation', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let reader: PersonClient
  let org: string

  before(async () => {
    reader = await signUp(grove, 'Rita Reader')
  })
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await made(ann.put(`/orgs/${org}/members/${reader.user.email}`, { role: 'reader' }))
  })

  const see = async (visitor: Visitor, path = ''): Promise<Answer & { readonly main: string }> => {
    const answer = await readPage(visitor, `${pageAt(org)}${path}`)
    return { ...answer, main: /<main[\s\S]*<\/main>/.exec(answer.body)?.[0] ?? '' }
  }
  const add = async (title: string, text_content = '', more: object = {}): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content, ...more }))).id
  const addMany = (count: number, message: string) => {
    const nodes = Array.from({ length: count }, (_, at) => ({ title: `${message} ${at}`, message }))
    return made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
  }
  const wordsOf = (html: string) =>
    html
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  /** The groups of recent changes in words, without the pages that they contain. */
  const changesIn = (html: string) => {
    const list = /<section class="card org-changes">[\s\S]*?<\/section>/.exec(html)?.[0] ?? ''
    return linesOf(list).map(wordsOf)
  }

  describe('show as their home text', () => {
    const homeOf = async () => {
      const { main } = await see(reader)
      return /<article class="home-text" aria-label="([^"]*)"/.exec(main)?.[1]
    }

    it('the only root, if it has a text', async () => {
      const root = await add('Anything', 'It begins.')
      await add('Home', 'Not this.', { parents: [root] })
      expect(await homeOf()).to.equal('Anything')
      await made(ann.patch(`/orgs/${org}/nodes/${root}`, { text_content: ' \n' }))
      expect(await homeOf()).to.equal(undefined)
    })

    it('of several roots, the one named like the organisation, else Home, README or Index, in any case', async () => {
      await add('Zebras', 'Striped.')
      await add('Ants', 'Small.')
      expect(await homeOf()).to.equal(undefined)
      for (const title of ['index', 'Readme', 'HOME', 'aTLAS']) {
        await add(title, `This is ${title}.`)
        expect(await homeOf()).to.equal(title)
      }
    })

    it('none if two have that name, and the next name then', async () => {
      await add('Home', 'One.')
      await add('home', 'Two.')
      expect(await homeOf()).to.equal(undefined)
      await add('README', 'Read me.')
      expect(await homeOf()).to.equal('README')
    })

    it.deep('one of more roots than the tree shows', async () => {
      await addMany(205, 'A page')
      await add('README', 'Far down.')
      expect(await homeOf()).to.equal('README')
    })

    it('the one that an owner chose, wherever it is, until it is deleted', async () => {
      const home = await add('Home', 'By its title.')
      const chosen = await add('Guide', 'Chosen.', { parents: [home] })
      expect(await homeOf()).to.equal('Home')
      await made(ann.patch(`/orgs/${org}`, { home_node_id: chosen, published: true }))
      for (const visitor of [reader, client(grove)]) {
        const { main } = await see(visitor)
        expect(main)
          .to.match(/<article class="home-text" aria-label="Guide"[^>]*><h2>/)
          .and.include('Chosen.')
      }
      expect((await see(ann, `/${chosen}/settings`)).main).to.contain('because it was chosen in the settings')
      await made(ann.delete(`/orgs/${org}/nodes/${chosen}`))
      expect(await homeOf()).to.equal('Home')
      await made(ann.patch(`/orgs/${org}`, { home_node_id: null }))
      expect((await made(ann.get(`/orgs/${org}`))).home_node_id).to.equal(undefined)
      const other = await ann.patch(`/orgs/${org}`, { home_node_id: org })
      expect([other.status, other.body.detail[0].loc]).to.deep.equal([422, ['body', 'home_node_id']])
    })

    it('that the settings keep, and change to another page of the same title', async () => {
      const home = await add('Home')
      const [top, below] = [await add('Guide'), await add('Guide', '', { parents: [home] })]
      await made(ann.patch(`/orgs/${org}`, { home_node_id: below }))
      const { open, send } = await visitOf(grove, ann)
      const path = `${pageAt(org)}/settings/general`
      const formIn = async (query = '') => {
        const main = mainOf(await open(path + query))
        const radios = [
          ...main.matchAll(
            /<input type="radio" name="home" value(?:="([^"]*)")?( checked)?\/?><span>([\s\S]*?)<\/span>/g,
          ),
        ]
        return {
          main,
          radios: radios.map(([, id = '', checked, words = '']) => [id, checked !== undefined, wordsOf(words)]),
        }
      }
      const save = async (chosen: string) => {
        const { status, headers } = await send(path, { act: 'home', home: chosen })
        expect([status, headers.location]).to.deep.equal([303, `${path}?saved=home`])
        return (await made(ann.get(`/orgs/${org}`))).home_node_id
      }
      const { radios } = await formIn()
      expect(radios).to.deep.equal([
        ['', false, 'None'],
        [below, true, 'Guide'],
      ])
      expect(await save(below)).to.equal(below)
      const searched = await formIn('?home=guide')
      expect(searched.main).to.include('Several pages have the same title.')
      expect(searched.radios.slice(1)).to.have.deep.members([
        [top, false, 'Guide at the top'],
        [below, true, 'Guide below Home'],
      ])
      expect(await save(top)).to.equal(top)
      expect((await formIn('?home=home')).radios).to.deep.equal([
        ['', false, 'None'],
        [top, false, 'Guide'],
        [home, true, 'Home'],
      ])
      expect(await save('')).to.equal(undefined)
      expect((await formIn()).radios).to.deep.equal([])
    })

    it('with one title, first the text, and to readers without an account no changes and no map', async () => {
      await add('Atlas', 'All about it.')
      const below = await add('Whales')
      await made(ann.patch(`/orgs/${org}`, { published: true }))
      const [member, anyone] = [(await see(reader)).main, (await see(client(grove))).main]
      expect(member)
        .to.include('Recent changes')
        .and.not.match(/<article class="home-text"[^>]*><h2>/)
      expect(anyone).to.not.include('Recent changes').and.not.include('class="mini"')
      expect(anyone.split('All about it.')[1]).to.include(
        `<ul class="tiles"><li class="card"><a href="${pageAt(org, below)}">`,
      )
    })

    it('the beginning of a long one, with a link to the rest', async () => {
      await add('Long', `${'Word '.repeat(3_900)}\n\nThe middle.\n\n${'more '.repeat(9_000)}\n\nThe end.\n`)
      const { main } = await see(reader)
      expect(main).to.include('The middle.').and.include('Read the whole page').and.not.include('The end.')
    })

    it('nothing that runs, also from hostile names', async () => {
      const evil = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'&amp;'
      await made(ann.patch(`/orgs/${org}`, { name: evil, description: evil, published: true }))
      await add(evil, `# ${evil}\n\n${evil}\n\n[x](javascript:alert(1)) [[${'x'.repeat(900)}]]\n`)
      for (const path of ['', '?welcome', '/changes', '/members', '/proposals'])
        for (const visitor of [ann, client(grove)]) {
          const { status, body } = await see(visitor, path)
          expect([200, 401], path).to.include(status)
          expect(body, path).to.not.match(/<script>alert|<img src=x onerror|href="javascript:/)
        }
    })
  })

  describe('offer and explain a home page', () => {
    it('to those who may write one', async () => {
      const [zebras] = [await add('Zebras', 'Striped.'), await add('Ants', 'Small.')]
      const offer = `href="${pageAt(org)}/new?title=Home"`
      expect((await see(ann)).main).to.contain(offer)
      expect((await see(reader)).main).to.not.contain('Write a home page')
      const blank = await add('Home')
      expect((await see(ann)).main)
        .to.contain(`href="${pageAt(org, blank)}/edit"`)
        .and.not.contain(offer)
      expect((await see(ann, `/${blank}/settings`)).main).to.contain('because it is at the top and is called Home')
      await made(ann.patch(`/orgs/${org}/nodes/${blank}`, { text_content: 'Welcome.' }))
      expect((await see(ann)).main).to.not.contain('Write a home page')
      expect((await see(ann, `/${zebras}/settings`)).main).to.not.contain('This is the home page')
      for (const visitor of [ann, reader])
        expect((await see(visitor, '/settings/general')).main).to.contain('else the one called Home, README or Index')
    })

    it('with the reason', async () => {
      const root = await add('Anything', 'It begins.')
      expect((await see(ann, `/${root}/settings`)).main).to.contain('because it is the only page at the top')
      const named = await add('ATLAS', 'It begins.')
      expect((await see(ann, `/${named}/settings`)).main).to.contain('because it has the name of the organisation')
    })
  })

  describe('say what a commit was about', () => {
    it('with the titles of pages, and never with ids', async () => {
      const [whales, krill] = [await add('Whales', 'Big.'), await add('Krill <b>', 'Small.')]
      const node = `/orgs/${org}/nodes/${whales}`
      const { id } = await made(ann.post(`${node}/connections`, { target: krill, type: 'eats' }))
      await made(ann.put(`${node}/parents/${krill}`, {}))
      const shown = ['Link to Krill &lt;b>', 'Add the parent Krill &lt;b>']
      const { main } = await see(reader, `/${whales}/history`)
      for (const one of shown) expect(main).to.contain(`>${one}</a>`)
      for (const path of ['', '/changes']) expect((await see(reader, path)).main).to.contain(`>${shown[1]}</a>`)
      const [commit] = (await made(ann.get(`${node}/tree/main/commits`))).history
      expect((await see(reader, `/${whales}/commits/${commit.id}`)).main).to.contain(`<h1>${shown[1]}</h1>`)
      await made(ann.delete(`${node}/connections/${id}`))
      expect((await see(reader, '/changes')).main).to.contain('>Remove a link</a>')
      await made(ann.delete(`/orgs/${org}/nodes/${krill}`))
      const after = (await see(reader, `/${whales}/history`)).main
      expect(after).to.contain('>Link to a page</a>').and.contain('>Add a parent</a>')
      expect(after.replace(/<[^>]*>/g, '')).to.not.contain(krill)
    })
  })

  describe('have tabs', () => {
    const tabsOf = async (visitor: Visitor, path = '') => {
      const { body } = await see(visitor, path)
      const tabs = /<nav class="org-tabs"[\s\S]*?<\/nav>/.exec(body)?.[0] ?? ''
      const all = [...tabs.matchAll(/<a ([^>]*)>([\s\S]*?)<\/a>/g)]
      const here = all.filter(([, attributes]) => attributes?.includes('aria-current="page"'))
      return {
        all: all.map(([, , title = '']) => wordsOf(title)),
        here: here.map(([, , title = '']) => wordsOf(title)),
      }
    }

    it('that lead from each of them to the others, and mark the current one', async () => {
      await add('Whales')
      const all = ['Overview', 'Pages', 'Proposals', 'Changes', 'Activity', 'Tags', 'Members', 'Settings']
      const paths = ['', '/nodes', '/proposals', '/changes', '/activity', '/tags', '/members', '/settings/general']
      for (const [at, path] of paths.entries())
        for (const visitor of [ann, reader])
          expect(await tabsOf(visitor, path), path).to.deep.equal({ all, here: [all[at]] })
      expect((await tabsOf(ann, '/settings/members')).here).to.deep.equal(['Settings'])
    })

    it('that count the open proposals, and show anyone only what is open to them', async () => {
      await made(ann.patch(`/orgs/${org}`, { published: true }))
      const node = `/orgs/${org}/nodes/${await add('Whales')}`
      for (const name of ['one', 'two']) {
        await made(ann.post(`${node}/branches`, { name }))
        await made(ann.post(`${node}/pull-requests`, { source_branch: name, title: name }))
      }
      expect((await tabsOf(reader)).all).to.include('Proposals 2')
      const { main } = await see(reader)
      expect(wordsOf(main)).to.include('2 open proposals').and.include('Ann · Whales')
      expect((await tabsOf(client(grove))).all).to.deep.equal(['Overview', 'Pages', 'Changes', 'Tags'])
      const { body } = await see(client(grove))
      for (const part of ['open proposal', 'Rita', '2 members']) expect(body).to.not.include(part)
    })
  })

  describe('tell recent changes', () => {
    // Git counts seconds. Changes of the same second are in the order of ids, which is random.
    const nextSecond = () => setTimeout(1001 - (Date.now() % 1000))

    it('of one user and kind as one, and others one by one', async () => {
      const editor = await signUp(grove, `Edda ${org.slice(-6)}`)
      await made(ann.put(`/orgs/${org}/members/${editor.user.email}`, { role: 'editor' }))
      await addMany(7, 'Import notes/x.md')
      const { nodes } = await made(ann.get(`/orgs/${org}/nodes`))
      await nextSecond()
      for (const { id } of nodes.slice(0, 3))
        await made(editor.patch(`/orgs/${org}/nodes/${id}`, { text_content: 'More.' }))
      await nextSecond()
      await made(
        ann.patch(`/orgs/${org}/nodes/${nodes[3].id}`, { text_content: 'More.', message: 'Add the <b>rest</b>' }),
      )
      await nextSecond()
      await add('Whales')
      const { main } = await see(reader)
      const found = changesIn(main)
      expect(found).to.deep.equal([
        'Ann created Whales',
        `Ann edited ${nodes[3].title}`,
        `${editor.user.name} edited 3 pages`,
        'Ann imported 3 pages',
      ])
      expect(main).to.include('Add the &lt;b>rest&lt;/b>')
    })

    it.deep('with their true number, also beyond what is read', async () => {
      await addMany(230, 'Import notes/x.md')
      expect(changesIn((await see(reader)).main)).to.deep.equal(['Ann imported 230 pages'])
      await nextSecond()
      await addMany(77, 'By hand')
      expect(changesIn((await see(reader)).main)).to.deep.equal(['Ann created 77 pages', 'Ann imported 230 pages'])
    })

    it('of pages without a commit', async () => {
      await made(ann.post(`/orgs/${org}/nodes`, { title: 'Empty', initialize: false }))
      expect(changesIn((await see(reader)).main)).to.deep.equal(['Somebody created Empty'])
    })
  })

  describe('list changes', () => {
    it('in pages of 50, each once, for members, and for anyone if published', async () => {
      await addMany(113, 'A page')
      const seen: string[] = []
      const counts: number[] = []
      for (let path: string | undefined = '/changes'; path !== undefined; ) {
        const { main }: { main: string } = await see(reader, path)
        const ids = [...main.matchAll(/<\/strong> created <a href="\/o\/\w+\/(\w{22})"/g)].map(([, id = '']) => id)
        seen.push(...ids)
        counts.push(ids.length)
        path = /href="\/o\/[^"/]*(\/changes\?before=[^"]*)"[^>]*rel="next"/.exec(main)?.[1]
      }
      expect(counts).to.deep.equal([50, 50, 13])
      expect(new Set(seen).size).to.equal(113)
      expect((await see(client(grove), '/changes')).status).to.equal(401)
      await made(ann.patch(`/orgs/${org}`, { published: true }))
      const open = await see(client(grove), '/changes')
      expect([open.status, open.main.includes('changes.atom')]).to.deep.equal([200, true])
    })

    it('from the beginning if the position is none, and say when there are none', async () => {
      expect((await see(reader, '/changes')).main).to.include('Each page that somebody writes or changes')
      await add('Whales')
      for (const before of ['x', '', '9'.repeat(3_000), '<script>'])
        expect((await see(reader, `/changes?before=${encodeURIComponent(before)}`)).main).to.include('Whales')
      const end = `2001-01-01T00:00:00Z~${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`
      expect((await see(reader, `/changes?before=${end}`)).main).to.include('There are no older changes.')
    })
  })

  it('say the same to a removed member as of an organisation that does not exist', async () => {
    await made(ann.delete(`/orgs/${org}/members/${reader.user.email}`))
    const [removed, unknown] = [await see(reader), await readPage(reader, pageAt(randomUUID()))]
    const says = 'You are no longer a member of this organisation, or it does not exist.'
    expect([removed.status, removed.main.includes(says)]).to.deep.equal([404, true])
    expect([unknown.status, /<main[\s\S]*<\/main>/.exec(unknown.body)?.[0]]).to.deep.equal([404, removed.main])
    const anonymous = await see(client(grove))
    expect([anonymous.status, anonymous.main.includes('no longer')]).to.deep.equal([401, false])
  })

  describe('list members', () => {
    it('with their roles in words, for members only', async () => {
      const { main } = await see(reader, '/members')
      expect(wordsOf(main)).to.include('Ann').and.include('Owner Also manages members, rules and settings.')
      expect(wordsOf(main)).to.include('Rita Reader (you)').and.include('Reader Can read')
      expect(main).to.include('Leave…').and.not.include('Invite')
      expect((await see(ann, '/members')).main).to.include('Invite and manage members')
      await made(ann.patch(`/orgs/${org}`, { published: true }))
      expect((await see(client(grove), '/members')).status).to.equal(401)
      const stranger = await signUp(grove, `Stranger ${org.slice(-6)}`)
      const { status, body } = await see(stranger, '/members')
      expect([status, body.includes('Rita Reader'), body.includes('Only members can see the members')]).to.deep.equal([
        403,
        false,
        true,
      ])
    })

    it('from the one that the page begins with', async () => {
      const { main } = await see(reader, '/members?from=1')
      expect(wordsOf(main)).to.include('2 members').and.include('Rita Reader').and.not.include('Owner')
      expect((await see(reader, '/members?from=99')).main).to.include('The list is shorter by now.')
    })
  })
})
