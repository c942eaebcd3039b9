/** Suggestions: how they are written, applied and refused. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import {
  ann,
  aProposal,
  bob,
  comment,
  cy,
  di,
  eve,
  grove,
  ledgerFile,
  now,
  type Proposal,
  pass,
  pull,
  review,
  useScene,
} from './scene.ts'

const song = 'Whales sing.\nThe blue whale eats fish and krill.\nThe end.\n'

/** A proposal of a text in content.md, and ways to suggest changes of it. */
async function aText(text = song, fields: object = {}) {
  const proposal = await aProposal(text, fields)
  const { head, path } = proposal
  const anchor = (place: object) => ({ commit: head, path: 'content.md', ...place })
  return {
    ...proposal,
    anchor,
    words: async (exact: string, suggestion: string, by = cy, around: object = {}) =>
      (await comment(by, proposal, '', { suggestion, anchor: anchor({ quote: { exact, ...around } }) })).entry,
    lines: async (first_line: number, num_lines: number, suggestion: string, by = cy) =>
      (await comment(by, proposal, '', { suggestion, anchor: anchor({ first_line, num_lines }) })).entry,
    apply: (comments: number[], more: object = {}, by = bob) =>
      by.post(`${path}/suggestions`, { comments, expected_source_commit: head, ...more }),
    proposed: () => proposal.node.git.run(['show', 'draft:content.md']).toString(),
  }
}

/** The status of an answer, and its code or the place of its problem. */
const outcome = ({ status, body }: Awaited<ReturnType<typeof bob.post>>) =>
  status < 300
    ? [status]
    : [status, body.code ?? body.detail[0].loc.join('.'), ...(body.comments ? [body.comments] : [])]

