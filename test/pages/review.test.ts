/** The conversation of a proposal without script: each act is a form, and no text is lost. */

import { expect } from 'chai'
import {
  ann,
  aProposal,
  bob,
  comment,
  cy,
  di,
  eve,
  grove,
  type Proposal,
  pull,
  review,
  useScene,
} from '../review/scene.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, password } from '../support/people.ts'
import { formsOf, sendForm } from './forms.ts'

/** The path of a proposal's page. */
const pageOf = ({ node, number }: Proposal) => `${pageAt(node.org, node.id)}/proposals/${number}`

/** A session of the user that opens pages and sends forms. */
async function sessionOf(person: PersonClient) {
  const { headers } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
  const cookie = headers['set-cookie']?.split(';')[0] ?? ''
  const sent = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
  return {
    cookie,
    open: async (path: string) => (await readPage(client(grove), path, sent).then(expecting(200))).body as string,
    send: await formsOf(grove, person),
  }
}

/** The path where a form led. @throws Error if it was refused */
function ledTo({ status, headers, body }: Answer): string {
  if (status !== 303) throw new Error(`Expected 303, got ${status}: ${body}`)
  return headers.location ?? ''
}

const textareaOf = (html: string) => /<textarea[^>]*aria-label="Your text"[^>]*>\n?([^<]*)<\/textarea>/.exec(html)?.[1]

/** The hidden fields of the form that a refusal shows again. */
function refusedFields(html: string): Record<string, string> {
  const form = /<form[^>]*data-refused[^>]*>.*?<\/form>/s.exec(html)?.[0] ?? ''
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return Object.fromEntries(fields.map(([, name, value]) => [name ?? '', (value ?? '').replaceAll('&quot;', '"')]))
}

