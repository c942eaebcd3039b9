/** The discussion of a proposal through tools: it is read, and commented on, and nothing more. */

import { expect } from 'chai'
import { v5 as hashedId } from 'uuid'
import type { Output } from '../../spec/client/api.ts'
import { made } from '../support/cast.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, connectHttp, connectStdio, factsIn, grove, type Model, parted, tokenOf, useScene } from './scene.ts'

const lines = ['Whales are large.', 'The blue whale eats fish and krill.', 'They sing.', 'They sing.']

describe('the discussion of a proposal', () => {
  useScene()

  let bob: PersonClient
  let cy: PersonClient

  before(async () => {
    bob = await signUp(grove, 'Bob')
    cy = await signUp(grove, 'Cy')
    await made(ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }))
    await made(ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'reader' }))
  })

  for (const [door, connect] of Object.entries({ HTTP: connectHttp, 'standard input': connectStdio }))
    describe(`over ${door}`, () => {
      let model: Model
      let node: TestNode
      let pull: string
      let at: { readonly org_id: string; readonly node_id: string; readonly number: number }

      beforeEach(async () => {
        node = await newNode(grove, ann, { text_content: 'Whales are small.\n' })
        await node.branch('draft')
        await node.commit('draft', { 'content.md': `${lines.join('\n')}\n` })
        const { number } = await node.open('draft')
        pull = `${node.at}/pull-requests/${number}`
        at = { org_id: node.org, node_id: node.id, number }
      })
      before(async () => {
        model = await connect(await tokenOf('write'))
      })

      const say = (input: object, by = model) => by.ask('comment', { ...at, ...input })
      const read = (input: object = {}) => model.ask('read_discussion', { ...at, ...input })
      const threads = async (): Promise<Output<'listThreads'>['threads']> =>
        (await made(ann.get(`${pull}/threads`))).threads

      it('takes comments on the whole proposal, on words, on lines and on a file, and answers', async () => {
        const page = `${grove.url}${pageAt(at.org_id, at.node_id)}/proposals/${at.number}`
        expect(await say({ text: 'A good start.' })).to.equal(
          `Comment 1 of proposal 1 of node ${at.node_id}: ${page}\nIts thread is 1.`,
        )
        const { source_commit: head } = (await made(ann.get(pull))).pr
        expect(await say({ text: 'A source?', path: 'content.md', quote: 'eats fish' })).to.match(
          new RegExp(`^Comment 2 .*\nIts thread is 2\\. It is about line 2, 1 lines long, of commit ${head}\\.$`),
        )
        await say({ text: 'Twice?', path: 'content.md', first_line: 3, num_lines: 2 })
        await say({ text: 'Why this file?', path: 'content.md' })
        await say({ text: 'Here too?', path: 'content.md', quote: 'They sing.', first_line: 4 })
        expect(await say({ text: 'From a book.', thread: 2 })).to.match(/^Comment 6 .*\nIts thread is 2\.$/)
        const found = (await threads()).map(({ comments }) => [
          comments[0]?.anchor?.path,
          comments[0]?.anchor?.first_line,
          comments[0]?.anchor?.num_lines,
          comments[0]?.anchor?.quote?.exact,
          comments.map(({ text, author, via_token }) => `${author} ${via_token} ${text}`),
        ])
        expect(found).to.deep.equal([
          [undefined, undefined, undefined, undefined, ['Ann true A good start.']],
          ['content.md', 2, 1, 'eats fish', ['Ann true A source?', 'Ann true From a book.']],
          ['content.md', 3, 2, undefined, ['Ann true Twice?']],
          ['content.md', undefined, undefined, undefined, ['Ann true Why this file?']],
          ['content.md', 4, 1, 'They sing.', ['Ann true Here too?']],
        ])
      })

      it.deep('has a comment once, however often it is said, also after the words are gone', async () => {
        const input = { text: 'A source?', path: 'content.md', quote: 'eats fish' }
        const said = await Promise.all(Array.from({ length: 5 }, () => say(input)))
        expect(new Set(said).size).to.equal(1)
        await node.commit('draft', { 'content.md': 'Rewritten.\n' })
        expect(await say(input)).to.equal(said[0])
        expect(await threads()).to.have.length(1)
        const others = await Promise.all([
          say({ ...input, text: 'A source!', quote: undefined }),
          say({ text: 'A source?' }),
          say({ text: 'A source?', thread: 1 }),
          say(input, await connect(await tokenOf('write'))),
          say({ text: 'A source?' }, await connect(await tokenOf('write', {}, bob))),
        ])
        expect(new Set(others.map((answer) => /^Comment (\d+)/.exec(answer)?.[1])).size).to.equal(5)
        expect(others[3], 'the same user, by another token').to.equal(said[0])
        await made(ann.patch(`${pull}/comments/1`, { text: 'Which source?' }))
        expect(await say(input)).to.equal(`${said[0]}\nIts text was changed since.`)
      })

      it('takes suggestions, has each once, and applies none', async () => {
        const suggest = (input: object) => model.ask('suggest', { ...at, ...input })
        const input = { path: 'content.md', quote: 'fish and krill', replacement: 'krill', why: 'See the book.' }
        const said = await Promise.all([suggest(input), suggest(input), suggest(input)])
        expect(said[0]).to.match(/^Comment 1 .*\nIts thread is 1\. It is about line 2, 1 lines long, of commit/)
        expect(new Set(said).size).to.equal(1)
        await suggest({ path: 'content.md', first_line: 3, num_lines: 2, replacement: '' })
        await say({ text: 'Which food?', path: 'content.md', quote: 'whale eats' })
        await suggest({ thread: 3, replacement: `${'x'.repeat(2_000)}\n` })
        const head = node.git.head('draft')
        const answer = await read()
        const facts = (entry: number) => factsIn(answer, `comment ${entry}`)[0] as Record<string, unknown>
        expect(facts(1)).to.deep.include({ suggestion: 'krill', text: 'See the book.', quote: 'fish and krill' })
        expect(facts(2)).to.deep.include({ suggestion: '', line: 3, lines: 2 })
        expect(facts(4)).to.deep.include({ suggestion_chars: 2_001, thread: 3 })
        const whole = parted(await read({ entry: 4, part: 'suggestion' })).parts['suggestion of comment 4']
        expect(whole).to.equal(`${'x'.repeat(2_000)}\n`)
        const body = { comments: [1], expected_source_commit: head }
        const { commit_id } = await made(ann.post(`${pull}/suggestions`, body))
        expect(await suggest(input), 'the same call after that').to.equal(
          `${said[0]}\nIts suggestion is applied in commit ${commit_id}.`,
        )
        expect(factsIn(await read({ state: 'all' }), 'comment 1')[0]).to.deep.include({ applied_commit: commit_id })
        const refused = (more: object) => model.refused('suggest', { ...at, replacement: 'x', ...more })
        expect(await refused({})).to.match(/\nreplacement: .*Send an anchor/)
        expect(await refused({ path: 'content.md' })).to.match(/\nreplacement: /)
        expect(await refused({ path: 'content.md', quote: 'They sing.' })).to.match(/\nquote: .* 2 times/)
        expect(await refused({ thread: 3, quote: 'x' })).to.match(/^422 invalid: An answer has the place/)
        expect(await model.refused('read_discussion', { ...at, entry: 3, part: 'suggestion' })).to.match(
          /^422 invalid: Entry 3 has no suggestion/,
        )
      })

      it.deep('finds a comment again by a token of one node', async () => {
        const { org_id, node_id } = at
        const bound = await connect(await tokenOf('write', { org_id, node_id }))
        const said = await say({ text: 'Bound.' }, bound)
        expect(await say({ text: 'Bound.' }, bound)).to.equal(said)
        expect((await threads()).length).to.equal(1)
        expect(factsIn(await bound.ask('read_discussion', at), 'comment 1')).to.have.length(1)
      })

      it('does not repeat a deleted comment', async () => {
        await say({ text: 'Nonsense.' })
        expect((await ann.delete(`${pull}/comments/1`)).status).to.equal(204)
        expect(await model.refused('comment', { ...at, text: 'Nonsense.' })).to.match(
          /^409 comment_deleted: Comment 1 said the same and was deleted: \S+\/proposals\/1$/,
        )
      })

      it('says that a comment and a review are erased, and does not repeat them', async () => {
        await say({ text: 'The patient is Zed.' })
        const expected_source_commit = node.git.head('draft')
        await made(bob.post(`${pull}/reviews`, { verdict: 'comment', text: 'Zed is ill.', expected_source_commit }))
        for (const entry of [1, 2]) await made(ann.post(`${pull}/entries/${entry}/erase`, {}))
        const answer = await read({ state: 'all' })
        expect(answer).not.to.contain('Zed')
        for (const of of ['comment 1', 'review 2']) {
          const [facts] = factsIn(answer, of)
          expect(facts)
            .to.have.property('erased_at')
            .that.matches(/^2\d{3}-/)
          expect(facts).not.to.have.property('text')
        }
        for (const entry of [1, 2]) expect(factsIn(await read({ entry }), 'facts')[0]).to.have.property('erased_at')
        expect(await model.refused('comment', { ...at, text: 'The patient is Zed.' })).to.match(
          /^409 comment_deleted: Comment 1 said the same and was erased: \S+\/proposals\/1$/,
        )
      })

      it('takes no comment by an id that another user has taken', async () => {
        const said = [ann.user.id, at.node_id, at.number, ...Array(5).fill(null), 'Planned.']
        const id = hashedId(JSON.stringify(said), '7c1f4d7e-52a0-4c39-9d0e-2b6a3f8e5d14')
        await made(bob.post(`${pull}/comments`, { text: 'Planned.', id }))
        expect(await model.refused('comment', { ...at, text: 'Planned.' })).to.equal(
          '409 comment_exists: Another user has taken the id of this comment. Word the text differently',
        )
        expect(await threads()).to.have.length(1)
      })

      it('refuses comments that have no place, with the field and the reason', async () => {
        const refused = (input: object) => model.refused('comment', { ...at, text: 'x', ...input })
        expect(await refused({ quote: 'fish' })).to.match(/^422 invalid: Pass path/)
        expect(await refused({ thread: 1, path: 'content.md' })).to.match(/^422 invalid: An answer has the place/)
        expect(await refused({ thread: 7 })).to.match(/^404 thread_not_found: .*read_discussion/)
        expect(await refused({ number: 9 })).to.match(/^404 pull_request_not_found: .*list_proposals/)
        expect(await refused({ path: 'gone.md' })).to.match(/^422 .*\n<.*>\npath: The commit has no file/)
        expect(await refused({ path: 'content.md', quote: 'birds' })).to.match(/\nquote: The quote is not in the file/)
        expect(await refused({ path: 'content.md', quote: 'They sing.' })).to.match(
          /\nquote: .* 2 times; give first_line/,
        )
        expect(await refused({ path: 'content.md', first_line: 9 })).to.match(/\nfirst_line: The file has 4 lines/)
        expect(await refused({ text: '  ' })).to.match(/\ntext: The text must not be blank/)
        expect(await threads()).to.deep.equal([])
      })

      it.deep('is open to readers, and closed to tokens that only read', async () => {
        await say({ text: 'A question.' }, await connect(await tokenOf('write', {}, cy)))
        const reader = await connect(await tokenOf('read'))
        const refused = await reader.client.callTool({ name: 'comment', arguments: { ...at, text: 'x' } }).catch(String)
        expect(refused).to.include('Tool comment not found')
        expect(reader.client.getInstructions()).to.include('is read-only: you cannot comment')
        expect(factsIn(await reader.ask('read_discussion', at), 'comment 1')[0]).to.include({ author: 'Cy' })
        expect(await threads()).to.have.length(1)
      })

      it('is read with the places, the states and the verdicts', async () => {
        await say({ text: 'A source?', path: 'content.md', quote: 'eats fish' })
        await say({ text: 'Really?', path: 'content.md', first_line: 1 })
        await say({ text: 'Done.', path: 'content.md' })
        await say({ text: 'From a book.', thread: 1 })
        await made(ann.patch(`${pull}/threads/3`, { resolved: true }))
        const { source_commit: first } = (await made(ann.get(pull))).pr
        const review = { expected_source_commit: first }
        await made(bob.post(`${pull}/reviews`, { ...review, verdict: 'approve', text: 'Well done.' }))
        await made(cy.post(`${pull}/reviews`, { ...review, verdict: 'request_changes', text: 'No krill.' }))
        await made(ann.patch(pull, { reviewers: [bob.user.id] }))
        const head = await node.commit('draft', { 'content.md': `Intro.\n\nBig.\n${lines.slice(1).join('\n')}\n` })
        const answer = await read()
        expect(parted(answer).outside.split('\n')).to.deep.equal([
          `Proposal 1 of node ${at.node_id} is open: ${grove.url}${pageAt(at.org_id, at.node_id)}/proposals/1`,
          'Comments: 4; open threads: 2. Approvals that count: 0; requests for changes: 1.',
          'Threads: 2 with the state open.',
        ])
        const parts = Object.keys(parted(answer).parts)
        expect(parts).to.deep.equal(['review 6', 'review 5', 'reviewers', 'comment 1', 'comment 4', 'comment 2'])
        expect(factsIn(answer, 'review 5')[0]).to.deep.include({
          ...{ review: 5, author: 'Bob', verdict: 'approve', state: 'stale', counts: false, text: 'Well done.' },
        })
        expect(factsIn(answer, 'review 6')[0]).to.deep.include({
          ...{ author: 'Cy', verdict: 'request_changes', state: 'current', counts: true },
        })
        expect(factsIn(answer, 'reviewers')[0]).to.include({ name: 'Bob' })
        const { created_at: _, ...placed } = factsIn(answer, 'comment 1')[0] ?? {}
        expect(placed).to.deep.equal({
          ...{ comment: 1, thread: 1, state: 'open', comments: 2, path: 'content.md', line: 4, lines: 1, commit: head },
          ...{ quote: 'eats fish', author: 'Ann', by_token: true, text: 'A source?' },
        })
        expect(factsIn(answer, 'comment 4')[0]).to.include({ comment: 4, thread: 1, text: 'From a book.' })
        expect(factsIn(answer, 'comment 2')[0]).to.deep.include({
          ...{ outdated: 'the content that it is about is gone', line: 1, commit: first, path: 'content.md' },
        })
        const all = await read({ state: 'all' })
        expect(factsIn(all, 'comment 3')[0]).to.include({ state: 'resolved', resolved_by: 'Ann' })
        expect(Object.keys(parted(await read({ state: 'resolved' })).parts))
          .to.include('comment 3')
          .and.not.include('comment 1')
        const listed = factsIn(
          await model.ask('list_proposals', { org_id: at.org_id, node_id: at.node_id }),
          'proposals',
        )
        expect(listed[0]).to.include({ comments: 4, open_threads: 2, approvals: 0, changes_requested: 1 })
        const { messages } = await model.client.getPrompt({
          name: 'review_proposal',
          arguments: { org_id: at.org_id, node_id: at.node_id, number: '1' },
        })
        expect(JSON.stringify(messages)).to.include(
          'requests for changes: 1.\\nComments: 4; open threads: 2. Read them with read_discussion.',
        )
      })

      it('says what the rules still ask for, to be passed on', async () => {
        const rules = [
          { branches: ['main'], approvals: 2, checks: [{ name: 'links' }], merge: 'maintainer' },
          { branches: ['main'], approvals: 1, by: { people: [cy.user.id] }, resolved: true },
        ]
        await made(ann.patch(`/orgs/${ann.org}`, { rules }))
        try {
          const { source_commit: head } = (await made(ann.get(pull))).pr
          await made(bob.put(`${node.at}/checks/${head}/spelling`, { state: 'success' }))
          await made(bob.post(`${pull}/comments`, { text: 'A source?' }))
          await made(bob.post(`${pull}/reviews`, { verdict: 'approve', expected_source_commit: head }))
          const listed = await model.ask('list_proposals', { org_id: at.org_id, node_id: at.node_id })
          const facts = {
            ...{ approvals: 1, approvals_required: 2, can_merge: false, threads_must_be_resolved: true },
            missing: [
              'It needs 1 more approval by an editor.',
              'It needs 1 more approval by one named member.',
              'The check links has not been reported.',
              '1 open thread must be resolved.',
            ],
            ...{ checks: ['links: missing, required', 'spelling: success'], who_may_merge: 'maintainers and owners' },
          }
          expect(factsIn(listed, 'proposals')[0]).to.deep.include(facts)
          const { messages } = await model.client.getPrompt({
            name: 'review_proposal',
            arguments: { org_id: at.org_id, node_id: at.node_id, number: '1' },
          })
          const content = messages[0]?.content
          expect(factsIn(content?.type === 'text' ? content.text : '', 'consent')[0]).to.deep.include(facts)
          const override = { override: { reason: 'It is late.' } }
          await made(ann.post(`${pull}/merge`, override))
        } finally {
          await made(ann.patch(`/orgs/${ann.org}`, { rules: [] }))
        }
        const merged = await model.ask('list_proposals', { org_id: at.org_id, node_id: at.node_id, status: 'merged' })
        expect(factsIn(merged, 'proposals')[0])
          .to.include({ overridden_by: 'Ann', overridden_reason: 'It is late.' })
          .and.not.have.property('missing')
      })

      it('says of removed content where it is on the base', async () => {
        const base = (await made(ann.get(`${node.at}/branches/main`))).head
        const anchor = { commit: base, path: 'content.md', first_line: 1 }
        await made(ann.post(`${pull}/comments`, { text: 'Why remove this?', anchor }))
        expect(factsIn(await read(), 'comment 1')[0]).to.deep.include({
          ...{ removed: 'the proposal removes this content', commit: base, line: 1 },
        })
      })

      it('is read whole, page by page, and one text whole', async () => {
        const long = `Begin. ${'"quoted" '.repeat(1_700)}End.`
        await made(ann.post(`${pull}/comments`, { text: long }))
        for (let n = 2; n <= 12; n++) {
          const thread = n % 3 === 0 ? { thread: 1 } : {}
          await made(ann.post(`${pull}/comments`, { text: `${n} ${'word '.repeat(60)}`, ...thread }))
        }
        const seen: unknown[] = []
        for (let input: object = {}, calls = 0; calls < 30; calls++) {
          const answer = await read({ ...input, max_chars: 3_000, limit: 4 })
          expect(answer.length).to.be.at.most(3_000)
          for (const name of Object.keys(parted(answer).parts)) seen.push(...factsIn(answer, name))
          const next = /call again with offset: (\d+)(?:, after: (\d+))?\.$/.exec(answer)
          if (next === null) break
          input = { offset: Number(next[1]), ...(next[2] && { after: Number(next[2]) }) }
        }
        const numbers = seen.map((fact) => (fact as { comment: number }).comment)
        expect(numbers).to.deep.equal([1, 3, 6, 9, 12, 2, 4, 5, 7, 8, 10, 11])
        expect(seen[0]).to.include({ text_chars: long.length })
        let whole = ''
        for (let from = 0; ; ) {
          const answer = await read({ entry: 1, from, max_chars: 3_000 })
          expect(answer.length).to.be.at.most(3_000)
          whole += parted(answer).parts['comment 1']
          const next = /call again with from: (\d+)/.exec(answer)?.[1]
          if (next === undefined) break
          from = Number(next)
        }
        expect(whole).to.equal(long)
        expect(await model.refused('read_discussion', { ...at, entry: 1, from: 99_999 })).to.match(/^422 invalid: from/)
        expect(await model.refused('read_discussion', { ...at, entry: 99 })).to.match(/^404 review_not_found: /)
      })

      it.deep('waits for the user who is asked', async () => {
        await made(ann.patch(pull, { reviewers: [bob.user.id] }))
        const bobs = await connect(await tokenOf('read', {}, bob))
        const answer = await bobs.ask('waiting', { org_id: at.org_id })
        const mine = factsIn(answer, 'proposals').find(({ node_id }) => node_id === at.node_id)
        expect(mine).to.deep.include({
          ...{ org_id: at.org_id, number: 1, title: 'Merge draft', author: 'Ann', status: 'open' },
          ...{ reasons: ['review_requested'], page: `${grove.url}${pageAt(at.org_id, at.node_id)}/proposals/1` },
        })
        expect(factsIn(await bobs.ask('waiting', {}), 'proposals')).to.deep.include(mine)
        const bound = await connect(await tokenOf('read', { org_id: at.org_id }, bob))
        expect(factsIn(await bound.ask('waiting', {}), 'proposals')).to.deep.include(mine)
        const total = Number(/^Proposals that wait: (\d+)\./.exec(answer)?.[1])
        expect(factsIn(await bobs.ask('waiting', { offset: total }), 'proposals')).to.deep.equal([])
      })
    })
})
