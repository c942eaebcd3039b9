/** Comments and threads: what they answer, and what the ledger holds. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
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
  nodes,
  now,
  pass,
  pull,
  useScene,
} from './scene.ts'

describe('comments on a pull request', () => {
  useScene()

  it('start threads and answer them, and each is one commit of the ledger', async () => {
    const proposal = await aProposal()
    const { node, path, head } = proposal
    const before = node.git.lines('log', '--first-parent', '--format=%s', 'refs/grove/ledger').length
    pass(5)
    const { status, body, headers } = await cy.post(`${path}/comments`, { text: 'Which whales?' })
    expect(status).to.equal(201)
    expect(headers.location).to.equal(`${path}/comments/1`)
    expect(body).to.deep.include({ entry: 1, thread: 1, author: 'Cy', author_id: cy.user.id, text: 'Which whales?' })
    expect(body).to.deep.include({ created_at: now(), head_commit: head, mentions: [], via_token: false })
    const answer = await comment(ann, proposal, 'The blue ones.', { thread: 1 })
    expect(answer).to.deep.include({ entry: 2, thread: 1 })
    expect((await bob.get(`${path}/comments/2`)).body).to.deep.equal(answer)
    const { threads, total } = (await bob.get(`${path}/threads`).then(expecting(200))).body
    expect(total).to.equal(1)
    expect(threads).to.deep.equal([
      { thread: 1, is_resolved: false, is_outdated: false, comments: [body, answer], num_comments: 2 },
    ])
    expect(ledgerFile(proposal, 'reviews/0/0/1/0/1.json')).to.deep.equal({
      ...{ kind: 'comment', id: body.id, by: { id: cy.user.id, name: 'Cy', email: 'cy@example.org' } },
      ...{ at: body.created_at, head, text: 'Which whales?' },
    })
    const log = node.git.lines('log', '--first-parent', '--format=%an <%ae> %s', 'refs/grove/ledger')
    expect(log.slice(0, log.length - before)).to.deep.equal([
      'Ann <ann@example.org> comment 1 2',
      'Cy <cy@example.org> comment 1 1',
    ])
    expect(await pull(proposal)).to.deep.include({ comments: 2, open_threads: 1, last_activity_at: now() })
  })

  it('keep the head that they were written on, also after a forced push, in a mirror', async () => {
    const proposal = await aProposal()
    const { node, head } = proposal
    await comment(cy, proposal, 'First.')
    await comment(cy, proposal, 'Second.')
    const [second, first] = node.git.lines('log', '--first-parent', '-2', '--format=%P', 'refs/grove/ledger')
    expect(first?.split(' ')[1]).to.equal(head)
    expect(second?.split(' ')).to.have.length(1)
    node.git.say('update-ref', 'refs/heads/draft', proposal.base)
    node.git.say('-c', 'gc.pruneExpire=now', 'gc', '--quiet', '--prune=now')
    expect(node.git.say('cat-file', '-t', head)).to.equal('commit')
  })

  it('are for members only, and for readers among them', async () => {
    const { path } = await aProposal()
    expect((await eve.post(`${path}/comments`, { text: 'Hello' })).status).to.equal(404)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    expect((await eve.post(`${path}/comments`, { text: 'Hello' })).status).to.equal(403)
    expect((await eve.get(`${path}/threads`)).status).to.equal(403)
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
  })

  it('with the id of an earlier one are refused, with its location', async () => {
    const proposal = await aProposal()
    const id = randomUUID()
    await comment(cy, proposal, 'Once.', { id })
    const { status, body, headers } = await cy.post(`${proposal.path}/comments`, {
      text: 'Once.',
      id: id.toUpperCase(),
    })
    expect({ status, code: body.code, entry: body.entry }).to.deep.equal({
      ...{ status: 409, code: 'comment_exists', entry: 1 },
    })
    expect(headers.location).to.equal(`${proposal.path}/comments/1`)
    const anchor = { commit: proposal.head, path: 'gone.md' }
    const moved = await cy.post(`${proposal.path}/comments`, { text: 'Once.', id, anchor })
    expect(moved.body.code, 'also if its place is gone').to.equal('comment_exists')
    expect((await pull(proposal)).comments).to.equal(1)
  })

  it('are refused if they are blank, too long, or answer what is not a thread', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    await comment(cy, proposal, 'Second.', { thread: 1 })
    const refusal = async (body: object) => {
      const { status, body: answer } = await cy.post(`${proposal.path}/comments`, body)
      return [status, answer.code ?? answer.detail[0].loc.join('.')]
    }
    expect(await refusal({ text: ' \n' })).to.deep.equal([422, 'body.text'])
    expect(await refusal({ text: 'é'.repeat(8_193) })).to.deep.equal([422, 'body.text'])
    expect(await refusal({ text: 'a\u0007' })).to.deep.equal([422, 'body.text'])
    expect(await refusal({ text: 'Hm.', thread: 2 })).to.deep.equal([422, 'body.thread'])
    expect(await refusal({ text: 'Hm.', thread: 9 })).to.deep.equal([404, 'thread_not_found'])
    expect(await refusal({ text: 'Hm.', mentions: [eve.user.id] })).to.deep.equal([422, 'body.mentions.0'])
    expect(await refusal({ text: 'Hm.', kind: 'verdict' })).to.deep.equal([422, 'body.kind'])
    expect((await pull(proposal)).comments).to.equal(2)
  })

  it('are changed by their authors only, and the ledger keeps the earlier text', async () => {
    const proposal = await aProposal()
    const { node, path } = proposal
    const first = await comment(cy, proposal, 'Wich whales?')
    expect((await ann.patch(`${path}/comments/1`, { text: 'x' })).status).to.equal(403)
    pass(60)
    const { body } = await cy.patch(`${path}/comments/1`, { text: 'Which whales?' }).then(expecting(200))
    expect(body).to.deep.equal({ ...first, text: 'Which whales?', edited_at: now(), edited_by: 'Cy' })
    const tip = node.git.say('rev-parse', 'refs/grove/ledger')
    await cy.patch(`${path}/comments/1`, { text: 'Which whales?' }).then(expecting(200))
    expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(tip)
    expect(node.git.say('log', '-p', 'refs/grove/ledger', '--', 'reviews/0/0/1/0/1.json')).to.include('Wich whales?')
  })

  it('lose their text if they are deleted, by their authors or maintainers, and keep their place', async () => {
    const proposal = await aProposal()
    const { path } = proposal
    await comment(cy, proposal, 'Secret @Bob')
    await comment(bob, proposal, 'Answer.', { thread: 1 })
    expect((await bob.delete(`${path}/comments/1`)).status).to.equal(403)
    expect((await di.delete(`${path}/comments/1`)).status).to.equal(204)
    expect((await cy.delete(`${path}/comments/1`)).status).to.equal(204)
    const { body } = await cy.get(`${path}/threads`)
    expect(body.threads[0].comments[0]).to.deep.include({ text: '', deleted_by: 'Di', mentions: [] })
    expect(body.threads[0].num_comments).to.equal(2)
    expect((await cy.patch(`${path}/comments/1`, { text: 'Again' })).body.code).to.equal('comment_deleted')
    expect(await pull(proposal)).to.deep.include({ comments: 1, open_threads: 1 })
    await bob.delete(`${path}/comments/2`).then(expecting(204))
    expect(await pull(proposal)).to.deep.include({ comments: 0, open_threads: 0 })
    expect((await cy.get(`${path}/threads?state=open`)).body.total).to.equal(0)
    expect((await cy.get(`${path}/threads`)).body.total).to.equal(1)
  })

  it('are resolved by the authors of thread and proposal, and by editors', async () => {
    const proposal = await aProposal()
    const { path } = proposal
    await comment(di, proposal, 'Of a maintainer.')
    await comment(cy, proposal, 'Of a reader.')
    expect((await cy.patch(`${path}/threads/1`, { resolved: true })).status).to.equal(403)
    const { body } = await bob.patch(`${path}/threads/1`, { resolved: true }).then(expecting(200))
    expect(body).to.deep.include({ entry: 1, resolved_by: 'Bob', resolved_at: now() })
    await cy.patch(`${path}/threads/2`, { resolved: true }).then(expecting(200))
    await comment(ann, proposal, 'An answer.', { thread: 2 })
    expect(await pull(proposal)).to.deep.include({ comments: 3, open_threads: 0 })
    const resolved = (await cy.get(`${path}/threads?state=resolved&limit=1&offset=1`)).body
    expect(resolved).to.deep.include({ total: 2, limit: 1, offset: 1 })
    expect(resolved.threads[0]).to.deep.include({ thread: 2, is_resolved: true, resolved_by: 'Cy' })
    await cy.patch(`${path}/threads/2`, { resolved: false }).then(expecting(200))
    expect(
      (await cy.get(`${path}/threads?state=open`)).body.threads.map((one: { thread: number }) => one.thread),
    ).to.deep.equal([2])
    expect((await cy.patch(`${path}/threads/3`, { resolved: true })).body.code).to.equal('thread_not_found')
  })

  it('are taken after the end of a proposal', async () => {
    const proposal = await aProposal()
    await ann.post(`${proposal.path}/merge`).then(expecting(200))
    const body = await comment(cy, proposal, 'Well done.')
    expect(body).to.deep.include({ entry: 2, head_commit: proposal.head })
  })

  it('mention members by their names, the longest first, and nobody whose name is not unique', async () => {
    const proposal = await aProposal()
    const mentions = async (text: string) => (await comment(cy, proposal, text)).mentions
    expect(await mentions('@Bob and @ann, see @Di.')).to.deep.equal([bob.user.id, ann.user.id, di.user.id])
    expect(await mentions('cy@Bob.example @Bobby @Nobody @@Bob')).to.deep.equal([bob.user.id])
    expect(await mentions('@Eve')).to.deep.equal([])
    expect((await comment(cy, proposal, 'See', { mentions: [di.user.id] })).mentions).to.deep.equal([di.user.id])
    expect((await comment(cy, proposal, '@Bob', { mentions: [] })).mentions).to.deep.equal([])
  })

  it('from a personal access token say so', async () => {
    const proposal = await aProposal()
    const { token } = (await cy.post('/auth/tokens', { name: 'bot', access: 'write' }).then(expecting(201))).body
    const answer = await fetch(`${grove.url}${proposal.path}/comments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'By a program.' }),
    })
    expect(await answer.json()).to.include({ via_token: true, author: 'Cy' })
  })

  it('leave repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
})