describe('suggestions', () => {
  useScene()

  it('are applied in one commit with co-authors, which resolves their threads', async () => {
    const text = await aText()
    const first = await text.words('fish and krill', 'krill almost only')
    await comment(di, text, 'Rather so.', { thread: first, suggestion: 'only krill' })
    const third = await text.lines(1, 1, 'All whales sing.', di)
    const own = await text.lines(3, 1, 'Fin.', bob)
    pass(5)
    const { status, body } = await text.apply([own, third, first])
    expect(status).to.equal(200)
    expect(text.proposed()).to.equal('All whales sing.\nThe blue whale eats krill almost only.\nFin.\n')
    const { git } = text.node
    expect(git.say('rev-parse', 'draft', 'draft^').split('\n')).to.deep.equal([body.commit_id, text.head])
    expect(body.pr.source_commit).to.equal(body.commit_id)
    expect(git.say('log', '-1', '--format=%an <%ae>%n%B', 'draft')).to.equal(
      'Bob <bob@example.org>\nApply 3 suggestions of proposal 1\n\nCo-authored-by: Cy <cy@example.org>\nCo-authored-by: Di <di@example.org>',
    )
    expect(git.say('log', '-1', '--format=%an %s', 'refs/grove/ledger')).to.equal(`Bob apply 1 1 3 4`)
    const by = { id: bob.user.id, name: 'Bob', email: 'bob@example.org' }
    expect(ledgerFile(text, 'reviews/0/0/1/0/1.json')).to.deep.include({
      suggestion: 'krill almost only',
      applied: { by, at: now(), commit: body.commit_id },
      resolved: { by, at: now() },
    })
    const { threads } = (await cy.get(`${text.path}/threads`)).body
    const { comments } = threads[0]
    expect(comments[0]).to.deep.include({ applied_at: now(), applied_by: 'Bob', applied_commit: body.commit_id })
    expect(comments[1]).to.deep.include({ suggestion: 'only krill' }).and.not.to.have.property('applied_at')
    expect(threads.every((thread: { is_resolved: boolean }) => thread.is_resolved)).to.equal(true)
    const { entries } = (await cy.get(`${text.path}/timeline`)).body
    expect(entries[0].comment).to.deep.equal(comments[0])
    git.fsck()
  })

  it('can be answers, and repeating a request finds the commit', async () => {
    const text = await aText()
    await comment(cy, text, 'Hm.', { anchor: text.anchor({ quote: { exact: 'fish and krill' } }) })
    await comment(di, text, '', { thread: 1, suggestion: 'krill' })
    const { body } = await text
      .apply([2], { message: 'Name the food\r\n\r\nReviewed-by: Bob <b@example.org>\r\n' })
      .then(expecting(200))
    const message = text.node.git.say('log', '-1', '--format=%B', 'draft')
    expect(message).to.equal('Name the food\n\nReviewed-by: Bob <b@example.org>\nCo-authored-by: Di <di@example.org>')
    expect(text.proposed()).to.contain('eats krill.')
    await text.node.commit('draft', { 'other.md': 'More.\n' })
    const again = await text.apply([2])
    expect([again.status, again.body.commit_id]).to.deep.equal([200, body.commit_id])
    await ann.patch(text.path, { status: 'closed' }).then(expecting(200))
    expect(outcome(await text.apply([2])), 'also after its end').to.deep.equal([200])
    expect(
      text.node.git.lines('log', '--format=%s', 'refs/grove/ledger').filter((line) => line.startsWith('apply')),
    ).to.deep.equal(['apply 1 2'])
  })

  const scissors = `# ${'-'.repeat(24)} >8 ${'-'.repeat(24)}`

  it('name co-authors where git finds them, also if a space keeps a line from being scissors', async () => {
    const text = await aText()
    const message = `Name the food\n\n${scissors} \n${scissors}`
    await text.apply([await text.words('fish', 'cod', di)], { message }).then(expecting(200))
    expect(text.node.git.say('log', '-1', '--format=%(trailers)', 'draft')).to.equal(
      'Co-authored-by: Di <di@example.org>',
    )
  })

  it('name co-authors above scissors and in folded lines, where git finds them', async () => {
    const text = await aText()
    const message = `Name the food\n\n${scissors}\nBelow`
    await text.apply([await text.words('fish', 'cod', di)], { message }).then(expecting(200))
    expect(text.node.git.say('log', '-1', '--format=%(trailers)', 'draft')).to.equal(
      'Co-authored-by: Di <di@example.org>',
    )
    await text.node.commit('draft', { 'other.md': 'More.\n' }, 'More\n\nCo-authored-by: Cy\n <cy@example.org>')
    const rule = { branches: ['main'], approvals: 1, by: { people: [di.user.id, cy.user.id] } }
    await ann.patch(`/orgs/${ann.org}`, { rules: [rule] }).then(expecting(200))
    for (const by of [di, cy]) await review(by, text, 'approve')
    const { verdicts } = (await pull(text)).consent
    expect(verdicts.map(({ why }: { why: string }) => why)).to.deep.equal(['own_commit', 'own_commit'])
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  it('several with one that is applied already are refused', async () => {
    const text = await aText()
    const [one, two, three] = [
      await text.words('fish', 'cod'),
      await text.lines(1, 1, 'They sing.'),
      await text.lines(3, 1, ''),
    ]
    const { commit_id } = (await text.apply([one]).then(expecting(200))).body
    const at = { expected_source_commit: commit_id }
    expect(outcome(await text.apply([two, one], at))).to.deep.equal([409, 'applied', [one]])
    await text.apply([two], at).then(expecting(200))
    expect(outcome(await text.apply([two, one, three]))).to.deep.equal([409, 'applied', [one, two]])
    expect(text.proposed()).to.equal('They sing.\nThe blue whale eats cod and krill.\nThe end.\n')
  })

  it('of one paragraph go together, unless they overlap', async () => {
    const text = await aText()
    const blue = await text.words('blue whale', 'fin whale')
    const fish = await text.words('fish and', 'almost only')
    const both = await text.words('eats fish', 'hunts fish')
    const line = await text.lines(2, 1, 'Nothing.')
    const end = await text.lines(3, 1, 'Fin.')
    expect(outcome(await text.apply([end, both, fish, blue]))).to.deep.equal([409, 'suggestions_overlap', [fish, both]])
    expect(outcome(await text.apply([line, blue]))).to.deep.equal([409, 'suggestions_overlap', [blue, line]])
    expect(text.proposed()).to.equal(song)
    await text.apply([fish, blue, end]).then(expecting(200))
    expect(text.proposed()).to.equal('Whales sing.\nThe fin whale eats almost only krill.\nFin.\n')
  })

  it('follow their words after pushes, and are outdated once these are gone', async () => {
    const text = await aText()
    const [moved, changed, gone] = [
      await text.words('The end', 'Fin'),
      await text.words('krill', 'shrimp'),
      await text.lines(1, 1, 'All sing.'),
    ]
    const now = '# Whales\n\nWhales sang.\nEvery blue whale eats fish or krill.\nThe end.\n'
    const head = await text.node.commit('draft', { 'content.md': now })
    expect(outcome(await text.apply([moved]))).to.deep.equal([409, 'head_moved'])
    const at = { expected_source_commit: head }
    expect(outcome(await text.apply([moved, gone], at))).to.deep.equal([409, 'suggestion_outdated', [gone]])
    await text.apply([moved, changed], at).then(expecting(200))
    expect(text.proposed()).to.equal('# Whales\n\nWhales sang.\nEvery blue whale eats fish or shrimp.\nFin.\n')
    const renamed = await aText('One long line about whales that is long enough.\nTwo\nThree\nFour\n')
    const two = await renamed.lines(2, 1, 'TWO')
    const name = await renamed.node.commit('draft', { 'whales.md': renamed.proposed(), 'content.md': 'Moved.\n' })
    const removed = await renamed.node.commit('draft', { 'content.md': null })
    expect(name).not.to.equal(removed)
    await renamed.apply([two], { expected_source_commit: removed }).then(expecting(200))
    expect(renamed.node.git.run(['show', 'draft:whales.md']).toString()).to.contain('\nTWO\nThree')
  })

  it('keep line ends, and the end of the file', async () => {
    const crlf = await aText('One\r\nTwo\r\nThree')
    const [two, three] = [await crlf.lines(2, 1, 'Two\nand a half\n'), await crlf.lines(3, 1, 'Three\nFour')]
    await crlf.apply([three, two]).then(expecting(200))
    expect(crlf.proposed()).to.equal('One\r\nTwo\r\nand a half\r\nThree\r\nFour')
    const last = await aText('One\nTwo\nThree')
    const gone = await last.lines(3, 1, '')
    await last.apply([gone]).then(expecting(200))
    expect(last.proposed(), 'still without a line end').to.equal('One\nTwo')
    const all = await aText('One\nTwo\n')
    await all.apply([await all.lines(1, 2, '')]).then(expecting(200))
    expect(all.proposed()).to.equal('')
    const blank = await aText('One\nTwo\n')
    await blank.apply([await blank.lines(2, 1, '\n')]).then(expecting(200))
    expect(blank.proposed(), 'a blank line is a line').to.equal('One\n\n')
  })

  it('replace characters of any kind', async () => {
    const text = await aText('\ufeffDie Bla\u0308uwale 🐳🐋 singen, s\u00e4ngen.\n')
    await text
      .apply([await text.words('Bl\u00e4uwale', 'Blauwale'), await text.words('🐋', '🦐🦐')])
      .then(expecting(200))
    expect(text.proposed()).to.equal('\ufeffDie Blauwale 🐳🦐🦐 singen, s\u00e4ngen.\n')
  })

  it('of several files are one commit, and a hundred at once are', async () => {
    const lines = Array.from({ length: 120 }, (_, n) => `Line ${n + 1} of whales`)
    const text = await aText(`${lines.join('\n')}\n`)
    const head = await text.node.commit('draft', { 'notes.md': 'Some notes.\n' })
    const comments = Array.from({ length: 99 }, (_, n) => ({
      ...{ text: `${n}`, suggestion: n % 3 === 0 ? '' : `Changed ${n}` },
      anchor: { commit: head, path: 'content.md', first_line: n + 10, num_lines: 1 },
    }))
    const anchor = { commit: head, path: 'notes.md', quote: { exact: 'Some' } }
    const { comments: entries } = await review(cy, text, 'comment', {
      comments: [...comments, { text: '', suggestion: 'Few', anchor }],
    })
    const more = { expected_source_commit: head }
    expect(outcome(await text.apply([...entries, 1000], more))).to.deep.equal([422, 'body.comments'])
    await text.apply(entries.reverse(), more).then(expecting(200))
    const expected = lines.flatMap((line, at) => {
      const n = at - 9
      return n < 0 || n >= 99 ? [line] : n % 3 === 0 ? [] : [`Changed ${n}`]
    })
    expect(text.proposed()).to.equal(`${expected.join('\n')}\n`)
    expect(text.node.git.say('show', 'draft:notes.md')).to.equal('Few notes.')
    expect(text.node.git.say('rev-parse', 'draft^')).to.equal(head)
  })

  it('are refused where no text can be replaced', async () => {
    const text = await aText(song)
    const head = await text.node.commit('draft', { 'content.md': song, 'picture.png': '\0PNG' })
    const { base } = text
    const { git } = text.node
    const latin = git.commit({ files: { 'latin.txt': Buffer.from([0x63, 0xe9, 0x0a]) }, parents: [head] })
    git.say('update-ref', 'refs/heads/draft', latin)
    const refusal = async (body: object) =>
      outcome(await cy.post(`${text.path}/comments`, { text: 'Hm.', suggestion: 'x', ...body }))
    const at = (place: object) => ({ anchor: { commit: head, path: 'content.md', ...place } })
    expect(await refusal({})).to.deep.equal([422, 'body.suggestion'])
    expect(await refusal(at({}))).to.deep.equal([422, 'body.suggestion'])
    expect(await refusal(at({ path: 'node.json', pointer: '/title' }))).to.deep.equal([422, 'body.suggestion'])
    expect(await refusal(at({ path: 'picture.png', first_line: 1 }))).to.deep.equal([422, 'body.anchor.path'])
    expect(await refusal({ anchor: { commit: latin, path: 'latin.txt', first_line: 1 } })).to.deep.equal([
      422,
      'body.suggestion',
    ])
    expect(await refusal({ anchor: { commit: base, path: 'content.md', first_line: 1 } }), 'removed').to.deep.equal([
      422,
      'body.suggestion',
    ])
    expect(
      await refusal({ anchor: { commit: base, path: 'node.json', first_line: 1 } }),
      'also at the head',
    ).to.deep.equal([201])
    expect(await refusal(at({ first_line: 2, quote: { exact: 'e' } })), 'which e').to.deep.equal([
      422,
      'body.suggestion',
    ])
    expect(await refusal({ ...at({ first_line: 1 }), suggestion: 'é'.repeat(32_769) })).to.deep.equal([
      422,
      'body.suggestion',
    ])
    expect(await refusal({ ...at({ first_line: 1 }), suggestion: 'a\u0000' })).to.deep.equal([422, 'body.suggestion'])
    const whole = (await comment(cy, text, 'All of it.')).entry
    expect(await refusal({ thread: whole })).to.deep.equal([422, 'body.suggestion'])
    expect(await refusal({ thread: 999 })).to.deep.equal([404, 'thread_not_found'])
    const first = (await comment(cy, text, 'Hm.', at({ first_line: 1 }))).entry
    expect(outcome(await cy.delete(`${text.path}/comments/${first}`))).to.deep.equal([204])
    expect(await refusal({ thread: first }), 'a deleted place').to.deep.equal([422, 'body.suggestion'])
    expect(outcome(await text.apply([whole], { expected_source_commit: latin }))).to.deep.equal([
      422,
      'body.comments.0',
    ])
    expect(outcome(await text.apply([999], { expected_source_commit: latin }))).to.deep.equal([
      404,
      'comment_not_found',
    ])
    expect(outcome(await text.apply([1, 1], { expected_source_commit: latin }))).to.deep.equal([422, 'body.comments'])
    await ann.patch(text.path, { status: 'closed' }).then(expecting(200))
    expect(await refusal(at({ first_line: 1 }))).to.deep.equal([409, 'closed'])
    expect(outcome(await text.apply([1]))).to.deep.equal([409, 'closed'])
  })

  it('change until they are applied, and go with their comment', async () => {
    const text = await aText()
    const entry = await text.words('fish', 'cod')
    const at = `${text.path}/comments/${entry}`
    expect((await cy.patch(at, { suggestion: 'crab' }).then(expecting(200))).body.suggestion).to.equal('crab')
    expect(outcome(await bob.patch(at, { suggestion: 'x' }))).to.deep.equal([403, 'forbidden'])
    expect(outcome(await cy.patch(at, { suggestion: null })), 'nothing would be left').to.deep.equal([422, 'body.text'])
    const plain = (await cy.patch(at, { suggestion: null, text: 'Hm.' }).then(expecting(200))).body
    expect(plain).not.to.have.property('suggestion')
    expect(outcome(await text.apply([entry]))).to.deep.equal([422, 'body.comments.0'])
    await cy.patch(at, { suggestion: '', text: '' }).then(expecting(200))
    await cy.patch(at, { suggestion: 'crab' }).then(expecting(200))
    await text.apply([entry]).then(expecting(200))
    expect(text.proposed()).to.contain('eats crab and')
    expect(outcome(await cy.patch(at, { suggestion: 'x' }))).to.deep.equal([409, 'applied'])
    expect(outcome(await cy.patch(at, { text: 'x' }))).to.deep.equal([409, 'applied'])
    expect(outcome(await ann.delete(at))).to.deep.equal([409, 'applied'])
    const other = await aText()
    const [first, answer] = [await other.words('fish', 'cod'), 2]
    await comment(di, other, '', { thread: first, suggestion: 'crab' })
    await cy.delete(`${other.path}/comments/${first}`).then(expecting(204))
    expect(ledgerFile(other, 'reviews/0/0/1/0/1.json')).not.to.have.property('suggestion')
    expect(outcome(await other.apply([answer])), 'its place is deleted').to.deep.equal([
      409,
      'suggestion_outdated',
      [answer],
    ])
  })

  it.deep('obey the rules of branches, content and rights', async () => {
    const text = await aText()
    const entry = await text.words('fish', 'cod')
    expect(outcome(await text.apply([entry], {}, cy)), 'a reader').to.deep.equal([403, 'forbidden'])
    expect(outcome(await text.apply([entry], {}, eve)), 'not a member').to.deep.equal([404, 'org_not_found'])
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const anyone = await client(grove).post(`${text.path}/suggestions`, {
      comments: [entry],
      expected_source_commit: text.head,
    })
    expect(outcome(anyone)).to.deep.equal([401, 'unauthenticated'])
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
    const token = async (access: string) =>
      client(grove, (await bob.post('/auth/tokens', { name: access, access }).then(expecting(201))).body.token)
    expect(outcome(await text.apply([entry], {}, (await token('read')) as typeof bob))).to.deep.equal([
      403,
      'token_scope',
    ])
    const same = await text.words('krill', 'krill')
    expect(outcome(await text.apply([same]))).to.deep.equal([409, 'no_changes'])
    const json = (
      await comment(cy, text, '', { suggestion: '[', anchor: text.anchor({ path: 'node.json', first_line: 1 }) })
    ).entry
    expect(outcome(await text.apply([entry, json]))).to.deep.equal([422, 'body.comments.1'])
    expect(await pull(text)).to.deep.include({ source_commit: text.head })
    await text.apply([entry], {}, (await token('write')) as typeof bob).then(expecting(200))
    expect(text.proposed()).to.contain('cod')
  })

  it('move main only if it may move', async () => {
    const text: Proposal = await aProposal()
    const { node } = text
    await node.branch('release')
    await node.commit('main', { 'content.md': song })
    const { number, source_commit: head } = await node.open('main', { target_branch: 'release' })
    const path = `${node.at}/pull-requests/${number}`
    const anchor = { commit: head, path: 'content.md', quote: { exact: 'fish' } }
    const { entry } = (await cy.post(`${path}/comments`, { text: '', suggestion: 'cod', anchor }).then(expecting(201)))
      .body
    const apply = () => bob.post(`${path}/suggestions`, { comments: [entry], expected_source_commit: head })
    await ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }).then(expecting(200))
    expect(outcome(await apply())).to.deep.equal([409, 'pull_request_required'])
    await ann.patch(`/orgs/${ann.org}`, { require_pull_requests: false }).then(expecting(200))
    await apply().then(expecting(200))
    expect((await ann.get(node.at)).body.text_content, 'the index has it').to.contain('cod')
  })

  it('are applied by contributors on their own branches', async () => {
    await ann.put(`/orgs/${ann.org}/members/eve@example.org`, { role: 'contributor' }).then(expecting(200))
    const text = await aText()
    const entry = await text.words('fish', 'cod')
    const refused = await text.apply([entry], {}, eve)
    expect(outcome(refused)).to.deep.equal([403, 'forbidden'])
    const { branch_prefix } = (await eve.get(`/orgs/${ann.org}`)).body
    const branch = `${branch_prefix}song`
    await text.node.branch(branch)
    const head = await text.node.commit(branch, { 'content.md': song })
    const { number } = (
      await eve.post(`${text.node.at}/pull-requests`, { source_branch: branch, title: 'Song' }).then(expecting(201))
    ).body.pr
    const path = `${text.node.at}/pull-requests/${number}`
    const anchor = { commit: head, path: 'content.md', quote: { exact: 'fish' } }
    const own = (await cy.post(`${path}/comments`, { text: '', suggestion: 'cod', anchor }).then(expecting(201))).body
      .entry
    await eve.post(`${path}/suggestions`, { comments: [own], expected_source_commit: head }).then(expecting(200))
    await ann.delete(`/orgs/${ann.org}/members/eve@example.org`)
  })

  it('are applied once if ten users apply them at the same time', async () => {
    const text = await aText()
    const entries = [await text.words('fish', 'cod'), await text.lines(1, 1, 'They sing.')]
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => text.apply(entries, {}, n % 2 ? ann : bob)))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(10).fill(200))
    expect(new Set(answers.map(({ body }) => body.commit_id)).size).to.equal(1)
    expect(text.node.git.say('rev-list', '--count', `${text.head}..draft`)).to.equal('1')
  })

  it('hide the e-mail address of a user who hides it now', async () => {
    const text = await aText()
    const entry = await text.words('fish', 'cod', di)
    await di.patch('/auth/me', { hide_email: true }).then(expecting(200))
    await text.apply([entry]).then(expecting(200))
    expect(text.node.git.say('log', '-1', '--format=%(trailers)', 'draft')).to.equal(
      `Co-authored-by: Di <${di.user.id}@users.noreply.invalid>`,
    )
    await di.patch('/auth/me', { hide_email: false }).then(expecting(200))
  })

  it('make approvals stale', async () => {
    const text = await aText()
    await review(di, text, 'approve')
    expect((await pull(text)).consent.approvals).to.equal(1)
    await text.apply([await text.words('fish', 'cod')]).then(expecting(200))
    expect((await pull(text)).consent.approvals).to.equal(0)
  })
})
