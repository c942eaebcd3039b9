/** The settings of a page, its trash and its menu, by forms without script. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { jsonOf, rowsOf } from '../../server/pages/property-rows.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt, plain, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { sendForm } from './forms.ts'

type Fields = Readonly<Record<string, string | readonly string[]>>

/** The pages of one signed-in user. */
interface Desk {
  show(path: string): Promise<Answer>
  send(path: string, fields: Fields): Promise<Answer>
  upload(path: string, fields: Fields, files: readonly (readonly [name: string, content: string])[]): Promise<Answer>
}

describe('the settings of a page', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let pages: Desk

  const deskOf = async (person: PersonClient): Promise<Desk> => {
    const { headers } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
    const cookie = headers['set-cookie']?.split(';')[0] ?? ''
    const ours = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    const pairs = (fields: Fields) => Object.entries(fields).flatMap(([n, v]) => [v].flat().map((one) => [n, one]))
    return {
      show: (path) => readPage(client(grove), path, ours),
      send: async (path, fields) =>
        plain(
          await client(grove).post(path, new URLSearchParams(pairs(fields)).toString(), {
            ...ours,
            'content-type': 'application/x-www-form-urlencoded',
          }),
        ),
      upload: async (path, fields, files) => {
        const form = new FormData()
        for (const [name = '', value = ''] of pairs(fields)) form.append(name, value)
        for (const [name, content] of files) form.append('file', new Blob([content]), name)
        const response = new Response(form)
        const type = response.headers.get('content-type') ?? ''
        return plain(await client(grove).post(path, await response.text(), { ...ours, 'content-type': type }))
      },
    }
  }

  before(async () => {
    pages = await deskOf(ann)
  })

  const pageOf = ({ org, id }: TestNode) => pageAt(org, id)
  const settingsOf = (node: TestNode) => `${pageOf(node)}/settings`
  const make = (fields: object = {}) => newNode(grove, ann, fields)
  const read = async ({ at }: TestNode) => (await ann.get(at).then(expecting(200))).body
  const textOf = (html: string) =>
    html
      .replace(/<[^>]*>/g, ' ')
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&amp;', '&')
      .replace(/\s+/g, ' ')
  const alertOf = (html: string) => textOf(/role="alert"[^>]*>(.*?)<\/(?:div|form)>/s.exec(html)?.[1] ?? '').trim()
  /** Sends a form of the settings as it would be shown now. */
  const act = async (node: TestNode, name: string, fields: Fields = {}, desk = pages) =>
    desk.send(settingsOf(node), { head: (await read(node)).head, act: name, ...fields })
  const saved = (node: TestNode, section: string) => `${settingsOf(node)}?saved=${section}#${section}`
  const expectSaved = ({ status, headers }: Answer, node: TestNode, section: string) =>
    expect([status, headers.location]).to.deep.equal([303, saved(node, section)])

  describe('that move it', () => {
    it.deep('find a parent by search, move there, add another, remove one, and move to the top', async () => {
      const [sea, ice, node] = [await make({ title: 'Sea' }), await make({ title: 'Ice & <b>snow</b>' }), await make()]
      const { body } = await pages.show(`${settingsOf(node)}?parent=snow`)
      expect(body).to.include(`name="parent" value="${ice.id}"`).and.include('Ice &amp; &lt;b>snow')
      const parents = async () => (await read(node)).parents.map(({ id }: TestNode) => id)
      expectSaved(await act(node, 'move', { parent: sea.id }), node, 'move')
      expect(await parents()).to.deep.equal([sea.id])
      expectSaved(await act(node, 'add-parent', { parent: ice.id }), node, 'move')
      expect(await parents()).to.have.members([sea.id, ice.id])
      expectSaved(await act(node, 'remove-parent', { parent: sea.id }), node, 'move')
      expectSaved(await act(node, 'move', { parent: sea.id }), node, 'move')
      expect(await parents()).to.deep.equal([sea.id])
      expectSaved(await act(node, 'move-to-top'), node, 'move')
      expect(await parents()).to.deep.equal([])
      expect(node.git.lines('log', '--format=%s', '-1')).to.deep.equal(['Move to the top'])
    })

    it('refuse a cycle, the page itself and a missing page in words, and keep the search', async () => {
      const node = await make({ title: 'Top' })
      const child = await make({ title: 'Child', parents: [node.id] })
      const grandchild = await make({ title: 'Grandchild', parents: [child.id] })
      const gone = await make({ title: 'Gone' })
      await ann.delete(gone.at).then(expecting(204))
      const refused = async (parent: string, says: string, status = 422) => {
        const answer = await act(node, 'move', { parent, parent_words: 'grand' })
        expect([answer.status, alertOf(answer.body)]).to.deep.equal([status, says])
        expect(answer.body).to.include(`name="parent" value="${grandchild.id}"`)
      }
      await refused(grandchild.id, 'The chosen page is below this page. A page cannot be below its own subpage.')
      await refused(node.id, 'A page cannot be below itself.')
      await refused(gone.id, 'The chosen page does not exist any more. Choose another one.', 404)
      await refused('../../x', 'Choose a page.')
      expect((await read(node)).parents).to.deep.equal([])
    })
  })

  describe('that change its tags', () => {
    it('keep what was not touched, drop blank fields, and suggest tags of the organisation', async () => {
      const other = ' <i>&"sea"</i>'
      await make({ tags: ['mammal'] })
      const node = await make({ tags: [other, 'old'] })
      expect((await pages.show(settingsOf(node))).body).to.include('<option value="mammal">')
      expectSaved(
        await act(node, 'tags', { tag: [other, '', ' new, with a comma ', ' new, with a comma '] }),
        node,
        'tags',
      )
      expect((await read(node)).tags).to.deep.equal([other, 'new, with a comma'])
      expect((await pages.show(settingsOf(node))).body).to.include('value=" &lt;i>&amp;&quot;sea&quot;&lt;/i>"')
      const before = (await read(node)).head
      expectSaved(await act(node, 'tags', { tag: (await read(node)).tags }), node, 'tags')
      expect((await read(node)).head).to.equal(before)
    })

    it('refuse too many and too long ones, and show them again', async () => {
      const node = await make()
      const many = await act(node, 'tags', { tag: Array.from({ length: 101 }, (_, at) => `t${at}`) })
      expect([many.status, alertOf(many.body)]).to.deep.equal([422, 'A page can have at most 100 tags. These are 101.'])
      expect(many.body).to.include('value="t100"')
      const long = await act(node, 'tags', { tag: ['x'.repeat(101)] })
      expect([long.status, long.body.includes('x'.repeat(101))]).to.deep.equal([422, true])
    })
  })

  describe('that change its properties', () => {
    it.deep('give back every value that nobody edits', () => {
      const name = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
      const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.array(fc.string()))
      fc.assert(
        fc.property(fc.dictionary(name, value, { maxKeys: 8 }), (properties) => {
          const wanted = JSON.parse(JSON.stringify(properties))
          const rows = rowsOf(wanted)
          if (rows === undefined) return
          // A browser sends the lines of a text with CR LF.
          const sent = rows.map((row) => ({ ...row, value: row.value.replaceAll('\n', '\r\n') }))
          expect(JSON.parse(jsonOf(sent))).to.deep.equal(wanted)
        }),
        { numRuns: 200, seed: 7 },
      )
    })

    it('take texts, numbers, yes and no, lists and JSON', async () => {
      const node = await make({ properties: { gone: 1 } })
      const rows = [
        ['a "name"', 'text', 'Two\r\nlines'],
        ['species', 'number', '90'],
        ['alive', 'yes-no', 'Yes'],
        ['aliases', 'list', 'Cetacea\r\n\r\nCete'],
        ['depth', 'json', '{"max": 3000}'],
        ['seen', 'date', '2025-07-15'],
        ['__proto__', 'text', 'x'],
        ['', 'text', ''],
      ]
      const column = (at: number) => rows.map((row) => row[at] ?? '')
      const fields = { name: column(0), kind: column(1), value: column(2) }
      expectSaved(await act(node, 'properties', fields), node, 'properties')
      const expected =
        '{"a \\"name\\"":"Two\\nlines","species":90,"alive":true,"aliases":["Cetacea","Cete"],"depth":{"max":3000},"seen":"2025-07-15","__proto__":"x"}'
      expect(JSON.stringify((await read(node)).properties)).to.equal(expected)
      expect((await read(node)).title).to.equal('Whales')
      const { body } = await pages.show(settingsOf(node))
      expect(body).to.match(/<option(?=[^>]* selected)(?=[^>]*value="date")[^>]*>Date</)
    })

    it('refuse wrong values in words, and keep what was typed', async () => {
      const node = await make()
      const wrong = async (row: readonly [string, string, string], says: string | RegExp, more: Fields = {}) => {
        const [name, kind, value] = row
        const { status, body } = await act(node, 'properties', { name, kind, value, ...more })
        expect(status).to.equal(422)
        expect(alertOf(body)).to.match(typeof says === 'string' ? new RegExp(`^${says}$`) : says)
        expect(textOf(body)).to.include(value)
      }
      await wrong(['n', 'number', '1,5'], '“n” must be a number, such as 12 or 0.5.')
      await wrong(['b', 'yes-no', 'maybe'], '“b” must be yes or no.')
      await wrong(['d', 'date', '2025-13-01'], '“d” must be a date, such as 2025-07-15.')
      await wrong(['j', 'json', '{"a":'], /“j” must be valid JSON/)
      await wrong(['', 'text', 'alone'], /has no name/)
      await wrong(['n', 'number', '12345678901234567890'], /exactly/)
      const twice = { name: ['x', 'x'], kind: ['text', 'text'], value: ['1', '2'] }
      expect(alertOf((await act(node, 'properties', twice)).body)).to.include('two properties named “x”')
      expect((await read(node)).properties).to.deep.equal({})
    })

    it('are JSON in one field where rows cannot hold them', async () => {
      const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, at]))
      const node = await make({ properties: many })
      expect((await pages.show(settingsOf(node))).body).to.include('<textarea name="json"')
      expectSaved(await act(node, 'properties', { json: '{"only": 1}' }), node, 'properties')
      expect((await read(node)).properties).to.deep.equal({ only: 1 })
      const list = await act(node, 'properties', { json: '[1]' })
      expect([list.status, alertOf(list.body)]).to.deep.equal([
        422,
        'This must be a JSON object: names and values in braces.',
      ])
    })
  })

  describe('that change its files', () => {
    it('upload, list with sizes, keep both of one name, replace, and remove', async () => {
      const node = await make()
      const head = async () => (await read(node)).head
      const files = [
        ['Ein Bild <1>.txt', 'La'],
        ['song.txt', 'x'.repeat(3_000)],
      ] as const
      expectSaved(await pages.upload(settingsOf(node), { act: 'add-files', head: await head() }, files), node, 'files')
      const { body } = await pages.show(settingsOf(node))
      expect(textOf(body)).to.include('files/Ein-Bild-1-.txt 2 bytes').and.include('files/song.txt 2.9 KiB')
      const again = [['song.txt', 'second']] as const
      await pages.upload(settingsOf(node), { act: 'add-files', head: await head() }, again)
      expect(node.git.say('show', 'main:files/song-2.txt')).to.equal('second')
      await pages.upload(settingsOf(node), { act: 'add-files', head: await head(), replace: '1' }, again)
      expect(node.git.say('show', 'main:files/song.txt')).to.equal('second')
      expectSaved(await act(node, 'remove-file', { file: 'files/song.txt' }), node, 'files')
      expect(node.git.lines('ls-tree', '-r', '--name-only', 'main')).to.not.include('files/song.txt')
    })

    it.deep('refuse nothing, too much, and what is no form, and leave no file', async () => {
      const node = await make()
      const { head } = await read(node)
      const fields = { act: 'add-files', head }
      const none = await pages.upload(settingsOf(node), fields, [])
      expect([none.status, alertOf(none.body)]).to.deep.equal([422, 'Choose a file.'])
      const large = await pages.upload(settingsOf(node), fields, [['big.bin', 'x'.repeat(10 * 1_048_576 + 1)]])
      expect([large.status, alertOf(large.body)]).to.deep.equal([
        422,
        'big.bin is larger than 10 MiB. Push it with Git instead.',
      ])
      const half = 'x'.repeat(5.7 * 1_048_576)
      const both = await pages.upload(settingsOf(node), fields, [
        ['a.bin', half],
        ['b.bin', half],
      ])
      expect([both.status, alertOf(both.body)]).to.deep.equal([
        422,
        'These files are larger than 11 MiB together. Upload them one by one.',
      ])
      const huge = await pages.upload(settingsOf(node), fields, [['c.bin', 'x'.repeat(13 * 1_048_576)]])
      expect(huge.status).to.equal(413)
      const many = await pages.upload(
        settingsOf(node),
        fields,
        Array.from({ length: 51 }, (_, at) => [`${at}.txt`, 'x'] as const),
      )
      expect(many.status).to.equal(413)
      expect((await read(node)).head).to.equal(head)
    })

    it('refuse a reserved path as the API does', async () => {
      const node = await make()
      const { status, body } = await act(node, 'remove-file', { file: 'node.json' })
      expect([status, alertOf(body).length > 0]).to.deep.equal([422, true])
    })
  })

  describe('that change its links', () => {
    it('add a link by type and target, say which the text makes, and remove it', async () => {
      const krill = await make({ title: 'Krill <1>' })
      const node = await make({ text_content: 'Eats [[Krill <1>]].\n' })
      await ann.post(`${node.at}/connections`, { target: krill.id, type: 'links_to' }).then(expecting(201))
      const added = { target: krill.id, type: 'feeds_on', label: 'mostly "small" ones' }
      expectSaved(await act(node, 'add-link', added), node, 'links')
      const { connections } = await read(node)
      expect(connections).to.have.length(2)
      const { body } = await pages.show(settingsOf(node))
      expect(textOf(body)).to.include('feeds on · mostly "small" ones').and.include('links to · in the text')
      const link = connections.find(({ type }: { type: string }) => type === 'feeds_on').id
      expectSaved(await act(node, 'remove-link', { link }), node, 'links')
      expect((await read(node)).connections).to.have.length(1)
      expect(textOf((await pages.show(settingsOf(krill))).body)).to.include('To this page Whales links to')
      const wrong = await act(node, 'add-link', { ...added, type: 'Feeds On', target_words: 'krill' })
      expect(wrong.status).to.equal(422)
      expect(wrong.body).to.include('value="Feeds On"').and.include('mostly &quot;small&quot; ones')
    })
  })

  describe('while another user changes it', () => {
    it('save beside changes of other files', async () => {
      const node = await make()
      const { head } = await read(node)
      await node.commit('main', { 'content.md': 'Other words.\n' })
      expectSaved(await pages.send(settingsOf(node), { head, act: 'tags', tag: 'sea' }), node, 'tags')
      expect(await read(node)).to.deep.include({ tags: ['sea'], text_content: 'Other words.\n' })
    })

    it('refuse to overwrite, say what changed, keep what was typed, and save the next time', async () => {
      const node = await make({ tags: ['a'], properties: { depth: 1 } })
      const { head } = await read(node)
      await ann.patch(node.at, { tags: ['a', 'b'], properties: { depth: 2 } }).then(expecting(200))
      const { status, body } = await pages.send(settingsOf(node), { head, act: 'tags', tag: ['a', 'mine'] })
      expect(status).to.equal(409)
      expect(alertOf(body)).to.match(
        /^This page has changed since you opened it\. .*Changed: the tags, now a, b the property depth, now 2$/,
      )
      expect(body).to.include('value="mine"')
      const now = /name="head" value="([0-9a-f]{40})"/.exec(body)?.[1] ?? ''
      expectSaved(await pages.send(settingsOf(node), { head: now, act: 'tags', tag: ['a', 'mine'] }), node, 'tags')
      expect((await read(node)).tags).to.deep.equal(['a', 'mine'])
    })
  })

  describe('for those who may less', () => {
    const member = async (role: string) => {
      const person = await signUp(grove, `${role} ${Date.now()}`)
      const { id: org } = (await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body
      await ann.put(`/orgs/${org}/members/${person.user.email}`, { role }).then(expecting(200))
      const node = await newNode(grove, { ...ann, org }, {})
      return { person, org, node, desk: await deskOf(person) }
    }

    it('propose, also on a contributor’s own branches', async () => {
      const { node, desk, person } = await member('contributor')
      expect((await desk.show(settingsOf(node))).body).to.include('You propose changes here')
      const answer = await act(node, 'tags', { tag: ['sea'] }, desk)
      expect([answer.status, answer.headers.location]).to.deep.equal([303, `${pageOf(node)}/proposals/1`])
      expect((await node.pull(1)).source_branch).to.match(new RegExp(`^users/${person.user.id.slice(-12)}/proposals/`))
      expect((await read(node)).tags).to.deep.equal([])
      await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
      expect((await read(node)).tags).to.deep.equal(['sea'])
      expect((await act(node, 'delete', {}, desk)).status).to.equal(403)
    })

    it('propose if main changes only by proposals', async () => {
      const { node, org } = await member('editor')
      await ann.patch(`/orgs/${org}`, { require_pull_requests: true }).then(expecting(200))
      const answer = await act(node, 'properties', { name: 'depth', kind: 'number', value: '3' })
      expect([answer.status, answer.headers.location]).to.deep.equal([303, `${pageOf(node)}/proposals/1`])
      const same = await act(node, 'tags', { tag: [] })
      expectSaved(same, node, 'tags')
      expect((await ann.get(`${node.at}/branches`)).body.total).to.equal(2)
    })

    it('are refused to readers, and offered by no menu', async () => {
      const { node, desk, org } = await member('reader')
      const { status, body } = await desk.show(settingsOf(node))
      expect([status, textOf(body)]).to.satisfy(
        ([s, t]: [number, string]) => s === 403 && t.includes('You have read-only access.'),
      )
      expect((await act(node, 'tags', { tag: ['sea'] }, desk)).status).to.equal(403)
      const page = (await desk.show(pageOf(node))).body
      expect(page).to.include('More actions').and.include('/history').and.not.include('/settings#')
      expect((await desk.show(`${pageAt(org)}/trash`)).status).to.equal(403)
      expect((await client(grove).get(settingsOf(node), { accept: 'text/html' })).status).to.equal(401)
    })

    it('offer a proposal to delete it to editors, and Delete to maintainers', async () => {
      for (const [role, may] of [
        ['editor', false],
        ['maintainer', true],
      ] as const) {
        const { node, desk } = await member(role)
        const { body } = await desk.show(pageOf(node))
        expect(body).to.include('/settings#move')
        expect(body).to.include('/settings#delete')
        const { body: settings } = await desk.show(settingsOf(node))
        expect(settings.includes('value="delete"')).to.equal(may)
        expect(settings).to.include('value="propose-deletion"')
      }
    })
  })

  describe('that duplicate it', () => {
    it('make one copy with its content, also if the form is sent twice', async () => {
      const [sea, krill] = [await make({ title: 'Sea' }), await make({ title: 'Krill' })]
      const fields = { tags: ['a'], properties: { depth: 1 }, parents: [sea.id], text_content: 'Song.\n' }
      const node = await make({ title: 'Whales "1"', ...fields })
      await ann.post(`${node.at}/connections`, { target: krill.id, type: 'feeds_on' }).then(expecting(201))
      await node.commit('main', { 'files/song.txt': 'La\n' })
      const { body } = await pages.show(settingsOf(node))
      expect(body).to.include('value="Copy of Whales &quot;1&quot;"')
      const copy = /name="copy" value="([^"]+)"/.exec(body)?.[1] ?? ''
      for (const _ of ['once', 'twice']) {
        const answer = await act(node, 'duplicate', { copy, title: 'Copy of Whales' })
        expect([answer.status, answer.headers.location]).to.deep.equal([303, pageAt(node.org, copy)])
      }
      const copied = await read({ ...node, at: `/orgs/${node.org}/nodes/${copy}` })
      const { tags, properties, text_content } = fields
      expect(copied).to.deep.include({ title: 'Copy of Whales', tags, properties, text_content })
      expect(copied.parents.map(({ id }: TestNode) => id)).to.deep.equal([sea.id])
      expect(copied.connections.map(({ target }: { target: string }) => target)).to.deep.equal([krill.id])
      const blank = await act(node, 'duplicate', { copy, title: ' ' })
      expect([blank.status, alertOf(blank.body)]).to.deep.equal([422, 'Enter a title.'])
    })
  })

  describe('that delete it', () => {
    it('say what happens, lead to Undo, and give it back', async () => {
      const node = await make({ title: 'A <b>whale</b> & "more"' })
      await make({ title: 'Calf', parents: [node.id] })
      expect(textOf((await pages.show(settingsOf(node))).body)).to.include('Its subpage stays: “Calf”.')
      const deleted = await act(node, 'delete')
      const trash = `${pageAt(node.org)}/trash`
      expect([deleted.status, deleted.headers.location]).to.deep.equal([303, `${trash}?deleted=${node.id}`])
      const { body } = await pages.show(`${trash}?deleted=${node.id}`)
      expect(body).to.include('A &lt;b>whale&lt;/b> &amp; &quot;more&quot;</strong> was deleted.')
      const deleted_at = /name="deleted_at" value="([^"]+)"/.exec(body)?.[1] ?? ''
      const undo = { act: 'restore', node: node.id, deleted_at }
      const back = await pages.send(trash, undo)
      expect([back.status, back.headers.location]).to.deep.equal([303, pageOf(node)])
      expect((await read(node)).children).to.have.length(1)
      const twice = await pages.send(trash, undo)
      expect([twice.status, alertOf(twice.body)]).to.satisfy(
        ([s, t]: [number, string]) => s === 409 && t.startsWith('There is a page with this id.'),
      )
      const unknown = await pages.send(trash, { ...undo, node: '00000000-0000-4000-8000-000000000000' })
      expect([unknown.status, alertOf(unknown.body)]).to.satisfy(
        ([s, t]: [number, string]) => s === 404 && t.startsWith('This page is no longer in the trash.'),
      )
      expect((await pages.send(trash, { act: 'restore', node: 'x', deleted_at: 'y' })).status).to.equal(422)
    })

    it('leave a page whose parent is below it by now in the trash, and say why', async () => {
      const top = await make({ title: 'Top' })
      const node = await make({ title: 'Middle', parents: [top.id] })
      const low = await make({ title: 'Low', parents: [node.id] })
      await act(node, 'delete')
      await ann.put(`${top.at}/parents/${low.id}`, {}).then(expecting(200))
      const trash = `${pageAt(node.org)}/trash`
      const { body } = await pages.show(trash)
      const [, deleted_at = ''] =
        new RegExp(`value="${node.id}"[^>]*>\\s*<input[^>]*name="deleted_at" value="([^"]+)"`).exec(body) ?? []
      const { status, body: again } = await pages.send(trash, { act: 'restore', node: node.id, deleted_at })
      expect(status).to.equal(422)
      expect(alertOf(again)).to.include('The page was not restored. Its parent “Top” has been moved below it')
      const names = readdirSync(join(grove.dataDir, 'trash', node.org))
      expect(names.some((name) => name.startsWith(node.id))).to.equal(true)
    })
  })

  it('refuse forms that say too little', async () => {
    const node = await make()
    for (const fields of [{}, { act: 'none' }, { act: 'tags' }, { act: 'tags', head: 'x' }, { act: 'constructor' }])
      expect((await pages.send(settingsOf(node), fields)).status).to.equal(400)
  })
})