describe('the conversation on the page of a proposal', () => {
  useScene()

  it.deep('renders long comments up to a limit, and shows the source of those after it', async () => {
    const proposal = await aProposal()
    const dear = '# a\n'.repeat(4_000)
    for (let n = 0; n < 12; n++) await comment(bob, proposal, `First ${n}\n\n${dear}`)
    await comment(bob, proposal, '**Last**')
    const html = await (await sessionOf(cy)).open(`${pageOf(proposal)}?tab=conversation`)
    const shown = html.match(/This text is on a page whose other texts are long, so it is shown as its source/g) ?? []
    expect(shown.length).to.be.within(2, 12)
    expect(html).to.include('<p>First 0</p>').and.include('>**Last**</pre>')
    expect(html.length).to.be.below(1_500_000)
  })

  it('takes comments on the whole proposal, on lines, and on removed lines', async () => {
    const proposal = await aProposal('Whales sing.\n\nThey are loud.\n')
    const at = pageOf(proposal)
    const { open, send } = await sessionOf(cy)
    const to = ledTo(await send(`${at}?tab=conversation`, { act: 'comment', text: 'Which\r\nwhales?' }))
    expect(to).to.equal(`${at}?tab=conversation#c1`)
    expect(await open(to)).to.match(/id="c1">.*<p>Which\nwhales\?<\/p>/s)
    const form = await open(`${at}?at=content.md:3#new`)
    expect(form).to.match(/id="new".*name="first_line" value="3".*name="last_line" value="3"/s)
    const [path, commit] = ['content.md', proposal.head]
    ledTo(await send(at, { act: 'comment', text: 'How loud?', path, commit, first_line: '1', last_line: '3' }))
    ledTo(await send(at, { act: 'comment', text: 'Keep it.', path, commit: proposal.base, first_line: '1' }))
    const { threads } = (await cy.get(`${proposal.path}/threads`)).body
    const anchors = threads.map((one: Answer['body']) => one.comments[0].anchor)
    expect(anchors).to.deep.equal([
      undefined,
      { commit, path, first_line: 1, num_lines: 3 },
      { commit: proposal.base, path, first_line: 1, num_lines: 1 },
    ])
    const changes = await open(at)
    expect(changes.match(/id="t\d"/g)).to.deep.equal(['id="t3"', 'id="t2"'])
    expect(changes).to.match(/They are loud\..*id="t2"/s)
    expect(await open(`${at}?tab=conversation`)).to.match(/href="\?tab=changes#t2".*content\.md.*lines 1 to 3/s)
  })

  it('takes answers, and resolves and reopens threads, with an answer or without', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    await comment(cy, proposal, 'Which?', { anchor: { commit: proposal.head, path: 'content.md', first_line: 1 } })
    const { open, send } = await sessionOf(bob)
    expect(ledTo(await send(at, { act: 'answer', thread: '1', text: 'Blue ones.' }))).to.equal(`${at}#c2`)
    expect(ledTo(await send(at, { act: 'resolve', thread: '1', text: '' }))).to.equal(`${at}#t1`)
    expect(await open(at)).to.match(/<details class="thread resolved" id="t1">/)
    ledTo(await send(at, { act: 'reopen-thread', thread: '1', text: '' }))
    ledTo(await send(at, { act: 'resolve', thread: '1', text: 'Done.' }))
    expect(await pull(proposal)).to.include({ comments: 3, open_threads: 0 })
  })

  it('writes a comment once if its form is sent twice', async () => {
    const proposal = await aProposal()
    const { open, send } = await sessionOf(cy)
    const page = await open(`${pageOf(proposal)}?tab=conversation`)
    const seen = /name="seen" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const fields = { act: 'comment', text: 'Once.', seen }
    const links = [await send(pageOf(proposal), fields), await send(pageOf(proposal), fields)].map(ledTo)
    expect(links[1]).to.equal(links[0])
    expect((await pull(proposal)).comments).to.equal(1)
  })

  it('lets owners erase comments and reviews after a warning, and nobody else', async () => {
    const proposal = await aProposal()
    const at = `${pageOf(proposal)}?tab=conversation`
    await comment(cy, proposal, 'hunter2')
    await comment(cy, proposal, 'hunter3')
    await cy.delete(`${proposal.path}/comments/2`).then(expecting(204))
    await review(bob, proposal, 'approve', { text: 'hunter4' })
    const [owner, maintainer] = [await sessionOf(ann), await sessionOf(di)]
    expect(await maintainer.open(at)).to.not.contain('permanently')
    expect(await maintainer.open(`${at}&erase=1`)).to.not.contain('cannot be undone')
    expect((await maintainer.send(at, { act: 'erase', entry: '1' })).status).to.equal(403)
    const shown = await owner.open(at)
    for (const entry of [1, 2, 3]) expect(shown).to.contain(`erase=${entry}#c${entry}`)
    const asked = await owner.open(`${at}&erase=1`)
    expect(asked).to.contain('This cannot be undone').and.to.contain('backups that were made before')
    for (const entry of ['1', '2', '3'])
      ledTo(await owner.send(at, { act: 'erase', entry, text: 'It names somebody.' }))
    const after = await owner.open(at)
    expect(after).to.not.match(/hunter/)
    expect(after.match(/Ann<\/bdi> erased this comment/g)).to.have.length(2)
    expect(after)
      .to.match(/Ann<\/bdi> erased the text/)
      .and.to.not.contain('permanently')
  })

  it('changes and deletes own comments, and a maintainer deletes those of others', async () => {
    const proposal = await aProposal()
    const at = `${pageOf(proposal)}?tab=conversation`
    await comment(cy, proposal, 'Wich?')
    const reader = await sessionOf(cy)
    expect(await reader.open(`${at}&edit=1`)).to.match(/<textarea[^>]*>\nWich\?<\/textarea>/)
    ledTo(await reader.send(at, { act: 'edit', entry: '1', text: 'Which?' }))
    expect(await reader.open(at)).to.match(/<p>Which\?<\/p>/)
    const editor = await sessionOf(bob)
    expect(await editor.open(at)).to.not.include('edit=1')
    const refused = await editor.send(at, { act: 'edit', entry: '1', text: 'My words.' })
    expect(refused.status).to.equal(403)
    expect(textareaOf(refused.body)).to.equal('My words.')
    const maintainer = await sessionOf(di)
    expect(await maintainer.open(`${at}&edit=1`)).to.include('Delete this comment')
    ledTo(await maintainer.send(at, { act: 'delete', entry: '1' }))
    expect(await reader.open(at)).to.match(/Di<\/bdi> deleted this comment/)
  })

  it('submits reviews, which are withdrawn and dismissed', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    const [editor, maintainer, owner] = [await sessionOf(bob), await sessionOf(di), await sessionOf(ann)]
    const fields = { act: 'review', commit: proposal.head }
    const comments = JSON.stringify([{ text: 'A source?', anchor: { commit: proposal.head, path: 'content.md' } }])
    const to = ledTo(await editor.send(at, { ...fields, verdict: 'request_changes', text: 'Look.', comments }))
    expect(to).to.equal(`${at}?tab=conversation#c2`)
    ledTo(await maintainer.send(at, { ...fields, verdict: 'approve', text: '' }))
    const shown = await owner.open(at)
    expect(shown)
      .to.match(/Bob<\/bdi> asks for changes/)
      .and.match(/Di<\/bdi> approved/)
    expect(shown).to.not.match(/name="verdict"/)
    const own = await owner.send(at, { ...fields, verdict: 'approve', text: 'Mine.' })
    expect([own.status, textareaOf(own.body)]).to.deep.equal([409, 'Mine.'])
    const silent = await maintainer.send(at, { act: 'dismiss', entry: '2', text: ' ' })
    expect(silent.status).to.equal(422)
    expect(ledTo(await maintainer.send(at, { act: 'dismiss', entry: '2', text: 'It is there.' }))).to.equal(
      `${at}#consent`,
    )
    ledTo(await maintainer.send(at, { act: 'withdraw', entry: '3' }))
    const conversation = await owner.open(`${at}?tab=conversation`)
    expect(conversation)
      .to.match(/dismissed it: It is there\./)
      .and.match(/withdrawn/)
    expect((await pull(proposal)).consent).to.include({ approvals: 0, changes_requested: 0 })
  })

  it('keeps the text of a review if the source has moved, and shows what changed', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    await review(bob, proposal, 'approve')
    const head = await proposal.node.commit('draft', { 'content.md': 'Whales sing loudly.\n' })
    const { open, send } = await sessionOf(cy)
    const fields = { act: 'review', commit: proposal.head, verdict: 'request_changes', text: 'Say <more>.' }
    const { status, body } = await send(at, fields)
    expect(status).to.equal(409)
    expect(body).to.match(/role="alert">[^<]*The source branch has moved/)
    expect(textareaOf(body)).to.equal('Say &lt;more>.')
    expect(body).to.match(new RegExp(`data-refused.*name="commit" value="${head}"`, 's'))
    expect(body).to.match(/value="request_changes" checked/)
    expect(body).to.include(`?since=${proposal.head}`)
    const since = await open(`${at}?since=${proposal.head}`)
    expect(since)
      .to.match(/<ins> loudly<\/ins>|<ins>sing loudly<\/ins>|loudly/)
      .and.include('since the review')
    expect(since).to.match(/Bob<\/bdi> approved\s*before the last change/)
    ledTo(await send(at, { ...fields, commit: head }))
    expect((await pull(proposal)).consent.changes_requested).to.equal(1)
  })

  it('offers a comment and a review again after a forced push, on their files', async () => {
    const proposal = await aProposal()
    const { node, head, base } = proposal
    const at = pageOf(proposal)
    const { send } = await sessionOf(bob)
    const moved = node.git.commit({ files: { 'content.md': 'Dolphins.\n' }, parents: [base] })
    node.git.point('draft', moved)
    const place = { path: 'content.md', commit: head, first_line: '1', last_line: '1' }
    const refused = await send(at, { act: 'comment', text: 'Loud?', ...place })
    expect([refused.status, textareaOf(refused.body)]).to.deep.equal([409, 'Loud?'])
    ledTo(await send(at, { ...refusedFields(refused.body), act: 'comment', text: 'Loud?' }))
    const comments = JSON.stringify([{ text: 'Here?', anchor: { commit: head, path: 'content.md', first_line: 1 } }])
    let answer = await send(at, { act: 'review', commit: head, verdict: 'approve', text: 'Well.', comments })
    for (let n = 0; n < 2 && answer.status === 409; n++)
      answer = await send(at, { ...refusedFields(answer.body), act: 'review', verdict: 'approve', text: 'Well.' })
    ledTo(answer)
    const { threads } = (await bob.get(`${proposal.path}/threads`)).body
    const anchors = threads.map((one: Answer['body']) => one.comments[0].anchor)
    expect(anchors).to.deep.equal([
      { commit: moved, path: 'content.md' },
      { commit: moved, path: 'content.md' },
    ])
  })

  it('asks members for a review', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    const owner = await sessionOf(ann)
    ledTo(await owner.send(at, { act: 'ask', reviewer: bob.user.id }))
    expect(await owner.open(at)).to.match(/Waiting for <bdi[^>]*>Bob/)
    expect(await owner.open(`${at}?tab=conversation`)).to.include('asked Bob for a review')
    const reader = await sessionOf(cy)
    expect(await reader.open(at)).to.not.include('name="reviewer"')
    const list = await (await sessionOf(bob)).open(`${pageAt(proposal.node.org)}/proposals?reviewer=me`)
    expect(list).to.include(pageOf(proposal))
    const lists = `${pageAt(proposal.node.org)}/proposals?`
    expect(await owner.open(`${lists}author=me&under=${proposal.node.id}&status=all`))
      .to.include(pageOf(proposal))
      .and.include('Under Whales')
    for (const query of ['author=cy@example.org', `under=${proposal.node.org}`, 'reviewer=nobody'])
      expect(await owner.open(lists + query), query).to.include('No proposal matches these filters.')
    expect(await owner.open(`${lists}reviewer=nobody`)).to.match(/role="alert">[^<]*e-mail address/)
    ledTo(await owner.send(at, { act: 'ask' }))
    expect((await pull(proposal)).reviewers).to.deep.equal([])
  })

  it('keeps a text in every refusal, and says why in a sentence', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    const { send, open } = await sessionOf(cy)
    const long = 'é'.repeat(8_193)
    const cases: [Record<string, string>, number, RegExp][] = [
      [{ act: 'comment', text: long }, 422, /at most 16384 bytes/],
      [{ act: 'answer', thread: '9', text: 'Lost?' }, 404, /Thread not found\./],
      [
        { act: 'comment', text: 'Far.', path: 'content.md', commit: proposal.head, first_line: '99' },
        422,
        /whole proposal/,
      ],
      [{ act: 'comment', text: 'Old.', path: 'content.md', commit: 'a'.repeat(40), first_line: '1' }, 409, /history/],
      [{ act: 'edit', entry: '9', text: 'Gone.' }, 404, /Comment not found\./],
      [{ act: 'review', commit: proposal.head, text: 'Bad.', comments: '{' }, 400, /cannot be read/],
    ]
    for (const [fields, status, says] of cases) {
      const answer = await send(at, fields)
      expect(answer.status, fields.act).to.equal(status)
      expect(/role="alert">([^<]*)/.exec(answer.body)?.[1]).to.match(says)
      expect(textareaOf(answer.body)).to.equal(fields.text)
    }
    await ann.delete(`/orgs/${ann.org}/members/cy@example.org`).then(expecting(204))
    const outside = await send(at, { act: 'comment', text: 'Still mine.' })
    expect([outside.status, textareaOf(outside.body)]).to.deep.equal([404, 'Still mine.'])
    await ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'reader' }).then(expecting(200))
    const anonymous = await sendForm(grove, at, { act: 'comment', text: 'Signed out.' })
    expect([anonymous.status, textareaOf(anonymous.body)]).to.deep.equal([401, 'Signed out.'])
    expect((await pull(proposal)).comments).to.equal(0)
    expect(await open(at)).to.not.include('role="alert"')
  })

  it('takes forms only from its own pages', async () => {
    const proposal = await aProposal()
    const { cookie } = await sessionOf(cy)
    const fields = { act: 'comment', text: 'Forged.' }
    for (const site of ['cross-site', 'same-site', 'none']) {
      const { status } = await sendForm(grove, pageOf(proposal), fields, { cookie, 'sec-fetch-site': site })
      expect(status, site).to.equal(403)
    }
    expect((await pull(proposal)).comments).to.equal(0)
  })

  it('shows nothing of it to anonymous visitors, also if the organisation is published', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'Among us.')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    for (const query of ['', '?tab=conversation', '?tab=commits']) {
      const { status, body } = await client(grove).get(pageOf(proposal) + query, { accept: 'text/html' })
      expect(status).to.equal(401)
      expect(body).to.not.include('Among us.')
    }
    const stranger = await sessionOf(eve)
    const { status } = await stranger.send(pageOf(proposal), { act: 'comment', text: 'Hi' })
    expect(status).to.equal(403)
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
  })

  it('shows hostile texts as texts', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    const texts = [
      '<script>alert(1)</script><img src=x onerror=alert(1)>',
      '[go](javascript:alert(1)) <a href="javascript:alert(1)">x</a> [data](data:text/html,x)',
      `# main\n\n\u202Egnp.exe\u202C @Bob <b>@Bob</b> \`@Bob\``,
      `${'W'.repeat(16_000)}`,
      '</textarea></form><form action="https://evil.example">',
    ]
    for (const text of texts) await comment(cy, proposal, text)
    const { open } = await sessionOf(cy)
    const html = await open(`${at}?tab=conversation`)
    expect(html).to.not.match(/<script>alert|<img src=x|href="(javascript|data):|action="https/i)
    expect(html).to.not.match(/<h\d[^>]*id="main"/)
    expect(html.match(/id="main"/g)).to.have.length(1)
    expect(html).to.match(/<p class="heading">main<\/p>/)
    expect(html.match(/<strong class="mention">@Bob<\/strong>/g)).to.have.length(2)
    const edited = await open(`${at}?tab=conversation&edit=5`)
    expect(edited).to.include('&lt;/textarea>')
    expect(await open(`${at}?at=${encodeURIComponent('"><script>alert(1)</script>')}:1`)).to.not.include(
      '<script>alert',
    )
    expect(await open(`${at}?since=${encodeURIComponent('"><script>alert(1)</script>')}`)).to.not.include(
      '<script>alert',
    )
  })

  it('says who wrote by a token, and keeps outdated threads with the old lines', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    const { token } = (await cy.post('/auth/tokens', { name: 'bot', access: 'write' }).then(expecting(201))).body
    const anchor = { commit: proposal.head, path: 'content.md', first_line: 1 }
    await client(grove)
      .post(`${proposal.path}/comments`, { text: 'By a program.', anchor }, { authorization: `Bearer ${token}` })
      .then(expecting(201))
    await proposal.node.commit('draft', { 'content.md': 'Dolphins whistle.\n' })
    const { open } = await sessionOf(bob)
    const html = await open(at)
    expect(html).to.match(/Cy<\/bdi>, by a token/)
    expect(html).to.match(
      /1 comment on text that was since changed.*<blockquote class="quoted">Whales sing\.<\/blockquote>.*id="c1"/s,
    )
  })

  it('shows threads on files and JSON values, and on files that are not changed', async () => {
    const proposal = await aProposal()
    const at = pageOf(proposal)
    const on = (path: string, more: object = {}) => ({ anchor: { commit: proposal.head, path, ...more } })
    await comment(cy, proposal, 'The file.', on('content.md'))
    await comment(cy, proposal, 'The title.', on('node.json', { pointer: '/title' }))
    const html = await (await sessionOf(bob)).open(at)
    expect(html).to.match(/<h2>Text<\/h2>.*The file\./s)
    expect(html).to.match(/<h2>node\.json<\/h2>.*not changed here.*\/title.*The title\./s)
  })

  it('shows entries that it does not know, and damaged ones', async () => {
    const proposal = await aProposal()
    const { git } = proposal.node
    await comment(cy, proposal, 'First.')
    const files = {
      'reviews/0/0/1/0/2.json': '{"kind":"poll","at":"2026-01-01T00:00:00Z"}',
      'reviews/0/0/1/0/3.json': 'no',
    }
    const parents = [git.say('rev-parse', 'refs/grove/ledger')]
    git.say('update-ref', 'refs/grove/ledger', git.commit({ files, parents }))
    const html = await (await sessionOf(bob)).open(`${pageOf(proposal)}?tab=conversation`)
    expect(html).to.include('Entry 2 was written by a later version of Grove.')
    expect(html).to.include('Entry 3 cannot be read, because its file in the ledger is damaged.')
  })

  it.deep('is paged, with each entry and commit once', async () => {
    const proposal = await aProposal()
    const at = `${pageOf(proposal)}?tab=conversation`
    await comment(cy, proposal, 'A thread.')
    for (let n = 2; n <= 104; n++) await comment(bob, proposal, `Word ${n}.`, n % 2 === 0 ? { thread: 1 } : {})
    const { open } = await sessionOf(cy)
    const [first, second] = [await open(at), await open(`${at}&after=100`)]
    expect(first).to.include('href="?tab=conversation&amp;after=100"')
    const ids = (html: string) => [...html.matchAll(/id="c(\d+)"/g)].map(([, id]) => Number(id)).sort((a, b) => a - b)
    expect([...ids(first), ...ids(second)]).to.deep.equal(Array.from({ length: 104 }, (_, n) => n + 1))
    expect((first + second).match(/committed/g)).to.have.length(1)
    expect(second).to.include('an earlier thread')
  })

  it.deep('stays small with 1,000 comments', async () => {
    const proposal = await aProposal(Array.from({ length: 300 }, (_, n) => `Line ${n} of the text.\n`).join(''))
    const at = pageOf(proposal)
    // Ten reviews with a hundred comments each are faster than a thousand acts, of which a user may do 120 a minute. The
    // first two start threads, at the entries 1 to 100 and 102 to 201, and the others answer them.
    for (let n = 0; n < 10; n++) {
      const comments = Array.from({ length: 100 }, (_, m) => ({
        text: `Remark ${n * 100 + m}: ${Math.sin(n * 100 + m)} is what was measured there.`,
        ...(n < 2
          ? { anchor: { commit: proposal.head, path: 'content.md', first_line: n * 100 + m + 1 } }
          : { thread: m + 1 + (n % 2) * 101 }),
      }))
      await review(cy, proposal, 'comment', { comments })
    }
    await comment(cy, proposal, 'One more thread.', { anchor: { commit: proposal.head, path: 'content.md' } })
    const { cookie } = await sessionOf(cy)
    for (const query of ['', '?tab=conversation']) {
      const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'accept-encoding': 'gzip' }
      const answer = await fetch(`${grove.url}${at}${query}`, { headers })
      expect(Number(answer.headers.get('content-length'))).to.be.within(1, 150 * 1_024)
      const html = await answer.text()
      if (query !== '') continue
      expect(html.match(/id="c\d+"/g)).to.have.length(1_000)
      expect(html).to.include('1 more open thread')
    }
  })
})
