/** Restoring a version and undoing a proposal by the forms of pages, without script: each refusal keeps the choice. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { sendForm } from './forms.ts'

type Fields = Readonly<Record<string, string>>

/** The pages of one signed-in user. */
interface Desk {
  show(path: string): Promise<Answer>
  send(path: string, fields: Fields): Promise<Answer>
}

describe('going back on pages', () => {
  const { grove, ann, rob } = useWorld({ ann: 'owner', rob: 'reader' })
  let pages: Desk
  let readerPages: Desk

  const deskOf = async (person: PersonClient): Promise<Desk> => {
    const { headers } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
    const cookie = headers['set-cookie']?.split(';')[0] ?? ''
    const read = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    return {
      show: (path) => readPage(client(grove), path, read),
      send: (path, fields) => sendForm(grove, path, fields, { cookie }),
    }
  }

  before(async () => {
    pages = await deskOf(ann)
    readerPages = await deskOf(rob)
  })

  const pageOf = ({ org, id }: TestNode) => pageAt(org, id)
  const restorePage = (node: TestNode, commit: string) => `${pageOf(node)}/commits/${commit}/restore`
  const textOf = (html: string) =>
    html
      .replace(/<[^>]*>/g, ' ')
      .replaceAll('&quot;', '"')
      .replace(/\s+/g, ' ')
  const alertOf = (html: string) => textOf(/role="alert"[^>]*>(.*?)<\/(?:p|div)>/s.exec(html)?.[1] ?? '').trim()
  const fieldsOf = (html: string): Record<string, string> =>
    Object.fromEntries(
      [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, n, v]) => [n, v]),
    )
  const buttonsOf = (html: string) => [...html.matchAll(/name="act" value="(\w+)"/g)].map(([, act]) => act)
  const linksTo = (html: string, end: string) =>
    [...html.matchAll(/href="([^"]*)"/g)]
      .map(([, href = '']) => href)
      .filter((href) => href.split('?')[0]?.endsWith(end))

  /** A node with three versions. */
  const aHistory = async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales are large.\n' })
    const first = node.git.head()
    const second = await node.commit(
      'main',
      { 'content.md': 'Whales are huge.\n', 'notes.md': 'A note.\n' },
      'Say huge',
    )
    const third = await node.commit('main', { 'content.md': 'Whales are vast.\n', 'notes.md': null }, 'Say vast')
    return { node, first, second, third }
  }

  describe('a history', () => {
    it('leads to the form of each earlier version, for those who may write', async () => {
      const { node, first, second, third } = await aHistory()
      const { body } = await pages.show(`${pageOf(node)}/history`)
      expect(linksTo(body, '/restore')).to.deep.equal([restorePage(node, second), restorePage(node, first)])
      expect(linksTo((await readerPages.show(`${pageOf(node)}/history`)).body, '/restore')).to.deep.equal([])
      for (const [path, count] of [
        [`/commits/${first}`, 1],
        [`/commits/${third}`, 0],
        [`?at=${second}`, 1],
        [`?at=${third}`, 0],
      ] as const) {
        expect(linksTo((await pages.show(`${pageOf(node)}${path}`)).body, '/restore').length, path).to.equal(count)
        expect(linksTo((await readerPages.show(`${pageOf(node)}${path}`)).body, '/restore'), path).to.deep.equal([])
      }
    })

    it('of another branch leads to the form of that branch; of a tag or a commit to none', async () => {
      const { node, first, second, third } = await aHistory()
      await node.branch('feature/x', second)
      node.git.say('tag', 'v1', second)
      const at = async (revision: string) =>
        linksTo((await pages.show(`${pageOf(node)}/history?at=${encodeURIComponent(revision)}`)).body, '/restore')
      expect(await at('feature/x')).to.deep.equal([`${restorePage(node, first)}?branch=feature%2Fx`])
      expect(await at('v1')).to.deep.equal([])
      expect(await at(second)).to.deep.equal([])
      await node.branch('draft')
      const apart = await node.commit('draft', { 'draft.txt': 'draft' })
      expect(linksTo((await pages.show(`${pageOf(node)}/commits/${apart}`)).body, '/restore')).to.deep.equal([])
      expect((await pages.show(restorePage(node, apart))).status).to.equal(404)
      const tagged = await pages.show(`${restorePage(node, first)}?branch=v1`)
      expect([tagged.status, textOf(tagged.body)].join(' ')).to.match(/^404 .*v1 is not a branch/)
      expect(node.git.head()).to.equal(third)
    })
  })

  describe('the form of a version', () => {
    it('shows what would change, and restores it', async () => {
      const { node, second, third } = await aHistory()
      const path = restorePage(node, second)
      const { status, body } = await pages.show(path)
      expect(status).to.equal(200)
      expect(/<del>(.*?)<\/del>/.exec(body)?.[1]).to.equal('vast')
      expect(/<ins>(.*?)<\/ins>/.exec(body)?.[1]).to.equal('huge')
      expect(textOf(body)).to.match(/notes\.md .* added/)
      expect(fieldsOf(body)).to.deep.equal({ branch: 'main', head: third })
      expect(buttonsOf(body)).to.deep.equal(['restore', 'propose'])
      const sent = await pages.send(path, { ...fieldsOf(body), act: 'restore', message: '  Back to huge ' })
      expect([sent.status, sent.headers.location]).to.deep.equal([303, pageOf(node)])
      expect(node.git.say('rev-parse', 'main^{tree}')).to.equal(node.git.say('rev-parse', `${second}^{tree}`))
      expect(node.git.say('log', '-1', '--format=%s %P', 'main')).to.equal(`Back to huge ${third}`)
    })

    it('proposes it on a branch, once if it is sent twice', async () => {
      const { node, first, third } = await aHistory()
      const path = restorePage(node, first)
      const fields = { ...fieldsOf((await pages.show(path)).body), act: 'propose', message: '' }
      const answers = await Promise.all([pages.send(path, fields), pages.send(path, fields)])
      answers.push(await pages.send(path, fields))
      for (const { status, headers } of answers)
        expect([status, headers.location]).to.deep.equal([303, `${pageOf(node)}/proposals/1`])
      expect((await ann.get(`${node.at}/pull-requests?status=all`)).body.total).to.equal(1)
      const pr = await node.pull(1)
      expect(pr).to.deep.include({
        title: `Restore ${first.slice(0, 8)} “Create node”`,
        target_branch: 'main',
        can_merge: true,
        commits_ahead: 1,
      })
      expect(pr.description).to.include(first)
      expect(node.git.say('rev-parse', `${pr.source_commit}^{tree}`)).to.equal(
        node.git.say('rev-parse', `${first}^{tree}`),
      )
      expect(node.git.head()).to.equal(third)
    })

    it('restores another branch, and leads to its history', async () => {
      const { node, first, second, third } = await aHistory()
      await node.branch('feature/x', second)
      const path = `${restorePage(node, first)}?branch=feature%2Fx`
      const { body } = await pages.show(path)
      expect(fieldsOf(body)).to.deep.equal({ branch: 'feature/x', head: second })
      const sent = await pages.send(path, { ...fieldsOf(body), act: 'restore', message: '' })
      expect([sent.status, sent.headers.location]).to.deep.equal([303, `${pageOf(node)}/history?at=feature%2Fx`])
      expect(node.git.lines('log', '--format=%P', '-1', 'feature/x')).to.deep.equal([second])
      expect(node.git.head()).to.equal(third)
    })

    it('shows the new change if the branch has moved, and keeps what was written', async () => {
      const { node, second } = await aHistory()
      const path = restorePage(node, second)
      const fields = fieldsOf((await pages.show(path)).body)
      const head = await node.commit('main', { 'content.md': 'Whales are immense.\n' })
      const refs = node.git.say('for-each-ref')
      for (const act of ['restore', 'propose']) {
        const { status, body } = await pages.send(path, { ...fields, act, message: 'My words' })
        expect(status).to.equal(409)
        expect(alertOf(body)).to.match(/^main has changed since you opened this page\./)
        expect(fieldsOf(body)).to.deep.equal({ branch: 'main', head })
        expect(body).to.include('value="My words"')
        expect(/<del>(.*?)<\/del>/.exec(body)?.[1]).to.equal('immense')
      }
      expect(node.git.say('for-each-ref')).to.equal(refs)
    })

    it('names the files that main does not accept today, and proposes the version all the same', async () => {
      const node = await newNode(grove, ann)
      const gone = await newNode(grove, ann, { title: 'Krill' })
      const edge = 'connections/eats.json'
      const old = await node.commit('main', { [edge]: JSON.stringify({ target: gone.id }), 'old.txt': 'old' })
      const head = await node.commit('main', { [edge]: null, 'old.txt': null })
      await ann.delete(gone.at).then(expecting(204))
      const path = restorePage(node, old)
      const fields = { ...fieldsOf((await pages.show(path)).body), message: 'Again' }
      const refused = await pages.send(path, { ...fields, act: 'restore' })
      expect(refused.status).to.equal(422)
      expect(alertOf(refused.body)).to.equal(
        `This version cannot be restored as it was, because main does not accept these files today. You can propose it, and correct the files on the branch of the proposal. ${edge} There is no node ${gone.id} in this organisation`,
      )
      expect(buttonsOf(refused.body)).to.deep.equal(['restore', 'propose'])
      expect(node.git.head()).to.equal(head)
      const proposed = await pages.send(path, { ...fields, act: 'propose' })
      expect(proposed.headers.location).to.equal(`${pageOf(node)}/proposals/1`)
      expect(textOf((await pages.show(`${pageOf(node)}/proposals/1`)).body)).to.include(`${edge} There is no node`)
    })

    it('says that nothing differs, instead of offering a button', async () => {
      const { node, first, third } = await aHistory()
      const path = restorePage(node, first)
      const fields = fieldsOf((await pages.show(path)).body)
      await pages.send(path, { ...fields, act: 'restore', message: '' })
      const { body } = await pages.show(path)
      expect(textOf(body)).to.include('main already has exactly these files')
      expect(buttonsOf(body)).to.deep.equal([])
      const again = await pages.send(path, { ...fieldsOf(body), act: 'restore', message: '' })
      expect([again.status, alertOf(again.body)]).to.deep.equal([409, 'The branch already has exactly this content.'])
      await pages.send(path, { ...fieldsOf(body), act: 'propose', message: '' })
      expect(node.git.lines('for-each-ref', '--format=%(refname:short)', 'refs/heads')).to.deep.equal(['main'])
      expect(third).to.not.equal(node.git.head())
    })

    it('only proposes if main changes only by proposals', async () => {
      const { node, second, third } = await aHistory()
      const path = restorePage(node, second)
      await ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }).then(expecting(200))
      try {
        const { body } = await pages.show(path)
        expect(buttonsOf(body)).to.deep.equal(['propose'])
        const refused = await pages.send(path, { ...fieldsOf(body), act: 'restore', message: '' })
        expect([refused.status, alertOf(refused.body)]).to.deep.equal([
          409,
          'In this organisation `main` can only be changed by merging a proposal.',
        ])
        expect(node.git.head()).to.equal(third)
        const { headers } = await pages.send(path, { ...fieldsOf(body), act: 'propose', message: '' })
        expect(headers.location).to.equal(`${pageOf(node)}/proposals/1`)
      } finally {
        await ann.patch(`/orgs/${ann.org}`, { require_pull_requests: false }).then(expecting(200))
      }
    })

    it('is closed to readers, to anonymous visitors and to forms of other sites', async () => {
      const { node, first, third } = await aHistory()
      const path = restorePage(node, first)
      const fields = { ...fieldsOf((await pages.show(path)).body), act: 'restore', message: '' }
      const shown = await readerPages.show(path)
      expect([shown.status, textOf(shown.body)].join(' ')).to.match(/^403 .*You need the editor role/)
      expect((await readerPages.send(path, fields)).status).to.equal(403)
      expect((await sendForm(grove, path, fields)).status).to.equal(401)
      expect((await sendForm(grove, path, fields, { 'sec-fetch-site': 'cross-site' })).status).to.equal(403)
      expect((await pages.send(path, { ...fields, head: 'main' })).status).to.equal(400)
      expect(node.git.head()).to.equal(third)
    })
  })

  describe('a merged proposal', () => {
    const aMerged = async () => {
      const node = await newNode(grove, ann)
      await node.proposal('draft')
      await node.open('draft')
      await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
      return { node, page: `${pageOf(node)}/proposals/1` }
    }

    it('says what it proposed, without the distance and the branch of an open one', async () => {
      const { node, page } = await aMerged()
      await node.proposal('other')
      await node.open('other')
      const open = textOf((await pages.show(`${pageOf(node)}/proposals/2`)).body)
      expect(open).to.include('proposes to change').and.include('Behind').and.include('git fetch origin other')
      await ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
      for (const path of [page, `${pageOf(node)}/proposals/2`]) {
        const ended = textOf((await pages.show(path)).body)
        expect(ended).to.include('proposed to change').and.not.include('Behind').and.not.include('git fetch')
      }
    })

    it('has a button that opens a proposal to undo it, which leads back to it', async () => {
      const { node, page } = await aMerged()
      const { body } = await pages.show(page)
      expect(body).to.include(`action="${page}/undo"`)
      for (const _ of ['once', 'and again'])
        expect((await pages.send(`${page}/undo`, {})).headers.location).to.equal(`${pageOf(node)}/proposals/2`)
      const undoing = (await pages.show(`${pageOf(node)}/proposals/2`)).body
      expect(linksTo(undoing, '/proposals/1')).to.deep.equal([page])
      expect(undoing).to.not.include('/undo"')
      expect((await readerPages.show(page)).body).to.not.include('/undo"')
      expect((await readerPages.send(`${page}/undo`, {})).status).to.equal(403)
      const read = await pages.show(`${page}/undo`)
      expect([read.status, read.headers.location]).to.deep.equal([303, page])
    })

    it('says which files were changed since, and that nothing is left to undo', async () => {
      const { node, page } = await aMerged()
      await node.commit('main', { 'draft.txt': 'another\n' })
      const refs = node.git.say('for-each-ref')
      const refused = await pages.send(`${page}/undo`, {})
      expect(refused.status).to.equal(409)
      expect(alertOf(refused.body)).to.match(/^Later commits changed the same files, .* draft\.txt$/)
      expect(textOf(refused.body)).to.include('git revert --no-commit')
      await node.commit('main', { 'draft.txt': null })
      const nothing = await pages.send(`${page}/undo`, {})
      expect([nothing.status, alertOf(nothing.body)]).to.deep.equal([
        409,
        'The target branch has nothing of this proposal that could be undone.',
      ])
      expect(node.git.lines('for-each-ref', 'refs/heads')).to.have.length(refs.match(/refs\/heads/g)?.length ?? 0)
      expect((await pages.send(`${pageOf(node)}/proposals/9/undo`, {})).status).to.equal(404)
      expect((await pages.send(`${pageOf(node)}/proposals/x/undo`, {})).status).to.equal(404)
    })
  })
})
